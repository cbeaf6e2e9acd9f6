/* SPDX-License-Identifier: MIT */
/* The index: owns the blocks of the store, as references to shared buffers, and knows which of
 * them hold a range. A new block is only put at the end; INDEX_WORK, a timer, brings some at a time
 * to their places, so that no message takes long. A search looks at both parts.
 *
 * It does nothing that can fail. If it is ended from outside, the store is empty. */
#include "store.h"

#include <string.h>

enum { WORK_KEY = 1, BLOCKS_PER_TURN = 4 };

struct index {
    uint32_t sorted; /* these are in their places, by series and first time, */
    uint32_t count;  /* and the rest is behind them */
    struct block *blocks[INDEX_BLOCKS];
};

jzx_err index_init(jzx_context *ctx) {
    ctx->state = jzx_alloc_zeroed(ctx, 1, sizeof(struct index));
    return ctx->state == NULL ? JZX_ERR_NO_MEMORY : JZX_OK;
}

void index_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct index *self = ctx->state;
    (void)reason;
    for (uint32_t i = 0; self != NULL && i < self->count; i++)
        jzx_msg_free(ctx->loop, self->blocks[i]);
}

/* ---- adding ---- */

static int compare(const char *series, int64_t time_ms, const struct block *block) {
    int order = strcmp(series, block->series);
    if (order != 0)
        return order;
    return (time_ms > block->points[0].time_ms) - (time_ms < block->points[0].time_ms);
}

/* The first place of the sorted part whose block does not come before this. */
static uint32_t place_of(const struct index *self, const char *series, int64_t time_ms) {
    uint32_t low = 0;
    uint32_t high = self->sorted;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (compare(series, time_ms, self->blocks[middle]) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void remove_at(jzx_context *ctx, uint32_t place) {
    struct index *self = ctx->state;
    jzx_msg_free(ctx->loop, self->blocks[place]);
    memmove(&self->blocks[place], &self->blocks[place + 1],
            (--self->count - place) * sizeof self->blocks[0]);
    self->sorted -= place < self->sorted;
}

static int64_t last_time(const struct block *block) {
    return block->points[block->count - 1].time_ms;
}

/* The store is full: the block with the oldest points has to go. */
static void make_room(jzx_context *ctx) {
    struct index *self = ctx->state;
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < self->count; i++) {
        if (last_time(self->blocks[i]) < last_time(self->blocks[oldest]))
            oldest = i;
    }
    remove_at(ctx, oldest);
    store_count(ctx->loop, BLOCKS_DROPPED, 1);
}

/* Takes the place of the version before it. */
static void add(jzx_context *ctx, struct block *block) {
    struct index *self = ctx->state;
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->blocks[i]->number == block->number) {
            remove_at(ctx, i);
            break;
        }
    }
    if (self->count == INDEX_BLOCKS)
        make_room(ctx);
    self->blocks[self->count++] = block;
}

static void work(jzx_context *ctx) {
    struct index *self = ctx->state;
    for (int i = 0; i < BLOCKS_PER_TURN && self->sorted < self->count; i++) {
        struct block *block = self->blocks[self->sorted];
        uint32_t place = place_of(self, block->series, block->points[0].time_ms);
        memmove(&self->blocks[place + 1], &self->blocks[place],
                (self->sorted - place) * sizeof self->blocks[0]);
        self->blocks[place] = block;
        self->sorted++;
    }
}

/* Without memory for the timer the blocks stay where they are, and are found there. */
static void work_soon(jzx_context *ctx) {
    const struct index *self = ctx->state;
    if (self->sorted < self->count && !jzx_timer_is_active(ctx, WORK_KEY))
        (void)jzx_timer_start(ctx, WORK_KEY, NULL, 0, INDEX_WORK, JZX_MS(INDEX_MS));
}

/* ---- searching and dropping ---- */

/* Sends those of the blocks [from, to) that have points of the range. Returns their number,
 * the refused ones included: a query that misses one sees it. */
static uint32_t send_found(jzx_context *ctx, const jzx_message *question, uint32_t from,
                           uint32_t to) {
    const struct index *self = ctx->state;
    uint32_t found = 0;
    for (uint32_t i = from; i < to; i++) {
        if (block_overlaps(self->blocks[i], question->data)) {
            (void)jzx_send_shared(ctx->loop, question->sender, ctx->self, self->blocks[i], BLOCK);
            found++;
        }
    }
    return found;
}

static void answer_range(jzx_context *ctx, const jzx_message *msg) {
    const struct index *self = ctx->state;
    const struct range *range = msg->data;
    uint32_t from = place_of(self, range->series, INT64_MIN);
    uint32_t to = place_of(self, range->series, range->to_ms);
    uint32_t found = send_found(ctx, msg, from, to);
    found += send_found(ctx, msg, self->sorted, self->count);
    (void)jzx_reply(ctx, msg, &found, sizeof found, RANGE_END);
}

static void drop_before(jzx_context *ctx, const jzx_message *msg) {
    struct index *self = ctx->state;
    int64_t time_ms = *(const int64_t *)msg->data;
    uint32_t dropped = 0;
    for (uint32_t i = self->count; i-- > 0;) {
        if (last_time(self->blocks[i]) < time_ms) {
            remove_at(ctx, i);
            dropped++;
        }
    }
    store_count(ctx->loop, BLOCKS_DROPPED, dropped);
    (void)jzx_reply(ctx, msg, &dropped, sizeof dropped, DROPPED);
}

jzx_behavior_result index_blocks(jzx_context *ctx, const jzx_message *msg) {
    switch (msg->tag) {
    case BLOCK: add(ctx, jzx_msg_take(ctx, msg)); break;
    case INDEX_WORK: work(ctx); break;
    case RANGE: answer_range(ctx, msg); break;
    case DROP_BEFORE: drop_before(ctx, msg); break;
    default: break;
    }
    work_soon(ctx);
    return JZX_BEHAVIOR_OK;
}
