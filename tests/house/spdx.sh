#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every file begins with its licence; a script with "#!" before it.

. "$(dirname "$0")/common.sh"

# shellcheck disable=SC2046 # our file names have no spaces
verdict "$(awk -v id='SPDX-License-Identifier: MIT' '
    function expected(file) {
        if (file ~ /\.(c|h|cpp|hpp|map)$/) return "/* " id " */"
        return (file ~ /\.(zig|zon)$/ ? "// " : "# ") id
    }

    FNR == 1 { line = /^#!/ ? 2 : 1 }
    FNR == line && $0 == expected(FILENAME) { good[FILENAME] = 1 }
    END {
        for (i = 1; i < ARGC; i++)
            if (!(ARGV[i] in good)) print ARGV[i] ":1: does not begin with " expected(ARGV[i])
    }' $(c_files include src libs tests bench examples tools bindings) $(text_files))"
