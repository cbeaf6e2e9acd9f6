#!/bin/sh
# SPDX-License-Identifier: MIT
#
# harness.sh FAILING_TESTS: a test that goes wrong in whatever way fails, says where and with which
# values, and shows no requirement. So does a test that checks nothing; one that is skipped shows
# none, either.

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
fails expects_in_a_child 'expected 5 == 6' '1 expectation(s) did not hold'
fails checks_nothing 'checks_nothing evaluated no check'
fails leaves_the_checks_to_the_fixture 'evaluated no check'
fails faults
fails no_such_test 'no test named no_such_test'

# skipped NAME: the test ends as one that could not run.
skipped() {
    status=0
    "$program" "$1" >"$scratch/out" 2>&1 || status=$?
    [ $status -eq 77 ] || complain "$1 ended with $status"
}

skipped skips
skipped skips_behind_a_check

[ ! -e "$JZX_SHOWN_FILE" ] || complain "a test that failed shows: $(cat "$JZX_SHOWN_FILE")"
for name in passes passes_with_an_assert passes_with_a_check_in_a_child; do
    "$program" $name >"$scratch/out" 2>&1 || complain "$name failed"
done
{
    printf 'GOOD%s\tnone.failing_tests.passes\n' 1 2
    printf 'GOOD3\tnone.failing_tests.passes_with_an_assert\n'
    printf 'GOOD4\tnone.failing_tests.passes_with_a_check_in_a_child\n'
} >"$scratch/expected"
diff "$scratch/expected" "$JZX_SHOWN_FILE" || complain "shown, but not so"
"$program" --ids | grep GOOD | diff "$scratch/expected" - || complain "--ids says something else"
exit $wrong
