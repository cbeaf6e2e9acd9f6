#!/bin/sh
# SPDX-License-Identifier: MIT
#
# by_io_uring.sh UNIT-PROGRAM PROGRAM FILE [TEST...]: runs the tests of a file, each in a process of
# its own, in loops whose sockets, watches and signals are served by io_uring. The TESTs are left
# out: what they say holds for epoll alone. Skipped where the system has no io_uring.

set -eu
unit=$1 program=$2 file=$3
shift 3
"$unit" poller.io_uring_is_one_of_the_back_ends_here >/dev/null 2>&1 || exit 77
JZX_IO_BACKEND=uring
export JZX_IO_BACKEND
count=0
failed=
for name in $("$program" --list | grep "^$file\\."); do
    case " $* " in *" ${name#*.} "*) continue ;; esac
    status=0
    "$program" "$name" || status=$?
    count=$((count + 1))
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || failed="$failed $name"
done
echo "$count tests of $file by io_uring"
[ "$count" -gt 0 ] && [ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
