/* SPDX-License-Identifier: MIT */
/* The merger: merges the small blocks of the heads into large ones. Of each series it keeps one
 * block open: what comes is merged into a new version of it, which takes its place in the index,
 * until it is full.
 *
 * A block that is not sorted is a mistake of its maker, and the merger fails on it. All that is
 * lost then is what waits here, and their heads send that again. References to messages are no
 * memory of the actor: the cleanup gives them up, and so each of them is always in the state, also
 * when a check leaves in the middle of something. */
#include "store.h"

#include <string.h>

enum { START_KEY = 1, MERGES_PER_TURN = 8 };

struct pending {
    struct block *block;
    size_t len;
    jzx_actor_id head; /* who wants to know that it is stored, or JZX_NOBODY */
};

struct merger {
    uint64_t number; /* of the next block */
    uint32_t count;
    uint32_t next_open; /* which open block is closed next if there are too many */
    struct pending pending[PENDING_MAX];
    struct block *open[SERIES_MAX]; /* or NULL */
};

jzx_err merge_init(jzx_context *ctx) {
    struct merger *self = jzx_alloc_zeroed(ctx, 1, sizeof *self);
    if (self == NULL)
        return JZX_ERR_NO_MEMORY;
    /* Beyond all numbers of the incarnation before, which made less than one block a nanosecond. */
    self->number = jzx_loop_now(ctx->loop);
    ctx->state = self;
    return JZX_OK;
}

void merge_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct merger *self = ctx->state;
    (void)reason;
    if (self == NULL)
        return;
    for (uint32_t i = 0; i < self->count; i++)
        jzx_msg_free(ctx->loop, self->pending[i].block);
    for (uint32_t i = 0; i < SERIES_MAX; i++)
        jzx_msg_free(ctx->loop, self->open[i]);
}

/* ---- open blocks ---- */

/* Where the open block of the series is or can be. */
static struct block **open_block(jzx_context *ctx, const char *series) {
    struct merger *self = ctx->state;
    struct block **empty = NULL;
    for (uint32_t i = 0; i < SERIES_MAX; i++) {
        if (self->open[i] == NULL)
            empty = &self->open[i];
        else if (strcmp(self->open[i]->series, series) == 0)
            return &self->open[i];
    }
    if (empty == NULL) { /* the index has it, and keeps it as it is */
        empty = &self->open[self->next_open++ % SERIES_MAX];
        jzx_msg_free(ctx->loop, *empty);
        *empty = NULL;
    }
    return empty;
}

/* ---- merging ---- */

/* The points of both, in order; of the same time that of the newer block. Of the older one without
 * what the compaction has dropped, or soon will. */
static uint32_t merge_points(const struct block *older, const struct block *newer, int64_t since_ms,
                             struct point *points) {
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t count = 0;
    while (a < older->count && older->points[a].time_ms < since_ms)
        a++;
    while (a < older->count || b < newer->count) {
        if (b == newer->count ||
            (a < older->count && older->points[a].time_ms < newer->points[b].time_ms)) {
            points[count++] = older->points[a++];
            continue;
        }
        if (a < older->count && older->points[a].time_ms == newer->points[b].time_ms)
            a++;
        points[count++] = newer->points[b++];
    }
    return count;
}

/* The next version of the open block, or a new one; NULL without memory. */
static struct block *make_version(jzx_context *ctx, const struct block *open,
                                  const struct block *block) {
    struct merger *self = ctx->state;
    struct point points[BLOCK_POINTS];
    if (open == NULL || open->count + block->count > BLOCK_POINTS)
        return block_create(ctx->loop, block->series, self->number++, block->points, block->count);
    uint32_t count = merge_points(open, block, store_now_ms(ctx->loop) - RETENTION_MS, points);
    return block_create(ctx->loop, open->series, open->number, points, count);
}

/* Merges the block that waits longest. */
static jzx_err merge_next(jzx_context *ctx) {
    struct merger *self = ctx->state;
    struct pending next = self->pending[0];
    JZX_CHECK(ctx, block_is_sound(next.block, next.len));
    struct block **open = open_block(ctx, next.block->series);
    struct block *version = make_version(ctx, *open, next.block);
    if (version == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = block_send(ctx->loop, "index", ctx->self, version);
    if (err != JZX_OK) {
        jzx_msg_free(ctx->loop, version);
        return err;
    }
    jzx_msg_free(ctx->loop, *open);
    *open = version;
    if (next.head != JZX_NOBODY) /* if it is refused the head asks again, by sending again */
        (void)jzx_send(ctx->loop, next.head, ctx->self, &next.block->number,
                       sizeof next.block->number, STORED);
    store_count(ctx->loop, BLOCKS_MERGED, 1);
    jzx_msg_free(ctx->loop, next.block);
    memmove(self->pending, self->pending + 1, --self->count * sizeof self->pending[0]);
    return JZX_OK;
}

/* ---- the actor ---- */

/* Without memory for the timer the next block starts it. */
static void start_soon(jzx_context *ctx) {
    if (!jzx_timer_is_active(ctx, START_KEY))
        (void)jzx_timer_start(ctx, START_KEY, NULL, 0, START_MERGE, JZX_MS(MERGE_MS));
}

static void merge_some(jzx_context *ctx) {
    struct merger *self = ctx->state;
    jzx_actor_id index;
    jzx_err err = JZX_OK;
    for (int i = 0; i < MERGES_PER_TURN && self->count > 0 && err == JZX_OK; i++)
        err = merge_next(ctx);
    if (err == JZX_ERR_MAILBOX_FULL && jzx_lookup(ctx->loop, "index", &index) == JZX_OK &&
        jzx_send_when_room(ctx->loop, index, ctx->self) == JZX_OK)
        return; /* JZX_TAG_ROOM will come */
    if (self->count > 0)
        start_soon(ctx);
}

jzx_behavior_result merge(jzx_context *ctx, const jzx_message *msg) {
    struct merger *self = ctx->state;
    switch (msg->tag) {
    case BLOCK:
        if (self->count < PENDING_MAX) /* else it comes again */
            self->pending[self->count++] = (struct pending){
                .head = msg->sender, .len = msg->len, .block = jzx_msg_take(ctx, msg)};
        start_soon(ctx);
        break;
    case START_MERGE:
    case JZX_TAG_ROOM: merge_some(ctx); break;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}
