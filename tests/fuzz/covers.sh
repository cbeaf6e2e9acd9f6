#!/bin/sh
# SPDX-License-Identifier: MIT
#
# covers.sh ROOT: each public function is called by an operation of the fuzzer, or stands in
# uncalled.txt with a reason; and none of those that are called, or are gone, stands there.

set -eu
cd "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The functions that are declared: each name before a '(' in a declaration with JZX_API.
cat include/jzx/*.h | tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' |
    grep -o 'JZX_API [^;{=]*(' | sed 's/(.*//' | grep -o 'jzx_[a-z0-9_]*$' | sort -u >"$scratch/all"
# Those that an operation calls: by themselves, or as the first argument of CALL and its like.
grep -ho 'jzx_[a-z0-9_]*' tests/fuzz/calls_*.c tests/fuzz/actors.c tests/fuzz/values.c \
    tests/fuzz/round.c tests/fuzz/fuzz.h | sort -u >"$scratch/named"
sed -n 's/^\(jzx_[a-z0-9_]*\)[[:space:]].*/\1/p' tests/fuzz/uncalled.txt | sort >"$scratch/allowed"

comm -12 "$scratch/all" "$scratch/named" >"$scratch/called"
comm -23 "$scratch/all" "$scratch/named" >"$scratch/uncalled"
comm -23 "$scratch/uncalled" "$scratch/allowed" | sed 's/$/: no operation of the fuzzer calls it/' \
    >"$scratch/findings"
comm -13 "$scratch/uncalled" "$scratch/allowed" |
    sed 's|^|tests/fuzz/uncalled.txt: |; s|$| is called, or is no public function|' \
        >>"$scratch/findings"
cat "$scratch/findings"
echo "$(wc -l <"$scratch/called") of $(wc -l <"$scratch/all") public functions are called"
[ ! -s "$scratch/findings" ]
