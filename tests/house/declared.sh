#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A function that other files use (jzx__) is declared once, in the header of the file that defines
# it: includes then show which module needs which, and a reader finds the code behind a declaration.

. "$(dirname "$0")/common.sh"

# shellcheck disable=SC2046 # our file names have no spaces
verdict "$(function_heads $(c_files src libs) | awk '
    $3 != "extern" || $5 !~ /^jzx__/ { next }
    $4 == "declaration" {
        where[$5] = where[$5] " " $1
        next
    }
    $1 ~ /\.c$/ {
        place[++count] = $1 ":" $2
        name[count] = $5
        header[count] = $1
        sub(/\.c$/, ".h", header[count])
    }
    END {
        for (i = 1; i <= count; i++) {
            if (!(name[i] in where))
                printf "%s: %s is not declared in %s\n", place[i], name[i], header[i]
            n = split(where[name[i]], files)
            for (j = 1; j <= n; j++)
                if (files[j] != header[i])
                    printf "%s: %s is declared in %s, not in %s\n", \
                        place[i], name[i], files[j], header[i]
        }
    }')"
