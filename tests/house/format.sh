#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The code is as clang-format 14 lays it out; with another version, or none, this rule is skipped.

. "$(dirname "$0")/common.sh"

for tool in clang-format-14 clang-format none; do
    case $("$tool" --version 2>/dev/null || true) in *'version 14.'*) break ;; esac
done
[ $tool != none ] || { echo "skipped: clang-format 14 is not here"; exit 77; }

verdict "$(
    for file in $(c_files include src tests bench examples tools); do
        $tool --dry-run -Werror "$file" 2>/dev/null || echo "$file: run $tool -i on it"
    done
)"
