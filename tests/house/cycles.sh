#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Inside a folder of src/, at most five modules depend on one another in a circle. A module is a
# header and the .c file of its name; it depends on the modules whose headers either includes. The
# files of a larger knot can only be read, tested and changed as a whole.

. "$(dirname "$0")/common.sh"

# shellcheck disable=SC2046 # our file names have no spaces
verdict "$(awk -v limit=5 '
    # Sets reach[origin, m] for every module m that can be reached through from.
    function walk(origin, from,   names, n, i) {
        n = split(uses[from], names)
        for (i = 1; i <= n; i++)
            if ((names[i] in home) && !((origin, names[i]) in reach)) {
                reach[origin, names[i]] = 1
                walk(origin, names[i])
            }
    }

    FNR == 1 {
        mine = FILENAME
        sub(/^src\//, "", mine)
        sub(/\.[ch]$/, "", mine)
        folder = mine
        sub(/\/[^\/]*$/, "", folder)
        if (!(mine in home)) order[++count] = mine
        home[mine] = folder
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, quoted, "\"")
        theirs = quoted[2]
        sub(/\.[ch]$/, "", theirs)
        if (theirs == mine || index(theirs, folder "/") != 1) next
        if (!((mine, theirs) in seen)) uses[mine] = uses[mine] " " theirs
        seen[mine, theirs] = 1
    }
    END {
        for (i = 1; i <= count; i++) walk(order[i], order[i])
        for (i = 1; i <= count; i++) {
            if (order[i] in told) continue
            size = 0
            for (j = i; j <= count; j++)
                if (i == j || ((order[i], order[j]) in reach) && ((order[j], order[i]) in reach))
                    told[members[++size] = order[j]] = i
            if (size <= limit) continue
            printf "src/%s: %d modules depend on one another\n", home[order[i]], size
            for (j = 1; j <= size; j++) {
                printf "    %s:", members[j]
                n = split(uses[members[j]], names)
                for (k = 1; k <= n; k++) if (told[names[k]] == i) printf " %s", names[k]
                print ""
            }
        }
    }' $(c_files src) /dev/null)"
