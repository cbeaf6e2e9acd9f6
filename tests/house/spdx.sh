#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every file begins with its licence; a script with "#!" before it.

. "$(dirname "$0")/common.sh"

id='SPDX-License-Identifier: MIT'
verdict "$(
    for file in $(c_files include src tests bench examples tools) $(text_files); do
        case $file in
        *.c | *.h | *.cpp | *.map) expected="/* $id */" ;;
        *) expected="# $id" ;;
        esac
        first=$(sed -n '1{/^#!/!p;};2{x;/^#!/{x;p;};x;};1{h;};2q' "$file")
        [ "$first" = "$expected" ] || echo "$file:1: does not begin with $expected"
    done
)"
