#!/bin/sh
# SPDX-License-Identifier: MIT
#
# freestanding.sh native|cortex_m|qemu ROOT SCRATCH CC: the scheduler core, the wheel and the heap
# need no header but the compiler's own and no function but memcpy, memset, memmove and memcmp,
# beside jzx__assert_failed and jzx__wrong_use, which the toolbox of a board supplies. `native` also
# links the program of this folder with a toolbox and nothing else, and runs it; `qemu` does so on a
# Cortex-M3 in an emulator, with arm-none-eabi-gcc as CC.

set -eu
target=$1 root=$2 scratch=$3 compiler=$4
here=$root/tests/freestanding
sources="$root/src/schedule/core/*.c $root/src/time/wheel.c $root/src/base/heap.c"
flags="-std=c11 -O2 -ffreestanding -fno-stack-protector -nostdinc -Wall -Wextra -Werror"
allowed='memcpy memset memmove memcmp jzx__assert_failed jzx__wrong_use'

case $target in
native) machine= ;;
cortex_m)
    compiler=clang machine=--target=thumbv7m-none-eabi
    echo 'int x;' | clang $machine -x c -c -o /dev/null - 2>/dev/null || {
        echo "skipped: no clang that compiles for a Cortex-M"
        exit 77
    }
    # The same functions by the names of the ARM ABI, and the division of 64 bits.
    for name in memcpy memmove memset memclr; do
        allowed="$allowed __aeabi_$name __aeabi_${name}4 __aeabi_${name}8"
    done
    allowed="$allowed __aeabi_uldivmod"
    ;;
qemu)
    machine='-mcpu=cortex-m3 -mthumb'
    # Of the compiler's own library: numbers of 64 bits.
    allowed="$allowed __aeabi_uldivmod __aeabi_ldivmod __ctzdi2"
    ;;
*) echo "freestanding.sh native|cortex_m|qemu ROOT SCRATCH CC"; exit 1 ;;
esac
own_headers=$("$compiler" $machine -print-file-name=include)
[ "$target" != cortex_m ] || own_headers=$(clang -print-resource-dir)/include

# compile FOLDER FILE...: an object for each.
compile() {
    folder=$1
    shift
    mkdir -p "$folder"
    for file in "$@"; do
        "$compiler" $machine $flags -isystem "$own_headers" -I "$root/include" -I "$root/src" \
            -I "$here" -c "$file" -o "$folder/$(basename "$file" .c).o"
    done
}

# missing FOLDER: what its objects need, and neither have nor may use.
missing() {
    nm -g --defined-only "$1"/*.o | awk 'NF == 3 { print $3 }' | sort -u >"$scratch/defined"
    nm -u "$1"/*.o | awk '$1 == "U" { print $2 }' | sort -u >"$scratch/needed"
    for name in $allowed; do echo "$name"; done | sort -u - "$scratch/defined" >"$scratch/known"
    comm -23 "$scratch/needed" "$scratch/known"
}

rm -rf "$scratch"
mkdir -p "$scratch"

# A check that finds nothing shows nothing: here is something to find.
echo 'void *malloc(unsigned long); void *f(void); void *f(void) { return malloc(8); }' \
    >"$scratch/bad.c"
compile "$scratch/bad" "$scratch/bad.c"
[ "$(missing "$scratch/bad")" = malloc ] || { echo "a call of malloc is not found"; exit 1; }
echo '#include <stdio.h>' >"$scratch/bad.c"
if compile "$scratch/bad" "$scratch/bad.c" 2>/dev/null; then
    echo "a header of libc is not refused"
    exit 1
fi

# shellcheck disable=SC2086 # a list of files
compile "$scratch/core" $sources
found=$(missing "$scratch/core")
[ -z "$found" ] || { echo "the core needs:"; echo "$found"; exit 1; }
[ -s "$scratch/needed" ] || { echo "nm shows nothing"; exit 1; }

compile "$scratch/program" "$here/program.c" "$here/toolbox_memory.c"
case $target in
cortex_m) exit 0 ;;
qemu)
    compile "$scratch/program" "$here/toolbox_cortex_m.c"
    # shellcheck disable=SC2086 # a list of options
    "$compiler" $machine -nostdlib -static -Wl,--build-id=none -T "$here/cortex_m.ld" \
        -o "$scratch/run" "$scratch"/core/*.o "$scratch"/program/*.o -lgcc
    run="qemu-system-arm -M mps2-an385 -display none -monitor none -serial none
        -semihosting-config enable=on,target=native -kernel $scratch/run"
    ;;
native)
    case $(uname -m) in
    x86_64 | aarch64) ;;
    *) echo "skipped: no toolbox for this machine"; exit 77 ;;
    esac
    compile "$scratch/program" "$here/toolbox_linux.c"
    "$compiler" -nostdlib -static -o "$scratch/run" "$scratch"/core/*.o "$scratch"/program/*.o
    run=$scratch/run
    ;;
esac
status=0
$run || status=$?
[ $status -eq 0 ] || { echo "program.c: check number $status does not hold"; exit 1; }
