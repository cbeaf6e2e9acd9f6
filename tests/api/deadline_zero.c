/* SPDX-License-Identifier: MIT */
/* A deadline of 0 polls: every call that waits returns at once, with what is there or a timeout,
 * and the fiber does not give up its turn. The clock stands still: no slice of time ends. */
#include "timing.h"

#include <jzx/fiber.h>
#include <jzx/future.h>
#include <jzx/sync.h>

/* Sent to itself by whoever would run if the poller gave up its turn. */
static uint32_t others_ran;

static jzx_behavior_result run_meanwhile(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    others_ran++;
    return JZX_BEHAVIOR_OK;
}

struct polled {
    jzx_actor_id other;
    jzx_actor_id holder; /* a fiber that has the mutex and waits */
    jzx_future *pending;
    jzx_future *ready;
    jzx_channel channel;
    jzx_mutex mutex;
    jzx_semaphore semaphore;
    jzx_gate gate;
};

static bool is_any(void *arg, const jzx_message *msg) {
    (void)arg;
    (void)msg;
    return true;
}

static void poll_messages(jzx_context *ctx, const struct polled *p) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 5, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_receive_from(ctx, p->other, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_receive_match(ctx, is_any, NULL, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_call(ctx, p->other, NULL, 0, 1, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_join(ctx, p->other, 0, NULL), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 5), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, 5);
}

static void poll_objects(jzx_context *ctx, struct polled *p) {
    int value = 0;
    JZX_EXPECT_EQ(jzx_await(ctx, p->pending, 0, &value), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_await(ctx, p->ready, 0, &value), JZX_OK);
    JZX_EXPECT_EQ(value, 42);
    JZX_EXPECT_EQ(jzx_channel_receive(ctx, &p->channel, 0, &value), JZX_ERR_TIMEOUT);
    value = 43;
    JZX_EXPECT_EQ(jzx_channel_send(ctx, &p->channel, &value, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_channel_send(ctx, &p->channel, &value, 0), JZX_ERR_TIMEOUT); /* it is full */
    JZX_EXPECT_EQ(jzx_channel_receive(ctx, &p->channel, 0, &value), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_lock(ctx, &p->mutex, 0), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_semaphore_acquire(ctx, &p->semaphore, 2, 0), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_semaphore_acquire(ctx, &p->semaphore, 1, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_pass(ctx, &p->gate, 0), JZX_ERR_TIMEOUT);
}

static void poll_all(jzx_context *ctx) {
    struct polled *p = ctx->state;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_send(ctx->loop, p->other, JZX_NOBODY, NULL, 0, 1), JZX_OK);
    poll_messages(ctx, p);
    poll_objects(ctx, p);
    JZX_EXPECT_EQ(others_ran, 0); /* nobody else had a turn */
}

static void hold_mutex(jzx_context *ctx) {
    struct polled *p = ctx->state;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_mutex_lock(ctx, &p->mutex, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &p->mutex), JZX_OK);
}

JZX_TEST(a_deadline_of_zero_polls_in_every_call_that_waits, "X7") {
    static struct polled p;
    jzx_promise *promise = NULL;
    const int value = 42;
    int got = 0;
    others_ran = 0;
    struct timing timing = timing_open_with(0, &JZX_CONFIG(.workers = 1));
    jzx_loop *loop = timing.loop;
    JZX_EXPECT_EQ(jzx_promise_create(loop, sizeof value, &promise, &p.pending), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_resolved(loop, &value, sizeof value, &p.ready), JZX_OK);
    JZX_EXPECT_EQ(jzx_channel_init(loop, &p.channel, 1, sizeof value), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_init(loop, &p.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_init(loop, &p.semaphore, 1, 2), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_init(loop, &p.gate, false), JZX_OK);
    p.holder = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = hold_mutex, .state = &p));
    timing_step(&timing);
    p.other = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = run_meanwhile));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = poll_all, .state = &p));
    JZX_EXPECT_EQ(jzx_future_wait(p.pending, 0, &got), JZX_ERR_TIMEOUT); /* a thread */
    JZX_EXPECT_EQ(jzx_future_wait(p.ready, 0, &got), JZX_OK);
    JZX_EXPECT_EQ(jzx_channel_receive_wait(&p.channel, 0, &got), JZX_ERR_TIMEOUT);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT(others_ran > 0);
    fixture_send(loop, p.holder, 1);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_promise_resolve(promise, &value), JZX_OK);
    jzx_future_release(p.pending);
    jzx_future_release(p.ready);
    JZX_EXPECT_EQ(jzx_channel_deinit(&p.channel), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_deinit(&p.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_deinit(&p.semaphore), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_deinit(&p.gate), JZX_OK);
    timing_close(&timing);
}
