/* SPDX-License-Identifier: MIT */
/* Fixed rate and fixed delay: grids, folding, limits, and pauses of receiver and driver. */
#include "schedule_rig.h"

#include "seeds.h"

static void expect_ticks(const struct rig *rig, const uint64_t *ticks, uint32_t count) {
    JZX_EXPECT_EQ(rig->count, count);
    for (uint32_t i = 0; i < count && i < rig->count; i++)
        JZX_EXPECT_EQ(rig->deliveries[i].tick, ticks[i]);
}

/* ---- fixed rate ---- */

JZX_TEST(a_fixed_rate_fires_at_its_first_delay_and_then_every_period) {
    static const uint64_t ticks[] = {3, 10, 17, 24, 31};
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    jzx__job_id job = rig_rate(rig, 3, 7);
    rig_advance(rig, 31);
    expect_ticks(rig, ticks, 5);
    for (unsigned i = 0; i < 5; i++)
        rig_expect_batch(rig->deliveries[i].batch, 1, 0, JZX__JOB_FIXED_RATE);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_SCHEDULED); /* not Completed */
    rig_destroy(rig);
}

JZX_TEST(a_period_is_rounded_up_to_whole_ticks) {
    static const uint64_t ticks[] = {1, 3, 5};
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    struct jzx__schedule_request request = rig_request(JZX__JOB_FIXED_RATE, 1, 1);
    request.period_ns = TICK_NS + 1;
    rig_add(rig, request);
    rig_advance(rig, 6);
    expect_ticks(rig, ticks, 3);
    rig_destroy(rig);
}

/* The handler that begins at tick 10 ends at tick 47: points 20, 30 and 40 went by. */
JZX_TEST(runs_missed_by_a_slow_handler_are_folded_into_one_and_the_grid_is_kept) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    jzx__job_id job = rig_rate(rig, 10, 10);
    rig->holds_back = true;
    rig_advance(rig, 47);
    JZX_EXPECT_EQ(rig->count, 1); /* no second run before the first has ended */
    rig->holds_back = false;
    JZX_EXPECT(jzx__schedule_complete(&rig->s, job, rig->clock.now_ns, 0));
    rig_advance(rig, 3);
    JZX_EXPECT_EQ(rig->count, 3);
    JZX_EXPECT_EQ(rig->deliveries[1].tick, 48);
    rig_expect_batch(rig->deliveries[1].batch, 3, 2, JZX__JOB_FIXED_RATE);
    JZX_EXPECT_EQ(rig->deliveries[2].tick, 50);
    rig_expect_batch(rig->deliveries[2].batch, 1, 0, JZX__JOB_FIXED_RATE);
    rig_expect_batch(rig->s.last_batch, 1, 0, JZX__JOB_FIXED_RATE);
    rig_destroy(rig);
}

/* Misses `missed` runs of a job with period 1 and returns its state after the next tick. */
static enum jzx__job_state miss(struct rig *rig, struct jzx__policy policy, uint64_t missed,
                                enum jzx__job_mode mode) {
    struct jzx__schedule_request request = rig_request(mode, 1, 1);
    request.policy = policy;
    jzx__job_id job = rig_add(rig, request);
    rig->answer = JZX__DELIVERY_FULL;
    rig_advance(rig, missed);
    rig->answer = JZX__DELIVERED;
    rig_advance(rig, 1);
    return rig_state(rig, job);
}

JZX_TEST(a_burst_is_reported_when_more_runs_were_missed_than_the_threshold) {
    for (uint64_t missed = 7; missed <= 10; missed++) {
        struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
        const struct jzx__policy policy = {JZX__PRIORITY_DEFAULT, 0, 0};
        JZX_EXPECT_EQ(miss(rig, policy, missed, JZX__JOB_FIXED_RATE), JZX__JOB_SCHEDULED);
        JZX_EXPECT_EQ(rig->count, 1);
        rig_expect_batch(rig->deliveries[0].batch, (uint32_t)missed + 1, (uint32_t)missed,
                         JZX__JOB_FIXED_RATE);
        JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_BURST_FIRE), missed > 8);
        if (missed > 8)
            JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_BURST_FIRE).batch.missed_runs, missed);
        rig_destroy(rig);
    }
}

JZX_TEST(only_a_fixed_rate_reports_a_burst, "B68") {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    const struct jzx__policy policy = {JZX__PRIORITY_DEFAULT, 0, 0};
    JZX_EXPECT_EQ(miss(rig, policy, 20, JZX__JOB_FIXED_DELAY), JZX__JOB_SCHEDULED);
    JZX_EXPECT_EQ(rig->count, 1);
    JZX_EXPECT(rig->deliveries[0].batch.runs > 9);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_BURST_FIRE), 0);
    rig_destroy(rig);
}

JZX_TEST(a_job_that_misses_more_runs_than_its_backlog_limit_is_cancelled) {
    static const enum jzx__job_mode modes[] = {JZX__JOB_FIXED_RATE, JZX__JOB_FIXED_DELAY};
    for (unsigned m = 0; m < 2; m++) {
        for (uint64_t missed = 3; missed <= 5; missed++) {
            struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
            const struct jzx__policy policy = {JZX__PRIORITY_DEFAULT, 4, 0};
            enum jzx__job_state state = miss(rig, policy, missed, modes[m]);
            JZX_EXPECT_EQ(state, missed > 4 ? JZX__JOB_CANCELLED : JZX__JOB_SCHEDULED);
            JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_BACKLOG_EXCEEDED), missed > 4);
            JZX_EXPECT_EQ(rig->count, missed <= 4);
            rig_destroy(rig);
        }
    }
}

JZX_TEST(the_default_backlog_limit_is_thirty_two_missed_runs) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    const struct jzx__policy policy = {JZX__PRIORITY_DEFAULT, 0, 0};
    JZX_EXPECT_EQ(miss(rig, policy, 32, JZX__JOB_FIXED_RATE), JZX__JOB_SCHEDULED);
    JZX_EXPECT_EQ(miss(rig, policy, 33, JZX__JOB_FIXED_RATE), JZX__JOB_CANCELLED);
    rig_destroy(rig);
}

/* ---- fixed delay ---- */

JZX_TEST(a_fixed_delay_counts_from_the_end_of_each_run) {
    static const uint64_t ticks[] = {5, 12, 22, 24};
    static const uint64_t ends[] = {7, 17, 19};
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    jzx__job_id job = rig_delay(rig, 5, 5);
    rig->holds_back = true;
    for (unsigned i = 0; i < 3; i++) {
        rig_advance(rig, ends[i] > rig->s.tick ? ends[i] - rig->s.tick : 0);
        if (i == 2)
            rig_advance(rig, 22 - rig->s.tick); /* the handler says itself that it ended at 19 */
        JZX_EXPECT(jzx__schedule_complete(&rig->s, job, ends[i] * (uint64_t)TICK_NS, 0));
    }
    rig_advance(rig, 5);
    expect_ticks(rig, ticks, 4);
    for (unsigned i = 0; i < 4; i++)
        rig_expect_batch(rig->deliveries[i].batch, 1, 0, JZX__JOB_FIXED_DELAY);
    rig_destroy(rig);
}

JZX_TEST(a_fixed_delay_never_runs_twice_at_a_time) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig->holds_back = true;
    jzx__job_id job = rig_delay(rig, 1, 1);
    rig_advance(rig, 1000);
    JZX_EXPECT_EQ(rig->count, 1);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_EXECUTING);
    rig_destroy(rig);
}

JZX_TEST(a_fixed_delay_that_skips_missed_runs_has_batches_of_one_and_no_limit, "B+rules") {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    struct jzx__schedule_request request = rig_request(JZX__JOB_FIXED_DELAY, 1, 1);
    request.skips_missed = true;
    jzx__job_id job = rig_add(rig, request);
    rig->answer = JZX__DELIVERY_FULL;
    rig_advance(rig, 1000);
    rig->answer = JZX__DELIVERED;
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_SCHEDULED);
    rig_expect_batch(rig->deliveries[0].batch, 1, 0, JZX__JOB_FIXED_DELAY);
    rig_destroy(rig);
}

/* ---- pauses of the driver ---- */

static struct jzx__schedule_pass announce(struct rig *rig, uint32_t ticks) {
    JZX_EXPECT(jzx__tick_source_notify(&rig->s.source, ticks));
    return jzx__schedule_run(&rig->s);
}

/* Five ticks in one pass: a receiver that is not run between them gets one message. */
JZX_TEST(runs_of_a_driver_pause_are_made_up_for_and_do_not_count_as_missed, "B37") {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig->holds_back = true;
    jzx__job_id job = rig_rate(rig, 1, 1);
    JZX_EXPECT_EQ(announce(rig, 5).ticks, 5);
    JZX_EXPECT_EQ(rig->count, 1);
    rig->holds_back = false;
    JZX_EXPECT(jzx__schedule_complete(&rig->s, job, rig->clock.now_ns, 0));
    (void)announce(rig, 1);
    JZX_EXPECT_EQ(rig->count, 2);
    rig_expect_batch(rig->deliveries[1].batch, 5, 0, JZX__JOB_FIXED_RATE);
    JZX_EXPECT_EQ(rig->s.tick * (uint64_t)TICK_NS, rig->clock.now_ns);
    rig_destroy(rig);
}

/* A pause far beyond every limit: the job goes on, and the burst is reported. */
JZX_TEST(a_driver_pause_never_cancels_a_job_and_its_burst_is_reported) {
    struct rig *rig =
        rig_make_small((struct jzx__schedule_config){.catch_up_window_ns = JZX_MS(320)});
    rig->holds_back = true;
    struct jzx__schedule_request request = rig_request(JZX__JOB_FIXED_RATE, 1, 1);
    request.policy.backlog_limit = 2;
    jzx__job_id job = rig_add(rig, request);
    (void)announce(rig, 30);
    rig->holds_back = false;
    JZX_EXPECT(jzx__schedule_complete(&rig->s, job, rig->clock.now_ns, 0));
    (void)announce(rig, 1);
    rig_expect_batch(rig->deliveries[1].batch, 30, 0, JZX__JOB_FIXED_RATE);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_BURST_FIRE), 1);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_SCHEDULED);
    rig_destroy(rig);
}

JZX_TEST(a_receiver_in_time_gets_every_run_of_a_catch_up_by_itself) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig_rate(rig, 2, 2);
    (void)announce(rig, 1000);
    while (jzx__schedule_run(&rig->s).has_more)
        continue;
    JZX_EXPECT_EQ(rig->count, 500);
    for (uint32_t i = 0; i < rig->count; i++) {
        JZX_EXPECT_EQ(rig->deliveries[i].tick, 2 * (i + 1));
        rig_expect_batch(rig->deliveries[i].batch, 1, 0, JZX__JOB_FIXED_RATE);
    }
    rig_destroy(rig);
}

/* ---- compensation, by seed ---- */

/* Whatever the pauses of receiver and driver: the runs of all batches are the points of the grid
 * that have passed when the last batch was delivered. */
static bool no_point_of_the_grid_is_lost(struct jzx__rng *rng) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    struct jzx__schedule_request request =
        rig_request(JZX__JOB_FIXED_RATE, 1 + jzx__rng_below(rng, 20), 1 + jzx__rng_below(rng, 20));
    uint64_t first = (uint64_t)(request.delay_ns / TICK_NS);
    uint64_t period = (uint64_t)(request.period_ns / TICK_NS);
    request.policy.backlog_limit = UINT32_MAX;
    jzx__job_id job = rig_add(rig, request);
    rig->holds_back = true;
    for (unsigned step = 0; step < 200; step++) {
        if (jzx__rng_below(rng, 3) == 0) {
            (void)jzx__tick_source_notify(&rig->s.source, 1 + jzx__rng_below(rng, 40));
            while (jzx__schedule_run(&rig->s).has_more)
                continue;
        } else {
            rig_advance(rig, 1 + jzx__rng_below(rng, 30));
        }
        if (jzx__rng_below(rng, 2) == 0 && rig_state(rig, job) == JZX__JOB_EXECUTING)
            JZX_EXPECT(jzx__schedule_complete(&rig->s, job, rig->clock.now_ns, 0));
    }
    uint64_t runs = 0;
    bool held = true;
    for (uint32_t i = 0; i < rig->count; i++) {
        const struct delivery *d = &rig->deliveries[i];
        runs += d->batch.runs;
        uint64_t points = d->tick >= first ? (d->tick - first) / period + 1 : 0;
        held = JZX_EXPECT_EQ(runs, points) && held;
        held = JZX_EXPECT(d->batch.missed_runs < d->batch.runs) && held;
    }
    held = JZX_EXPECT(jzx__schedule_check(&rig->s) == NULL) && held;
    rig_destroy(rig);
    return held;
}

JZX_TEST(fixed_rate_makes_up_for_every_pause_whatever_its_cause) {
    run_seeds("fixed_rate_makes_up_for_every_pause_whatever_its_cause", 1000,
              no_point_of_the_grid_is_lost);
}

/* ---- drivers that know the time ---- */

/* The owner was in the handler itself: the ticks that passed meanwhile are run only afterwards. */
JZX_TEST(ticks_that_passed_during_a_run_are_missed_also_if_they_are_run_later) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    jzx__job_id job = rig_rate(rig, 2, 2);
    rig->holds_back = true;
    rig_advance(rig, 2);
    rig->holds_back = false;
    JZX_EXPECT(jzx__schedule_complete(&rig->s, job, 9 * (uint64_t)TICK_NS, 0));
    rig_advance(rig, 7); /* up to 9: points 4, 6 and 8 are not fired one by one */
    JZX_EXPECT_EQ(rig->count, 1);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->count, 2);
    JZX_EXPECT_EQ(rig->deliveries[1].tick, 10);
    rig_expect_batch(rig->deliveries[1].batch, 4, 3, JZX__JOB_FIXED_RATE);
    rig_destroy(rig);
}

JZX_TEST(a_leap_is_one_pass_in_which_nothing_is_missed_or_judged) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    jzx__job_id job = rig_rate(rig, 1, 1);
    rig->holds_back = true;
    jzx__schedule_leap(&rig->s, 100);
    rig->holds_back = false;
    JZX_EXPECT_EQ(rig->count, 1);
    JZX_EXPECT_EQ(rig->s.tick, 100);
    JZX_EXPECT(jzx__schedule_complete(&rig->s, job, rig->clock.now_ns, 0));
    jzx__schedule_leap(&rig->s, 1);
    rig_expect_batch(rig->deliveries[1].batch, 100, 0, JZX__JOB_FIXED_RATE);
    JZX_EXPECT_EQ(rig->s.runner.overflow_events, 0);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_NORMAL);
    rig_destroy(rig);
}

JZX_TEST(idle_ticks_are_passed_up_to_the_next_job_and_are_owed_no_more) {
    struct rig *rig = rig_make_small((struct jzx__schedule_config){0});
    rig_once(rig, 10);
    rig->s.runner.owed = 4;
    jzx__schedule_pass_idle(&rig->s, 3);
    JZX_EXPECT_EQ(rig->s.tick, 3);
    JZX_EXPECT_EQ(rig->s.runner.owed, 1);
    jzx__schedule_pass_idle(&rig->s, 2); /* over already */
    JZX_EXPECT_EQ(rig->s.tick, 3);
    jzx__schedule_pass_idle(&rig->s, 1000);
    JZX_EXPECT_EQ(rig->s.tick, 9); /* the tick before it is due */
    JZX_EXPECT_EQ(rig->s.runner.owed, 0);
    JZX_EXPECT_EQ(rig->count, 0);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->count, 1);
    rig_destroy(rig);
}
