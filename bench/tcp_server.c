/* SPDX-License-Identifier: MIT */
#include "tcp_server.h"

#include "client.h"

enum { OPEN, ACCEPTED, ENDED };

jzx_behavior_result tcp_echo(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == TCP_BEGIN) {
        jzx_stream stream = *(const jzx_stream *)msg->data;
        BENCH_CHECK(jzx_stream_active(ctx, stream, TCP_DATA, JZX_STREAM_ALWAYS) == JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_stream_event *event = msg->data;
    if (event->kind != JZX_STREAM_DATA)
        return JZX_BEHAVIOR_STOP; /* closes the stream */
    BENCH_CHECK(jzx_stream_send(ctx, event->stream, jzx_stream_data(event), event->len) == JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void accept_next(jzx_context *ctx, const struct tcp_server *self) {
    BENCH_CHECK(jzx_tcp_accept_to(ctx, self->listener, ACCEPTED, NULL) == JZX_OK);
}

static void begin_connection(jzx_context *ctx, const struct tcp_server *self, jzx_stream stream) {
    jzx_actor_id id;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = self->behavior, .fiber = self->fiber);
    BENCH_CHECK(jzx_spawn(ctx->loop, &opts, &id) == JZX_OK);
    BENCH_CHECK(jzx_stream_give(ctx, stream, id) == JZX_OK);
    BENCH_CHECK(jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, TCP_BEGIN) == JZX_OK);
}

static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    struct tcp_server *self = ctx->state;
    char address[JZX_ADDRESS_MAX];
    const jzx_result *result = msg->data;
    switch (msg->tag) {
    case OPEN:
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
        if (self->ends_all)
            bench_finish(ctx);
        return JZX_BEHAVIOR_STOP;
    }
}

void tcp_serve(jzx_loop *loop, struct tcp_server *server) {
    bench_start(loop, bench_spawn(loop, serve, server), OPEN, 0);
}
