/* SPDX-License-Identifier: MIT */
/* The 25th number of Fibonacci, an actor for every addition; several times one after another. */
#include "tree.h"

#define N 25u
#define RESULT 75025u
#define ACTORS (2 * RESULT - 1)

/* A result has the number in its lower half and counts the actors in its upper one. */
#define ONE_ACTOR ((uint64_t)1 << 32)

static jzx_behavior_result fib(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == TREE_RESULT)
        return tree_join(ctx, msg);
    struct tree_node *self = ctx->state;
    uint64_t n = bench_value(msg);
    if (n <= 2)
        return tree_finish(ctx, ONE_ACTOR + 1);
    self->missing = 2;
    self->sum = ONE_ACTOR;
    tree_spawn(ctx, fib, 0, n - 1);
    tree_spawn(ctx, fib, 0, n - 2);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct tree_root root = {
        .behavior = fib, .task = N, .expected = ACTORS * ONE_ACTOR + RESULT, .left = size};
    run->seconds = tree_run(loop, &root);
    run->ops = size * ACTORS;
    BENCH_CHECK_EQUAL(bench_stats(loop).exited, run->ops + 1);
}

const struct bench bench_fib = {
    .name = "fib",
    .op = "actor",
    .checked = "the number, actors",
    .batch = "2",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 10,
    .payload = 8,
    .floor_row = "fib-lifo",
    .aim = 60,
    .aim_2 = 40,
    .ratio_limit = 0,
    .speedup_min = 1.5,
};
