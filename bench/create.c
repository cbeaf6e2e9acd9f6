/* SPDX-License-Identifier: MIT */
/* Short lives: an actor is spawned, gets one message and ends. */
#include "bench.h"

JZX_BENCH_SHOWS("E64");

static uint64_t total;

static jzx_behavior_result once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    total += bench_value(msg);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result drive(jzx_context *ctx, const jzx_message *msg) {
    uint64_t *left = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < BENCH_BATCH && *left != 0; i++, --*left)
        bench_send(ctx, bench_spawn(ctx->loop, once, NULL), 0, 1);
    if (*left != 0)
        bench_send(ctx, ctx->self, 0, 0);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    uint64_t left = size;
    jzx_actor_id driver = bench_spawn(loop, drive, &left);
    double start = bench_now();
    bench_start(loop, driver, 0, 0);
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(total, size);
    jzx_stats stats = {.size = sizeof stats};
    BENCH_CHECK(jzx_loop_stats(loop, &stats) == JZX_OK);
    BENCH_CHECK_EQUAL(stats.exited, size);
}

const struct bench bench_create = {
    .name = "create",
    .op = "spawn + message + exit",
    .checked = "messages handled, exits",
    .batch = "64",
    .shows = shows,
    .run = run,
    .size = 1500000,
    .payload = 8,
    .floor_row = "create-malloc",
    .aim = 60,
    .ratio_limit = 2,
};
