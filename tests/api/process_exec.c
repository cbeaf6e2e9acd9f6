/* SPDX-License-Identifier: MIT */
/* Exec: spawn a process and wait for its result; in each of the ways. And memory that is not
 * there. */
#include "processes.h"

#include <pthread.h>

/* Its result is its input and its method's length, when a message has come or at once. */
static jzx_err result_at_once(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    const uint64_t result[2] = {journal->input + 1, strlen(journal->method)};
    (void)ctx;
    return jzx_out_done(out, result, sizeof result);
}

static jzx_err fail_at_once(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx, (void)journal, (void)out;
    return JZX_ERR_BUSY;
}

static jzx_err exit_normally(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)journal, (void)out;
    jzx_exit(ctx, JZX_EXIT_NORMAL, NULL);
    return JZX_OK;
}

struct caller {
    struct life life; /* first */
    struct journal child;
    uint64_t result[2];
    size_t len;
    uint64_t deadline_ns;
};

static jzx_spawn_opts opts_of(struct caller *caller, const uint64_t *input) {
    return JZX_SPAWN_OPTS(.process = &journal_ops, .state = &caller->child, .method = "abc",
                          .input = input, .input_len = sizeof *input);
}

static void exec_in_fiber(jzx_context *ctx) {
    struct caller *caller = ctx->state;
    const uint64_t input = 41;
    const jzx_spawn_opts opts = opts_of(caller, &input);
    caller->life.begun++;
    caller->life.err =
        jzx_process_exec(ctx, &opts, caller->deadline_ns, caller->result, &caller->len);
    caller->life.finished++;
}

static struct timing open_with(struct caller *caller, plan_fn plan, size_t room) {
    struct timing timing = timing_open();
    *caller = (struct caller){.child = {.plan = plan}, .len = room, .deadline_ns = JZX_NEVER};
    register_held(timing.loop);
    timing_fiber(&timing, exec_in_fiber, &caller->life);
    return timing;
}

JZX_TEST(a_fiber_waits_for_the_result_of_a_process, "D20", "D+top") {
    struct caller caller;
    struct timing timing = open_with(&caller, result_at_once, sizeof caller.result);
    JZX_EXPECT_EQ(caller.life.finished, 1);
    JZX_EXPECT_EQ(caller.life.err, JZX_OK);
    JZX_EXPECT_EQ(caller.len, sizeof caller.result);
    JZX_EXPECT_EQ(caller.result[0], 42);
    JZX_EXPECT_EQ(caller.result[1], 3);
    JZX_EXPECT_EQ(caller.child.closes, 1);
    timing_close(&timing);
}

JZX_TEST(a_process_without_a_result_gives_an_error_that_says_why, "D+err", "D+top") {
    static const struct {
        plan_fn plan;
        size_t room;
        jzx_err err;
    } cases[] = {{fail_at_once, 16, JZX_ERR_BUSY},
                 {exit_normally, 16, JZX_ERR_CANCELLED},
                 {exit_normally, 0, JZX_ERR_CANCELLED},
                 {result_at_once, 15, JZX_ERR_FULL}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct caller caller;
        struct timing timing = open_with(&caller, cases[i].plan, cases[i].room);
        JZX_EXPECT_EQ(caller.life.finished, 1);
        JZX_EXPECT_EQ(caller.life.err, cases[i].err);
        JZX_EXPECT_EQ(caller.len, 0);
        JZX_EXPECT_EQ(caller.child.closes, 1);
        timing_close(&timing);
    }
}

static jzx_actor_id only_process(jzx_loop *loop) {
    jzx_process_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    JZX_EXPECT_EQ(jzx_process_next(loop, &cursor, &info), JZX_OK);
    return info.id;
}

JZX_TEST(a_killed_process_is_terminated_for_who_waits, "D+err") {
    struct caller caller;
    struct timing timing = open_with(&caller, NULL, 16);
    JZX_EXPECT_EQ(caller.life.finished, 0);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, only_process(timing.loop), JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(caller.life.finished, 1);
    JZX_EXPECT_EQ(caller.life.err, JZX_ERR_TERMINATED);
    timing_close(&timing);
}

JZX_TEST(an_exec_that_times_out_kills_its_process, "D+top") {
    struct caller caller = {.len = 16, .deadline_ns = JZX_MS(20)};
    struct timing timing = timing_open();
    timing_fiber(&timing, exec_in_fiber, &caller.life);
    timing_advance(&timing, JZX_MS(19));
    JZX_EXPECT_EQ(caller.child.closes, 0);
    timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(caller.life.finished, 1);
    JZX_EXPECT_EQ(caller.life.err, JZX_ERR_TIMEOUT);
    timing_step(&timing);
    JZX_EXPECT_EQ(caller.child.closes, 1);
    timing_close(&timing);
}

JZX_TEST(a_fiber_that_ends_in_an_exec_takes_its_process_along, "D+top") {
    struct caller caller = {.len = 16, .deadline_ns = JZX_NEVER};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_fiber(&timing, exec_in_fiber, &caller.life);
    JZX_EXPECT_EQ(caller.child.inits, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(caller.child.closes, 1);
    JZX_EXPECT_EQ(caller.life.finished, 0);
    timing_close(&timing);
}

/* ---- as a command ---- */

static jzx_err exec_by_command(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    const jzx_command_spawn arg = {.opts = (void *)(uintptr_t)journal->other};
    (void)ctx;
    return journal->steps == 1 ? jzx_out_yield(out, 4, JZX_COMMAND_EXEC, &arg, sizeof arg) : JZX_OK;
}

JZX_TEST(a_process_executes_another_by_a_command, "D17", "D+top", "D+reg") {
    const uint64_t input = 9;
    struct caller caller = {.child = {.plan = result_at_once}};
    const jzx_spawn_opts opts = opts_of(&caller, &input);
    struct journal journal = {.plan = exec_by_command, .other = (uintptr_t)&opts};
    struct timing timing = timing_open();
    journal_spawn(&timing, &journal);
    expect_completion(&journal, 0, 4, JZX_OK);
    JZX_EXPECT_EQ(journal.notes[0].value, 10);
    JZX_EXPECT_EQ(journal.notes[0].len, 16);
    JZX_EXPECT_EQ(caller.child.closes, 1);
    timing_close(&timing);
}

JZX_TEST(a_process_that_ends_takes_what_it_executes_along, "D19", "D+top") {
    const uint64_t input = 9;
    struct caller caller = {.child = {.plan = NULL}};
    const jzx_spawn_opts opts = opts_of(&caller, &input);
    struct journal journal = {.plan = exec_by_command, .other = (uintptr_t)&opts};
    struct timing timing = timing_open();
    jzx_actor_id id = journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(caller.child.inits, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.closes, 1);
    JZX_EXPECT_EQ(caller.child.closes, 1);
    timing_close(&timing);
}

/* ---- as a message ---- */

static void exec_to(jzx_context *ctx) {
    struct diary *diary = ctx->state;
    static struct caller caller;
    const uint64_t input = 5;
    caller = (struct caller){.child = {.plan = result_at_once}};
    const jzx_spawn_opts opts = opts_of(&caller, &input);
    (void)diary;
    JZX_EXPECT_EQ(jzx_process_exec_to(ctx, &opts, 16, 12, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_process_exec_to(ctx, &JZX_SPAWN_OPTS(.behavior = keep_diary), 16, 12, NULL),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_process_exec(ctx, &opts, JZX_NEVER, NULL, NULL), JZX_ERR_WOULD_SUSPEND);
}

static jzx_behavior_result read_result(jzx_context *ctx, const jzx_message *msg) {
    const jzx_result *result = msg->data;
    (void)ctx;
    JZX_EXPECT_EQ(msg->tag, 12);
    JZX_EXPECT_EQ(result->err, JZX_OK);
    if (JZX_EXPECT_EQ(result->len, 16))
        JZX_EXPECT_EQ(*(uint64_t *)jzx_result_data(result), 6);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_behaviour_gets_the_result_as_a_message, "D+top") {
    struct timing timing = timing_open();
    struct diary diary = {.then = read_result};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_do(&timing, id, exec_to);
    JZX_EXPECT_EQ(diary.count, 1);
    timing_close(&timing);
}

/* ---- threads ---- */

static void *exec_on_thread(void *arg) {
    jzx_loop *loop = arg;
    const uint64_t input = 1;
    static const struct {
        plan_fn plan;
        size_t room;
        uint64_t deadline_ns;
        jzx_err err;
    } cases[] = {{result_at_once, 16, JZX_NEVER, JZX_OK},
                 {result_at_once, 8, JZX_NEVER, JZX_ERR_FULL},
                 {fail_at_once, 16, JZX_NEVER, JZX_ERR_BUSY},
                 {NULL, 16, 1, JZX_ERR_TIMEOUT}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct caller callers[4];
        struct caller *caller = &callers[i];
        *caller = (struct caller){.child = {.plan = cases[i].plan}, .len = cases[i].room};
        const jzx_spawn_opts opts = opts_of(caller, &input);
        JZX_EXPECT_EQ(
            jzx_process_exec_wait(loop, &opts, cases[i].deadline_ns, caller->result, &caller->len),
            cases[i].err);
        if (cases[i].err == JZX_OK)
            JZX_EXPECT_EQ(caller->result[0], 2);
    }
    JZX_EXPECT_EQ(
        jzx_process_exec_wait(loop, &JZX_SPAWN_OPTS(.behavior = keep_diary), JZX_NEVER, NULL, NULL),
        JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_loop_release(loop), JZX_OK);
    return NULL;
}

JZX_TEST(a_thread_waits_for_the_result_of_a_process, "D+top") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    pthread_t thread;
    assert_int_equal(jzx_loop_hold(loop), JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, exec_on_thread, loop), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    pthread_join(thread, NULL);
    fixture_destroy(loop);
}

/* ---- memory ---- */

static uint32_t no_memory;

/* Only success and lack of memory are right answers. */
static bool worked(jzx_err err) {
    no_memory += err == JZX_ERR_NO_MEMORY;
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
    return err == JZX_OK;
}

/* Yields all kinds of commands in its first step, and ends when all that it could yield have
 * completed. */
static jzx_err use_memory(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    static const char arg[3000];
    (void)ctx;
    if (journal->steps == 1) {
        for (uint64_t i = 0; i < 24; i++)
            journal->numbers[0] += worked(jzx_out_yield(out, i, 301, arg, i * 40));
        uint64_t until = 1;
        journal->numbers[0] +=
            worked(jzx_out_yield(out, 90, JZX_COMMAND_SLEEP, &until, sizeof until));
    }
    if (journal->count < journal->numbers[0])
        return JZX_OK;
    jzx_err err = jzx_out_done(out, arg, sizeof arg);
    if (!worked(err))
        return jzx_out_done(out, NULL, 0); /* needs none */
    return JZX_OK;
}

static jzx_err answer_at_length(jzx_context *ctx, const jzx_command *command, void *data) {
    static const char answer[2000];
    (void)data;
    (void)worked(jzx_command_complete(ctx->loop, command->process, command->ref, answer,
                                      sizeof answer, JZX_OK));
    return JZX_OK;
}

/* One life of a process, with the n-th allocation failing, or all from the n-th on. */
static void live_without(uint64_t n, uint64_t count) {
    struct timing timing = timing_open();
    struct journal journal = {.plan = use_memory};
    const uint64_t input[40] = {3};
    jzx_actor_id id;
    fixture_fail_allocations(n, count);
    bool registered = worked(
        jzx_command_register(timing.loop, 301, &(jzx_command_handler){.handle = answer_at_length}));
    bool spawned =
        worked(jzx_spawn(timing.loop,
                         &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &journal, .method = "m",
                                         .input = input, .input_len = sizeof input),
                         &id));
    (void)jzx_clock_advance(timing.clock, JZX_MS(1));
    for (uint32_t i = 0; i < 5; i++)
        timing_step(&timing);
    fixture_fail_allocations(UINT64_MAX, 0);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.inits, spawned);
    if (spawned) { /* every command that was yielded has given one event */
        JZX_EXPECT_EQ(journal.count, journal.numbers[0]);
        JZX_EXPECT_EQ(journal.closes, 1);
        for (uint32_t i = 0; i < journal.count; i++)
            no_memory += journal.notes[i].error == JZX_ERR_NO_MEMORY;
        for (uint32_t i = 0; i < journal.count && registered; i++)
            JZX_EXPECT(journal.notes[i].error == JZX_OK ||
                       journal.notes[i].error == JZX_ERR_NO_MEMORY);
    }
    timing_close(&timing);
    JZX_EXPECT_EQ(journal.closes, spawned);
}

JZX_TEST(each_allocation_of_a_process_may_fail_and_no_command_is_lost, "D+err", "D19") {
    uint32_t unharmed = 0; /* lives in a row that no failure has reached */
    no_memory = 0;
    for (uint64_t n = 0; n < 500 && unharmed < 5; n++) {
        uint32_t before = no_memory;
        live_without(n, 1);
        unharmed = no_memory == before ? unharmed + 1 : 0;
        live_without(n, UINT64_MAX / 2);
    }
    JZX_EXPECT_EQ(unharmed, 5);
    JZX_EXPECT(no_memory > 30);
}
