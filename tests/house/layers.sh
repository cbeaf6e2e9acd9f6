#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Folders of src/ include one another only as tools/layers.txt allows.

. "$(dirname "$0")/common.sh"

# shellcheck disable=SC2046 # our file names have no spaces
verdict "$(awk '
    FILENAME == "tools/layers.txt" {
        if ($0 ~ /^#/) next
        line++
        for (i = 1; i <= NF; i++) level[$i] = line
        next
    }
    function wrong(text) { printf "%s:%d: %s\n", FILENAME, FNR, text }
    # The layer of a path below src/: of its first two folders if they are listed, else of its
    # first.
    function layer(path, parts) {
        split(path, parts, "/")
        return (parts[1] "/" parts[2]) in level ? parts[1] "/" parts[2] : parts[1]
    }

    FNR == 1 {
        mine = layer(substr(FILENAME, 5))
        if (!(mine in level)) wrong("folder " mine " is not in tools/layers.txt")
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, quoted, "\"")
        if (quoted[2] !~ /\//) { wrong("write \"folder/" quoted[2] "\""); next }
        theirs = layer(quoted[2])
        if (theirs == "jzx" || theirs == mine) next
        if (!(theirs in level)) wrong("folder " theirs " is not in tools/layers.txt")
        else if (level[theirs] >= level[mine]) wrong(mine " may not include " theirs)
    }' tools/layers.txt $(c_files src))"
