#!/bin/sh
# SPDX-License-Identifier: MIT
# versions.sh OUT: which peers were built, with their versions and flags.
set -eu
out=$1
package() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || echo '?'; }
line() { [ ! -x "$out/$1/prog" ] || printf 'peer      %-10s %s\n' "$1" "$2"; }
line erlang "OTP $(package erlang-base), erlc +inline, +S workers"
line go "$(go version 2>/dev/null | cut -d ' ' -f 3), GOMAXPROCS = workers"
line tokio "$(package librust-tokio-dev), tokio-util $(package librust-tokio-util-dev),\
 $(rustc --version 2>/dev/null), -O3, fat LTO, native; one worker: current_thread"
line caf "$(package libcaf-dev), -O3 -march=native"
line boostfiber "$(package libboost-fiber-dev), -O3 -march=native, work stealing with two workers"
line libuv "$(package libuv1-dev), -O3 -march=native"
