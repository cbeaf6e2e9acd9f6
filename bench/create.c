/* SPDX-License-Identifier: MIT */
/* Short lives: an actor is spawned, gets one message and ends. */
#include "bench.h"

#include <stdatomic.h>
#include <stdlib.h>

JZX_BENCH_SHOWS("E64");

/* What the actors of one thread have counted. Outlives its thread. */
struct tally {
    BENCH_APART uint64_t sum;
    struct tally *next;
};

static _Atomic(struct tally *) tallies;
static _Thread_local struct tally *tally;

static struct tally *add_tally(void) {
    tally = aligned_alloc(_Alignof(struct tally), sizeof *tally);
    BENCH_CHECK(tally != NULL);
    tally->sum = 0;
    tally->next = atomic_load(&tallies);
    while (!atomic_compare_exchange_weak(&tallies, &tally->next, tally)) {
    }
    return tally;
}

static jzx_behavior_result once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    struct tally *mine = tally != NULL ? tally : add_tally();
    mine->sum += bench_value(msg);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result drive(jzx_context *ctx, const jzx_message *msg) {
    uint64_t *left = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < BENCH_BATCH && *left != 0; i++, --*left)
        bench_send(ctx, bench_spawn(ctx->loop, once, NULL), 0, 1);
    if (*left == 0)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, ctx->self, 0, 0);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    uint64_t left = size;
    jzx_actor_id driver = bench_spawn(loop, drive, &left);
    double start = bench_now();
    bench_start(loop, driver, 0, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    uint64_t total = 0;
    for (struct tally *one = atomic_load(&tallies); one != NULL; one = one->next)
        total += one->sum;
    BENCH_CHECK_EQUAL(total, size);
    BENCH_CHECK_EQUAL(bench_stats(loop).exited, size + 1);
}

const struct bench bench_create = {
    .name = "create",
    .op = "spawn + message + exit",
    .checked = "messages handled, exits",
    .batch = "64",
    .shows = shows,
    .kind = BENCH_BOTH,
    .run = run,
    .size = 1500000,
    .payload = 8,
    .floor_row = "create-malloc",
    .aim = 60,
    .aim_2 = 60,
    .ratio_limit = 2,
};
