#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every public header compiles by itself, and twice over, as C11 and as C++17, with each compiler
# that is here.

. "$(dirname "$0")/common.sh"

# compile_alone COMPILER LANGUAGE STANDARD
compile_alone() {
    command -v "$1" >/dev/null 2>&1 || return 0
    for header in include/jzx/*.h include/jzx/*.hpp; do
        case $2:$header in *'*'* | c:*.hpp) continue ;; esac
        name=jzx/${header##*/}
        # A header of macros alone would leave an empty program, which C does not allow.
        printf '#include "%s"\n#include "%s"\nextern int one_declaration;\n' "$name" "$name" |
            "$1" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Werror \
                -fsyntax-only -I include - 2>&1 ||
            echo "$header: does not compile alone with $1 as $3"
    done
}

verdict "$(
    for compiler in cc gcc clang; do compile_alone $compiler c c11; done
    for compiler in c++ g++ clang++; do compile_alone $compiler c++ c++17; done
)"
