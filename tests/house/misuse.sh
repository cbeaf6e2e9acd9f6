#!/bin/sh
# SPDX-License-Identifier: MIT
#
# misuse.sh ROOT COMPILER: wrong uses of the async macros and of those for typed actors do not
# compile, and the compiler names the cause. Only gcc refuses all of them: skipped with others.

. "$(dirname "$0")/common.sh"
compiler=$2

"$compiler" -dM -E -x c /dev/null | grep -q __GNUC__ || exit 77
! "$compiler" -dM -E -x c /dev/null | grep -q __clang__ || exit 77

# compile SAMPLE NUMBER: what the compiler says of that use; fails as it does.
compile() {
    LC_ALL=C "$compiler" -std=gnu11 -Werror=implicit-function-declaration -Iinclude \
        -DWRONG="$2" -fsyntax-only "$1" 2>&1
}

# check SAMPLE: prints what is wrong with it.
check() {
    compile "$1" 0 || { echo "${1##*/}: the right use does not compile"; return; }
    number=1
    while grep -q "WRONG == $number " "$1"; do
        says=$(sed -n "s|.*WRONG == $number /\* says: \(.*\) \*/|\1|p" "$1")
        if said=$(compile "$1" "$number"); then
            echo "${1##*/}: wrong use $number compiles"
        elif ! printf '%s\n' "$said" | grep -Eq "$says"; then
            echo "${1##*/}: wrong use $number does not say \"$says\": $said"
        fi
        number=$((number + 1))
    done
    [ "$number" -gt 1 ] || echo "${1##*/}: no wrong use was found"
}

verdict "$(for sample in "$house"/misuse/*.c; do check "$sample"; done)"
