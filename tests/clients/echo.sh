#!/bin/sh
# SPDX-License-Identifier: MIT
#
# echo.sh SCRATCH CLIENT ROOT LANGUAGE SERVER: the echo server of one language, in each way that it
# is written, against the same client (echo_client.c). Without a compiler for that language, and so
# without a server, it is skipped, with status 77.

set -eu
client=$2 root=$3 language=$4 program=${5:-}
work=$1/echo.$language
ways="messages fibers"
limit=512 # of connections at a time; "": it has none

case $language in
c) ways="$ways futures" ;;
cpp)
    [ -n "$program" ] || { echo "skipped: no compiler for C++ is here"; exit 77; }
    ;;
zig)
    limit=
    sh "$root/tools/zig.sh" find "$root" || {
        echo "skipped: Zig is not here, and could not be installed"
        exit 77
    }
    ;;
esac

rm -rf "$work"
mkdir -p "$work"
. "$(dirname "$0")/server.sh"

for way in $ways; do
    for seed in 1 2; do
        start "$program" "$way" 0
        "$client" "$port" "$server" $seed $limit
        kill -0 "$server" # it has outlived its clients
        stop
    done
done
