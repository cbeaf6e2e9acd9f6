#!/bin/sh
# SPDX-License-Identifier: MIT
#
# nomad.sh PROGRAM EXEMPT FILE...: runs the tests of these files, each in a process of its own, in
# the loops that PROGRAM makes of them: fibers that change their thread at every wait, or a loop on
# one thread (tests/one_thread). EXEMPT names the tests that are left out: what they say cannot hold
# there. With a tenth of the usual rounds, in long runs with all of them.

set -eu
program=$1 exempt=$2
shift 2
count=0
failed=

for name in $(sed 's/#.*//' "$exempt"); do
    "$program" --list | grep -qx "$name" || failed="$failed $name(exempt, but no test)"
done
case ${JZX_STRESS:-} in
long) unset JZX_STRESS ;;
*) JZX_STRESS=short && export JZX_STRESS ;;
esac
for file; do
    for name in $("$program" --list | grep "^$file\\."); do
        ! sed 's/#.*//' "$exempt" | grep -qx "$name *" || continue
        status=0
        output=$("$program" "$name" 2>&1) || status=$?
        count=$((count + 1))
        [ "$status" -ne 0 ] && [ "$status" -ne 77 ] || continue
        printf '%s\n' "$output"
        failed="$failed $name"
    done
done
echo "$count tests of $*"
[ "$count" -gt 0 ] && [ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
