/* SPDX-License-Identifier: MIT */
/* The tick source, the judgement of a backlog, the gauge, the overload machine and the drift
 * monitor, each by itself. */
#include "schedule/core/backpressure.h"
#include "schedule/core/drift.h"
#include "schedule/core/driver.h"
#include "schedule/core/gauge.h"
#include "schedule/core/ticks.h"

#include "seeds.h"

/* ---- the source ---- */

JZX_TEST(announced_ticks_are_taken_whole_and_once, "B22") {
    struct jzx__tick_source source;
    jzx__tick_source_open(&source);
    JZX_EXPECT_EQ(jzx__tick_source_pull(&source), 0);
    for (unsigned i = 0; i < 3; i++)
        JZX_EXPECT(jzx__tick_source_notify(&source, 1));
    JZX_EXPECT(jzx__tick_source_notify(&source, 1000000));
    JZX_EXPECT_EQ(jzx__tick_source_pending(&source), 1000003);
    JZX_EXPECT_EQ(jzx__tick_source_pull(&source), 1000003);
    JZX_EXPECT_EQ(jzx__tick_source_pull(&source), 0);
}

JZX_TEST(a_flush_takes_the_rest_and_blocks_what_comes_later) {
    struct jzx__tick_source source;
    jzx__tick_source_open(&source);
    JZX_EXPECT(jzx__tick_source_notify(&source, 5));
    JZX_EXPECT_EQ(jzx__tick_source_flush(&source), 5);
    JZX_EXPECT(!jzx__tick_source_notify(&source, 1));
    JZX_EXPECT_EQ(jzx__tick_source_pull(&source), 0);
    JZX_EXPECT_EQ(jzx__tick_source_flush(&source), 0);
}

/* ---- the backlog; a window of 10 ticks ---- */

static struct jzx__tick_verdict observe(struct jzx__tick_runner *runner, uint64_t backlog) {
    runner->owed = backlog;
    return jzx__tick_runner_observe(runner);
}

JZX_TEST(a_backlog_above_four_fifths_of_the_window_is_a_catch_up, "B29") {
    struct jzx__tick_runner runner;
    jzx__tick_runner_init(&runner, 10, 10);
    JZX_EXPECT_EQ(observe(&runner, 8).mode, JZX__TICKS_NORMAL);
    JZX_EXPECT_EQ(runner.catch_ups, 0);
    JZX_EXPECT_EQ(observe(&runner, 9).mode, JZX__TICKS_CATCH_UP);
    JZX_EXPECT_EQ(runner.catch_ups, 1);
    JZX_EXPECT_EQ(runner.backlog_peak, 9);
}

JZX_TEST(a_backlog_above_the_window_raises_and_halves_the_chunk_until_it_clears, "B30", "B32",
         "X3") {
    struct jzx__tick_runner runner;
    jzx__tick_runner_init(&runner, 10, 10);
    jzx__tick_runner_set_status(&runner, JZX__DRIVER_STATUS_OK);
    JZX_EXPECT(!observe(&runner, 10).raises);
    struct jzx__tick_verdict verdict = observe(&runner, 11);
    JZX_EXPECT(verdict.raises && verdict.status_changed);
    JZX_EXPECT_EQ(runner.status, JZX__DRIVER_STATUS_BACKPRESSURED);
    JZX_EXPECT_EQ(runner.chunk_ticks, 5);
    static const uint32_t halves[] = {2, 1, 1};
    for (unsigned i = 0; i < 3; i++) {
        JZX_EXPECT(!observe(&runner, 11).status_changed);
        JZX_EXPECT_EQ(runner.chunk_ticks, halves[i]);
    }
    JZX_EXPECT_EQ(runner.overflow_events, 4);
    JZX_EXPECT(!observe(&runner, 8).clears); /* not below 0.8 windows */
    JZX_EXPECT_EQ(runner.chunk_ticks, 1);
    verdict = observe(&runner, 7);
    JZX_EXPECT(verdict.clears && verdict.status_changed);
    JZX_EXPECT_EQ(runner.status, JZX__DRIVER_STATUS_OK);
    JZX_EXPECT_EQ(runner.chunk_ticks, 10);
}

JZX_TEST(two_windows_are_exceeded_only_the_second_time_in_a_row, "B31", "X3") {
    struct jzx__tick_runner runner;
    jzx__tick_runner_init(&runner, 10, 10);
    JZX_EXPECT(!observe(&runner, 21).is_exceeded);
    JZX_EXPECT(!observe(&runner, 20).is_exceeded); /* the row ends */
    JZX_EXPECT(!observe(&runner, 21).is_exceeded);
    JZX_EXPECT(observe(&runner, 22).is_exceeded);
    JZX_EXPECT(!observe(&runner, 23).is_exceeded); /* once per row */
    JZX_EXPECT(!observe(&runner, 5).recovered);
    JZX_EXPECT(observe(&runner, 4).recovered);
}

JZX_TEST(a_pass_is_a_chunk_or_what_is_left) {
    struct jzx__tick_runner runner;
    jzx__tick_runner_init(&runner, 10, 4);
    runner.owed = 9;
    JZX_EXPECT_EQ(jzx__tick_runner_chunk(&runner), 4);
    runner.owed = 3;
    JZX_EXPECT_EQ(jzx__tick_runner_chunk(&runner), 3);
    runner.owed = 0;
    JZX_EXPECT_EQ(jzx__tick_runner_chunk(&runner), 0);
}

/* ---- the gauge ---- */

static uint32_t load;
static uint32_t samples;

static uint32_t sample(void *ctx) {
    samples++;
    return ctx != NULL ? *(uint32_t *)ctx : load;
}

JZX_TEST(a_critical_load_engages_after_so_many_ticks_in_a_row, "B89") {
    struct jzx__gauge gauge;
    jzx__gauge_init(&gauge, 3);
    const struct jzx__probe probe = {"mailboxes", JZX__PROBE_MAILBOX, sample, NULL};
    JZX_EXPECT(!jzx__gauge_is_active(&gauge));
    JZX_EXPECT(jzx__gauge_register(&gauge, probe));
    JZX_EXPECT(jzx__gauge_is_active(&gauge));
    load = 799;
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_CLEAR);
    load = 800;
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_CRITICAL);
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_CRITICAL);
    load = 100; /* the row ends */
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_CLEAR);
    load = 1000;
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_CRITICAL);
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_CRITICAL);
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_ENGAGED);
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_ENGAGED);
    JZX_EXPECT_EQ(samples, 8); /* one per poll */
}

JZX_TEST(the_largest_load_of_all_probes_counts, "B89") {
    struct jzx__gauge gauge;
    uint32_t loads[] = {10, 900, 20};
    jzx__gauge_init(&gauge, 1);
    for (unsigned i = 0; i < 3; i++)
        JZX_EXPECT(jzx__gauge_register(
            &gauge, (struct jzx__probe){"x", JZX__PROBE_RUNTIME, sample, &loads[i]}));
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_ENGAGED);
    JZX_EXPECT_EQ(gauge.load, 900);
    JZX_EXPECT_EQ(gauge.kinds, JZX__PROBE_BIT(JZX__PROBE_RUNTIME));
    loads[1] = 0;
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_CLEAR);
    JZX_EXPECT_EQ(gauge.load, 20);
}

JZX_TEST(a_report_counts_at_the_next_poll_and_only_then) {
    struct jzx__gauge gauge;
    jzx__gauge_init(&gauge, 1);
    jzx__gauge_push(&gauge, 850);
    jzx__gauge_push(&gauge, 300); /* the larger one stays */
    JZX_EXPECT(jzx__gauge_is_active(&gauge));
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_ENGAGED);
    JZX_EXPECT_EQ(gauge.load, 850);
    JZX_EXPECT(jzx__gauge_is_active(&gauge)); /* until it was seen to fall */
    JZX_EXPECT_EQ(jzx__gauge_poll(&gauge), JZX__GAUGE_CLEAR);
    JZX_EXPECT(!jzx__gauge_is_active(&gauge));
}

JZX_TEST(a_ninth_probe_is_refused) {
    struct jzx__gauge gauge;
    jzx__gauge_init(&gauge, 1);
    const struct jzx__probe probe = {"x", JZX__PROBE_DISPATCHER_LOAD, sample, NULL};
    for (unsigned i = 0; i < JZX__PROBES_OWN; i++)
        jzx__gauge_register_own(&gauge, probe); /* they take no room */
    for (unsigned i = 0; i < JZX__PROBES_MAX; i++)
        JZX_EXPECT(jzx__gauge_register(&gauge, probe));
    JZX_EXPECT(!jzx__gauge_register(&gauge, probe));
}

/* ---- the overload machine ---- */

static struct jzx__backpressure in_state(enum jzx__backpressure_state state, uint32_t reasons) {
    struct jzx__backpressure bp;
    jzx__backpressure_init(&bp, 5);
    bp.state = state;
    bp.reasons = reasons;
    if (state == JZX__BP_REJECTING) {
        bp.rejected_for = reasons;
        bp.reject_until = 105;
    }
    return bp;
}

JZX_TEST(overload_goes_through_the_noticed_state_into_backpressure) {
    struct jzx__backpressure bp = in_state(JZX__BP_NORMAL, 0);
    JZX_EXPECT(jzx__backpressure_notice(&bp, JZX__BP_BY_DRIVER));
    JZX_EXPECT_EQ(bp.state, JZX__BP_DRIVER);
    JZX_EXPECT(!jzx__backpressure_is_engaged(&bp));
    JZX_EXPECT(jzx__backpressure_raise(&bp, JZX__BP_BY_DRIVER));
    JZX_EXPECT_EQ(bp.state, JZX__BP_ENGAGED);
    JZX_EXPECT(jzx__backpressure_is_engaged(&bp));
    JZX_EXPECT(!jzx__backpressure_raise(&bp, JZX__BP_BY_GAUGE));
    JZX_EXPECT(!jzx__backpressure_clear(&bp, JZX__BP_BY_DRIVER)); /* the gauge holds it */
    JZX_EXPECT(jzx__backpressure_clear(&bp, JZX__BP_BY_GAUGE));
    JZX_EXPECT_EQ(bp.state, JZX__BP_NORMAL);
    JZX_EXPECT(jzx__backpressure_notice(&bp, JZX__BP_BY_GAUGE));
    JZX_EXPECT_EQ(bp.state, JZX__BP_GAUGE);
    JZX_EXPECT(!jzx__backpressure_clear(&bp, JZX__BP_BY_DRIVER));
    JZX_EXPECT(jzx__backpressure_clear(&bp, JZX__BP_BY_GAUGE));
    JZX_EXPECT_EQ(bp.state, JZX__BP_NORMAL);
}

JZX_TEST(rejecting_ends_with_its_cooldown_and_not_before) {
    struct jzx__backpressure bp = in_state(JZX__BP_ENGAGED, JZX__BP_BY_GAUGE);
    JZX_EXPECT(jzx__backpressure_reject(&bp, JZX__BP_BY_QUOTA, 100));
    JZX_EXPECT_EQ(bp.state, JZX__BP_REJECTING);
    JZX_EXPECT(!jzx__backpressure_reject(&bp, JZX__BP_BY_QUOTA, 104)); /* no longer for that */
    JZX_EXPECT(!jzx__backpressure_raise(&bp, JZX__BP_BY_DRIVER));
    JZX_EXPECT(!jzx__backpressure_clear(&bp, JZX__BP_BY_GAUGE));
    JZX_EXPECT(!jzx__backpressure_driver_recovered(&bp)); /* the driver was not the cause */
    JZX_EXPECT(!jzx__backpressure_cool_down(&bp, 104));
    JZX_EXPECT_EQ(bp.state, JZX__BP_REJECTING);
    JZX_EXPECT(jzx__backpressure_cool_down(&bp, 105));
    JZX_EXPECT_EQ(bp.state, JZX__BP_NORMAL);
    JZX_EXPECT_EQ(bp.reasons, 0);
}

JZX_TEST(rejecting_for_the_driver_ends_when_the_driver_recovers) {
    struct jzx__backpressure bp = in_state(JZX__BP_REJECTING, JZX__BP_BY_DRIVER);
    JZX_EXPECT(jzx__backpressure_driver_recovered(&bp));
    JZX_EXPECT_EQ(bp.state, JZX__BP_NORMAL);
}

/* Every input in every state leads where the table of backpressure.h says, and nowhere else. */
JZX_TEST(every_input_in_every_state_follows_the_table, "B85") {
    enum { NOTICE_D, NOTICE_G, RAISE, CLEAR_D, CLEAR_G, REJECT, COOL, RECOVER, INPUTS };
    static const enum jzx__backpressure_state table[][INPUTS] = {
        [JZX__BP_NORMAL] = {JZX__BP_DRIVER, JZX__BP_GAUGE, JZX__BP_ENGAGED, JZX__BP_NORMAL,
                            JZX__BP_NORMAL, JZX__BP_REJECTING, JZX__BP_NORMAL, JZX__BP_NORMAL},
        [JZX__BP_DRIVER] = {JZX__BP_DRIVER, JZX__BP_DRIVER, JZX__BP_ENGAGED, JZX__BP_NORMAL,
                            JZX__BP_DRIVER, JZX__BP_REJECTING, JZX__BP_DRIVER, JZX__BP_DRIVER},
        [JZX__BP_GAUGE] = {JZX__BP_GAUGE, JZX__BP_GAUGE, JZX__BP_ENGAGED, JZX__BP_GAUGE,
                           JZX__BP_NORMAL, JZX__BP_REJECTING, JZX__BP_GAUGE, JZX__BP_GAUGE},
        [JZX__BP_ENGAGED] = {JZX__BP_ENGAGED, JZX__BP_ENGAGED, JZX__BP_ENGAGED, JZX__BP_NORMAL,
                             JZX__BP_ENGAGED, JZX__BP_REJECTING, JZX__BP_ENGAGED, JZX__BP_ENGAGED},
        [JZX__BP_REJECTING] = {JZX__BP_REJECTING, JZX__BP_REJECTING, JZX__BP_REJECTING,
                               JZX__BP_REJECTING, JZX__BP_REJECTING, JZX__BP_REJECTING,
                               JZX__BP_NORMAL, JZX__BP_NORMAL},
    };
    for (int state = JZX__BP_NORMAL; state <= JZX__BP_REJECTING; state++) {
        for (int input = 0; input < INPUTS; input++) {
            struct jzx__backpressure bp =
                in_state((enum jzx__backpressure_state)state,
                         state >= JZX__BP_ENGAGED ? JZX__BP_BY_DRIVER : 0);
            bool changed = false;
            switch (input) {
            case NOTICE_D: changed = jzx__backpressure_notice(&bp, JZX__BP_BY_DRIVER); break;
            case NOTICE_G: changed = jzx__backpressure_notice(&bp, JZX__BP_BY_GAUGE); break;
            case RAISE: changed = jzx__backpressure_raise(&bp, JZX__BP_BY_DRIVER); break;
            case CLEAR_D: changed = jzx__backpressure_clear(&bp, JZX__BP_BY_DRIVER); break;
            case CLEAR_G: changed = jzx__backpressure_clear(&bp, JZX__BP_BY_GAUGE); break;
            case REJECT: changed = jzx__backpressure_reject(&bp, JZX__BP_BY_DRIVER, 100); break;
            case COOL: changed = jzx__backpressure_cool_down(&bp, 105); break;
            default: changed = jzx__backpressure_driver_recovered(&bp); break;
            }
            JZX_EXPECT_EQ(bp.state, table[state][input]);
            JZX_EXPECT_EQ(changed, (int)table[state][input] != state);
        }
    }
}

/* ---- drift ---- */

JZX_TEST(a_real_clock_may_be_late_by_the_budget_and_the_jitter_of_its_driver) {
    struct jzx__drift drift;
    jzx__drift_init(&drift, JZX__CLOCK_REALTIME_HOST, 10000000, 5);
    JZX_EXPECT_EQ(drift.budget_ns, 500000);
    JZX_EXPECT(!jzx__drift_exceeds(&drift, 1000000000, 1000500000, 0));
    JZX_EXPECT(jzx__drift_exceeds(&drift, 1000000000, 1000500001, 0));
    JZX_EXPECT(!jzx__drift_exceeds(&drift, 1000000000, 1000600000, 100000));
    JZX_EXPECT(jzx__drift_exceeds(&drift, 1000000000, 1000600001, 100000));
    JZX_EXPECT_EQ(drift.observed_ns, 500001);
    JZX_EXPECT_EQ(drift.exceeded, 2);
}

JZX_TEST(a_deterministic_clock_may_not_be_off_at_all, "B17") {
    struct jzx__drift drift;
    jzx__drift_init(&drift, JZX__CLOCK_DETERMINISTIC, 10000000, 5);
    JZX_EXPECT(!jzx__drift_exceeds(&drift, 1000, 1000, 50));
    JZX_EXPECT(jzx__drift_exceeds(&drift, 1000, 1001, 50));
    JZX_EXPECT(jzx__drift_exceeds(&drift, 1000, 999, 50));
}

JZX_TEST(the_kind_of_clock_selects_the_runner, "B9") {
    JZX_EXPECT_EQ(jzx__runner_mode_for(JZX__CLOCK_DETERMINISTIC), JZX__RUNNER_MANUAL);
    JZX_EXPECT_EQ(jzx__runner_mode_for(JZX__CLOCK_REALTIME_HOST), JZX__RUNNER_ASYNC_HOST);
    JZX_EXPECT_EQ(jzx__runner_mode_for(JZX__CLOCK_REALTIME_HARDWARE), JZX__RUNNER_HARDWARE);
}
