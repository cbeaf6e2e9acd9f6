#!/bin/sh
# SPDX-License-Identifier: MIT
#
# misuse.sh ROOT COMPILER: wrong uses of the async macros, of those for typed actors and of the
# typed form of the scheduler API do not compile without a warning, and the compiler names the
# cause. Only gcc tells of all of them: skipped with others.

. "$(dirname "$0")/common.sh"
compiler=$2

"$compiler" -dM -E -x c /dev/null | grep -q __GNUC__ || exit 77
! "$compiler" -dM -E -x c /dev/null | grep -q __clang__ || exit 77

# compile SAMPLE NUMBER: what the compiler says of that use; fails as it does.
compile() {
    LC_ALL=C "$compiler" -std=gnu11 -Werror -Iinclude -DWRONG="$2" -fsyntax-only "$1" 2>&1
}

findings=
for sample in "$house"/misuse/*.c; do
    name=tests/house/misuse/$(basename "$sample")
    compile "$sample" 0 || { echo "$name: the right use does not compile"; exit 1; }
    number=1
    while grep -q "WRONG == $number " "$sample"; do
        says=$(sed -n "s|.*WRONG == $number /\* says: \(.*\) \*/|\1|p" "$sample")
        if said=$(compile "$sample" "$number"); then
            findings="$findings
$name: wrong use $number compiles"
        elif ! printf '%s\n' "$said" | grep -Eq "$says"; then
            findings="$findings
$name: wrong use $number does not say \"$says\": $said"
        fi
        number=$((number + 1))
    done
    [ "$number" -gt 1 ] || findings="$findings
$name: no wrong use was found"
done
verdict "$findings"
