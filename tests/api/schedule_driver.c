/* SPDX-License-Identifier: MIT */
/* Drivers and clocks of the scheduler API: worker 0, ticks by hand, drivers of the program's own,
 * their backlog and their end. */
#include "scheduling.h"

static struct rig rig;

/* ---- worker 0 ---- */

JZX_TEST(the_automatic_driver_wakes_for_nothing_while_no_job_is_pending, "X31", "X12", "B+driver") {
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(jzx_loop_next_deadline(rig.loop), JZX_NEVER);
    jzx_job_id job = rig_once(&rig, 1, TICKS(1000000));
    rig_step(&rig);
    JZX_EXPECT(jzx_loop_next_deadline(rig.loop) > (uint64_t)TICKS(1)); /* not at every tick */
    JZX_EXPECT(jzx_job_cancel(rig.loop, job));
    rig_leap(&rig, TICKS(2000000));
    JZX_EXPECT_EQ(jzx_loop_next_deadline(rig.loop), JZX_NEVER);
    jzx_schedule_metrics metrics = rig_metrics(&rig);
    JZX_EXPECT(strcmp(metrics.driver, "automatic") == 0); /* recorded in the metadata */
    JZX_EXPECT_EQ(metrics.driver_status, JZX_DRIVER_STATUS_OK);
    rig_close(&rig);
}

JZX_TEST(ticks_that_passed_while_nothing_was_due_are_counted_and_no_backlog, "B24", "X20", "X31") {
    rig_open(&rig, NULL);
    rig_once(&rig, 1, TICK_NS);
    rig_pass(&rig, 1);
    rig_leap(&rig, TICKS(10000000));
    rig_once(&rig, 2, TICK_NS);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig.notes.count, 2);
    jzx_schedule_metrics metrics = rig_metrics(&rig);
    JZX_EXPECT_EQ(metrics.ticks_total, 10000002);
    JZX_EXPECT_EQ(metrics.tick_backlog, 0);
    JZX_EXPECT_EQ(metrics.tick_overflow_events, 0);
    JZX_EXPECT_EQ(metrics.pressure, JZX_PRESSURE_NORMAL);
    rig_close(&rig);
}

/* The clock is moved over 100 periods at once: nobody's fault, so nothing is missed. */
JZX_TEST(a_leap_of_a_manual_clock_folds_runs_and_misses_none, "B37", "R2.AC5", "B17", "R5.AC1") {
    rig_open(&rig, NULL);
    jzx_job_id job = rig_rate(&rig, 1, TICKS(1), TICKS(1));
    rig_leap(&rig, TICKS(100));
    JZX_EXPECT_EQ(rig.notes.count, 1);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig.notes.count, 2);
    rig_expect_batch(&rig, 1, 100, 0, JZX_JOB_FIXED_RATE);
    rig_expect_state(&rig, job, JZX_JOB_SCHEDULED);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_BURST_FIRE, NULL), 1);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DRIFT_EXCEEDED, NULL), 0);
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_NORMAL);
    rig_close(&rig);
}

/* ---- by hand ---- */

#define BY_HAND(...)                                                                               \
    (&JZX_SCHEDULE_CONFIG(.test_mode = true, .driver_kind = JZX_DRIVER_MANUAL, __VA_ARGS__))

JZX_TEST(ticks_by_hand_move_the_clock_and_deliver, "B13", "B25", "B105", "R5.AC1", "B2", "B3",
         "B+driver") {
    jzx_batch last;
    rig_open(&rig, BY_HAND());
    JZX_EXPECT_EQ(jzx_schedule_last_batch(rig.loop, &last), JZX_ERR_INVALID_ARG);
    rig_rate(&rig, 1, TICKS(2), TICKS(1));
    JZX_EXPECT_EQ(jzx_schedule_advance(rig.loop, 1), JZX_OK);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig.notes.count, 0);
    JZX_EXPECT_EQ(jzx_clock_now(rig.clock), TICKS(1));
    JZX_EXPECT_EQ(jzx_schedule_advance(rig.loop, 5), JZX_OK); /* the receiver has no turn */
    JZX_EXPECT_EQ(jzx_schedule_now(rig.loop), 6);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT_EQ(jzx_schedule_advance(rig.loop, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_last_batch(rig.loop, &last), JZX_OK);
    JZX_EXPECT_EQ(last.runs, 5);
    JZX_EXPECT_EQ(last.missed_runs, 4);
    rig_step(&rig);
    rig_expect_batch(&rig, 1, 5, 4, JZX_JOB_FIXED_RATE);
    JZX_EXPECT_EQ(rig_metrics(&rig).ticks_total, 7);
    JZX_EXPECT(strcmp(rig_metrics(&rig).driver, "manual") == 0);
    rig_close(&rig);
}

/* One call goes far beyond the window of catching up, and runs every tick. */
JZX_TEST(a_thousand_ticks_by_hand_run_in_one_call, "R5.AC1") {
    rig_open(&rig, BY_HAND());
    jzx_job_id near = rig_once(&rig, 1, TICKS(2));
    jzx_job_id far = rig_once(&rig, 2, TICKS(700));
    jzx_job_id later = rig_once(&rig, 3, TICKS(1001));
    JZX_EXPECT_EQ(jzx_schedule_advance(rig.loop, 1000), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_now(rig.loop), 1000);
    JZX_EXPECT_EQ(jzx_clock_now(rig.clock), TICKS(1000));
    JZX_EXPECT_EQ(rig_metrics(&rig).ticks_total, 1000);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig.notes.count, 2);
    rig_expect_state(&rig, near, JZX_JOB_COMPLETED);
    rig_expect_state(&rig, far, JZX_JOB_COMPLETED);
    rig_expect_state(&rig, later, JZX_JOB_SCHEDULED);
    rig_close(&rig);
}

JZX_TEST(only_a_manual_driver_can_be_advanced_by_hand, "B+driver") {
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(jzx_schedule_advance(rig.loop, 1), JZX_ERR_UNSUPPORTED);
    JZX_EXPECT_EQ(jzx_schedule_advance(NULL, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(!jzx_schedule_notify(rig.loop, 1));
    rig_close(&rig);
}

/* ---- of the program ---- */

struct own_driver {
    jzx_tick_source *source;
    uint32_t resolution_ns;
    uint32_t stops;
    uint64_t jitter_ns;
    jzx_driver_error error;
    uint64_t now_ns;
};

static jzx_driver_error start_own(void *ctx, jzx_tick_source *source, uint32_t resolution_ns) {
    struct own_driver *own = ctx;
    own->source = source;
    own->resolution_ns = resolution_ns;
    return own->error;
}

static void stop_own(void *ctx) {
    ((struct own_driver *)ctx)->stops++;
}

static uint64_t jitter_of_own(void *ctx) {
    return ((struct own_driver *)ctx)->jitter_ns;
}

static uint64_t now_of_own(void *ctx) {
    return ((struct own_driver *)ctx)->now_ns;
}

static struct own_driver own;

static const jzx_tick_driver own_driver = {"own", &own, start_own, stop_own, jitter_of_own};
static const jzx_tick_clock own_clock = {JZX_TICK_CLOCK_REALTIME_HARDWARE, now_of_own, &own};

/* A driver and a clock of the program's own. */
#define OWN(...)                                                                                   \
    (&JZX_SCHEDULE_CONFIG(.driver_kind = JZX_DRIVER_FOREIGN, .driver = &own_driver, __VA_ARGS__))

static void open_own(const jzx_schedule_config *config) {
    own = (struct own_driver){0};
    rig_open(&rig, config);
}

/* So many ticks have passed, and are announced in one go; worker 0 looks. */
static void announce(uint32_t ticks, bool is_clock_moved) {
    own.now_ns += is_clock_moved ? (uint64_t)TICKS(ticks) : 0;
    JZX_EXPECT(jzx_tick_notify(own.source, ticks));
    rig_leap(&rig, TICK_NS);
}

JZX_TEST(a_driver_of_the_program_announces_the_ticks_and_is_stopped, "B2", "B21", "B26", "B27",
         "R2.AC3", "B+driver") {
    jzx_shutdown_summary summary = {.size = sizeof summary};
    open_own(OWN(.clock = &own_clock));
    JZX_EXPECT_EQ(own.resolution_ns, 10000000);
    rig_once(&rig, 1, TICKS(3));
    rig_leap(&rig, TICKS(100)); /* the time of the loop does not count */
    JZX_EXPECT_EQ(rig.notes.count, 0);
    announce(2, true);
    JZX_EXPECT_EQ(rig.notes.count, 0);
    announce(1, true);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT_EQ(jzx_schedule_now(rig.loop), 3);
    jzx_job_id late = rig_once(&rig, 2, TICKS(2));
    own.now_ns += (uint64_t)TICKS(3);
    JZX_EXPECT(jzx_tick_notify(own.source, 3));
    JZX_EXPECT_EQ(jzx_schedule_shutdown(rig.loop, &summary), JZX_OK);
    JZX_EXPECT_EQ(summary.flushed_ticks, 3);
    JZX_EXPECT_EQ(own.stops, 1);
    JZX_EXPECT(!jzx_tick_notify(own.source, 1)); /* blocked */
    JZX_EXPECT_EQ(rig_metrics(&rig).driver_status, JZX_DRIVER_STATUS_SUSPENDED);
    rig_step(&rig);
    rig_expect_state(&rig, late, JZX_JOB_CANCELLED);
    rig_close(&rig);
    JZX_EXPECT_EQ(own.stops, 1);
}

JZX_TEST(the_end_of_a_loop_stops_its_driver_once, "B26") {
    open_own(OWN(.clock = &own_clock));
    rig_once(&rig, 1, TICKS(3));
    announce(1, true);
    JZX_EXPECT_EQ(own.stops, 0);
    rig_close(&rig);
    JZX_EXPECT_EQ(own.stops, 1);
}

JZX_TEST(a_driver_that_does_not_start_aborts_the_start_of_the_loop, "B+driver", "B+tests") {
    for (int error = JZX_DRIVER_SPAWN_FAILED; error <= JZX_DRIVER_INVALID_RESOLUTION; error++) {
        own = (struct own_driver){.error = (jzx_driver_error)error};
        JZX_EXPECT(fixture_loop_with(&JZX_CONFIG(.workers = 1, .schedule = OWN(),
                                                 .log = {.level = JZX_LOG_OFF})) == NULL);
        JZX_EXPECT(own.source != NULL);
        JZX_EXPECT_EQ(own.stops, 0);
    }
}

JZX_TEST(a_backlog_of_the_driver_is_made_up_for_without_a_lost_tick, "B23", "B24", "B29", "B30",
         "B32", "B33", "B37", "B27", "B107") {
    struct jzx_schedule_event told;
    open_own(OWN(.clock = &own_clock));
    rig_rate(&rig, 1, TICKS(1), TICKS(1));
    announce(1, true);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    announce(5, true); /* a window: a catch-up, but no overload */
    JZX_EXPECT_EQ(rig_metrics(&rig).driver_status, JZX_DRIVER_STATUS_OK);
    JZX_EXPECT_EQ(rig_metrics(&rig).drift_compensations, 5);
    JZX_EXPECT_EQ(rig_metrics(&rig).catch_ups, 1);
    announce(4, true); /* 0.8 windows: none */
    JZX_EXPECT_EQ(rig_metrics(&rig).catch_ups, 1);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_BACKPRESSURE_STATE, NULL), 0);
    own.now_ns += (uint64_t)TICKS(8);
    JZX_EXPECT(jzx_tick_notify(own.source, 8)); /* more than a window */
    rig_leap(&rig, TICK_NS);
    jzx_schedule_metrics metrics = rig_metrics(&rig);
    JZX_EXPECT_EQ(metrics.tick_backlog_peak, 8);
    JZX_EXPECT(metrics.catch_ups >= 2);
    JZX_EXPECT(metrics.tick_overflow_events >= 1);
    JZX_EXPECT(rig_told(&rig, JZX_SCHEDULE_EVENT_DRIVER_STATUS, NULL) >= 2); /* and back */
    JZX_EXPECT(rig_told(&rig, JZX_SCHEDULE_EVENT_BACKPRESSURE_STATE, &told) >= 2);
    JZX_EXPECT_EQ(told.reason, JZX_PRESSURE_BY_DRIVER);
    announce(1, true);
    announce(1, true);
    metrics = rig_metrics(&rig);
    JZX_EXPECT_EQ(metrics.driver_status, JZX_DRIVER_STATUS_OK);
    JZX_EXPECT_EQ(metrics.pressure, JZX_PRESSURE_NORMAL);
    JZX_EXPECT_EQ(metrics.ticks_total, 20); /* none was lost */
    JZX_EXPECT_EQ(metrics.tick_backlog, 0);
    uint32_t runs = 0;
    for (uint32_t i = 0; i < rig.notes.count; i++) {
        runs += rig.notes.list[i].batch.runs;
        JZX_EXPECT_EQ(rig.notes.list[i].batch.missed_runs, 0); /* never the driver's */
    }
    JZX_EXPECT_EQ(runs, 20);
    rig_close(&rig);
}

/* A bounded buffer would drop what is above its quota: here it is counted, and run. */
JZX_TEST(a_backlog_above_the_tick_buffer_is_counted_and_no_tick_is_dropped, "B24", "B+rules") {
    static const uint32_t quotas[] = {0, 40, 0};
    static const jzx_schedule_profile profiles[] = {JZX_SCHEDULE_DEFAULT, JZX_SCHEDULE_DEFAULT,
                                                    JZX_SCHEDULE_CUSTOM};
    static const uint32_t expected[] = {1280, 40, 32}; /* max(32, system_quota / 8) */
    for (uint32_t i = 0; i < 3; i++) {
        open_own(OWN(.clock = &own_clock, .tick_buffer_quota = quotas[i], .profile = profiles[i],
                     .system_quota = 64));
        rig_rate(&rig, 1, TICKS(1), TICKS(1));
        JZX_EXPECT_EQ(rig_metrics(&rig).tick_buffer_quota, expected[i]);
        announce(expected[i], true);
        JZX_EXPECT_EQ(rig_metrics(&rig).tick_buffer_overflows, 0);
        rig_pass(&rig, expected[i]); /* until all are made up for */
        announce(expected[i] + 1, true);
        rig_pass(&rig, expected[i]);
        jzx_schedule_metrics metrics = rig_metrics(&rig);
        JZX_EXPECT(metrics.tick_buffer_overflows >= 1);
        JZX_EXPECT_EQ(metrics.ticks_total, 2 * expected[i] + 1);
        JZX_EXPECT(rig.notes.count > 0);
        JZX_EXPECT_EQ(metrics.tick_backlog, 0);
        rig_close(&rig);
    }
}

JZX_TEST(a_driver_far_behind_twice_makes_the_scheduler_reject, "B31", "B88", "B+tests") {
    open_own(OWN(.clock = &own_clock));
    jzx_job_id job = rig_rate(&rig, 1, TICKS(1), TICKS(1));
    announce(1, true);
    own.now_ns += (uint64_t)TICKS(60);
    JZX_EXPECT(jzx_tick_notify(own.source, 60));
    bool has_rejected = false;
    for (uint32_t i = 0; i < 100 && !has_rejected; i++) {
        JZX_EXPECT_EQ(jzx_clock_advance(rig.clock, (uint64_t)TICK_NS), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_step(rig.loop, 0), JZX_OK);
        has_rejected = rig_try_once(&rig, TICK_NS, NULL) == JZX_ERR_BACKPRESSURED &&
                       rig_metrics(&rig).pressure == JZX_PRESSURE_REJECTING;
    }
    JZX_EXPECT(has_rejected);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DRIVER_CATCH_UP_EXCEEDED, NULL), 1);
    for (uint32_t i = 0; i < 10; i++)
        announce(1, true);
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_NORMAL);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_OK);
    JZX_EXPECT(rig.notes.count > 10);
    rig_expect_state(&rig, job, JZX_JOB_SCHEDULED); /* never dropped because of the driver */
    rig_close(&rig);
}

JZX_TEST(a_driver_that_announces_nothing_has_stalled_and_drops_no_job, "B27", "X27", "X3",
         "B+tests") {
    struct jzx_schedule_event told;
    open_own(OWN(.clock = &own_clock));
    jzx_job_id job = rig_once(&rig, 1, TICKS(3));
    own.now_ns = (uint64_t)TICKS(20);
    rig_leap(&rig, TICK_NS);
    JZX_EXPECT_EQ(rig_metrics(&rig).driver_status, JZX_DRIVER_STATUS_OK);
    own.now_ns = (uint64_t)TICKS(21); /* four windows without a tick */
    rig_leap(&rig, TICK_NS);
    JZX_EXPECT_EQ(rig_metrics(&rig).driver_status, JZX_DRIVER_STATUS_STALLED);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DRIVER_STATUS, &told), 1);
    JZX_EXPECT_EQ(told.state, JZX_DRIVER_STATUS_STALLED);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_ERR_BACKPRESSURED);
    rig_expect_state(&rig, job, JZX_JOB_SCHEDULED);
    announce(3, false);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).driver_status, JZX_DRIVER_STATUS_OK);
    rig_close(&rig);
}

JZX_TEST(drift_above_the_budget_is_told_and_the_drivers_jitter_is_not_drift, "B17", "R1.AC3",
         "B+tests", "B+driver") {
    struct jzx_schedule_event told;
    open_own(OWN(.clock = &own_clock));
    rig_rate(&rig, 1, TICKS(1), TICKS(1));
    own.now_ns = (uint64_t)TICKS(1) + 500000; /* the budget: 5 % of 10 ms */
    announce(1, false);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DRIFT_EXCEEDED, NULL), 0);
    own.now_ns = (uint64_t)TICKS(2) + 500001;
    announce(1, false);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DRIFT_EXCEEDED, &told), 1);
    JZX_EXPECT_EQ(told.value, 500001);
    own.jitter_ns = 400000;
    own.now_ns = (uint64_t)TICKS(3) + 900000;
    announce(1, false);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DRIFT_EXCEEDED, NULL), 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).drift_worst_ns, 500001);
    JZX_EXPECT_EQ(rig.notes.count, 3);
    rig_close(&rig);
}

JZX_TEST(the_automatic_driver_takes_over_from_one_that_stops, "B+driver", "B+tests") {
    struct jzx_schedule_event told;
    open_own(OWN());
    rig_rate(&rig, 1, TICKS(1), TICKS(1));
    announce(1, false);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT(strcmp(rig_metrics(&rig).driver, "own") == 0);
    JZX_EXPECT_EQ(jzx_schedule_driver_stopped(rig.loop, JZX_DRIVER_STOPPED), JZX_OK);
    rig_pass(&rig, 5);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_DRIVER_STOPPED, &told), 1);
    JZX_EXPECT_EQ(told.error, JZX_DRIVER_STOPPED);
    JZX_EXPECT(strcmp(rig_metrics(&rig).driver, "automatic") == 0);
    JZX_EXPECT(rig.notes.count >= 5);
    JZX_EXPECT_EQ(jzx_schedule_driver_stopped(rig.loop, JZX_DRIVER_STOPPED), JZX_ERR_INVALID_ARG);
    rig_close(&rig);
}

JZX_TEST(a_driver_of_the_library_does_not_stop_by_itself, "B+driver") {
    static const jzx_driver_kind kinds[] = {JZX_DRIVER_AUTOMATIC, JZX_DRIVER_THREAD};
    for (unsigned i = 0; i < 2; i++) {
        jzx_schedule_config config = JZX_SCHEDULE_CONFIG(.driver_kind = kinds[i]);
        jzx_schedule_metrics before = {.size = sizeof before};
        jzx_schedule_metrics after = {.size = sizeof after};
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.schedule = &config));
        assert_non_null(loop);
        JZX_EXPECT_EQ(jzx_schedule_metrics_get(loop, &before), JZX_OK);
        JZX_EXPECT_EQ(jzx_schedule_driver_stopped(loop, JZX_DRIVER_STOPPED), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_schedule_metrics_get(loop, &after), JZX_OK);
        JZX_EXPECT(before.driver != NULL && after.driver == before.driver);
        fixture_destroy(loop); /* which ends its thread, if it has one */
    }
}

JZX_TEST(without_a_driver_to_take_over_the_scheduler_has_stalled, "B+driver", "X27") {
    open_own(OWN(.clock = &own_clock));
    jzx_job_id job = rig_once(&rig, 1, TICKS(5));
    JZX_EXPECT_EQ(jzx_schedule_driver_stopped(rig.loop, JZX_DRIVER_DRIFT_EXCEEDED), JZX_OK);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig_metrics(&rig).driver_status, JZX_DRIVER_STATUS_STALLED);
    JZX_EXPECT(rig_metrics(&rig).driver == NULL);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_ERR_BACKPRESSURED);
    rig_expect_state(&rig, job, JZX_JOB_SCHEDULED);
    rig_close(&rig);
}

JZX_TEST(ticks_are_announced_without_a_driver_by_the_loop_itself, "B21", "B22", "B+driver") {
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.driver_kind = JZX_DRIVER_FOREIGN));
    rig_once(&rig, 1, TICKS(2));
    rig_leap(&rig, TICKS(1));
    JZX_EXPECT(jzx_schedule_notify(rig.loop, 1));
    rig_leap(&rig, TICKS(1));
    JZX_EXPECT_EQ(rig.notes.count, 0);
    JZX_EXPECT(jzx_schedule_notify(rig.loop, 1));
    rig_leap(&rig, TICKS(1));
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).ticks_total, 2);
    rig_close(&rig);
}

/* ---- rates ---- */

#define PACE_TICKS 100u
#define PACE_CALLS_MAX 3000u

/* The ticks of a thread beside those of its clock. */
struct pace {
    uint32_t subscriber;
    uint32_t calls;
    uint64_t first; /* by the clock, at the first call */
    bool is_found;
};

static jzx_behavior_result watch_pace(jzx_context *ctx, const jzx_message *msg) {
    struct pace *pace = ctx->state;
    struct jzx_schedule_event event;
    uint64_t tick = 0;
    (void)msg;
    jzx_test_ran();
    while (jzx_schedule_next_event(ctx->loop, pace->subscriber, &event, sizeof event))
        tick = event.tick;
    uint64_t now = jzx_schedule_now(ctx->loop);
    JZX_EXPECT(tick <= now + 1); /* ahead by the rounding of its start at most */
    uint64_t behind = tick < now ? now - tick : 0;
    if (pace->calls++ == 0)
        pace->first = now;
    uint64_t passed = now - pace->first;
    pace->is_found |= passed >= PACE_TICKS && behind * 20 <= passed;
    if (pace->is_found || pace->calls == PACE_CALLS_MAX)
        JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* However late it is at a moment, there is one at which it is behind by 5 % of the time at most. A
 * thread of another rate is further behind for ever, or ahead. */
JZX_TEST(a_thread_announces_as_many_ticks_as_its_clock_counts, "B+driver") {
    struct pace pace = {0};
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 1, .schedule = &JZX_SCHEDULE_CONFIG(.driver_kind = JZX_DRIVER_THREAD,
                                                                   .resolution_ns = 2000000)));
    assert_non_null(loop);
    JZX_EXPECT_EQ(jzx_schedule_subscribe(loop, JZX_SCHEDULE_KIND(FIRE), &pace.subscriber), JZX_OK);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = watch_pace, .state = &pace));
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate_with_options(
                      loop, 2000000, 2000000, id, JZX_NOBODY, NULL, 0, 1,
                      &JZX_SCHEDULE_OPTS(.backlog_limit = UINT32_MAX), NULL),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(pace.is_found);
    JZX_EXPECT(jzx_test_runs() > 0);
    fixture_destroy(loop);
}

JZX_TEST(every_second_of_ticks_is_told_with_its_rate, "B+driver", "B3") {
    struct jzx_schedule_event told;
    rig_open(&rig, NULL);
    rig_rate(&rig, 1, TICKS(1), TICKS(1));
    rig_pass(&rig, 100);
    JZX_EXPECT_EQ(rig.notes.count, 100);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_TICK_METRICS, &told), 1);
    JZX_EXPECT_EQ(told.value, 100);
    jzx_schedule_metrics metrics = rig_metrics(&rig);
    JZX_EXPECT_EQ(metrics.ticks_per_second, 100);
    JZX_EXPECT_EQ(metrics.enqueued_total, 100);
    JZX_EXPECT_EQ(metrics.catch_up_window_ticks, 5);
    rig_close(&rig);
}

JZX_TEST(the_window_is_rounded_up_to_whole_ticks, "B28", "B107") {
    static const uint32_t windows_ms[] = {10, 50, 100, 1, 15};
    static const uint32_t ticks[] = {1, 5, 10, 1, 2};
    for (uint32_t i = 0; i < 5; i++) {
        rig_open(&rig, &JZX_SCHEDULE_CONFIG(.catch_up_window_ns = JZX_MS(windows_ms[i])));
        JZX_EXPECT_EQ(rig_metrics(&rig).catch_up_window_ticks, ticks[i]);
        rig_close(&rig);
    }
}
