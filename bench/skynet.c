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
        tree_spawn(ctx, skynet, share, number + i * share);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct tree_root root = {
        .behavior = skynet, .size = size, .expected = size * (size - 1) / 2, .left = 1};
    run->seconds = tree_run(loop, &root);
    run->ops = (size * CHILDREN - 1) / (CHILDREN - 1);
    BENCH_CHECK_EQUAL(bench_stats(loop).exited, run->ops + 1);
}

const struct bench bench_skynet = {
    .name = "skynet",
    .op = "actor",
    .checked = "sum of the leaves, exits",
    .batch = "10",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 1000000,
    .payload = 8,
    .floor_row = "skynet-lifo",
    .aim = 60,
    .aim_2 = 40,
    .ratio_limit = 2.5,
    .speedup_min = 1.5,
};
