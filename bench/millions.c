/* SPDX-License-Identifier: MIT */
/* Two million actors that are alive at the same time, and all at work: when the last one was
 * spawned, each gets a message in a random order, and answers to one that counts. */
#include "bench.h"

#include <stdlib.h>

JZX_BENCH_SHOWS("E1");

#define WAVE 1000u /* messages that are under way at once */

struct crowd {
    jzx_actor_id judge;
    uint64_t sum;
};

static jzx_behavior_result answer(jzx_context *ctx, const jzx_message *msg) {
    const struct crowd *crowd = ctx->state;
    bench_send(ctx, crowd->judge, 0, bench_value(msg));
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result add(jzx_context *ctx, const jzx_message *msg) {
    struct crowd *crowd = ctx->state;
    crowd->sum += bench_value(msg);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct crowd crowd = {.sum = 0};
    uint32_t *order = malloc(size * sizeof *order);
    jzx_actor_id *ids = malloc(size * sizeof *ids);
    BENCH_CHECK(order != NULL && ids != NULL);
    bench_order(order, (uint32_t)size, true);
    crowd.judge = bench_spawn(loop, add, &crowd);
    for (uint64_t i = 0; i < size; i++)
        ids[i] = bench_spawn(loop, answer, &crowd);
    bench_run_until_quiet(loop);
    BENCH_CHECK_EQUAL(bench_stats(loop).spawned - bench_stats(loop).exited, size + 1);
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++) {
        bench_start(loop, ids[order[i]], 0, order[i] + 1u);
        if (i % WAVE == WAVE - 1)
            bench_run_until_quiet(loop);
    }
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->ops = 2 * size;
    BENCH_CHECK_EQUAL(crowd.sum, size * (size + 1) / 2); /* each has answered once */
    BENCH_CHECK_EQUAL(bench_stats(loop).spawned - bench_stats(loop).exited, size + 1);
    free(ids);
    free(order);
}

const struct bench bench_millions = {
    .name = "millions",
    .op = "message to or from one of 2,000,000 actors that are alive, in random order",
    .checked = "answers of all, actors alive before and after",
    .batch = "1000",
    .shows = shows,
    .kind = BENCH_ONE,
    .if_named = true,
    .run = run,
    .size = 2000000,
    .payload = 8,
    .pairs_max = 3,
    .aim = -1,
};
