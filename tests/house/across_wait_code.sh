#!/bin/sh
# SPDX-License-Identifier: MIT
#
# across_wait_code.sh LIBRARY SCRATCH CC [FLAG...]: no function of the static library that waits
# looks up something of its thread itself: a thread-local, or errno. After the wait the thread may
# be another one. Such lookups are in functions with JZX_ACROSS_WAIT, which the compiler cannot make
# a part of the one that waits. This looks at the code that the compiler has made, so that it knows
# what was inlined; with the flags for it, also at link time.

set -eu
library=$1 scratch=$2
shift 2
house=$(cd "$(dirname "$0")" && pwd)
waiting_min=${JZX_WAITING_MIN:-100} # fewer, and this test does not see what there is

command -v objdump >/dev/null || { echo "no objdump here"; exit 77; }
case $(uname -m) in
x86_64 | aarch64) ;;
*) echo "not for this processor"; exit 77 ;;
esac

mkdir -p "$scratch"
echo 'int main(void) { return 0; }' >"$scratch/main.c"
"$@" -rdynamic -o "$scratch/all" "$scratch/main.c" -Wl,--whole-archive "$library" \
    -Wl,--no-whole-archive -pthread -ldl -lm
objdump -d --no-show-raw-insn "$scratch/all" >"$scratch/all.dis"
awk -f "$house/across_wait_code.awk" "$scratch/all.dis" >"$scratch/found"
waiting=$(sed -n 's/^waiting: //p' "$scratch/found")
looking=$(sed -n 's/^looking: //p' "$scratch/found")
if [ "$waiting" -lt "$waiting_min" ] || [ "$looking" -eq 0 ]; then
    echo "only $waiting functions that wait, and $looking that look up something of their thread"
    exit 1
fi
echo "$waiting functions wait"
! sed -n '/^[a-z]*: /!s/$/ waits, and looks up something of its thread/p' "$scratch/found" | grep .
