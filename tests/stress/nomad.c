/* SPDX-License-Identifier: MIT */
/* Loops of nomads (tests/nomad): their fibers return from each wait on another thread, and stay on
 * their worker. Built as optimised as the library, so that the compiler keeps what it may. */
#include "nomad.h"

#include "fixture.h"

#include <jzx/ask.h>
#include <jzx/context.h>
#include <jzx/fiber.h>
#include <jzx/future.h>
#include <jzx/sync.h>
#include <jzx/unix.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define FIBERS 12u

enum { ANSWER = 1, RESOLVE = 2, WORD = 3 };

static struct {
    jzx_actor_id helper; /* a behaviour */
    uint32_t rounds;
    _Atomic uint32_t left; /* fibers that are not done */
} stage;

/* The compiler takes pthread_self for a constant, and must not remember it over a wait. */
static __attribute__((noinline)) pthread_t thread_now(void) {
    __asm__ volatile("");
    return pthread_self();
}

static jzx_behavior_result help(jzx_context *ctx, const jzx_message *msg) {
    jzx_promise *promise;
    if (msg->tag == ANSWER) {
        JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, ANSWER), JZX_OK);
    } else if (msg->tag == RESOLVE) {
        memcpy(&promise, msg->data, sizeof promise);
        JZX_EXPECT_EQ(jzx_promise_resolve(promise, NULL), JZX_OK);
    }
    return atomic_load(&stage.left) == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* Where a fiber was before a wait. */
struct camp {
    pthread_t thread;
    uint32_t worker;
    bool is_bound;
};

static struct camp pitch(bool is_bound) {
    return (struct camp){thread_now(), jzx_current_worker(), is_bound};
}

static void expect_moved(struct camp *camp) {
    struct camp now = pitch(camp->is_bound);
    JZX_EXPECT_EQ(pthread_equal(now.thread, camp->thread) != 0, camp->is_bound);
    JZX_EXPECT_EQ(now.worker, camp->worker);
    *camp = now;
    jzx_test_ran();
}

/* A nomad moves also if there is nothing to wait for. */
static void wait_for_actors(jzx_context *ctx, struct camp *camp) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    expect_moved(camp);
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_US(20))), JZX_OK);
    expect_moved(camp);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, WORD), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    expect_moved(camp);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, WORD, 0, &msg), JZX_ERR_TIMEOUT);
    expect_moved(camp);
    JZX_EXPECT_EQ(jzx_call(ctx, stage.helper, NULL, 0, ANSWER, JZX_NEVER, &msg), JZX_OK);
    expect_moved(camp);
}

static void wait_for_objects(jzx_context *ctx, struct camp *camp) {
    jzx_promise *promise;
    jzx_future *future;
    jzx_mutex mutex;
    JZX_EXPECT_EQ(jzx_promise_create(ctx->loop, 0, &promise, &future), JZX_OK);
    JZX_EXPECT_EQ(
        jzx_send(ctx->loop, stage.helper, ctx->self, (void *)&promise, sizeof promise, RESOLVE),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, NULL), JZX_OK);
    expect_moved(camp);
    jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_mutex_init(ctx->loop, &mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_lock(ctx, &mutex, JZX_NEVER), JZX_OK);
    expect_moved(camp);
    JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_deinit(&mutex), JZX_OK);
}

static void wait_for_bytes(jzx_context *ctx, struct camp *camp, const jzx_stream pair[2]) {
    char byte = 0;
    size_t len = 0;
    JZX_EXPECT_EQ(jzx_stream_write(ctx, pair[1], "x", 1, JZX_NEVER), JZX_OK);
    expect_moved(camp);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], &byte, 1, JZX_NEVER, &len), JZX_OK);
    expect_moved(camp);
    JZX_EXPECT_EQ(byte, 'x');
}

static void end_fiber(jzx_context *ctx) {
    if (atomic_fetch_sub(&stage.left, 1) == 1)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, stage.helper, ctx->self, NULL, 0, WORD), JZX_OK);
}

static void travel(jzx_context *ctx) {
    struct camp camp = pitch(ctx->state != NULL);
    jzx_stream pair[2];
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    for (uint32_t i = 0; i < stage.rounds; i++) {
        wait_for_actors(ctx, &camp);
        wait_for_objects(ctx, &camp);
        wait_for_bytes(ctx, &camp, pair);
    }
    end_fiber(ctx);
}

/* A third of them are bound to their thread: these are no nomads. */
static void play(uint32_t workers, jzx_fiber_fn fn) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_non_null(loop);
    nomad_begin(loop);
    stage.left = FIBERS;
    stage.rounds = (uint32_t)jzx_test_rounds(30, 1000);
    stage.helper = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = help));
    for (uint32_t i = 0; i < FIBERS; i++)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn, .thread_bound = i % 3 == 0,
                                            .state = i % 3 == 0 ? &stage : NULL));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    nomad_end(loop);
}

JZX_TEST(nomads_return_from_each_wait_on_another_thread_of_their_worker) {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        uint64_t before = jzx_test_runs();
        play(workers, travel);
        assert_int_equal(jzx_test_runs() - before, FIBERS * stage.rounds * 9);
    }
}

/* ---- errno ---- */

/* Two calls that fail, with a wait behind each. With errno itself the compiler reads the address
 * once, and in every other round that of the wrong thread. */
static void fail_on_each_thread(jzx_context *ctx) {
    for (uint32_t i = 0; i < stage.rounds; i++) {
        JZX_EXPECT_EQ(close(-1), -1);
        JZX_EXPECT_EQ(jzx_errno(), EBADF);
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
        JZX_EXPECT_EQ(unlink(""), -1);
        JZX_EXPECT_EQ(jzx_errno(), ENOENT);
        JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_US(20))), JZX_OK);
        JZX_EXPECT_EQ(dup2(-1, -1), -1);
        JZX_EXPECT_EQ(jzx_errno(), EBADF);
        jzx_test_ran();
    }
    end_fiber(ctx);
}

JZX_TEST(the_errno_of_a_nomad_is_that_of_the_thread_that_runs) {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        uint64_t before = jzx_test_runs();
        play(workers, fail_on_each_thread);
        assert_int_equal(jzx_test_runs() - before, FIBERS * stage.rounds);
    }
}
