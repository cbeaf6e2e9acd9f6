/* SPDX-License-Identifier: MIT */
/* Active streams and the write queue: what behaviours use. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/tcp.h>
#include <jzx/unix.h>

#include <stdlib.h>
#include <string.h>

enum { DATA = 7, BEGIN, OTHER };

static unsigned finished;

static void run_with(uint32_t workers, jzx_fiber_fn fn) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    finished = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
}

/* The next message is an event of that kind; its data are copied to text, up to 63 bytes. */
static jzx_stream_event expect_event(jzx_context *ctx, jzx_stream stream, uint32_t kind,
                                     char *text) {
    jzx_message msg;
    jzx_stream_event event = {.kind = 0};
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    memcpy(&event, msg.data, sizeof event);
    JZX_EXPECT_EQ(event.kind, kind);
    JZX_EXPECT_EQ(event.stream, stream);
    if (text != NULL && JZX_EXPECT(event.len < 64)) {
        memcpy(text, jzx_stream_data(msg.data), event.len);
        text[event.len] = '\0';
    }
    return event;
}

static void be_active(jzx_context *ctx) {
    jzx_stream pair[2];
    char text[64];
    char buf[8];
    size_t len;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, 2), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[0], buf, sizeof buf, 0, &len), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "one", 3), JZX_OK);
    expect_event(ctx, pair[0], JZX_STREAM_DATA, text);
    JZX_EXPECT(strcmp(text, "one") == 0);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "two", 3), JZX_OK);
    expect_event(ctx, pair[0], JZX_STREAM_DATA, text);
    JZX_EXPECT(strcmp(text, "two") == 0);
    JZX_EXPECT_EQ(expect_event(ctx, pair[0], JZX_STREAM_PASSIVE, NULL).err, JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "line\nrest", 9), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read_until(ctx, pair[0], '\n', buf, sizeof buf, JZX_NEVER, &len),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, JZX_STREAM_ALWAYS), JZX_OK);
    expect_event(ctx, pair[0], JZX_STREAM_DATA, text);
    JZX_EXPECT(strcmp(text, "rest") == 0); /* what was read ahead comes first */
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "kept", 4), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, pair[0], buf, 4, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, 5), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, pair[1]), JZX_OK);
    expect_event(ctx, pair[0], JZX_STREAM_END, NULL);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[1], DATA, 1), JZX_ERR_CLOSED);
    finished++;
}

JZX_TEST(an_active_stream_tells_its_owner_what_arrives) {
    run_with(1, be_active);
}

/* With another tag, for more, for ever and for nothing. */
static void be_active_again(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_message msg;
    jzx_stream_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, 2), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], OTHER, 1), JZX_OK);
    for (unsigned i = 0; i < 4; i++) {
        if (i < 3)
            JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "x", 1), JZX_OK);
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(msg.tag, OTHER);
        JZX_EXPECT_EQ(((const jzx_stream_event *)msg.data)->kind,
                      i < 3 ? JZX_STREAM_DATA : JZX_STREAM_PASSIVE);
    }
    const uint32_t more[] = {JZX_STREAM_ALWAYS, 1, JZX_STREAM_ALWAYS};
    for (unsigned i = 0; i < 3; i++) { /* for ever stays so */
        JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, more[i]), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, pair[0], &info), JZX_OK);
        JZX_EXPECT(info.is_active);
    }
    for (unsigned i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, pair[0], &info), JZX_OK);
        JZX_EXPECT(info.is_active && !info.is_reading);
        JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "x", 1), JZX_OK);
        expect_event(ctx, pair[0], JZX_STREAM_DATA, NULL);
    }
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], JZX_TAG_RESERVED, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, pair[0], &info), JZX_OK);
    JZX_EXPECT(!info.is_active);
    finished++;
}

JZX_TEST(a_call_while_a_stream_is_active_adds_to_its_count_and_changes_its_tag) {
    run_with(1, be_active_again);
}

/* ---- back-pressure ---- */

#define MUCH ((size_t)1 << 20)

/* Never more than one message with data waits, and the writer is held up. */
static void be_slow(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_message msg;
    jzx_stream_info info = {.size = sizeof info};
    char *much = calloc(1, MUCH);
    size_t got = 0;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, JZX_STREAM_ALWAYS), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], much, MUCH), JZX_OK);
    free(much);
    for (unsigned i = 0; i < 50; i++)
        (void)jzx_yield(ctx);
    JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, pair[0], &info), JZX_OK);
    JZX_EXPECT(info.received > 0 && info.received <= 65536);
    uint64_t before = info.received;
    JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, pair[1], &info), JZX_OK);
    JZX_EXPECT(info.queued > 0);
    while (got < MUCH) {
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        if (msg.tag != DATA)
            continue; /* high, low */
        const jzx_stream_event *event = msg.data;
        got += event->len;
        JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, pair[0], &info), JZX_OK);
        JZX_EXPECT(info.received - got <= 65536);
    }
    JZX_EXPECT(got > before);
    finished++;
}

JZX_TEST(a_slow_owner_of_an_active_stream_slows_the_peer_down) {
    run_with(1, be_slow);
}

/* A message is as long as the room that it was made with. */
static void vary_room(jzx_context *ctx) {
    jzx_stream pair[2];
    jzx_message msg;
    char *much = calloc(1, MUCH);
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, pair[0], DATA, JZX_STREAM_ALWAYS), JZX_OK);
    for (unsigned round = 0; round < 2; round++) {
        size_t most = 0;
        JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], much, MUCH), JZX_OK);
        for (size_t got = 0; got < MUCH;) {
            JZX_EXPECT_EQ(jzx_receive_tag(ctx, DATA, JZX_NEVER, &msg), JZX_OK);
            got += ((const jzx_stream_event *)msg.data)->len;
            most = msg.len > most ? msg.len : most;
        }
        JZX_EXPECT(most > 16384 && most <= 65536);
        for (unsigned i = 0; i < 12; i++) {
            JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[1], "x", 1), JZX_OK);
            JZX_EXPECT_EQ(jzx_receive_tag(ctx, DATA, JZX_NEVER, &msg), JZX_OK);
        }
        JZX_EXPECT(msg.len <= 256);
    }
    free(much);
    finished++;
}

JZX_TEST(the_room_of_an_event_grows_with_a_burst_and_shrinks_after_it) {
    run_with(1, vary_room);
}

/* ---- the queue ---- */

static void fill_queue(jzx_context *ctx) {
    const jzx_stream_opts opts =
        JZX_STREAM_OPTS(.queue_max = 100000, .queue_high = 40000, .queue_low = 10000);
    jzx_stream pair[2];
    jzx_stream_info info = {.size = sizeof info};
    static char piece[10000];
    jzx_op op;
    size_t sent = 0;
    jzx_err err;
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, &opts, pair), JZX_OK);
    while ((err = jzx_stream_send(ctx, pair[0], piece, sizeof piece)) == JZX_OK)
        sent += sizeof piece;
    JZX_EXPECT_EQ(err, JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, pair[0], &info), JZX_OK);
    JZX_EXPECT(info.queued <= 100000 && info.queued > 90000);
    JZX_EXPECT_EQ(jzx_stream_write_to(ctx, pair[0], piece, sizeof piece, DATA, &op), JZX_ERR_FULL);
    JZX_EXPECT(expect_event(ctx, pair[0], JZX_STREAM_HIGH, NULL).queued >= 40000);
    for (size_t left = sent; left != 0;) {
        size_t len = 0;
        if (!JZX_EXPECT_EQ(jzx_stream_read(ctx, pair[1], piece, sizeof piece, JZX_NEVER, &len),
                           JZX_OK))
            return;
        left -= len;
    }
    JZX_EXPECT(expect_event(ctx, pair[0], JZX_STREAM_LOW, NULL).queued <= 10000);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, pair[0], "x", 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, pair[1], piece, 1, JZX_NEVER), JZX_OK);
    finished++;
}

JZX_TEST(the_write_queue_is_bounded_and_tells_high_and_low) {
    run_with(1, fill_queue);
}

/* Writes of a fiber and of the queue keep their order. */
static void write_in_order(jzx_context *ctx) {
    static char piece[40000];
    const jzx_stream *stream = ctx->state;
    jzx_op op;
    jzx_message msg;
    for (unsigned i = 0; i < 20; i++) {
        memset(piece, 'a' + (int)i, sizeof piece);
        if (i % 2 == 0)
            JZX_EXPECT_EQ(jzx_stream_write_to(ctx, *stream, piece, sizeof piece, DATA, &op),
                          JZX_OK);
        else
            JZX_EXPECT_EQ(jzx_stream_write(ctx, *stream, piece, sizeof piece, JZX_NEVER), JZX_OK);
    }
    for (unsigned i = 0; i < 10; i++)
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, DATA, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_shutdown(ctx, *stream, JZX_NEVER), JZX_OK);
}

static void read_in_order(jzx_context *ctx) {
    static char piece[40000];
    jzx_stream pair[2];
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = write_in_order, .state = &pair[0]));
    for (unsigned i = 0; i < 20; i++) {
        JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, pair[1], piece, sizeof piece, JZX_NEVER), JZX_OK);
        JZX_EXPECT(piece[0] == 'a' + (int)i && piece[sizeof piece - 1] == 'a' + (int)i);
    }
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, pair[1], piece, 1, JZX_NEVER), JZX_ERR_END);
    finished++;
}

JZX_TEST(writes_of_fibers_and_of_the_queue_keep_their_order) {
    run_with(1, read_in_order);
}

/* ---- a server of behaviours on two workers ---- */

#define CLIENTS 8u
#define ROUNDS 20u

static jzx_behavior_result echo(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == BEGIN) {
        jzx_stream stream;
        memcpy(&stream, msg->data, sizeof stream);
        JZX_EXPECT_EQ(jzx_stream_active(ctx, stream, DATA, JZX_STREAM_ALWAYS), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_stream_event *event = msg->data;
    if (event->kind != JZX_STREAM_DATA)
        return JZX_BEHAVIOR_STOP; /* which closes it */
    JZX_EXPECT_EQ(jzx_stream_send(ctx, event->stream, jzx_stream_data(event), event->len), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void call_server(jzx_context *ctx) {
    const char *address = ctx->state;
    jzx_stream stream;
    char buf[16];
    size_t len;
    if (!JZX_EXPECT_EQ(jzx_tcp_connect(ctx, address, NULL, JZX_NEVER, &stream), JZX_OK))
        return;
    for (unsigned i = 0; i < ROUNDS; i++) {
        JZX_EXPECT_EQ(jzx_stream_write(ctx, stream, "round trip", 10, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, stream, buf, 10, JZX_NEVER), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_stream_shutdown(ctx, stream, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, stream, buf, sizeof buf, JZX_NEVER, &len), JZX_ERR_END);
}

static void accept_and_give(jzx_context *ctx) {
    char address[JZX_ADDRESS_MAX];
    jzx_actor_id clients[CLIENTS];
    jzx_listener listener;
    JZX_EXPECT_EQ(
        jzx_tcp_listen(ctx, "127.0.0.1:0", &JZX_LISTEN_OPTS(.connections_max = 3), &listener),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, listener, address, sizeof address), JZX_OK);
    for (unsigned i = 0; i < CLIENTS; i++)
        clients[i] =
            fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = call_server, .state = address));
    for (unsigned i = 0; i < CLIENTS; i++) {
        jzx_actor_id id;
        jzx_stream stream;
        JZX_EXPECT_EQ(jzx_tcp_accept(ctx, listener, JZX_NEVER, &stream), JZX_OK);
        id = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = echo));
        JZX_EXPECT_EQ(jzx_stream_give(ctx, stream, id), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_give(ctx, stream, id), JZX_ERR_NOT_OWNER);
        JZX_EXPECT_EQ(jzx_stream_active(ctx, stream, DATA, 1), JZX_ERR_NOT_OWNER);
        JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN), JZX_OK);
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        JZX_EXPECT_EQ(jzx_join(ctx, clients[i], JZX_NEVER, NULL), JZX_OK);
    finished++;
}

JZX_TEST(an_acceptor_gives_connections_to_behaviours_within_a_limit, "C24") {
    for (uint32_t workers = 1; workers <= 2; workers++)
        run_with(workers, accept_and_give);
}
