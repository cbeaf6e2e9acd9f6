/* SPDX-License-Identifier: MIT */
/* Echo servers, loaded by a client in a process of its own (peers/client): what the server uses of
 * all CPUs per request. Each connection has an actor: a behaviour with an active stream, or a fiber
 * that reads and writes. */
#include "client.h"

JZX_BENCH_SHOWS("C29");

enum { BEGIN, DATA, ACCEPTED, ENDED };

#define BUFFER_SIZE 4096u

/* ---- connections ---- */

static jzx_behavior_result echo(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == BEGIN) {
        jzx_stream stream = *(const jzx_stream *)msg->data;
        BENCH_CHECK(jzx_stream_active(ctx, stream, DATA, JZX_STREAM_ALWAYS) == JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_stream_event *event = msg->data;
    if (event->kind != JZX_STREAM_DATA)
        return JZX_BEHAVIOR_STOP; /* closes the stream */
    BENCH_CHECK(jzx_stream_send(ctx, event->stream, jzx_stream_data(event), event->len) == JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void echo_by_fiber(jzx_context *ctx) {
    char buffer[BUFFER_SIZE];
    jzx_message msg;
    size_t len;
    BENCH_CHECK(jzx_receive_tag(ctx, BEGIN, JZX_NEVER, &msg) == JZX_OK);
    jzx_stream stream = *(const jzx_stream *)msg.data;
    while (jzx_stream_read(ctx, stream, buffer, sizeof buffer, JZX_NEVER, &len) == JZX_OK)
        BENCH_CHECK(jzx_stream_write(ctx, stream, buffer, len, JZX_NEVER) == JZX_OK);
}

/* ---- the server ---- */

struct server {
    jzx_fiber_fn fiber; /* of connections; NULL: behaviours */
    jzx_listener listener;
};

static void accept_next(jzx_context *ctx, const struct server *self) {
    BENCH_CHECK(jzx_tcp_accept_to(ctx, self->listener, ACCEPTED, NULL) == JZX_OK);
}

static void begin_connection(jzx_context *ctx, const struct server *self, jzx_stream stream) {
    jzx_actor_id id;
    jzx_spawn_opts opts =
        JZX_SPAWN_OPTS(.behavior = self->fiber == NULL ? echo : NULL, .fiber = self->fiber);
    BENCH_CHECK(jzx_spawn(ctx->loop, &opts, &id) == JZX_OK);
    BENCH_CHECK(jzx_stream_give(ctx, stream, id) == JZX_OK);
    BENCH_CHECK(jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN) == JZX_OK);
}

static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    struct server *self = ctx->state;
    char address[JZX_ADDRESS_MAX];
    const jzx_result *result = msg->data;
    switch (msg->tag) {
    case BEGIN:
        BENCH_CHECK(jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &self->listener) == JZX_OK);
        BENCH_CHECK(jzx_listener_address(ctx->loop, self->listener, address, sizeof address) ==
                    JZX_OK);
        client_start(ctx, address, ENDED);
        accept_next(ctx, self);
        return JZX_BEHAVIOR_OK;
    case ACCEPTED:
        BENCH_CHECK(result->err == JZX_OK);
        begin_connection(ctx, self, *(const jzx_stream *)jzx_result_data(result));
        accept_next(ctx, self);
        return JZX_BEHAVIOR_OK;
    default: /* the client has ended, and its connections with it */
        BENCH_CHECK(result->err == JZX_OK);
        return JZX_BEHAVIOR_STOP;
    }
}

static void run_tcp(jzx_loop *loop, uint32_t connections, uint64_t size, jzx_fiber_fn fiber,
                    struct bench_run *run) {
    struct server server = {.fiber = fiber};
    client_prepare("tcp", connections, size);
    bench_start(loop, bench_spawn(loop, serve, &server), BEGIN, 0);
    bench_run_to_end(loop);
    client_report(run);
}

static void run_tcp_64(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_tcp(loop, 64, size, NULL, run);
}

static void run_tcp_1000(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_tcp(loop, 1000, size, NULL, run);
}

static void run_fiber_64(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_tcp(loop, 64, size, echo_by_fiber, run);
}

static void run_fiber_1000(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_tcp(loop, 1000, size, echo_by_fiber, run);
}

/* The aim: at most 1.1 times the naive event loop. */
#define TCP_ROW(symbol, label, text, function, row)                                                \
    const struct bench symbol = {                                                                  \
        .name = label,                                                                             \
        .op = text,                                                                                \
        .checked = "every byte",                                                                   \
        .batch = "1",                                                                              \
        .shows = shows,                                                                            \
        .notes = client_notes,                                                                     \
        .kind = BENCH_BOTH,                                                                        \
        .run = function,                                                                           \
        .size = 30000,                                                                             \
        .size_min = 1000,                                                                          \
        .foreign_threads = 1,                                                                      \
        .payload = 64,                                                                             \
        .peer_row = row,                                                                           \
        .has_client = true,                                                                        \
        .floor_row = row,                                                                          \
        .aim = -1,                                                                                 \
        .ratio_limit = 1.1,                                                                        \
    }

TCP_ROW(bench_tcp_64, "tcp-64", "CPU time of an echo, 64 connections, behaviours", run_tcp_64,
        "tcp-64");
TCP_ROW(bench_tcp_1000, "tcp-1000", "CPU time of an echo, 1,000 connections, behaviours",
        run_tcp_1000, "tcp-1000");
TCP_ROW(bench_tcp_fiber_64, "tcp-fiber-64", "CPU time of an echo, 64 connections, fibers",
        run_fiber_64, "tcp-64");
TCP_ROW(bench_tcp_fiber_1000, "tcp-fiber-1000", "CPU time of an echo, 1,000 connections, fibers",
        run_fiber_1000, "tcp-1000");
