/* SPDX-License-Identifier: MIT */
/* Two actors, one message that goes back and forth: the cost of a send and a turn with one
 * message. */
#include "bench.h"

JZX_BENCH_SHOWS("E62");

enum { START, PING, PONG };

struct player {
    jzx_actor_id peer;
    uint64_t left;
    uint64_t received;
};

static jzx_behavior_result ping(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    if (msg->tag == PONG)
        self->received++;
    if (self->left != 0) {
        self->left--;
        bench_send(ctx, self->peer, PING, 0);
    }
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result pong(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    self->received++;
    bench_send(ctx, msg->sender, PONG, 0);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct player second = {0};
    struct player first = {.peer = bench_spawn(loop, pong, &second), .left = size};
    jzx_actor_id id = bench_spawn(loop, ping, &first);
    double start = bench_now();
    bench_start(loop, id, START, 0);
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->ops = 2 * size;
    BENCH_CHECK_EQUAL(second.received, size);
    BENCH_CHECK_EQUAL(first.received, size);
}

const struct bench bench_pingpong = {
    .name = "pingpong",
    .op = "message",
    .checked = "pings and pongs received",
    .batch = "1",
    .shows = shows,
    .run = run,
    .size = 5000000,
    .payload = 8,
    .floor_row = "pingpong",
    .aim = 15,
    .ratio_limit = 2,
};
