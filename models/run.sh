#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Checks the models of this folder with Spin, exhaustively within their bounds.
#
#   run.sh small                    every model in a small configuration, and every mutant: 1 minute
#   run.sh all                      also the larger configurations: 10 minutes, below 4 GiB
#   run.sh one MODEL [SWITCH...]    one run; a counter-example is printed step by step
#
# One line per run: model, switches, states, what was expected and what came out. Exit 1 if anything
# came out otherwise, 77 if a tool is missing.

set -u
cd "$(dirname "$0")" || exit 1
models=$PWD

skip() {
    echo "skipped: $1"
    exit 77
}

command -v spin >/dev/null 2>&1 || skip "spin is not here (Debian package: spin)"
cc=
for candidate in ${CC:-cc gcc clang}; do
    [ -n "$cc" ] || cc=$(command -v "$candidate")
done
[ -n "$cc" ] || skip "a C compiler is not here"

memory_mib=4000
depth=100000
seconds=900
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
wrong=0
runs=0

# build MODEL OPTIMISATION KIND SWITCH...: the verifier ./pan; KIND is safety or cycles.
build() {
    model=$1 optimisation=$2 kind=$3
    shift 3
    flags="-DSAFETY -DNOFAIR -DCOLLAPSE"
    [ "$kind" = safety ] || flags="-DNP -DNOFAIR -DCOLLAPSE"
    cp "$models/$model.pml" . &&
        spin -P"$cc -E -x c" "$@" -a "$model.pml" >spin.log 2>&1 &&
        # shellcheck disable=SC2086 # a list of words
        "$cc" "$optimisation" -w $flags -DMEMLIM=$memory_mib -DVECTORSZ=4096 -o pan pan.c
}

# verify KIND: runs ./pan; sets outcome to holds, fails or a reason why it is neither.
verify() {
    options="-w20 -m$depth"
    [ "$1" = safety ] || options="-w20 -m$depth -l"
    # shellcheck disable=SC2086
    timeout $seconds ./pan $options >pan.log 2>&1 || :
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
    if grep -Eq 'max search depth too small|out of memory|reached -DMEMLIM' pan.log; then
        outcome="hit a limit"
    elif grep -q 'errors: 0$' pan.log && ! grep -q 'Search not completed' pan.log; then
        outcome=holds
    elif grep -Eq '^pan:1: (assertion violated|non-progress cycle)' pan.log; then
        outcome=fails
    else
        outcome=$(sed -n '/^pan:1:/{p;q;}' pan.log)
        outcome=${outcome:-did not end}
    fi
}

# run KIND OPTIMISATION EXPECTED MODEL SWITCH...
run() {
    kind=$1 optimisation=$2 expected=$3 model=$4
    shift 4
    runs=$((runs + 1)) states=-
    if build "$model" "$optimisation" "$kind" "$@"; then
        verify "$kind"
    else
        outcome="does not build"
    fi
    what=$(printf '%s ' "$@" | sed 's/-D//g; s/ *$//')
    [ "$kind" = safety ] || what="cycles: $what"
    verdict=ok
    [ "$outcome" = "$expected" ] || { verdict=WRONG wrong=$((wrong + 1)); }
    printf '%-7s %-52s %12s  expected %s, %s: %s\n' \
        "$model" "$what" "$states" "$expected" "$outcome" "$verdict"
}

holds() { run safety -O0 holds "$@"; }
fails() { run safety -O0 fails "$@"; }
large() { run safety -O2 holds "$@"; }

# No run goes on for ever without getting anywhere: so what holds where all has come to rest holds.
ends() { run cycles -O0 holds "$@"; }

run_small() {
    holds core
    holds core -DSPLIT
    holds core -DKEEP
    holds core -DNN=1 -DNHO=0
    holds core -DNN=1 -DNPUB=0
    holds core -DNN=1 -DNHO=0 -DPUSH_DROPS_NUDGED
    holds core -DGLOBAL
    fails core -DM_STALE_OWNER
    fails core -DM_TAKE_THEN_CLEAR
    fails core -DM_NO_TAKE_BEFORE_APPEND -DNF=2 -DNHO=0
    fails core -DM_NO_HOLD
    fails core -DM_ENTRY_ONLY_INBOX
    fails core -DM_OFFER_NO_TOKEN
    fails core -DM_QUIET_WITH_TOKEN
    for mutant in NUDGE_NO_TOKEN NUDGE_NO_BIT NUDGE_FIRST LOOK_ONCE IDLE_IGNORES_NUDGED \
        IDLE_TRUSTS_ITS_LOOK; do
        fails core -DM_$mutant -DNN=1 -DNHO=0
    done
    for mutant in GLOBAL_NO_TOKEN GLOBAL_NOT_HELD GLOBAL_NOT_OUT; do
        fails core -DM_$mutant -DGLOBAL -DNHO=0
    done
    ends core
    ends core -DNF=0 -DNN=1 -DNHO=0

    holds death -DNHO=1
    holds death -DNN=1 -DNF=1
    holds death -DNS=1 -DDRAIN
    for mutant in NO_CLOSE FREE_WITH_TOKEN ID_BEFORE_OPEN OWNER_LEFT; do
        fails death -DM_$mutant
    done
    fails death -DM_QUEUE_BEFORE_OPEN -DNS=1
    fails death -DM_WANT_NO_GENERATION -DNN=1 -DNF=1
    ends death -DNF=1

    holds bound -DCAP=1 -DNR=3
    holds bound -DCAP=2 -DNR=4
    holds bound -DSKIPS -DCAP=1 -DNR=4
    holds bound -DSKIPS -DCAP=2 -DNR=4
    fails bound -DSKIPS -DCAP=2 -DM_LIMIT_STAYS
    fails bound -DM_ENTRY_TAKES
    fails bound -DM_TAKE_BLIND -DNR=4
    ends bound -DCAP=1 -DNR=2

    holds park
    holds park -DNINJ=1 -DNGLOBAL=1
    holds park -DNINJ=0 -DPRE=3 -DNW=3
    for mutant in WAKE_NO_STORE NO_STOP_CHECK STOP_NO_WAKE CHECK_BEFORE_FLAG; do
        fails park -DM_$mutant
    done
    fails park -DM_NO_GLOBAL_CHECK -DNINJ=0 -DNGLOBAL=2
    fails park -DHEAVY

    holds chain -DPRE=2 -DNHEAVY=1
    fails chain -DM_NO_CHAIN
    fails chain -DM_CHAIN_THIEVES -DINJECT -DPRE=2
    fails chain -DM_CHAIN_IF_WAITED
    fails chain -DM_GLOBAL_IF_NONE_ACTIVE -DGLOBAL -DPRE=1 -DNHEAVY=1

    holds detach
    holds detach -DFENCE
    for mutant in NO_MEMBARRIER CHECK_FIRST CACHED_POINTER NO_WAKE; do
        fails detach -DM_$mutant
    done

    holds return
    holds return -DREADY_IF_NEEDED
    fails return -DM_ACTOR_LINK
    fails return -DM_READY_IF_PRIVATE
    ends return

    holds home
    holds home -DSTART -DNT=1
    holds home -DSTUCK
    holds home -DSTOP -DNT=2
    fails home -DM_WISH_NO_LOOK -DSTART -DNT=1
    for mutant in GIFT_KEEPS_WISH NO_WAKE LOOK_FIRST; do
        fails home -DM_$mutant
    done
    fails home -DM_SPARES_ONLY -DSTUCK
}

run_large() {
    large core -DNF=2 -DNPUB=2
    large core -DNF=2 -DNPUB=2 -DKEEP
    large core -DNF=2 -DNG=2 -DNPUB=2 -DNHO=2
    large core -DNW=3 -DNF=2 -DNPUB=2
    large core -DNN=1
    large core -DNN=2 -DNF=1 -DNHO=0 -DNPUB=2
    large core -DGLOBAL -DNN=1
    large core -DNW=3 -DGLOBAL -DNN=1
    large death -DNF=3 -DNG=2 -DNPUB=2 -DNHO=1 -DND=3
    large death -DNW=3 -DNG=2 -DNPUB=2 -DNHO=1 -DND=3
    large death -DNN=1 -DNS=1 -DDRAIN -DNHO=1
    large death -DNW=3 -DNN=1 -DNS=1 -DDRAIN
    large bound -DCAP=2
    large bound -DCAP=3
    large park -DNW=3
    large park -DNW=3 -DNINJ=1 -DNGLOBAL=2
    large chain -DINJECT
    large chain -DGLOBAL -DPRE=1
    large detach -DNC=3
    large home -DNS=2
    large home -DSTUCK -DNS=2 -DNT=4
    large home -DSTOP -DNS=2
}

# run_one MODEL SWITCH...
run_one() {
    model=${1%.pml}
    shift
    [ -f "$models/$model.pml" ] || { echo "no model '$model'"; exit 2; }
    build "$model" -O2 safety "$@" || { cat spin.log; exit 1; }
    verify safety
    echo "$model $*: $outcome, $states states"
    [ "$outcome" != fails ] || spin -P"$cc -E -x c" "$@" -t -p -g -l "$model.pml"
    [ "$outcome" = holds ] || exit 1
}

case ${1:-} in
small) run_small ;;
all)
    run_small
    run_large
    ;;
one)
    shift
    [ $# -gt 0 ] || { echo "one: which model?"; exit 2; }
    run_one "$@"
    exit 0
    ;;
*)
    sed -n '3,13s/^# \{0,1\}//p' "$models/run.sh"
    exit 2
    ;;
esac

echo "$runs runs, $wrong not as expected"
[ $wrong -eq 0 ]
