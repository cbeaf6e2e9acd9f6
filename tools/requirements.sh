#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Keeps docs/requirements.tsv true: one row per requirement id, and by what it is shown.
#
#   requirements.sh check [ROOT]          the table is well-formed and says what the tree declares
#   requirements.sh update [ROOT]         rewrites its last column from the tree
#   requirements.sh report FILE [ROOT]    counts the ids that were shown, by the tests that passed
#                                         (FILE, written by them), bench rows and the docs
#
# What the tree declares: JZX_TEST(name, "id", ...) in tests/; JZX_BENCH_SHOWS("id", ...) in bench/,
# for ids marked P; <a id="req-ID"></a> in docs/*.md, for ids marked D.

set -eu
command=${1:-}
file=
[ "$command" != report ] || { file=$(cd "$(dirname "$2")" && pwd)/$(basename "$2"); shift; }
cd "${2:-$(dirname "$0")/..}"
table=docs/requirements.tsv

# macro_calls MACRO FILE...: "file<TAB>arguments" per use; arguments may run over several lines.
macro_calls() {
    macro=$1
    shift
    [ $# -gt 0 ] || return 0
    awk -v start="^[ \t]*${macro}[(]" '
        FNR == 1 { text = "" }
        text != "" { text = text $0 }
        match($0, start) { text = " " substr($0, RLENGTH + 1) }
        text ~ /\)/ {
            sub(/\).*/, "", text)
            gsub(/[ "\t]/, "", text)
            print FILENAME "\t" text
            text = ""
        }' "$@"
}

files() { [ ! -d "$1" ] || find "$1" -name "$2" | sort; }

# declared: "id<TAB>shown by<TAB>kind" for every mention in the tree; kind is T, P or D.
# shellcheck disable=SC2046 # our file names have no spaces
declared() {
    macro_calls JZX_TEST $(for suite in unit api stress sim fuzz; do
        files "tests/$suite" '*.c'
    done) | awk -F '\t' '{
        parts = split($1, path, "/")
        sub(/\.c$/, "", path[parts])
        n = split($2, argument, ",")
        for (i = 2; i <= n; i++)
            print argument[i] "\t" path[2] "." path[parts] "." argument[1] "\tT"
    }'
    macro_calls JZX_BENCH_SHOWS $(files bench '*.c') | awk -F '\t' '{
        n = split($2, argument, ",")
        for (i = 1; i <= n; i++) print argument[i] "\t" $1 "\tP"
    }'
    for page in $(files docs '*.md'); do
        tr '>' '\n' <"$page" | sed -n 's/.*<a id="req-\([^"]*\)"$/\1/p' |
            awk -v page="$page" '{ print $1 "\t" page "\tD" }'
    done
}

# expected: the table as it should be. Complaints about ids go to the file $complaints.
expected() {
    declared >"$scratch/declared"
    awk -F '\t' -v complaints="$complaints" '
        function complain(text) { print text >complaints }
        FILENAME == ARGV[1] {
            if (!(($1, $2) in seen)) by[$1] = by[$1] (by[$1] == "" ? "" : ",") $2
            seen[$1, $2] = 1
            kinds[$1] = kinds[$1] $3
            next
        }
        FNR == 1 { print; next }
        {
            at = FILENAME ":" FNR ": "
            if (NF != 4 || $1 == "" || $2 == "") complain(at "not four columns")
            if ($3 !~ /^[DPF-]$/) complain(at "the mark of " $1 " is none of D P F -")
            if ($1 in row) complain(at $1 " stands twice")
            if (length($2) > 120) complain(at "more than 120 columns for " $1)
            if (kinds[$1] ~ /P/ && $3 != "P") complain($1 " is shown by a bench, but not marked P")
            if (kinds[$1] ~ /D/ && $3 != "D") complain($1 " is shown by the docs, but not marked D")
            row[$1] = 1
            print $1 "\t" $2 "\t" $3 "\t" by[$1]
        }
        END { for (id in by) if (!(id in row)) complain("no id " id ", which " by[id] " shows") }
        ' "$scratch/declared" "$table"
}

check() {
    expected >"$scratch/expected"
    cat "$complaints"
    if ! diff "$table" "$scratch/expected" >"$scratch/diff"; then
        grep '^[<>]' "$scratch/diff" | cut -f 1,4
        echo "$table (<) is not what the tree declares (>): run tools/requirements.sh update"
        return 1
    fi
    [ ! -s "$complaints" ]
}

update() {
    expected >"$scratch/expected"
    cat "$complaints"
    [ ! -s "$complaints" ] || return 1
    cp "$scratch/expected" "$table"
}

# The ids that nothing showed, neighbours joined: A1-A23 B4 ...
report() {
    { cut -f 1 "$file"; declared | awk -F '\t' '$3 != "T" { print $1 }'; } >"$scratch/shown"
    awk -F '\t' '
        FILENAME == ARGV[1] { shown[$1] = 1; next }
        FNR == 1 { next }
        { all++; if ($1 in shown) count++; else rest[++rests] = $1 }

        function number(id) { match(id, /[0-9]*$/); return substr(id, RSTART) + 0 }
        function stem(id) { match(id, /[0-9]*$/); return substr(id, 1, RSTART - 1) }
        function follows(a, b) {
            return stem(a) == stem(b) && number(a) > 0 && number(b) == number(a) + 1
        }
        function word(text) {
            if (length(line) + length(text) + 1 > 100) { print line; line = " " }
            line = line " " text
        }
        END {
            printf "requirement ids shown: %d of %d\n", count, all
            if (rests) line = "not shown:"
            for (i = 1; i <= rests; i = j + 1) {
                for (j = i; j < rests && follows(rest[j], rest[j + 1]); j++) continue
                word(i == j ? rest[i] : rest[i] "-" rest[j])
            }
            if (rests) print line
        }' "$scratch/shown" "$table"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
complaints=$scratch/complaints
: >"$complaints"
case $command in
check | update | report) "$command" ;;
*)
    sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
