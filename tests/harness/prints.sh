#!/bin/sh
# SPDX-License-Identifier: MIT
#
# prints.sh SOURCE COMMAND...: runs an example, which must end well and print what its head comment
# says: the indented lines between "It prints:" and the end of the comment.

set -eu
source=$1
shift

said=$(awk '
    said && /^ \*\/$/ { exit }
    said && sub(/^ \*     /, "") { print }
    /^ \* It prints:$/ { said = 1 }' "$source")
[ -n "$said" ] || { echo "$source does not say what it prints"; exit 1; }

status=0
printed=$("$@") || status=$?
if [ $status != 0 ] || [ "$printed" != "$said" ]; then
    printf 'exit status %s\n--- should print\n%s\n--- prints\n%s\n' $status "$said" "$printed"
    exit 1
fi
