/* SPDX-License-Identifier: MIT */
/* Supervisors: their spans are nanoseconds of 64 bits, from one to centuries. */
#include "supervising.h"

#include <jzx/schedule_admin.h>

/* Spans beyond 32 bits of nanoseconds (4.29 s), in constants. */
static const jzx_child_spec slow[] = {
    {TOY("w"), .backoff = {.initial_delay_ns = JZX_MS(10000), .max_delay_ns = JZX_SECOND(60)},
     .stable_ns = JZX_MS(20000)}};

static jzx_actor_id plant(const struct timing *timing, jzx_backoff backoff, uint64_t stable_ns) {
    const jzx_child_spec specs[] = {{TOY("w"), .backoff = backoff, .stable_ns = stable_ns}};
    return nursery_tree(timing,
                        &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)));
}

/* Fails the child, and expects the delay that is told and the time after which it is back. */
static void expect_back(const struct timing *timing, jzx_actor_id root, uint64_t delay_ns,
                        uint64_t after_ns) {
    trace_clear();
    tell(timing, root, "w", TOY_FAIL);
    JZX_EXPECT_EQ(info_of(timing, root, 0).delay_ns, delay_ns);
    timing_advance(timing, after_ns - 1);
    expect_trace("-wF ");
    timing_advance(timing, 1);
    expect_trace("+w ");
}

#define IS_SPAN(type, field)                                                                       \
    _Generic(((type *)0)->field, uint64_t : sizeof(((type *)0)->field) == 8, default : false)

JZX_TEST(spans_of_specs_and_options_are_nanoseconds_of_64_bits, "X42") {
    JZX_EXPECT(IS_SPAN(jzx_backoff, initial_delay_ns));
    JZX_EXPECT(IS_SPAN(jzx_backoff, step_ns));
    JZX_EXPECT(IS_SPAN(jzx_backoff, max_delay_ns));
    JZX_EXPECT(IS_SPAN(jzx_backoff, jitter_ns));
    JZX_EXPECT(IS_SPAN(jzx_child_spec, shutdown_ns));
    JZX_EXPECT(IS_SPAN(jzx_child_spec, start_ns));
    JZX_EXPECT(IS_SPAN(jzx_child_spec, stable_ns));
    JZX_EXPECT(IS_SPAN(jzx_supervisor_opts, period_ns));
    JZX_EXPECT(IS_SPAN(jzx_supervisor_opts, stable_ns));
    JZX_EXPECT(IS_SPAN(jzx_schedule_config, catch_up_window_ns));
}

JZX_TEST(spans_beyond_32_bits_are_honoured, "X42", "C+sup") {
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(slow)));
    static const uint64_t delays_s[] = {10, 20, 40, 60, 60};
    for (size_t i = 0; i < 5; i++)
        expect_back(&timing, root, JZX_SECOND(delays_s[i]), JZX_SECOND(delays_s[i]));
    timing_advance(&timing, JZX_MS(19999)); /* not stable yet */
    expect_back(&timing, root, JZX_SECOND(60), JZX_SECOND(60));
    timing_advance(&timing, JZX_MS(20000));
    expect_back(&timing, root, JZX_SECOND(10), JZX_SECOND(10));
    nursery_close(&timing, root);
}

JZX_TEST(a_constant_backoff_of_hours_grows_by_hours, "X42") {
    struct timing timing = nursery_open();
    jzx_actor_id root = plant(&timing,
                              (jzx_backoff){.kind = JZX_BACKOFF_CONSTANT,
                                            .initial_delay_ns = JZX_SECOND(3600),
                                            .step_ns = JZX_SECOND(7200),
                                            .max_delay_ns = JZX_SECOND(12000)},
                              JZX_NEVER);
    static const uint64_t delays_s[] = {3600, 10800, 12000, 12000};
    for (size_t i = 0; i < 4; i++) {
        expect_back(&timing, root, JZX_SECOND(delays_s[i]), JZX_SECOND(delays_s[i]));
        timing_advance(&timing, JZX_SECOND(1000000)); /* it is never stable */
    }
    nursery_close(&timing, root);
}

/* One restart in a period is allowed; the second failure comes so long after the first. */
static void fail_twice(uint64_t period_ns, uint64_t after_ns, bool gives_up) {
    static const jzx_child_spec specs[] = {{TOY("w")}};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.intensity = 1, .period_ns = period_ns, JZX_CHILDREN(specs)));
    tell(&timing, root, "w", TOY_FAIL);
    timing_advance(&timing, after_ns);
    fixture_send(timing.loop, child_of(&timing, root, "w"), TOY_FAIL);
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, JZX_NEVER), gives_up ? JZX_ERR_ESCALATED : JZX_OK);
    if (!gives_up)
        stop_supervisor(&timing, root);
    timing_close(&timing);
}

JZX_TEST(a_period_beyond_32_bits_is_honoured, "X42", "C22") {
    fail_twice(JZX_SECOND(10), JZX_SECOND(10), true);
    fail_twice(JZX_SECOND(10), JZX_SECOND(10) + 1, false);
    fail_twice(1500, 1500, true); /* it is compared, not measured by a timer: not rounded up */
    fail_twice(1500, 1501, false);
    fail_twice(JZX_NEVER, JZX_SECOND(1000000000), true);
}

JZX_TEST(a_span_is_rounded_up_to_a_millisecond, "X42") {
    static const uint64_t spans_ns[][2] = {{JZX_US(1500), JZX_MS(2)},
                                           {1, JZX_MS(1)},
                                           {JZX_MS(1) - 1, JZX_MS(1)},
                                           {JZX_MS(1), JZX_MS(1)},
                                           {JZX_SECOND(10) + 1, JZX_MS(10001)}};
    for (size_t i = 0; i < sizeof spans_ns / sizeof spans_ns[0]; i++) {
        struct timing timing = nursery_open();
        jzx_actor_id root = plant(&timing,
                                  (jzx_backoff){.initial_delay_ns = spans_ns[i][0],
                                                .factor = 1,
                                                .max_delay_ns = JZX_SECOND(60)},
                                  0);
        expect_back(&timing, root, spans_ns[i][0], spans_ns[i][1]);
        nursery_close(&timing, root);
    }
}

/* ---- the ends of the range ---- */

static jzx_err check_child(jzx_child_spec spec) {
    return jzx_supervisor_check(
        &JZX_SUPERVISOR_OPTS(.children = &spec, .child_count = 1, .child_size = sizeof spec), NULL);
}

JZX_TEST(spans_end_at_292_years_and_names_of_32_bits_are_none, "X42", "X21") {
    static const uint64_t spans[] = {1, UINT32_MAX + UINT64_C(1), INT64_MAX};
    static const uint64_t wrong[] = {(uint64_t)INT64_MAX + 1, JZX_NEVER - 1, JZX_UNLIMITED};
    for (size_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .shutdown_ns = spans[i]}), JZX_OK);
        JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .start_ns = spans[i]}), JZX_OK);
        JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .backoff.step_ns = spans[i]}), JZX_OK);
        JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .shutdown_ns = wrong[i]}),
                      JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .start_ns = wrong[i]}),
                      JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .backoff.step_ns = wrong[i]}),
                      JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_supervisor_check(&JZX_SUPERVISOR_OPTS(.period_ns = wrong[i]), NULL),
                      JZX_ERR_INVALID_ARG);
    }
    JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .shutdown_ns = JZX_NEVER}), JZX_OK);
    JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .shutdown_ns = JZX_NONE}), JZX_OK);
    JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .start_ns = JZX_NEVER}), JZX_OK);
    JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .stable_ns = JZX_NEVER}), JZX_OK);
    JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .stable_ns = JZX_NONE}),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .backoff.max_delay_ns = JZX_NEVER}),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(check_child((jzx_child_spec){TOY("x"), .backoff.max_delay_ns = JZX_NONE}),
                  JZX_ERR_INVALID_ARG);
}

/* Each of many children fails once: their delays are within those bounds, and use them. Returns the
 * longest. */
static uint64_t expect_delays_within(jzx_backoff backoff, uint32_t jitter_percent,
                                     uint64_t least_ns, uint64_t most_ns) {
    enum { CHILDREN = 64 };
    jzx_child_spec specs[CHILDREN];
    char names[CHILDREN][8];
    for (size_t i = 0; i < CHILDREN; i++) {
        snprintf(names[i], sizeof names[i], "c%zu", i);
        specs[i] =
            (jzx_child_spec){TOY(names[i]), .backoff = backoff, .jitter_percent = jitter_percent};
    }
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)));
    uint64_t lowest = UINT64_MAX;
    uint64_t highest = 0;
    for (size_t i = 0; i < CHILDREN; i++) {
        tell(&timing, root, names[i], TOY_FAIL);
        uint64_t delay_ns = info_of(&timing, root, i).delay_ns;
        lowest = delay_ns < lowest ? delay_ns : lowest;
        highest = delay_ns > highest ? delay_ns : highest;
    }
    JZX_EXPECT(lowest >= least_ns);
    JZX_EXPECT(highest <= most_ns);
    JZX_EXPECT(lowest <= least_ns + (most_ns - least_ns) / 4);
    JZX_EXPECT(highest >= most_ns - (most_ns - least_ns) / 4);
    nursery_close(&timing, root);
    return highest;
}

JZX_TEST(jitter_of_any_size_stays_within_its_bounds_and_uses_them, "X42", "C+sup") {
    const uint64_t most = INT64_MAX;
    const jzx_backoff minutes = {.initial_delay_ns = JZX_SECOND(100),
                                 .max_delay_ns = JZX_SECOND(200),
                                 .jitter_ns = JZX_SECOND(50)};
    const jzx_backoff centuries = {
        .initial_delay_ns = most / 2, .max_delay_ns = most, .jitter_ns = most / 4};
    const jzx_backoff half = {.initial_delay_ns = most / 2, .max_delay_ns = most};
    const jzx_backoff ages = {.initial_delay_ns = most, .max_delay_ns = most, .jitter_ns = most};
    const jzx_backoff nanoseconds = {.initial_delay_ns = 100, .max_delay_ns = 1000};
    expect_delays_within(minutes, 0, JZX_SECOND(50), JZX_SECOND(150));
    expect_delays_within(minutes, 30, JZX_SECOND(20), JZX_SECOND(180));
    expect_delays_within(centuries, 0, most / 4, most / 4 * 3 + 3);
    expect_delays_within(half, 50, most / 4, most / 4 * 3 + 3);
    JZX_EXPECT_EQ(expect_delays_within(ages, 0, 0, most), most);
    JZX_EXPECT_EQ(expect_delays_within(ages, 100, 0, most), most);
    expect_delays_within(nanoseconds, 33, 67, 133);
}

/* Fails it n times, and waits meanwhile, for centuries: the last delay. */
static uint64_t nth_delay(uint32_t n, jzx_backoff backoff) {
    struct timing timing = nursery_open();
    jzx_actor_id root = plant(&timing, backoff, JZX_NEVER);
    tell(&timing, root, "w", TOY_FAIL);
    for (uint32_t i = 1; i < n; i++) {
        timing_advance(&timing, info_of(&timing, root, 0).delay_ns + JZX_MS(1));
        tell(&timing, root, "w", TOY_FAIL);
    }
    jzx_child_info info = info_of(&timing, root, 0);
    JZX_EXPECT_EQ(info.attempt, n);
    nursery_close(&timing, root);
    return info.delay_ns;
}

JZX_TEST(delays_that_grow_beyond_all_numbers_stay_at_the_bound, "X42", "C+sup") {
    const uint64_t most = INT64_MAX;
    JZX_EXPECT_EQ(
        nth_delay(2, (jzx_backoff){.initial_delay_ns = most / 2 + 2, .max_delay_ns = most}), most);
    JZX_EXPECT_EQ(nth_delay(2, (jzx_backoff){.initial_delay_ns = most - 1,
                                             .max_delay_ns = most - 1,
                                             .factor = 1e9}),
                  most - 1);
    JZX_EXPECT_EQ(nth_delay(2, (jzx_backoff){.kind = JZX_BACKOFF_CONSTANT,
                                             .initial_delay_ns = most / 2,
                                             .step_ns = most,
                                             .max_delay_ns = most}),
                  most);
    JZX_EXPECT_EQ(nth_delay(2, (jzx_backoff){.kind = JZX_BACKOFF_CONSTANT,
                                             .initial_delay_ns = most / 2,
                                             .step_ns = most / 2,
                                             .max_delay_ns = most}),
                  most - 1);
    const jzx_backoff steep = {.kind = JZX_BACKOFF_CONSTANT,
                               .initial_delay_ns = JZX_MS(1),
                               .step_ns = most,
                               .max_delay_ns = most};
    JZX_EXPECT_EQ(nth_delay(2, steep), most);
    JZX_EXPECT_EQ(nth_delay(3, steep), most); /* the sum is above 64 bits */
}
