/* SPDX-License-Identifier: MIT */
/* A query: an actor that lives for one question. It asks the index, which sends it the blocks that
 * hold the range and then says how many these were, and makes one row of points of them. All it
 * needs is its own memory, and goes with it. */
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define QUERY_TIMEOUT_MS 1000u

/* A point, and which block it is from: of the same time the one of the newest block counts. */
struct candidate {
    struct point point;
    uint64_t number;
};

struct query {
    struct range range;
    jzx_actor_id reply_to;
    uint32_t blocks; /* that have come */
    uint32_t count;
    bool too_many;
    struct candidate found[RESULT_POINTS];
};

/* Its first message. */
struct question {
    struct range range;
    jzx_actor_id reply_to;
};

enum { BEGIN = 1000 };

static void collect(struct query *self, const struct block *block) {
    self->blocks++;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct point *point = &block->points[i];
        if (point->time_ms < self->range.from_ms || point->time_ms >= self->range.to_ms)
            continue;
        if (self->count == RESULT_POINTS) {
            self->too_many = true;
            return;
        }
        self->found[self->count++] = (struct candidate){*point, block->number};
    }
}

/* By time, and the newest block first. */
static int compare(const void *left, const void *right) {
    const struct candidate *a = left;
    const struct candidate *b = right;
    if (a->point.time_ms != b->point.time_ms)
        return a->point.time_ms < b->point.time_ms ? -1 : 1;
    return (a->number < b->number) - (a->number > b->number);
}

static void sort(struct query *self) {
    uint32_t kept = 0;
    qsort(self->found, self->count, sizeof self->found[0], compare);
    for (uint32_t i = 0; i < self->count; i++) {
        if (kept == 0 || self->found[kept - 1].point.time_ms != self->found[i].point.time_ms)
            self->found[kept++] = self->found[i];
    }
    self->count = kept;
}

/* Moves the result to the asking actor. If that is refused there is nobody else to tell. */
static jzx_behavior_result answer(jzx_context *ctx, bool complete) {
    const struct query *self = ctx->state;
    uint32_t count = complete ? self->count : 0;
    struct result *result =
        jzx_msg_alloc(ctx->loop, sizeof *result + count * sizeof result->points[0], NULL);
    if (result == NULL)
        return JZX_BEHAVIOR_FAIL;
    *result = (struct result){.complete = complete, .count = count};
    for (uint32_t i = 0; i < count; i++)
        result->points[i] = self->found[i].point;
    if (jzx_send_msg(ctx->loop, self->reply_to, ctx->self, result, QUERY_RESULT) == JZX_OK)
        return JZX_BEHAVIOR_STOP;
    jzx_msg_free(ctx->loop, result);
    return JZX_BEHAVIOR_FAIL;
}

static jzx_behavior_result begin(jzx_context *ctx, const struct question *question) {
    jzx_actor_id index;
    struct query *self = jzx_alloc(ctx, sizeof *self);
    if (self == NULL)
        return JZX_BEHAVIOR_FAIL;
    *self = (struct query){.range = question->range, .reply_to = question->reply_to};
    ctx->state = self;
    jzx_err err = jzx_lookup(ctx->loop, "index", &index);
    if (err == JZX_OK)
        err = jzx_ask(ctx, index, &self->range, sizeof self->range, RANGE, JZX_MS(QUERY_TIMEOUT_MS),
                      NULL);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : answer(ctx, false);
}

static jzx_behavior_result query(jzx_context *ctx, const jzx_message *msg) {
    struct query *self = ctx->state;
    switch (msg->tag) {
    case BEGIN: return begin(ctx, msg->data);
    case BLOCK: collect(self, msg->data); return JZX_BEHAVIOR_OK;
    case RANGE_END: /* what the index sent before it is here, or did not come through */
        if (self->too_many || self->blocks != *(const uint32_t *)msg->data)
            return answer(ctx, false);
        sort(self);
        return answer(ctx, true);
    case JZX_TAG_ASK_TIMEOUT: return answer(ctx, false);
    default: return JZX_BEHAVIOR_OK;
    }
}

jzx_err store_query(jzx_loop *loop, const struct range *range, jzx_actor_id reply_to) {
    const struct question question = {.range = *range, .reply_to = reply_to};
    jzx_actor_id id;
    jzx_err err = jzx_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = query, .name = "query", .mailbox_cap = INDEX_BLOCKS + 1),
        &id);
    if (err != JZX_OK)
        return err;
    err = jzx_send(loop, id, JZX_NOBODY, &question, sizeof question, BEGIN);
    if (err != JZX_OK)
        (void)jzx_actor_stop(loop, id, JZX_STOP_KILL);
    return err;
}
