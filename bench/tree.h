/* SPDX-License-Identifier: MIT */
/* What the actors of a tree of actors share (skynet, fib): each has children, waits for their
 * results and passes the sum to its parent. States come from a free list, as the floor's actors
 * do. */
#ifndef JZX_BENCH_TREE_H
#define JZX_BENCH_TREE_H

#include "bench.h"

#include <stdlib.h>

enum { TREE_TASK, TREE_RESULT };

struct tree_node {
    struct tree_node *next_free;
    jzx_actor_id parent; /* JZX_NOBODY: the root */
    uint64_t size;       /* the row's own */
    uint64_t sum;
    uint32_t missing; /* results to come */
};

/* The root's sum. */
static uint64_t tree_result;

static struct tree_node *tree_free;

/* Spawns an actor of the tree and sends it its task. parent is JZX_NOBODY for the root. */
static inline void tree_spawn(jzx_loop *loop, jzx_actor_id parent, jzx_behavior_fn behavior,
                              uint64_t size, uint64_t task) {
    struct tree_node *node = tree_free;
    if (node != NULL)
        tree_free = node->next_free;
    else
        BENCH_CHECK((node = malloc(sizeof *node)) != NULL);
    node->parent = parent;
    node->size = size;
    node->sum = 0;
    node->missing = 0;
    jzx_actor_id id = bench_spawn(loop, behavior, node);
    BENCH_CHECK(jzx_send(loop, id, parent, &task, sizeof task, TREE_TASK) == JZX_OK);
}

/* Answers the parent with the result, gives the state back and ends the actor. */
static inline jzx_behavior_result tree_finish(jzx_context *ctx, uint64_t result) {
    struct tree_node *self = ctx->state;
    if (self->parent != JZX_NOBODY)
        bench_send(ctx, self->parent, TREE_RESULT, result);
    else
        tree_result = result;
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

#endif
