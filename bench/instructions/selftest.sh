#!/bin/sh
# SPDX-License-Identifier: MIT
#
# selftest.sh PROGRAM: the comparison of counts refuses a doctored table, in both directions, and
# accepts a good one; and counts repeat.

set -eu
program=$1 count=$(cd "$(dirname "$0")" && pwd)/count.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
measured=$scratch/measured table=$scratch/table
wrong=0

complain() {
    printf '%s\n' "$*"
    wrong=1
}

# gives STATUS WORDS COMMAND...: the command ends with that status, and prints these words.
gives() {
    expected=$1 words=$2
    shift 2
    status=0
    "$@" >"$scratch/out" 2>&1 || status=$?
    if [ $status -ne "$expected" ] || ! grep -q -- "$words" "$scratch/out"; then
        complain "instead of $expected, '$words': $status, $(cat "$scratch/out")"
    fi
}

# compares STATUS WORDS ROWS: so ends the comparison of the measured counts with the table.
compares() {
    gives "$1" "$2" sh "$count" compare "$table" "$measured" $3
}

# doctored FACTOR [LOCKED [CALLS]]: writes a table in which the row step has its instructions times
# that factor, and so many more locked ones and system calls.
doctored() {
    awk -F '\t' -v OFS='\t' -v factor="$1" -v locked="${2:-0}" -v calls="${3:-0}" '
        $1 == "step" { $2 *= factor; $3 += locked; $4 += calls }
        { print }' "$measured" >"$table"
}

status=0
sh "$count" measure "$measured" "$program" step mutex || status=$?
[ $status -eq 0 ] || exit $status
sh "$count" measure "$scratch/again" "$program" step mutex
cmp "$measured" "$scratch/again" || complain "counts do not repeat"
[ "$(grep -c '^[a-z-]*	[0-9.]*	[0-9.]*	[0-9.]*	[a-z]' "$measured")" -eq 3 ] ||
    complain "the names step and mutex are not the rows step, mutex and mutex-wait"

doctored 1
compares 0 '^step .* +0.00 %' ""
doctored 0.985
compares 0 '^step .* +1.5' ""
doctored 0.97
compares 1 'step: takes [0-9.]* instructions, more than' ""
doctored 1.015
compares 0 '^step .* -1.4' ""
doctored 1.03
compares 1 'step: takes [0-9.]* instructions, less than' ""
doctored 1 0.04 0.04
compares 0 '^step .* +0.00 %' ""
doctored 1 1
compares 1 'step: takes [0-9.]* locked instructions, less than' ""
doctored 1 -1
compares 1 'step: takes [0-9.]* locked instructions, more than' ""
doctored 1 0 1
compares 1 'step: takes [0-9.]* system calls, less than' ""
doctored 1 0 -1
compares 1 'step: takes [0-9.]* system calls, more than' ""
sh "$count" update "$table" "$measured"
compares 0 '^step .* +0.00 %' ""

sed '/^step/d' "$measured" >"$table"
compares 1 'step: is not recorded' ""
doctored 1
printf 'gone\t1.0\t0\t0\ta row that was\n' >>"$table"
compares 1 'gone: is recorded, but is no row' ""
compares 0 '^step .* +0.00 %' "step mutex"

# Some rows alone.
doctored 0.5
printf 'other\t1.0\t0\t0\tanother row\n' >>"$table"
sh "$count" update "$table" "$measured" step mutex
compares 0 '^step .* +0.00 %' "step mutex"
grep -q '^other	1.0' "$table" || complain "an update of some rows loses others"

# Another processor or compiler, and no table at all.
sed 's/counted with: /&another /' "$measured" >"$table"
compares 77 'recorded with another' ""
gives 1 'update them all' sh "$count" update "$table" "$measured" step
sh "$count" update "$table" "$measured"
compares 0 '^step .* +0.00 %' ""
rm "$table"
compares 77 'recorded with nothing' ""
sh "$count" update "$table" "$measured"
compares 0 '^step .* +0.00 %' ""

# A failed measurement leaves no table.
rm "$measured"
gives 1 "no row 'nothing'" sh "$count" measure "$measured" "$program" nothing
[ ! -e "$measured" ] || complain "a failed run leaves a table"
exit $wrong
