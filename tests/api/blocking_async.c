/* SPDX-License-Identifier: MIT */
/* Blocking work as futures: settled once, from any thread, with and without a running loop. */
#include "fixture.h"

#include <jzx/async.h>
#include <jzx/combine.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* ---- jobs ---- */

static atomic_uint entered;
static atomic_uint is_open;
static atomic_uint calls;

static jzx_err pass_gate(void *arg) {
    atomic_fetch_add(&entered, 1);
    while (atomic_load(&is_open) == 0)
        sched_yield();
    if (arg != NULL)
        *(uint64_t *)arg += 1;
    return JZX_OK;
}

static jzx_err count_call(void *arg) {
    (void)arg;
    atomic_fetch_add(&calls, 1);
    return JZX_OK;
}

static jzx_err double_it(void *arg) {
    *(uint64_t *)arg *= 2;
    return JZX_OK;
}

static jzx_err fail_it(void *arg) {
    (void)arg;
    return JZX_ERR_EXISTS;
}

static jzx_loop *open_loop(uint32_t workers) {
    atomic_store(&entered, 0);
    atomic_store(&is_open, 0);
    atomic_store(&calls, 0);
    return fixture_loop_with(&JZX_CONFIG(.workers = workers));
}

static jzx_blocking_pool *small_pool(jzx_loop *loop, uint32_t queue) {
    jzx_blocking_pool *pool = NULL;
    JZX_EXPECT_EQ(
        jzx_blocking_pool_create(
            loop, &JZX_BLOCKING_OPTS(.name = "small", .threads_max = 1, .queue_max = queue), &pool),
        JZX_OK);
    return pool;
}

static jzx_future *submit(jzx_loop *loop, jzx_blocking_pool *pool, jzx_blocking_fn fn,
                          uint64_t value) {
    jzx_future *future = NULL;
    JZX_EXPECT_EQ(jzx_blocking_copy_async(loop, pool, fn, &value, sizeof value, &future), JZX_OK);
    assert_non_null(future);
    return future;
}

static void wait_entered(unsigned count) {
    while (atomic_load(&entered) < count)
        sched_yield();
}

/* ---- results ---- */

JZX_TEST(a_thread_waits_for_a_job_while_no_thread_runs_the_loop) {
    jzx_loop *loop = open_loop(1);
    uint64_t value = 0;
    jzx_future *copied = submit(loop, NULL, double_it, 21);
    JZX_EXPECT_EQ(jzx_future_value_size(copied), sizeof value);
    JZX_EXPECT_EQ(jzx_future_wait(copied, JZX_NEVER, &value), JZX_OK);
    JZX_EXPECT_EQ(value, 42);
    jzx_future_release(copied);
    jzx_future *plain = NULL;
    JZX_EXPECT_EQ(jzx_blocking_async(loop, double_it, &value, &plain), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(plain, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(value, 84);
    jzx_future_release(plain);
    fixture_destroy(loop);
}

JZX_TEST(a_job_that_fails_rejects_its_future) {
    jzx_loop *loop = open_loop(1);
    const char *text = NULL;
    jzx_future *future = submit(loop, NULL, fail_it, 0);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, NULL), JZX_ERR_EXISTS);
    JZX_EXPECT_EQ(jzx_future_error(future, &text), JZX_ERR_EXISTS);
    assert_string_equal(text, "");
    jzx_future_release(future);
    fixture_destroy(loop);
}

JZX_TEST(a_large_value_comes_whole) {
    static unsigned char data[300000];
    static unsigned char back[sizeof data];
    jzx_loop *loop = open_loop(1);
    jzx_future *future = NULL;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 31);
    JZX_EXPECT_EQ(jzx_blocking_copy_async(loop, NULL, count_call, data, sizeof data, &future),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, back), JZX_OK);
    assert_memory_equal(data, back, sizeof data);
    jzx_future_release(future);
    fixture_destroy(loop);
}

/* A fiber waits for several at once. */
static void gather(jzx_context *ctx) {
    jzx_future *futures[3];
    jzx_future *all = NULL;
    uint64_t values[3] = {0};
    jzx_test_ran();
    for (uint64_t i = 0; i < 3; i++)
        futures[i] = submit(ctx->loop, NULL, double_it, i + 1);
    JZX_EXPECT_EQ(jzx_future_all(ctx->loop, futures, 3, 0, &all), JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, all, JZX_NEVER, values), JZX_OK);
    for (uint64_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(values[i], 2 * (i + 1));
        jzx_future_release(futures[i]);
    }
    jzx_future_release(all);
}

JZX_TEST(combinators_take_jobs) {
    jzx_loop *loop = open_loop(2);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = gather));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

/* ---- an async function ---- */

struct doubling {
    uint32_t rounds;
    uint64_t value;
    jzx_future *job;
    jzx_await_op op;
};

JZX_ASYNC(doubling, struct doubling, uint64_t) {
    for (; self->rounds != 0; self->rounds--) {
        jzx_test_ran();
        self->job = submit(ctx->loop, NULL, double_it, self->value);
        JZX_AWAIT(jzx_op_await(&self->op, self->job, JZX_NEVER), &self->value);
        jzx_future_release(self->job);
    }
    JZX_RETURN(self->value);
}
JZX_END

JZX_TEST(an_async_function_awaits_jobs_one_after_another, "E43") {
    jzx_loop *loop = open_loop(2);
    jzx_future *future = NULL;
    uint64_t value = 0;
    JZX_EXPECT_EQ(doubling_spawn(loop, (struct doubling){.rounds = 10, .value = 1}, &future),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_try(future, &value), JZX_OK);
    JZX_EXPECT_EQ(value, 1024);
    JZX_EXPECT_EQ(jzx_test_runs(), 10);
    jzx_future_release(future);
    fixture_destroy(loop);
}

/* ---- cancels ---- */

JZX_TEST(a_cancel_stops_a_job_that_waits_and_not_one_that_runs) {
    jzx_loop *loop = open_loop(1);
    jzx_blocking_pool *pool = small_pool(loop, 10);
    uint64_t value = 0;
    jzx_future *running = submit(loop, pool, pass_gate, 6);
    wait_entered(1);
    jzx_future *waiting = submit(loop, pool, count_call, 0);
    jzx_future *dropped = submit(loop, pool, count_call, 0);
    jzx_future *detached = submit(loop, pool, count_call, 0);
    jzx_future_cancel(running);
    jzx_future_cancel(waiting);
    JZX_EXPECT_EQ(jzx_future_state(running), JZX_FUTURE_RUNNING);
    JZX_EXPECT_EQ(jzx_future_try(waiting, NULL), JZX_ERR_CANCELLED); /* at once */
    jzx_future_release(dropped);
    jzx_future_detach(detached);
    jzx_blocking_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_blocking_pool_stats(pool, &stats), JZX_OK);
    JZX_EXPECT_EQ(stats.cancelled, 2);
    JZX_EXPECT_EQ(stats.queued, 1);
    atomic_store(&is_open, 1);
    JZX_EXPECT_EQ(jzx_future_wait(running, JZX_NEVER, &value), JZX_OK);
    JZX_EXPECT_EQ(value, 7);
    jzx_future_cancel(running); /* changes nothing */
    JZX_EXPECT_EQ(jzx_future_try(running, &value), JZX_OK);
    jzx_future *last = submit(loop, pool, count_call, 0);
    JZX_EXPECT_EQ(jzx_future_wait(last, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(atomic_load(&calls), 2); /* the one that was detached, and the last */
    jzx_future_release(last);
    jzx_future_release(running);
    jzx_future_release(waiting);
    fixture_destroy(loop);
}

JZX_TEST(a_job_that_runs_outlives_all_handles_of_its_future) {
    jzx_loop *loop = open_loop(1);
    jzx_future *future = submit(loop, NULL, pass_gate, 0);
    wait_entered(1);
    jzx_future_release(future); /* nothing can be stopped, and nobody hears of it */
    atomic_store(&is_open, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

static void wait_briefly(jzx_context *ctx) {
    jzx_future *future = ctx->state;
    jzx_future *limited = NULL;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_future_timeout(future, jzx_in(ctx, JZX_MS(1)), JZX_CANCEL_INPUTS, &limited),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, limited, JZX_NEVER, NULL), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_future_state(future), JZX_FUTURE_RUNNING); /* its function uses the copy */
    jzx_future_release(limited);
}

JZX_TEST(a_timeout_does_not_wait_for_a_function_that_runs) {
    jzx_loop *loop = open_loop(1);
    jzx_future *future = submit(loop, NULL, pass_gate, 0);
    wait_entered(1);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = wait_briefly, .state = future));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    atomic_store(&is_open, 1);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, NULL), JZX_OK);
    jzx_future_release(future);
    fixture_destroy(loop);
}

/* ---- refusals ---- */

JZX_TEST(a_call_that_is_refused_leaves_nothing, "C+fail") {
    jzx_loop *loop = open_loop(1);
    jzx_loop *other = fixture_loop();
    jzx_blocking_pool *pool = small_pool(loop, 1);
    static char place;
    jzx_future *const untouched = (jzx_future *)(void *)&place;
    jzx_future *future = untouched;
    uint64_t value = 1;
    JZX_EXPECT_EQ(jzx_blocking_async(NULL, count_call, NULL, &future), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_async(loop, NULL, NULL, &future), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_async(loop, count_call, NULL, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_copy_async(loop, NULL, count_call, NULL, 1, &future),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_copy_async(loop, NULL, count_call, &value, (size_t)1 << 31, &future),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_blocking_copy_async(other, pool, count_call, &value, 8, &future),
                  JZX_ERR_INVALID_ARG);
    jzx_future *running = submit(loop, pool, pass_gate, 0);
    wait_entered(1);
    jzx_future *waiting = submit(loop, pool, count_call, 0);
    JZX_EXPECT_EQ(jzx_blocking_copy_async(loop, pool, count_call, &value, 8, &future),
                  JZX_ERR_FULL);
    JZX_EXPECT(future == untouched);
    atomic_store(&is_open, 1);
    JZX_EXPECT_EQ(jzx_future_wait(waiting, JZX_NEVER, NULL), JZX_OK);
    jzx_future_release(running);
    jzx_future_release(waiting);
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_blocking_async(loop, count_call, NULL, &future), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT(future == untouched);
    JZX_EXPECT_EQ(atomic_load(&calls), 1);
    fixture_destroy(other);
    fixture_destroy(loop);
}

/* ---- the end of the loop ---- */

static void *open_gate_later(void *arg) {
    jzx_future *waiting = arg;
    JZX_EXPECT_EQ(jzx_future_wait(waiting, JZX_NEVER, NULL), JZX_ERR_CANCELLED);
    atomic_store(&is_open, 1);
    return NULL;
}

JZX_TEST(the_end_of_a_loop_settles_every_future) {
    jzx_loop *loop = open_loop(1);
    jzx_blocking_pool *pool = small_pool(loop, 10);
    pthread_t thread;
    uint64_t value = 0;
    jzx_future *running = submit(loop, pool, pass_gate, 1);
    wait_entered(1);
    jzx_future *waiting = submit(loop, pool, count_call, 0);
    assert_int_equal(pthread_create(&thread, NULL, open_gate_later, waiting), 0);
    fixture_destroy(loop); /* cancels the second, which lets the first return */
    pthread_join(thread, NULL);
    JZX_EXPECT_EQ(jzx_future_try(running, &value), JZX_OK);
    JZX_EXPECT_EQ(value, 2);
    jzx_future_cancel(running);
    jzx_future_release(running);
    jzx_future_release(waiting);
    JZX_EXPECT_EQ(atomic_load(&calls), 0);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

static jzx_err submit_until_closed(void *arg) {
    jzx_loop *loop = *(jzx_loop **)arg;
    jzx_future *future;
    jzx_err err;
    atomic_fetch_add(&entered, 1);
    while ((err = jzx_blocking_async(loop, count_call, NULL, &future)) == JZX_OK ||
           err == JZX_ERR_FULL) {
        if (err == JZX_OK)
            jzx_future_release(future);
        sched_yield();
    }
    jzx_test_ran();
    JZX_EXPECT_EQ(err, JZX_ERR_LOOP_CLOSED);
    return JZX_OK;
}

JZX_TEST(functions_may_submit_jobs_while_the_loop_ends) {
    for (uint32_t i = 0; i < 20; i++) {
        jzx_loop *loop = open_loop(1);
        jzx_blocking_pool *pool = small_pool(loop, 1);
        jzx_future *future = NULL;
        JZX_EXPECT_EQ(
            jzx_blocking_copy_async(loop, pool, submit_until_closed, &loop, sizeof loop, &future),
            JZX_OK);
        wait_entered(1);
        fixture_destroy(loop);
        JZX_EXPECT_EQ(jzx_future_try(future, NULL), JZX_OK);
        jzx_future_release(future);
    }
    JZX_EXPECT_EQ(jzx_test_runs(), 20);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* ---- memory ---- */

/* Returns the calls that were refused. */
static uint32_t play(uint64_t after, uint64_t count) {
    fixture_fail_allocations(after, count);
    jzx_loop *loop = open_loop(1);
    uint32_t refused = loop == NULL;
    for (size_t i = 0; loop != NULL && i < 4; i++) {
        static char data[6000];
        jzx_future *future = NULL;
        jzx_err err = jzx_blocking_copy_async(loop, NULL, i == 3 ? fail_it : count_call, data,
                                              i % 2 * sizeof data, &future);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
        JZX_EXPECT_EQ(future != NULL, err == JZX_OK);
        refused += err != JZX_OK;
        if (err == JZX_OK)
            JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, NULL),
                          i == 3 ? JZX_ERR_EXISTS : JZX_OK);
        jzx_future_release(future);
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    if (loop != NULL)
        fixture_destroy(loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    return refused;
}

JZX_TEST(every_allocation_of_a_job_for_a_future_may_fail, "C+fail") {
    for (uint64_t count = 1; count != 0; count = count == 1 ? UINT64_MAX : 0) {
        uint64_t after = 0;
        while (play(after, count) != 0 || after < 20)
            after++;
        JZX_EXPECT(after < 1000);
    }
}
