#!/bin/sh
# SPDX-License-Identifier: MIT
#
# misuse.sh ROOT COMPILER: wrong uses of the async macros do not compile, and the compiler names the
# cause. Only gcc refuses all of them: skipped with others.

. "$(dirname "$0")/common.sh"
compiler=$2
sample=$house/misuse/async.c

"$compiler" -dM -E -x c /dev/null | grep -q __GNUC__ || exit 77
! "$compiler" -dM -E -x c /dev/null | grep -q __clang__ || exit 77

# compile NUMBER: what the compiler says of that use; fails as it does.
compile() {
    LC_ALL=C "$compiler" -std=gnu11 -Iinclude -DWRONG="$1" -fsyntax-only "$sample" 2>&1
}

compile 0 || { echo "tests/house/misuse/async.c: the right use does not compile"; exit 1; }
findings=
number=1
while grep -q "WRONG == $number " "$sample"; do
    says=$(sed -n "s|.*WRONG == $number /\* says: \(.*\) \*/|\1|p" "$sample")
    if said=$(compile "$number"); then
        findings="$findings
tests/house/misuse/async.c: wrong use $number compiles"
    elif ! printf '%s\n' "$said" | grep -Eq "$says"; then
        findings="$findings
tests/house/misuse/async.c: wrong use $number does not say \"$says\": $said"
    fi
    number=$((number + 1))
done
[ "$number" -gt 1 ] || findings="no wrong use was found"
verdict "$findings"
