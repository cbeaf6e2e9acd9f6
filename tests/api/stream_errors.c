/* SPDX-License-Identifier: MIT */
/* The errno behind an error of a stream, in each form, and the memory of closed streams. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/future.h>
#include <jzx/unix.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DONE = 7 };

static unsigned finished;

static void run_fiber(jzx_fiber_fn fn) {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    finished = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

static void expect_result(jzx_context *ctx, jzx_op op, jzx_err err, int os_error) {
    jzx_message msg;
    if (!JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK))
        return;
    const jzx_result *result = msg.data;
    JZX_EXPECT_EQ(result->op, op);
    JZX_EXPECT_EQ(result->err, err);
    JZX_EXPECT_EQ(result->os_error, os_error);
}

/* ---- what the system said ---- */

static jzx_listener listen_here(jzx_context *ctx, char address[JZX_ADDRESS_MAX]) {
    jzx_listener listener = 0;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, listener, address, JZX_ADDRESS_MAX), JZX_OK);
    return listener;
}

/* A stream whose peer has reset the connection; no call has noticed that yet. */
static jzx_stream open_broken(jzx_context *ctx) {
    char address[JZX_ADDRESS_MAX];
    jzx_listener listener = listen_here(ctx, address);
    jzx_stream mine = JZX_NO_STREAM;
    jzx_stream theirs;
    JZX_EXPECT_EQ(jzx_tcp_connect(ctx, address, NULL, JZX_NEVER, &mine), JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_accept(ctx, listener, JZX_NEVER, &theirs), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_set_linger(ctx->loop, theirs, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, theirs), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK);
    return mine;
}

/* Sets the errno of the actor to another one. */
static void fail_otherwise(jzx_context *ctx) {
    jzx_stream stream;
    char path[64];
    snprintf(path, sizeof path, "/tmp/jzx_errors_%d.none", (int)getpid());
    JZX_EXPECT_EQ(jzx_unix_connect(ctx, path, NULL, JZX_NEVER, &stream), JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ENOENT);
}

static void break_streams(jzx_context *ctx) {
    jzx_stream stream;
    char buf[8];
    size_t len;
    jzx_op op;
    fail_otherwise(ctx);
    stream = open_broken(ctx);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ENOENT); /* success changes nothing */
    JZX_EXPECT_EQ(jzx_stream_read(ctx, stream, buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_RESET);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ECONNRESET);
    fail_otherwise(ctx);
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, stream, buf, 4, JZX_NEVER), JZX_ERR_RESET);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ECONNRESET);
    fail_otherwise(ctx); /* the reset breaks both sides */
    JZX_EXPECT_EQ(jzx_stream_write(ctx, stream, "x", 1, JZX_NEVER), JZX_ERR_RESET);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ECONNRESET);
    fail_otherwise(ctx);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, stream, "x", 1), JZX_ERR_RESET);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ECONNRESET);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, stream, 8, DONE, &op), JZX_OK);
    expect_result(ctx, op, JZX_ERR_RESET, ECONNRESET);

    stream = open_broken(ctx);
    JZX_EXPECT_EQ(jzx_stream_read_exact_to(ctx, stream, 8, DONE, &op), JZX_OK);
    expect_result(ctx, op, JZX_ERR_RESET, ECONNRESET);
    stream = open_broken(ctx);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, stream, "x", 1, DONE, &op), JZX_ERR_RESET);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, stream, buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_RESET);
    stream = open_broken(ctx);
    fail_otherwise(ctx);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, stream, "x", 1, JZX_NEVER), JZX_ERR_RESET);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ECONNRESET);
    fail_otherwise(ctx); /* here, too */
    JZX_EXPECT_EQ(jzx_stream_read(ctx, stream, buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_RESET);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ECONNRESET);
    finished++;
}

JZX_TEST(the_errno_of_a_broken_connection_is_told_in_each_form) {
    run_fiber(break_streams);
}

/* One edge reports the data and the end; no other follows. */
static void end_behind_data(jzx_context *ctx) {
    jzx_stream pair[2];
    char buf[16];
    size_t len;
    jzx_message msg;
    for (unsigned i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], buf, sizeof buf, 0, &len), JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "abc", 3), JZX_OK);
        JZX_EXPECT_EQ(i == 0 ? jzx_stream_shutdown(ctx, pair[1], JZX_NEVER)
                             : jzx_stream_close(ctx->loop, pair[1]),
                      JZX_OK);
        JZX_EXPECT_EQ(jzx_receive(ctx, jzx_in(ctx, JZX_MS(1)), &msg), JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], buf, sizeof buf, JZX_NEVER, &len), JZX_OK);
        JZX_EXPECT_EQ(len, 3);
        JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_END);
    }
    finished++;
}

JZX_TEST(the_end_that_came_with_the_last_data_is_read_behind_them) {
    run_fiber(end_behind_data);
}

/* The end is no error of the system. */
static void end_streams(jzx_context *ctx) {
    jzx_stream pair[2];
    char buf[8];
    size_t len;
    jzx_op op;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[1]), JZX_OK);
    fail_otherwise(ctx);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_END);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ENOENT);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[0], 8, DONE, &op), JZX_OK);
    expect_result(ctx, op, JZX_ERR_END, 0);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, pair[0], "x", 1, JZX_NEVER), JZX_ERR_RESET);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), EPIPE);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_END);
    finished++;
}

JZX_TEST(the_end_of_a_stream_has_no_errno_and_a_write_to_nobody_has) {
    run_fiber(end_streams);
}

/* ---- memory ---- */

#define TIMES 1500u

static void *close_all(void *arg) {
    const jzx_stream *streams = arg;
    jzx_loop *loop = (jzx_loop *)(uintptr_t)streams[0];
    for (unsigned i = 1; i <= 8; i++)
        JZX_EXPECT_EQ(jzx_stream_close(loop, streams[i]), JZX_OK);
    return NULL;
}

/* What a stream has when it is closed: it is active, and its queue is above HIGH; it has read more
 * than was asked for; or a read is pending. */
static void use_stream(jzx_context *ctx, const jzx_stream pair[2], unsigned how) {
    static const char piece[2000];
    char buf[4];
    jzx_err err = JZX_OK;
    switch (how % 3) {
    case 0:
        JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DONE, 1), JZX_OK);
        while (err == JZX_OK)
            err = jzx_stream_send(ctx, pair[0], piece, sizeof piece);
        JZX_EXPECT_EQ(err, JZX_ERR_FULL);
        break;
    case 1:
        JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "ab", 2), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, pair[0], buf, 4, 0), JZX_ERR_TIMEOUT);
        break;
    default:
        for (unsigned i = 0; i < 8; i++) {
            JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DONE, 1), JZX_OK);
            JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DONE, 0), JZX_OK);
        }
        JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[0], 8, DONE, NULL), JZX_OK);
    }
}

/* The owner closes them, or now and then a thread that is no worker. */
static void open_often(jzx_context *ctx) {
    const jzx_stream_opts opts = JZX_STREAM_OPTS(.queue_max = 4000, .send_buffer = 1);
    uint64_t bytes = 0;
    jzx_message msg;
    jzx_stream streams[9] = {(uintptr_t)ctx->loop};
    for (unsigned i = 0; i < TIMES; i++) {
        if (i == TIMES / 2)
            bytes = fixture_bytes();
        for (unsigned k = 1; k <= 8; k += 2)
            JZX_EXPECT_EQ(jzx_unix_pair(ctx, &opts, &streams[k]), JZX_OK);
        for (unsigned k = 1; k <= 8; k += 2)
            use_stream(ctx, &streams[k], i + k / 2);
        pthread_t thread;
        bool by_thread = i % 10 == 0;
        JZX_EXPECT_EQ(by_thread ? pthread_create(&thread, NULL, close_all, streams) : 0, 0);
        if (by_thread)
            JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
        else
            (void)close_all(streams);
        while (jzx_receive(ctx, 0, &msg) == JZX_OK) /* takes the closes in */
            continue;
    }
    JZX_EXPECT(fixture_bytes() <= bytes);
    finished++;
}

JZX_TEST(an_actor_that_opens_and_closes_streams_needs_no_more_memory) {
    run_fiber(open_often);
}
