/* SPDX-License-Identifier: MIT */
/* What a scheduler shows of itself: metrics, the log and its replay, events, the dump, and the
 * property API. */
#include "schedule_rig.h"

#include "base/rng.h"

typedef struct jzx__schedule_config config;

/* ---- metrics ---- */

JZX_TEST(metrics_count_jobs_periodic_jobs_drops_and_the_quota) {
    struct rig *rig = rig_make_small((config){0});
    rig->holds_back = true;
    rig_once(rig, 1);
    rig_rate(rig, 10, 10);
    jzx__job_id delay = rig_delay(rig, 10, 10);
    struct jzx__schedule_metrics metrics = jzx__schedule_metrics_of(&rig->s);
    JZX_EXPECT_EQ(metrics.active_total, 3);
    JZX_EXPECT_EQ(metrics.periodic_total, 2);
    JZX_EXPECT_EQ(metrics.quota_limit, 64);
    JZX_EXPECT_EQ(metrics.dropped_total, 0);
    (void)jzx__schedule_cancel(&rig->s, delay);
    (void)jzx__tick_source_notify(&rig->s.source, 2);
    metrics = jzx__schedule_metrics_of(&rig->s);
    JZX_EXPECT_EQ(metrics.tick_backlog, 2);
    rig_advance(rig, 1);
    metrics = jzx__schedule_metrics_of(&rig->s);
    JZX_EXPECT_EQ(metrics.active_total, 2); /* one is in flight */
    JZX_EXPECT_EQ(metrics.periodic_total, 1);
    JZX_EXPECT_EQ(metrics.enqueued_total, 1);
    rig_destroy(rig);
}

/* ---- the log ---- */

static void expect_record(const struct rig *rig, uint32_t i, enum jzx__log_kind kind,
                          jzx__job_id job, uint64_t deadline, uint64_t at) {
    const struct jzx__log_record *record = jzx__log_at(&rig->s.log, i);
    JZX_EXPECT_EQ(record->kind, kind);
    JZX_EXPECT_EQ(record->timer_id, job);
    JZX_EXPECT_EQ(record->deadline, deadline);
    JZX_EXPECT_EQ(record->fired_at, at);
}

JZX_TEST(the_log_has_every_schedule_fire_and_cancel_with_its_executor) {
    struct rig *rig = rig_make_small((config){.log_capacity = 16});
    struct jzx__schedule_request request = rig_request(JZX__JOB_FIXED_RATE, 2, 3);
    request.executor = 42;
    rig_advance(rig, 1);
    jzx__job_id job = rig_add(rig, request);
    rig_advance(rig, 5);
    (void)jzx__schedule_cancel(&rig->s, job);
    JZX_EXPECT_EQ(jzx__log_count(&rig->s.log), 4);
    expect_record(rig, 0, JZX__LOG_SCHEDULE, job, 3, 1);
    expect_record(rig, 1, JZX__LOG_FIRE, job, 3, 3);
    expect_record(rig, 2, JZX__LOG_FIRE, job, 6, 6);
    expect_record(rig, 3, JZX__LOG_CANCEL, job, 9, 6);
    for (uint32_t i = 0; i < 4; i++) {
        JZX_EXPECT_EQ(jzx__log_at(&rig->s.log, i)->executor, 42);
        JZX_EXPECT_EQ(jzx__log_at(&rig->s.log, i)->scheduled_at, 1);
    }
    JZX_EXPECT_EQ(rig->deliveries[0].executor, 42);
    rig_destroy(rig);
}

/* A run by seed: jobs, cancels and pauses. */
static void play(struct rig *rig, uint64_t seed) {
    struct jzx__rng rng;
    jzx__rng_init(&rng, seed);
    for (unsigned i = 0; i < 100; i++) {
        struct jzx__schedule_request request =
            rig_request((enum jzx__job_mode)jzx__rng_below(&rng, 3), 1 + jzx__rng_below(&rng, 50),
                        1 + jzx__rng_below(&rng, 50));
        (void)rig_try(rig, request);
        rig_advance(rig, 1 + jzx__rng_below(&rng, 9));
        if (i % 10 == 9)
            (void)jzx__schedule_inject_random_cancel(&rig->s, jzx__rng_next(&rng), 300);
    }
}

JZX_TEST(a_replay_writes_the_same_log_and_another_run_does_not) {
    static struct jzx__log_record kept[4096];
    struct jzx__schedule_log logs[3];
    uint32_t first = 0;
    static const uint64_t seeds[] = {5, 5, 6};
    for (unsigned k = 0; k < 3; k++) {
        struct rig *rig = rig_make_small((config){.log_capacity = 4096});
        play(rig, seeds[k]);
        JZX_EXPECT(jzx__schedule_is_monotonic(&rig->s));
        logs[k] = rig->s.log;
        if (k == 0) {
            memcpy(kept, rig->s.log.records, sizeof kept);
            logs[0].records = kept;
        } else {
            bool same = jzx__log_matches(&logs[0], &rig->s.log, &first);
            JZX_EXPECT_EQ(same, k == 1);
            JZX_EXPECT_EQ(first < jzx__log_count(&logs[0]), k == 2);
        }
        rig_destroy(rig);
    }
    JZX_EXPECT(logs[0].written > 100);
}

/* ---- events ---- */

JZX_TEST(two_subscribers_see_schedule_fire_and_cancel_each_in_a_ring_of_its_own) {
    struct rig *rig = rig_make_small((config){0});
    struct jzx__schedule_event event;
    int all = jzx__events_subscribe(&rig->s.events, JZX__EVENT_ALL);
    int cancels = jzx__events_subscribe(&rig->s.events, JZX__EVENT_BIT(JZX__EVENT_CANCEL));
    jzx__job_id job = rig_rate(rig, 1, 5);
    rig_advance(rig, 1);
    (void)jzx__schedule_cancel(&rig->s, job);
    static const enum jzx__schedule_event_kind kinds[] = {JZX__EVENT_SCHEDULE, JZX__EVENT_FIRE,
                                                          JZX__EVENT_CANCEL};
    for (unsigned i = 0; i < 3; i++) {
        JZX_EXPECT(jzx__events_next(&rig->s.events, all, &event));
        JZX_EXPECT_EQ(event.kind, kinds[i]);
        JZX_EXPECT_EQ(event.job, job);
        JZX_EXPECT_EQ(event.tick, i > 0);
    }
    JZX_EXPECT(!jzx__events_next(&rig->s.events, all, &event));
    JZX_EXPECT(jzx__events_next(&rig->s.events, cancels, &event));
    JZX_EXPECT_EQ(event.kind, JZX__EVENT_CANCEL);
    JZX_EXPECT(!jzx__events_next(&rig->s.events, cancels, &event));
    JZX_EXPECT_EQ(rig->told_count, 0); /* no warnings */
    rig_destroy(rig);
}

JZX_TEST(a_slow_subscriber_loses_its_oldest_events_and_the_dump_says_how_many) {
    struct rig *rig = rig_make_small((config){.diagnostics_queue_capacity = 4});
    int slow = jzx__events_subscribe(&rig->s.events, JZX__EVENT_BIT(JZX__EVENT_FIRE));
    rig_rate(rig, 1, 1);
    rig_advance(rig, 6);
    struct jzx__schedule_event event;
    for (uint64_t tick = 3; tick <= 6; tick++) {
        JZX_EXPECT(jzx__events_next(&rig->s.events, slow, &event));
        JZX_EXPECT_EQ(event.tick, tick);
    }
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DIAGNOSTICS_DROPPED), 1);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).diagnostics_dropped_total, 2);
    rig_destroy(rig);
}

/* ---- the dump ---- */

static char dumped[4096];

static void write_dump(void *ctx, const char *text, size_t len) {
    size_t *at = ctx;
    if (*at + len < sizeof dumped) {
        memcpy(dumped + *at, text, len);
        *at += len;
        dumped[*at] = '\0';
    }
}

JZX_TEST(a_dump_shows_the_wheel_the_overflow_the_commands_and_every_periodic_job, "B104") {
    struct rig *rig = rig_make_small((config){0});
    rig_rate(rig, 5, 7);
    rig_advance(rig, 6);
    rig->holds_back = true;
    rig_delay(rig, 1, 9);
    rig_once(rig, 30);
    rig_once(rig, 2000000);
    rig_advance(rig, 1);
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 1, 0);
    (void)jzx__schedule_submit(&rig->s, &request);
    size_t at = 0;
    jzx__schedule_dump(&rig->s, write_dump, &at);
    const char *expected =
        "wheel_offset      7\n"
        "active_slots      2\n"
        "overflow_size     1\n"
        "active_total      5\n"
        "pending_commands  1\n"
        "tick_backlog      0\n"
        "catch_ups         0\n"
        "dropped_total     0\n"
        "diagnostics_lost  0\n"
        "overload          normal\n"
        "driver            none\n"
        "load              0\n"
        "close_tasks       0\n"
        "one_shot_jobs     2\n"
        "      job_id  mode          backlog   last_fire    deadline  state\n"
        "           3  one-shot            0       never          36  waiting\n"
        "           4  one-shot            0       never     2000006  waiting\n"
        "periodic_jobs     2\n"
        "      job_id  mode          backlog   last_fire    deadline  state\n"
        "           1  fixed-rate          0           5          12  waiting\n"
        "           2  fixed-delay         0           7          16  in flight\n";
    if (!JZX_EXPECT(strcmp(dumped, expected) == 0))
        print_error("%s", dumped);
    rig_destroy(rig);
}

/* ---- the property API ---- */

JZX_TEST(random_cancels_by_seed_cancel_the_same_jobs_and_none_of_them_fires) {
    uint32_t counts[2];
    uint64_t digests[2];
    for (unsigned k = 0; k < 2; k++) {
        struct rig *rig = rig_make_small((config){.log_capacity = 256});
        for (unsigned i = 0; i < 60; i++)
            rig_once(rig, 1 + i % 20);
        counts[k] = jzx__schedule_inject_random_cancel(&rig->s, 77, 500);
        digests[k] = rig->s.log.digest;
        JZX_EXPECT(jzx__schedule_check(&rig->s) == NULL);
        rig_advance(rig, 30);
        JZX_EXPECT_EQ(rig->count, 60 - counts[k]);
        JZX_EXPECT(jzx__schedule_is_monotonic(&rig->s));
        rig_destroy(rig);
    }
    JZX_EXPECT(counts[0] > 10 && counts[0] < 50);
    JZX_EXPECT_EQ(counts[0], counts[1]);
    JZX_EXPECT_EQ(digests[0], digests[1]);
}

JZX_TEST(the_check_finds_what_is_wrong) {
    struct rig *rig = rig_make_small((config){.log_capacity = 8});
    rig_rate(rig, 5, 5);
    JZX_EXPECT(jzx__schedule_check(&rig->s) == NULL);
    rig->s.active++;
    JZX_EXPECT(jzx__schedule_check(&rig->s) != NULL);
    rig->s.active--;
    rig->s.metrics.periodic_total++;
    JZX_EXPECT(jzx__schedule_check(&rig->s) != NULL);
    rig->s.metrics.periodic_total--;
    rig->s.table.records[0].is_in_flight = true;
    JZX_EXPECT(jzx__schedule_check(&rig->s) != NULL);
    rig->s.table.records[0].is_in_flight = false;
    rig->s.log.records[0].fired_at = 99;
    JZX_EXPECT(!jzx__schedule_is_monotonic(&rig->s));
    rig_destroy(rig);
}
