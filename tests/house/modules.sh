#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The modules that the requirements name (E56) are in the table of docs/architecture.md, section
# "Modules", and where it says they are: the file is there, and it declares the entry points.

. "$(dirname "$0")/common.sh"

page=docs/architecture.md
wanted='runtime: config, builder, graceful shutdown
scheduler: work_stealing, task, worker, queue, stats
actor/standard: mailbox, spawn, receive, context
actor/stackless: registry, instance, handler, manual
future: promise, combinator, executor, waker
timer: wheel, sleep
io: reactor, poll, tcp, udp, file
sync: sync
handle: pool, global
util: tls, atomic_waker, intrusive lists'

# rows: "line|module|part|file|name name ..." per row of the table.
rows() {
    awk '
        /^## / { inside = $0 == "## Modules"; next }
        inside && /^\|/ && ++count > 2 {
            gsub(/`|,/, "")
            split($0, column, / *\| */)
            print FNR "|" column[2] "|" column[3] "|" column[4] "|" column[5]
        }' $page
}

# declares FILE NAME: beside a comment, which says nothing of what is there.
declares() {
    sed 's|/\*.*\*/||; /^ *\/\*/,/\*\//d' "$1" | grep -Eq "(^|[^A-Za-z0-9_])$2($|[^A-Za-z0-9_])"
}

find_wrong_rows() {
    rows | while IFS='|' read -r line module part file names; do
        at="$page:$line:"
        [ -f "$file" ] || { echo "$at there is no $file"; continue; }
        [ -n "$names" ] || echo "$at $module $part has no entry points"
        for name in $names; do
            declares "$file" "$name" || echo "$at $file does not declare $name"
        done
    done
}

find_missing() {
    printf '%s\n' "$wanted" | while IFS= read -r module; do
        printf '%s\n' "${module#*: }" | tr ',' '\n' | sed 's/^ *//' | while IFS= read -r part; do
            rows | grep -q "^[0-9]*|${module%%: *}|$part|" ||
                echo "$page: nothing says where $part of ${module%%: *} is"
        done
    done
}

verdict "$(find_wrong_rows; find_missing)"
