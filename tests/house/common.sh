# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For the rules of the house: each is a script that takes the root of a tree (ours, or a bad sample
# of the self-test), prints "file:line: what is wrong" and fails if it printed anything.

set -eu
house=$(cd "$(dirname "$0")" && pwd)
cd "$1"

# c_files FOLDER...: the C and C++ files below those of the folders that exist.
c_files() {
    for folder in "$@"; do
        [ ! -d "$folder" ] || find "$folder" -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp'
    done | sort
}

# function_heads FILE...: what function_heads.awk prints of these files.
function_heads() {
    awk -f "$house/function_heads.awk" "$@" /dev/null
}

# text_files: everything else that is written by hand in the languages of this project.
text_files() {
    find . -name build -prune -o -name .git -prune -o -name '*zig-*' -prune \
        -o -type f \( -name CMakeLists.txt -o -name '*.zig' -o -name '*.zon' \
        -o -name '*.cmake' -o -name '*.cmake.in' -o -name '*.sh' -o -name '*.awk' -o -name '*.map' \
        -o -name .clang-format -o -path ./jzx -o -path ./.ci/run -o -path ./tools/layers.txt \) \
        -print | sed 's|^\./||' | sort
}

# verdict FINDINGS: prints them, and fails if there are any.
verdict() {
    [ -z "$1" ] || { printf '%s\n' "$1"; exit 1; }
}
