#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The code is as clang-format 14 lays it out; with another version, or none, this rule is skipped.

. "$(dirname "$0")/common.sh"

for tool in clang-format-14 clang-format none; do
    case $("$tool" --version 2>/dev/null || true) in *'version 14.'*) break ;; esac
done
[ $tool != none ] || { echo "skipped: clang-format 14 is not here"; exit 77; }

files=$(c_files include src libs tests bench examples tools bindings)
# shellcheck disable=SC2086 # our file names have no spaces
output=$($tool --dry-run -Werror $files 2>&1) || {
    files=$(printf '%s\n' "$output" |
        sed -n "s/^\([^ :]*\):[0-9]*:[0-9]*: error: .*/\1: run $tool -i on it/p" | sort -u)
    verdict "${files:-$output}"
    exit 1
}
