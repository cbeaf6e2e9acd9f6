/* SPDX-License-Identifier: MIT */
/* What the scheduler tells: subscribers, the log and its replay, dumps, and the calls for property
 * tests. */
#include "scheduling.h"

#include <stdlib.h>

static struct rig rig;

static uint32_t subscribe(uint32_t kinds) {
    uint32_t subscriber = 99;
    JZX_EXPECT_EQ(jzx_schedule_subscribe(rig.loop, kinds, &subscriber), JZX_OK);
    return subscriber;
}

/* Takes all that waits; how many, and the last. */
static uint32_t take_all(uint32_t subscriber, struct jzx_schedule_event *last) {
    struct jzx_schedule_event event;
    uint32_t count = 0;
    while (jzx_schedule_next_event(rig.loop, subscriber, &event, sizeof event)) {
        *last = event;
        count++;
    }
    return count;
}

/* ---- events ---- */

JZX_TEST(several_subscribers_get_what_they_asked_for, "B101", "B106", "R5.AC3", "B3") {
    struct jzx_schedule_event last;
    rig_open(&rig, NULL);
    uint32_t fires = subscribe(JZX_SCHEDULE_KIND(FIRE));
    uint32_t jobs = subscribe(JZX_SCHEDULE_KIND(SCHEDULE) | JZX_SCHEDULE_KIND(CANCEL));
    uint32_t fires_again = subscribe(JZX_SCHEDULE_KIND(FIRE));
    uint32_t warnings = subscribe(JZX_SCHEDULE_WARNINGS & ~JZX_SCHEDULE_KIND(DRIVER_STATUS));
    rig_step(&rig);
    uint32_t before = rig.told_count;
    jzx_job_id job = rig_rate(&rig, 1, TICKS(1), TICKS(1));
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(rig.notes.count, 3);
    JZX_EXPECT(jzx_job_cancel(rig.loop, job));
    JZX_EXPECT_EQ(take_all(fires, &last), 3);
    JZX_EXPECT_EQ(last.kind, JZX_SCHEDULE_EVENT_FIRE);
    JZX_EXPECT_EQ(last.job, job);
    JZX_EXPECT_EQ(last.tick, 3);
    JZX_EXPECT_EQ(take_all(fires_again, &last), 3); /* each subscriber has its own */
    JZX_EXPECT_EQ(last.job, job);
    JZX_EXPECT_EQ(take_all(jobs, &last), 2);
    JZX_EXPECT_EQ(last.kind, JZX_SCHEDULE_EVENT_CANCEL);
    JZX_EXPECT_EQ(take_all(warnings, &last), 0);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig.told_count, before); /* none of it is a warning */
    JZX_EXPECT_EQ(jzx_schedule_unsubscribe(rig.loop, fires), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_unsubscribe(rig.loop, jobs), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_unsubscribe(rig.loop, fires_again), JZX_OK);
    rig_once(&rig, 1, TICKS(1));
    JZX_EXPECT_EQ(take_all(fires, &last), 0);
    JZX_EXPECT_EQ(jzx_schedule_unsubscribe(rig.loop, warnings), JZX_OK);
    rig_once(&rig, 1, TICKS(1)); /* nobody subscribes: to the stream */
    rig_step(&rig);
    JZX_EXPECT_EQ(rig.told_count, before + 1);
    rig_close(&rig);
}

JZX_TEST(what_was_told_before_the_first_subscriber_is_kept_for_it, "B+rules", "B101") {
    struct jzx_schedule_event last;
    rig_open(&rig, NULL);
    for (uint32_t i = 0; i < 5; i++)
        rig_once(&rig, 1, TICKS(9));
    uint32_t first = subscribe(JZX_SCHEDULE_KIND(SCHEDULE));
    uint32_t second = subscribe(JZX_SCHEDULE_KIND(SCHEDULE));
    JZX_EXPECT_EQ(take_all(first, &last), 5);
    JZX_EXPECT_EQ(take_all(second, &last), 0);
    rig_close(&rig);
}

JZX_TEST(a_slow_subscriber_keeps_the_newest_and_hears_of_its_overflow, "B102", "B+tests") {
    struct jzx_schedule_event event;
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.diagnostics_queue_capacity = 4));
    uint32_t slow = subscribe(JZX_SCHEDULE_KIND(SCHEDULE));
    for (uint32_t i = 0; i < 8; i++)
        rig_once(&rig, 1, TICKS(9)); /* jobs 1 .. 8 */
    rig_step(&rig);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DIAGNOSTICS_DROPPED, &event), 1);
    JZX_EXPECT_EQ(event.capacity, 4);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DIAGNOSTICS_OVERFLOW, NULL), 1);
    JZX_EXPECT(jzx_schedule_next_event(rig.loop, slow, &event, sizeof event));
    JZX_EXPECT_EQ(event.job, 6); /* the newest */
    uint32_t count = take_all(slow, &event);
    JZX_EXPECT_EQ(count, 3);
    JZX_EXPECT_EQ(event.kind, JZX_SCHEDULE_EVENT_DIAGNOSTICS_OVERFLOW);
    JZX_EXPECT_EQ(rig_metrics(&rig).diagnostics_dropped_total, 5);
    rig_close(&rig);
}

/* A shutdown tells of every job that it cancels, and observers hear of it afterwards. */
JZX_TEST(an_observer_hears_how_many_events_were_too_many_at_once, "B102") {
    struct jzx_schedule_event event;
    rig_open(&rig, NULL);
    for (uint32_t i = 0; i < 700; i++) {
        rig_once(&rig, 1, TICKS(9 + i % 7));
        rig_step(&rig);
    }
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DIAGNOSTICS_DROPPED, NULL), 0);
    JZX_EXPECT_EQ(jzx_schedule_shutdown(rig.loop, NULL), JZX_OK);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DIAGNOSTICS_DROPPED, &event), 1);
    JZX_EXPECT_EQ(event.capacity, 512);
    JZX_EXPECT(event.value >= 700 - 512);
    rig_close(&rig);
}

JZX_TEST(subscribers_have_a_limit_and_wrong_ones_are_refused, "B+tests") {
    uint32_t subscriber = 99;
    struct jzx_schedule_event event;
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(jzx_schedule_subscribe(rig.loop, 0, &subscriber), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_subscribe(rig.loop, 1, NULL), JZX_ERR_INVALID_ARG);
    for (uint32_t i = 0; i < 8; i++)
        subscribe(JZX_SCHEDULE_ALL_KINDS);
    JZX_EXPECT_EQ(jzx_schedule_subscribe(rig.loop, 1, &subscriber), JZX_ERR_FULL);
    JZX_EXPECT_EQ(subscriber, 99);
    JZX_EXPECT_EQ(jzx_schedule_unsubscribe(rig.loop, 8), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(!jzx_schedule_next_event(rig.loop, 8, &event, sizeof event));
    JZX_EXPECT(!jzx_schedule_next_event(rig.loop, 0, NULL, sizeof event));
    JZX_EXPECT_EQ(jzx_schedule_unsubscribe(rig.loop, 3), JZX_OK);
    JZX_EXPECT_EQ(subscribe(JZX_SCHEDULE_ALL_KINDS), 3);
    JZX_EXPECT(strcmp(jzx_schedule_event_text(JZX_SCHEDULE_EVENT_BURST_FIRE), "burst fire") == 0);
    JZX_EXPECT(strcmp(jzx_schedule_event_text((jzx_schedule_event_kind)99), "unknown") == 0);
    rig_close(&rig);
}

/* ---- the log ---- */

static bool load_is_critical;

static uint32_t load(void *ctx) {
    (void)ctx;
    return load_is_critical ? 900 : 0;
}

JZX_TEST(the_log_has_every_schedule_fire_and_cancel, "B100", "R5.AC2") {
    jzx_schedule_record records[8];
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.log_capacity = 4));
    rig_pass(&rig, 2);
    jzx_job_id job = rig_once(&rig, 1, TICKS(3));
    jzx_job_id gone = rig_once(&rig, 1, TICKS(9));
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT(jzx_job_cancel(rig.loop, gone));
    JZX_EXPECT_EQ(jzx_schedule_log(rig.loop, records, sizeof records[0], 8), 4);
    static const struct {
        jzx_schedule_log_kind kind;
        uint64_t fired_at;
        uint64_t deadline;
    } expected[] = {{JZX_SCHEDULE_LOG_SCHEDULE, 2, 5},
                    {JZX_SCHEDULE_LOG_SCHEDULE, 2, 11},
                    {JZX_SCHEDULE_LOG_FIRE, 5, 5},
                    {JZX_SCHEDULE_LOG_CANCEL, 5, 11}};
    for (uint32_t i = 0; i < 4; i++) {
        JZX_EXPECT_EQ(records[i].kind, expected[i].kind);
        JZX_EXPECT_EQ(records[i].timer_id, i % 2 == 0 ? job : gone);
        JZX_EXPECT_EQ(records[i].scheduled_at, 2);
        JZX_EXPECT_EQ(records[i].fired_at, expected[i].fired_at);
        JZX_EXPECT_EQ(records[i].deadline, expected[i].deadline);
        JZX_EXPECT_EQ(records[i].executor, 0);
    }
    JZX_EXPECT_EQ(jzx_schedule_log(rig.loop, records, sizeof records[0], 1), 1);
    JZX_EXPECT_EQ(records[0].kind, JZX_SCHEDULE_LOG_CANCEL); /* the newest */
    JZX_EXPECT_EQ(jzx_schedule_log(rig.loop, NULL, sizeof records[0], 1), 0);
    rig_close(&rig);
}

JZX_TEST(an_entry_has_its_mode_deadline_payload_and_priority, "B11") {
    struct jzx_schedule_event event;
    jzx_schedule_record record;
    load_is_critical = false;
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.log_capacity = 4, .gauge_engaged_ticks = 1));
    JZX_EXPECT_EQ(jzx_schedule_add_probe(rig.loop, "load", JZX_PROBE_RUNTIME, load, NULL), JZX_OK);
    uint32_t made = subscribe(JZX_SCHEDULE_KIND(SCHEDULE));
    rig_once(&rig, 1, TICKS(3));
    rig_rate(&rig, 2, TICKS(4), TICKS(1));
    rig_delay(&rig, 3, TICKS(5), TICKS(1));
    for (uint32_t i = 0; i < 3; i++) {
        static const jzx_job_mode modes[] = {JZX_JOB_ONE_SHOT, JZX_JOB_FIXED_RATE,
                                             JZX_JOB_FIXED_DELAY};
        JZX_EXPECT(jzx_schedule_next_event(rig.loop, made, &event, sizeof event));
        JZX_EXPECT_EQ(event.batch.mode, modes[i]);
    }
    JZX_EXPECT_EQ(jzx_schedule_log(rig.loop, &record, sizeof record, 1), 1);
    JZX_EXPECT_EQ(record.deadline, 5);
    rig_pass(&rig, 3);
    rig_expect_note(&rig, 0, 3, 1); /* the payload is a message */
    load_is_critical = true;
    rig_pass(&rig, 1); /* fixed-delay jobs are cancelled under load, and told with priority */
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_CANCELLED_BY_BACKPRESSURE, &event), 1);
    JZX_EXPECT_EQ(event.priority, JZX_JOB_PRIORITY_NORMAL);
    rig_close(&rig);
}

/* The same calls in the same order, but for the last. */
static void play(int64_t last) {
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.log_capacity = 256));
    rig_rate(&rig, 1, TICKS(2), TICKS(3));
    jzx_job_id delay = rig_delay(&rig, 2, TICKS(1), TICKS(2));
    rig_pass(&rig, 10);
    (void)jzx_job_cancel(rig.loop, delay);
    rig_once(&rig, 3, last);
    rig_pass(&rig, 10);
    JZX_EXPECT_EQ(rig.notes.count, 13); /* 7 at the rate, 5 with the delay, and the last */
}

JZX_TEST(a_replay_writes_the_same_log_and_another_run_does_not, "B100", "R5.AC2") {
    static unsigned char trace[65536];
    uint32_t first = 0;
    play(TICKS(4));
    size_t size = jzx_schedule_trace(rig.loop, NULL, 0);
    JZX_EXPECT(size > 10 && size <= sizeof trace);
    JZX_EXPECT_EQ(jzx_schedule_trace(rig.loop, trace, sizeof trace), size);
    rig_close(&rig);
    play(TICKS(4));
    JZX_EXPECT_EQ(jzx_schedule_replay_check(rig.loop, trace, size, &first), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_replay_check(rig.loop, trace, 3, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_replay_check(rig.loop, trace, size - 1, NULL), JZX_ERR_INVALID_ARG);
    uint32_t whole = first;
    rig_close(&rig);
    play(TICKS(5));
    JZX_EXPECT_EQ(jzx_schedule_replay_check(rig.loop, trace, size, &first), JZX_ERR_UNKNOWN);
    JZX_EXPECT(first < whole); /* it names the record that differs */
    rig_close(&rig);
}

/* ---- dumps ---- */

static char dumped[4096];

static void keep_line(void *ctx, const char *line) {
    jzx_schedule_metrics metrics = {.size = sizeof metrics};
    JZX_EXPECT_EQ(jzx_schedule_metrics_get(ctx, &metrics), JZX_OK); /* the lock is free */
    strncat(dumped, line, sizeof dumped - strlen(dumped) - 2);
    strcat(dumped, "\n");
}

static int32_t close_nothing(void *ctx) {
    (void)ctx;
    return 0;
}

static uint32_t sample_seven(void *ctx) {
    (void)ctx;
    return 7;
}

JZX_TEST(a_dump_shows_the_wheel_the_load_and_every_job, "B104", "R5.AC5", "B70", "B102", "B89") {
    dumped[0] = '\0';
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, JZX_CLOSE_DEFAULT, NULL, close_nothing, NULL),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_add_probe(rig.loop, "mine", JZX_PROBE_RUNTIME, sample_seven, NULL),
                  JZX_OK);
    rig_once(&rig, 1, TICKS(2000000));
    rig_once(&rig, 1, TICKS(9));
    rig_rate(&rig, 1, TICKS(2), TICKS(3));
    rig_delay(&rig, 1, TICKS(100), TICKS(3));
    rig_pass(&rig, 5);
    JZX_EXPECT_EQ(rig.notes.count, 2);
    JZX_EXPECT_EQ(jzx_schedule_dump(rig.loop, keep_line, rig.loop), JZX_OK);
    static const char *const expected[] = {
        "wheel_offset      5\n",
        "active_slots      3\n",
        "overflow_size     1\n",
        "active_total      4\n",
        "catch_ups         0\n",
        "close_tasks       5\n",
        "load              7\n",
        "  mailbox        0  mailbox\n",
        "  dispatcher     0  dispatcher\n",
        "  runtime        0  runtime\n",
        "  runtime        7  mine\n",
        "one_shot_jobs     2\n",
        "  1  one-shot            0       never     2000000  waiting\n",
        "  2  one-shot            0       never           9  waiting\n",
        "pending_commands  0\n",
        "diagnostics_lost  0\n",
        "overload          normal\n",
        "driver            automatic\n",
        "periodic_jobs     2\n",
        "fixed-rate ",
        "fixed-delay",
        "never"};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (!JZX_EXPECT(strstr(dumped, expected[i]) != NULL))
            print_message("no %s in\n%s", expected[i], dumped);
    }
    JZX_EXPECT_EQ(jzx_schedule_dump(rig.loop, NULL, NULL), JZX_ERR_INVALID_ARG);
    rig_close(&rig);
}

JZX_TEST(a_dump_shows_how_many_events_were_lost, "B102") {
    dumped[0] = '\0';
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.diagnostics_queue_capacity = 4));
    (void)subscribe(JZX_SCHEDULE_KIND(SCHEDULE));
    for (uint32_t i = 0; i < 6; i++)
        rig_once(&rig, 1, TICKS(9));
    JZX_EXPECT_EQ(rig_metrics(&rig).diagnostics_dropped_total, 2);
    JZX_EXPECT_EQ(jzx_schedule_dump(rig.loop, keep_line, rig.loop), JZX_OK);
    JZX_EXPECT(strstr(dumped, "diagnostics_lost  2\n") != NULL);
    rig_close(&rig);
}

JZX_TEST(a_dump_shows_backlog_last_fire_and_deadline_of_a_periodic_job, "B104", "B70") {
    dumped[0] = '\0';
    rig_open(&rig, NULL);
    rig_rate(&rig, 1, TICKS(2), TICKS(2));
    rig.notes.takes_ns = TICKS(7); /* runs at 4, 6 and 8 go by */
    rig.notes.slow = 1;
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(rig.notes.count, 2);
    JZX_EXPECT_EQ(jzx_schedule_dump(rig.loop, keep_line, rig.loop), JZX_OK);
    static const char line[] =
        "           1  fixed-rate          3          10          12  waiting\n";
    if (!JZX_EXPECT(strstr(dumped, line) != NULL))
        print_message("no %s in\n%s", line, dumped);
    rig_close(&rig);
}

static char dump_message[4096];

static jzx_behavior_result keep_dump(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    jzx_test_ran();
    if (JZX_EXPECT(msg->tag == 5 && msg->len < sizeof dump_message))
        memcpy(dump_message, msg->data, msg->len);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_dump_comes_as_a_message, "B104") {
    memset(dump_message, 0, sizeof dump_message);
    rig_open(&rig, NULL);
    jzx_actor_id to = fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = keep_dump));
    rig_rate(&rig, 1, TICKS(2), TICKS(3));
    JZX_EXPECT_EQ(jzx_schedule_dump_to(rig.loop, to, 5), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_dump_to(rig.loop, jzx_make_id(9, 9), 5), JZX_ERR_NO_SUCH_ACTOR);
    rig_step(&rig);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT(strstr(dump_message, "periodic_jobs     1\n") != NULL);
    rig_close(&rig);
}

/* ---- properties ---- */

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Random jobs, pauses and cancels: the invariants hold after every step, jobs that were cancelled
 * never come again, and the runs of a fixed rate add up to the points of its grid. */
static void check_seed(uint64_t seed) {
    uint64_t random = seed;
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.test_mode = true, .log_capacity = 512,
                                        .profile = JZX_SCHEDULE_CUSTOM, .system_quota = 64));
    int64_t period = 1 + (int64_t)(next_random(&random) % 5);
    jzx_job_id job = JZX_NO_JOB;
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate_with_options(
                      rig.loop, TICKS(period), TICKS(period), rig.to, JZX_NOBODY, NULL, 0, 1,
                      &JZX_SCHEDULE_OPTS(.backlog_limit = UINT32_MAX), &job),
                  JZX_OK);
    for (uint32_t i = 0; i < 20; i++) {
        (void)jzx_schedule_once(rig.loop, 1 + (int64_t)(next_random(&random) % 90000000), rig.to,
                                JZX_NOBODY, NULL, 0, 2, NULL);
        if (next_random(&random) % 4 == 0)
            rig_leap(&rig, (int64_t)(next_random(&random) % 200000000)); /* a pause */
        rig_pass(&rig, 1 + next_random(&random) % 3);
        JZX_EXPECT(jzx_schedule_check(rig.loop) == NULL);
        JZX_EXPECT(jzx_schedule_is_monotonic(rig.loop));
    }
    rig_pass(&rig, (uint64_t)period);
    uint64_t runs = 0;
    for (uint32_t i = 0; i < rig.notes.count; i++)
        runs += rig.notes.list[i].tag == 1 ? rig.notes.list[i].batch.runs : 0;
    uint64_t points = jzx_clock_now(rig.clock) / (uint64_t)TICKS(period);
    if (!JZX_EXPECT_EQ(runs, points))
        print_message("seed %llu\n", (unsigned long long)seed);
    uint32_t cancelled = jzx_schedule_inject_random_cancel(rig.loop, seed, 1000);
    JZX_EXPECT(cancelled >= 1);
    uint32_t count = rig.notes.count;
    rig_pass(&rig, 12);
    JZX_EXPECT_EQ(rig.notes.count, count); /* the cancel guarantee */
    rig_expect_state(&rig, job, JZX_JOB_CANCELLED);
    rig_close(&rig);
}

JZX_TEST(properties_hold_for_a_thousand_seeds, "B103", "R5.AC4", "B106", "B+tests", "B66") {
    uint64_t seeds = jzx_test_rounds(1000, 10000);
    for (uint64_t seed = 1; seed <= seeds; seed++)
        check_seed(seed);
}

JZX_TEST(the_property_calls_need_test_mode, "B103") {
    rig_open(&rig, NULL);
    rig_once(&rig, 1, TICKS(5));
    JZX_EXPECT(jzx_schedule_check(rig.loop) != NULL);
    JZX_EXPECT(!jzx_schedule_is_monotonic(rig.loop));
    JZX_EXPECT_EQ(jzx_schedule_inject_random_cancel(rig.loop, 1, 1000), 0);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 1);
    rig_close(&rig);
}

JZX_TEST(the_same_seed_cancels_the_same_jobs_and_another_seed_others, "B103") {
    static bool came[3][100];
    for (uint32_t i = 0; i < 3; i++) {
        memset(came[i], 0, sizeof came[i]);
        rig_open(&rig, &JZX_SCHEDULE_CONFIG(.test_mode = true));
        for (uint32_t j = 0; j < 100; j++)
            rig_once(&rig, j, TICKS(5));
        uint32_t count = jzx_schedule_inject_random_cancel(rig.loop, i < 2 ? 7 : 8, 500);
        JZX_EXPECT(count > 20 && count < 80);
        JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 100 - count);
        rig_pass(&rig, 5);
        JZX_EXPECT_EQ(rig.notes.count, 100 - count);
        for (uint32_t j = 0; j < rig.notes.count; j++)
            came[i][rig.notes.list[j].tag] = true;
        rig_close(&rig);
    }
    JZX_EXPECT(memcmp(came[0], came[1], sizeof came[0]) == 0);
    JZX_EXPECT(memcmp(came[0], came[2], sizeof came[0]) != 0);
}
