/* SPDX-License-Identifier: MIT */
/* Threads that resolve, cancel, wait and release at the same time, and fibers that await: each
 * future is settled once, all who read it read the same, and no memory is left. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/future.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define FUTURES 400u
#define FIBERS 4u
#define THREADS 3u

struct arena {
    jzx_loop *loop;
    jzx_promise *promises[FUTURES];
    jzx_future *futures[FUTURES];
    atomic_uint resolved; /* by who resolves: those that it was the first to settle */
    atomic_uint cancelled;
    atomic_uint read_values;
    atomic_uint read_cancels;
    atomic_uint wrong;
};

static void count_read(struct arena *arena, uint32_t index, jzx_err err, uint64_t value) {
    if (err == JZX_OK && value == index)
        atomic_fetch_add(&arena->read_values, 1);
    else if (err == JZX_ERR_CANCELLED)
        atomic_fetch_add(&arena->read_cancels, 1);
    else
        atomic_fetch_add(&arena->wrong, 1);
}

static void await_all(jzx_context *ctx) {
    struct arena *arena = ctx->state;
    for (uint32_t i = 0; i < FUTURES; i++) {
        uint64_t value = 0;
        jzx_err err = jzx_await(ctx, arena->futures[i], JZX_NEVER, &value);
        count_read(arena, i, err, value);
    }
}

static void *resolve_all(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = 0; i < FUTURES; i++) {
        uint64_t value = i;
        jzx_err err = jzx_promise_resolve(arena->promises[i], &value);
        atomic_fetch_add(err == JZX_OK ? &arena->resolved : &arena->cancelled, 1);
    }
    return NULL;
}

static void *cancel_some(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = 0; i < FUTURES; i += 3)
        jzx_future_cancel(arena->futures[i]);
    return NULL;
}

static void *wait_for_all(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = 0; i < FUTURES; i++) {
        uint64_t value = 0;
        jzx_future *future = jzx_future_ref(arena->futures[i]);
        jzx_err err = jzx_future_wait(future, JZX_NEVER, &value);
        count_read(arena, i, err, value);
        jzx_future_release(future);
    }
    return NULL;
}

JZX_TEST(threads_and_fibers_settle_and_read_the_same_futures) {
    static void *(*const roles[THREADS])(void *) = {resolve_all, cancel_some, wait_for_all};
    jzx_config config = {.size = sizeof config, .workers = 2};
    struct arena arena;
    pthread_t threads[THREADS];
    memset(&arena, 0, sizeof arena);
    arena.loop = fixture_loop_with(&config);
    for (uint32_t i = 0; i < FUTURES; i++)
        assert_int_equal(
            jzx_promise_create(arena.loop, sizeof(uint64_t), &arena.promises[i], &arena.futures[i]),
            JZX_OK);
    for (uint32_t i = 0; i < FIBERS; i++)
        fixture_spawn(arena.loop, &JZX_SPAWN_OPTS(.fiber = await_all, .state = &arena));
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, roles[i], &arena), 0);
    assert_int_equal(jzx_loop_run(arena.loop), JZX_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(arena.wrong, 0);
    assert_int_equal(arena.resolved + arena.cancelled, FUTURES);
    assert_int_equal(arena.read_values, arena.resolved * (FIBERS + 1));
    assert_int_equal(arena.read_cancels, arena.cancelled * (FIBERS + 1));
    for (uint32_t i = 0; i < FUTURES; i++)
        jzx_future_release(arena.futures[i]);
    fixture_destroy(arena.loop);
}

/* ---- promises that are kept while their loop goes ---- */

static void *keep_late(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = 0; i < FUTURES; i++) {
        uint64_t value = i;
        jzx_err err = jzx_promise_resolve(arena->promises[i], &value);
        if (err != JZX_OK && err != JZX_ERR_LOOP_CLOSED)
            atomic_fetch_add(&arena->wrong, 1);
    }
    return NULL;
}

static void *wait_late(void *arg) {
    struct arena *arena = arg;
    for (uint32_t i = 0; i < FUTURES; i++) {
        uint64_t value = 0;
        jzx_err err = jzx_future_wait(arena->futures[i], JZX_NEVER, &value);
        if (!(err == JZX_OK && value == i) && err != JZX_ERR_LOOP_CLOSED)
            atomic_fetch_add(&arena->wrong, 1);
        jzx_future_release(arena->futures[i]);
    }
    return NULL;
}

JZX_TEST(a_loop_goes_while_threads_settle_and_wait) {
    uint64_t bytes = fixture_bytes();
    for (uint32_t round = 0; round < 20; round++) {
        struct arena arena;
        pthread_t threads[2];
        memset(&arena, 0, sizeof arena);
        arena.loop = fixture_loop();
        for (uint32_t i = 0; i < FUTURES; i++)
            assert_int_equal(jzx_promise_create(arena.loop, sizeof(uint64_t), &arena.promises[i],
                                                &arena.futures[i]),
                             JZX_OK);
        assert_int_equal(pthread_create(&threads[0], NULL, keep_late, &arena), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, wait_late, &arena), 0);
        jzx_loop_destroy(arena.loop);
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(arena.wrong, 0);
        assert_int_equal(fixture_bytes(), bytes);
    }
}
