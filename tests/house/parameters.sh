#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A function of src/ has at most six parameters: more do not fit into registers, and a reader mixes
# them up. The functions of the public headers are free: a caller writes their arguments in place.

. "$(dirname "$0")/common.sh"

# shellcheck disable=SC2046 # our file names have no spaces
verdict "$(function_heads $(c_files include src libs) | awk -v limit=6 '
    $1 ~ /^include\// { public[$5] = 1; next }
    $6 > limit && !(($5 in public) && $3 == "extern" && $5 !~ /^jzx__/) {
        printf "%s:%d: %s has %d parameters, more than %d\n", $1, $2, $5, $6, limit
    }')"
