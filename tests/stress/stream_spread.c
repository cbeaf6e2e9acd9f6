/* SPDX-License-Identifier: MIT */
/* A busy worker that spreads its connections, while they are closed, given on and killed on their
 * way, and while the loop stops: every client comes to an end, and nothing is left open. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/clock.h>
#include <jzx/fiber.h>
#include <jzx/unix.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BEGIN = 1, DATA, DONE, WAKE };

#define BATCH 6u /* connections at a time */
#define BYTES 16u

static struct {
    jzx_clock *clock;
    jzx_loop *loop;
    jzx_actor_id server;
    uint64_t batches;
    int work[2]; /* a pipe: clients for the thread that talks */
    unsigned whole;
    unsigned broken;
    atomic_uint accepted;
    _Atomic jzx_stream victim;
    _Atomic jzx_actor_id doomed;
    atomic_bool is_open;
    atomic_bool is_over;
} world;

static struct sockaddr_un address;
static socklen_t address_size;

static void open_world(void) {
    memset(&world, 0, sizeof world);
    world.clock = jzx_clock_manual(1);
    assert_non_null(world.clock);
    address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "jzx-stress-spread-%d",
                       (int)getpid());
    address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* It is in the backlog when this returns. */
static int connect_one(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    JZX_EXPECT(fd >= 0);
    JZX_EXPECT_EQ(connect(fd, (const void *)&address, address_size), 0);
    return fd;
}

static jzx_listener listen_here(jzx_context *ctx) {
    char text[sizeof address.sun_path + 1];
    jzx_listener listener = 0;
    snprintf(text, sizeof text, "@%s", address.sun_path + 1);
    JZX_EXPECT_EQ(jzx_unix_listen(ctx, text, NULL, &listener), JZX_OK);
    return listener;
}

/* ---- connections ---- */

static jzx_behavior_result echo(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == BEGIN) {
        jzx_stream stream = *(const jzx_stream *)msg->data;
        atomic_store(&world.doomed, ctx->self);
        return jzx_stream_active(ctx, stream, DATA, JZX_STREAM_ALWAYS) == JZX_OK
                   ? JZX_BEHAVIOR_OK
                   : JZX_BEHAVIOR_STOP;
    }
    const jzx_stream_event *event = msg->data;
    if (event->kind != JZX_STREAM_DATA)
        return JZX_BEHAVIOR_STOP;
    jzx_err err = jzx_stream_send(ctx, event->stream, jzx_stream_data(event), event->len);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

static void echo_in_fiber(jzx_context *ctx) {
    char buffer[BYTES];
    jzx_message msg;
    size_t len;
    if (jzx_receive_tag(ctx, BEGIN, JZX_NEVER, &msg) != JZX_OK)
        return;
    jzx_stream stream = *(const jzx_stream *)msg.data;
    atomic_store(&world.doomed, ctx->self);
    while (jzx_stream_read(ctx, stream, buffer, sizeof buffer, JZX_NEVER, &len) == JZX_OK) {
        if (jzx_stream_write(ctx, stream, buffer, len, JZX_NEVER) != JZX_OK)
            return;
    }
}

static void begin_one(jzx_context *ctx, jzx_stream stream, bool is_fiber);

/* Gives it to a new actor, and ends. */
static jzx_behavior_result give_on(jzx_context *ctx, const jzx_message *msg) {
    jzx_stream stream = *(const jzx_stream *)msg->data;
    begin_one(ctx, stream, stream % 2 == 0);
    return JZX_BEHAVIOR_STOP;
}

/* Any of the calls may fail: it is closed, killed or stopped at the same time. Nobody tells an
 * actor that its stream was closed by another: so they are daemons. */
static void start(jzx_context *ctx, jzx_stream stream, const jzx_spawn_opts *opts) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_err err = jzx_spawn(ctx->loop, opts, &id);
    if (err == JZX_OK)
        err = jzx_stream_give(ctx, stream, id);
    if (err == JZX_OK)
        err = jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN);
    if (err != JZX_OK) {
        (void)jzx_stream_close(ctx->loop, stream);
        (void)jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL);
    }
}

static void begin_one(jzx_context *ctx, jzx_stream stream, bool is_fiber) {
    const jzx_spawn_opts fiber = JZX_SPAWN_OPTS(.fiber = echo_in_fiber, .daemon = true);
    const jzx_spawn_opts behavior = JZX_SPAWN_OPTS(.behavior = echo, .daemon = true);
    start(ctx, stream, is_fiber ? &fiber : &behavior);
}

/* ---- the listener ---- */

static jzx_behavior_result stay_awake(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    return jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, WAKE) == JZX_OK ? JZX_BEHAVIOR_OK
                                                                              : JZX_BEHAVIOR_STOP;
}

/* Its worker does not sleep from here on, and time goes on before each accept. */
static jzx_actor_id be_busy(jzx_context *ctx) {
    jzx_actor_id id = fixture_spawn(
        ctx->loop, &JZX_SPAWN_OPTS(.behavior = stay_awake, .place = JZX_PLACE_WORKER(0)));
    fixture_send(ctx->loop, id, WAKE);
    return id;
}

static void accept_batch(jzx_context *ctx, jzx_listener listener) {
    const jzx_spawn_opts through = JZX_SPAWN_OPTS(.behavior = give_on, .daemon = true);
    jzx_stream stream;
    for (unsigned i = 0; i < BATCH; i++) {
        JZX_EXPECT_EQ(jzx_clock_advance(world.clock, JZX_MS(2)), JZX_OK);
        if (jzx_listener_accept(ctx, listener, JZX_NEVER, &stream) != JZX_OK)
            return; /* the loop stops */
        atomic_store(&world.victim, stream);
        atomic_fetch_add(&world.accepted, 1);
        if (i % 3 == 2)
            start(ctx, stream, &through);
        else
            begin_one(ctx, stream, i % 3 == 0);
    }
}

static void serve(jzx_context *ctx) {
    jzx_message msg;
    jzx_test_ran();
    jzx_listener listener = listen_here(ctx);
    jzx_actor_id waker = be_busy(ctx);
    for (uint64_t batch = 0; batch < world.batches; batch++) {
        for (unsigned i = 0; i < BATCH; i++) {
            int fd = connect_one();
            JZX_EXPECT_EQ(write(world.work[1], &fd, sizeof fd), sizeof fd);
        }
        accept_batch(ctx, listener);
        for (unsigned i = 0; i < BATCH; i++)
            JZX_EXPECT_EQ(jzx_receive_tag(ctx, DONE, JZX_NEVER, &msg), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, waker, JZX_STOP_KILL), JZX_OK);
}

/* ---- beside the loop ---- */

static bool talk(int fd) {
    char sent[BYTES] = "0123456789abcde";
    char got[BYTES];
    for (unsigned round = 0; round < 3; round++) {
        if (send(fd, sent, sizeof sent, MSG_NOSIGNAL) != (ssize_t)sizeof sent ||
            recv(fd, got, sizeof got, MSG_WAITALL) != (ssize_t)sizeof got)
            return false;
        JZX_EXPECT(memcmp(sent, got, sizeof sent) == 0);
    }
    return true;
}

/* All connections, one after the other. */
static void *talk_all(void *unused) {
    int fd;
    (void)unused;
    while (read(world.work[0], &fd, sizeof fd) == (ssize_t)sizeof fd) {
        if (talk(fd))
            world.whole++;
        else
            world.broken++;
        close(fd);
        fixture_send(world.loop, world.server, DONE);
    }
    return NULL;
}

static void *disturb(void *unused) {
    (void)unused;
    for (unsigned i = 0; !atomic_load(&world.is_over); i++) {
        if (i % 2 == 0)
            (void)jzx_stream_close(world.loop, atomic_load(&world.victim));
        else if (i % 16 == 1)
            (void)jzx_actor_stop(world.loop, atomic_load(&world.doomed), JZX_STOP_KILL);
        sched_yield();
    }
    return NULL;
}

JZX_TEST(spread_connections_are_closed_given_on_and_killed_on_their_way_and_every_client_ends) {
    pthread_t threads[2];
    int before = descriptors_open();
    open_world();
    world.batches = jzx_test_rounds(60, 4000);
    world.loop = fixture_loop_with(&JZX_CONFIG(.workers = 3, .clock = world.clock));
    assert_int_equal(pipe(world.work), 0);
    world.server =
        fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.fiber = serve, .place = JZX_PLACE_WORKER(0)));
    assert_int_equal(pthread_create(&threads[0], NULL, talk_all, NULL), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, disturb, NULL), 0);
    JZX_EXPECT_EQ(jzx_loop_run(world.loop), JZX_OK);
    atomic_store(&world.is_over, true);
    close(world.work[1]);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    close(world.work[0]);
    JZX_EXPECT_EQ(world.whole + world.broken, BATCH * world.batches);
    JZX_EXPECT(fixture_stats(world.loop).placed > 0);
    fixture_destroy(world.loop);
    JZX_EXPECT_EQ(jzx_clock_free(world.clock), JZX_OK);
    JZX_EXPECT_EQ(descriptors_open(), before);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
}

/* ---- the loop stops ---- */

static int open_clients[BATCH];

static void serve_until_the_stop(jzx_context *ctx) {
    jzx_test_ran();
    jzx_listener listener = listen_here(ctx);
    be_busy(ctx);
    for (unsigned i = 0; i < BATCH; i++)
        open_clients[i] = connect_one();
    atomic_store(&world.is_open, true);
    accept_batch(ctx, listener);
}

/* After so many connections, at whatever they do then. */
static void *stop_later(void *arg) {
    unsigned round = *(const unsigned *)arg;
    while (!atomic_load(&world.is_open) || atomic_load(&world.accepted) < round % BATCH)
        sched_yield();
    JZX_EXPECT_EQ(round % 2 == 0 ? jzx_loop_request_stop(world.loop)
                                 : jzx_loop_stop(world.loop, jzx_loop_now(world.loop)),
                  JZX_OK);
    return NULL;
}

JZX_TEST(a_loop_that_stops_while_it_spreads_connections_closes_all_of_them) {
    unsigned rounds = (unsigned)jzx_test_rounds(60, 2000);
    int before = descriptors_open();
    char byte;
    for (unsigned round = 0; round < rounds; round++) {
        pthread_t thread;
        open_world();
        world.loop = fixture_loop_with(&JZX_CONFIG(.workers = 3, .clock = world.clock));
        fixture_spawn(world.loop,
                      &JZX_SPAWN_OPTS(.fiber = serve_until_the_stop, .place = JZX_PLACE_WORKER(0)));
        assert_int_equal(pthread_create(&thread, NULL, stop_later, &round), 0);
        JZX_EXPECT_EQ(jzx_loop_run(world.loop), JZX_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        fixture_destroy(world.loop);
        for (unsigned i = 0; i < BATCH; i++) {
            JZX_EXPECT(recv(open_clients[i], &byte, 1, 0) <= 0);
            close(open_clients[i]);
        }
        JZX_EXPECT_EQ(jzx_clock_free(world.clock), JZX_OK);
    }
    JZX_EXPECT_EQ(descriptors_open(), before);
    JZX_EXPECT_EQ(jzx_test_runs(), rounds);
}
