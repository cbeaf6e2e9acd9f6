# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2034 # a part of ./jzx: root, jobs, launcher are set there
#
# `./jzx test`: the same tests in several builds ("legs"), one after the other. A leg that fails
# does not keep the next from running; the sums at the end say what became of all of them.

# Limits are in seconds of CPU time, which a busy machine stretches little. All of a run that builds
# from nothing has to fit into its budget: tests that became slow show here, and so does a suite
# that outgrew the two CPUs it is made for. A slow machine sets JZX_TEST_BUDGET.
process_cpu_s=120
hang_after_s=1200 # by the clock, on a machine that is idle
fast_budget_cpu_s=600
usual_budget_cpu_s=1500
slowest_count=10

pattern=
passed=0
failed=0
summary=
legs=
note=

# count LEG PASSED FAILED TEXT
count() {
    passed=$((passed + $2))
    failed=$((failed + $3))
    summary="$summary$(printf '  %-14s %s' "$1" "$4")
"
}

skip() {
    count "$1" 0 0 "skipped: $2"
}

# check LEG LABEL COMMAND...: one thing that is no ctest test, and counts as one.
check() {
    check_leg=$1 check_label=$2
    shift 2
    if quietly "$check_label" "$(log_file "$check_leg")" "$@"; then
        count "$check_leg" 1 0 "$check_label: passed"
    else
        count "$check_leg" 0 1 "$check_label: failed"
    fi
}

# How many that want to run there are per CPU, now or in the last minute, rounded up.
crowding() {
    awk -v cpus="$jobs" '
        { split($4, running, "/"); load = $1 > running[1] ? $1 : running[1] }
        END { printf "%d\n", load <= cpus ? 1 : (load + cpus - 1) / cpus }
        ' /proc/loadavg 2>/dev/null || echo 1
}

# run_ctest LEG CTEST-ARGS...: one line per test, then ctest's own closing lines.
run_ctest() {
    leg=$1 results=$root/build/$1.tests.log
    legs="$legs $leg"
    shift
    started=$(date +%s)
    # shellcheck disable=SC2086 # launcher is a list of words
    {
        status=0
        [ "${JZX_STRESS:-}" = long ] || ulimit -t $process_cpu_s
        $launcher ctest --test-dir "$root/build/$leg" -j "$jobs" --output-on-failure \
            --timeout $((hang_after_s * $(crowding))) "$@" || status=$?
        echo "ctest ended with $status"
    } 2>&1 | tee "$results" | without_start_lines
    closing=$(sed -n 's/.*tests passed, \([0-9]*\) tests* failed out of \([0-9]*\).*/\1 \2/p' \
        "$results" | tail -n 1)
    if [ -n "$closing" ]; then
        bad=${closing% *} all=${closing#* } seconds=$(($(date +%s) - started))
        # Whatever else made ctest unhappy must not look like success.
        [ "$bad" -gt 0 ] || grep -q '^ctest ended with 0$' "$results" || bad=1
        skipped=$(grep -c '[*]Skipped ' "$results") || true
        count "$leg" $((all - bad - skipped)) "$bad" \
            "$all tests, $bad failed, $skipped skipped, $seconds s${note:+ ($note)}"
    elif grep -q '^ctest ended with 0$' "$results"; then
        skip "$leg" "no test here matches"
    else
        count "$leg" 0 1 "no test ran"
    fi
}

# passed_tests LOG: "-<TAB>test" for each test of ctest that passed; parts of ids name some of them.
passed_tests() {
    [ ! -f "$1" ] || sed -n \
        's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) [ .]*Passed .*/-\t\1/p' "$1"
}

# The tests that took longest by the clock, of all legs; a line of ctest ends with "12.34 sec".
print_slowest() {
    for leg in $legs; do
        sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec$/\2 \1/p' \
            "$root/build/$leg.tests.log" | awk -v leg="$leg" '{ print $1, leg, $2 }'
    done | sort -rn | head -n "$slowest_count" | awk '
        NR == 1 { print "slowest tests, in seconds by the clock:" }
        { printf "  %7.2f  %-6s %s\n", $1, $2, $3 }'
}

# check_budget SECONDS: the run fails if all its commands used more CPU time. A subshell would count
# its own commands alone, so `times` writes to a file.
check_budget() {
    times >"$root/build/times.log"
    used=$(tr 'ms' '  ' <"$root/build/times.log" |
        awk '{ sum += ($1 + $3) * 60 + $2 + $4 } END { printf "%d\n", sum }')
    budget=${JZX_TEST_BUDGET:-$1}
    if [ "$used" -le "$budget" ]; then
        count budget 1 0 "$used of $budget s of CPU time"
    else
        count budget 0 1 "$used s of CPU time, but only $budget may be: see the slowest tests"
    fi
}

# Line by line, and not by a filter that waits for a full buffer: tests can be watched.
without_start_lines() {
    while IFS= read -r line; do
        case ${line#"${line%%[! ]*}"} in
        "Start "*:* | "ctest ended with 0") ;;
        *) printf '%s\n' "$line" ;;
        esac
    done
}

# run_leg LEG PRESET [CMAKE-ARGS...]: builds into build/LEG and runs the tests there.
run_leg() {
    leg=$1 preset=$2
    shift 2
    rm -f "$root/build/$leg.tests.log"
    if build_preset "$preset" "$leg" "$@"; then
        # A pattern may name tests that exist in dev alone: house rules, packaging.
        no_tests=error
        [ -z "$pattern" ] || [ "$leg" = dev ] || no_tests=ignore
        run_ctest "$leg" --no-tests=$no_tests ${pattern:+-R "$pattern"}
    else
        count "$leg" 0 1 "does not build"
    fi
}

# A thread sanitizer has nothing to find where there is one thread: except for long runs, only those
# tests run that started another in the dev build, and what is no JZX_TEST.
run_tsan() {
    if [ "${JZX_STRESS:-}" != long ]; then
        note="those with threads"
        JZX_ONLY_FILE=$threads
        export JZX_ONLY_FILE
    fi
    run_leg tsan tsan
    unset JZX_ONLY_FILE
    note=
}

# --- the further legs of --all --------------------------------------------------------------------

# The compiler that the usual legs did not use, static and shared; and theirs, shared.
run_other_compiler_and_shared() {
    run_leg shared shared
    other=clang
    case $("$(c_compiler)" --version) in *clang*) other=gcc ;; esac
    want "$other"
    for preset in dev shared; do
        if is_present "$other"; then
            run_leg "$preset-$other" "$preset" \
                -DCMAKE_C_COMPILER="$other" -DJZX_PROJECT_TESTS=OFF
        else
            skip "$preset-$other" "no $other here"
        fi
    done
}

# musl-gcc sees no kernel headers unless they are handed to it one by one.
kernel_headers_for_musl() {
    headers=$root/build/musl-kernel-headers
    mkdir -p "$headers"
    for name in linux asm asm-generic; do
        for dir in "/usr/include/$name" "/usr/include/$(uname -m)-linux-gnu/$name"; do
            [ ! -d "$dir" ] || ln -sfn "$dir" "$headers/$name"
        done
    done
}

build_musl_consumer() {
    tree=$root/build/musl/install-tree
    cmake --install "$root/build/musl" --prefix "$tree" &&
        musl-gcc -std=c11 -static -I "$tree/include" "$root/tests/packaging/consumer.c" \
            "$tree/lib/libjzx.a" -pthread -o "$root/build/musl/consumer" &&
        "$root/build/musl/consumer"
}

# CMocka is not built for musl, so what runs there are the examples and a consumer.
run_musl() {
    want musl-gcc
    is_present musl-gcc || { skip musl "no musl-gcc here"; return; }
    kernel_headers_for_musl
    run_leg musl release -DCMAKE_C_COMPILER=musl-gcc -DJZX_EXAMPLES=ON -DJZX_WERROR=ON \
        -DCMAKE_C_FLAGS="-isystem $headers" -DCMAKE_EXE_LINKER_FLAGS=-static
    check musl "musl: a static consumer" build_musl_consumer
}

version_of() {
    sed -n 's/^#define JZX_VERSION_M[A-Z]* *\([0-9]*\).*/\1/p' "$1/include/jzx/version.h" |
        tr '\n' .
}

# What was added since TAG is fine; what was changed or removed is not. Of the status bits 1 and
# 2 are errors of abidiff itself.
compare_abi() {
    old=$root/build/abi/$1
    rm -rf "$old"
    mkdir -p "$old"
    git -C "$root" archive "$1" | tar -x -C "$old"
    (cd "$old" && cmake --preset shared -DJZX_TESTS=OFF -DJZX_EXAMPLES=OFF &&
        cmake --build build/shared -j "$jobs") || return 1
    status=0
    abidiff --no-added-syms --headers-dir1 "$old/include" --headers-dir2 "$root/include" \
        "$old/build/shared/libjzx.so" "$root/build/shared/libjzx.so" || status=$?
    [ $((status & 3)) -eq 0 ] || return 1
    # Before 1.0 a new minor version may break what the one before it promised.
    [ $status -eq 0 ] || [ "$(version_of "$old")" != "$(version_of "$root")" ]
}

# Link-time optimisation must not undo JZX_ACROSS_WAIT (src/base/compiler.h). Without a pattern the
# suites of fibers and of what they wait for.
run_lto() {
    asked=$pattern
    waiting='nomad|fiber|stream|udp|unix_file|future|async|combine|scope|executor|sync'
    [ -n "$pattern" ] || pattern="^(api|stress)\.($waiting)"
    run_leg lto dev -DJZX_PROJECT_TESTS=OFF -DJZX_EXAMPLES=OFF \
        -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON
    pattern=$asked
    check lto "lto: no function that waits looks up its thread" \
        sh "$root/tests/house/across_wait_code.sh" "$root/build/lto/libjzx.a" \
        "$root/build/lto/across_wait" "$(c_compiler)" -flto -O2
    check lto "inlined: no function that waits looks up its thread" check_inlined
}

# The same in a library where the compiler inlines all that it may, as another one would.
check_inlined() {
    inlining='--param max-inline-insns-auto=1000 --param max-inline-insns-single=2000'
    inlining="$inlining --param large-function-insns=20000 --param large-function-growth=2000"
    inlining="$inlining --param inline-unit-growth=2000"
    case $("$(c_compiler)" --version) in *clang*) inlining='-mllvm -inline-threshold=3000' ;; esac
    build_target=jzx
    set_launcher dev
    configure_and_build build/inlined --preset dev -DCMAKE_C_FLAGS_DEBUG="-O3 -g $inlining" \
        -DJZX_TESTS=OFF -DJZX_EXAMPLES=OFF -DJZX_WERROR=OFF -DJZX_PROJECT_TESTS=OFF &&
        sh "$root/tests/house/across_wait_code.sh" "$root/build/inlined/libjzx.a" \
            "$root/build/inlined/across_wait" "$(c_compiler)"
    inlined=$?
    build_target=
    return $inlined
}

run_abidiff() {
    want abidiff git
    is_present abidiff || { skip abi "no abidiff here"; return; }
    tag=$(git -C "$root" describe --tags --abbrev=0 2>/dev/null) || {
        skip abi "no tag yet"
        return
    }
    check abi "ABI since $tag" compare_abi "$tag"
}

# AArch64 in an emulator: the parts that are written for each processor.
run_aarch64() {
    want aarch64-linux-gnu-gcc qemu-aarch64
    for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
        is_present $tool || { skip aarch64 "no $tool here"; return; }
    done
    check aarch64 "AArch64: the switch of stacks" \
        sh "$root/tests/cross/cross.sh" "$root" "$root/build/aarch64"
}

# The scheduler core on a microcontroller in an emulator, without an operating system.
run_cortex_m() {
    want arm-none-eabi-gcc qemu-system-arm
    for tool in arm-none-eabi-gcc qemu-system-arm; do
        is_present $tool || { skip cortex-m "no $tool here"; return; }
    done
    check cortex-m "Cortex-M: the scheduler core" sh "$root/tests/freestanding/freestanding.sh" \
        qemu "$root" "$root/build/cortex-m" arm-none-eabi-gcc
}

# The Promela models in bounds that take minutes; the small ones are a test of the dev build.
run_models() {
    is_present spin || { skip models "no spin here"; return; }
    check models "Promela models, large" sh "$root/models/run.sh" all
}

# True if the pattern takes one of the tests of the Zig binding.
runs_zig() {
    [ -z "$pattern" ] || {
        sed -n 's/^add_test(NAME \(binding[^ ]*\) .*/\1/p' "$root/tests/bindings/CMakeLists.txt"
        echo clients.echo.zig
    } | grep -Eq -e "$pattern"
}

# --- the command ----------------------------------------------------------------------------------

cmd_test() {
    scope=usual
    for arg in "$@"; do
        case $arg in
        --fast) scope=fast ;;
        --all) scope=all ;;
        --yes) assume_yes=true ;;
        --help | -h) usage; exit 0 ;;
        -*) wrong_use "test: no option '$arg'" ;;
        *)
            [ -z "$pattern" ] || wrong_use "test: one pattern, please"
            pattern=$arg
            ;;
        esac
    done
    need cc make cmake cmocka
    want g++ pkg-config clang-format spin nc socat curl valgrind libpq
    ! runs_zig || want zig
    [ $scope != all ] || export JZX_STRESS=long

    # An id counts as shown by what passed in the dev build; that the other legs passed, too, is in
    # the sums. The tests of the dev build also tell which of them started threads.
    shown=$root/build/shown.tsv
    threads=$root/build/threads.txt
    mkdir -p "$root/build"
    : >"$shown"
    : >"$threads"
    JZX_SHOWN_FILE=$shown JZX_THREADS_FILE=$threads
    export JZX_SHOWN_FILE JZX_THREADS_FILE
    run_leg dev dev
    unset JZX_SHOWN_FILE JZX_THREADS_FILE
    passed_tests "$root/build/dev.tests.log" >>"$shown"

    if [ $scope != fast ]; then
        run_leg asan asan
        run_tsan
    fi
    if [ $scope = all ]; then
        run_other_compiler_and_shared
        run_lto
        run_musl
        run_aarch64
        run_cortex_m
        run_abidiff
        run_models
    fi

    if [ -z "$pattern" ] && [ "${JZX_STRESS:-}" != long ]; then
        case $scope in
        fast) check_budget $fast_budget_cpu_s ;;
        usual) check_budget $usual_budget_cpu_s ;;
        esac
    fi

    print_slowest
    printf '\n%s\n' "$summary"
    echo "$passed passed, $failed failed"
    [ -n "$pattern" ] || sh "$root/tools/requirements.sh" report "$shown"
    [ "$failed" -eq 0 ]
}
