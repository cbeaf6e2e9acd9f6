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

# In a copy: cargo writes beside its sources. The flags are in .cargo/config.toml and Cargo.toml.
# With the queue of timers of tokio-util if that is there (librust-tokio-util-dev).
build_tokio() {
    rm -rf "$1/tree"
    cp -r . "$1/tree"
    cd "$1/tree"
    unset RUSTFLAGS
    features=
    if ls -d /usr/share/cargo/registry/tokio-util-0.7*; then
        sed -i 's/^#tokio-util/tokio-util/' Cargo.toml
        features=queue
    fi
    cargo build --release --offline --features "$features" --target-dir "$1/target"
    cp "$1/target/release/peer-tokio" "$1/prog"
}

build_caf() {
    g++ -O3 -march=native -std=c++17 -DNDEBUG ./*.cpp -o "$1/prog" -lcaf_core -pthread
}

build_boostfiber() {
    g++ -O3 -march=native -std=c++17 -DNDEBUG ./*.cpp -o "$1/prog" -l:libboost_fiber.a \
        -l:libboost_context.a -pthread -Wl,-z,now
}

build_libuv() {
    cc -O3 -march=native ./*.c -o "$1/prog" -luv -pthread
}
