#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cross.sh ROOT SCRATCH: builds tests/cross/switch.c for AArch64 and runs it under qemu-user: with
# the switch in assembly, with landing pads and signed return addresses, unoptimised, and by
# ucontext.

set -eu
root=$1 scratch=$2
mkdir -p "$scratch"

# run NAME FLAGS...
run() {
    name=$1
    shift
    echo "switch, $name"
    aarch64-linux-gnu-gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -g -static "$@" \
        -I "$root/src" -I "$root/include" -I "$root/tests/unit" "$root/tests/cross/switch.c" \
        "$root/src/base/switch.c" "$root/src/base/switch_aarch64.S" "$root/src/base/assert.c" \
        -lm -o "$scratch/switch_$name"
    qemu-aarch64 "$scratch/switch_$name"
}

run asm -O2
run protected -O2 -mbranch-protection=standard
run debug -O0
run ucontext -O2 -DJZX__SWITCH_UCONTEXT
