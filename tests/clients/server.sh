# SPDX-License-Identifier: MIT
#
# For tests with a server: "." this file after work is set to a folder. A server listens at a port
# that the system chooses, says so in its first line, and is stopped by its id, at the latest when
# the test ends.

server=

stop() {
    [ -z "$server" ] || { kill "$server" && wait "$server" || true; } 2>/dev/null
    server=
}
trap stop EXIT

# start COMMAND...: sets server and port. The first line of the server comes through a pipe, so that
# nobody has to look for it again and again; what follows goes there, too.
start() {
    rm -f "$work/said"
    mkfifo "$work/said"
    "$@" >"$work/said" &
    server=$!
    exec 3<"$work/said"
    read -r line <&3 || { echo "$1 does not listen"; return 1; }
    port=${line##*:}
    echo "$line"
}
