#!/bin/sh
# SPDX-License-Identifier: MIT
#
# exports.sh LIBRARY INCLUDE: a shared library exports jzx_ names alone, none of the internal jzx__
# ones; and every function of the headers, inline ones as well, so that other languages can link it.

set -eu

exported=$(nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }')
[ -n "$exported" ] || { echo "$1 exports nothing"; exit 1; }
others=$(printf '%s\n' "$exported" | grep -v '^jzx_[a-z]' || true)
[ -z "$others" ] || { printf 'exported, but not public:\n%s\n' "$others"; exit 1; }

# What macros define (their lines end with a backslash) is the program's own.
missing=$(printf '%s\n' "$exported" | awk '
    FILENAME == "-" { is_exported[$1] = 1; next }
    /\\$/ { next }
    /^(JZX_API|JZX_[A-Z]*_FN|static|inline) / { open = 1 }
    open && match($0, /jzx_[a-z0-9_]+\(/) {
        name = substr($0, RSTART, RLENGTH - 1)
        if (!(name in is_exported)) printf "%s:%d: %s\n", FILENAME, FNR, name
        open = 0
    }
    /[;{]$/ { open = 0 }' - "$2"/jzx/*.h)
[ -z "$missing" ] || { printf 'in a header, but not exported:\n%s\n' "$missing"; exit 1; }
