/* SPDX-License-Identifier: MIT */
/* An echo server over UDP, loaded by a client in a process of its own (peers/client) from 64
 * sockets: what the server uses of all CPUs per request. One actor has the socket: a behaviour with
 * an active socket, or a fiber that receives and sends batches. */
#include "client.h"

JZX_BENCH_SHOWS("C29");

enum { BEGIN, DATA, ENDED };

#define SOCKETS 64u
#define PAYLOAD 64u

/* Opens the socket and starts the client. */
static jzx_udp open_server(jzx_context *ctx) {
    const jzx_udp_opts opts = JZX_UDP_OPTS(.receive_buffer = 1u << 20);
    char address[JZX_ADDRESS_MAX];
    jzx_udp udp;
    BENCH_CHECK(jzx_udp_open(ctx, "127.0.0.1:0", &opts, &udp) == JZX_OK);
    BENCH_CHECK(jzx_udp_local(ctx->loop, udp, address, sizeof address) == JZX_OK);
    client_start(ctx, address, ENDED);
    return udp;
}

/* ---- a behaviour ---- */

static jzx_behavior_result echo(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == DATA) {
        const jzx_udp_event *event = msg->data;
        BENCH_CHECK(event->kind == JZX_UDP_DATA);
        BENCH_CHECK(jzx_udp_try_send(ctx, event->udp, jzx_udp_data(event), event->len,
                                     &event->from) == JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag == BEGIN) {
        jzx_udp udp = open_server(ctx);
        BENCH_CHECK(jzx_udp_active(ctx, udp, DATA, JZX_UDP_ALWAYS) == JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_result *result = msg->data;
    BENCH_CHECK(result->err == JZX_OK);
    return JZX_BEHAVIOR_STOP; /* the client has ended */
}

/* ---- a fiber ---- */

static void echo_batches(jzx_context *ctx) {
    char buffers[JZX_UDP_BATCH_MAX][PAYLOAD];
    jzx_datagram batch[JZX_UDP_BATCH_MAX];
    const jzx_udp udp = *(const jzx_udp *)ctx->state;
    size_t count;
    for (unsigned i = 0; i < JZX_UDP_BATCH_MAX; i++)
        batch[i] = (jzx_datagram){.data = buffers[i], .cap = PAYLOAD};
    while (jzx_udp_receive_batch(ctx, udp, batch, JZX_UDP_BATCH_MAX, JZX_NEVER, &count) == JZX_OK)
        BENCH_CHECK(jzx_udp_send_batch(ctx, udp, batch, count, JZX_NEVER, NULL) == JZX_OK);
}

static jzx_behavior_result lead_fiber(jzx_context *ctx, const jzx_message *msg) {
    jzx_udp *udp = ctx->state;
    if (msg->tag == BEGIN) {
        *udp = open_server(ctx);
        BENCH_CHECK(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = echo_batches, .state = udp),
                              NULL) == JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    return JZX_BEHAVIOR_STOP; /* closes the socket, and so ends the fiber */
}

/* ---- rows ---- */

static void run_udp(jzx_loop *loop, uint64_t size, jzx_behavior_fn behavior,
                    struct bench_run *run) {
    jzx_udp udp = JZX_NO_UDP;
    client_prepare("udp", SOCKETS, size);
    bench_start(loop, bench_spawn(loop, behavior, &udp), BEGIN, 0);
    bench_run_to_end(loop);
    client_report(run);
}

static void run_active(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_udp(loop, size, echo, run);
}

static void run_fiber(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_udp(loop, size, lead_fiber, run);
}

/* The aim: at most 1.1 times the naive event loop. */
#define UDP_ROW(symbol, label, text, function)                                                     \
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
        .payload = PAYLOAD,                                                                        \
        .peer_row = "udp-64",                                                                      \
        .has_client = true,                                                                        \
        .floor_row = "udp-64",                                                                     \
        .aim = -1,                                                                                 \
        .ratio_limit = 1.1,                                                                        \
    }

UDP_ROW(bench_udp_64, "udp-64", "CPU time of an echo, 64 sockets, an active socket", run_active);
UDP_ROW(bench_udp_fiber_64, "udp-fiber-64", "CPU time of an echo, 64 sockets, a fiber with batches",
        run_fiber);
