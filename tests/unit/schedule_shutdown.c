/* SPDX-License-Identifier: MIT */
/* The end of a scheduler: flush, close tasks, drain; and memory that is taken in advance. */
#include "schedule/core/region.h"
#include "schedule_rig.h"

#include <stdlib.h>

typedef struct jzx__schedule_config config;

/* What happened, in order. */
static char trace[64];

static void note(char what) {
    size_t length = strlen(trace);
    if (length + 1 < sizeof trace)
        trace[length] = what;
}

static struct rig *make(void) {
    memset(trace, 0, sizeof trace);
    return rig_make_small((config){0}); /* room for eight close tasks */
}

static int32_t task(void *ctx) {
    note(*(const char *)ctx);
    return *(const char *)ctx == 'x' ? -3 : 0;
}

static uint64_t on_close(struct rig *rig, const char *name, enum jzx__close_priority priority) {
    uint64_t id = 0;
    union {
        const char *in;
        void *out;
    } ctx = {name};
    JZX_EXPECT_EQ(jzx__schedule_register_on_close(&rig->s, task, ctx.out, priority, &id),
                  JZX__SCHEDULE_OK);
    return id;
}

static int32_t run_and_note(void *ctx, const struct jzx__delivery_order *order) {
    struct rig *rig = ctx;
    rig->inline_runs++;
    note((char)(uintptr_t)order->payload);
    return 0;
}

static jzx__job_id function(struct rig *rig, int64_t delay_ticks, char name) {
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, delay_ticks, 0);
    request.is_function = true;
    request.payload = (void *)(uintptr_t)name;
    return rig_add(rig, request);
}

JZX_TEST(a_shutdown_flushes_runs_close_tasks_and_drains_in_this_order, "B92", "B26") {
    struct rig *rig = make();
    rig->s.ops.run_inline = run_and_note;
    jzx__job_id flushed = function(rig, 2, 'f');
    jzx__job_id drained_late = function(rig, 900, 'p');
    jzx__job_id drained_soon = function(rig, 50, 'q');
    jzx__job_id message_due = rig_once(rig, 2);
    jzx__job_id message = rig_rate(rig, 50, 50);
    on_close(rig, "u", JZX__CLOSE_USER);
    on_close(rig, "c", JZX__CLOSE_SYSTEM_CRITICAL);
    on_close(rig, "r", JZX__CLOSE_RUNTIME);
    JZX_EXPECT(jzx__tick_source_notify(&rig->s.source, 3));
    struct jzx__shutdown_summary summary = jzx__schedule_shutdown(&rig->s);
    JZX_EXPECT_EQ(strcmp(trace, "fcrupq"), 0); /* the drained ones in order of registration */
    JZX_EXPECT_EQ(summary.flushed_ticks, 3);
    JZX_EXPECT_EQ(summary.tasks_succeeded, 3);
    JZX_EXPECT_EQ(summary.tasks_failed, 0);
    JZX_EXPECT_EQ(summary.jobs_run, 2);
    JZX_EXPECT_EQ(summary.jobs_cancelled, 1);
    JZX_EXPECT_EQ(rig->s.tick, 3);
    JZX_EXPECT_EQ(rig->count, 0); /* nothing new in a mailbox */
    JZX_EXPECT_EQ(rig_state(rig, flushed), JZX__JOB_COMPLETED);
    JZX_EXPECT_EQ(rig_state(rig, drained_late), JZX__JOB_COMPLETED);
    JZX_EXPECT_EQ(rig_state(rig, drained_soon), JZX__JOB_COMPLETED);
    JZX_EXPECT_EQ(rig_state(rig, message_due), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_state(rig, message), JZX__JOB_CANCELLED);
    JZX_EXPECT_EQ(rig->released, 5);
    JZX_EXPECT_EQ(rig->s.runner.status, JZX__DRIVER_STATUS_SUSPENDED);
    rig_destroy(rig);
}

/* The third job has the record of one that was cancelled, before those of the others. */
JZX_TEST(drained_jobs_run_in_the_order_of_registration_whatever_their_records, "B92") {
    memset(trace, 0, sizeof trace);
    struct rig *rig = rig_make_small((config){.capacity = {.system_quota = 3}});
    rig->s.ops.run_inline = run_and_note;
    jzx__job_id gone = function(rig, 5, 'x');
    function(rig, 700, 'a');
    function(rig, 5, 'b');
    (void)jzx__schedule_cancel(&rig->s, gone);
    function(rig, 6, 'c');
    JZX_EXPECT_EQ(jzx__schedule_shutdown(&rig->s).jobs_run, 3);
    JZX_EXPECT_EQ(strcmp(trace, "abc"), 0);
    rig_destroy(rig);
}

JZX_TEST(a_second_shutdown_does_nothing_and_has_an_empty_summary) {
    struct rig *rig = make();
    on_close(rig, "u", JZX__CLOSE_USER);
    rig_once(rig, 5);
    (void)jzx__schedule_shutdown(&rig->s);
    struct jzx__shutdown_summary summary = jzx__schedule_shutdown(&rig->s);
    JZX_EXPECT_EQ(summary.tasks_succeeded + summary.jobs_cancelled + summary.flushed_ticks, 0);
    JZX_EXPECT_EQ(strcmp(trace, "u"), 0);
    rig_destroy(rig);
}

JZX_TEST(after_a_shutdown_nothing_is_let_in) {
    struct rig *rig = make();
    (void)jzx__schedule_shutdown(&rig->s);
    uint64_t id = 77;
    for (int mode = JZX__JOB_ONE_SHOT; mode <= JZX__JOB_FIXED_DELAY; mode++) {
        struct jzx__schedule_request request = rig_request((enum jzx__job_mode)mode, 1, 1);
        JZX_EXPECT_EQ(rig_try(rig, request), JZX__SCHEDULE_SHUTDOWN);
        JZX_EXPECT_EQ(jzx__schedule_submit(&rig->s, &request).status, JZX__SCHEDULE_SHUTDOWN);
    }
    JZX_EXPECT_EQ(jzx__schedule_register_on_close(&rig->s, task, NULL, JZX__CLOSE_USER, &id),
                  JZX__SCHEDULE_SHUTDOWN);
    JZX_EXPECT_EQ(id, 77);
    JZX_EXPECT(!jzx__schedule_advance(&rig->s, 1));
    JZX_EXPECT_EQ(jzx__schedule_run(&rig->s).ticks, 0);
    JZX_EXPECT(!jzx__tick_source_notify(&rig->s.source, 1));
    rig_destroy(rig);
}

static struct rig *the_rig;

static int32_t schedule_in_a_close_task(void *ctx) {
    (void)ctx;
    JZX_EXPECT_EQ(rig_try(the_rig, rig_request(JZX__JOB_ONE_SHOT, 1, 0)), JZX__SCHEDULE_SHUTDOWN);
    uint64_t id;
    JZX_EXPECT_EQ(jzx__schedule_register_on_close(&the_rig->s, task, NULL, JZX__CLOSE_USER, &id),
                  JZX__SCHEDULE_SHUTDOWN);
    JZX_EXPECT(!jzx__schedule_cancel_on_close(&the_rig->s, 1));
    note('s');
    return 0;
}

JZX_TEST(a_close_task_cannot_start_anything_new) {
    struct rig *rig = the_rig = make();
    uint64_t id;
    on_close(rig, "u", JZX__CLOSE_USER);
    JZX_EXPECT_EQ(jzx__schedule_register_on_close(&rig->s, schedule_in_a_close_task, NULL,
                                                  JZX__CLOSE_SYSTEM_CRITICAL, &id),
                  JZX__SCHEDULE_OK);
    (void)jzx__schedule_shutdown(&rig->s);
    JZX_EXPECT_EQ(strcmp(trace, "su"), 0);
    rig_destroy(rig);
}

static jzx__job_id to_cancel;

/* As a thread that is not the owner: the record goes by the queue. */
static int32_t cancel_one(void *ctx) {
    struct rig *rig = ctx;
    JZX_EXPECT(jzx__schedule_cancel_elsewhere(&rig->s, to_cancel));
    return 0;
}

JZX_TEST(a_job_that_a_close_task_cancels_is_gone_when_the_shutdown_is_over, "B92") {
    struct rig *rig = make();
    uint64_t task = 0;
    to_cancel = rig_once(rig, 5);
    JZX_EXPECT_EQ(jzx__schedule_register_on_close(&rig->s, cancel_one, rig, JZX__CLOSE_USER, &task),
                  JZX__SCHEDULE_OK);
    struct jzx__shutdown_summary summary = jzx__schedule_shutdown(&rig->s);
    JZX_EXPECT_EQ(summary.jobs_cancelled, 0); /* by the task, not by the shutdown */
    JZX_EXPECT_EQ(rig->released, 1);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).active_total, 0);
    JZX_EXPECT_EQ(rig_state(rig, to_cancel), JZX__JOB_CANCELLED);
    rig_destroy(rig);
}

JZX_TEST(a_failing_close_task_is_reported_and_the_others_run) {
    struct rig *rig = make();
    on_close(rig, "a", JZX__CLOSE_USER);
    uint64_t failing = on_close(rig, "x", JZX__CLOSE_USER);
    on_close(rig, "b", JZX__CLOSE_USER);
    struct jzx__shutdown_summary summary = jzx__schedule_shutdown(&rig->s);
    JZX_EXPECT_EQ(strcmp(trace, "axb"), 0);
    JZX_EXPECT_EQ(summary.tasks_succeeded, 2);
    JZX_EXPECT_EQ(summary.tasks_failed, 1);
    JZX_EXPECT_EQ(rig_told(rig, JZX__EVENT_TASK_RUN_FAILED), 1);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_TASK_RUN_FAILED).job, failing);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_TASK_RUN_FAILED).error, -3);
    struct jzx__schedule_metrics metrics = jzx__schedule_metrics_of(&rig->s);
    JZX_EXPECT_EQ(metrics.task_run_on_close_total, 3);
    JZX_EXPECT_EQ(metrics.task_run_on_close_failures, 1);
    rig_destroy(rig);
}

static int32_t take_time(void *ctx) {
    ((struct jzx__manual_clock *)ctx)->now_ns += 12345;
    return 0;
}

JZX_TEST(the_time_of_close_tasks_is_measured, "B96") {
    struct rig *rig = make();
    uint64_t id;
    for (unsigned i = 0; i < 2; i++)
        JZX_EXPECT_EQ(
            jzx__schedule_register_on_close(&rig->s, take_time, &rig->clock, JZX__CLOSE_USER, &id),
            JZX__SCHEDULE_OK);
    (void)jzx__schedule_shutdown(&rig->s);
    JZX_EXPECT_EQ(jzx__schedule_metrics_of(&rig->s).task_run_on_close_duration_ns, 2 * 12345);
    rig_destroy(rig);
}

JZX_TEST(close_tasks_are_refused_when_their_room_is_full_and_can_be_cancelled) {
    struct rig *rig = make();
    uint64_t first = on_close(rig, "a", JZX__CLOSE_USER);
    for (unsigned i = 1; i < 8; i++)
        on_close(rig, "b", JZX__CLOSE_USER);
    uint64_t id = 0;
    JZX_EXPECT_EQ(jzx__schedule_register_on_close(&rig->s, task, NULL, JZX__CLOSE_USER, &id),
                  JZX__SCHEDULE_TASK_RUN_CAPACITY_EXCEEDED);
    JZX_EXPECT(jzx__schedule_cancel_on_close(&rig->s, first));
    JZX_EXPECT(!jzx__schedule_cancel_on_close(&rig->s, first));
    on_close(rig, "c", JZX__CLOSE_SYSTEM_CRITICAL);
    JZX_EXPECT_EQ(jzx__schedule_shutdown(&rig->s).tasks_succeeded, 8);
    JZX_EXPECT_EQ(strcmp(trace, "cbbbbbbb"), 0);
    rig_destroy(rig);
}

JZX_TEST(a_function_job_that_fails_in_a_shutdown_is_reported) {
    struct rig *rig = make();
    rig->error = 9;
    jzx__job_id job = function(rig, 5, 'f');
    JZX_EXPECT_EQ(jzx__schedule_shutdown(&rig->s).jobs_run, 1);
    JZX_EXPECT_EQ(rig_last(rig, JZX__EVENT_HANDLER_FAILED).job, job);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_CANCELLED);
    rig_destroy(rig);
}

JZX_TEST(a_periodic_function_job_runs_once_in_a_shutdown_and_not_again) {
    struct rig *rig = make();
    struct jzx__schedule_request request = rig_request(JZX__JOB_FIXED_DELAY, 5, 5);
    request.is_function = true;
    jzx__job_id job = rig_add(rig, request);
    (void)jzx__schedule_shutdown(&rig->s);
    JZX_EXPECT_EQ(rig->inline_runs, 1);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_CANCELLED);
    rig_destroy(rig);
}

/* A submit that was let in before the shutdown and reached the queue after it. */
JZX_TEST(a_command_that_comes_too_late_is_cancelled_and_its_payload_released) {
    struct rig *rig = make();
    struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 1, 0);
    jzx__job_id job = jzx__schedule_submit(&rig->s, &request).job;
    struct jzx__mpsc_node *late = jzx__mpsc_take_all(&rig->s.commands);
    (void)jzx__schedule_shutdown(&rig->s);
    jzx__mpsc_push(&rig->s.commands, late);
    JZX_EXPECT_EQ(rig_state(rig, job), JZX__JOB_SCHEDULED);
    rig_destroy(rig);
    JZX_EXPECT_EQ(rig->released, 1);
}

JZX_TEST(runs_in_flight_end_after_the_shutdown_and_are_not_repeated, "R3.AC3", "X27") {
    struct rig *rig = make();
    rig->holds_back = true;
    jzx__job_id once = rig_once(rig, 1);
    jzx__job_id again = rig_rate(rig, 1, 1);
    jzx__job_id left = rig_once(rig, 1);
    rig_advance(rig, 1);
    JZX_EXPECT_EQ(jzx__schedule_shutdown(&rig->s).jobs_cancelled, 1);
    JZX_EXPECT_EQ(rig_state(rig, again), JZX__JOB_CANCELLED);
    JZX_EXPECT(jzx__schedule_complete(&rig->s, again, 0, 0));
    JZX_EXPECT(jzx__schedule_complete(&rig->s, once, 0, 0));
    JZX_EXPECT_EQ(rig_state(rig, once), JZX__JOB_COMPLETED);
    JZX_EXPECT_EQ(rig_state(rig, left), JZX__JOB_EXECUTING);
    JZX_EXPECT_EQ(rig->released, 2);
    rig_destroy(rig);
    JZX_EXPECT_EQ(rig->released, 3); /* the rest is released with the scheduler */
}

/* ---- memory ---- */

JZX_TEST(a_scheduler_takes_its_memory_when_it_is_made_and_none_later) {
    uint64_t before = fixture_allocations();
    struct rig *rig = rig_make((config){.log_capacity = 100});
    uint64_t allocations = fixture_allocations();
    JZX_EXPECT_EQ(allocations - before, 1); /* one block, with that of the timer */
    fixture_fail_allocations(0, UINT64_MAX);
    for (unsigned i = 0; i < 3000; i++) {
        struct jzx__schedule_request request = rig_request(JZX__JOB_ONE_SHOT, 1 + i, 0);
        if (i % 3 == 0)
            request = rig_request(JZX__JOB_FIXED_RATE, 2000000 + i, 1500000);
        (void)rig_try(rig, request);
    }
    rig_advance(rig, 10000000);
    fixture_fail_allocations(0, 0);
    JZX_EXPECT_EQ(fixture_allocations(), allocations);
    JZX_EXPECT(rig->count > 3000);
    rig_destroy(rig);
}

JZX_TEST(without_memory_there_is_no_scheduler_and_nothing_is_left_behind) {
    static struct jzx__schedule s;
    jzx_allocator allocator = fixture_allocator();
    struct jzx__manual_clock clock = {0};
    struct jzx__schedule_config resolved;
    JZX_EXPECT_EQ(jzx__schedule_resolve(&(config){0}, &resolved).error, JZX__CONFIG_OK);
    fixture_fail_allocations(0, UINT64_MAX);
    JZX_EXPECT(!jzx__schedule_init(&s, &resolved, (struct jzx__schedule_ops){.ctx = NULL},
                                   jzx__manual_clock_table(&clock), &allocator));
    fixture_fail_allocations(0, 0);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(a_region_of_the_computed_size_holds_a_scheduler_and_a_smaller_one_does_not, "B43") {
    static struct rig rig;
    struct jzx__schedule_config resolved;
    config c = {.profile = JZX__PROFILE_CUSTOM,
                .capacity = {100, 10, 4},
                .diagnostics_queue_capacity = 8,
                .log_capacity = 33,
                .shape = {{64, 16, 16}},
                .timer = fixture_has_heap_timer() ? &jzx__tick_heap : NULL,
                .test_mode = true};
    JZX_EXPECT_EQ(jzx__schedule_resolve(&c, &resolved).error, JZX__CONFIG_OK);
    size_t bytes = jzx__schedule_bytes(&resolved);
    void *memory = malloc(bytes);
    struct jzx__tick_clock clock = jzx__manual_clock_table(&rig.clock);
    struct jzx__region region = {memory, bytes - 1, 0};
    rig.allocator = jzx__region_allocator(&region);
    JZX_EXPECT(!jzx__schedule_init(&rig.s, &resolved, rig_ops(&rig), clock, &rig.allocator));
    region = (struct jzx__region){memory, bytes, 0};
    JZX_EXPECT(jzx__schedule_init(&rig.s, &resolved, rig_ops(&rig), clock, &rig.allocator));
    JZX_EXPECT_EQ(region.used, bytes);
    for (unsigned i = 0; i < 100; i++)
        rig_once(&rig, 1 + i);
    JZX_EXPECT_EQ(rig_try(&rig, rig_request(JZX__JOB_ONE_SHOT, 1, 0)),
                  JZX__SCHEDULE_QUOTA_EXCEEDED);
    rig_advance(&rig, 100);
    JZX_EXPECT_EQ(rig.count, 100);
    (void)jzx__schedule_shutdown(&rig.s);
    jzx__schedule_deinit(&rig.s);
    free(memory);
}
