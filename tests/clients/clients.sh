#!/bin/sh
# SPDX-License-Identifier: MIT
#
# clients.sh SCRATCH EXAMPLES HTTP-SERVER CLIENT TEST: one test of one client.

set -eu
examples=$2 http_server=$3 client=$4 test=$5
work=$1/$client.$test
command -v "$client" || { echo "skipped: $client is not here"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
. "$(dirname "$0")/server.sh"

# 15 MB: more than the buffers of the system and the write queue hold.
make_data() {
    awk 'BEGIN { for (i = 0; i < 600000; i++) print "line", i, "of the data" }' >"$work/data"
}

# nc and socat close their sending side at the end of the input, and read on until the server
# closes.
talk() {
    case $client in
    nc) nc -N 127.0.0.1 "$port" ;;
    socat) socat -t 600 - "TCP:127.0.0.1:$port" ;;
    esac
}

case $test in
echo)
    make_data
    for way in messages fibers futures; do
        start "$examples/example_52_echo" $way 0
        printf 'first\nsecond\n' | talk >"$work/answer"
        [ "$(cat "$work/answer")" = "$(printf 'first\nsecond')" ]
        talk <"$work/data" >"$work/answer"
        cmp "$work/data" "$work/answer"
        talk </dev/null >"$work/answer"
        [ ! -s "$work/answer" ]
        stop
    done
    ;;
default_port)
    # Another program may have the port.
    if ! start "$examples/example_52_echo" messages; then
        nc -z 127.0.0.1 5555 || exit 1
        echo "skipped: port 5555 is taken"
        exit 77
    fi
    [ "$port" = 5555 ]
    [ "$(echo hello | talk)" = hello ]
    ;;
crash)
    start "$examples/example_59_supervised_server" 0
    [ "$(echo 'div 1 0' | talk)" = "" ]
    read -r line <&3
    [ "$line" = "crash: a connection: b != 0" ]
    [ "$(printf 'add 1 2\nadd 3 4\n' | talk)" = "$(printf '3\n7')" ]
    ;;
chat)
    start "$examples/example_58_chat" 0
    mkfifo "$work/in" "$work/out"
    talk <"$work/in" >"$work/out" &
    alice=$!
    exec 4>"$work/in" 5<"$work/out"
    # As many empty lines as the room has places: they take none, and bob finds one, too.
    awk 'BEGIN { for (i = 0; i < 64; i++) print "" }' >&4
    printf 'alice\nhello\n\033[2J\302\233\r\n' >&4
    read -r line <&5
    [ "$line" = "* alice joins" ]
    read -r line <&5
    [ "$line" = "alice: hello" ]
    read -r line <&5
    [ "$line" = "alice: ?[2J?" ]
    mkfifo "$work/in.bob" "$work/out.bob"
    talk <"$work/in.bob" >"$work/out.bob" &
    bob=$!
    exec 6>"$work/in.bob" 7<"$work/out.bob"
    echo bob >&6
    read -r line <&7
    [ "$line" = "* bob joins" ]
    exec 6>&-
    wait $bob
    read -r line <&5
    [ "$line" = "* bob joins" ]
    read -r line <&5
    [ "$line" = "* bob leaves" ]
    exec 4>&-
    wait $alice
    ;;
http)
    make_data
    start "$http_server" "$work/data"
    url=http://127.0.0.1:$port
    # Twice over one connection.
    curl -sS --fail --noproxy '*' -o "$work/one" "$url/" -o "$work/two" "$url/"
    cmp "$work/data" "$work/one"
    cmp "$work/data" "$work/two"
    head -c 1000000 "$work/data" >"$work/body"
    curl -sS --fail --noproxy '*' --data-binary "@$work/body" -o "$work/answer" "$url/"
    cmp "$work/body" "$work/answer"
    status=$(curl -sS --noproxy '*' -X DELETE -o "$work/answer" -w '%{http_code}' "$url/")
    [ "$status" = 501 ]
    ;;
esac
