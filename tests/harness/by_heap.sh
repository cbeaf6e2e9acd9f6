#!/bin/sh
# SPDX-License-Identifier: MIT
#
# by_heap.sh PROGRAM FILE [TEST...]: runs the tests of a file, each in a process of its own, with
# schedulers whose timer is the heap. The TESTs are left out: they speak of the default.

set -eu
program=$1 file=$2
shift 2
JZX_TEST_TIMER=heap
export JZX_TEST_TIMER
count=0
failed=
for name in $("$program" --list | grep "^$file\\."); do
    case " $* " in *" ${name#*.} "*) continue ;; esac
    status=0
    "$program" "$name" || status=$?
    count=$((count + 1))
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || failed="$failed $name"
done
echo "$count tests of $file by heap"
[ "$count" -gt 0 ] && [ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
