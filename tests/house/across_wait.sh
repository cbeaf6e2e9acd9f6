#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The functions with JZX_ACROSS_WAIT (src/base/compiler.h) are those of tests/house/across_wait.txt:
# a change that takes the macro from a function, or gives it to one, is made on purpose.

. "$(dirname "$0")/common.sh"

# shellcheck disable=SC2046 # our file names have no spaces
verdict "$({
    sed 's/^/listed /' tests/house/across_wait.txt
    grep -rn 'JZX_ACROSS_WAIT' src --include='*.[ch]' | grep -v '^src/base/compiler\.h:' |
        grep -v ':[0-9]*: */*\*' | sed 's/^\([^:]*\):\([0-9]*\):.*/marked \1 \2/'
    function_heads $(c_files src) | sed 's/^/head /'
} | LC_ALL=C sort -r | awk '
    $1 == "marked" { marked[$2 " " $3] = 1 }
    $1 == "listed" && $2 != "#" && NF > 1 { listed[$2 " " $3] = 1 }
    $1 == "head" && ($2 " " $3) in marked {
        delete marked[$2 " " $3]
        if ($5 != "definition")
            printf "%s:%d: JZX_ACROSS_WAIT belongs to the definition\n", $2, $3
        else if (!(($2 " " $6) in listed))
            printf "%s:%d: %s is not in tests/house/across_wait.txt\n", $2, $3, $6
        delete listed[$2 " " $6]
    }
    END {
        for (place in marked) {
            sub(/ /, ":", place)
            printf "%s: JZX_ACROSS_WAIT does not begin a function\n", place
        }
        for (name in listed)
            printf "tests/house/across_wait.txt:1: no JZX_ACROSS_WAIT at %s\n", name
    }')"
