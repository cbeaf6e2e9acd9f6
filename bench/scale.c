/* SPDX-License-Identifier: MIT */
/* What a message costs as actors grow in number: one message that runs around all of them, in the
 * order in which they were spawned or in a random one, which no cache and no prefetcher foresees.
 * An actor's state is the id of the next. */
#include "bench.h"

#include <stdlib.h>

JZX_BENCH_SHOWS("C29");

static jzx_actor_id last;

static jzx_behavior_result hop(jzx_context *ctx, const jzx_message *msg) {
    uint64_t left = bench_value(msg);
    if (left != 0) {
        bench_send(ctx, (jzx_actor_id)(uintptr_t)ctx->state, 0, left - 1);
        return JZX_BEHAVIOR_OK;
    }
    last = ctx->self;
    bench_finish(ctx);
    return JZX_BEHAVIOR_OK;
}

/* Tells an actor whose successor it is to have. */
static jzx_behavior_result meet(jzx_context *ctx, const jzx_message *msg) {
    ctx->state = (void *)(uintptr_t)bench_value(msg);
    BENCH_CHECK(jzx_become(ctx, hop) == JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint32_t count, bool is_random, uint64_t size,
                struct bench_run *run) {
    uint32_t *order = malloc(count * sizeof *order);
    jzx_actor_id *ids = malloc(count * sizeof *ids);
    BENCH_CHECK(order != NULL && ids != NULL);
    bench_order(order, count, is_random);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = bench_spawn(loop, meet, NULL);
    for (uint32_t i = 0; i < count; i++)
        bench_start(loop, ids[order[i]], 0, ids[order[(i + 1) % count]]);
    bench_run_until_quiet(loop);
    double start = bench_now();
    bench_start(loop, ids[order[0]], 0, size);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(last, ids[order[size % count]]);
    free(ids);
    free(order);
}

#define SCALE(id, shown, count, is_random, hops, limit)                                            \
    static void run_##id(jzx_loop *loop, uint64_t size, struct bench_run *figures) {               \
        run(loop, count, is_random, size, figures);                                                \
    }                                                                                              \
    const struct bench bench_##id = {                                                              \
        .name = shown,                                                                             \
        .op = "hop",                                                                               \
        .checked = "where it ends",                                                                \
        .batch = "1",                                                                              \
        .shows = shows,                                                                            \
        .run = run_##id,                                                                           \
        .size = hops,                                                                              \
        .payload = 8,                                                                              \
        .floor_row = shown,                                                                        \
        .aim = -1,                                                                                 \
        .ratio_limit = limit,                                                                      \
    }

SCALE(scale_2, "scale-2", 2, false, 8000000, 1.5);
SCALE(scale_1k, "scale-1k-index", 1000, false, 8000000, 1.5);
SCALE(scale_1k_random, "scale-1k-random", 1000, true, 8000000, 1.5);
SCALE(scale_100k, "scale-100k-index", 100000, false, 3000000, 1.2);
SCALE(scale_100k_random, "scale-100k-random", 100000, true, 1000000, 1.2);
SCALE(scale_1m, "scale-1m-index", 1000000, false, 3000000, 1.2);
SCALE(scale_1m_random, "scale-1m-random", 1000000, true, 1000000, 1.2);
