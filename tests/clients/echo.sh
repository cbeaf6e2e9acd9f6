#!/bin/sh
# SPDX-License-Identifier: MIT
#
# echo.sh SCRATCH CLIENT LANGUAGE SERVER ROOT: the echo server of one language, in each way that it
# is written, against the same client (echo_client.c). Without the language it is skipped, with
# status 77.

set -eu
client=$2 language=$3 program=$4 root=$5
work=$1/echo.$language

case $language in
c) ways="messages fibers futures" ;;
cpp) ways="messages fibers" ;;
zig)
    ways="messages fibers"
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
        "$client" "$port" "$server" $seed
        kill -0 "$server" # it has outlived its clients
        stop
    done
done
