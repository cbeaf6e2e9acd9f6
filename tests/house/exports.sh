#!/bin/sh
# SPDX-License-Identifier: MIT
#
# exports.sh LIBRARY: a shared library exports jzx_ names alone, none of the internal jzx__ ones.

set -eu

exported=$(nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }')
[ -n "$exported" ] || { echo "$1 exports nothing"; exit 1; }
others=$(printf '%s\n' "$exported" | grep -v '^jzx_[a-z]' || true)
[ -z "$others" ] || { printf 'exported, but not public:\n%s\n' "$others"; exit 1; }
