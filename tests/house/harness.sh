#!/bin/sh
# SPDX-License-Identifier: MIT
#
# harness.sh FAILING_TESTS: a test that goes wrong in whatever way fails, says where and with which
# values, and shows no requirement.

set -u
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
JZX_SHOWN_FILE=$scratch/shown
export JZX_SHOWN_FILE
wrong=0

complain() {
    echo "$*"
    wrong=1
}

# fails NAME WORDS...: the test fails and says each of these.
fails() {
    test_name=$1
    shift
    if "$program" "$test_name" >"$scratch/out" 2>&1; then complain "$test_name passed"; fi
    for words in "$@"; do
        grep -q -- "$words" "$scratch/out" || {
            complain "$test_name does not say: $words"
            cat "$scratch/out"
        }
    done
}

fails asserts '0x1 != 0x2' 'shows: BAD'
fails expects 'failing_tests.c:[0-9]*: expected apples > 1' \
    'expected apples == 2, but 1 (0x1) is not 2 (0x2)' '2 expectation(s) did not hold'
fails expects_on_another_thread 'expected 3 == 4'
fails fails_at_its_end 'expected 5 == 6'
fails expects_in_a_hot_loop '1000 expectation(s) did not hold'
[ "$(grep -c ': expected' "$scratch/out")" -eq 16 ] || complain "more than 16 reports"
fails faults
fails no_such_test 'no test named no_such_test'

[ ! -e "$JZX_SHOWN_FILE" ] || complain "a test that failed shows: $(cat "$JZX_SHOWN_FILE")"
"$program" passes >"$scratch/out" 2>&1 || complain "passes failed"
printf 'GOOD1\tpasses\nGOOD2\tpasses\n' | diff - "$JZX_SHOWN_FILE" || complain "shown, but not so"
exit $wrong
