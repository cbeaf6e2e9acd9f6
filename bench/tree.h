/* SPDX-License-Identifier: MIT */
/* What the actors of a tree of actors share (skynet, fib, tree50): each has children, waits for
 * their results and passes the sum to its parent. The parent of the first is the root, which does
 * the whole several times. States come from a free list of the thread, as the floor's actors
 * do. */
#ifndef JZX_BENCH_TREE_H
#define JZX_BENCH_TREE_H

#include "bench.h"

#include <stdlib.h>

enum { TREE_TASK, TREE_RESULT };

struct tree_node {
    struct tree_node *next_free;
    jzx_actor_id parent;
    uint64_t size; /* the row's own */
    uint64_t sum;
    uint32_t missing; /* results to come */
};

struct tree_root {
    jzx_behavior_fn behavior; /* of the nodes */
    uint64_t size;            /* of the first */
    uint64_t task;            /* for the first */
    uint64_t expected;        /* result of each time */
    uint64_t left;            /* times */
};

static _Thread_local struct tree_node *tree_free;

/* Spawns an actor of the tree and sends it its task. */
static inline void tree_spawn(jzx_context *ctx, jzx_behavior_fn behavior, uint64_t size,
                              uint64_t task) {
    struct tree_node *node = tree_free;
    if (node != NULL)
        tree_free = node->next_free;
    else
        BENCH_CHECK((node = malloc(sizeof *node)) != NULL);
    node->parent = ctx->self;
    node->size = size;
    node->sum = 0;
    node->missing = 0;
    bench_send(ctx, bench_spawn(ctx->loop, behavior, node), TREE_TASK, task);
}

/* Answers the parent with the result, gives the state back and ends the actor. */
static inline jzx_behavior_result tree_finish(jzx_context *ctx, uint64_t result) {
    struct tree_node *self = ctx->state;
    bench_send(ctx, self->parent, TREE_RESULT, result);
    self->next_free = tree_free;
    tree_free = self;
    return JZX_BEHAVIOR_STOP;
}

/* Adds a child's result; finishes with the last. */
static inline jzx_behavior_result tree_join(jzx_context *ctx, const jzx_message *msg) {
    struct tree_node *self = ctx->state;
    self->sum += bench_value(msg);
    if (--self->missing != 0)
        return JZX_BEHAVIOR_OK;
    return tree_finish(ctx, self->sum);
}

static inline jzx_behavior_result tree_repeat(jzx_context *ctx, const jzx_message *msg) {
    struct tree_root *self = ctx->state;
    if (msg->tag == TREE_RESULT)
        BENCH_CHECK_EQUAL(bench_value(msg), self->expected);
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    self->left--;
    tree_spawn(ctx, self->behavior, self->size, self->task);
    return JZX_BEHAVIOR_OK;
}

/* Runs the tree left times, one after another. Returns the seconds that it took. */
static inline double tree_run(jzx_loop *loop, struct tree_root *root) {
    jzx_actor_id id = bench_spawn(loop, tree_repeat, root);
    double start = bench_now();
    bench_start(loop, id, TREE_TASK, 0);
    bench_run_to_end(loop);
    double seconds = bench_now() - start;
    BENCH_CHECK_EQUAL(root->left, 0);
    return seconds;
}

#endif
