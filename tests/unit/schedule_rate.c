/* SPDX-License-Identifier: MIT */
/* Delays, periods, policies and batches: pure arithmetic, against sums that count one by one. */
#include "schedule/core/rate.h"

#include "schedule/core/batch.h"
#include "schedule/core/policy.h"
#include "seeds.h"

#define MS INT64_C(1000000)
#define TICK_NS 10000000u

JZX_TEST(a_delay_is_rounded_up_to_whole_ticks_and_is_never_zero_ticks) {
    JZX_EXPECT_EQ(jzx__delay_ticks(1, TICK_NS), 1);
    JZX_EXPECT_EQ(jzx__delay_ticks(10 * MS, TICK_NS), 1);
    JZX_EXPECT_EQ(jzx__delay_ticks(10 * MS + 1, TICK_NS), 2);
    JZX_EXPECT_EQ(jzx__delay_ticks(995 * MS, TICK_NS), 100);
}

JZX_TEST(a_delay_that_is_not_positive_or_longer_than_int32_max_ticks_is_none) {
    int64_t longest = INT64_C(10000000) * INT32_MAX;
    JZX_EXPECT_EQ(jzx__delay_ticks(0, TICK_NS), 0);
    JZX_EXPECT_EQ(jzx__delay_ticks(-1, TICK_NS), 0);
    JZX_EXPECT_EQ(jzx__delay_ticks(INT64_MIN, TICK_NS), 0);
    JZX_EXPECT_EQ(jzx__delay_ticks(longest, TICK_NS), INT32_MAX);
    JZX_EXPECT_EQ(jzx__delay_ticks(longest + 1, TICK_NS), 0);
    JZX_EXPECT_EQ(jzx__delay_ticks(INT64_MAX, 1), 0);
}

/* ---- folding ---- */

static void expect_plan(struct jzx__rate_plan plan, uint32_t runs, uint32_t missed, uint64_t next) {
    JZX_EXPECT_EQ(plan.runs, runs);
    JZX_EXPECT_EQ(plan.missed_runs, missed);
    JZX_EXPECT_EQ(plan.next, next);
}

JZX_TEST(a_run_in_time_stands_for_itself_and_the_next_is_a_period_later) {
    expect_plan(jzx__rate_plan_for(100, 100, 7, 0), 1, 0, 107);
    expect_plan(jzx__rate_plan_for(100, 106, 7, 0), 1, 0, 107); /* late, but nothing was missed */
}

JZX_TEST(missed_runs_are_folded_into_one_and_the_grid_is_kept) {
    expect_plan(jzx__rate_plan_for(100, 107, 7, 0), 2, 1, 114);
    expect_plan(jzx__rate_plan_for(100, 135, 7, 0), 6, 5, 142);
    expect_plan(jzx__rate_plan_for(100, 134, 7, 0), 5, 4, 135);
}

JZX_TEST(runs_that_went_by_in_a_catch_up_are_made_up_for_but_not_missed) {
    expect_plan(jzx__rate_plan_for(100, 135, 7, 135), 6, 0, 142);
    expect_plan(jzx__rate_plan_for(100, 135, 7, 114), 6, 2, 142); /* 100, 107, 114 paced */
    expect_plan(jzx__rate_plan_for(100, 135, 7, 99), 6, 5, 142);
}

JZX_TEST(a_pause_of_centuries_saturates_and_keeps_the_grid) {
    struct jzx__rate_plan plan = jzx__rate_plan_for(0, UINT64_C(1) << 62, 1, 0);
    JZX_EXPECT_EQ(plan.runs, UINT32_MAX);
    JZX_EXPECT_EQ(plan.missed_runs, UINT32_MAX - 1);
    JZX_EXPECT_EQ(plan.next, (UINT64_C(1) << 62) + 1);
}

/* Counts the points of the grid one by one. */
static bool plan_is_the_count_of_points(struct jzx__rng *rng) {
    uint64_t due = jzx__rng_below(rng, 1000);
    uint64_t now = due + jzx__rng_below(rng, 2000);
    uint32_t period = 1 + jzx__rng_below(rng, 50);
    uint64_t paced_until = jzx__rng_below(rng, 3000);
    uint32_t points = 0;
    uint32_t missed = 0;
    uint64_t point = due;
    for (; point <= now; point += period) {
        points++;
        missed += point + period <= now && point > paced_until;
    }
    struct jzx__rate_plan plan = jzx__rate_plan_for(due, now, period, paced_until);
    return JZX_EXPECT_EQ(plan.runs, points) && JZX_EXPECT_EQ(plan.missed_runs, missed) &&
           JZX_EXPECT_EQ(plan.next, point);
}

JZX_TEST(a_plan_counts_every_point_of_the_grid_exactly_once) {
    run_seeds("a_plan_counts_every_point_of_the_grid_exactly_once", 5000,
              plan_is_the_count_of_points);
}

JZX_TEST(a_fixed_delay_counts_from_the_end_of_the_run_and_never_comes_early) {
    JZX_EXPECT_EQ(jzx__delay_next(1000 * MS, 50 * MS, TICK_NS, 100), 105);
    JZX_EXPECT_EQ(jzx__delay_next(1000 * MS + 1, 50 * MS, TICK_NS, 100), 106);
    JZX_EXPECT_EQ(jzx__delay_next(1000 * MS, 41 * MS, TICK_NS, 100), 105);
    JZX_EXPECT_EQ(jzx__delay_next(1000 * MS, 50 * MS, TICK_NS, 300), 301); /* its tick is over */
}

/* ---- batches and policies ---- */

JZX_TEST(once_is_a_batch_of_one_run_and_nothing_missed) {
    struct jzx__batch once = jzx__batch_once();
    struct jzx__batch copy = once;
    JZX_EXPECT_EQ(copy.runs, 1);
    JZX_EXPECT_EQ(copy.missed_runs, 0);
    JZX_EXPECT_EQ(copy.mode, JZX__JOB_ONE_SHOT);
}

static const struct jzx__policy_rule rules[] = {
    {{JZX__AFFINITY_DISPATCHER, 7}, {JZX__PRIORITY_LOW, 3, 0}},
    {{JZX__AFFINITY_GUARDIAN, 7}, {JZX__PRIORITY_DEFAULT, 0, 5}},
    {{JZX__AFFINITY_SUBSYSTEM, 1}, {JZX__PRIORITY_NORMAL, 0, 0}},
};

static struct jzx__policy resolve(enum jzx__affinity_kind kind, uint32_t key,
                                  struct jzx__policy own) {
    return jzx__policy_resolve(rules, 3, (struct jzx__affinity){kind, key}, own);
}

static void expect_policy(struct jzx__policy policy, enum jzx__job_priority priority,
                          uint32_t backlog_limit, uint32_t burst_threshold) {
    JZX_EXPECT_EQ(policy.priority, priority);
    JZX_EXPECT_EQ(policy.backlog_limit, backlog_limit);
    JZX_EXPECT_EQ(policy.burst_threshold, burst_threshold);
}

JZX_TEST(a_policy_comes_from_the_rule_of_the_affinity_or_is_the_default) {
    const struct jzx__policy none = {JZX__PRIORITY_DEFAULT, 0, 0};
    expect_policy(resolve(JZX__AFFINITY_NONE, 0, none), JZX__PRIORITY_NORMAL, 32, 8);
    expect_policy(resolve(JZX__AFFINITY_DISPATCHER, 7, none), JZX__PRIORITY_LOW, 3, 8);
    expect_policy(resolve(JZX__AFFINITY_DISPATCHER, 8, none), JZX__PRIORITY_NORMAL, 32, 8);
    expect_policy(resolve(JZX__AFFINITY_GUARDIAN, 7, none), JZX__PRIORITY_NORMAL, 32, 5);
    expect_policy(resolve(JZX__AFFINITY_SUBSYSTEM, 2, none), JZX__PRIORITY_HIGH, 32, 8);
    expect_policy(resolve(JZX__AFFINITY_SUBSYSTEM, 1, none), JZX__PRIORITY_NORMAL, 32, 8);
}

JZX_TEST(what_a_job_names_itself_wins_over_the_rule) {
    const struct jzx__policy own = {JZX__PRIORITY_NORMAL, 9, 2};
    expect_policy(resolve(JZX__AFFINITY_DISPATCHER, 7, own), JZX__PRIORITY_NORMAL, 9, 2);
}

JZX_TEST(only_a_subsystem_may_ask_for_high_priority) {
    const struct jzx__affinity user = {JZX__AFFINITY_DISPATCHER, 7};
    const struct jzx__affinity internal = {JZX__AFFINITY_SUBSYSTEM, 1};
    JZX_EXPECT(jzx__policy_allows(user, JZX__PRIORITY_DEFAULT));
    JZX_EXPECT(jzx__policy_allows(user, JZX__PRIORITY_LOW));
    JZX_EXPECT(jzx__policy_allows(user, JZX__PRIORITY_NORMAL));
    JZX_EXPECT(!jzx__policy_allows(user, JZX__PRIORITY_HIGH));
    JZX_EXPECT(jzx__policy_allows(internal, JZX__PRIORITY_HIGH));
    JZX_EXPECT(!jzx__policy_allows(internal, (enum jzx__job_priority)9));
}
