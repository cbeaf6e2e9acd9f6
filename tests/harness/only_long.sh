#!/bin/sh
# SPDX-License-Identifier: MIT
#
# only_long.sh COMMAND...: runs the command in long runs (./jzx test --all); else it is skipped.
[ "${JZX_STRESS:-}" = long ] || exit 77
exec "$@"
