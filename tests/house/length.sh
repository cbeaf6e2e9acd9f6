#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Files have at most 800 lines, functions 70, lines 100 columns. A function is what clang-format
# lays out as one: a signature that begins in the first column, up to the next "}" there. A peer's
# benchmark program in C++ may be longer: it is one file.

. "$(dirname "$0")/common.sh"

# shellcheck disable=SC2046 # our file names have no spaces
verdict "$(awk '
    function wrong(line, text) { printf "%s:%d: %s\n", FILENAME, line, text }

    FNR == 1 { start = body = 0 }
    FNR == 801 && FILENAME !~ /^bench\/peers\/.*\.cpp$/ {
        wrong(FNR, "more than 800 lines in a file")
    }
    length($0) > 100 { wrong(FNR, "more than 100 columns") }
    FILENAME ~ /\.(c|h|cpp|hpp)$/ {
        if (!body && /^[A-Za-z_].*\(/) start = FNR
        if (!body && start && /{$/) body = 1
        if (!body && /;$/) start = 0
        if (/^}/) {
            if (body && FNR - start >= 70) wrong(start, "a function of more than 70 lines")
            start = body = 0
        }
    }' $(c_files include src libs tests bench examples tools bindings) $(text_files))"
