#!/bin/sh
# SPDX-License-Identifier: MIT
#
# packaging.sh STEP KIND SOURCE SCRATCH C-COMPILER BUILD: one step in the life of an installed
# library, KIND static or shared, below SCRATCH/KIND. The step `install` comes first. BUILD has the
# static library, built.

set -eu
step=$1 kind=$2 source=$3 work=$4/$2 cc=$5 build=$6
prefix=$work/prefix
here=$source/tests/packaging
if [ "$kind" = shared ]; then shared=ON; else shared=OFF; fi

# What the project's own build exports must not leak into a user's.
unset DESTDIR CFLAGS LDFLAGS MAKEFLAGS MAKELEVEL 2>/dev/null || true

build_and_run() {
    dir=$1
    shift
    rm -rf "$dir"
    cmake -B "$dir" -DCMAKE_BUILD_TYPE=Release "$@"
    cmake --build "$dir"
    "$dir/consumer"
}

case $step in
install)
    # The prefix is given to the install alone, so that a file which remembers another one shows.
    rm -rf "$prefix"
    # Only long runs build the static library once more, and optimise the shared one.
    type=Debug
    [ "${JZX_STRESS:-}" != long ] || type=RelWithDebInfo
    if [ $shared = ON ] || [ $type = RelWithDebInfo ]; then
        build=$work/build
        cmake -S "$source" -B "$build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=$type \
            -DBUILD_SHARED_LIBS=$shared -DJZX_EXAMPLES=OFF -DJZX_WERROR=ON
        cmake --build "$build"
    fi
    cmake --install "$build" --prefix "$prefix"
    [ $shared = OFF ] || [ -e "$prefix/lib/libjzx.so.0" ]
    [ $shared = ON ] || [ -e "$prefix/lib/libjzx.a" ]
    ! grep -r "$build" "$prefix/lib/cmake" "$prefix/lib/pkgconfig"
    ;;
find_package)
    build_and_run "$work/find_package" -S "$here/find_package" -DLANGUAGE=C \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix"
    ;;
find_package_cxx)
    command -v c++ || { echo "skipped: no C++ compiler is here"; exit 77; }
    build_and_run "$work/find_package_cxx" -S "$here/find_package" -DLANGUAGE=CXX \
        -DCMAKE_PREFIX_PATH="$prefix"
    ;;
add_subdirectory)
    # Without a build type, which compiles in a third of the time.
    build_and_run "$work/add_subdirectory" -S "$here/add_subdirectory" -DJZX_SOURCE="$source" \
        -DCMAKE_C_COMPILER="$cc" -DBUILD_SHARED_LIBS=$shared -DCMAKE_BUILD_TYPE=
    ;;
pkg_config)
    command -v pkg-config || { echo "skipped: pkg-config is not here"; exit 77; }
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    export PKG_CONFIG_PATH
    if [ "$kind" = static ]; then static=--static; else static=; fi
    # pkg-config quotes for the shell, which has to read its answer as it reads a command.
    flags=$(pkg-config --cflags jzx) libs=$(pkg-config $static --libs jzx)
    eval "'$cc' -std=c11 $flags '$here/consumer.c' $libs -o '$work/pkg_config_consumer'"
    LD_LIBRARY_PATH=$prefix/lib "$work/pkg_config_consumer"
    ;;
bench)
    # Every row checks its result; at these sizes its figures mean nothing.
    rm -rf "$work/bench" "$work/peers"
    cmake -S "$source/bench" -B "$work/bench" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build "$work/bench"
    bench=$work/bench/jzx_bench
    "$bench" --small --pairs 1
    "$bench" --workers 2 --small --pairs 1
    "$bench" --workers 2 --held --small --pairs 1
    "$bench" latency --small --pairs 1
    "$bench" latency --workers 2 --small --pairs 1 | tee "$work/latency.txt"
    grep -q '^latency-1x5ms .* p50_us .* hogs_percent ' "$work/latency.txt"
    grep -q '^latency-server [0-9]*/s ' "$work/latency.txt"
    # The race, with a peer that has one row, one that fails, and none of the others.
    mkdir -p "$work/peers/go" "$work/peers/caf"
    printf '#!/bin/sh\n[ "$1" = ring ] || exit 3\necho "0.001 $2 0"\n' >"$work/peers/go/prog"
    printf '#!/bin/sh\nexit 1\n' >"$work/peers/caf/prog"
    chmod +x "$work/peers/go/prog" "$work/peers/caf/prog"
    "$bench" ring counting --peers --small --pairs 1 --save "$work/race.jsonl" 2>"$work/race.log" |
        tee "$work/race.txt"
    grep -q '^ring .* go ' "$work/race.txt"
    grep -q '^counting .* no peer ' "$work/race.txt"
    grep -q 'ring (caf) failed' "$work/race.log"
    grep -q '"bench":"ring","peer":"go".*"ratio":' "$work/race.jsonl"
    ;;
dlopen)
    "$cc" -std=gnu11 "$here/dlopen.c" -pthread -ldl -o "$work/dlopen_user"
    "$work/dlopen_user" "$prefix/lib/libjzx.so"
    # The loader keeps some hundred bytes for all libraries that come late: ours takes few of them.
    size=$(readelf -lW "$prefix/lib/libjzx.so" | awk '$1 == "TLS" { print $6 }')
    echo "thread-local bytes: ${size:-none}"
    [ $((${size:-0})) -le 256 ]
    [ -z "$size" ] || readelf -d "$prefix/lib/libjzx.so" | grep STATIC_TLS
    ;;
jzx_run)
    # Another folder, no source tree in sight: what is run comes from the prefix of the command.
    mkdir -p "$work/elsewhere"
    cp "$here/consumer.c" "$work/elsewhere/program.c"
    cd "$work/elsewhere"
    XDG_CACHE_HOME=$work/cache
    export XDG_CACHE_HOME
    "$prefix/bin/jzx" run program.c | grep '^consumer of jzx [0-9]'
    echo 'int main(int argc, char **argv) { return argc == 3 ? argv[2][0] : 1; }' >status.c
    status=0
    "$prefix/bin/jzx" run status.c one '*' || status=$?
    [ $status -eq 42 ]
    status=0
    "$prefix/bin/jzx" test || status=$?
    [ $status -eq 2 ]
    for command in run test; do
        "$prefix/bin/jzx" $command --help >help.txt
        "$prefix/bin/jzx" help | cmp - help.txt
    done
    "$prefix/bin/jzx" doctor
    ;;
readme)
    # The first program of the README is the one that a newcomer types.
    awk '/^```c$/ { on = 1; next } /^```/ { if (on) exit } on' "$source/README.md" >"$work/readme.c"
    [ -s "$work/readme.c" ]
    "$cc" -std=c11 -Wall -Wextra -Werror -I "$prefix/include" "$work/readme.c" \
        "$prefix/lib/libjzx.a" -pthread -o "$work/readme"
    "$work/readme"
    ;;
*)
    echo "no step $step"
    exit 2
    ;;
esac
