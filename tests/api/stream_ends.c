/* SPDX-License-Identifier: MIT */
/* Ends: of owners, of fibers that wait, of loops, of idle streams; each thing completes once. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/tcp.h>
#include <jzx/unix.h>

#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DONE = 7, GO };

static unsigned finished;

static unsigned count_descriptors(void) {
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir != NULL)
        (void)closedir(dir);
    return count;
}

static void run_with(const jzx_config *config, jzx_fiber_fn fn) {
    unsigned before = count_descriptors();
    jzx_loop *loop = fixture_loop_with(config);
    finished = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(count_descriptors(), before);
}

/* ---- what waits when a stream is closed ---- */

struct waiting {
    jzx_stream stream;
    void (*wait)(jzx_context *ctx, const struct waiting *waiting);
    jzx_err wanted;
    bool has_begun;
};

static char much[1 << 20];

static void wait_reading(jzx_context *ctx, const struct waiting *waiting) {
    char buf[4];
    size_t len;
    JZX_EXPECT_EQ(jzx_stream_read(ctx, waiting->stream, buf, sizeof buf, JZX_NEVER, &len),
                  waiting->wanted);
}

static void wait_writing(jzx_context *ctx, const struct waiting *waiting) {
    JZX_EXPECT_EQ(jzx_stream_write(ctx, waiting->stream, much, sizeof much, JZX_NEVER),
                  waiting->wanted);
}

/* Behind a write that is in the queue. */
static void wait_in_line(jzx_context *ctx, const struct waiting *waiting) {
    JZX_EXPECT_EQ(jzx_stream_send(ctx, waiting->stream, much, sizeof much), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_shutdown(ctx, waiting->stream, JZX_NEVER), waiting->wanted);
}

static void wait_somehow(jzx_context *ctx) {
    struct waiting *waiting = ctx->state;
    waiting->has_begun = true;
    waiting->wait(ctx, waiting);
    JZX_EXPECT(waiting->wanted != JZX_OK);
}

static void (*const waits[])(jzx_context *ctx, const struct waiting *waiting) = {
    wait_reading, wait_writing, wait_in_line};

static jzx_actor_id begin_wait(jzx_context *ctx, struct waiting *waiting) {
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = wait_somehow, .state = waiting));
    do {
        (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, id, &info), JZX_OK);
    } while (info.wait != JZX_WAIT_IO);
    JZX_EXPECT_EQ(info.wait_object, waiting->stream);
    return id;
}

static void close_under_waits(jzx_context *ctx) {
    for (unsigned i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        jzx_stream pair[2];
        JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
        struct waiting waiting = {pair[0], waits[i], JZX_ERR_CLOSED, false};
        jzx_actor_id id = begin_wait(ctx, &waiting);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[0]), JZX_OK);
        JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[1]), JZX_OK);
    }
    finished++;
}

JZX_TEST(a_close_ends_every_wait_with_closed_and_waits_are_shown_as_io, "E11", "E54") {
    run_with(&JZX_CONFIG(.workers = 1), close_under_waits);
}

/* Killed while it waits: others go on, unless a part of a write is out. */
static void kill_waiters(jzx_context *ctx) {
    for (unsigned i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        jzx_stream pair[2];
        char buf[4];
        JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
        struct waiting waiting = {pair[0], waits[i], JZX_ERR_CLOSED, false};
        jzx_actor_id id = begin_wait(ctx, &waiting);
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL), JZX_OK);
        JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
        jzx_err err = jzx_stream_send(ctx, pair[0], "x", 1);
        JZX_EXPECT_EQ(err, i == 1 ? JZX_ERR_INVALID_STATE : JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "abcd", 4), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, pair[0], buf, 4, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[0]), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[1]), JZX_OK);
    }
    finished++;
}

JZX_TEST(a_fiber_that_is_killed_while_it_waits_leaves_the_stream_in_order) {
    run_with(&JZX_CONFIG(.workers = 1), kill_waiters);
}

/* ---- the end of an owner ---- */

/* Has a listener, streams with pending operations, and ends. */
static jzx_behavior_result own_much(jzx_context *ctx, const jzx_message *msg) {
    jzx_stream *to = ctx->state;
    jzx_stream pair[2];
    jzx_listener listener;
    jzx_op op;
    jzx_test_ran();
    if (msg->tag == GO) {
        JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &listener), JZX_OK);
        JZX_EXPECT_EQ(jzx_tcp_accept_to(ctx, listener, DONE, &op), JZX_OK);
        JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_read_to(ctx, pair[0], 100, DONE, &op), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], much, sizeof much, DONE, &op), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_shutdown_to(ctx, pair[0], DONE, &op), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[1], DONE, 0), JZX_OK);
        JZX_EXPECT_EQ(jzx_tcp_connect_to(ctx, "192.0.2.1:9", NULL, DONE, &op), JZX_OK);
        to[0] = pair[0];
        to[1] = pair[1];
    }
    return JZX_BEHAVIOR_OK;
}

static void end_owner(jzx_context *ctx) {
    jzx_stream streams[2] = {0, 0};
    char buf[4];
    size_t len;
    jzx_actor_id id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = own_much, .state = streams));
    fixture_send(ctx->loop, id, GO);
    while (streams[1] == 0)
        (void)jzx_yield(ctx);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, streams[0], buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, streams[0], buf, sizeof buf, JZX_NEVER, &len),
                  JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, streams[1], "x", 1, JZX_NEVER), JZX_ERR_CLOSED);
    finished++;
}

JZX_TEST(what_an_actor_owns_is_closed_when_it_ends) {
    run_with(&JZX_CONFIG(.workers = 1), end_owner);
}

static jzx_behavior_result stop_loop(jzx_context *ctx, const jzx_message *msg) {
    jzx_behavior_result result = own_much(ctx, msg);
    jzx_loop_request_stop(ctx->loop);
    return result;
}

JZX_TEST(a_loop_is_destroyed_with_everything_open) {
    unsigned before = count_descriptors();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    jzx_stream streams[2] = {0, 0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_loop, .state = streams));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(streams[1] != 0); /* it had some */
    fixture_destroy(loop);
    JZX_EXPECT_EQ(count_descriptors(), before);
}

/* ---- idleness ---- */

static void be_idle(jzx_context *ctx) {
    const jzx_stream_opts opts = JZX_STREAM_OPTS(.idle_ns = JZX_MS(20));
    jzx_stream pair[2];
    jzx_message msg;
    char buf[4];
    size_t len;
    uint64_t start_ns = jzx_loop_now(ctx->loop);
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, &opts, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[1], DONE, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_TIMEOUT);
    JZX_EXPECT(jzx_loop_now(ctx->loop) - start_ns >= JZX_MS(20));
    JZX_EXPECT_EQ(jzx_stream_write(ctx, pair[0], "x", 1, JZX_NEVER), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    const jzx_stream_event *event = msg.data;
    JZX_EXPECT(event->kind == JZX_STREAM_ERROR || event->kind == JZX_STREAM_END);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[1]), JZX_OK);
    finished++;
}

JZX_TEST(an_idle_stream_ends_with_timeout) {
    run_with(&JZX_CONFIG(.workers = 1), be_idle);
}

/* ---- a listener that another thread closes ---- */

static struct {
    jzx_listener listener;
    char address[JZX_ADDRESS_MAX];
    atomic_bool is_open;
} shared;

static void accept_for_ever(jzx_context *ctx) {
    jzx_stream stream;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &shared.listener), JZX_OK);
    JZX_EXPECT_EQ(
        jzx_listener_address(ctx->loop, shared.listener, shared.address, sizeof shared.address),
        JZX_OK);
    atomic_store(&shared.is_open, true);
    JZX_EXPECT_EQ(jzx_tcp_accept(ctx, shared.listener, JZX_NEVER, &stream), JZX_ERR_CLOSED);
}

static void *run_loop(void *loop) {
    (void)jzx_loop_run(loop);
    return NULL;
}

static int listen_at(int port) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int failed = bind(fd, (const void *)&address, sizeof address);
    if (failed == 0)
        failed = listen(fd, 1);
    (void)close(fd);
    return failed;
}

static void close_elsewhere(uint32_t workers) {
    pthread_t thread;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    atomic_store(&shared.is_open, false);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = accept_for_ever));
    assert_int_equal(pthread_create(&thread, NULL, run_loop, loop), 0);
    jzx_actor_info info = {.size = sizeof info};
    do
        sched_yield();
    while (jzx_actor_info_get(loop, id, &info) == JZX_OK && info.wait != JZX_WAIT_IO);
    JZX_EXPECT(atomic_load(&shared.is_open));
    JZX_EXPECT_EQ(jzx_listener_close(loop, shared.listener), JZX_OK);
    JZX_EXPECT_EQ(listen_at(atoi(strrchr(shared.address, ':') + 1)), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_destroy(loop);
}

JZX_TEST(the_address_of_a_listener_is_free_when_its_close_returns, "C+goal") {
    for (uint32_t round = 0; round < 20; round++)
        close_elsewhere(1 + round % 3);
}
