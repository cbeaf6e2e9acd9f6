#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh SOURCE WORK LIBRARY STEP [FILE]: one step of the tests of the Zig binding, below WORK, with
# the libjzx.a that is built already. Without Zig a step is skipped, with status 77.

set -eu
source=$1 work=$2 library=$3 step=$4 file=${5:-}
binding=$source/bindings/zig

if [ "$step" = prototypes ]; then
    exec awk -f "$binding/tests/prototypes.awk" "$source"/include/jzx/*.h "$binding"/jzx/c*.zig
fi

zig=$(sh "$source/tools/zig.sh" find "$source") || {
    echo "skipped: Zig is not here, and could not be installed"
    exit 77
}
mkdir -p "$work"
caches="--cache-dir $work/cache --global-cache-dir $work/global"

# Zig writes to its standard output by position, and that must not be a file others append to.
zig_build() {
    status=0
    # shellcheck disable=SC2086 # a list of words
    (cd "$1" && shift && "$zig" build $caches --prefix "$work/out" "$@") >"$work/$step.log" 2>&1 ||
        status=$?
    cat "$work/$step.log"
    return $status
}

# The version of the package is that of the library.
check_version() {
    want=$(sed -n 's/^#define JZX_VERSION_[MP][A-Z]* *\([0-9]*\).*/\1/p' \
        "$source/include/jzx/version.h" | tr '\n' . | sed 's/\.$//')
    grep -q "\.version = \"$want\"" "$source/build.zig.zon" ||
        { echo "build.zig.zon is not of version $want"; return 1; }
}

# Every "expected:" of refusals.zig is among the errors, and there are no others.
check_refusals() {
    # shellcheck disable=SC2086
    (cd "$source" && "$zig" build-obj -fno-emit-bin $caches --dep jzx \
        -Mroot=bindings/zig/tests/refusals.zig -lc -Mjzx=bindings/zig/jzx.zig) \
        >"$work/refusals.log" 2>&1 && { echo "refusals.zig compiles"; return 1; }
    grep 'error: ' "$work/refusals.log" >"$work/refusals.errors"
    sed -n 's|^// expected: ||p' "$binding/tests/refusals.zig" >"$work/refusals.expected"
    missed=0
    while IFS= read -r words; do
        grep -qF "$words" "$work/refusals.errors" || { echo "no error says: $words"; missed=1; }
    done <"$work/refusals.expected"
    [ "$(wc -l <"$work/refusals.errors")" -eq "$(wc -l <"$work/refusals.expected")" ] || missed=1
    [ $missed -eq 0 ] || { cat "$work/refusals.log"; return 1; }
}

# An example prints what its head says.
check_examples() {
    for name in hello supervised fibers echo; do
        sed -n 's|^//!     ||p' "$binding/examples/$name.zig" >"$work/$name.expected"
        "$work/out/bin/jzx-$name" >"$work/$name.printed" 2>&1
        diff "$work/$name.expected" "$work/$name.printed" || { echo "in $name.zig"; return 1; }
    done
}

# A project that depends on this one as a package, with the library compiled from its sources.
check_package() {
    rm -rf "$work/consumer"
    cp -R "$binding/tests/consumer" "$work/consumer"
    # A package names its dependencies by relative paths.
    ln -s "$source" "$work/consumer/jzx"
    zig_build "$work/consumer" run && grep -q '^the package says 42$' "$work/$step.log"
}

case $step in
build) check_version && zig_build "$source" "-Dlibrary=$library" install install-tests ;;
test) "$work/out/bin/jzx-tests" "$file.test." ;;
refusals) check_refusals ;;
examples) check_examples ;;
format) "$zig" fmt --check "$source/build.zig" "$source/build.zig.zon" "$binding" ;;
package) check_package ;;
*)
    echo "no step $step"
    exit 2
    ;;
esac
