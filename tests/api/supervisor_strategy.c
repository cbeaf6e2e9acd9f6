/* SPDX-License-Identifier: MIT */
/* Supervisors: every strategy with every mode and every kind of end, by exact traces. */
#include "supervising.h"

/* ---- ways to end ---- */

enum end {
    BY_FAIL,
    BY_STOP,
    BY_PANIC,
    BY_EXIT_FAIL,
    BY_EXIT_NORMAL,
    BY_EXIT_SHUTDOWN,
    BY_CHECK,
    BY_KILL,
    BY_ACTOR_FAIL,
    BY_ACTOR_STOP,
    BY_QUEUE_STOP,
    ENDS
};

static const struct {
    uint32_t tag;    /* sent; 0: a call */
    char letter;     /* of the reason */
    bool is_failure; /* for transient children */
} ends[ENDS] = {
    [BY_FAIL] = {TOY_FAIL, 'F', true},
    [BY_STOP] = {TOY_STOP, 'N', false},
    [BY_PANIC] = {TOY_PANIC, 'P', true},
    [BY_EXIT_FAIL] = {TOY_EXIT_FAIL, 'F', true},
    [BY_EXIT_NORMAL] = {TOY_EXIT_NORMAL, 'N', false},
    [BY_EXIT_SHUTDOWN] = {TOY_EXIT_SHUTDOWN, 'S', false},
    [BY_CHECK] = {TOY_CHECK, 'F', true},
    [BY_KILL] = {0, 'K', true},
    [BY_ACTOR_FAIL] = {0, 'F', true},
    [BY_ACTOR_STOP] = {0, 'N', false},
    [BY_QUEUE_STOP] = {0, 'N', false},
};

static void end_child(const struct timing *timing, jzx_actor_id id, enum end end) {
    jzx_loop *loop = timing->loop;
    if (ends[end].tag != 0)
        fixture_send(loop, id, ends[end].tag);
    else if (end == BY_KILL)
        JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
    else if (end == BY_ACTOR_FAIL)
        JZX_EXPECT_EQ(jzx_actor_fail(loop, id), JZX_OK);
    else if (end == BY_ACTOR_STOP)
        JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    else
        JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
}

/* ---- the trace that the documentation promises ---- */

static const char *const names[] = {"a", "b", "c", "d", "e"};
enum { CHILDREN_MAX = 5 };

static char expected[4096];

static void expect_more(char sign, size_t child, char letter) {
    size_t length = strlen(expected);
    if (letter != 0)
        snprintf(expected + length, sizeof expected - length, "%c%s%c ", sign, names[child],
                 letter);
    else
        snprintf(expected + length, sizeof expected - length, "%c%s ", sign, names[child]);
}

static bool is_restarted(jzx_child_mode mode, enum end end) {
    return mode == JZX_PERMANENT || (mode == JZX_TRANSIENT && ends[end].is_failure);
}

static void plan(jzx_strategy strategy, jzx_child_mode mode, enum end end, size_t count,
                 size_t victim) {
    size_t first = strategy == JZX_ONE_FOR_ALL ? 0 : victim;
    size_t last = strategy == JZX_ONE_FOR_ONE ? victim : count - 1;
    expected[0] = '\0';
    expect_more('-', victim, ends[end].letter);
    if (!is_restarted(mode, end))
        return;
    for (size_t i = last + 1; i-- > first;)
        if (i != victim)
            expect_more('-', i, 'S');
    for (size_t i = first; i <= last; i++)
        expect_more('+', i, 0);
}

/* A temporary child that has ended is forgotten; others that are not started again are not. */
static void check_ids(const struct timing *timing, jzx_actor_id root, jzx_child_mode mode,
                      const jzx_actor_id *before, size_t count) {
    size_t index = 0;
    for (size_t i = 0; i < count; i++) {
        char mark[8];
        jzx_actor_id now = JZX_NOBODY;
        snprintf(mark, sizeof mark, "-%s", names[i]);
        bool ended = strstr(expected, mark) != NULL;
        mark[0] = '+';
        bool gone = ended && strstr(expected, mark) == NULL;
        JZX_EXPECT_EQ(jzx_supervisor_child(timing->loop, root, names[i], &now),
                      gone ? JZX_ERR_NO_SUCH_ACTOR : JZX_OK);
        JZX_EXPECT_EQ(now == before[i], !ended);
        JZX_EXPECT_EQ(lives(timing, before[i]), !ended);
        if (ended) /* the old id is closed for good */
            JZX_EXPECT_EQ(jzx_send(timing->loop, before[i], JZX_NOBODY, NULL, 0, TOY_NOTHING),
                          JZX_ERR_NO_SUCH_ACTOR);
        if (gone && mode == JZX_TEMPORARY)
            continue;
        jzx_child_info info = info_of(timing, root, index++);
        JZX_EXPECT_EQ(strcmp(info.name, names[i]), 0);
        JZX_EXPECT_EQ(info.state, gone ? JZX_CHILD_EXITED : JZX_CHILD_RUNNING);
        JZX_EXPECT_EQ(info.id, now);
    }
    JZX_EXPECT_EQ(family_of(timing, root).children, index);
}

static void check_case(jzx_strategy strategy, jzx_child_mode mode, enum end end, size_t count,
                       size_t victim) {
    struct timing timing = nursery_open();
    jzx_child_spec specs[CHILDREN_MAX];
    jzx_actor_id before[CHILDREN_MAX] = {0};
    for (size_t i = 0; i < count; i++)
        specs[i] = (jzx_child_spec){TOY(names[i]), .mode = mode};
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = strategy, .children = specs, .child_count = count,
                                      .child_size = sizeof specs[0]));
    trace_clear();
    for (size_t i = 0; i < count; i++)
        before[i] = child_of(&timing, root, names[i]);
    end_child(&timing, before[victim], end);
    timing_step(&timing);
    plan(strategy, mode, end, count, victim);
    if (!expect_trace(expected))
        print_error("strategy %d, mode %d, end %d, child %zu of %zu\n", strategy, mode, end, victim,
                    count);
    check_ids(&timing, root, mode, before, count);
    JZX_EXPECT_EQ(restarts, is_restarted(mode, end)
                                ? (strategy == JZX_ONE_FOR_ONE   ? 1
                                   : strategy == JZX_ONE_FOR_ALL ? count
                                                                 : count - victim)
                                : 0);
    nursery_close(&timing, root);
}

static void check_all(jzx_strategy strategy) {
    static const size_t counts[] = {1, 2, 3, 5};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
        for (size_t victim = 0; victim < counts[k]; victim++)
            for (int mode = JZX_PERMANENT; mode <= JZX_TEMPORARY; mode++)
                for (int end = 0; end < ENDS; end++)
                    check_case(strategy, (jzx_child_mode)mode, (enum end)end, counts[k], victim);
}

JZX_TEST(one_for_one_answers_every_end_in_every_mode_with_the_exact_trace, "C21", "C27", "E+sem") {
    check_all(JZX_ONE_FOR_ONE);
}

JZX_TEST(one_for_all_answers_every_end_in_every_mode_with_the_exact_trace, "C21", "C27", "E+sem") {
    check_all(JZX_ONE_FOR_ALL);
}

JZX_TEST(rest_for_one_answers_every_end_in_every_mode_with_the_exact_trace, "C21", "C27", "E+sem") {
    check_all(JZX_REST_FOR_ONE);
}

JZX_TEST(a_plan_leaves_those_alone_that_had_ended_for_good, "C21") {
    static const jzx_child_spec specs[] = {{TOY("a"), .mode = JZX_TRANSIENT},
                                           {TOY("b")},
                                           {TOY("c"), .mode = JZX_TEMPORARY},
                                           {TOY("d"), .mode = JZX_TRANSIENT}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL, JZX_CHILDREN(specs)));
    tell(&timing, root, "a", TOY_STOP);
    tell(&timing, root, "d", TOY_STOP);
    expect_trace("+a +b +c +d -aN -dN ");
    fixture_send(timing.loop, child_of(&timing, root, "b"), TOY_FAIL);
    timing_step(&timing);
    expect_trace("-bF -cS +b ");
    nursery_close(&timing, root);
}

/* ---- several at the same time ---- */

static const jzx_child_spec abcde[] = {{TOY("a")}, {TOY("b")}, {TOY("c")}, {TOY("d")}, {TOY("e")}};

static void fail_together(jzx_strategy strategy, const char *who, const char *then) {
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = strategy, .intensity = JZX_UNLIMITED,
                                                   JZX_CHILDREN(abcde)));
    expect_trace("+a +b +c +d +e ");
    for (const char *name = who; *name != '\0'; name++)
        fixture_send(timing.loop, child_of(&timing, root, (char[]){*name, '\0'}), TOY_FAIL);
    timing_step(&timing);
    expect_trace(then);
    JZX_EXPECT_EQ(family_of(&timing, root).running, 5);
    nursery_close(&timing, root);
}

JZX_TEST(children_that_fail_together_are_each_restarted_once, "C21", "C+inv") {
    fail_together(JZX_ONE_FOR_ONE, "bd", "-bF +b -dF +d ");
    fail_together(JZX_ONE_FOR_ONE, "abcde", "-aF +a -bF +b -cF +c -dF +d -eF +e ");
    fail_together(JZX_ONE_FOR_ALL, "bd", "-bF -eS -dS -cS -aS +a +b +c +d +e ");
    fail_together(JZX_ONE_FOR_ALL, "abcde", "-aF -bF -cF -dF -eS +a +b +c +d +e ");
    fail_together(JZX_REST_FOR_ONE, "bd", "-bF -eS -dS -cS +b +c +d +e ");
    fail_together(JZX_REST_FOR_ONE, "db", "-dF -eS +d +e -bF -eS -dS -cS +b +c +d +e ");
}

/* ---- inits that fail ---- */

static void fail_inits(jzx_strategy strategy, uint32_t failures, const char *then) {
    static const jzx_child_spec specs[] = {{TOY("a")}, {FUSSY("b")}, {TOY("c")}};
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = strategy, JZX_CHILDREN(specs)));
    expect_trace("+a +b +c ");
    failures_left = failures;
    fixture_send(timing.loop, child_of(&timing, root, "b"), TOY_FAIL);
    jzx_err err = jzx_loop_step(timing.loop, JZX_NEVER);
    expect_trace(then);
    JZX_EXPECT_EQ(err, failures > 2 ? JZX_ERR_ESCALATED : JZX_OK);
    JZX_EXPECT_EQ(escalations, failures > 2 ? 1 : 0);
    if (failures <= 2)
        stop_supervisor(&timing, root);
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
}

JZX_TEST(an_init_that_fails_in_a_restart_is_tried_again_as_often_as_intensity_allows, "C21", "C22",
         "D+sup", "X21") {
    fail_inits(JZX_ONE_FOR_ONE, 1, "-bF +b -bF +b ");
    fail_inits(JZX_ONE_FOR_ONE, 2, "-bF +b -bF +b -bF +b ");
    fail_inits(JZX_REST_FOR_ONE, 2, "-bF -cS +b -bF +b -bF +b +c ");
    fail_inits(JZX_ONE_FOR_ALL, 1, "-bF -cS -aS +a +b -bF -aS +a +b +c ");
    /* the default intensity is 3 */
    fail_inits(JZX_ONE_FOR_ONE, 3, "-bF +b -bF +b -bF +b -bF -cS -aS ");
    fail_inits(JZX_REST_FOR_ONE, 3, "-bF -cS +b -bF +b -bF +b -bF -aS ");
}
