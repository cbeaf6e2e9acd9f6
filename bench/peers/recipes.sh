# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# How each peer's program is built, with the flags that its users would choose for speed.

build_erlang() {
    erlc +inline -o "$1" ./*.erl
    cp prog.sh "$1/prog"
    chmod +x "$1/prog"
}

# With the sort of x/exp if it is there, which later versions of Go have as their own.
build_go() {
    export GOCACHE="$1/cache"
    GO111MODULE=off GOPATH=/usr/share/gocode go build -tags exp -o "$1/prog" . ||
        GOFLAGS=-mod=mod GOPROXY=off go build -o "$1/prog" .
}

build_tokio() {
    RUSTFLAGS="-C target-cpu=native" CARGO_TARGET_DIR="$1/target" \
        cargo build --release --offline
    cp "$1/target/release/peerbench-tokio" "$1/prog"
}

build_caf() {
    g++ -O3 -march=native -std=c++17 -DNDEBUG ./*.cpp -o "$1/prog" -lcaf_core -pthread
}

build_boostfiber() {
    g++ -O3 -march=native -std=c++17 -DNDEBUG ./*.cpp -o "$1/prog" -lboost_fiber -lboost_context \
        -pthread -Wl,-z,now
}

build_libuv() {
    cc -O3 -march=native ./*.c -o "$1/prog" -luv -pthread
}
