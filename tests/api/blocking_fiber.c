/* SPDX-License-Identifier: MIT */
/* Fibers that wait for blocking work: results, deadlines, and ends in every state. */
#include "fixture.h"

#include <sched.h>
#include <stdatomic.h>

/* ---- jobs ---- */

static atomic_uint entered;
static atomic_uint is_open;
static atomic_uint left;

static jzx_err add_one(void *arg) {
    ++*(uint64_t *)arg;
    return *(uint64_t *)arg == 3 ? JZX_ERR_EXISTS : JZX_OK;
}

/* Writes through arg when the gate is open: memory that must still be there. */
static jzx_err pass_gate(void *arg) {
    atomic_fetch_add(&entered, 1);
    while (atomic_load(&is_open) == 0)
        sched_yield();
    *(uint64_t *)arg = 42;
    atomic_fetch_add(&left, 1);
    return JZX_OK;
}

static jzx_clock *manual;

static void close_gate(void) {
    atomic_store(&entered, 0);
    atomic_store(&is_open, 0);
    atomic_store(&left, 0);
}

/* A loop of one worker whose time the test moves. */
static jzx_loop *open_loop(void) {
    close_gate();
    manual = jzx_clock_manual(1);
    assert_non_null(manual);
    return fixture_loop_with(&JZX_CONFIG(.workers = 1, .clock = manual));
}

static void close_loop(jzx_loop *loop) {
    fixture_destroy(loop);
    JZX_EXPECT_EQ(jzx_clock_free(manual), JZX_OK);
}

static void step(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

static void step_until(jzx_loop *loop, const atomic_uint *count, unsigned wanted) {
    while (atomic_load(count) < wanted) {
        step(loop);
        sched_yield();
    }
}

/* ---- fibers ---- */

struct caller {
    uint64_t deadline_ns;
    jzx_blocking_pool *pool;
    jzx_err err;
    uint64_t value;
    atomic_uint done;
    atomic_uint cleaned;
    bool copies;
};

static void call_three_times(jzx_context *ctx) {
    struct caller *self = ctx->state;
    jzx_test_ran();
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t number = i; /* on the stack */
        self->err = i % 2 == 0 ? jzx_blocking(ctx, add_one, &number, JZX_NEVER)
                               : jzx_blocking_copy(ctx, NULL, add_one, &number, sizeof number,
                                                   jzx_in(ctx, JZX_SECOND(100)));
        JZX_EXPECT_EQ(number, i + 1);
        JZX_EXPECT_EQ(self->err, i == 2 ? JZX_ERR_EXISTS : JZX_OK);
    }
    atomic_store(&self->done, 1);
}

JZX_TEST(a_fiber_waits_for_a_job_and_has_its_result) {
    jzx_loop *loop = fixture_loop();
    struct caller caller = {0};
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = call_three_times, .state = &caller));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(atomic_load(&caller.done), 1);
    fixture_destroy(loop);
}

static void call_gate(jzx_context *ctx) {
    struct caller *self = ctx->state;
    uint64_t number = 7;
    jzx_test_ran();
    self->err = self->copies ? jzx_blocking_copy(ctx, self->pool, pass_gate, &number, sizeof number,
                                                 self->deadline_ns)
                             : jzx_blocking(ctx, pass_gate, &number, self->deadline_ns);
    self->value = number;
    atomic_store(&self->done, 1);
}

static void note_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct caller *self = ctx->state;
    (void)reason;
    JZX_EXPECT(self->copies || atomic_load(&entered) == atomic_load(&left)); /* part/A3 */
    atomic_store(&self->cleaned, 1);
}

static jzx_actor_id spawn_at_gate(jzx_loop *loop, struct caller *caller) {
    return fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.fiber = call_gate, .state = caller, .cleanup = note_cleanup));
}

static void wait_entered(jzx_loop *loop, unsigned count) {
    step(loop);
    while (atomic_load(&entered) < count)
        sched_yield();
}

JZX_TEST(a_fiber_that_waits_for_a_job_holds_up_nobody_and_says_what_it_waits_for) {
    jzx_loop *loop = open_loop();
    struct caller caller = {.deadline_ns = JZX_NEVER};
    jzx_actor_id id = spawn_at_gate(loop, &caller);
    wait_entered(loop, 1);
    struct recorder recorder = {0};
    jzx_actor_id other =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder));
    fixture_send(loop, other, 1);
    step(loop);
    JZX_EXPECT_EQ(recorder.count, 1);
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(loop, id, &info), JZX_OK);
    JZX_EXPECT_EQ(info.wait, JZX_WAIT_OP);
    JZX_EXPECT(info.wait_object != JZX_NO_OP);
    assert_string_equal(jzx_wait_name(info.wait), "an operation");
    atomic_store(&is_open, 1);
    step_until(loop, &caller.done, 1);
    JZX_EXPECT_EQ(caller.err, JZX_OK);
    JZX_EXPECT_EQ(caller.value, 42);
    close_loop(loop);
}

/* ---- deadlines ---- */

JZX_TEST(at_its_deadline_a_fiber_goes_on_and_the_job_runs_to_its_end) {
    jzx_loop *loop = open_loop();
    struct caller caller = {.deadline_ns = JZX_MS(5), .copies = true};
    spawn_at_gate(loop, &caller);
    wait_entered(loop, 1);
    JZX_EXPECT_EQ(jzx_clock_advance(manual, JZX_MS(10)), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(atomic_load(&caller.done), 1);
    JZX_EXPECT_EQ(caller.err, JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(caller.value, 7); /* untouched */
    JZX_EXPECT_EQ(atomic_load(&caller.cleaned), 1);
    JZX_EXPECT_EQ(atomic_load(&left), 0);
    atomic_store(&is_open, 1);
    close_loop(loop);
    JZX_EXPECT_EQ(atomic_load(&left), 1);
}

JZX_TEST(a_job_that_waits_for_a_thread_at_the_deadline_is_never_started) {
    jzx_loop *loop = open_loop();
    struct caller first = {.deadline_ns = JZX_NEVER, .copies = true};
    struct caller second = {.deadline_ns = JZX_MS(5), .copies = true};
    JZX_EXPECT_EQ(jzx_blocking_pool_create(
                      loop, &JZX_BLOCKING_OPTS(.name = "one", .threads_max = 1), &first.pool),
                  JZX_OK);
    second.pool = first.pool;
    spawn_at_gate(loop, &first);
    wait_entered(loop, 1);
    spawn_at_gate(loop, &second);
    step(loop);
    JZX_EXPECT_EQ(jzx_clock_advance(manual, JZX_MS(10)), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(second.err, JZX_ERR_TIMEOUT);
    atomic_store(&is_open, 1);
    step_until(loop, &first.done, 1);
    jzx_blocking_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_blocking_pool_stats(first.pool, &stats), JZX_OK);
    JZX_EXPECT_EQ(stats.started, 1);
    JZX_EXPECT_EQ(stats.cancelled, 1);
    close_loop(loop);
}

JZX_TEST(a_deadline_that_has_passed_starts_nothing) {
    jzx_loop *loop = open_loop();
    struct caller caller = {.deadline_ns = 0};
    spawn_at_gate(loop, &caller);
    step(loop);
    JZX_EXPECT_EQ(caller.err, JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(atomic_load(&caller.done), 1);
    close_loop(loop);
    JZX_EXPECT_EQ(atomic_load(&entered), 0);
}

/* ---- ends ---- */

JZX_TEST(the_end_of_a_fiber_waits_for_a_job_that_uses_its_stack) {
    jzx_loop *loop = open_loop();
    struct caller caller = {.deadline_ns = JZX_NEVER};
    jzx_actor_id id = spawn_at_gate(loop, &caller);
    wait_entered(loop, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(atomic_load(&caller.cleaned), 0);
    atomic_store(&is_open, 1);
    step_until(loop, &caller.cleaned, 1);
    JZX_EXPECT_EQ(atomic_load(&caller.done), 0);
    close_loop(loop);
}

JZX_TEST(the_end_of_a_fiber_does_not_wait_for_a_job_with_a_copy) {
    jzx_loop *loop = open_loop();
    struct caller caller = {.deadline_ns = JZX_NEVER, .copies = true};
    jzx_actor_id id = spawn_at_gate(loop, &caller);
    wait_entered(loop, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(atomic_load(&caller.cleaned), 1);
    JZX_EXPECT_EQ(atomic_load(&left), 0);
    atomic_store(&is_open, 1);
    close_loop(loop);
}

JZX_TEST(a_fiber_that_is_to_work_off_its_queue_gets_cancelled) {
    jzx_loop *loop = open_loop();
    struct caller caller = {.deadline_ns = JZX_NEVER, .copies = true};
    jzx_actor_id id = spawn_at_gate(loop, &caller);
    wait_entered(loop, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(atomic_load(&caller.done), 1);
    JZX_EXPECT_EQ(caller.err, JZX_ERR_CANCELLED);
    atomic_store(&is_open, 1);
    close_loop(loop);
}

JZX_TEST(a_fiber_that_is_to_work_off_its_queue_waits_for_a_job_that_uses_its_stack) {
    close_gate();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    struct caller caller = {.deadline_ns = JZX_NEVER};
    jzx_actor_id id = spawn_at_gate(loop, &caller);
    wait_entered(loop, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(atomic_load(&caller.done), 0);
    atomic_store(&is_open, 1);
    step_until(loop, &caller.done, 1);
    JZX_EXPECT_EQ(caller.err, JZX_OK);
    JZX_EXPECT_EQ(caller.value, 42);
    fixture_destroy(loop);
}

/* The job of the first runs, that of the second waits for a thread. */
JZX_TEST(a_loop_ends_when_the_jobs_that_use_its_fibers_have_returned) {
    for (uint32_t by_stop = 0; by_stop < 2; by_stop++) {
        jzx_loop *loop = open_loop();
        struct caller callers[2] = {{.deadline_ns = JZX_NEVER}, {.deadline_ns = JZX_NEVER}};
        JZX_EXPECT_EQ(
            jzx_blocking_pool_create(
                loop, &JZX_BLOCKING_OPTS(.name = JZX_BLOCKING_DEFAULT, .threads_max = 1), NULL),
            JZX_OK);
        spawn_at_gate(loop, &callers[0]);
        wait_entered(loop, 1);
        spawn_at_gate(loop, &callers[1]);
        step(loop);
        if (by_stop) {
            JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
            atomic_store(&is_open, 1);
            JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
            JZX_EXPECT_EQ(atomic_load(&left), atomic_load(&entered));
        } else {
            atomic_store(&is_open, 1);
        }
        close_loop(loop);
        JZX_EXPECT(atomic_load(&left) >= 1); /* the second may have had its thread before */
        JZX_EXPECT_EQ(atomic_load(&left), atomic_load(&entered));
        for (uint32_t i = 0; i < 2; i++) {
            JZX_EXPECT_EQ(atomic_load(&callers[i].cleaned), 1);
            JZX_EXPECT_EQ(atomic_load(&callers[i].done), 0);
        }
    }
}

/* ---- wrong use ---- */

static jzx_behavior_result wait_in_vain(jzx_context *ctx, const jzx_message *msg) {
    uint64_t number = 1;
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_blocking(ctx, add_one, &number, JZX_NEVER), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_blocking_copy(ctx, NULL, add_one, &number, sizeof number, JZX_NEVER),
                  JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(number, 1);
    return JZX_BEHAVIOR_STOP;
}

static void misuse(jzx_context *ctx) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_blocking(ctx, NULL, NULL, JZX_NEVER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking(ctx, NULL, NULL, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_copy(ctx, NULL, add_one, NULL, 1, JZX_NEVER), JZX_ERR_INVALID_ARG);
}

JZX_TEST(only_a_fiber_can_wait_for_a_job) {
    jzx_loop *loop = fixture_loop();
    JZX_EXPECT_EQ(jzx_blocking(NULL, add_one, NULL, JZX_NEVER), JZX_ERR_INVALID_ARG);
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = wait_in_vain)), 1);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = misuse));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    fixture_destroy(loop);
}
