#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh OUT [peer...]: builds the peers' programs (all, or those named) as OUT/<peer>/prog. One
# that cannot be built is skipped by name, with the reason in OUT/<peer>.log; so the exit code is 0
# whatever is missing. What they need is in packages of the system: `jzx bench --peers` installs it.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
mkdir -p "$1"
out=$(cd "$1" && pwd -P)
shift
[ $# -gt 0 ] || set -- erlang go tokio caf boostfiber libuv

# Each runs in the directory of the peer and makes $1/prog.
. "$here/recipes.sh"

is_built() {
    [ -x "$out/$1/prog" ] &&
        [ -z "$(find "$here/$1" "$here/recipes.sh" -newer "$out/$1/prog" -type f)" ]
}

for peer; do
    is_built "$peer" && continue
    mkdir -p "$out/$peer"
    if ! (cd "$here/$peer" && "build_$peer" "$out/$peer") >"$out/$peer.log" 2>&1; then
        echo "skipped   $peer: see $out/$peer.log" >&2
        rm -f "$out/$peer/prog"
    fi
done
