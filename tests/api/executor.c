/* SPDX-License-Identifier: MIT */
/* Executors: async functions that are polled by hand. */
#include "fibering.h"

#include <jzx/async.h>
#include <jzx/context.h>

#include <pthread.h>
#include <sched.h>

/* Awaits a future several times, and counts its polls. */
struct waits {
    jzx_future *future;
    uint32_t *polls;
    uint32_t yields;
    jzx_err err;
    uint64_t value;
    jzx_await_op op;
};

JZX_ASYNC(waits, struct waits, uint64_t) {
    ++*self->polls;
    while (self->yields != 0) {
        self->yields--;
        JZX_YIELD();
        ++*self->polls;
    }
    if (self->future != NULL) {
        JZX_AWAIT(jzx_op_await(&self->op, self->future, JZX_NEVER), &self->value);
        ++*self->polls;
    }
    JZX_RETURN(self->value + 1);
}
JZX_END

static jzx_future *spawn(jzx_executor *executor, jzx_loop *loop, struct waits state) {
    jzx_future *future = NULL;
    assert_int_equal(
        jzx_async_spawn(loop, &waits_type, &state, &JZX_ASYNC_OPTS(.executor = executor), &future),
        JZX_OK);
    return future;
}

static bool poll_one(jzx_executor *executor) {
    bool polled = false;
    JZX_EXPECT_EQ(jzx_executor_poll_one(executor, &polled), JZX_OK);
    return polled;
}

static uint32_t poll_all(jzx_executor *executor) {
    uint32_t polled = 0;
    JZX_EXPECT_EQ(jzx_executor_poll_all(executor, &polled), JZX_OK);
    return polled;
}

static uint64_t take_value(jzx_future *future) {
    uint64_t value = 0;
    JZX_EXPECT_EQ(jzx_future_try(future, &value), JZX_OK);
    jzx_future_release(future);
    return value;
}

JZX_TEST(an_executor_polls_one_function_once_and_no_function_by_itself, "E+mode", "E43") {
    jzx_loop *loop = fixture_loop();
    jzx_executor *executor;
    uint32_t a = 0;
    uint32_t b = 0;
    assert_int_equal(jzx_executor_create(loop, &executor), JZX_OK);
    assert_false(poll_one(executor));
    jzx_future *first = spawn(executor, loop, (struct waits){.polls = &a, .yields = 1});
    jzx_future *second = spawn(executor, loop, (struct waits){.polls = &b});
    assert_int_equal(jzx_executor_pending(executor), 2);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(a + b, 0);
    assert_true(poll_one(executor));
    assert_int_equal(a * 10 + b, 10);
    assert_true(poll_one(executor)); /* the first is ready again, behind the second */
    assert_int_equal(a * 10 + b, 11);
    assert_int_equal(jzx_executor_pending(executor), 1);
    assert_true(poll_one(executor));
    assert_int_equal(a, 2);
    assert_int_equal(jzx_executor_pending(executor), 0);
    assert_false(poll_one(executor));
    assert_int_equal(take_value(first), 1);
    assert_int_equal(take_value(second), 1);
    jzx_executor_destroy(executor);
    fixture_destroy(loop);
}

JZX_TEST(poll_all_polls_each_that_is_ready_once, "E+mode", "E43") {
    jzx_loop *loop = fixture_loop();
    jzx_executor *executor;
    uint32_t polls = 0;
    jzx_future *futures[10];
    assert_int_equal(jzx_executor_create(loop, &executor), JZX_OK);
    for (uint32_t i = 0; i < 10; i++)
        futures[i] = spawn(executor, loop, (struct waits){.polls = &polls, .yields = i % 2});
    assert_int_equal(poll_all(executor), 10);
    assert_int_equal(polls, 10);
    assert_int_equal(jzx_executor_pending(executor), 5);
    assert_int_equal(poll_all(executor), 5);
    assert_int_equal(poll_all(executor), 0);
    assert_int_equal(jzx_executor_pending(executor), 0);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(take_value(futures[i]), 1);
    jzx_executor_destroy(executor);
    fixture_destroy(loop);
}

JZX_TEST(wakes_before_a_poll_are_one_wake, "E+mode", "E43") {
    struct timing timing = timing_open();
    jzx_executor *executor;
    jzx_promise *promise;
    jzx_future *awaited;
    uint32_t polls = 0;
    assert_int_equal(jzx_executor_create(timing.loop, &executor), JZX_OK);
    assert_int_equal(jzx_promise_create(timing.loop, sizeof(uint64_t), &promise, &awaited), JZX_OK);
    jzx_future *future =
        spawn(executor, timing.loop, (struct waits){.polls = &polls, .future = awaited});
    assert_true(poll_one(executor));
    assert_false(poll_one(executor)); /* it waits */
    assert_int_equal(polls, 1);
    assert_int_equal(jzx_promise_resolve(promise, &(uint64_t){41}), JZX_OK);
    jzx_future_cancel(future); /* a second wake */
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(jzx_executor_pending(executor), 1);
    assert_false(jzx_future_is_ready(future));
    assert_true(poll_one(executor));
    assert_false(poll_one(executor));
    assert_int_equal(polls, 2);
    assert_int_equal(take_value(future), 42);
    jzx_future_release(awaited);
    jzx_executor_destroy(executor);
    timing_close(&timing);
}

/* Settles what it awaits next, while it is polled. */
struct hasty {
    jzx_promise *promise;
    jzx_future *future;
    uint64_t value;
    jzx_await_op op;
};

/* The wait has begun when this is polled, and is claimed before the poll returns. */
static jzx_poll settle_and_poll(jzx_awaitable *what, jzx_context *ctx, void *out);

struct hasty_op {
    jzx_awaitable base;
    jzx_awaitable *inner;
    struct hasty *hasty;
};

static jzx_poll settle_and_poll(jzx_awaitable *what, jzx_context *ctx, void *out) {
    struct hasty_op *op = (void *)what;
    jzx_poll poll = op->inner->poll(op->inner, ctx, out);
    op->base.err = op->inner->err;
    if (op->hasty->promise != NULL) {
        JZX_EXPECT_EQ(poll, JZX_PENDING);
        JZX_EXPECT_EQ(jzx_promise_resolve(op->hasty->promise, &(uint64_t){7}), JZX_OK);
        op->hasty->promise = NULL;
    }
    return poll;
}

struct hasty_state {
    struct hasty hasty;
    struct hasty_op op;
};

static jzx_awaitable *settle_while_waiting(struct hasty_state *self) {
    self->op =
        (struct hasty_op){.base = {.poll = settle_and_poll},
                          .inner = jzx_op_await(&self->hasty.op, self->hasty.future, JZX_NEVER),
                          .hasty = &self->hasty};
    return &self->op.base;
}

JZX_ASYNC(hurry, struct hasty_state, uint64_t) {
    JZX_AWAIT(settle_while_waiting(self), &self->hasty.value);
    JZX_RETURN(self->hasty.value);
}
JZX_END

JZX_TEST(a_wake_during_a_poll_makes_the_function_ready_again, "E+mode", "E43") {
    jzx_loop *loop = fixture_loop();
    jzx_executor *executor;
    struct hasty_state state = {.hasty = {.value = 0}};
    jzx_future *future;
    assert_int_equal(jzx_executor_create(loop, &executor), JZX_OK);
    assert_int_equal(
        jzx_promise_create(loop, sizeof(uint64_t), &state.hasty.promise, &state.hasty.future),
        JZX_OK);
    assert_int_equal(
        jzx_async_spawn(loop, &hurry_type, &state, &JZX_ASYNC_OPTS(.executor = executor), &future),
        JZX_OK);
    assert_true(poll_one(executor));
    assert_false(jzx_future_is_ready(future));
    assert_true(poll_one(executor));
    assert_int_equal(take_value(future), 7);
    jzx_future_release(state.hasty.future);
    jzx_executor_destroy(executor);
    fixture_destroy(loop);
}

JZX_TEST(destroying_an_executor_cancels_what_is_left, "E+mode") {
    jzx_loop *loop = fixture_loop();
    jzx_executor *executor;
    jzx_promise *promise;
    jzx_future *awaited;
    jzx_future *late;
    uint32_t polls = 0;
    struct waits state = {.polls = &polls};
    assert_int_equal(jzx_executor_create(loop, &executor), JZX_OK);
    assert_int_equal(jzx_promise_create(loop, sizeof(uint64_t), &promise, &awaited), JZX_OK);
    jzx_future *waiting = spawn(executor, loop, (struct waits){.polls = &polls, .future = awaited});
    assert_true(poll_one(executor));
    jzx_future *held = spawn(executor, loop, (struct waits){.polls = &polls, .future = awaited});
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(
        jzx_async_create(loop, &waits_type, &state, &JZX_ASYNC_OPTS(.executor = executor), &late),
        JZX_OK);
    assert_int_equal(jzx_executor_pending(executor), 3);
    jzx_executor_destroy(executor);
    assert_int_equal(jzx_async_start(late), JZX_ERR_INVALID_STATE);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(jzx_future_try(late, NULL), JZX_ERR_CANCELLED);
    assert_int_equal(jzx_future_try(waiting, NULL), JZX_ERR_CANCELLED);
    assert_int_equal(jzx_future_try(held, NULL), JZX_ERR_CANCELLED);
    jzx_future_release(late);
    jzx_future_release(waiting);
    jzx_future_release(held);
    jzx_promise_drop(promise);
    (void)jzx_future_error(awaited, NULL);
    jzx_future_release(awaited);
    fixture_destroy(loop);
}

JZX_TEST(a_function_that_is_killed_while_it_is_held_is_polled_no_more, "E+mode") {
    jzx_loop *loop = fixture_loop();
    jzx_executor *executor;
    uint32_t polls = 0;
    assert_int_equal(jzx_executor_create(loop, &executor), JZX_OK);
    jzx_future *future = spawn(executor, loop, (struct waits){.polls = &polls});
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_actor_stop(loop, jzx_async_actor(future), JZX_STOP_KILL), JZX_OK);
    assert_false(poll_one(executor));
    assert_int_equal(jzx_executor_pending(executor), 0);
    assert_int_equal(polls, 0);
    assert_int_equal(jzx_future_try(future, NULL), JZX_ERR_CANCELLED);
    jzx_future_release(future);
    jzx_executor_destroy(executor);
    fixture_destroy(loop);
}

static jzx_behavior_result poll_inside(jzx_context *ctx, const jzx_message *msg) {
    bool polled = true;
    (void)msg;
    JZX_EXPECT_EQ(jzx_executor_poll_one(*(jzx_executor **)ctx->state, &polled), JZX_ERR_BUSY);
    JZX_EXPECT(!polled);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(wrong_uses_of_an_executor_are_refused, "E+mode") {
    jzx_loop *loop = fixture_loop();
    jzx_loop *wide = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    jzx_executor *executor;
    jzx_future *future;
    uint32_t polls = 0;
    jzx_actor_id id;
    const struct waits state = {.polls = &polls};
    assert_int_equal(jzx_executor_create(NULL, &executor), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_executor_create(loop, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_executor_create(wide, &executor), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_executor_create(loop, &executor), JZX_OK);
    assert_int_equal(jzx_executor_poll_one(NULL, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_executor_poll_all(NULL, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_executor_pending(NULL), 0);
    assert_int_equal(
        jzx_async_spawn(wide, &waits_type, &state, &JZX_ASYNC_OPTS(.executor = executor), &future),
        JZX_ERR_INVALID_ARG);
    assert_int_equal(
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = poll_inside, .state = &executor), &id), JZX_OK);
    assert_int_equal(jzx_send_async(loop, id, NULL, 0, 1), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_loop_request_stop(loop);
    (void)jzx_loop_run(loop);
    assert_int_equal(jzx_executor_poll_one(executor, NULL), JZX_ERR_LOOP_CLOSED);
    jzx_executor_destroy(executor);
    jzx_executor_destroy(NULL);
    fixture_destroy(wide);
    fixture_destroy(loop);
}

JZX_TEST(an_executor_without_memory_leaves_nothing, "E+mode", "C+fail") {
    jzx_loop *loop = fixture_loop();
    jzx_executor *executor = NULL;
    jzx_future *future = NULL;
    uint32_t polls = 0;
    const struct waits state = {.polls = &polls};
    fixture_fail_allocations(0, UINT64_MAX);
    assert_int_equal(jzx_executor_create(loop, &executor), JZX_ERR_NO_MEMORY);
    fixture_fail_allocations(UINT64_MAX, 0);
    assert_int_equal(jzx_executor_create(loop, &executor), JZX_OK);
    jzx_err err = JZX_ERR_NO_MEMORY;
    for (uint64_t after = 0; err == JZX_ERR_NO_MEMORY; after++) {
        assert_int_equal(jzx_executor_pending(executor), 0);
        fixture_fail_allocations(after, UINT64_MAX);
        err = jzx_async_spawn(loop, &waits_type, &state, &JZX_ASYNC_OPTS(.executor = executor),
                              &future);
        fixture_fail_allocations(UINT64_MAX, 0);
    }
    assert_int_equal(err, JZX_OK);
    assert_true(poll_one(executor));
    assert_int_equal(take_value(future), 1);
    jzx_executor_destroy(executor);
    fixture_destroy(loop);
}

#define ROUNDS 300u

struct resolver {
    jzx_promise *promises[ROUNDS];
    uint32_t first;
};

static void *resolve_all(void *arg) {
    struct resolver *resolver = arg;
    for (uint32_t i = resolver->first; i < ROUNDS; i += 2)
        JZX_EXPECT_EQ(jzx_promise_resolve(resolver->promises[i], &(uint64_t){i}), JZX_OK);
    return NULL;
}

JZX_TEST(wakes_of_other_threads_are_not_lost, "E+mode", "E43") {
    jzx_loop *loop = fixture_loop();
    jzx_executor *executor;
    static struct resolver resolvers[2];
    jzx_future *awaited[ROUNDS];
    jzx_future *futures[ROUNDS];
    pthread_t threads[2];
    uint32_t polls = 0;
    assert_int_equal(jzx_executor_create(loop, &executor), JZX_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        assert_int_equal(
            jzx_promise_create(loop, sizeof(uint64_t), &resolvers[0].promises[i], &awaited[i]),
            JZX_OK);
        resolvers[1].promises[i] = resolvers[0].promises[i];
        futures[i] = spawn(executor, loop, (struct waits){.polls = &polls, .future = awaited[i]});
    }
    resolvers[1].first = 1;
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, resolve_all, &resolvers[i]), 0);
    while (jzx_executor_pending(executor) != 0) {
        uint32_t before = polls;
        bool polled = poll_one(executor);
        JZX_EXPECT(polls - before <= 2u * polled); /* one that is ready goes on at once */
        if (!polled)
            sched_yield();
    }
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        assert_int_equal(take_value(futures[i]), i + 1);
        jzx_future_release(awaited[i]);
    }
    assert_int_equal(polls, 2 * ROUNDS);
    jzx_executor_destroy(executor);
    fixture_destroy(loop);
}
