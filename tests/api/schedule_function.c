/* SPDX-License-Identifier: MIT */
/* Function jobs of the scheduler API, and the dispatchers that run them. */
#include "scheduling.h"

static struct rig rig;

static const jzx_dispatcher dispatchers[] = {{"io", JZX_PRIORITY_LOW, JZX_PLACE_ANY},
                                             {"urgent", JZX_PRIORITY_DEFAULT, JZX_PLACE_ANY}};

#define WITH_DISPATCHERS(...)                                                                      \
    (&JZX_SCHEDULE_CONFIG(.dispatchers = dispatchers, .dispatcher_size = sizeof dispatchers[0],    \
                          .dispatcher_count = 2, .log_capacity = 64, __VA_ARGS__))

static jzx_job_id once_fn(int64_t delay_ns) {
    jzx_job_id job = JZX_NO_JOB;
    JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, delay_ns, NULL, &job, call_down, &rig.notes),
                  JZX_OK);
    return job;
}

JZX_TEST(a_function_runs_once_with_its_batch, "B55", "B63") {
    rig_open(&rig, NULL);
    jzx_job_id job = once_fn(TICKS(3));
    rig_pass(&rig, 2);
    JZX_EXPECT_EQ(rig.notes.count, 0);
    rig_pass(&rig, 5);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    rig_expect_note(&rig, 0, 3, 0);
    rig_expect_batch(&rig, 0, 1, 0, JZX_JOB_ONE_SHOT);
    rig_expect_state(&rig, job, JZX_JOB_COMPLETED);
    rig_close(&rig);
}

JZX_TEST(functions_repeat_at_a_rate_and_with_a_delay, "B55", "B66", "B69") {
    jzx_job_id rate;
    jzx_job_id delay;
    static struct notes slow;
    rig_open(&rig, NULL);
    slow = (struct notes){
        .loop = rig.loop, .clock = rig.clock, .takes_ns = TICKS(2), .slow = UINT32_MAX};
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate_fn(rig.loop, TICKS(1), TICKS(2), NULL, &rate,
                                                call_down, &rig.notes),
                  JZX_OK);
    rig_pass(&rig, 9);
    JZX_EXPECT_EQ(rig.notes.count, 5); /* 1, 3, 5, 7, 9 */
    for (uint32_t i = 0; i < 5; i++)
        rig_expect_note(&rig, i, 1 + 2 * i, 0);
    JZX_EXPECT(jzx_job_cancel(rig.loop, rate));
    JZX_EXPECT_EQ(jzx_schedule_with_fixed_delay_fn(rig.loop, TICKS(1), TICKS(3), NULL, &delay,
                                                   call_down, &slow),
                  JZX_OK);
    rig_pass(&rig, 4); /* at 10, for 2 ticks; then 3 ticks later, at 15 */
    JZX_EXPECT_EQ(slow.count, 2);
    JZX_EXPECT_EQ(slow.list[0].at_ns, TICKS(10));
    JZX_EXPECT_EQ(slow.list[1].at_ns, TICKS(15));
    rig_close(&rig);
}

JZX_TEST(a_function_that_fails_ends_its_job_and_is_told_with_error_and_batch, "B71", "B+tests") {
    struct jzx_schedule_event told;
    jzx_job_id job;
    rig_open(&rig, NULL);
    rig.notes.answer = JZX_ERR_FULL;
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate_fn(rig.loop, TICK_NS, TICK_NS, NULL, &job, call_down,
                                                &rig.notes),
                  JZX_OK);
    rig_pass(&rig, 5);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    rig_expect_state(&rig, job, JZX_JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_HANDLER_FAILED, &told), 1);
    JZX_EXPECT_EQ(told.job, job);
    JZX_EXPECT_EQ(told.error, JZX_ERR_FULL);
    JZX_EXPECT_EQ(told.batch.runs, 1);
    JZX_EXPECT_EQ(told.batch.mode, JZX_JOB_FIXED_RATE);
    rig_close(&rig);
}

/* It has had its only run, and is Cancelled all the same, not Completed. */
JZX_TEST(a_function_that_fails_in_its_only_run_is_cancelled_and_told, "B71") {
    struct jzx_schedule_event told;
    rig_open(&rig, NULL);
    rig.notes.answer = JZX_ERR_FULL;
    jzx_job_id job = once_fn(TICK_NS);
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    rig_expect_state(&rig, job, JZX_JOB_CANCELLED);
    JZX_EXPECT(jzx_job_is_cancelled(rig.loop, job));
    JZX_EXPECT(!jzx_job_is_completed(rig.loop, job));
    JZX_EXPECT_EQ(rig_told(&rig, JZX_SCHEDULE_EVENT_HANDLER_FAILED, &told), 1);
    JZX_EXPECT_EQ(told.job, job);
    JZX_EXPECT_EQ(told.error, JZX_ERR_FULL);
    JZX_EXPECT_EQ(told.batch.runs, 1);
    JZX_EXPECT_EQ(told.batch.mode, JZX_JOB_ONE_SHOT);
    rig_close(&rig);
}

/* The actor that runs the functions is made with the first of them. */
JZX_TEST(without_room_for_its_actor_a_function_is_refused_and_a_message_is_not, "B61", "B+tests") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .max_actors = 1));
    jzx_actor_id to =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = write_down, .state = &rig.notes));
    jzx_job_id job = 99;
    JZX_EXPECT_EQ(jzx_schedule_once_fn(loop, TICK_NS, NULL, &job, call_down, &rig.notes),
                  JZX_ERR_MAX_ACTORS);
    JZX_EXPECT_EQ(job, 99);
    JZX_EXPECT_EQ(jzx_schedule_once(loop, TICK_NS, to, JZX_NOBODY, NULL, 0, 1, &job), JZX_OK);
    JZX_EXPECT(jzx_job_cancel(loop, job));
    fixture_destroy(loop);
}

/* ---- priority ---- */

static uint32_t order[4];
static uint32_t order_count;

static jzx_behavior_result put_in_order(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    jzx_test_ran();
    order[order_count++] = msg->tag;
    return JZX_BEHAVIOR_OK;
}

static jzx_err function_in_order(void *ctx, const jzx_batch *batch) {
    (void)ctx;
    (void)batch;
    order[order_count++] = 0;
    return JZX_OK;
}

JZX_TEST(a_function_runs_as_a_critical_task_before_what_was_ready_earlier, "E49", "X26") {
    order_count = 0;
    rig_open(&rig, NULL);
    jzx_actor_id normal = fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = put_in_order));
    JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, TICK_NS, NULL, NULL, function_in_order, NULL),
                  JZX_OK);
    rig_step(&rig);
    JZX_EXPECT_EQ(jzx_clock_advance(rig.clock, (uint64_t)TICK_NS), JZX_OK);
    fixture_send(rig.loop, normal, 1); /* ready before the tick is run */
    rig_step(&rig);
    JZX_EXPECT_EQ(order_count, 2);
    JZX_EXPECT_EQ(order[0], 0);
    JZX_EXPECT_EQ(order[1], 1);
    rig_close(&rig);
}

static jzx_priority priority_seen;

static jzx_err look_at_priority(void *ctx, const jzx_batch *batch) {
    jzx_actor_info info = {.size = sizeof info};
    (void)batch;
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx, jzx_current_actor(), &info), JZX_OK);
    jzx_test_ran();
    priority_seen = info.priority;
    return JZX_OK;
}

JZX_TEST(a_dispatcher_says_how_urgent_its_functions_are, "X23", "B57", "E49", "X26") {
    static const struct {
        const char *name;
        jzx_priority priority;
    } cases[] = {
        {NULL, JZX_PRIORITY_CRITICAL}, {"io", JZX_PRIORITY_LOW}, {"urgent", JZX_PRIORITY_CRITICAL}};
    rig_open(&rig, WITH_DISPATCHERS());
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t number = 99;
        JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, TICK_NS,
                                           &JZX_SCHEDULE_OPTS(.dispatcher = cases[i].name), NULL,
                                           look_at_priority, rig.loop),
                      JZX_OK);
        rig_pass(&rig, 1);
        JZX_EXPECT_EQ(jzx_test_runs(), i + 1);
        JZX_EXPECT_EQ(priority_seen, cases[i].priority);
        JZX_EXPECT_EQ(jzx_schedule_dispatcher(rig.loop, cases[i].name, &number), JZX_OK);
        JZX_EXPECT_EQ(number, i);
    }
    uint32_t untouched = 99;
    JZX_EXPECT_EQ(jzx_schedule_dispatcher(rig.loop, "nobody", &untouched), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(untouched, 99);
    rig_close(&rig);
}

/* ---- which dispatcher ---- */

static jzx_err schedule_next(void *ctx, const jzx_batch *batch) {
    (void)batch;
    jzx_test_ran();
    return jzx_schedule_once_fn(rig.loop, TICK_NS, NULL, NULL, call_down, ctx);
}

static uint32_t executor_of_last_fire(void) {
    jzx_schedule_record records[64];
    size_t count = jzx_schedule_log(rig.loop, records, sizeof records[0], 64);
    uint32_t executor = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        if (records[i].kind == JZX_SCHEDULE_LOG_FIRE)
            executor = records[i].executor;
    }
    return executor;
}

JZX_TEST(a_job_without_a_dispatcher_gets_that_of_the_caller_or_the_default, "B56", "B100") {
    rig_open(&rig, WITH_DISPATCHERS());
    rig_once(&rig, 1, TICK_NS);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(executor_of_last_fire(), 0);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, &JZX_SCHEDULE_OPTS(.dispatcher = "urgent")), JZX_OK);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(executor_of_last_fire(), 2);
    JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, TICK_NS, &JZX_SCHEDULE_OPTS(.dispatcher = "io"),
                                       NULL, schedule_next, &rig.notes),
                  JZX_OK);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(executor_of_last_fire(), 1);
    once_fn(TICK_NS); /* of this thread, beside the one that the function has scheduled */
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig.notes.count, 4);
    jzx_schedule_record last[2];
    JZX_EXPECT_EQ(jzx_schedule_log(rig.loop, last, sizeof last[0], 2), 2);
    JZX_EXPECT_EQ(last[0].executor, 1); /* inherited */
    JZX_EXPECT_EQ(last[1].executor, 0);
    rig_close(&rig);
}

/* ---- a runner that ends ---- */

static jzx_err kill_runner(void *ctx, const jzx_batch *batch) {
    (void)batch;
    jzx_test_ran();
    return jzx_actor_stop(ctx, jzx_current_actor(), JZX_STOP_KILL);
}

JZX_TEST(functions_go_on_when_the_actor_that_runs_them_was_killed) {
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(jzx_schedule_once_fn(rig.loop, TICK_NS, NULL, NULL, kill_runner, rig.loop),
                  JZX_OK);
    jzx_job_id late = once_fn(TICKS(1)); /* dies in the mailbox of that actor */
    jzx_job_id job = JZX_NO_JOB;
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate_fn(rig.loop, TICKS(2), TICKS(1), NULL, &job, call_down,
                                                &rig.notes),
                  JZX_OK);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    rig_expect_state(&rig, late, JZX_JOB_CANCELLED);
    rig_pass(&rig, 5);
    JZX_EXPECT(rig.notes.count >= 4);
    rig_expect_state(&rig, job, JZX_JOB_SCHEDULED);
    rig_close(&rig);
}

JZX_TEST(a_function_job_does_not_keep_the_loop_running) {
    rig_open(&rig, NULL);
    once_fn(TICKS(1000));
    JZX_EXPECT_EQ(jzx_actor_stop(rig.loop, rig.to, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(rig.loop), JZX_OK);
    JZX_EXPECT_EQ(rig.notes.count, 0);
    rig_close(&rig); /* the end of the loop runs it */
    JZX_EXPECT_EQ(rig.notes.count, 1);
}
