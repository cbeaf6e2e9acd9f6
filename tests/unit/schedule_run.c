/* SPDX-License-Identifier: MIT */
/* Drivers and passes: chunks, catch-up, status, stalls, drift, and ticks that are never lost. */
#include "schedule_rig.h"

typedef struct jzx__schedule_config config;

static void announce(struct rig *rig, uint32_t ticks) {
    JZX_EXPECT(jzx__tick_source_notify(&rig->s.source, ticks));
}

static void run_all(struct rig *rig) {
    while (jzx__schedule_run(&rig->s).has_more)
        continue;
}

/* ---- passes ---- */

JZX_TEST(a_pass_runs_a_chunk_and_says_whether_there_is_more, "B23") {
    struct rig *rig = rig_make_small((config){.catch_up_chunk_ticks = 2});
    announce(rig, 5);
    struct jzx__schedule_pass pass = jzx__schedule_run(&rig->s);
    JZX_EXPECT_EQ(pass.event.ticks, 5);
    JZX_EXPECT_EQ(pass.event.mode, JZX__TICKS_CATCH_UP);
    JZX_EXPECT_EQ(pass.ticks, 2);
    JZX_EXPECT(pass.has_more);
    pass = jzx__schedule_run(&rig->s);
    JZX_EXPECT_EQ(pass.event.ticks, 0); /* nothing new, but still owed */
    JZX_EXPECT_EQ(pass.event.mode, JZX__TICKS_NORMAL);
    JZX_EXPECT_EQ(pass.ticks, 2);
    pass = jzx__schedule_run(&rig->s);
    JZX_EXPECT_EQ(pass.ticks, 1);
    JZX_EXPECT(!pass.has_more);
    JZX_EXPECT_EQ(rig->s.tick, 5);
    JZX_EXPECT_EQ(jzx__schedule_run(&rig->s).ticks, 0);
    rig_destroy(rig);
}

JZX_TEST(ten_million_announced_ticks_are_all_run, "B24") {
    struct rig *rig = rig_make_small((config){0});
    jzx__job_id last = rig_once(rig, 10000000);
    rig_rate(rig, 1000, 1000);
    for (unsigned i = 0; i < 10; i++)
        announce(rig, 1000000);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).tick_backlog, 10000000);
    run_all(rig);
    JZX_EXPECT_EQ(rig->s.tick, 10000000);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).ticks_total, 10000000);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).tick_backlog, 0);
    JZX_EXPECT_EQ(rig->count, 10001); /* every run of the rate by itself */
    JZX_EXPECT_EQ(rig_state(rig, last), JZX__JOB_COMPLETED);
    rig_destroy(rig);
}

JZX_TEST(ticks_by_hand_go_through_the_same_chunks_and_raise_nothing, "B25") {
    struct rig *rig = rig_make_small((config){0});
    rig_rate(rig, 3, 3);
    rig_advance(rig, 1000);
    JZX_EXPECT_EQ(rig->count, 333);
    JZX_EXPECT_EQ(rig->s.tick, 1000);
    JZX_EXPECT_EQ(rig->clock.now_ns, 1000 * (uint64_t)TICK_NS);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_NORMAL);
    JZX_EXPECT_EQ(rig->s.drift.exceeded, 0);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DRIFT_EXCEEDED), 0);
    rig_destroy(rig);
}

/* The rate of ticks is measured between two chunks: a long pass tells every second of it. */
JZX_TEST(many_ticks_by_hand_are_run_in_chunks_of_the_configured_size, "B25") {
    struct rig *rig = rig_make_small((config){.catch_up_chunk_ticks = 4});
    rig_advance(rig, 1000);
    JZX_EXPECT_EQ(rig->s.tick, 1000);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_TICK_METRICS), 10);
    for (uint32_t i = 0; i < rig->told_count; i++) {
        if (rig->told[i].kind == JZX__EVENT_TICK_METRICS)
            JZX_EXPECT_EQ(rig->told[i].capacity, 100); /* ticks */
    }
    rig_destroy(rig);
}

JZX_TEST(ticks_by_hand_are_for_tests_alone) {
    struct rig *rig =
        rig_make_with_clock((config){.profile = JZX__PROFILE_TINY}, JZX__CLOCK_DETERMINISTIC);
    const struct jzx__driver manual = {.kind = JZX__DRIVER_MANUAL, .name = "manual"};
    JZX_EXPECT(!jzx__schedule_advance(&rig->s, 1));
    JZX_EXPECT_EQ(rig->s.tick, 0);
    JZX_EXPECT_EQ(jzx__schedule_start(&rig->s, &manual, NULL), JZX__DRIVER_UNSUPPORTED_ENVIRONMENT);
    rig_destroy(rig);
}

/* Whatever the driver does, the next tick tells when there is something to do. */
JZX_TEST(a_driver_may_sleep_until_the_next_tick_with_work) {
    struct rig *rig = rig_make_small((config){0});
    JZX_EXPECT_EQ(jzx__schedule_next_tick(&rig->s), UINT64_MAX);
    jzx__job_id job = rig_once(rig, 100);
    JZX_EXPECT_EQ(jzx__schedule_next_tick(&rig->s), 100);
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 50, 0);
    (void)jzx__schedule_submit(&rig->s, &request);
    JZX_EXPECT_EQ(jzx__schedule_next_tick(&rig->s), 1); /* it has to be registered */
    (void)jzx__schedule_run(&rig->s);
    JZX_EXPECT_EQ(jzx__schedule_next_tick(&rig->s), 50);
    announce(rig, 50);
    run_all(rig);
    announce(rig, 1); /* below 0.8 windows: the driver is in time again */
    run_all(rig);
    JZX_EXPECT_EQ(jzx__schedule_next_tick(&rig->s), 100);
    (void)jzx__schedule_cancel(&rig->s, job);
    JZX_EXPECT_EQ(jzx__schedule_next_tick(&rig->s), UINT64_MAX);
    rig_destroy(rig);
}

/* ---- judging the driver: a window of five ticks ---- */

JZX_TEST(a_backlog_above_the_window_is_backpressure_until_it_falls, "B30", "B33") {
    struct rig *rig = rig_make_small((config){0});
    announce(rig, 6);
    (void)jzx__schedule_run(&rig->s);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_ENGAGED);
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_BACKPRESSURED);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_DRIVER_STATUS).value, 6);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_BACKPRESSURE_STATE), 2); /* noticed, raised */
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 5, 0);
    struct jzx__schedule_result result = jzx__schedule_add(&rig->s, &request);
    JZX_EXPECT_EQ(result.status, JZX__SCHEDULE_BACKPRESSURED);
    JZX_EXPECT_EQ(result.reason, JZX__BP_BY_DRIVER);
    run_all(rig);
    announce(rig, 1);
    run_all(rig);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_NORMAL);
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_OK);
    JZX_EXPECT_EQ(rig_try(rig, request), JZX__SCHEDULE_OK);
    struct jzx__schedule_metrics metrics = jzx__schedule_metrics_of(&rig->s);
    JZX_EXPECT_EQ(metrics.tick_backlog_peak, 6);
    JZX_EXPECT_EQ(metrics.tick_overflow_events, 1);
    announce(rig, 12); /* above the window in the second pass, too */
    (void)jzx__schedule_run(&rig->s);
    (void)jzx__schedule_run(&rig->s);
    metrics = jzx__schedule_metrics_of(&rig->s);
    JZX_EXPECT_EQ(metrics.tick_backlog_peak, 12);
    JZX_EXPECT_EQ(metrics.tick_overflow_events, 3);
    JZX_EXPECT_EQ(metrics.catch_up_window_ticks, 5);
    JZX_EXPECT(metrics.drift_compensations > 0);
    rig_destroy(rig);
}

JZX_TEST(a_driver_far_behind_twice_makes_the_scheduler_reject_until_it_recovers, "B31") {
    struct rig *rig = rig_make_small((config){.catch_up_chunk_ticks = 1, .cooldown_ticks = 1000});
    jzx__job_id low =
        rig_add(rig, (struct jzx__schedule_request){.mode = JZX__JOB_ONE_SHOT,
                                                    .delay_ns = 100 * TICK_NS,
                                                    .policy = {.priority = JZX__PRIORITY_LOW}});
    struct jzx__schedule_request high = rig_request(JZX__JOB_ONE_SHOT, 5, 0);
    high.affinity.kind = JZX__AFFINITY_SUBSYSTEM;
    announce(rig, 12);
    (void)jzx__schedule_run(&rig->s);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DRIVER_CATCH_UP_EXCEEDED), 0);
    JZX_EXPECT_EQ(rig_try(rig, high), JZX__SCHEDULE_OK);
    (void)jzx__schedule_run(&rig->s); /* eleven are owed still */
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DRIVER_CATCH_UP_EXCEEDED), 1);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_DRIVER_CATCH_UP_EXCEEDED).value, 11);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_REJECTING);
    JZX_EXPECT_EQ(rig_try(rig, high), JZX__SCHEDULE_BACKPRESSURED);
    JZX_EXPECT_EQ(rig_state(rig, low), JZX__JOB_SCHEDULED); /* no job is lost for the driver */
    run_all(rig);
    announce(rig, 1);
    run_all(rig);
    JZX_EXPECT_EQ(rig->s.pressure.state, JZX__BP_NORMAL); /* long before the cooldown is over */
    JZX_EXPECT_EQ(rig_try(rig, high), JZX__SCHEDULE_OK);
    rig_destroy(rig);
}

/* ---- starting and stopping ---- */

struct test_driver {
    struct jzx__tick_source *source;
    uint32_t resolution_ns;
    unsigned starts;
    unsigned stops;
    enum jzx__driver_error error;
};

static enum jzx__driver_error start(void *ctx, struct jzx__tick_source *source,
                                    uint32_t resolution_ns) {
    struct test_driver *driver = ctx;
    driver->starts++;
    driver->source = source;
    driver->resolution_ns = resolution_ns;
    return driver->error;
}

static void stop(void *ctx) {
    ((struct test_driver *)ctx)->stops++;
}

static struct jzx__driver driver_of(struct test_driver *driver, const char *name) {
    return (struct jzx__driver){JZX__DRIVER_FOREIGN, name, driver, start, stop, NULL};
}

JZX_TEST(a_driver_is_started_with_the_source_and_stopped_by_the_shutdown) {
    struct rig *rig = rig_make_small((config){0});
    struct test_driver driver = {.error = JZX__DRIVER_OK};
    struct jzx__driver table = driver_of(&driver, "foreign");
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_SUSPENDED);
    JZX_EXPECT_EQ(jzx__schedule_start(&rig->s, &table, NULL), JZX__DRIVER_OK);
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_OK);
    JZX_EXPECT_EQ(driver.resolution_ns, TICK_NS);
    JZX_EXPECT_EQ(strcmp(jzx__schedule_metrics_of(&rig->s).driver, "foreign"), 0);
    JZX_EXPECT_EQ(jzx__schedule_start(&rig->s, &table, NULL), JZX__DRIVER_HANDLE_UNAVAILABLE);
    JZX_EXPECT(jzx__tick_source_notify(driver.source, 3));
    run_all(rig);
    JZX_EXPECT_EQ(rig->s.tick, 3);
    rig_destroy(rig);
    JZX_EXPECT_EQ(driver.starts, 1);
    JZX_EXPECT_EQ(driver.stops, 1);
}

JZX_TEST(a_driver_that_does_not_start_leaves_its_error) {
    struct rig *rig = rig_make_small((config){0});
    struct test_driver driver = {.error = JZX__DRIVER_SPAWN_FAILED};
    struct jzx__driver table = driver_of(&driver, "broken");
    JZX_EXPECT_EQ(jzx__schedule_start(&rig->s, &table, NULL), JZX__DRIVER_SPAWN_FAILED);
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_SUSPENDED);
    JZX_EXPECT(jzx__schedule_metrics_of(&rig->s).driver == NULL);
    rig_destroy(rig);
    JZX_EXPECT_EQ(driver.stops, 0);
}

JZX_TEST(when_a_driver_stops_its_fallback_takes_over_and_without_one_jobs_are_refused) {
    struct rig *rig = rig_make_small((config){0});
    struct test_driver drivers[2] = {{.error = JZX__DRIVER_OK}, {.error = JZX__DRIVER_OK}};
    struct jzx__driver first = driver_of(&drivers[0], "first");
    struct jzx__driver second = driver_of(&drivers[1], "second");
    jzx__job_id job = rig_once(rig, 5);
    JZX_EXPECT_EQ(jzx__schedule_start(&rig->s, &first, &second), JZX__DRIVER_OK);
    jzx__schedule_driver_stopped(&rig->s, JZX__DRIVER_STOPPED);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_DRIVER_STOPPED).error, JZX__DRIVER_STOPPED);
    JZX_EXPECT_EQ(strcmp(jzx__schedule_metrics_of(&rig->s).driver, "second"), 0);
    JZX_EXPECT_EQ(drivers[1].starts, 1);
    jzx__schedule_driver_stopped(&rig->s, JZX__DRIVER_STOPPED);
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_STALLED);
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 5, 0);
    struct jzx__schedule_result result = jzx__schedule_add(&rig->s, &request);
    JZX_EXPECT_EQ(result.status, JZX__SCHEDULE_BACKPRESSURED);
    JZX_EXPECT_EQ(result.reason, JZX__BP_BY_DRIVER);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_SCHEDULED); /* what is there stays */
    announce(rig, 1);                                       /* somebody ticks again */
    run_all(rig);
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_OK);
    JZX_EXPECT_EQ(rig_try(rig, request), JZX__SCHEDULE_OK);
    rig_destroy(rig);
}

/* ---- real time ---- */

static struct rig *make_real(struct test_driver *driver, config c) {
    c.profile = JZX__PROFILE_TINY;
    struct rig *rig = rig_make_with_clock(c, JZX__CLOCK_REALTIME_HOST);
    struct jzx__driver table = driver_of(driver, "host");
    JZX_EXPECT_EQ(jzx__schedule_start(&rig->s, &table, NULL), JZX__DRIVER_OK);
    return rig;
}

JZX_TEST(a_driver_that_announces_nothing_although_jobs_are_due_has_stalled) {
    struct test_driver driver = {.error = JZX__DRIVER_OK};
    struct rig *rig = make_real(&driver, (config){.stalled_after_ticks = 10});
    rig->clock.now_ns = 500 * (uint64_t)TICK_NS; /* no job waits: sleeping is fine */
    (void)jzx__schedule_run(&rig->s);
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_OK);
    announce(rig, 500);
    run_all(rig);
    announce(rig, 1);
    run_all(rig);
    rig_once(rig, 5);
    rig->clock.now_ns = 510 * (uint64_t)TICK_NS;
    (void)jzx__schedule_run(&rig->s);
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_OK);
    rig->clock.now_ns = 512 * (uint64_t)TICK_NS;
    (void)jzx__schedule_run(&rig->s);
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_STALLED);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_DRIVER_STATUS).state, JZX__DRIVER_STATUS_STALLED);
    announce(rig, 11);
    run_all(rig);
    JZX_EXPECT(rig->s.runner.status != JZX__DRIVER_STATUS_STALLED);
    JZX_EXPECT_EQ(rig->count, 1);
    JZX_EXPECT_EQ(rig->s.tick, 512); /* within a tick of the clock */
    rig_destroy(rig);
}

static uint64_t jitter(void *ctx) {
    (void)ctx;
    return 300000;
}

JZX_TEST(a_late_tick_is_reported_beyond_the_budget_and_the_jitter_of_the_driver) {
    struct test_driver driver = {.error = JZX__DRIVER_OK};
    struct rig *rig = make_real(&driver, (config){0});
    rig_rate(rig, 1, 1);
    rig->clock.now_ns = (uint64_t)TICK_NS + 500000;
    announce(rig, 1);
    run_all(rig);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DRIFT_EXCEEDED), 0);
    rig->clock.now_ns = 2 * (uint64_t)TICK_NS + 800000;
    announce(rig, 1);
    run_all(rig);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DRIFT_EXCEEDED), 1);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_DRIFT_EXCEEDED).value, 800000);
    rig->s.driver.jitter_ns = jitter;
    rig->clock.now_ns = 3 * (uint64_t)TICK_NS + 800000;
    announce(rig, 1);
    run_all(rig);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DRIFT_EXCEEDED), 1);
    rig_destroy(rig);
}

JZX_TEST(a_catch_up_reports_its_drift_once, "B17") {
    struct test_driver driver = {.error = JZX__DRIVER_OK};
    struct rig *rig = make_real(&driver, (config){0});
    rig_rate(rig, 1, 1);
    rig->clock.now_ns = 1000 * (uint64_t)TICK_NS;
    announce(rig, 1000);
    while (jzx__schedule_run(&rig->s).has_more) {
        if (rig->s.runner.owed > 5)
            JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DRIFT_EXCEEDED), 1);
    }
    JZX_EXPECT_EQ(rig->count, 1000);
    JZX_EXPECT(rig->s.drift.exceeded >= 999);
    JZX_EXPECT_EQ(rig->s.drift.worst_ns, 999 * (uint64_t)TICK_NS);
    rig_destroy(rig);
}

JZX_TEST(a_deterministic_clock_that_is_off_is_reported_at_once) {
    struct rig *rig = rig_make_small((config){0});
    rig_rate(rig, 1, 1);
    rig->clock.now_ns = 5 * (uint64_t)TICK_NS + 1; /* somebody else moved it */
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_DRIFT_EXCEEDED), 1);
    rig_destroy(rig);
}

JZX_TEST(every_second_of_ticks_tells_how_many_there_were, "B+driver") {
    struct test_driver driver = {.error = JZX__DRIVER_OK};
    struct rig *rig = make_real(&driver, (config){0});
    for (unsigned i = 1; i <= 100; i++) { /* 20 % slow: 12 ms for a tick of 10 */
        rig->clock.now_ns = i * (uint64_t)12000000;
        announce(rig, 1);
        run_all(rig);
    }
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_TICK_METRICS), 1);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_TICK_METRICS).value, 83);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).ticks_per_second, 83);
    rig_destroy(rig);
}

JZX_TEST(the_time_in_ticks_follows_the_clock_with_its_resolution, "B8") {
    struct rig *rig = rig_make_small((config){0});
    rig->clock.now_ns = 7 * (uint64_t)TICK_NS + 1;
    JZX_EXPECT_EQ(jzx__schedule_now(&rig->s).ticks, 7);
    JZX_EXPECT_EQ(jzx__schedule_now(&rig->s).resolution_ns, TICK_NS);
    jzx__manual_clock_advance_to(&rig->clock, 5); /* never backwards */
    JZX_EXPECT_EQ(rig->clock.now_ns, 7 * (uint64_t)TICK_NS + 1);
    rig_destroy(rig);
}
