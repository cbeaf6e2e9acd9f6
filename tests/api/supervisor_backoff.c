/* SPDX-License-Identifier: MIT */
/* Supervisors: how long a restart waits, and how many are too many, to the millisecond. */
#include "supervising.h"

/* ---- backoff ---- */

static jzx_actor_id lone_child(const struct timing *timing, jzx_backoff backoff, uint32_t intensity,
                               uint32_t stable_ms) {
    const jzx_child_spec specs[] = {{TOY("w"), .backoff = backoff}};
    return nursery_tree(timing,
                        &JZX_SUPERVISOR_OPTS(.name = "root", .intensity = intensity,
                                             .stable_ns = JZX_MS(stable_ms), JZX_CHILDREN(specs)));
}

/* Fails the child, and expects it back after exactly so long, seen by info and observer. */
static void expect_delay(const struct timing *timing, jzx_actor_id root, uint32_t attempt,
                         uint64_t delay_ms) {
    jzx_actor_id before = child_of(timing, root, "w");
    uint32_t seen_before = seen_count;
    tell(timing, root, "w", TOY_EXIT_FAIL);
    if (delay_ms > 0) {
        jzx_child_info info = info_of(timing, root, 0);
        JZX_EXPECT_EQ(info.state, JZX_CHILD_WAITING);
        JZX_EXPECT_EQ(info.id, JZX_NOBODY);
        JZX_EXPECT_EQ(info.attempt, attempt);
        JZX_EXPECT_EQ(info.last_reason, JZX_EXIT_FAIL);
        JZX_EXPECT_EQ(strcmp(info.last_text, "no more tea"), 0);
        JZX_EXPECT(!has_child(timing, root, "w"));
        JZX_EXPECT_EQ(family_of(timing, root).running, 0);
        timing_advance(timing, JZX_MS(delay_ms) - 1);
        expect_trace("-wF ");
        timing_advance(timing, 1);
        expect_trace("+w ");
    } else {
        expect_trace("-wF +w ");
    }
    jzx_actor_id after = child_of(timing, root, "w");
    JZX_EXPECT(after != before);
    JZX_EXPECT_EQ(info_of(timing, root, 0).delay_ns, JZX_MS(delay_ms));
    JZX_EXPECT_EQ(seen_count, seen_before + 1);
    const struct seen *event = &seen[seen_before];
    JZX_EXPECT_EQ(event->kind, JZX_EVENT_ACTOR_RESTART);
    JZX_EXPECT_EQ(event->actor, after);
    JZX_EXPECT_EQ(event->attempt, attempt);
    JZX_EXPECT_EQ(event->elapsed_ns, JZX_MS(delay_ms));
    JZX_EXPECT_EQ(event->reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(strcmp(event->name, "w"), 0);
    JZX_EXPECT(strstr(event->detail, "no more tea") != NULL);
}

static void expect_delays(jzx_backoff backoff, const uint64_t *delays_ms, uint32_t count) {
    struct timing timing = nursery_open();
    jzx_actor_id root = lone_child(&timing, backoff, JZX_UNLIMITED, 0);
    trace_clear();
    for (uint32_t i = 0; i < count; i++)
        expect_delay(&timing, root, i + 1, delays_ms[i]);
    nursery_close(&timing, root);
}

JZX_TEST(restarts_wait_exponentially_longer_up_to_a_bound, "C22", "C+sup", "X21", "C27") {
    static const uint64_t defaults[] = {100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000};
    expect_delays((jzx_backoff){.kind = JZX_BACKOFF_EXPONENTIAL}, defaults, 10);
    expect_delays((jzx_backoff){.initial_delay_ns = JZX_MS(100)}, defaults, 10);
    expect_delays((jzx_backoff){.factor = 2.0}, defaults, 10);
    expect_delays((jzx_backoff){.max_delay_ns = JZX_MS(10000)}, defaults, 10);
    expect_delays(
        (jzx_backoff){.initial_delay_ns = JZX_MS(10), .factor = 3.0, .max_delay_ns = JZX_MS(200)},
        (uint64_t[]){10, 30, 90, 200, 200}, 5);
    expect_delays((jzx_backoff){.initial_delay_ns = JZX_MS(8), .factor = 1.5},
                  (uint64_t[]){8, 12, 18, 27}, 4);
    expect_delays((jzx_backoff){.initial_delay_ns = JZX_MS(7), .factor = 1.0},
                  (uint64_t[]){7, 7, 7}, 3);
}

JZX_TEST(an_initial_delay_above_the_bound_is_the_bound, "C+sup") {
    expect_delays((jzx_backoff){.initial_delay_ns = JZX_MS(500), .max_delay_ns = JZX_MS(20)},
                  (uint64_t[]){20, 20}, 2);
}

JZX_TEST(a_constant_backoff_adds_a_step_each_time_up_to_a_bound, "C22", "C+sup") {
    expect_delays((jzx_backoff){.kind = JZX_BACKOFF_CONSTANT}, (uint64_t[]){100, 100, 100}, 3);
    expect_delays((jzx_backoff){.kind = JZX_BACKOFF_CONSTANT,
                                .initial_delay_ns = JZX_MS(20),
                                .step_ns = JZX_MS(15),
                                .max_delay_ns = JZX_MS(60)},
                  (uint64_t[]){20, 35, 50, 60, 60}, 5);
}

JZX_TEST(without_a_backoff_a_restart_does_not_wait, "C+sup", "X21") {
    expect_delays((jzx_backoff){0}, (uint64_t[]){0, 0, 0, 0, 0, 0}, 6);
}

JZX_TEST(a_factor_and_count_beyond_all_numbers_stay_at_the_bound, "C+sup") {
    struct timing timing = nursery_open();
    jzx_actor_id root = lone_child(
        &timing,
        (jzx_backoff){.initial_delay_ns = JZX_MS(1), .factor = 1e6, .max_delay_ns = JZX_MS(5)},
        JZX_UNLIMITED, INT32_MAX);
    trace_clear();
    expect_delay(&timing, root, 1, 1);
    for (uint32_t i = 2; i < 2000; i++)
        expect_delay(&timing, root, i, 5);
    nursery_close(&timing, root);
}

/* How long the restart that was just asked for by a failure takes, at most limit_ms. */
static uint64_t measure_delay(const struct timing *timing, jzx_actor_id root, uint64_t limit_ms) {
    tell(timing, root, "w", TOY_FAIL);
    uint64_t waited = 0;
    while (!has_child(timing, root, "w") && waited <= limit_ms) {
        timing_advance(timing, JZX_MS(1));
        waited++;
    }
    JZX_EXPECT_EQ(JZX_MS(waited),
                  (info_of(timing, root, 0).delay_ns + JZX_MS(1) - 1) / JZX_MS(1) * JZX_MS(1));
    return waited;
}

static void expect_jitter(jzx_backoff backoff, uint64_t least, uint64_t most) {
    struct timing timing = nursery_open();
    jzx_actor_id root = lone_child(&timing, backoff, JZX_UNLIMITED, 0);
    uint64_t lowest = UINT64_MAX;
    uint64_t highest = 0;
    for (int i = 0; i < 300; i++) {
        uint64_t delay = measure_delay(&timing, root, most + 10);
        lowest = delay < lowest ? delay : lowest;
        highest = delay > highest ? delay : highest;
    }
    JZX_EXPECT(lowest >= least);
    JZX_EXPECT(highest <= most);
    JZX_EXPECT(lowest < highest);
    /* 300 throws come near both ends */
    JZX_EXPECT(lowest <= least + (most - least) / 4);
    JZX_EXPECT(highest >= most - (most - least) / 4);
    nursery_close(&timing, root);
}

JZX_TEST(jitter_stays_within_its_bounds_and_uses_them, "C+sup") {
    expect_jitter(
        (jzx_backoff){.initial_delay_ns = JZX_MS(100), .factor = 1.0, .jitter_ns = JZX_MS(50)}, 50,
        150);
    expect_jitter(
        (jzx_backoff){.initial_delay_ns = JZX_MS(20), .factor = 1.0, .jitter_ns = JZX_MS(70)}, 0,
        90);
    expect_jitter((jzx_backoff){.initial_delay_ns = JZX_MS(30),
                                .factor = 1,
                                .max_delay_ns = JZX_MS(40),
                                .jitter_ns = JZX_MS(30)},
                  0, 40);
    expect_jitter((jzx_backoff){.initial_delay_ns = JZX_MS(60),
                                .kind = JZX_BACKOFF_CONSTANT,
                                .max_delay_ns = JZX_MS(60),
                                .jitter_ns = JZX_MS(20)},
                  40, 60);
}

JZX_TEST(a_child_that_ran_for_the_stable_time_begins_anew, "C22", "C+sup", "X21") {
    struct timing timing = nursery_open();
    jzx_actor_id root =
        lone_child(&timing, (jzx_backoff){.initial_delay_ns = JZX_MS(100)}, JZX_UNLIMITED, 0);
    trace_clear();
    expect_delay(&timing, root, 1, 100);
    expect_delay(&timing, root, 2, 200);
    timing_advance(&timing, JZX_MS(4999));
    expect_delay(&timing, root, 3, 400);
    timing_advance(&timing, JZX_MS(5000));
    expect_delay(&timing, root, 1, 100);
    expect_delay(&timing, root, 2, 200);
    nursery_close(&timing, root);
    timing = nursery_open();
    root = lone_child(&timing, (jzx_backoff){.initial_delay_ns = JZX_MS(100)}, JZX_UNLIMITED, 30);
    trace_clear();
    expect_delay(&timing, root, 1, 100);
    timing_advance(&timing, JZX_MS(29));
    expect_delay(&timing, root, 2, 200);
    timing_advance(&timing, JZX_MS(30));
    expect_delay(&timing, root, 1, 100);
    nursery_close(&timing, root);
}

JZX_TEST(a_stable_child_that_fails_the_first_time_is_at_its_first_attempt, "C+sup") {
    struct timing timing = nursery_open();
    jzx_actor_id root = lone_child(&timing, (jzx_backoff){.initial_delay_ns = JZX_MS(100)}, 3, 0);
    trace_clear();
    timing_advance(&timing, JZX_SECOND(3600));
    expect_delay(&timing, root, 1, 100);
    nursery_close(&timing, root);
}

/* ---- intensity ---- */

/* Fails it now. Returns whether the supervisor gave up. */
static bool fail_gives_up(const struct timing *timing, jzx_actor_id root) {
    fixture_send(timing->loop, child_of(timing, root, "w"), TOY_FAIL);
    jzx_err err = jzx_loop_step(timing->loop, JZX_NEVER);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_ESCALATED);
    JZX_EXPECT_EQ(escalations, err == JZX_OK ? 0 : 1);
    return err == JZX_ERR_ESCALATED;
}

/* Fails it at those times after the start; only the last must make the supervisor give up, if
 * gives_up says so. */
static void fail_at(uint32_t intensity, uint32_t period_ms, const uint64_t *at_ms, size_t count,
                    bool gives_up) {
    static const jzx_child_spec specs[] = {{TOY("w")}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = intensity,
                                                                   .period_ns = JZX_MS(period_ms),
                                                                   JZX_CHILDREN(specs)));
    for (size_t i = 0; i < count; i++) {
        timing_advance_to(&timing, JZX_MS(1000 + at_ms[i]));
        JZX_EXPECT_EQ(fail_gives_up(&timing, root), gives_up && i + 1 == count);
    }
    if (!gives_up)
        stop_supervisor(&timing, root);
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
}

#define FAIL_AT(intensity, period, gives_up, ...)                                                  \
    fail_at(intensity, period, (uint64_t[]){__VA_ARGS__},                                          \
            sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), gives_up)

JZX_TEST(more_restarts_than_intensity_within_the_period_are_too_many, "C22", "C+sup", "X21") {
    FAIL_AT(0, 0, false, 0, 0, 0);
    FAIL_AT(0, 0, true, 0, 0, 0, 0);
    FAIL_AT(0, 0, true, 0, 1666, 3333, 4999);
    FAIL_AT(0, 0, false, 0, 1700, 3400, 5001, 6800, 8500, 10200);
    FAIL_AT(1, 1000, true, 10, 1009);
    FAIL_AT(1, 1000, false, 10, 1011);
    FAIL_AT(1, 1000, false, 0, 1001, 2002, 3003);
    FAIL_AT(1, 1000, true, 0, 1001, 2002, 2100);
    FAIL_AT(2, 100, true, 0, 60, 120, 200, 219);
    FAIL_AT(JZX_NONE, 0, true, 0);
}

JZX_TEST(a_restart_at_the_edge_of_the_period_still_counts, "C22") {
    FAIL_AT(1, 1000, true, 10, 1010);
}

JZX_TEST(unlimited_intensity_never_gives_up, "C22") {
    static const jzx_child_spec specs[] = {{TOY("w")}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)));
    for (int i = 0; i < 3000; i++) {
        trace_clear();
        tell(&timing, root, "w", TOY_FAIL);
    }
    JZX_EXPECT_EQ(info_of(&timing, root, 0).restarts, 3000);
    JZX_EXPECT_EQ(family_of(&timing, root).restarts, 3000);
    JZX_EXPECT_EQ(escalations, 0);
    nursery_close(&timing, root);
}

JZX_TEST(the_largest_intensity_counts_to_the_end, "C22") {
    static const jzx_child_spec specs[] = {{TOY("w")}};
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = 65535, JZX_CHILDREN(specs)));
    for (int i = 0; i < 65535; i++) {
        trace_clear();
        if (fail_gives_up(&timing, root))
            fail_msg("gave up at failure %d", i + 1);
    }
    JZX_EXPECT(fail_gives_up(&timing, root));
    timing_close(&timing);
}

/* The restarts of all children count together, and a failure of one counts once, however many it
 * concerns. */
JZX_TEST(intensity_counts_failures_of_all_children_and_each_once, "C22", "C+inv") {
    static const jzx_child_spec specs[] = {{TOY("a")}, {TOY("b")}, {TOY("c")}};
    for (int strategy = JZX_ONE_FOR_ONE; strategy <= JZX_REST_FOR_ONE; strategy++) {
        struct timing timing = nursery_open();
        jzx_actor_id root = nursery_tree(
            &timing, &JZX_SUPERVISOR_OPTS(.strategy = (jzx_strategy)strategy, JZX_CHILDREN(specs)));
        tell(&timing, root, "a", TOY_FAIL);
        tell(&timing, root, "b", TOY_FAIL);
        tell(&timing, root, "c", TOY_FAIL);
        JZX_EXPECT_EQ(escalations, 0);
        fixture_send(timing.loop, child_of(&timing, root, "a"), TOY_FAIL);
        JZX_EXPECT_EQ(jzx_loop_step(timing.loop, JZX_NEVER), JZX_ERR_ESCALATED);
        JZX_EXPECT_EQ(escalations, 1);
        timing_close(&timing);
    }
}

JZX_TEST(giving_up_does_not_wait_for_a_backoff, "C22", "C+sup", "C+inv") {
    struct timing timing = nursery_open();
    const jzx_child_spec specs[] = {{TOY("a")},
                                    {TOY("w"), .backoff = {.initial_delay_ns = JZX_MS(1000)}},
                                    {TOY("z"), .backoff = {.initial_delay_ns = JZX_MS(3000)}}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = 2, JZX_CHILDREN(specs)));
    tell(&timing, root, "w", TOY_FAIL);
    tell(&timing, root, "z", TOY_FAIL);
    expect_trace("+a +w +z -wF -zF ");
    fixture_send(timing.loop, child_of(&timing, root, "a"), TOY_FAIL);
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, JZX_NEVER), JZX_ERR_ESCALATED);
    expect_trace("-aF ");
    JZX_EXPECT_EQ(escalations, 1);
    timing_close(&timing);
}

JZX_TEST(ends_that_are_no_failures_do_not_count, "C21", "C22") {
    struct timing timing = nursery_open();
    static const jzx_child_spec specs[] = {
        {TOY("t"), .mode = JZX_TRANSIENT}, {TOY("u"), .mode = JZX_TEMPORARY}, {TOY("w")}};
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_NONE, JZX_CHILDREN(specs)));
    tell(&timing, root, "t", TOY_STOP);
    tell(&timing, root, "u", TOY_FAIL);
    expect_trace("+t +u +w -tN -uF ");
    JZX_EXPECT_EQ(family_of(&timing, root).restarts, 0);
    fixture_send(timing.loop, child_of(&timing, root, "w"), TOY_STOP);
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, JZX_NEVER), JZX_ERR_ESCALATED);
    expect_trace("-wN ");
    timing_close(&timing);
}
