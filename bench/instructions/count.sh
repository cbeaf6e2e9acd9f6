#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Counts the instructions of jzx_instructions and compares them with docs/instructions.tsv.
#
#   count.sh measure MEASURED PROGRAM [rows]   counts all rows, or those, into a table
#   count.sh compare TABLE MEASURED [rows]     shows the change of each; fails if one is too large
#   count.sh update TABLE MEASURED [rows]      writes what was measured to the table
#   count.sh check PROGRAM TABLE               measure and compare
#
# It also counts two things that cost more than their instructions show: those that lock the bus, as
# most atomic operations do, and system calls.
#
# A table begins with the conditions of its counts: compiler, flags, C library, and the processor
# that Valgrind shows to the program, by which the C library chooses its copies. Where these differ,
# or there is no Valgrind, nothing can be compared, and the exit code is 77. Else it is 0, 1 if a
# count is not as recorded or a row failed, 2 for wrong use.

set -eu

limit_percent=2  # of the instructions
limit_each=0.05  # locked instructions or system calls of one operation
conditions_mark='# counted with: '

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# conditions_of TABLE: of one that is not there, nothing.
conditions_of() {
    [ ! -f "$1" ] || sed -n "s/^$conditions_mark//p" "$1"
}

# The layout of a process may decide how long a copy takes, and the first call of a function in a
# shared library looks it up. So addresses are not randomised, the environment is empty, and the
# linker binds every symbol at the start.
run_callgrind() {
    fixed="setarch $(uname -m) -R"
    $fixed true 2>/dev/null || fixed=
    # shellcheck disable=SC2086 # a list of words
    env -i PATH="$PATH" LD_BIND_NOW=1 ${VALGRIND_LIB:+VALGRIND_LIB="$VALGRIND_LIB"} \
        $fixed valgrind --tool=callgrind -q --vgdb=no --toggle-collect=counted \
        --zero-before=counted --dump-after=counted --collect-bus=yes --collect-systime=yes \
        --callgrind-out-file="$scratch/%p.callgrind" "$@"
}

# The process of a row leaves a file for each time that it was counted, with the names of the events
# and their sums. Zeros at the end of the sums are missing.
table_of_rows() {
    echo "# What one operation takes; written by ./jzx bench --count --update"
    sed -n "1s/^/$conditions_mark/p" "$scratch/rows"
    printf 'row\tinstructions\tlocked\tcalls\tone operation\n'
    sed 1d "$scratch/rows" | while IFS="$(printf '\t')" read -r row process ops threads op; do
        awk -v row="$row" -v ops="$ops" -v threads="$threads" -v op="$op" '
            $1 == "events:" { for (i = 2; i <= NF; i++) name[i] = $i }
            $1 == "summary:" { for (i = 2; i <= NF; i++) sum[name[i]] += $i }
            END {
                calls = threads == "alone" ? sprintf("%.2f", sum["sysCount"] / ops) : "-"
                printf "%s\t%.1f\t%.2f\t%s\t%s\n", row, sum["Ir"] / ops, sum["Ge"] / ops, calls, op
                exit sum["Ir"] == 0
            }' "$scratch/$process.callgrind".* || {
            echo "nothing was counted for $row" >&2
            return 1
        }
    done
}

measure() {
    measured=$1
    shift
    command -v valgrind >/dev/null 2>&1 || {
        echo "skipped: there is no valgrind here"
        return 77
    }
    if ! run_callgrind "$@" >"$scratch/rows" 2>"$scratch/said"; then
        cat "$scratch/said" >&2
        return 1
    fi
    table_of_rows >"$scratch/table" || return 1
    cp "$scratch/table" "$measured"
}

# compare TABLE MEASURED [rows]: with rows, the table may have others.
compare() {
    recorded_with=$(conditions_of "$1") measured_with=$(conditions_of "$2")
    if [ "$recorded_with" != "$measured_with" ]; then
        echo "skipped: these counts and those recorded cannot be compared"
        echo "  recorded with ${recorded_with:-nothing}"
        echo "  counted with  $measured_with"
        return 77
    fi
    awk -F '\t' -v percent="$limit_percent" -v each="$limit_each" -v some="$(($# - 2))" '
        function line(row, now, then, change, locked, calls, op) {
            printf "%-14s %9s %9s %9s %7s %6s  %s\n", row, now, then, change, locked, calls, op
        }

        function complain(row, what) { complaints = complaints row ": " what "\n" }

        function look(row, what, now, then, limit) {
            if (now - then > limit)
                complain(row, "takes " now " " what ", more than the " then " recorded")
            if (then - now > limit)
                complain(row, "takes " now " " what ", less than the " then " recorded")
        }

        BEGIN { line("row", "now", "recorded", "change", "locked", "calls", "one operation") }
        /^#/ || $1 == "row" { next }
        FILENAME == ARGV[1] {
            recorded[$1] = $2
            locked[$1] = $3
            calls[$1] = $4
            next
        }
        { is_measured[$1] = 1 }
        !($1 in recorded) {
            line($1, $2, "-", "-", $3, $4, $5)
            complain($1, "is not recorded")
            next
        }
        {
            change = sprintf("%+.2f %%", ($2 - recorded[$1]) * 100 / recorded[$1])
            line($1, $2, recorded[$1], change, $3, $4, $5)
            look($1, "instructions", $2, recorded[$1], recorded[$1] * percent / 100)
            look($1, "locked instructions", $3, locked[$1], each)
            look($1, "system calls", $4, calls[$1], each)
        }
        END {
            for (row in recorded)
                if (!some && !(row in is_measured)) complain(row, "is recorded, but is no row")
            if (complaints == "") exit 0
            printf "%s", complaints
            print "to record a change that is meant: ./jzx bench --count --update"
            exit 1
        }' "$1" "$2"
}

# update TABLE MEASURED [rows]: with rows, the others keep their counts.
update() {
    new=$2
    if [ $# -gt 2 ]; then
        [ "$(conditions_of "$1")" = "$(conditions_of "$2")" ] || {
            echo "the other rows were counted with something else: update them all" >&2
            return 1
        }
        new=$scratch/merged
        awk -F '\t' '
            FILENAME == ARGV[1] { lines[$1] = $0; next }
            $1 in lines { print lines[$1]; delete lines[$1]; next }
            { print }
            END { for (row in lines) print lines[row] }' "$2" "$1" >"$new" || return 1
    fi
    cp "$new" "$1.new" && mv "$1.new" "$1"
}

verb=${1:-}
[ $# -ge 3 ] || { echo "count.sh: measure, compare, update or check" >&2; exit 2; }
shift
status=0
case $verb in
measure) measure "$@" || status=$? ;;
compare) compare "$@" || status=$? ;;
update) update "$@" || status=$? ;;
check)
    measure "$scratch/measured" "$1" || status=$?
    [ $status -ne 0 ] || compare "$2" "$scratch/measured" || status=$?
    ;;
*) echo "count.sh: no verb '$verb'" >&2; status=2 ;;
esac
exit $status
