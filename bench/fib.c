/* SPDX-License-Identifier: MIT */
/* The 25th number of Fibonacci, an actor for every addition; several times one after another. */
#include "tree.h"

#define N 25u
#define RESULT 75025u

static uint64_t actors;

static jzx_behavior_result fib(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == TREE_RESULT)
        return tree_join(ctx, msg);
    struct tree_node *self = ctx->state;
    uint64_t n = bench_value(msg);
    actors++;
    if (n <= 2)
        return tree_finish(ctx, 1);
    self->missing = 2;
    tree_spawn(ctx->loop, ctx->self, fib, 0, n - 1);
    tree_spawn(ctx->loop, ctx->self, fib, 0, n - 2);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++) {
        tree_result = 0;
        tree_spawn(loop, JZX_NOBODY, fib, 0, N);
        bench_run_until_quiet(loop);
        BENCH_CHECK_EQUAL(tree_result, RESULT);
    }
    run->seconds = bench_now() - start;
    run->ops = actors;
    BENCH_CHECK_EQUAL(actors, size * (2 * RESULT - 1));
}

const struct bench bench_fib = {
    .name = "fib",
    .op = "actor",
    .checked = "the number, actors",
    .batch = "2",
    .run = run,
    .size = 10,
    .payload = 8,
    .floor_row = "fib-lifo",
    .aim = 60,
    .ratio_limit = 0,
};
