/* SPDX-License-Identifier: MIT */
/* Echo servers, loaded by a client in a process of its own (peers/client): what the server uses of
 * all CPUs per request. Each connection has an actor: a behaviour with an active stream, or a fiber
 * that reads and writes. */
#include "client.h"
#include "tcp_server.h"

JZX_BENCH_SHOWS("C29");

#define BUFFER_SIZE 4096u

static void echo_by_fiber(jzx_context *ctx) {
    char buffer[BUFFER_SIZE];
    jzx_message msg;
    size_t len;
    BENCH_CHECK(jzx_receive_tag(ctx, TCP_BEGIN, JZX_NEVER, &msg) == JZX_OK);
    jzx_stream stream = *(const jzx_stream *)msg.data;
    while (jzx_stream_read(ctx, stream, buffer, sizeof buffer, JZX_NEVER, &len) == JZX_OK)
        BENCH_CHECK(jzx_stream_write(ctx, stream, buffer, len, JZX_NEVER) == JZX_OK);
}

static void run_tcp(jzx_loop *loop, uint32_t connections, uint64_t size, jzx_fiber_fn fiber,
                    struct bench_run *run) {
    struct tcp_server server = {.behavior = fiber == NULL ? tcp_echo : NULL, .fiber = fiber};
    client_prepare("tcp", connections, size);
    tcp_serve(loop, &server);
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
