/* SPDX-License-Identifier: MIT */
/* A tree of 1,111,111 actors: each spawns ten, down to a million leaves, whose numbers are added
 * up on the way back. */
#include "tree.h"

#define CHILDREN 10u

static jzx_behavior_result skynet(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == TREE_RESULT)
        return tree_join(ctx, msg);
    struct tree_node *self = ctx->state;
    uint64_t number = bench_value(msg);
    if (self->size == 1)
        return tree_finish(ctx, number);
    uint64_t share = self->size / CHILDREN;
    self->missing = CHILDREN;
    for (uint64_t i = 0; i < CHILDREN; i++)
        tree_spawn(ctx->loop, ctx->self, skynet, share, number + i * share);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    double start = bench_now();
    tree_spawn(loop, JZX_NOBODY, skynet, size, 0);
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->ops = (size * CHILDREN - 1) / (CHILDREN - 1);
    BENCH_CHECK_EQUAL(tree_result, size * (size - 1) / 2);
    jzx_stats stats = {.size = sizeof stats};
    BENCH_CHECK(jzx_loop_stats(loop, &stats) == JZX_OK);
    BENCH_CHECK_EQUAL(stats.exited, run->ops);
}

const struct bench bench_skynet = {
    .name = "skynet",
    .op = "actor",
    .checked = "sum of the leaves, exits",
    .batch = "10",
    .run = run,
    .size = 1000000,
    .payload = 8,
    .floor_row = "skynet-lifo",
    .aim = 60,
    .ratio_limit = 2.5,
};
