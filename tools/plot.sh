#!/bin/sh
# SPDX-License-Identifier: MIT
# plot.sh RESULTS DIR: draws bar charts of a race (what `jzx bench --peers` saves, one JSON object a
# line): DIR/race-N.svg for N workers. A bar says how many times as long as ours a peer takes.
set -eu

results=$1
dir=$2
command -v gnuplot >/dev/null 2>&1 || { echo "plot: no gnuplot, no charts" >&2; exit 0; }
mkdir -p "$dir"
data=$(mktemp "${TMPDIR:-/tmp}/jzx-plot.XXXXXX")
trap 'rm -f "$data"' EXIT

# One line a row, one column a peer; NaN where a peer did not run.
table() {
    awk -v workers="$1" '
        function field(name,   at, rest) {
            at = index($0, "\"" name "\":")
            if (at == 0) return ""
            rest = substr($0, at + length(name) + 3)
            gsub(/^"/, "", rest)
            sub(/[",}].*/, "", rest)
            return rest
        }
        field("workers") == workers && field("ratio") != "" {
            row = field("bench")
            if (!(row in seen)) { seen[row] = 1; rows[++count] = row }
            ratio[row, field("peer")] = field("ratio")
        }
        END {
            peers = split("erlang go tokio caf boostfiber libuv", names, " ")
            printf "row"
            for (p = 1; p <= peers; p++) printf " %s", names[p]
            print ""
            for (r = 1; r <= count; r++) {
                printf "%s", rows[r]
                for (p = 1; p <= peers; p++)
                    printf " %s", ((rows[r], names[p]) in ratio) ? ratio[rows[r], names[p]] : "NaN"
                print ""
            }
        }' "$results"
}

for workers in $(sed -n 's/.*"workers":\([0-9]*\).*/\1/p' "$results" | sort -nu); do
    table "$workers" >"$data"
    [ "$(wc -l <"$data")" -gt 1 ] || continue
    gnuplot <<END
set terminal svg size 1100,460 background '#ffffff' font 'sans-serif,12'
set output '$dir/race-$workers.svg'
set title 'times as long as libjzx, $workers worker(s); lower is faster, 1 is libjzx'
set style data histograms
set style histogram clustered gap 2
set style fill solid 0.9 border -1
set logscale y
set yrange [0.5:*]
set grid ytics
set key outside right top
set xtics rotate by -35
set datafile missing 'NaN'
plot 1 with lines lc rgb '#444444' title 'libjzx', \
     for [i=2:7] '$data' using i:xtic(1) title columnheader(i)
END
    echo "drawn     $dir/race-$workers.svg" >&2
done
