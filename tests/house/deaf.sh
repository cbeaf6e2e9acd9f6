#!/bin/sh
# SPDX-License-Identifier: MIT
#
# deaf.sh PROGRAM MAY_PASS SCRATCH CANARY [SOURCES]: a test of behaviour fails where no behaviour
# runs. PROGRAM is a suite with a library that calls neither behaviours nor inits (deaf/turn.c):
# once as if all of them returned JZX_BEHAVIOR_OK, and once JZX_BEHAVIOR_STOP, so that loops come to
# their end. The tests that need no user code are in the file MAY_PASS. With the folder SOURCES,
# files there that have no user code are left out. A test that waits for ever is ended, and has
# failed: on a busy machine one that would pass may be ended too, but none is blamed.

set -u
program=$1 may_pass=$2 scratch=$3 canary=$4 sources=${5:-}
at_once=64 # most of them sleep
seconds_max=2

command -v timeout >/dev/null || { echo "no timeout here"; exit 77; }
unset JZX_SHOWN_FILE JZX_THREADS_FILE # nothing is shown here
ulimit -c 0
ulimit -t 1
mkdir -p "$scratch"

# The tests to run.
list() {
    [ -n "$sources" ] || { "$program" --list; return; }
    grep -lE 'jzx_behavior_result|\.fiber = |jzx_step_out' "$sources"/*.c |
        sed 's|.*/||; s|\.c$||' >"$scratch/files"
    "$program" --list | awk -F. 'NR == FNR { has[$1] = 1; next } $1 in has' "$scratch/files" -
}

# run_all RESULTS: "status name" of every test.
run_all() {
    list | xargs -P $at_once -n 1 sh -c '
        timeout -s KILL "$1" "$0" "$2" >/dev/null 2>&1
        echo "$? $2"' "$program" $seconds_max >"$1"
}

run_all "$scratch/ok" && JZX_DEAF_STOPS=1 && export JZX_DEAF_STOPS && run_all "$scratch/stop" ||
    { echo "not all tests could be run"; exit 1; }

# The canary fails by its checks, or user code does run here.
awk -v canary="$canary" '
    FILENAME == ARGV[1] { if (!/^#/ && NF) may_pass[$1] = 1; next }
    { exists[$2] = 1 }
    $1 == 0 && !($2 in may_pass) && !told[$2]++ {
        print $2 " passes though no behaviour runs: let it check that its own did (jzx_test_ran)"
        bad = 1
    }
    $1 != 1 { other_end[$2] = 1 }
    END {
        if (!(canary in exists) || canary in other_end) { print canary " must fail here"; bad = 1 }
        for (name in may_pass) {
            if (name in other_end) continue
            print name (name in exists ? " never passes" : " is no test") ": see " ARGV[1]
            bad = 1
        }
        exit bad
    }' "$may_pass" "$scratch/ok" "$scratch/stop"
