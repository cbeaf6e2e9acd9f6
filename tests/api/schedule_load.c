/* SPDX-License-Identifier: MIT */
/* The scheduler API under load: quotas, saturated ticks, probes and the states of overload. */
#include "scheduling.h"

static struct rig rig;

#define SMALL(...)                                                                                 \
    (&JZX_SCHEDULE_CONFIG(.profile = JZX_SCHEDULE_CUSTOM, .system_quota = 20,                      \
                          .overflow_capacity = 4, .task_run_capacity = 2, __VA_ARGS__))

/* ---- quotas and capacity ---- */

JZX_TEST(at_the_quota_jobs_are_refused_until_one_ends, "B44", "B61", "X20", "R4.AC7", "B99",
         "B+tests", "B+rules") {
    struct jzx_schedule_event told;
    jzx_job_id job = 99;
    rig_open(&rig, SMALL());
    jzx_job_id first = rig_once(&rig, 1, TICKS(5));
    for (uint32_t i = 1; i < 15; i++)
        rig_once(&rig, 1, TICKS(5));
    jzx_job_id periodic = JZX_NO_JOB;
    for (uint32_t i = 15; i < 20; i++)
        periodic = rig_rate(&rig, 2, TICKS(9), TICKS(9));
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_schedule_once(rig.loop, TICK_NS, rig.to, JZX_NOBODY, NULL, 0, 1, &job),
                      JZX_ERR_QUOTA_EXCEEDED);
    JZX_EXPECT_EQ(job, 99);
    JZX_EXPECT_EQ(jzx_job_state(rig.loop, JZX_NO_JOB), JZX_JOB_CANCELLED);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_QUOTA_REACHED, &told), 1);
    JZX_EXPECT_EQ(told.value, 20);
    JZX_EXPECT(!told.is_engaged);
    jzx_schedule_metrics metrics = rig_metrics(&rig);
    JZX_EXPECT_EQ(metrics.active_total, 20);
    JZX_EXPECT_EQ(metrics.periodic_total, 5);
    JZX_EXPECT_EQ(metrics.quota_limit, 20);
    JZX_EXPECT(jzx_job_cancel(rig.loop, first));
    JZX_EXPECT(jzx_job_cancel(rig.loop, periodic));
    metrics = rig_metrics(&rig);
    JZX_EXPECT_EQ(metrics.active_total, 18);
    JZX_EXPECT_EQ(metrics.periodic_total, 4);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_OK);
    rig_close(&rig);
}

JZX_TEST(a_full_slot_refuses_new_jobs_and_tells_so, "B61", "B12", "B+tests", "B+rules") {
    rig_open(&rig, SMALL(.slot_capacity = 3));
    for (uint32_t i = 0; i < 3; i++)
        rig_once(&rig, 1, TICKS(4));
    JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(4), NULL), JZX_ERR_CAPACITY_EXCEEDED);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(5), NULL), JZX_OK);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_CAPACITY_EXCEEDED, NULL), 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 4);
    rig_pass(&rig, 5);
    JZX_EXPECT_EQ(rig.notes.count, 4);
    rig_close(&rig);
}

JZX_TEST(a_full_overflow_refuses_and_a_filled_one_is_reported, "B46", "B47", "B+tests") {
    struct jzx_schedule_event told;
    rig_open(&rig, SMALL());
    for (uint32_t i = 0; i < 4; i++)
        rig_once(&rig, 1, TICKS(2000000 + i));
    JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(2000000), NULL), JZX_ERR_CAPACITY_EXCEEDED);
    rig_once(&rig, 1, TICK_NS);
    rig_pass(&rig, 2);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_OVERFLOW_NEAR_CAPACITY, &told), 1);
    JZX_EXPECT_EQ(told.value, 4);
    JZX_EXPECT_EQ(told.capacity, 4);
    rig_close(&rig);
}

static jzx_job_id rate_with(jzx_job_priority priority, int64_t first, int64_t interval) {
    jzx_job_id job = JZX_NO_JOB;
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate_with_options(
                      rig.loop, first, interval, rig.to, JZX_NOBODY, NULL, 0, 1,
                      &JZX_SCHEDULE_OPTS(.priority = priority), &job),
                  JZX_OK);
    return job;
}

/* Periodic jobs that come back are placed in a full slot, too: the tick itself decides. */
JZX_TEST(a_saturated_tick_drops_the_lowest_priority_first_and_of_it_the_newest, "B49", "B50",
         "R4.AC6", "B+tests") {
    rig_open(&rig, SMALL(.slot_capacity = 2));
    jzx_job_id normal = rate_with(JZX_JOB_PRIORITY_NORMAL, TICKS(1), TICKS(2));
    jzx_job_id low = rate_with(JZX_JOB_PRIORITY_LOW, TICKS(1), TICKS(2));
    jzx_job_id low_too = rate_with(JZX_JOB_PRIORITY_LOW, TICKS(2), TICKS(1));
    jzx_job_id normal_too = rate_with(JZX_JOB_PRIORITY_NORMAL, TICKS(2), TICKS(1));
    rig_pass(&rig, 2);
    JZX_EXPECT_EQ(rig.notes.count, 4);
    rig_pass(&rig, 1); /* all four meet */
    JZX_EXPECT_EQ(rig.notes.count, 6);
    jzx_job_id dropped[2] = {JZX_NO_JOB, JZX_NO_JOB};
    uint32_t count = 0;
    for (uint32_t i = 0; i < rig.told_count; i++) {
        if (rig.told[i].kind != JZX_SCHEDULE_EVENT_DROPPED_LOW_PRIORITY)
            continue;
        JZX_EXPECT_EQ(rig.told[i].priority, JZX_JOB_PRIORITY_LOW);
        dropped[count++ % 2] = rig.told[i].job;
    }
    JZX_EXPECT_EQ(count, 2);
    JZX_EXPECT_EQ(dropped[0], low_too);
    JZX_EXPECT_EQ(dropped[1], low);
    rig_expect_state(&rig, low, JZX_JOB_CANCELLED);
    rig_expect_state(&rig, low_too, JZX_JOB_CANCELLED);
    rig_expect_state(&rig, normal, JZX_JOB_SCHEDULED);
    rig_expect_state(&rig, normal_too, JZX_JOB_SCHEDULED);
    JZX_EXPECT_EQ(rig_metrics(&rig).dropped_total, 2);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 2);
    rig_close(&rig);
}

/* ---- probes and states ---- */

static uint32_t load;
static uint32_t samples;

static uint32_t sample(void *ctx) {
    (void)ctx;
    samples++;
    return load;
}

static const jzx_schedule_policy inner[] = {{JZX_SCHEDULE_SUBSYSTEM, "inner", 0, 0, 0}};

#define WITH_INNER .policies = inner, .policy_size = sizeof inner[0], .policy_count = 1

JZX_TEST(a_critical_load_engages_refuses_and_cancels_what_can_be_spared, "B85", "B87", "B89", "B91",
         "B45", "B51", "B+tests", "B+rules") {
    struct jzx_schedule_event told;
    load = 100;
    samples = 0;
    rig_open(&rig, SMALL(WITH_INNER));
    JZX_EXPECT_EQ(jzx_schedule_add_probe(rig.loop, "load", JZX_PROBE_MAILBOX, sample, NULL),
                  JZX_OK);
    jzx_job_id kept = rig_once(&rig, 1, TICKS(50));
    jzx_job_id delay = rig_delay(&rig, 1, TICKS(50), TICKS(50));
    jzx_job_id low = JZX_NO_JOB;
    JZX_EXPECT_EQ(
        jzx_schedule_once_with_options(rig.loop, TICKS(50), rig.to, JZX_NOBODY, NULL, 0, 1,
                                       &JZX_SCHEDULE_OPTS(.priority = JZX_JOB_PRIORITY_LOW), &low),
        JZX_OK);
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(samples, 3); /* once per tick */
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_NORMAL);
    load = 800;
    rig_pass(&rig, 1); /* critical, but not for long enough */
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_GAUGE);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_OK);
    rig_pass(&rig, 1);
    jzx_schedule_metrics metrics = rig_metrics(&rig);
    JZX_EXPECT_EQ(metrics.pressure, JZX_PRESSURE_ENGAGED);
    JZX_EXPECT_EQ(metrics.pressure_reasons, JZX_PRESSURE_BY_GAUGE | JZX_PRESSURE_BY_MAILBOX);
    JZX_EXPECT_EQ(metrics.quota_limit, 10); /* the adaptive one */
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_BACKPRESSURE_STATE, &told), 2);
    JZX_EXPECT(told.is_engaged);
    JZX_EXPECT_EQ(told.reason, JZX_PRESSURE_BY_GAUGE | JZX_PRESSURE_BY_MAILBOX);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_CANCELLED_BY_BACKPRESSURE, NULL), 2);
    rig_expect_state(&rig, delay, JZX_JOB_CANCELLED);
    rig_expect_state(&rig, low, JZX_JOB_CANCELLED);
    rig_expect_state(&rig, kept, JZX_JOB_SCHEDULED);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_ERR_BACKPRESSURED);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, &JZX_SCHEDULE_OPTS(.subsystem = "inner")), JZX_OK);
    load = 799;
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_NORMAL);
    JZX_EXPECT_EQ(rig_metrics(&rig).quota_limit, 20);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_OK);
    rig_close(&rig);
}

JZX_TEST(an_exhausted_adaptive_quota_rejects_everything_until_the_cooldown_is_over, "B85", "B86",
         "B88", "B107", "R4.AC5", "B45") {
    struct jzx_schedule_event told;
    load = 900;
    rig_open(&rig, SMALL(WITH_INNER));
    JZX_EXPECT_EQ(jzx_schedule_add_probe(rig.loop, "load", JZX_PROBE_RUNTIME, sample, NULL),
                  JZX_OK);
    rig_pass(&rig, 2);
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_ENGAGED);
    const jzx_schedule_opts *high = &JZX_SCHEDULE_OPTS(.subsystem = "inner");
    for (uint32_t i = 0; i < 10; i++)
        JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(90), high), JZX_OK);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(90), high), JZX_ERR_BACKPRESSURED);
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_REJECTING);
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure_reasons, JZX_PRESSURE_BY_QUOTA);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_QUOTA_REACHED, &told), 1);
    JZX_EXPECT(told.is_engaged); /* the adaptive one */
    load = 0;
    rig_pass(&rig, 4);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(90), NULL), JZX_ERR_BACKPRESSURED);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(90), high), JZX_ERR_BACKPRESSURED);
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICK_NS, rig.to, JZX_NOBODY, NULL,
                                             0, 1, NULL),
                  JZX_ERR_BACKPRESSURED);
    JZX_EXPECT_EQ(jzx_schedule_with_fixed_delay(rig.loop, TICK_NS, TICK_NS, rig.to, JZX_NOBODY,
                                                NULL, 0, 1, NULL),
                  JZX_ERR_BACKPRESSURED);
    JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, TICK_NS, NULL, NULL, call_down, &rig.notes),
                  JZX_ERR_BACKPRESSURED);
    rig_pass(&rig, 1); /* 5 x resolution */
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_NORMAL);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(90), NULL), JZX_OK);
    rig_close(&rig);
}

JZX_TEST(a_load_that_was_pushed_counts_at_the_next_tick, "B89") {
    rig_open(&rig, SMALL(.gauge_engaged_ticks = 1));
    JZX_EXPECT_EQ(jzx_schedule_push_load(rig.loop, 1001), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_push_load(rig.loop, 100), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_push_load(rig.loop, 850), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_push_load(rig.loop, 300), JZX_OK);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(9), NULL), JZX_OK);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_ENGAGED);
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure_reasons, JZX_PRESSURE_BY_GAUGE); /* of no kind */
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_NORMAL);
    rig_close(&rig);
}

static jzx_err inside[4];

static uint32_t call_inside(void *ctx) {
    jzx_schedule_metrics metrics = {.size = sizeof metrics};
    (void)ctx;
    jzx_test_ran();
    inside[0] = jzx_schedule_metrics_get(rig.loop, &metrics);
    inside[1] = jzx_schedule_shutdown(rig.loop, NULL);
    inside[2] = rig_try_once(&rig, TICKS(3), NULL);
    inside[3] = jzx_job_cancel(rig.loop, 12345) ? JZX_ERR_UNKNOWN : JZX_OK;
    return 0;
}

JZX_TEST(in_a_probe_scheduling_works_and_what_needs_the_scheduler_is_busy, "B+tests") {
    rig_open(&rig, SMALL());
    JZX_EXPECT_EQ(jzx_schedule_add_probe(NULL, "x", JZX_PROBE_RUNTIME, sample, NULL),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_add_probe(rig.loop, "x", JZX_PROBE_RUNTIME, NULL, NULL),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_add_probe(rig.loop, "x", JZX_PROBE_RUNTIME, call_inside, NULL),
                  JZX_OK);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(inside[0], JZX_ERR_BUSY);
    JZX_EXPECT_EQ(inside[1], JZX_ERR_BUSY);
    JZX_EXPECT_EQ(inside[2], JZX_OK);
    JZX_EXPECT_EQ(inside[3], JZX_OK);
    rig_pass(&rig, 5);
    JZX_EXPECT(rig.notes.count >= 2);
    load = 0;
    for (uint32_t i = 1; i < 8; i++)
        JZX_EXPECT_EQ(jzx_schedule_add_probe(rig.loop, "x", JZX_PROBE_RUNTIME, sample, NULL),
                      JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_add_probe(rig.loop, "x", JZX_PROBE_RUNTIME, sample, NULL),
                  JZX_ERR_FULL);
    rig_close(&rig);
}
