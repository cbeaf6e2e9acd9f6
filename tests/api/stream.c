/* SPDX-License-Identifier: MIT */
/* Streams in fibers: connect, accept, read, write, half-close, ends. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/tcp.h>
#include <jzx/unix.h>

#include <stdlib.h>
#include <string.h>

/* A server and a client in one loop; the client learns the address by the state. */
struct pair {
    char address[JZX_ADDRESS_MAX];
    jzx_fiber_fn serve; /* with a stream, in a fiber of its own */
    jzx_fiber_fn call;
    jzx_listen_opts listen;
    jzx_actor_id server;
    jzx_actor_id client;
    unsigned finished;
};

/* The stream of the running side. */
struct side {
    struct pair *pair;
    jzx_stream stream;
};

static void run_client(jzx_context *ctx) {
    struct pair *pair = ctx->state;
    struct side side = {.pair = pair};
    JZX_EXPECT_EQ(jzx_tcp_connect(ctx, pair->address, NULL, JZX_NEVER, &side.stream), JZX_OK);
    ctx->state = &side;
    pair->call(ctx);
    pair->finished++;
    ctx->state = pair;
}

static void run_server(jzx_context *ctx) {
    struct pair *pair = ctx->state;
    struct side side = {.pair = pair};
    jzx_listener listener;
    pair->server = ctx->self;
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", &pair->listen, &listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, listener, pair->address, sizeof pair->address),
                  JZX_OK);
    pair->client = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = run_client, .state = pair));
    JZX_EXPECT_EQ(jzx_tcp_accept(ctx, listener, JZX_NEVER, &side.stream), JZX_OK);
    ctx->state = &side;
    pair->serve(ctx);
    pair->finished++;
    ctx->state = pair;
}

static void run_pair(jzx_fiber_fn serve, jzx_fiber_fn call) {
    jzx_loop *loop = fixture_loop();
    struct pair pair = {.serve = serve, .call = call, .listen = JZX_LISTEN_OPTS(.backlog = 8)};
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = run_server, .state = &pair));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(pair.finished, 2);
    fixture_destroy(loop);
}

static jzx_stream own_stream(const jzx_context *ctx) {
    return ((const struct side *)ctx->state)->stream;
}

static struct pair *pair_of(const jzx_context *ctx) {
    return ((const struct side *)ctx->state)->pair;
}

static void expect_read(jzx_context *ctx, const char *text) {
    char buf[64];
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, own_stream(ctx), buf, strlen(text), JZX_NEVER),
                  JZX_OK);
    JZX_EXPECT(memcmp(buf, text, strlen(text)) == 0);
}

static void say(jzx_context *ctx, const char *text) {
    JZX_EXPECT_EQ(jzx_stream_write(ctx, own_stream(ctx), text, strlen(text), JZX_NEVER), JZX_OK);
}

/* ---- echo, half-close ---- */

static void echo(jzx_context *ctx) {
    char buf[512];
    size_t len;
    jzx_err err;
    while ((err = jzx_stream_read(ctx, own_stream(ctx), buf, sizeof buf, JZX_NEVER, &len)) ==
           JZX_OK)
        JZX_EXPECT_EQ(jzx_stream_write(ctx, own_stream(ctx), buf, len, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(err, JZX_ERR_END);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, own_stream(ctx), buf, sizeof buf, JZX_NEVER, &len),
                  JZX_ERR_END);
    say(ctx, "bye"); /* the other side has only half closed */
    JZX_EXPECT_EQ(jzx_stream_shutdown(ctx, own_stream(ctx), JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, own_stream(ctx), "x", 1, JZX_NEVER), JZX_ERR_INVALID_STATE);
    JZX_EXPECT_EQ(jzx_stream_shutdown(ctx, own_stream(ctx), JZX_NEVER), JZX_ERR_INVALID_STATE);
}

static void talk_to_echo(jzx_context *ctx) {
    char buf[8];
    size_t len;
    for (unsigned i = 0; i < 100; i++) {
        say(ctx, "hello");
        expect_read(ctx, "hello");
    }
    JZX_EXPECT_EQ(jzx_stream_shutdown(ctx, own_stream(ctx), JZX_NEVER), JZX_OK);
    expect_read(ctx, "bye");
    JZX_EXPECT_EQ(jzx_stream_read(ctx, own_stream(ctx), buf, sizeof buf, JZX_NEVER, &len),
                  JZX_ERR_END);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, own_stream(ctx)), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, own_stream(ctx)), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, own_stream(ctx), buf, sizeof buf, JZX_NEVER, &len),
                  JZX_ERR_CLOSED);
}

JZX_TEST(a_fiber_echoes_until_the_peer_half_closes, "E52") {
    run_pair(echo, talk_to_echo);
}

/* ---- whole pieces ---- */

static void send_pieces(jzx_context *ctx) {
    char first[] = "one\ntw";
    char last[] = "o\n";
    const struct iovec parts[3] = {{first, 6}, {NULL, 0}, {last, 2}};
    say(ctx, "0123");
    expect_read(ctx, "?"); /* the peer has timed out once */
    say(ctx, "456789");
    JZX_EXPECT_EQ(jzx_stream_writev(ctx, own_stream(ctx), parts, 3, JZX_NEVER), JZX_OK);
    say(ctx, "no delimiter");
    JZX_EXPECT_EQ(jzx_stream_shutdown(ctx, own_stream(ctx), JZX_NEVER), JZX_OK);
    expect_read(ctx, "!");
}

static void read_pieces(jzx_context *ctx) {
    jzx_stream stream = own_stream(ctx);
    jzx_stream_info info = {.size = sizeof info};
    char buf[32] = "";
    size_t len = 99;
    do { /* until a part of it was there */
        JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, stream, buf, 10, jzx_in(ctx, JZX_MS(1))),
                      JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, stream, &info), JZX_OK);
    } while (info.buffered != 4);
    say(ctx, "?");
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, stream, buf, 10, JZX_NEVER), JZX_OK);
    JZX_EXPECT(memcmp(buf, "0123456789", 10) == 0);
    JZX_EXPECT_EQ(jzx_stream_read_until(ctx, stream, '\n', buf, 3, JZX_NEVER, &len),
                  JZX_ERR_TOO_LONG);
    JZX_EXPECT_EQ(len, 99);
    JZX_EXPECT_EQ(jzx_stream_read_until(ctx, stream, '\n', buf, 4, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT(len == 4 && memcmp(buf, "one\n", 4) == 0);
    JZX_EXPECT_EQ(jzx_stream_read_until(ctx, stream, '\n', buf, sizeof buf, JZX_NEVER, &len),
                  JZX_OK);
    JZX_EXPECT(len == 4 && memcmp(buf, "two\n", 4) == 0);
    JZX_EXPECT_EQ(jzx_stream_read_until(ctx, stream, '\n', buf, sizeof buf, JZX_NEVER, &len),
                  JZX_ERR_END);
    JZX_EXPECT_EQ(jzx_stream_read_exact(ctx, stream, buf, 13, JZX_NEVER), JZX_ERR_END);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, stream, buf, 5, 0, &len), JZX_OK);
    JZX_EXPECT(len == 5 && memcmp(buf, "no de", 5) == 0);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, stream, buf, sizeof buf, 0, &len), JZX_OK);
    JZX_EXPECT(len == 7 && memcmp(buf, "limiter", 7) == 0);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, stream, buf, sizeof buf, 0, &len), JZX_ERR_END);
    say(ctx, "!");
}

JZX_TEST(a_read_that_does_not_succeed_consumes_nothing, "E52") {
    run_pair(read_pieces, send_pieces);
}

/* ---- large ---- */

#define LARGE ((size_t)4 << 20)

static char pattern(size_t i) {
    return (char)(i * 31 + i / 251);
}

static void write_large(jzx_context *ctx) {
    char *data = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        data[i] = pattern(i);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, own_stream(ctx), data, LARGE, JZX_NEVER), JZX_OK);
    free(data);
    expect_read(ctx, "ok");
}

static void read_large(jzx_context *ctx) {
    char buf[5000];
    size_t len;
    size_t all = 0;
    bool is_same = true;
    while (all < LARGE) {
        if (!JZX_EXPECT_EQ(jzx_stream_read(ctx, own_stream(ctx), buf, sizeof buf, JZX_NEVER, &len),
                           JZX_OK))
            return;
        for (size_t i = 0; i < len; i++)
            is_same &= buf[i] == pattern(all + i);
        all += len;
    }
    JZX_EXPECT(is_same);
    say(ctx, "ok");
}

JZX_TEST(more_than_the_system_holds_arrives_in_order, "E52") {
    run_pair(read_large, write_large);
}

/* A write that has a part of it out when its time is over. */
static void write_in_vain(jzx_context *ctx) {
    char *data = calloc(1, LARGE);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, own_stream(ctx), data, LARGE, jzx_in(ctx, JZX_MS(5))),
                  JZX_ERR_TIMEOUT);
    free(data);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, own_stream(ctx), "x", 1, JZX_NEVER), JZX_ERR_INVALID_STATE);
    expect_read(ctx, "still");
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, own_stream(ctx)), JZX_OK);
}

static void read_nothing(jzx_context *ctx) {
    char buf[4096];
    size_t len;
    jzx_err err;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    say(ctx, "still");
    do
        err = jzx_stream_read(ctx, own_stream(ctx), buf, sizeof buf, JZX_NEVER, &len);
    while (err == JZX_OK);
    JZX_EXPECT(err == JZX_ERR_END || err == JZX_ERR_RESET);
}

JZX_TEST(a_write_that_timed_out_halfway_breaks_the_stream_for_writing) {
    run_pair(read_nothing, write_in_vain);
}
