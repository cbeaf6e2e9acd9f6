/* SPDX-License-Identifier: MIT */
/* Supervisors: what happens while they are stopping, waiting or starting children, and the times
 * that bound each of it. */
#include "supervising.h"

/* ---- failures while a plan is carried out ---- */

JZX_TEST(rest_for_one_leaves_those_alone_that_it_has_restarted_before_the_one_that_fails, "C21") {
    static const jzx_child_spec specs[] = {
        {TOY("a")}, {TOY("b")}, {TOY("c")}, {FUSSY("d")}, {TOY("e")}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_REST_FOR_ONE, JZX_CHILDREN(specs)));
    trace_clear();
    failures_left = 1;
    tell(&timing, root, "b", TOY_FAIL);
    expect_trace("-bF -eS -dS -cS +b +c +d -dF +d +e ");
    nursery_close(&timing, root);
}

static jzx_actor_id first_root;

/* Fails the first child, once, which ends before the next one's init runs. */
static jzx_err hit_first_init(jzx_context *ctx) {
    jzx_actor_id first = JZX_NOBODY;
    trace_start(ctx->state);
    if (failures_left == 0)
        return JZX_OK;
    failures_left--;
    JZX_EXPECT_EQ(jzx_supervisor_child(ctx->loop, first_root, "a", &first), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_fail(ctx->loop, first), JZX_OK);
    return JZX_OK;
}

static void fail_in_first_start(jzx_strategy strategy, uint32_t delay_ms, const char *then) {
    const jzx_child_spec specs[] = {{TOY("a"), .backoff = {.initial_delay_ns = JZX_MS(delay_ms)}},
                                    {.name = "b",
                                     .behavior = toy,
                                     .init = hit_first_init,
                                     .cleanup = toy_cleanup,
                                     .state = (void *)(uintptr_t) "b"},
                                    {TOY("c")},
                                    {TOY("d")}};
    struct timing timing = nursery_open();
    failures_left = 1;
    assert_int_equal(
        jzx_spawn_supervisor(timing.loop,
                             &JZX_SUPERVISOR_OPTS(.strategy = strategy, JZX_CHILDREN(specs)),
                             &first_root),
        JZX_OK);
    timing_step(&timing);
    if (delay_ms != 0)
        timing_advance(&timing, JZX_MS(delay_ms));
    expect_trace(then);
    JZX_EXPECT_EQ(escalations, 0);
    JZX_EXPECT_EQ(restarts, strategy == JZX_ONE_FOR_ONE ? 1 : 3);
    JZX_EXPECT_EQ(family_of(&timing, first_root).running, 4);
    nursery_close(&timing, first_root);
}

JZX_TEST(a_child_that_runs_and_fails_while_others_start_the_first_time_is_restarted, "C21", "C22") {
    fail_in_first_start(JZX_ONE_FOR_ONE, 0, "+a +b -aF +a +c +d ");
    fail_in_first_start(JZX_ONE_FOR_ONE, 20, "+a +b -aF +c +d +a ");
    fail_in_first_start(JZX_ONE_FOR_ALL, 0, "+a +b -aF -cS -bS +a +b +c +d ");
    fail_in_first_start(JZX_REST_FOR_ONE, 20, "+a +b -aF -cS -bS +a +b +c +d ");
}

JZX_TEST(a_first_start_that_fails_makes_the_supervisor_give_up, "D+sup", "C22") {
    static const jzx_child_spec specs[] = {{TOY("a")}, {FUSSY("b")}, {TOY("c")}};
    struct timing timing = nursery_open();
    failures_left = 1;
    assert_int_equal(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(timing.loop), JZX_ERR_ESCALATED);
    expect_trace("+a +b -bF -aS ");
    JZX_EXPECT_EQ(escalations, 1);
    timing_close(&timing);
}

JZX_TEST(a_failure_while_a_plan_waits_begins_the_plan_anew, "C21", "C22") {
    const jzx_child_spec specs[] = {{TOY("a")},
                                    {TOY("b"), .backoff = {.initial_delay_ns = JZX_MS(100)}},
                                    {TOY("c"), .backoff = {.initial_delay_ns = JZX_MS(50)}}};
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_REST_FOR_ONE, .intensity = 10,
                                                   JZX_CHILDREN(specs)));
    tell(&timing, root, "c", TOY_FAIL);
    expect_trace("+a +b +c -cF ");
    JZX_EXPECT_EQ(info_of(&timing, root, 2).state, JZX_CHILD_WAITING);
    tell(&timing, root, "b", TOY_FAIL);
    timing_advance(&timing, JZX_MS(99));
    expect_trace("-bF ");
    timing_advance(&timing, JZX_MS(1));
    expect_trace("+b +c ");
    tell(&timing, root, "c", TOY_FAIL);
    tell(&timing, root, "a", TOY_FAIL);
    expect_trace("-cF -aF -bS +a +b +c ");
    nursery_close(&timing, root);
}

JZX_TEST(a_supervisor_that_is_stopped_while_a_plan_waits_or_starts_is_done_at_once, "D+sup") {
    const jzx_child_spec specs[] = {{TOY("a"), .backoff = {.initial_delay_ns = JZX_MS(100)}},
                                    {TOY("b")}};
    for (int strategy = JZX_ONE_FOR_ONE; strategy <= JZX_DYNAMIC; strategy++) {
        struct timing timing = nursery_open();
        jzx_actor_id root = nursery_tree(
            &timing, &JZX_SUPERVISOR_OPTS(.strategy = (jzx_strategy)strategy, JZX_CHILDREN(specs)));
        tell(&timing, root, "a", TOY_FAIL);
        stop_supervisor(&timing, root);
        expect_trace("+a +b -aF -bS ");
        JZX_EXPECT(!jzx_loop_alive(timing.loop));
        JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
        timing_close(&timing);
        timing = nursery_open();
        assert_int_equal(
            jzx_spawn_supervisor(
                timing.loop,
                &JZX_SUPERVISOR_OPTS(.strategy = (jzx_strategy)strategy, JZX_CHILDREN(specs)),
                &root),
            JZX_OK);
        while (info_of(&timing, root, 0).state != JZX_CHILD_STARTING)
            JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
        stop_supervisor(&timing, root);
        JZX_EXPECT(strstr(trace, "+b") == NULL || strategy == JZX_DYNAMIC);
        JZX_EXPECT(!jzx_loop_alive(timing.loop));
        timing_close(&timing);
    }
}

/* ---- what counts as running ---- */

/* An init that moves the clock: it takes this long, and then fails as often as it should. */
static uint64_t init_takes_ms;
static jzx_clock *init_clock;

static jzx_err slow_init(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_clock_advance(init_clock, JZX_MS(init_takes_ms)), JZX_OK);
    return fussy_init(ctx);
}

JZX_TEST(the_time_of_an_init_is_no_time_that_the_child_ran, "C+sup", "C22") {
    const jzx_child_spec specs[] = {{.name = "a",
                                     .behavior = toy,
                                     .init = slow_init,
                                     .cleanup = toy_cleanup,
                                     .state = (void *)(uintptr_t) "a",
                                     .start_ns = JZX_NEVER,
                                     .backoff = {.initial_delay_ns = JZX_MS(100)}}};
    struct timing timing = nursery_open();
    init_clock = timing.clock;
    init_takes_ms = 0;
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    init_takes_ms = 6000; /* more than stable_ns */
    failures_left = 3;
    tell(&timing, root, "a", TOY_FAIL);
    for (uint32_t attempt = 1; attempt <= 4; attempt++) {
        jzx_child_info info = info_of(&timing, root, 0);
        JZX_EXPECT_EQ(info.state, JZX_CHILD_WAITING);
        JZX_EXPECT_EQ(info.attempt, attempt);
        JZX_EXPECT_EQ(info.delay_ns, JZX_MS(100 << (attempt - 1)));
        timing_advance(&timing, info.delay_ns);
    }
    JZX_EXPECT_EQ(info_of(&timing, root, 0).state, JZX_CHILD_RUNNING);
    nursery_close(&timing, root);
}

JZX_TEST(the_beginning_of_time_is_a_time_to_start_at, "C+sup") {
    static const jzx_child_spec specs[] = {{TOY("w")}};
    struct timing timing = timing_open_with(0, NULL);
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    tell(&timing, root, "w", TOY_FAIL);
    timing_advance(&timing, JZX_SECOND(5));
    tell(&timing, root, "w", TOY_FAIL);
    JZX_EXPECT_EQ(info_of(&timing, root, 0).attempt, 1);
    nursery_close(&timing, root);
}

/* ---- time to stop; what happens when it is over is in supervisor_late.c ---- */

static void stop_slowly(uint64_t shutdown_ns, uint64_t takes_ms, const char *then) {
    const jzx_child_spec specs[] = {{TOY("a")},
                                    {.name = "b",
                                     .behavior = toy,
                                     .cleanup = toy_cleanup,
                                     .state = (void *)(uintptr_t) "b",
                                     .priority = JZX_PRIORITY_LOW,
                                     .shutdown_ns = shutdown_ns},
                                    {TOY("c")}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    trace_clear();
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    while (strstr(trace, "-c") == NULL || info_of(&timing, root, 1).state != JZX_CHILD_STOPPING)
        JZX_EXPECT_EQ(one_turn(&timing), JZX_OK);
    JZX_EXPECT(family_of(&timing, root).closing);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(takes_ms)), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    expect_trace(then);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    timing_close(&timing);
}

JZX_TEST(a_child_has_its_time_to_stop_before_the_one_before_it_is_asked, "D+sup", "X21") {
    stop_slowly(0, 4999, "-cS -bS -aS ");
    stop_slowly(JZX_MS(200), 199, "-cS -bS -aS ");
    stop_slowly(JZX_NEVER, 100000000, "-cS -bS -aS ");
    stop_slowly(JZX_NONE, 0, "-cS -bK -aS ");
}

/* ---- what a plan does to others ---- */

JZX_TEST(a_tree_below_that_cannot_start_again_is_not_tried_without_a_pause, "C22", "D+sup") {
    const jzx_child_spec below[] = {{FUSSY("f")}};
    const jzx_supervisor_opts lower = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(below));
    const jzx_child_spec specs[] = {{.name = "lower", .supervisor = &lower}};
    struct timing timing = nursery_open();
    failures_left = 0;
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)));
    failures_left = 2;
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, child_of(&timing, root, "lower"), JZX_STOP_KILL),
                  JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(failures_left, 1);
    timing_advance(&timing, JZX_MS(9));
    JZX_EXPECT_EQ(failures_left, 1);
    timing_advance(&timing, JZX_MS(2));
    JZX_EXPECT_EQ(failures_left, 0);
    timing_advance(&timing, JZX_MS(11));
    JZX_EXPECT_EQ(info_of(&timing, root, 0).state, JZX_CHILD_RUNNING);
    nursery_close(&timing, root);
}

JZX_TEST(a_significant_child_that_a_plan_has_stopped_shuts_nobody_down, "C+sup", "D+sup") {
    const jzx_child_spec specs[] = {{TOY("a")},
                                    {TOY("t"), .mode = JZX_TEMPORARY, .significant = true}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL,
                                      .auto_shutdown = JZX_AUTO_SHUTDOWN_ANY, JZX_CHILDREN(specs)));
    trace_clear();
    tell(&timing, root, "a", TOY_FAIL);
    expect_trace("-aF -tS +a ");
    JZX_EXPECT(!family_of(&timing, root).closing);
    nursery_close(&timing, root);
}
