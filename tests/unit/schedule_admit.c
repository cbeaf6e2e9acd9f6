/* SPDX-License-Identifier: MIT */
/* Who is let in: delays, modes, priorities, quotas, slots, overload; and who is dropped. */
#include "schedule_rig.h"

typedef struct jzx__schedule_config config;

static enum jzx__schedule_status try_ns(struct rig *rig, enum jzx__job_mode mode, int64_t delay_ns,
                                        int64_t period_ns) {
    struct jzx__schedule_request request = rig_request(mode, 0, 0);
    request.delay_ns = delay_ns;
    request.period_ns = period_ns;
    return rig_try(rig, request);
}

JZX_TEST(a_delay_or_period_that_is_not_positive_or_too_long_is_refused) {
    struct rig *rig = rig_make_small((config){0});
    const int64_t longest = TICK_NS * INT32_MAX;
    static const int64_t bad[] = {0, -1, INT64_MIN, TICK_NS * INT32_MAX + 1, INT64_MAX};
    for (unsigned i = 0; i < 5; i++) {
        for (int mode = JZX__JOB_ONE_SHOT; mode <= JZX__JOB_FIXED_DELAY; mode++)
            JZX_EXPECT_EQ(try_ns(rig, (enum jzx__job_mode)mode, bad[i], TICK_NS),
                          JZX__SCHEDULE_INVALID_DELAY);
        JZX_EXPECT_EQ(try_ns(rig, JZX__JOB_FIXED_RATE, TICK_NS, bad[i]),
                      JZX__SCHEDULE_INVALID_DELAY);
        JZX_EXPECT_EQ(try_ns(rig, JZX__JOB_FIXED_DELAY, TICK_NS, bad[i]),
                      JZX__SCHEDULE_INVALID_DELAY);
        JZX_EXPECT_EQ(try_ns(rig, JZX__JOB_ONE_SHOT, TICK_NS, bad[i]), JZX__SCHEDULE_OK);
    }
    JZX_EXPECT_EQ(try_ns(rig, JZX__JOB_FIXED_RATE, longest, longest), JZX__SCHEDULE_OK);
    JZX_EXPECT_EQ(try_ns(rig, JZX__JOB_ONE_SHOT, 1, 0), JZX__SCHEDULE_OK);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).active_total, 7);
    rig_destroy(rig);
}

JZX_TEST(a_mode_that_the_configuration_does_not_offer_is_refused) {
    struct rig *rig = rig_make_small((config){.without_modes = JZX__WITHOUT_FIXED_RATE});
    JZX_EXPECT_EQ(rig_try(rig, rig_request(JZX__JOB_FIXED_RATE, 1, 1)),
                  JZX__SCHEDULE_UNSUPPORTED_MODE);
    JZX_EXPECT_EQ(rig_try(rig, rig_request(JZX__JOB_FIXED_DELAY, 1, 1)), JZX__SCHEDULE_OK);
    JZX_EXPECT_EQ(rig_try(rig, rig_request((enum jzx__job_mode)3, 1, 1)),
                  JZX__SCHEDULE_INVALID_ARG);
    rig_destroy(rig);
}

static struct jzx__schedule_request with(enum jzx__affinity_kind kind,
                                         enum jzx__job_priority priority, int64_t delay_ticks) {
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, delay_ticks, 0);
    request.affinity.kind = kind;
    request.policy.priority = priority;
    return request;
}

JZX_TEST(a_user_job_of_high_priority_is_refused) {
    struct rig *rig = rig_make_small((config){0});
    JZX_EXPECT_EQ(rig_try(rig, with(JZX__AFFINITY_DISPATCHER, JZX__PRIORITY_HIGH, 1)),
                  JZX__SCHEDULE_INVALID_ARG);
    JZX_EXPECT_EQ(rig_try(rig, with(JZX__AFFINITY_SUBSYSTEM, JZX__PRIORITY_HIGH, 1)),
                  JZX__SCHEDULE_OK);
    rig_destroy(rig);
}

JZX_TEST(the_policy_of_a_job_comes_from_its_affinity) {
    static const struct jzx__policy_rule rules[] = {
        {{JZX__AFFINITY_DISPATCHER, 3}, {JZX__PRIORITY_LOW, 2, 1}}};
    struct rig *rig = rig_make_small((config){.policies = rules, .policies_count = 1});
    struct jzx__schedule_request request = rig_request(JZX__JOB_FIXED_RATE, 1, 1);
    request.affinity = rules[0].affinity;
    jzx__job_id job = rig_add(rig, request);
    rig->answer = JZX__DELIVERY_FULL;
    rig_advance(rig, 3);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_SCHEDULED);
    rig_advance(rig, 1); /* three missed runs are more than two */
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_CANCELLED);
    rig_destroy(rig);
}

/* ---- quotas ---- */

JZX_TEST(at_the_quota_jobs_are_refused_until_one_ends, "B44") {
    struct rig *rig = rig_make_small((config){.capacity = {.system_quota = 10}});
    jzx__job_id jobs[10];
    for (unsigned i = 0; i < 10; i++) /* timers and periodic jobs count together */
        jobs[i] = i % 2 == 0 ? rig_once(rig, 5) : rig_rate(rig, 5, 5);
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 1, 0);
    struct jzx__schedule_result result = jzx__schedule_add(&rig->s, &request);
    JZX_EXPECT_EQ(result.status, JZX__SCHEDULE_QUOTA_EXCEEDED);
    JZX_EXPECT_EQ(rig_state(rig, result.job), JZX__JOB_CANCELLED);
    struct jzx__schedule_event event = rig_last(rig, JZX__EVENT_QUOTA_REACHED);
    JZX_EXPECT_EQ(event.value, 10);
    JZX_EXPECT(!event.is_engaged);
    JZX_EXPECT_EQ(rig->released, 0); /* the payload stays the caller's */
    JZX_EXPECT(jzx__schedule_cancel(&rig->s, jobs[0]));
    JZX_EXPECT_EQ(rig_try(rig, request), JZX__SCHEDULE_OK);
    JZX_EXPECT_EQ(rig_try(rig, request), JZX__SCHEDULE_QUOTA_EXCEEDED);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_QUOTA_REACHED), 1); /* once until there was room */
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig_try(rig, request), JZX__SCHEDULE_OK);
    JZX_EXPECT_EQ(rig_try(rig, request), JZX__SCHEDULE_QUOTA_EXCEEDED);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_QUOTA_REACHED), 2);
    rig_destroy(rig);
}

JZX_TEST(a_refusal_of_another_thread_is_told_by_the_owner) {
    struct rig *rig = rig_make_small((config){.capacity = {.system_quota = 1}});
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 5, 0);
    JZX_EXPECT_EQ(jzx__schedule_submit(&rig->s, &request).status, JZX__SCHEDULE_OK);
    JZX_EXPECT_EQ(jzx__schedule_submit(&rig->s, &request).status, JZX__SCHEDULE_QUOTA_EXCEEDED);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_QUOTA_REACHED), 0);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_QUOTA_REACHED), 1);
    rig_destroy(rig);
}

/* ---- slots ---- */

JZX_TEST(a_full_slot_refuses_with_a_warning_and_the_payload_stays_the_callers) {
    struct rig *rig = rig_make_small((config){.slot_capacity = 4});
    for (unsigned i = 0; i < 4; i++)
        rig_once(rig, 7);
    JZX_EXPECT_EQ(rig_try(rig, rig_request(JZX__JOB_ONE_SHOT, 7, 0)),
                  JZX__SCHEDULE_CAPACITY_EXCEEDED);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_CAPACITY_EXCEEDED), 1);
    JZX_EXPECT_EQ(rig->released, 0);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).active_total, 4);
    JZX_EXPECT_EQ(rig_try(rig, rig_request(JZX__JOB_ONE_SHOT, 8, 0)), JZX__SCHEDULE_OK);
    rig_destroy(rig);
}

JZX_TEST(a_submitted_job_whose_slot_is_full_is_cancelled_and_told) {
    struct rig *rig = rig_make_small((config){.slot_capacity = 1});
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 7, 0);
    jzx__job_id first = jzx__schedule_submit(&rig->s, &request).job;
    jzx__job_id second = jzx__schedule_submit(&rig->s, &request).job;
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig_state(rig, first), JZX__JOB_SCHEDULED);
    JZX_EXPECT_EQ(rig_state(rig, second), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_CAPACITY_EXCEEDED).job, second);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).dropped_total, 1);
    JZX_EXPECT_EQ(rig->released, 1);
    rig_destroy(rig);
}

JZX_TEST(a_full_overflow_refuses_and_near_jobs_are_still_let_in) {
    struct rig *rig = rig_make_small((config){.capacity = {.overflow = 4}});
    for (unsigned i = 0; i < 4; i++)
        rig_once(rig, 2000000 + i);
    JZX_EXPECT_EQ(rig_try(rig, rig_request(JZX__JOB_ONE_SHOT, 2000000, 0)),
                  JZX__SCHEDULE_CAPACITY_EXCEEDED);
    JZX_EXPECT_EQ(rig_try(rig, rig_request(JZX__JOB_ONE_SHOT, 1, 0)), JZX__SCHEDULE_OK);
    rig_destroy(rig);
}

JZX_TEST(an_overflow_filled_to_its_threshold_is_reported_once, "B47") {
    struct rig *rig = rig_make_small((config){.capacity = {.overflow = 8}});
    for (unsigned i = 0; i < 5; i++)
        rig_once(rig, 3000000);
    rig_advance(rig, 3);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_OVERFLOW_NEAR_CAPACITY), 0);
    rig_once(rig, 3000000); /* six of eight */
    rig_once(rig, 1);
    rig_advance(rig, 1);
    rig_once(rig, 1);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_OVERFLOW_NEAR_CAPACITY), 1);
    struct jzx__schedule_event event = rig_last(rig, JZX__EVENT_OVERFLOW_NEAR_CAPACITY);
    JZX_EXPECT_EQ(event.value, 6);
    JZX_EXPECT_EQ(event.capacity, 8);
    rig_destroy(rig);
}

/* ---- the drop order ---- */

/* Periodic jobs with one period come back into one slot, which holds fewer than there are. */
static jzx__job_id periodic(struct rig *rig, enum jzx__job_priority priority, int64_t first) {
    struct jzx__schedule_request request = rig_request(JZX__JOB_FIXED_RATE, first, 20 - first);
    request.affinity.kind =
        priority == JZX__PRIORITY_HIGH ? JZX__AFFINITY_SUBSYSTEM : JZX__AFFINITY_NONE;
    request.policy.priority = priority;
    return rig_add(rig, request);
}

/* A slot holds one: when its tick comes the far job finds it taken, and moves on to the next. */
JZX_TEST(what_leaves_the_overflow_is_due_in_the_same_tick, "B49") {
    struct rig *rig = rig_make_small((config){.slot_capacity = 1, .shape = {{4, 4, 4}}});
    jzx__job_id far = rig_once(rig, 100);
    JZX_EXPECT_EQ(jzx__schedule_shape_of(&rig->s).overflow_size, 1);
    rig_advance(rig, 90);
    jzx__job_id near = rig_once(rig, 10);
    rig_advance(rig, 10);
    JZX_EXPECT_EQ(rig->count, 1);
    JZX_EXPECT_EQ(rig->deliveries[0].job, near);
    JZX_EXPECT_EQ(jzx__schedule_shape_of(&rig->s).overflow_size, 1);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->count, 2);
    JZX_EXPECT_EQ(rig->deliveries[1].job, far);
    JZX_EXPECT_EQ(rig->deliveries[1].tick, 101);
    rig_destroy(rig);
}

JZX_TEST(a_saturated_slot_drops_the_lowest_priority_first_and_of_it_the_newest, "B50") {
    struct rig *rig = rig_make_small((config){.slot_capacity = 3});
    static const enum jzx__job_priority priorities[] = {
        JZX__PRIORITY_LOW,    JZX__PRIORITY_NORMAL, JZX__PRIORITY_HIGH,  JZX__PRIORITY_LOW,
        JZX__PRIORITY_NORMAL, JZX__PRIORITY_HIGH,   JZX__PRIORITY_NORMAL};
    jzx__job_id jobs[7];
    for (unsigned i = 0; i < 7; i++) /* first in slots of their own, then all at tick 20 */
        jobs[i] = periodic(rig, priorities[i], 1 + i);
    rig_advance(rig, 19);
    JZX_EXPECT_EQ(rig->count, 7);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DROPPED_LOW_PRIORITY), 0);
    rig_advance(rig, 1);
    static const unsigned dropped[] = {3, 0, 6, 4}; /* both Low, then the newest two Normal */
    uint32_t seen = 0;
    for (uint32_t i = 0; i < rig->told_count; i++) {
        if (rig->told[i].kind != JZX__EVENT_DROPPED_LOW_PRIORITY)
            continue;
        if (JZX_EXPECT(seen < 4)) {
            JZX_EXPECT_EQ(rig->told[i].job, jobs[dropped[seen]]);
            JZX_EXPECT_EQ(rig->told[i].priority, priorities[dropped[seen]]);
        }
        seen++;
    }
    JZX_EXPECT_EQ(seen, 4);
    JZX_EXPECT_EQ(rig->count, 10);
    JZX_EXPECT_EQ(rig->deliveries[7].job, jobs[1]);
    JZX_EXPECT_EQ(rig->deliveries[8].job, jobs[2]);
    JZX_EXPECT_EQ(rig->deliveries[9].job, jobs[5]);
    JZX_EXPECT_EQ(rig_state(rig, jobs[3]), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).dropped_total, 4);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).active_total, 3);
    rig_destroy(rig);
}

/* The quota of a slot holds for every priority: where all are High, the newest of them go. */
JZX_TEST(a_slot_that_is_saturated_by_high_jobs_alone_drops_the_newest_of_them, "B50") {
    struct rig *rig = rig_make_small((config){.slot_capacity = 3});
    jzx__job_id jobs[5];
    for (unsigned i = 0; i < 5; i++)
        jobs[i] = periodic(rig, JZX__PRIORITY_HIGH, 1 + i);
    rig_advance(rig, 20);
    JZX_EXPECT_EQ(rig->count, 8); /* five in slots of their own, then three of one slot */
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DROPPED_LOW_PRIORITY), 2);
    struct jzx__schedule_event last = rig_last(rig, JZX__EVENT_DROPPED_LOW_PRIORITY);
    JZX_EXPECT_EQ(last.job, jobs[3]);
    JZX_EXPECT_EQ(last.priority, JZX__PRIORITY_HIGH);
    for (unsigned i = 0; i < 5; i++)
        JZX_EXPECT_EQ(rig_state(rig, jobs[i]), i < 3 ? JZX__JOB_SCHEDULED : JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).active_total, 3);
    rig_destroy(rig);
}

/* ---- overload ---- */

static uint32_t load;

static uint32_t sample(void *ctx) {
    (void)ctx;
    return load;
}

static struct rig *make_loaded(config c) {
    struct rig *rig = rig_make_small(c);
    load = 0;
    JZX_EXPECT(jzx__gauge_register(
        &rig->s.gauge, (struct jzx__probe){"mailboxes", JZX__PROBE_MAILBOX, sample, NULL}));
    return rig;
}

JZX_TEST(a_gauge_above_its_limit_for_long_enough_engages_and_every_step_is_told, "B91") {
    struct rig *rig = make_loaded((config){.gauge_engaged_ticks = 3});
    load = 900;
    rig_advance(rig, 2);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_GAUGE);
    JZX_EXPECT(!rig_last(rig, JZX__EVENT_BACKPRESSURE_STATE).is_engaged);
    JZX_EXPECT_EQ(rig_try(rig, rig_request(JZX__JOB_ONE_SHOT, 50, 0)), JZX__SCHEDULE_OK);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_ENGAGED);
    struct jzx__schedule_event event = rig_last(rig, JZX__EVENT_BACKPRESSURE_STATE);
    JZX_EXPECT(event.is_engaged);
    JZX_EXPECT_EQ(event.reason, JZX__BP_BY_GAUGE | JZX__PROBE_BIT(JZX__PROBE_MAILBOX)
                                                       << JZX__BP_KINDS_SHIFT);
    load = 100;
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_NORMAL);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_BACKPRESSURE_STATE), 3);
    JZX_EXPECT(!rig_last(rig, JZX__EVENT_BACKPRESSURE_STATE).is_engaged);
    rig_destroy(rig);
}

JZX_TEST(under_backpressure_only_high_priority_is_let_in_up_to_the_adaptive_quota, "B45", "B86",
         "B88") {
    struct rig *rig = make_loaded((config){.capacity = {.system_quota = 8}});
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).quota_limit, 8);
    load = 1000;
    rig_advance(rig, 2);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).quota_limit, 4);
    struct jzx__schedule_request normal = with(JZX__AFFINITY_NONE, JZX__PRIORITY_NORMAL, 90);
    struct jzx__schedule_result result = jzx__schedule_add(&rig->s, &normal);
    JZX_EXPECT_EQ(result.status, JZX__SCHEDULE_BACKPRESSURED);
    JZX_EXPECT_EQ(result.reason, JZX__BP_BY_GAUGE);
    for (unsigned i = 0; i < 4; i++)
        rig_add(rig, with(JZX__AFFINITY_SUBSYSTEM, JZX__PRIORITY_HIGH, 90));
    struct jzx__schedule_request high = with(JZX__AFFINITY_SUBSYSTEM, JZX__PRIORITY_HIGH, 90);
    result = jzx__schedule_add(&rig->s, &high);
    JZX_EXPECT_EQ(result.status, JZX__SCHEDULE_BACKPRESSURED);
    JZX_EXPECT_EQ(result.reason, JZX__BP_BY_QUOTA);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_REJECTING);
    JZX_EXPECT(rig_last(rig, JZX__EVENT_QUOTA_REACHED).is_engaged);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_QUOTA_REACHED).value, 4);
    load = 0;
    for (unsigned i = 0; i < 4; i++) { /* five ticks of cooldown, whatever the load */
        rig_advance(rig, 1);
        JZX_EXPECT_EQ(rig_try(rig, high), JZX__SCHEDULE_BACKPRESSURED);
    }
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_NORMAL);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).quota_limit, 8); /* restored */
    JZX_EXPECT_EQ(rig_try(rig, normal), JZX__SCHEDULE_OK);
    rig_destroy(rig);
}

JZX_TEST(a_load_cancels_low_priority_and_fixed_delay_jobs_and_spares_the_rest, "B87") {
    struct rig *rig = make_loaded((config){0});
    jzx__job_id low = rig_add(rig, with(JZX__AFFINITY_NONE, JZX__PRIORITY_LOW, 50));
    jzx__job_id normal = rig_add(rig, with(JZX__AFFINITY_NONE, JZX__PRIORITY_NORMAL, 50));
    jzx__job_id rate = rig_rate(rig, 50, 50);
    jzx__job_id delay = rig_delay(rig, 50, 50);
    rig->holds_back = true;
    jzx__job_id in_flight = rig_delay(rig, 1, 5);
    struct jzx__schedule_request request = rig_request(JZX__JOB_FIXED_DELAY, 50, 50);
    request.affinity.kind = JZX__AFFINITY_SUBSYSTEM;
    jzx__job_id internal = rig_add(rig, request);
    rig_advance(rig, 1);
    load = 800;
    rig_advance(rig, 2);
    JZX_EXPECT_EQ(rig_state(rig, low), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_state(rig, delay), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_state(rig, in_flight), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_state(rig, normal), JZX__JOB_SCHEDULED);
    JZX_EXPECT_EQ(rig_state(rig, rate), JZX__JOB_SCHEDULED);
    JZX_EXPECT_EQ(rig_state(rig, internal), JZX__JOB_SCHEDULED);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_CANCELLED_BY_BACKPRESSURE), 3);
    rig_advance(rig, 5); /* once, not at every tick */
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_CANCELLED_BY_BACKPRESSURE), 3);
    JZX_EXPECT(jzx__schedule_complete(&rig->s, in_flight, rig->clock.now_ns, 0));
    rig_destroy(rig);
}

static uint32_t samples;

static uint32_t sample_counted(void *ctx) {
    (void)ctx;
    samples++;
    return load;
}

JZX_TEST(a_probe_of_the_library_is_sampled_once_a_tick_and_makes_no_ticks, "B89") {
    struct rig *rig = rig_make_small((config){0});
    load = samples = 0;
    jzx__gauge_register_own(&rig->s.gauge,
                            (struct jzx__probe){"own", JZX__PROBE_RUNTIME, sample_counted, NULL});
    JZX_EXPECT_EQ(jzx__schedule_next_tick(&rig->s), UINT64_MAX);
    for (unsigned i = 0; i < 5; i++)
        rig_once(rig, 100);
    JZX_EXPECT_EQ(samples, 1);
    rig_advance(rig, 99); /* nothing is due: passed over */
    JZX_EXPECT_EQ(samples, 1);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(samples, 2);
    rig_once(rig, 100);
    JZX_EXPECT_EQ(samples, 2); /* the tick has looked */
    rig_advance(rig, 1);
    load = 800;
    rig_once(rig, 100);
    JZX_EXPECT_EQ(samples, 3);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_GAUGE);
    JZX_EXPECT_EQ(jzx__schedule_next_tick(&rig->s), rig->s.tick + 1); /* from here on it is */
    load = 0;
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(samples, 4);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_NORMAL);
    JZX_EXPECT(jzx__schedule_next_tick(&rig->s) > rig->s.tick + 1);
    rig_destroy(rig);
}

JZX_TEST(without_probes_only_the_driver_is_judged, "B90") {
    struct rig *rig = rig_make_small((config){0});
    rig_rate(rig, 1, 1);
    rig_advance(rig, 100);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_NORMAL);
    (void)jzx__tick_source_notify(&rig->s.source, 6);
    (void)jzx__schedule_run(&rig->s);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_ENGAGED);
    rig_destroy(rig);
}

JZX_TEST(a_report_of_another_thread_counts_at_the_next_tick) {
    struct rig *rig = rig_make_small((config){.gauge_engaged_ticks = 1});
    jzx__gauge_push(&rig->s.gauge, 950);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_NORMAL);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_ENGAGED);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_NORMAL);
    rig_destroy(rig);
}
