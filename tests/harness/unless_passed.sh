#!/bin/sh
# SPDX-License-Identifier: MIT
#
# unless_passed.sh STAMP PATH... -- COMMAND...: runs the command, unless it passed before with the
# same command line and the same content of these files and folders. The stamp remembers that. For
# a path that ends in "/:names" only the names of the files below it count. Long runs
# (JZX_STRESS=long) always run it.

set -eu
stamp=$1
shift

content() {
    while [ "$1" != -- ]; do
        case $1 in
        */:names) find "${1%/:names}" -type f | sort ;;
        *) find "$1" -type f -exec cksum {} + | sort ;;
        esac
        shift
    done
    printf '%s\n' "$@"
}

sum=$(content "$@" | cksum)
while [ "$1" != -- ]; do shift; done
shift
if [ "${JZX_STRESS:-}" != long ] && [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ]; then
    echo "unchanged since it passed: $stamp"
    exit 0
fi
rm -f "$stamp"
"$@"
echo "$sum" >"$stamp"
