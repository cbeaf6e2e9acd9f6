/* SPDX-License-Identifier: MIT */
/* The end of a scheduler: close tasks, jobs that are drained, and what is refused afterwards. */
#include "scheduling.h"

#include <jzx/future.h>
#include <jzx/timer.h>

static struct rig rig;

static char steps[32];
static uint32_t step_count;

/* Something writable that begins with the letter: the ctx of a callback. */
static void *named(char letter) {
    static char names[128];
    names[(unsigned char)letter] = letter;
    return &names[(unsigned char)letter];
}

static void add_step(char step) {
    if (JZX_EXPECT(step_count < sizeof steps - 1))
        steps[step_count++] = step;
    steps[step_count] = '\0';
}

static int32_t close_task(void *ctx) {
    const char *name = ctx;
    jzx_test_ran();
    add_step(name[0]);
    return name[0] == 'F' ? -77 : 0;
}

static int32_t close_nothing(void *ctx) {
    (void)ctx;
    return 0;
}

static jzx_err inline_run(void *ctx, const jzx_batch *batch) {
    const char *name = ctx;
    jzx_test_ran();
    JZX_EXPECT_EQ(batch->runs, 1);
    add_step(name[0]);
    return JZX_OK;
}

static uint64_t on_close(jzx_close_priority priority, char letter) {
    uint64_t task = 0;
    JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, priority, &task, close_task, named(letter)),
                  JZX_OK);
    JZX_EXPECT(task != 0);
    return task;
}

static jzx_shutdown_summary shut_down(void) {
    jzx_shutdown_summary summary = {.size = sizeof summary};
    JZX_EXPECT_EQ(jzx_schedule_shutdown(rig.loop, &summary), JZX_OK);
    return summary;
}

JZX_TEST(a_shutdown_runs_close_tasks_then_functions_and_cancels_messages, "B92", "B93", "B94",
         "B95", "B96", "R3.AC3", "R3.AC6", "B+tests") {
    struct jzx_schedule_event told;
    step_count = 0;
    rig_open(&rig, NULL);
    jzx_job_id function;
    jzx_job_id periodic;
    jzx_job_id message = rig_once(&rig, 1, TICKS(4));
    JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, TICKS(9), NULL, &function, inline_run, named('x')),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate_fn(rig.loop, TICKS(5), TICKS(5), NULL, &periodic,
                                                inline_run, named('y')),
                  JZX_OK);
    on_close(JZX_CLOSE_USER, 'u');
    on_close(JZX_CLOSE_RUNTIME, 'r');
    uint64_t failing = on_close(JZX_CLOSE_SYSTEM_CRITICAL, 'F');
    on_close(JZX_CLOSE_SYSTEM_CRITICAL, 's');
    on_close(JZX_CLOSE_USER, 'v');
    uint64_t gone = on_close(JZX_CLOSE_USER, 'g');
    JZX_EXPECT(jzx_schedule_cancel_on_close(rig.loop, gone));
    JZX_EXPECT(!jzx_schedule_cancel_on_close(rig.loop, gone));
    rig_pass(&rig, 1);
    jzx_shutdown_summary summary = shut_down();
    JZX_EXPECT(strcmp(steps, "Fsruvxy") == 0);
    JZX_EXPECT_EQ(summary.tasks_succeeded, JZX_SCHEDULE_OWN_TASKS + 4);
    JZX_EXPECT_EQ(summary.tasks_failed, 1);
    JZX_EXPECT_EQ(summary.jobs_run, 2);
    JZX_EXPECT_EQ(summary.jobs_cancelled, 1);
    rig_expect_state(&rig, message, JZX_JOB_CANCELLED);
    rig_expect_state(&rig, function, JZX_JOB_COMPLETED);
    rig_expect_state(&rig, periodic, JZX_JOB_CANCELLED);
    rig_pass(&rig, 20);
    JZX_EXPECT_EQ(rig.notes.count, 0); /* nothing new came to a mailbox */
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_TASK_RUN_FAILED, &told), 1);
    JZX_EXPECT_EQ(told.job, failing);
    JZX_EXPECT_EQ(told.error, -77);
    jzx_schedule_metrics metrics = rig_metrics(&rig);
    JZX_EXPECT_EQ(metrics.task_run_on_close_total, JZX_SCHEDULE_OWN_TASKS + 5);
    JZX_EXPECT_EQ(metrics.task_run_on_close_failures, 1);
    JZX_EXPECT_EQ(metrics.active_total, 0);
    rig_close(&rig);
    JZX_EXPECT_EQ(step_count, 7); /* the end of the loop finds nothing to do */
}

JZX_TEST(after_a_shutdown_everything_is_refused_and_a_second_one_is_empty, "B98", "R3.AC7", "B94",
         "B61", "B+rules", "B+tests") {
    uint64_t task = 99;
    rig_open(&rig, NULL);
    rig_once(&rig, 1, TICKS(4));
    JZX_EXPECT_EQ(shut_down().jobs_cancelled, 1);
    jzx_shutdown_summary again = shut_down();
    JZX_EXPECT_EQ(again.jobs_cancelled + again.tasks_succeeded + again.flushed_ticks, 0);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_ERR_SHUTDOWN);
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICK_NS, rig.to, JZX_NOBODY, NULL,
                                             0, 1, NULL),
                  JZX_ERR_SHUTDOWN);
    JZX_EXPECT_EQ(jzx_schedule_with_fixed_delay(rig.loop, TICK_NS, TICK_NS, rig.to, JZX_NOBODY,
                                                NULL, 0, 1, NULL),
                  JZX_ERR_SHUTDOWN);
    JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, TICK_NS, NULL, NULL, call_down, &rig.notes),
                  JZX_ERR_SHUTDOWN);
    JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, JZX_CLOSE_USER, &task, close_task, named('u')),
                  JZX_ERR_SHUTDOWN);
    JZX_EXPECT_EQ(task, 99);
    JZX_EXPECT(!jzx_schedule_cancel_on_close(rig.loop, 1));
    JZX_EXPECT_EQ(
        jzx_schedule_add_probe(rig.loop, "x", JZX_PROBE_RUNTIME, (jzx_probe_fn)NULL, NULL),
        JZX_ERR_INVALID_ARG);
    rig_close(&rig);
}

JZX_TEST(close_tasks_beyond_the_capacity_are_refused_at_once, "B94", "B61", "B+tests", "B+rules") {
    step_count = 0;
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.profile = JZX_SCHEDULE_CUSTOM, .task_run_capacity = 2));
    uint64_t first = on_close(JZX_CLOSE_USER, 'a');
    on_close(JZX_CLOSE_USER, 'b');
    JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, JZX_CLOSE_USER, NULL, close_task, named('c')),
                  JZX_ERR_FULL);
    JZX_EXPECT(jzx_schedule_cancel_on_close(rig.loop, first));
    on_close(JZX_CLOSE_USER, 'd');
    JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, JZX_CLOSE_USER, NULL, NULL, NULL),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(
        jzx_schedule_on_close(rig.loop, (jzx_close_priority)4, NULL, close_task, named('c')),
        JZX_ERR_INVALID_ARG);
    rig_close(&rig);
    JZX_EXPECT(strcmp(steps, "bd") == 0);
}

JZX_TEST(the_end_of_a_loop_shuts_its_scheduler_down, "R3.AC3", "R3.AC6", "B92") {
    step_count = 0;
    rig_open(&rig, NULL);
    on_close(JZX_CLOSE_USER, 'u');
    JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, TICKS(9), NULL, NULL, inline_run, named('x')),
                  JZX_OK);
    rig_once(&rig, 1, TICKS(9));
    JZX_EXPECT_EQ(jzx_loop_request_stop(rig.loop), JZX_OK);
    JZX_EXPECT_EQ(step_count, 0);
    JZX_EXPECT_EQ(jzx_loop_run(rig.loop), JZX_OK);
    JZX_EXPECT(strcmp(steps, "ux") == 0);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_ERR_LOOP_CLOSED);
    rig_close(&rig);
    JZX_EXPECT_EQ(step_count, 2);
}

static jzx_err refused[3];

static int32_t call_during_close(void *ctx) {
    jzx_schedule_metrics metrics = {.size = sizeof metrics};
    (void)ctx;
    jzx_test_ran();
    refused[0] = rig_try_once(&rig, TICK_NS, NULL);
    refused[1] = jzx_schedule_metrics_get(rig.loop, &metrics);
    refused[2] = jzx_schedule_shutdown(rig.loop, NULL);
    return 0;
}

JZX_TEST(a_close_task_may_call_the_scheduler_and_is_refused, "B98", "B+tests") {
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, JZX_CLOSE_RUNTIME, NULL, call_during_close, NULL),
                  JZX_OK);
    (void)shut_down();
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(refused[0], JZX_ERR_SHUTDOWN);
    JZX_EXPECT_EQ(refused[1], JZX_ERR_BUSY);
    JZX_EXPECT_EQ(refused[2], JZX_ERR_BUSY);
    rig_close(&rig);
}

/* ---- memory ---- */

static int32_t do_nothing(void *ctx) {
    (void)ctx;
    return 0;
}

static bool use_everything(void) {
    jzx_job_id job = JZX_NO_JOB;
    char data[100] = {0};
    jzx_err errs[5];
    errs[0] = jzx_schedule_once(rig.loop, TICK_NS, rig.to, JZX_NOBODY, data, 8, 1, NULL);
    errs[1] = jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICK_NS, rig.to, JZX_NOBODY, data,
                                         sizeof data, 1, &job);
    errs[2] = jzx_schedule_once_fn(rig.loop, TICK_NS, NULL, NULL, call_down, &rig.notes);
    errs[3] = jzx_schedule_dump_to(rig.loop, rig.to, 5);
    errs[4] = jzx_schedule_on_shutdown(rig.loop, do_nothing, NULL);
    bool is_ok = true;
    for (uint32_t i = 0; i < 5; i++) {
        JZX_EXPECT(errs[i] == JZX_OK || errs[i] == JZX_ERR_NO_MEMORY);
        is_ok = is_ok && errs[i] == JZX_OK;
    }
    return is_ok;
}

JZX_TEST(without_memory_calls_fail_and_leave_nothing_behind, "B+tests") {
    bool is_over = false;
    for (uint64_t after = 0; after < 64 && !is_over; after++) {
        rig_open(&rig, NULL);
        fixture_fail_allocations(after, UINT64_MAX);
        is_over = use_everything();
        rig_pass(&rig, 2); /* firing needs none */
        fixture_fail_allocations(UINT64_MAX, UINT64_MAX);
        JZX_EXPECT(use_everything());
        rig_pass(&rig, 1);
        JZX_EXPECT(rig.notes.count > 0);
        rig_close(&rig);
    }
    JZX_EXPECT(is_over);
}

JZX_TEST(a_loop_with_a_scheduler_needs_memory_to_start, "B42", "B43") {
    jzx_loop *loop = NULL;
    uint64_t after = 0;
    for (; after < 256 && loop == NULL; after++) {
        fixture_fail_allocations(after, UINT64_MAX);
        loop = fixture_loop_with(
            &JZX_CONFIG(.workers = 1,
                        .schedule = &JZX_SCHEDULE_CONFIG(.profile = JZX_SCHEDULE_TINY)));
        fixture_fail_allocations(UINT64_MAX, UINT64_MAX);
    }
    JZX_EXPECT(after > 3);
    assert_non_null(loop);
    fixture_destroy(loop);
}

/* ---- the tasks of the library itself ---- */

enum { START = 1, SHUT_DOWN, BY_KEY, PLAIN };

static jzx_future *waiting;
static uint32_t plain_came;

static uint64_t timers_pending(void) {
    jzx_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_loop_stats(rig.loop, &stats), JZX_OK);
    return stats.timers_set - stats.timers_ended;
}

/* Its letter, 'd' if delays are over, 't' if the timers by key are stopped. */
static int32_t look_around(void *ctx) {
    const char *name = ctx;
    jzx_test_ran();
    add_step(name[0]);
    if (jzx_future_is_ready(waiting))
        add_step('d');
    if (timers_pending() == 1)
        add_step('t');
    return name[0] == 'H' ? -78 : 0;
}

static jzx_behavior_result keep_timers(jzx_context *ctx, const jzx_message *msg) {
    switch (msg->tag) {
    case START:
        jzx_test_ran();
        JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, BY_KEY, JZX_MS(20)), JZX_OK);
        JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 2, NULL, 0, BY_KEY, JZX_MS(20), JZX_FIXED_RATE),
                      JZX_OK);
        JZX_EXPECT_EQ(
            jzx_send_after(ctx->loop, ctx->self, JZX_NOBODY, NULL, 0, PLAIN, JZX_MS(50), NULL),
            JZX_OK);
        break;
    case SHUT_DOWN:
        jzx_test_ran();
        JZX_EXPECT_EQ(shut_down().tasks_failed, 1);
        JZX_EXPECT(!jzx_timer_is_active(ctx, 1));
        JZX_EXPECT(!jzx_timer_is_active(ctx, 2));
        break;
    case PLAIN: plain_came++; break;
    default: JZX_EXPECT(false); break; /* a timer by key */
    }
    return JZX_BEHAVIOR_OK;
}

static void look_on_close(jzx_close_priority priority, char letter) {
    JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, priority, NULL, look_around, named(letter)),
                  JZX_OK);
}

static void hook_up(char letter) {
    JZX_EXPECT_EQ(jzx_schedule_on_shutdown(rig.loop, look_around, named(letter)), JZX_OK);
}

static void send_to(jzx_actor_id to, uint32_t tag) {
    JZX_EXPECT_EQ(jzx_send(rig.loop, to, JZX_NOBODY, NULL, 0, tag), JZX_OK);
    rig_step(&rig);
}

JZX_TEST(a_shutdown_ends_delays_then_timers_by_key_then_calls_hooks, "B97", "B93", "B95") {
    struct jzx_schedule_event told;
    step_count = plain_came = 0;
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.profile = JZX_SCHEDULE_TINY));
    look_on_close(JZX_CLOSE_USER, 'u');
    look_on_close(JZX_CLOSE_RUNTIME, 'r');
    look_on_close(JZX_CLOSE_SYSTEM_CRITICAL, 's');
    hook_up('H');
    hook_up('k');
    JZX_EXPECT_EQ(jzx_schedule_delay_async(rig.loop, TICKS(9), &waiting), JZX_OK);
    jzx_actor_id keeper = fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = keep_timers));
    send_to(keeper, START);
    JZX_EXPECT_EQ(timers_pending(), 3);
    JZX_EXPECT(!jzx_future_is_ready(waiting));
    send_to(keeper, SHUT_DOWN);
    /* delays, s, timers, r, hooks H and k, u */
    assert_string_equal(steps, "sdrdtHdtkdtudt");
    JZX_EXPECT_EQ(jzx_future_state(waiting), JZX_FUTURE_RESOLVED);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_TASK_RUN_FAILED, &told), 1);
    JZX_EXPECT_EQ(told.error, -78); /* of the task of all hooks */
    JZX_EXPECT_EQ(told.job, JZX_SCHEDULE_OWN_TASKS);
    rig_pass(&rig, 10);
    JZX_EXPECT_EQ(plain_came, 1); /* only those by key belong to it */
    jzx_future_release(waiting);
    rig_close(&rig);
}

/* The same with other priorities of the library's tasks: timers, s, hooks H and k, r, delays, u. */
JZX_TEST(a_policy_of_the_configuration_gives_the_tasks_of_the_library_other_priorities, "B94",
         "B97", "B93") {
    static const jzx_task_run_policy policy = {.size = sizeof policy,
                                               .delays = JZX_CLOSE_USER,
                                               .remoting = JZX_CLOSE_USER,
                                               .actor_timers = JZX_CLOSE_SYSTEM_CRITICAL,
                                               .user_hooks = JZX_CLOSE_RUNTIME};
    step_count = plain_came = 0;
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.task_run_policy = &policy));
    look_on_close(JZX_CLOSE_DEFAULT, 'u'); /* USER */
    look_on_close(JZX_CLOSE_RUNTIME, 'r');
    look_on_close(JZX_CLOSE_SYSTEM_CRITICAL, 's');
    hook_up('H');
    hook_up('k');
    JZX_EXPECT_EQ(jzx_schedule_delay_async(rig.loop, TICKS(9), &waiting), JZX_OK);
    jzx_actor_id keeper = fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = keep_timers));
    send_to(keeper, START);
    send_to(keeper, SHUT_DOWN);
    assert_string_equal(steps, "stHtktrtudt");
    jzx_future_release(waiting);
    rig_close(&rig);
}

JZX_TEST(a_policy_of_the_configuration_bounds_the_close_tasks, "B94") {
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.profile = JZX_SCHEDULE_TINY,
                                        .task_run_policy = &(jzx_task_run_policy){
                                            .size = sizeof(jzx_task_run_policy), .capacity = 2}));
    on_close(JZX_CLOSE_USER, 'a');
    on_close(JZX_CLOSE_USER, 'b');
    JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, JZX_CLOSE_USER, NULL, close_task, named('c')),
                  JZX_ERR_FULL);
    rig_close(&rig);
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.profile = JZX_SCHEDULE_TINY));
    for (uint32_t i = 0; i < 129; i++) /* without one it is the profile's */
        JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, JZX_CLOSE_USER, NULL, close_nothing, NULL),
                      i < 128 ? JZX_OK : JZX_ERR_FULL);
    rig_close(&rig);
}

JZX_TEST(a_wrong_policy_for_close_tasks_is_named) {
    static const jzx_task_run_policy wrong[] = {
        {.size = 0},
        {.size = sizeof wrong[0] + 8},
        {.size = sizeof wrong[0], .capacity = 1025},
        {.size = sizeof wrong[0], .delays = (jzx_close_priority)4},
        {.size = sizeof wrong[0], .remoting = (jzx_close_priority)4},
        {.size = sizeof wrong[0], .actor_timers = (jzx_close_priority)4},
        {.size = sizeof wrong[0], .user_hooks = (jzx_close_priority)4}};
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *field = NULL;
        JZX_EXPECT_EQ(
            jzx_schedule_config_check(&JZX_SCHEDULE_CONFIG(.task_run_policy = &wrong[i]), &field),
            JZX_ERR_INVALID_ARG);
        JZX_EXPECT(field != NULL && strcmp(field, "schedule.task_run_policy") == 0);
    }
}

JZX_TEST(the_tasks_of_the_library_take_no_room_and_cannot_be_cancelled, "B97", "B94") {
    uint64_t task = 0;
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.profile = JZX_SCHEDULE_CUSTOM, .task_run_capacity = 1));
    for (uint64_t own = 1; own <= JZX_SCHEDULE_OWN_TASKS; own++)
        JZX_EXPECT(!jzx_schedule_cancel_on_close(rig.loop, own));
    JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, JZX_CLOSE_USER, &task, close_task, named('a')),
                  JZX_OK);
    JZX_EXPECT_EQ(task, JZX_SCHEDULE_OWN_TASKS + 1);
    JZX_EXPECT_EQ(jzx_schedule_on_close(rig.loop, JZX_CLOSE_USER, NULL, close_task, named('b')),
                  JZX_ERR_FULL);
    step_count = 0;
    JZX_EXPECT_EQ(shut_down().tasks_succeeded, JZX_SCHEDULE_OWN_TASKS + 1);
    rig_close(&rig);
}

JZX_TEST(hooks_are_called_at_the_end_of_the_loop_and_refused_afterwards, "B97") {
    step_count = 0;
    waiting = NULL;
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(jzx_schedule_on_shutdown(rig.loop, NULL, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_on_shutdown(NULL, close_task, named('a')), JZX_ERR_INVALID_ARG);
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_schedule_on_shutdown(rig.loop, close_task, named((char)('a' + (char)i))),
                      JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_request_stop(rig.loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(rig.loop), JZX_OK);
    assert_string_equal(steps, "abc");
    JZX_EXPECT_EQ(jzx_schedule_on_shutdown(rig.loop, close_task, named('d')), JZX_ERR_SHUTDOWN);
    rig_close(&rig);
    JZX_EXPECT_EQ(step_count, 3);
}
