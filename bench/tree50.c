/* SPDX-License-Identifier: MIT */
/* A lopsided tree: each actor gives four fifths of its leaves to one child and the rest to the
 * other; a leaf computes for 50 us. */
#include "tree.h"

#define LEAF_US 50u
#define SEED 0x9E3779B97F4A7C15u

static jzx_behavior_result split(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == TREE_RESULT)
        return tree_join(ctx, msg);
    struct tree_node *self = ctx->state;
    if (self->size == 1)
        return tree_finish(ctx, bench_compute(SEED, LEAF_US));
    uint64_t most = self->size * 4 / 5;
    self->missing = 2;
    tree_spawn(ctx, split, most, 0);
    tree_spawn(ctx, split, self->size - most, 0);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct tree_root root = {.behavior = split,
                             .size = size,
                             .expected = size * bench_compute(SEED, LEAF_US),
                             .left = 1};
    run->seconds = tree_run(loop, &root);
    run->ops = size;
    BENCH_CHECK_EQUAL(bench_stats(loop).exited, 2 * size);
}

const struct bench bench_tree50 = {
    .name = "tree50",
    .op = "leaf of 50 us",
    .checked = "sum of the leaves, exits",
    .batch = "2",
    .kind = BENCH_HELD,
    .run = run,
    .size = 2000,
    .payload = 8,
    .aim = -1,
    .speedup_min = 1.7,
};
