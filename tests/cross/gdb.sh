#!/bin/sh
# SPDX-License-Identifier: MIT
#
# gdb.sh PROGRAM: gdb walks a stack that was switched to, from deep inside to the first frame, and
# no further. PROGRAM is the unit tests. Skipped where gdb is missing or may not trace.

command -v gdb >/dev/null || { echo "no gdb here"; exit 77; }
output=$(gdb -batch -nx -ex 'set debuginfod enabled off' -ex 'break note_frame' -ex run -ex bt \
    --args "$1" switch.an_unwinder_walks_a_stack_and_stops_at_its_entry 2>&1)
printf '%s\n' "$output"
case $output in
*"Breakpoint 1, note_frame"*) ;;
*ptrace* | *"Couldn't get"* | *"could not trace"*) exit 77 ;;
esac
frames=$(printf '%s\n' "$output" | sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)*\([a-z_]*\).*/\2/p')
[ "$(printf '%s\n' "$frames" | grep -c '^trace_at$')" = 6 ] &&
    [ "$(printf '%s\n' "$frames" | tail -n 2 | tr '\n' ' ')" = "run_body jzx__switch_start " ]
