#!/bin/sh
# SPDX-License-Identifier: MIT
#
# selftest.sh RULE SCRATCH: a rule of the house must find what is wrong in a bad sample, and nothing
# in the sample as it was before. The samples are made here: kept in the tree they would break the
# rules that they are for.

set -eu
rule=$1 house=$(cd "$(dirname "$0")" && pwd) tree=$2/$1

rm -rf "$tree"
mkdir -p "$tree/include/jzx" "$tree/src/base" "$tree/src/actor" "$tree/tools" "$tree/tests/api" \
    "$tree/docs" "$tree/libs/http/src"
cp "$house/../../tools/layers.txt" "$tree/tools"
cp "$house/../../.clang-format" "$tree"
spdx='/* SPDX-License-Identifier: MIT */'

# put FILE LINE...: a C file of these lines.
put() {
    file=$tree/$1
    shift
    printf '%s\n' "$spdx" "$@" >"$file"
}

repeat() {
    awk -v n="$1" -v text="$2" 'BEGIN { for (i = 0; i < n; i++) print text }'
}

apply_rule() {
    case $rule in
    exports)
        cc -shared -fPIC -o "$tree/lib.so" "$tree"/src/*/*.c &&
            sh "$house/exports.sh" "$tree/lib.so" "$tree/include"
        ;;
    deaf) sh "$house/deaf.sh" "$tree/program" "$tree/may_pass.txt" "$tree/scratch" $canary ;;
    requirements) sh "$house/../../tools/requirements.sh" check "$tree" ;;
    across_wait_code)
        rm -f "$tree/lib.a"
        (cd "$tree" && cc -O2 -c src/*/*.c && ar rc lib.a ./*.o && rm ./*.o) &&
            JZX_WAITING_MIN=2 sh "$house/across_wait_code.sh" "$tree/lib.a" "$tree/scratch" cc
        ;;
    *) sh "$house/$rule.sh" "$tree" ;;
    esac
}

accepts() {
    output=$(apply_rule 2>&1) || {
        status=$?
        [ $status -ne 77 ] || { printf '%s\n' "$output"; exit 77; }
        printf '%s refuses a good sample:\n%s\n' "$rule" "$output"
        exit 1
    }
}

# refuses WORDS: it fails, and says why in these words.
refuses() {
    if output=$(apply_rule 2>&1); then
        echo "$rule accepts a sample that should fail with: $1"
        exit 1
    fi
    case $output in
    *"$1"*) ;;
    *) printf '%s does not say "%s" but:\n%s\n' "$rule" "$1" "$output"; exit 1 ;;
    esac
}

# table ROW...: a table of requirements; a row is written as printf takes it.
table() {
    { printf 'id\tsummary\tmark\tshown by\n'; for row; do printf "$row\n"; done; } \
        >"$tree/docs/requirements.tsv"
}

good_row='C1\tan id\t-\tapi.good.it_is_good'
good_pins='C1\t-\tshown\nC2\tD\topen\n'

# reports WORDS: the report of a run in which api.good.it_is_good passed says these.
reports() {
    printf 'C1\tapi.good.it_is_good\nC+x\tapi.part.first\n-\thouse.names\n' >"$tree/shown"
    output=$(sh "$house/../../tools/requirements.sh" report "$tree/shown" "$tree")
    case $output in
    *"$1"*) ;;
    *) printf 'the report does not say "%s" but:\n%s\n' "$1" "$output"; exit 1 ;;
    esac
}

# An id with a plus has parts, which name tests that exist; it is shown if all of them are.
check_composites() {
    both=api.part.first,api.part.second
    rows="$good_row\nC+x\tparts\t-\t$both\nC2\tanother\tD\t"
    put tests/api/part.c 'JZX_TEST(first, "C+x") {}' 'JZX_TEST(second, "C+x") {}'
    printf 'C1\t-\tshown\nC+x\t-\topen\nC2\tD\topen\n' >"$tree/docs/requirements.pinned"
    table "$rows"
    refuses "C+x is a composite without parts"
    parts="$good_row\nC+x\tparts\t-\t$both"
    table "$parts\nC+x.1\ta part\t-\tapi.part.third\nC2\tanother\tD\t"
    refuses "no test api.part.third, which is to show C+x.1"
    table "$parts\nC+x.2\ta part\t-\t\nC2\tanother\tD\t"
    refuses "C+x.2 is not the next part of C+x"
    put tests/api/bad.c 'JZX_TEST(of_a_part, "C+x.1") {}'
    table "$parts\nC+x.1\ta part\t-\t\nC2\tanother\tD\t"
    refuses "api.bad.of_a_part names the part C+x.1, but must name C+x"
    rm "$tree/tests/api/bad.c"

    table "$parts\nC+x.1\ta part\t-\tapi.part.first\nC+x.2\tb\t-\t\nC2\tanother\tD\t"
    reports "requirement ids: 1 shown, 0 differ by decision, 2 open of 3 (4 demands)"
    reports "shown without these parts: C+x.2"
    table "$parts\nC+x.1\ta part\t-\tapi.part.first\nC+x.2\tb\t-\t$both\nC2\tanother\tD\t"
    reports "requirement ids: 1 shown," # the second did not pass
    reports "declared, but not shown by this run: C+x"
    mkdir -p "$tree/tests/house"
    : >"$tree/tests/house/names.sh"
    table "$parts\nC+x.1\ta part\t-\tapi.part.first\nC+x.2\tb\t-\thouse.names\nC2\tanother\tD\t"
    reports "requirement ids: 2 shown,"
    reports "not shown: C2"
}

# A row that differs says by which decision, which names it; it is counted apart.
check_differences() {
    rm "$tree/tests/api/part.c"
    mkdir -p "$tree/docs/decisions"
    put docs/decisions/0034-rows.md '# 34. C2 is met, C1.10 was.' '- C+x.2, too'
    printf 'C1\t-\tshown\nC2\tD\tdiffers\n' >"$tree/docs/requirements.pinned"
    differs='differs: decision'
    table "$good_row" "C2\tanother\tD\t\t$differs 0034"
    accepts
    reports "requirement ids: 1 shown, 1 differ by decision, 0 open of 2 (2 demands)"
    table "$good_row" "C2\tanother\tD\t\t$differs 0035"
    refuses "there is no decision 0035"
    table "$good_row" 'C2\tanother\tD\t\tby decision 0034'
    refuses 'the fifth column of C2 is not "differs: decision NNNN"'
    table "$good_row\t$differs 0034" "C2\tanother\tD\t\t$differs 0034"
    refuses "decision 0034 does not mention C1"
    refuses "C1 differs now"
    table "$good_row" 'C2\tanother\tD\t'
    refuses "nothing shows C2 any more"

    parts="$good_row\nC+x\tparts\t-\t\nC+x.1\ta part\t-\tapi.good.it_is_good"
    table "$parts\nC+x.2\tb\t-\t\t$differs 0034\nC2\tanother\tD\t\t$differs 0034"
    reports "requirement ids: 1 shown, 2 differ by decision, 0 open of 3 (4 demands)"
    refuses "> C+x	-	differs"
    table "$parts\nC+x.2\tb\t-\t\nC2\tanother\tD\t\t$differs 0034"
    refuses "> C+x	-	open"
    rm -r "$tree/docs/decisions"
}

# The row of an id has room for the whole demand, a part for one.
check_lengths() {
    long=$(repeat 301 x | tr -d '\n')
    table "C1\t$long\t-\tapi.good.it_is_good" 'C2\tanother\tD\t'
    accepts
    table "C1\t$long$long$long$long\t-\tapi.good.it_is_good" 'C2\tanother\tD\t'
    refuses "more than 1200 columns for C1"
    table "$good_row\nC1.1\t$long\t-\tapi.good.it_is_good" 'C2\tanother\tD\t'
    refuses "more than 300 columns for C1.1"
}

# What is pinned stays: ids, marks, and that they are shown.
check_pins() {
    printf "$good_pins" >"$tree/docs/requirements.pinned"
    table "$good_row"
    refuses "C2 is lost"
    table "$good_row" 'C2\tanother\tF\t'
    refuses "the mark of C2 is no more D"
    put tests/api/good.c 'JZX_TEST(it_is_good) {}'
    table 'C1\tan id\t-\t' 'C2\tanother\tD\t'
    refuses "nothing shows C1 any more"
    if sh "$house/../../tools/requirements.sh" update "$tree" >"$tree/out"; then
        echo "update gives up a pinned id"
        exit 1
    fi
    put tests/api/good.c 'JZX_TEST(it_is_good, "C1") {}'
    table "$good_row" 'C2\tanother\tD\t' 'C3\ta third\t-\t'
    refuses "docs/requirements.pinned (<) is behind the table"
    sh "$house/../../tools/requirements.sh" update "$tree"
    accepts
}

# A test program whose marks are not those of the tree.
check_programs() {
    program=$tree/program
    printf '#!/bin/sh\nprintf "C1\\tapi.good.it_is_good\\n"\n' >"$program"
    chmod +x "$program"
    set -- sh "$house/../../tools/requirements.sh" compiled "$tree"
    "$@" "$program" || { echo "the marks of a good program are refused"; exit 1; }
    if "$@" true >"$tree/out"; then
        echo "a program without the marks of the tree is accepted"
        exit 1
    fi
}

# deaf_program FAILING... -- PASSING...: a test program with these tests, and a list that has one.
deaf_program() {
    {
        printf '#!/bin/sh\ncase $1 in\n--list) echo "'
        for name; do [ "$name" = -- ] || printf '%s\n' "$name"; done
        printf '" ;;\n'
        while [ "$1" != -- ]; do printf '%s) exit 1 ;;\n' "$1"; shift; done
        printf 'sleeps) sleep 60 ;;\nesac\n'
    } >"$tree/program"
    chmod +x "$tree/program"
    printf '# by right\nconfig.passes\n' >"$tree/may_pass.txt"
}

canary=mailbox.messages_arrive_in_the_order_they_were_sent
deaf_program $canary -- config.passes sleeps

put include/jzx/good.h 'int jzx_good(void);'
put src/base/good.c 'int jzx_good(void) {' '    return 1;' '}'
put tests/api/good.c 'JZX_TEST(it_is_good, "C1") {}'
table "$good_row" 'C2\tanother\tD\t'
printf "$good_pins" >"$tree/docs/requirements.pinned"
if [ "$rule" = modules ]; then # a rule about the files that there are: the sample has ours
    cp "$house/../../docs/architecture.md" "$tree/docs"
    cp -r "$house/../../src" "$house/../../include" "$tree"
fi
if [ "$rule" = across_wait ]; then
    mkdir -p "$tree/tests/house"
    printf '# comment\nsrc/base/wait.c look\n' >"$tree/tests/house/across_wait.txt"
    put src/base/wait.c 'static JZX_ACROSS_WAIT int look(int x) {' '    return x;' '}'
fi
if [ "$rule" = across_wait_code ]; then
    put src/base/wait.c '#include <errno.h>' '__attribute__((noipa)) void jzx__switch(int x);' \
        'void jzx__switch(int x) {' '    (void)x;' '}' \
        '__attribute__((noipa)) int look(void);' 'int look(void) {' '    return errno;' '}' \
        'int wait(void);' 'int wait(void) {' '    jzx__switch(1);' '    return look();' '}'
fi
accepts

case $rule in
layers)
    put src/base/bad.c '#include "actor/good.h"'
    refuses "src/base/bad.c:2: base may not include actor"
    put src/base/bad.c '#include "nowhere/good.h"'
    refuses "nowhere is not in tools/layers.txt"
    put src/base/bad.c '#include "good.h"'
    refuses 'write "folder/good.h"'
    rm "$tree/src/base/bad.c"
    mkdir "$tree/src/timer" "$tree/src/super"
    put src/timer/bad.c '#include "super/good.h"'
    refuses "timer may not include super"
    rm "$tree/src/timer/bad.c"
    mkdir -p "$tree/src/schedule/core"
    put src/schedule/core/bad.c '#include "sched/good.h"'
    refuses "schedule/core may not include sched"
    put src/schedule/core/bad.c '#include "schedule/good.h"'
    refuses "schedule/core may not include schedule"
    put src/schedule/core/bad.c '#include "time/good.h"' '#include "schedule/core/good.h"'
    put src/schedule/good.c '#include "schedule/core/good.h"' '#include "actor/good.h"'
    accepts
    mkdir "$tree/src/unknown"
    put src/unknown/bad.c 'int x;'
    refuses "folder unknown is not in tools/layers.txt"
    ;;
cycles)
    # Headers here, .c files there: both tie modules together.
    put src/actor/a.h '#include "actor/b.h"' '#include "base/good.h"'
    put src/actor/b.c '#include "actor/b.h"' '#include "actor/c.h"'
    put src/actor/c.h '#include "actor/d.h"' '#include "actor/missing.h"'
    put src/actor/d.c '# include "actor/e.h" /* indented */'
    put src/actor/e.c '#include "actor/a.h"' '#include "actor/f.h"'
    put src/actor/f.h '#include "actor/g.h"'
    put src/actor/g.h '#include "base/a.h"' '/* #include "actor/a.h" */'
    accepts
    put src/actor/g.c '#include "actor/f.h"'
    put src/base/f.c '#include "base/a.h"'
    put src/base/a.h '#include "base/f.h"'
    accepts
    put src/actor/f.c '#include "actor/b.h"'
    refuses "src/actor: 7 modules depend on one another"
    put src/actor/g.c '#include "actor/g.h"'
    refuses "src/actor: 6 modules depend on one another"
    refuses "actor/e: actor/a actor/f"
    rm "$tree/src/actor/f.c" "$tree"/src/actor/a.h
    put src/actor/f.h '#include "actor/a.h"'
    accepts
    ;;
headers)
    put include/jzx/bad.h 'size_t jzx_bad(void);'
    refuses "include/jzx/bad.h: does not compile alone with cc as c11"
    put include/jzx/bad.h 'int jzx_bad(int class);'
    refuses "as c++17"
    put include/jzx/bad.h 'struct jzx_twice {' '    int x;' '};'
    refuses "redefinition"
    ;;
names)
    put include/jzx/bad.h 'int jzx__bad(void);'
    refuses "include/jzx/bad.h:2:"
    ;;
declared)
    put libs/http/src/bad.c 'void jzx__bad(int x) {' '}'
    refuses "libs/http/src/bad.c:2: jzx__bad is not declared in libs/http/src/bad.h"
    rm "$tree/libs/http/src/bad.c"
    put src/actor/bad.c 'void jzx__bad(int x) {' '}'
    refuses "src/actor/bad.c:2: jzx__bad is not declared in src/actor/bad.h"
    put src/actor/bad.h '/* void jzx__bad(int x); */' '#define CALL(x) jzx__bad(x);' \
        'static inline void use(int x) {' '    jzx__bad(x);' '}' 'typedef void jzx__bad(int x);'
    refuses "jzx__bad is not declared in src/actor/bad.h"
    put src/actor/bad.h '__attribute__((format(printf, 1, 2))) void' 'jzx__bad(int x);'
    accepts
    put src/actor/other.h 'void jzx__bad(int x);'
    refuses "src/actor/bad.c:2: jzx__bad is declared in src/actor/other.h, not in src/actor/bad.h"
    rm "$tree/src/actor/other.h"
    for head in int 'struct x *' '__attribute__((noinline)) int' 'JZX_COLD JZX_ALIGNED(64) int'; do
        put src/actor/bad.c "$head jzx__worse(int x, /* with; { */" '    int y) {' '}'
        refuses "src/actor/bad.c:2: jzx__worse is not declared"
    done
    put src/actor/bad.c 'static void jzx__local(void) {' '}' 'JZX_INLINE int jzx__fast(void) {' \
        '}' 'int jzx_public(void) {' '    jzx__bad(1);' 'out:' '    return 1;' '}' \
        'struct x jzx__table[] = {' '    {1},' '};' 'int (*jzx__pointer)(void);'
    accepts
    ;;
parameters)
    five='int a, void (*b)(int, int), int c, int d, int e,'
    put libs/http/src/bad.c "static int f($five" '    int f, int g) {' '}'
    refuses "libs/http/src/bad.c:2: f has 7 parameters"
    rm "$tree/libs/http/src/bad.c"
    put src/base/bad.c "static int f($five" '    int g) {' '}' "int jzx__g($five int f);" \
        '#define MACRO(a, b, c, d, e, f, g) int x' '' 'MACRO(1, 2, 3, 4, 5, 6, 7);' \
        'static int x = SUM(1, 2, 3, 4, 5, 6, 7);' \
        'int h(void) {' '    jzx_good(1, 2, 3, 4, 5, 6, 7);' '}'
    accepts
    put src/base/bad.c 'int x;' "static JZX_COLD int f($five" '    int f, /* a, b */' '    int g) {'
    refuses "src/base/bad.c:3: f has 7 parameters, more than 6"
    put src/base/bad.c "int jzx__f($five int f, int g);"
    refuses "src/base/bad.c:2: jzx__f has 7 parameters"
    put src/base/bad.c "struct x *jzx_not_public($five int f, int g, int h) {" '}'
    refuses "jzx_not_public has 8 parameters"
    put src/base/bad.c "typedef void jzx__fn($five int f, int g);"
    refuses "jzx__fn has 7 parameters"
    put include/jzx/good.h "int jzx_good($five int f, int g);"
    put src/base/bad.c "int jzx_good($five int f, int g) {" '}'
    accepts
    put src/base/bad.c "static int jzx_good($five int f, int g) {" '}'
    refuses "jzx_good has 7 parameters"
    ;;
memory_orders)
    put libs/http/src/bad.c '#include <stdatomic.h>'
    refuses "libs/http/src/bad.c:2: only src/base/atomic.h names memory orders"
    rm "$tree/libs/http/src/bad.c"
    put src/base/bad.c 'x = jzx__atomic_load_acquire(&y);'
    refuses "src/base/bad.c:2: an ordered operation"
    put src/base/bad.c '/* pairs with nothing near */' '' '' '' 'jzx__atomic_store_release(&y, 1);'
    refuses "src/base/bad.c:6: an ordered operation"
    put src/base/bad.c 'x = jzx__atomic_load_relaxed(&y); /* cheap */'
    refuses "src/base/bad.c:2: a relaxed operation"
    for words in '#include <stdatomic.h>' 'f(memory_order_acquire);' 'atomic_load(&x);' \
        '__atomic_load_n(&x, __ATOMIC_RELAXED);' 'atomic_thread_fence(o);'; do
        put src/base/bad.c "$words"
        refuses "src/base/bad.c:2: only src/base/atomic.h names memory orders"
    done
    put src/base/bad.c '/* acquire: pairs with push */' '' '' 'x = jzx__atomic_load_acquire(&y);' \
        'x = jzx__atomic_load_relaxed(&y); /* relaxed: a gauge */'
    accepts
    ;;
format)
    put libs/http/src/bad.c 'int  x;'
    refuses "libs/http/src/bad.c"
    rm "$tree/libs/http/src/bad.c"
    put src/base/bad.c 'int  x;'
    refuses "src/base/bad.c"
    ;;
length)
    put libs/http/src/bad.c "/* $(repeat 100 x | tr -d '\n') */"
    refuses "libs/http/src/bad.c:2: more than 100 columns"
    rm "$tree/libs/http/src/bad.c"
    repeat 801 '/* one line */' >"$tree/src/base/bad.c"
    refuses "src/base/bad.c:801: more than 800 lines"
    put src/base/bad.c "/* $(repeat 100 x | tr -d '\n') */"
    refuses "src/base/bad.c:2: more than 100 columns"
    { echo 'int f(void) {'; repeat 69 '    g();'; echo '}'; } >"$tree/src/base/bad.c"
    refuses "src/base/bad.c:1: a function of more than 70 lines"
    { echo 'int f(void) {'; repeat 68 '    g();'; echo '}'; } >"$tree/src/base/bad.c"
    accepts
    ;;
across_wait)
    put src/base/bad.c 'JZX_ACROSS_WAIT int' 'jzx__bad(int x) {' '    return x;' '}'
    refuses "src/base/bad.c:2: jzx__bad is not in tests/house/across_wait.txt"
    put src/base/bad.c 'JZX_ACROSS_WAIT int jzx__bad(int x);'
    refuses "src/base/bad.c:2: JZX_ACROSS_WAIT belongs to the definition"
    put src/base/bad.c 'int x;' 'int f(void) {' '    int JZX_ACROSS_WAIT y;' '}'
    refuses "src/base/bad.c:4: JZX_ACROSS_WAIT does not begin a function"
    rm "$tree/src/base/bad.c"
    put src/base/wait.c 'static int look(int x) {' '    return x;' '}'
    refuses "no JZX_ACROSS_WAIT at src/base/wait.c look"
    ;;
across_wait_code)
    # wait_badly LINE...: a file with a function of these lines.
    wait_badly() {
        put src/base/bad.c '#include <errno.h>' 'void jzx__switch(int x);' 'int wait(void);' \
            'extern _Thread_local int mine;' '_Thread_local int mine;' \
            '__attribute__((noinline)) static int look_apart(void) {' '    return mine;' '}' \
            'static int look_here(void) {' '    return mine;' '}' \
            '__attribute__((noipa, cold)) void rarely(int x);' 'void rarely(int x) {' \
            '    (void)x;' '}' 'int wait_badly(int x);' 'int wait_badly(int x) {' "$@" \
            '    return x == 3 ? look_apart() : x == 4 ? look_apart() : 0;' '}' \
            'int look_only(void);' 'int look_only(void) {' '    return look_here();' '}'
    }
    wait_badly '    x += wait();'
    accepts
    for line in '    x += look_here();' '    x += errno;' '    if (x == 5) rarely(mine);'; do
        wait_badly '    jzx__switch(x);' "$line"
        refuses "wait_badly waits, and looks up something of its thread"
        wait_badly "$line" '    x += wait();'
        refuses "wait_badly waits, and looks up something of its thread"
    done
    rm "$tree/src/base/bad.c" "$tree/src/base/wait.c"
    refuses "only 0 functions that wait"
    ;;
spdx)
    echo 'int x;' >"$tree/libs/http/src/bad.c"
    refuses "libs/http/src/bad.c:1: does not begin"
    rm "$tree/libs/http/src/bad.c"
    echo 'int x;' >"$tree/src/base/bad.c"
    refuses "src/base/bad.c:1: does not begin"
    rm "$tree/src/base/bad.c"
    printf '#!/bin/sh\n# no licence\n' >"$tree/tools/bad.sh"
    refuses "tools/bad.sh:1: does not begin"
    printf '#!/bin/sh\n# %s\n' 'SPDX-License-Identifier: MIT' >"$tree/tools/bad.sh"
    accepts
    ;;
syntax)
    printf 'if true; then\n' >"$tree/tools/bad.sh"
    refuses "tools/bad.sh"
    printf 'list=(bash only)\n' >"$tree/tools/bad.sh"
    refuses "tools/bad.sh"
    ;;
exports)
    put src/base/bad.c 'int jzx__bad(void) { return 1; }'
    refuses "jzx__bad"
    put src/base/bad.c 'int helper(void) { return 1; }'
    refuses "helper"
    rm "$tree/src/base/bad.c"
    put include/jzx/bad.h 'JZX_API int' 'jzx_absent(void);'
    refuses "include/jzx/bad.h:3: jzx_absent"
    put include/jzx/bad.h 'static inline int jzx_inlined(void) {' '    return 1;' '}'
    refuses "include/jzx/bad.h:2: jzx_inlined"
    ;;
requirements)
    put tests/api/bad.c 'JZX_TEST(wrong_id, "C1",' '         "Z9") {}'
    refuses "Z9"
    put tests/api/bad.c 'JZX_TEST(not_in_the_table, "C1") {}'
    refuses "api.bad.not_in_the_table"
    rm "$tree/tests/api/bad.c"
    printf 'C1\tagain\t-\t\n' >>"$tree/docs/requirements.tsv"
    refuses "C1 stands twice"
    table 'C1\tan id\tQ\t'
    refuses "mark"
    check_lengths
    check_composites
    check_differences
    check_pins
    check_programs
    ;;
deaf)
    deaf_program $canary -- config.passes api.weak
    refuses "api.weak passes though no behaviour runs"
    deaf_program config.fails -- config.passes $canary
    refuses "$canary must fail here"
    deaf_program $canary config.passes --
    refuses "config.passes never passes"
    deaf_program $canary --
    refuses "config.passes is no test"
    ;;
modules)
    page=$tree/docs/architecture.md
    rm "$tree/include/jzx/tcp.h"
    refuses "there is no include/jzx/tcp.h"
    put include/jzx/tcp.h '/* jzx_tcp_listen */' 'int jzx_tcp_connect(void);'
    refuses "include/jzx/tcp.h does not declare jzx_tcp_listen"
    put include/jzx/tcp.h 'int jzx_tcp_listen(void);' 'int jzx_tcp_connect(void);'
    accepts
    sed '/^| timer | wheel /d' "$page" >"$page.new" && mv "$page.new" "$page"
    refuses "nothing says where wheel of timer is"
    sed '/^## Modules/d' "$page" >"$page.new" && mv "$page.new" "$page"
    refuses "nothing says where config of runtime is"
    ;;
*)
    echo "no self-test for $rule"
    exit 1
    ;;
esac
