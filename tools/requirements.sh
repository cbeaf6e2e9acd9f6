#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Keeps docs/requirements.tsv true: one row per requirement id, and by what it is shown.
#
#   requirements.sh check [ROOT]          the table is well-formed and says what the tree declares
#   requirements.sh update [ROOT]         rewrites its fourth column from the tree
#   requirements.sh compiled ROOT PROGRAM...
#                                         the test programs have the marks that the tree declares
#   requirements.sh report FILE [ROOT]    counts the ids that were shown, by the tests that passed
#                                         (FILE: "id<TAB>test" lines), bench rows and the docs
#
# What the tree declares: JZX_TEST(name, "id", ...) in tests/; JZX_BENCH_SHOWS("id", ...) in bench/,
# for ids marked P; <a id="req-ID"></a> in docs/*.md, for ids marked D.
#
# An id may have parts, rows of the table below its own: C+io.1, C+io.2. Tests name the id, and the
# fourth column of a part, written by hand, names the tests that show this part together. The id is
# shown only if all its parts are.
#
# The row of an id has the demand as the requirements word it; a part has one demand of it. A row
# that is met in another way, or is not met, says in a fifth column which decision made it so:
# "differs: decision 0034". The decision names the id. The report counts the id apart.
#
# docs/requirements.pinned has every id and part with its mark and its state: shown, differs or
# open. update adds to it and takes nothing away: what is lost fails until that file is changed by
# hand.

set -eu
command=${1:-}
file=
[ "$command" != report ] || { file=$(cd "$(dirname "$2")" && pwd)/$(basename "$2"); shift; }
cd "${2:-$(dirname "$0")/..}"
table=docs/requirements.tsv
pinned=docs/requirements.pinned

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

# marked_tests: "test<TAB>id,id,..." per JZX_TEST of the tree.
# shellcheck disable=SC2046 # our file names have no spaces
marked_tests() {
    macro_calls JZX_TEST $(for suite in unit api stress sim fuzz; do
        files "tests/$suite" '*.c'
    done; files tests/cpp '*.cpp') | awk -F '\t' '{
        parts = split($1, path, "/")
        sub(/\.c(pp)?$/, "", path[parts])
        name = ids = $2
        sub(/,.*/, "", name)
        sub(/^[^,]*,?/, "", ids)
        print path[2] "." path[parts] "." name "\t" ids
    }'
}

# other_tests: the further tests of ctest that a part may name.
other_tests() {
    for list in tests/CMakeLists.txt tests/freestanding/CMakeLists.txt \
        tests/bindings/CMakeLists.txt tests/clients/CMakeLists.txt; do
        [ ! -f $list ] || sed -n 's/^add_test(NAME \([^ ]*\) .*/\1/p' $list
    done
    files tests/house '*.sh' | sed 's|.*/|house.|; s|\.sh$||'
    for list in $(files tests/model 'scenarios_*.c'); do
        sed -n 's/.*{\.name = "\([a-z0-9_]*\)".*/model.\1/p' "$list"
    done
    for example in examples/*.c; do echo "$example"; done | sed 's|/|.|; s|\.c$||'
}

# declared: "id<TAB>shown by<TAB>kind" for every mention in the tree; kind is T, P or D.
# shellcheck disable=SC2046
declared() {
    marked_tests | awk -F '\t' '{
        n = split($2, ids, ",")
        for (i = 1; i <= n; i++) print ids[i] "\t" $1 "\tT"
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

# decided: "number<TAB>word" for the words of the decisions, ids among them.
decided() {
    for page in $(files docs/decisions '[0-9]*.md'); do
        number=${page##*/}
        tr -cs 'A-Za-z0-9+.' '\n' <"$page" | sed "s/[.]*\$//; s/^/${number%%-*}\t/"
    done | sort -u
}

# expected: the table as it should be. Complaints about ids go to the file $complaints.
expected() {
    declared >"$scratch/declared"
    { marked_tests | cut -f 1; other_tests; cut -f 2 "$scratch/declared"; } >"$scratch/names"
    decided >"$scratch/decided"
    awk -F '\t' -v complaints="$complaints" '
        function complain(text) { print text >complaints }
        function check_decision(decision) {
            if (decision !~ /^differs: decision [0-9][0-9][0-9][0-9]$/)
                complain(at "the fifth column of " $1 " is not \"differs: decision NNNN\"")
            sub(/.* /, "", decision)
            if (!(decision in is_decision)) complain(at "there is no decision " decision)
            else if (!((decision, $1) in decides) && !((decision, whole) in decides))
                complain(at "decision " decision " does not mention " $1)
        }
        FILENAME == ARGV[1] { is_name[$1] = 1; next }
        FILENAME == ARGV[2] { is_decision[$1] = decides[$1, $2] = 1; next }
        FILENAME == ARGV[3] {
            if (!(($1, $2) in seen)) by[$1] = by[$1] (by[$1] == "" ? "" : ",") $2
            seen[$1, $2] = 1
            kinds[$1] = kinds[$1] $3
            next
        }
        FNR == 1 { print; next }
        {
            at = FILENAME ":" FNR ": "
            if (NF < 4 || NF > 5 || $1 == "" || $2 == "") complain(at "not four columns or five")
            if ($3 !~ /^[DPF-]$/) complain(at "the mark of " $1 " is none of D P F -")
            if ($1 in row) complain(at $1 " stands twice")
            is_part = $1 ~ /\.[0-9]+$/
            limit = is_part ? 300 : 1200
            if (length($2) > limit) complain(at "more than " limit " columns for " $1)
            if (kinds[$1] ~ /P/ && $3 != "P") complain($1 " is shown by a bench, but not marked P")
            if (kinds[$1] ~ /D/ && $3 != "D") complain($1 " is shown by the docs, but not marked D")
            row[$1] = 1
            if (!is_part) whole = $1
            if (NF == 5) check_decision($5)
            if (!is_part) { print $1 "\t" $2 "\t" $3 "\t" by[$1] (NF == 5 ? "\t" $5 : ""); next }

            if ($1 != whole "." ++parts[whole]) complain(at $1 " is not the next part of " whole)
            if ($1 in by) complain(by[$1] " names the part " $1 ", but must name " whole)
            n = split($4, names, ",")
            for (i = 1; i <= n; i++)
                if (!(names[i] in is_name))
                    complain(at "no test " names[i] ", which is to show " $1)
            print
        }
        END {
            for (id in by) {
                if (by[id] == "") continue
                if (!(id in row)) complain("no id " id ", which " by[id] " shows")
                else if (id ~ /[+]/ && !parts[id]) complain(id " is a composite without parts")
            }
        }' "$scratch/names" "$scratch/decided" "$scratch/declared" "$table"
}

# states: "id<TAB>mark<TAB>shown, differs or open" per row of the table on standard input. An id
# with parts is open if one of them is, else it differs if one of them does.
states() {
    awk -F '\t' '
        NR == 1 { next }
        {
            ids[++count] = $1
            mark[$1] = $3
            state[$1] = $5 != "" ? "differs" : $4 == "" ? "open" : "shown"
            if ($1 !~ /\.[0-9]+$/) { whole = $1; next }
            if ($1 == whole ".1" && state[whole] == "open") state[whole] = "shown"
            if (state[$1] == "open") state[whole] = "open"
            if (state[$1] == "differs" && state[whole] == "shown") state[whole] = "differs"
        }
        END { for (i = 1; i <= count; i++) print ids[i] "\t" mark[ids[i]] "\t" state[ids[i]] }'
}

# find_losses: complains about what is pinned and is so no more.
find_losses() {
    states <"$scratch/expected" >"$scratch/states"
    [ -f "$pinned" ] || : >"$pinned"
    awk -F '\t' -v pinned="$pinned" '
        FILENAME == ARGV[1] { mark[$1] = $2; state[$1] = $3; next }
        !($1 in mark) { print $1 " is lost: see " pinned; next }
        mark[$1] != $2 { print "the mark of " $1 " is no more " $2 ": see " pinned }
        $3 != "open" && state[$1] == "open" { print "nothing shows " $1 " any more: see " pinned }
        $3 == "shown" && state[$1] == "differs" { print $1 " differs now: see " pinned }
        ' "$scratch/states" "$pinned" >>"$complaints"
}

check() {
    expected >"$scratch/expected"
    find_losses
    cat "$complaints"
    if ! diff "$table" "$scratch/expected" >"$scratch/diff"; then
        grep '^[<>]' "$scratch/diff" | cut -f 1,4
        echo "$table (<) is not what the tree declares (>): run tools/requirements.sh update"
        return 1
    fi
    [ ! -s "$complaints" ] || return 1
    diff "$pinned" "$scratch/states" ||
        { echo "$pinned (<) is behind the table (>): run tools/requirements.sh update"; return 1; }
}

update() {
    expected >"$scratch/expected"
    find_losses
    cat "$complaints"
    [ ! -s "$complaints" ] || return 1
    cp "$scratch/expected" "$table"
    cp "$scratch/states" "$pinned"
}

# What the compiler did not see, a file that is built nowhere or text behind #if, shows nothing.
compiled() {
    for program in "$@"; do "$program" --ids; done | sort >"$scratch/compiled"
    declared | awk -F '\t' '$3 == "T" { print $1 "\t" $2 }' | sort >"$scratch/marks"
    diff "$scratch/marks" "$scratch/compiled" ||
        { echo "the files of tests/ have marks (<) that the test programs have not (>)"; return 1; }
}

# The ids by their states in this run; those that nothing showed, neighbours joined: A1-A23 B4 ...
report() {
    { cat "$file"; declared | awk -F '\t' '$3 != "T" { print $1 "\t" $2 }'; } >"$scratch/shown"
    awk -F '\t' '
        function have_passed(tests, names, i, n) {
            n = split(tests, names, ",")
            for (i = 1; i <= n; i++) if (!(names[i] in passed)) return 0
            return n > 0
        }
        FILENAME == ARGV[1] { marked[$1] = 1; passed[$2] = 1; next }
        FNR == 1 { next }
        $1 !~ /\.[0-9]+$/ {
            ids[++all] = whole = $1
            declared[$1] = $4 != "" || $5 != ""
            differs[$1] = $5 != ""
            shown[$1] = $1 in marked || $4 == "" && $5 != ""
            demands++
            next
        }
        {
            if (parts[whole]++) demands++
            else shown[whole] = declared[whole] = 1
            if ($5 != "") differs[whole] = 1
            else if ($4 == "") declared[whole] = 0
            if (have_passed($4) || $4 == "" && $5 != "") { shown_parts[whole]++; next }
            shown[whole] = 0
            open_parts[whole] = open_parts[whole] substr($1, length(whole) + 1)
        }

        function number(id) { match(id, /[0-9]*$/); return substr(id, RSTART) + 0 }
        function stem(id) { match(id, /[0-9]*$/); return substr(id, 1, RSTART - 1) }
        function follows(a, b) {
            return stem(a) == stem(b) && number(a) > 0 && number(b) == number(a) + 1
        }
        function grouped(n) {
            return n < 1000 ? n : sprintf("%d,%03d", int(n / 1000), n % 1000)
        }
        function word(text) {
            if (length(line) + length(text) + 1 > 100) { print line; line = " " }
            line = line " " text
        }
        function begin(text) { line = heading = text }
        function end() { if (line != heading) print line }
        END {
            for (i = 1; i <= all; i++) {
                if (shown[ids[i]]) { count[differs[ids[i]]]++; continue }
                if (!shown_parts[ids[i]]) rest[++rests] = ids[i]
            }
            printf "requirement ids: %d shown, %d differ by decision, %d open of %d (%s demands)\n",
                count[0], count[1], all - count[0] - count[1], all, grouped(demands)
            begin("not shown:")
            for (i = 1; i <= rests; i = j + 1) {
                for (j = i; j < rests && follows(rest[j], rest[j + 1]); j++) continue
                word(i == j ? rest[i] : rest[i] "-" rest[j])
            }
            end()
            begin("shown without these parts:")
            for (i = 1; i <= all; i++)
                if (!shown[ids[i]] && shown_parts[ids[i]]) word(ids[i] open_parts[ids[i]])
            end()
            begin("declared, but not shown by this run:")
            for (i = 1; i <= all; i++) if (declared[ids[i]] && !shown[ids[i]]) word(ids[i])
            end()
        }' "$scratch/shown" "$table"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
complaints=$scratch/complaints
: >"$complaints"
case $command in
check | update | report) "$command" ;;
compiled)
    shift 2
    compiled "$@"
    ;;
*)
    sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
