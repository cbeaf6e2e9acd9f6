/* SPDX-License-Identifier: MIT */
/* Connects that end early: each returns its status and leaves no descriptor. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/future.h>
#include <jzx/unix.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DONE = 7, OTHER };

static struct {
    bool is_unix;
    char address[JZX_ADDRESS_MAX];
    jzx_listener listener;
    unsigned finished;
    unsigned cancelled;
} world;

static jzx_err connect_now(jzx_context *ctx, uint64_t deadline_ns, jzx_stream *stream) {
    return world.is_unix ? jzx_unix_connect(ctx, world.address, NULL, deadline_ns, stream)
                         : jzx_tcp_connect(ctx, world.address, NULL, deadline_ns, stream);
}

static jzx_err connect_to(jzx_context *ctx, jzx_op *op) {
    return world.is_unix ? jzx_unix_connect_to(ctx, world.address, NULL, DONE, op)
                         : jzx_tcp_connect_to(ctx, world.address, NULL, DONE, op);
}

static jzx_err connect_async(jzx_context *ctx, jzx_future **future) {
    return world.is_unix ? jzx_unix_connect_async(ctx->loop, world.address, NULL, ctx->self, future)
                         : jzx_tcp_connect_async(ctx->loop, world.address, NULL, ctx->self, future);
}

/* Fills the backlog, and accepts nothing. Linux has room for one more connection than the limit. */
static void open_full(jzx_context *ctx, jzx_stream connected[2]) {
    const jzx_listen_opts narrow = JZX_LISTEN_OPTS(.backlog = 1);
    if (world.is_unix) {
        snprintf(world.address, sizeof world.address, "@jzx-test-%d", (int)getpid());
        JZX_EXPECT_EQ(jzx_unix_listen(ctx, world.address, &narrow, &world.listener), JZX_OK);
    } else {
        JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", &narrow, &world.listener), JZX_OK);
        JZX_EXPECT_EQ(
            jzx_listener_address(ctx->loop, world.listener, world.address, sizeof world.address),
            JZX_OK);
    }
    for (unsigned i = 0; i < 2; i++)
        JZX_EXPECT_EQ(connect_now(ctx, JZX_NEVER, &connected[i]), JZX_OK);
}

static void cancel_operations(jzx_context *ctx, int before) {
    jzx_message msg;
    jzx_future *future;
    jzx_op op;
    JZX_EXPECT_EQ(connect_to(ctx, &op), JZX_OK);
    JZX_EXPECT_EQ(descriptors_open(), before + 1);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, op), JZX_OK);
    JZX_EXPECT_EQ(descriptors_open(), before);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    const jzx_result *result = msg.data;
    JZX_EXPECT_EQ(result->op, op);
    JZX_EXPECT_EQ(result->err, JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(result->len, 0);
    JZX_EXPECT_EQ(connect_async(ctx, &future), JZX_OK);
    JZX_EXPECT_EQ(descriptors_open(), before + 1);
    jzx_future_cancel(future);
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, NULL), JZX_ERR_CANCELLED);
    jzx_future_release(future);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static void connect_for_ever(jzx_context *ctx) {
    jzx_stream stream = 77;
    JZX_EXPECT_EQ(connect_now(ctx, JZX_NEVER, &stream), JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(stream, 77);
    world.cancelled++;
}

/* It waits when this returns. */
static jzx_actor_id begin_connect(jzx_context *ctx, jzx_fiber_fn fn) {
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_id id = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = fn));
    do {
        (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, id, &info), JZX_OK);
    } while (info.wait != JZX_WAIT_IO);
    return id;
}

static void stop_fiber(jzx_context *ctx, int before, jzx_stop_kind kind) {
    jzx_actor_id id = begin_connect(ctx, connect_for_ever);
    JZX_EXPECT_EQ(descriptors_open(), before + 1);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, kind), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static void connect_in_vain(jzx_context *ctx) {
    jzx_stream connected[2];
    jzx_stream accepted;
    jzx_stream stream = 77;
    open_full(ctx, connected);
    int before = descriptors_open();
    JZX_EXPECT_EQ(connect_now(ctx, jzx_in(ctx, JZX_MS(1)), &stream), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(stream, 77);
    JZX_EXPECT_EQ(descriptors_open(), before);
    cancel_operations(ctx, before);
    stop_fiber(ctx, before, JZX_STOP_AFTER_QUEUE);
    JZX_EXPECT_EQ(world.cancelled, 1);
    stop_fiber(ctx, before, JZX_STOP_KILL);
    JZX_EXPECT_EQ(world.cancelled, 1);
    /* The listener has the two connections, and no others. */
    for (unsigned i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx_listener_accept(ctx, world.listener, JZX_NEVER, &accepted), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_accept(ctx, world.listener, jzx_in(ctx, JZX_MS(1)), &stream),
                  JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(connect_now(ctx, JZX_NEVER, &stream), JZX_OK);
    world.finished++;
}

static void run_in_vain(bool is_unix) {
    int before = descriptors_open();
    memset(&world, 0, sizeof world);
    world.is_unix = is_unix;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = connect_in_vain));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(world.finished, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

JZX_TEST(a_connect_that_times_out_or_is_cancelled_leaves_no_descriptor) {
    run_in_vain(false);
}

JZX_TEST(a_connect_to_a_full_unix_backlog_that_ends_early_leaves_no_descriptor) {
    run_in_vain(true);
}

/* ---- a backlog that has room again ---- */

static void connect_late(jzx_context *ctx) {
    jzx_stream stream;
    JZX_EXPECT_EQ(connect_now(ctx, JZX_NEVER, &stream), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, stream, "late", 4, JZX_NEVER), JZX_OK);
    world.finished++;
}

/* A fiber, a message and a future wait for room. */
static void make_room(jzx_context *ctx) {
    jzx_stream connected[2];
    jzx_stream stream;
    jzx_message msg;
    jzx_future *future;
    jzx_op op;
    open_full(ctx, connected);
    JZX_EXPECT_EQ(connect_to(ctx, &op), JZX_OK);
    JZX_EXPECT_EQ(connect_async(ctx, &future), JZX_OK);
    jzx_actor_id id = begin_connect(ctx, connect_late);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, OTHER, jzx_in(ctx, JZX_MS(25)), &msg), JZX_ERR_TIMEOUT);
    /* All have tried again in vain, unless the machine is slow. */
    for (unsigned i = 0; i < 5; i++)
        JZX_EXPECT_EQ(jzx_listener_accept(ctx, world.listener, JZX_NEVER, &stream), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    const jzx_result *result = msg.data;
    JZX_EXPECT(result->op == op && result->err == JZX_OK && result->len == sizeof stream);
    memcpy(&stream, jzx_result_data(result), sizeof stream);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, stream), JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, &stream), JZX_OK);
    jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, stream), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    world.finished++;
}

JZX_TEST(a_connect_to_a_full_unix_backlog_waits_until_there_is_room) {
    memset(&world, 0, sizeof world);
    world.is_unix = true;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = make_room));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(world.finished, 2);
    fixture_destroy(loop);
}
