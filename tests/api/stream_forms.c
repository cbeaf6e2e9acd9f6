/* SPDX-License-Identifier: MIT */
/* The operations of streams by messages and by futures, in fibers, which can wait for either. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/future.h>
#include <jzx/unix.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DONE = 7, OTHER };

static unsigned finished;

static void run_fiber(jzx_fiber_fn fn) {
    jzx_loop *loop = fixture_loop();
    finished = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
}

static void make_pair(jzx_context *ctx, jzx_stream pair[2]) {
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
}

/* The next message is the result of that operation. */
static jzx_result expect_result(jzx_context *ctx, jzx_op op, jzx_err err, const void *data,
                                size_t len) {
    jzx_message msg;
    jzx_result result = {.op = JZX_NO_OP};
    if (!JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK))
        return result;
    JZX_EXPECT_EQ(msg.tag, DONE);
    memcpy(&result, msg.data, sizeof result);
    JZX_EXPECT_EQ(result.op, op);
    JZX_EXPECT_EQ(result.err, err);
    if (JZX_EXPECT_EQ(result.len, len) && data != NULL)
        JZX_EXPECT(memcmp(jzx_result_data(msg.data), data, len) == 0);
    return result;
}

/* ---- by messages ---- */

static void read_by_messages(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_op read;
    jzx_op write;
    make_pair(ctx, pair);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[0], 16, DONE, &read), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[0], 16, DONE, NULL), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[1], "hello", 5, DONE, &write), JZX_OK);
    expect_result(ctx, write, JZX_OK, NULL, 0);
    expect_result(ctx, read, JZX_OK, "hello", 5);

    JZX_EXPECT_EQ(jzx_stream_read_exact_to(ctx, pair[0], 6, DONE, &read), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "abc", 3), JZX_OK);
    (void)jzx_yield(ctx);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, read), JZX_OK);
    expect_result(ctx, read, JZX_ERR_CANCELLED, NULL, 0);
    JZX_EXPECT_EQ(jzx_stream_read_exact_to(ctx, pair[0], 6, DONE, &read), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "def\nrest", 8), JZX_OK);
    expect_result(ctx, read, JZX_OK, "abcdef", 6);
    JZX_EXPECT_EQ(jzx_stream_read_until_to(ctx, pair[0], '\n', 8, DONE, &read), JZX_OK);
    expect_result(ctx, read, JZX_OK, "\n", 1);
    JZX_EXPECT_EQ(jzx_stream_read_until_to(ctx, pair[0], '\n', 4, DONE, &read), JZX_OK);
    expect_result(ctx, read, JZX_ERR_TOO_LONG, NULL, 0);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[0], 3, DONE, &read), JZX_OK);
    expect_result(ctx, read, JZX_OK, "res", 3);
    JZX_EXPECT_EQ(jzx_stream_read_exact_to(ctx, pair[0], 2, DONE, &read), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_shutdown_to(ctx, pair[1], DONE, &write), JZX_OK);
    expect_result(ctx, write, JZX_OK, NULL, 0);
    expect_result(ctx, read, JZX_ERR_END, NULL, 0);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[1], 3, DONE, &read), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[1]), JZX_OK);
    expect_result(ctx, read, JZX_ERR_CLOSED, NULL, 0);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[1], 3, DONE, &read), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[0], 0, DONE, &read), JZX_ERR_INVALID_ARG);
    finished++;
}

JZX_TEST(reads_complete_by_messages_with_their_data) {
    run_fiber(read_by_messages);
}

#define FILE_SIZE 300000u

static int make_file(void) {
    char path[] = "/tmp/jzx_stream_XXXXXX";
    int fd = mkstemp(path);
    char *data = malloc(FILE_SIZE);
    memset(data, 'f', FILE_SIZE);
    JZX_EXPECT_EQ(write(fd, data, FILE_SIZE), FILE_SIZE);
    JZX_EXPECT_EQ(unlink(path), 0);
    free(data);
    return fd;
}

static size_t read_all(jzx_context *ctx, jzx_stream stream, size_t size) {
    char buf[4096];
    size_t all = 0;
    size_t len;
    while (all < size && jzx_stream_read(ctx, stream, buf, sizeof buf, JZX_NEVER, &len) == JZX_OK)
        all += len;
    return all;
}

static void write_by_messages(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_op write;
    char first[] = "ab";
    char last[] = "cd";
    const struct iovec parts[2] = {{first, 2}, {last, 2}};
    int fd = make_file();
    const uint64_t half = FILE_SIZE / 2;
    make_pair(ctx, pair);
    char *moved = jzx_msg_alloc(ctx->loop, 5, NULL);
    memcpy(moved, "moved", 5);
    JZX_EXPECT_EQ(jzx_stream_write_msg_to(ctx, pair[0], moved, DONE, &write), JZX_OK);
    expect_result(ctx, write, JZX_OK, NULL, 0);
    JZX_EXPECT_EQ(jzx_stream_write_msg_to(ctx, pair[0], first, DONE, &write), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_stream_writev_to(ctx, pair[0], parts, 2, DONE, &write), JZX_OK);
    expect_result(ctx, write, JZX_OK, NULL, 0);
    JZX_EXPECT_EQ(read_all(ctx, pair[1], 9), 9);
    JZX_EXPECT_EQ(
        jzx_stream_sendfile_to(ctx, pair[0], fd, FILE_SIZE - half, FILE_SIZE, DONE, &write),
        JZX_OK);
    JZX_EXPECT_EQ(read_all(ctx, pair[1], half), half);
    expect_result(ctx, write, JZX_OK, &half, sizeof half);
    JZX_EXPECT_EQ(close(fd), 0);
    finished++;
}

JZX_TEST(writes_complete_by_messages) {
    run_fiber(write_by_messages);
}

static void send_a_file(jzx_context *ctx) {
    const jzx_stream *stream = ctx->state;
    int fd = make_file();
    size_t sent = 0;
    JZX_EXPECT_EQ(jzx_stream_sendfile(ctx, *stream, fd, 0, FILE_SIZE, JZX_NEVER, &sent), JZX_OK);
    JZX_EXPECT_EQ(sent, FILE_SIZE);
    JZX_EXPECT_EQ(close(fd), 0);
    finished++;
}

static void take_a_file(jzx_context *ctx) {
    jzx_stream pair[2];
    make_pair(ctx, pair);
    jzx_actor_id sender =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = send_a_file, .state = &pair[0]));
    JZX_EXPECT_EQ(read_all(ctx, pair[1], FILE_SIZE), FILE_SIZE);
    JZX_EXPECT_EQ(jzx_join(ctx, sender, JZX_NEVER, NULL), JZX_OK);
}

JZX_TEST(a_fiber_sends_a_file_through_a_stream_of_another_actor) {
    run_fiber(take_a_file);
}

/* ---- by futures ---- */

struct read_value {
    jzx_result result;
    char data[16];
};

static void await_all(jzx_context *ctx, jzx_stream pair[2]) {
    struct read_value value;
    jzx_future *read;
    jzx_future *write;
    JZX_EXPECT_EQ(jzx_stream_read_async(ctx->loop, pair[0], 16, &read), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write_async(ctx->loop, pair[1], "hello", 5, &write), JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, write, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, read, JZX_NEVER, &value), JZX_OK);
    JZX_EXPECT(value.result.len == 5 && memcmp(value.data, "hello", 5) == 0);
    jzx_future_release(read);
    jzx_future_release(write);
    JZX_EXPECT_EQ(jzx_stream_read_exact_async(ctx->loop, pair[0], 16, &read), JZX_OK);
    jzx_future_cancel(read);
    JZX_EXPECT_EQ(jzx_await(ctx, read, JZX_NEVER, NULL), JZX_ERR_CANCELLED);
    jzx_future_release(read);
    JZX_EXPECT_EQ(jzx_stream_read_until_async(ctx->loop, pair[0], '!', 16, &read), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_shutdown_async(ctx->loop, pair[1], &write), JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, write, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, read, JZX_NEVER, NULL), JZX_ERR_END);
    jzx_future_release(read);
    jzx_future_release(write);
}

static void use_futures(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_future *read;
    make_pair(ctx, pair);
    await_all(ctx, pair);
    JZX_EXPECT_EQ(jzx_stream_read_async(ctx->loop, pair[1], 16, &read), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_await(ctx, read, JZX_NEVER, NULL), JZX_ERR_CLOSED);
    jzx_future_release(read);
    finished++;
}

JZX_TEST(streams_complete_futures, "E54", "E55") {
    run_fiber(use_futures);
}

/* A thread that is no worker. */
struct caller {
    jzx_loop *loop;
    char address[JZX_ADDRESS_MAX];
    jzx_actor_id owner;
};

static void *call_from_thread(void *arg) {
    const struct caller *caller = arg;
    struct read_value value;
    jzx_stream stream = JZX_NO_STREAM;
    jzx_future *future;
    JZX_EXPECT_EQ(
        jzx_tcp_connect_async(caller->loop, caller->address, NULL, caller->owner, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, &stream), JZX_OK);
    jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_stream_write_async(caller->loop, stream, "ping", 4, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, NULL), JZX_OK);
    jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_stream_read_exact_async(caller->loop, stream, 4, &future), JZX_OK);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, &value), JZX_OK);
    JZX_EXPECT(memcmp(value.data, "ping", 4) == 0);
    jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_stream_close(caller->loop, stream), JZX_OK);
    return NULL;
}

/* Accepts by a future, too, which gives the stream to this actor. */
static void answer_thread(jzx_context *ctx) {
    struct caller caller = {.loop = ctx->loop, .owner = ctx->self};
    jzx_listener listener;
    jzx_stream stream;
    jzx_future *future;
    pthread_t thread;
    char buf[8];
    size_t len;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, listener, caller.address, sizeof caller.address),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_accept_async(ctx->loop, listener, &future), JZX_OK);
    JZX_EXPECT_EQ(pthread_create(&thread, NULL, call_from_thread, &caller), 0);
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, &stream), JZX_OK);
    jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, stream, buf, sizeof buf, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, stream, buf, len, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, stream, buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_END);
    JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    finished++;
}

JZX_TEST(a_thread_that_is_no_worker_talks_over_a_stream, "E54") {
    run_fiber(answer_thread);
}

/* ---- accept and connect by messages; Unix sockets ---- */

static jzx_stream expect_stream(jzx_context *ctx, jzx_op op) {
    jzx_message msg;
    jzx_stream stream = JZX_NO_STREAM;
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    const jzx_result *result = msg.data;
    JZX_EXPECT_EQ(result->op, op);
    if (JZX_EXPECT_EQ(result->err, JZX_OK) && JZX_EXPECT_EQ(result->len, sizeof stream))
        memcpy(&stream, jzx_result_data(result), sizeof stream);
    return stream;
}

static void connect_by_messages(jzx_context *ctx) {
    char path[64];
    char text[JZX_ADDRESS_MAX];
    jzx_listener listener;
    jzx_listener second;
    jzx_op accept;
    jzx_op connect;
    snprintf(path, sizeof path, "/tmp/jzx_stream_%d.sock", (int)getpid());
    JZX_EXPECT_EQ(jzx_unix_connect_to(ctx, path, NULL, DONE, &connect), JZX_OK);
    JZX_EXPECT_EQ(expect_result(ctx, connect, JZX_ERR_NOT_FOUND, NULL, 0).os_error, ENOENT);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, path, &JZX_LISTEN_OPTS(.mode = 0600), &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, path, NULL, &second), JZX_ERR_ADDRESS_IN_USE);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), EADDRINUSE);
    JZX_EXPECT_EQ(jzx_unix_accept_to(ctx, listener, DONE, &accept), JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_connect_to(ctx, path, NULL, DONE, &connect), JZX_OK);
    jzx_stream mine = expect_stream(ctx, connect);
    jzx_stream theirs = expect_stream(ctx, accept);
    JZX_EXPECT_EQ(jzx_stream_peer(ctx->loop, mine, text, sizeof text), JZX_OK);
    JZX_EXPECT(strcmp(text, path) == 0);
    JZX_EXPECT_EQ(jzx_stream_set_nodelay(ctx->loop, mine, true), JZX_ERR_UNSUPPORTED);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, mine, "x", 1), JZX_OK);
    JZX_EXPECT_EQ(read_all(ctx, theirs, 1), 1);
    JZX_EXPECT_EQ(jzx_unix_accept_to(ctx, listener, DONE, &accept), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK);
    expect_result(ctx, accept, JZX_ERR_CLOSED, NULL, 0);
    JZX_EXPECT_EQ(access(path, F_OK), -1);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, theirs), JZX_OK);
    JZX_EXPECT_EQ(jzx_unix_accept_to(ctx, theirs, DONE, &accept), JZX_ERR_CLOSED);
    finished++;
}

JZX_TEST(unix_sockets_are_accepted_and_connected_by_messages) {
    run_fiber(connect_by_messages);
}

static void settings(jzx_context *ctx) {
    jzx_listener listener;
    jzx_stream stream;
    char address[JZX_ADDRESS_MAX];
    char text[JZX_ADDRESS_MAX];
    jzx_op accept;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "nonsense", NULL, &listener), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "192.0.2.1:1", NULL, &listener), JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "[::1]:0", NULL, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, listener, address, sizeof address), JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_accept_to(ctx, listener, DONE, &accept), JZX_OK);
    JZX_EXPECT_EQ(
        jzx_tcp_connect(ctx, address, &JZX_CONNECT_OPTS(.local = "[::1]:0"), JZX_NEVER, &stream),
        JZX_OK);
    (void)expect_stream(ctx, accept);
    JZX_EXPECT_EQ(jzx_stream_peer(ctx->loop, stream, text, sizeof text), JZX_OK);
    JZX_EXPECT(strcmp(text, address) == 0);
    JZX_EXPECT_EQ(jzx_stream_local(ctx->loop, stream, text, 3), JZX_ERR_TOO_LONG);
    JZX_EXPECT_EQ(jzx_stream_set_nodelay(ctx->loop, stream, false), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_set_keepalive(ctx->loop, stream, JZX_SECOND(30), JZX_SECOND(5), 3),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_set_linger(ctx->loop, stream, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_close(ctx->loop, listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_tcp_connect(ctx, address, NULL, JZX_NEVER, &stream), JZX_ERR_REFUSED);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ECONNREFUSED);
    finished++;
}

JZX_TEST(addresses_and_settings_of_a_stream) {
    run_fiber(settings);
}
