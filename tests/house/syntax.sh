#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Our scripts are POSIX shell, which dash takes at its word.

. "$(dirname "$0")/common.sh"

shell=$(command -v dash || command -v sh)
verdict "$(
    for file in $(text_files); do
        case $file in jzx | *.sh) $shell -n "$file" 2>&1 || true ;; esac
    done
)"
