/* SPDX-License-Identifier: MIT */
/* Heads: one actor per series that collects points and flushes them as sorted blocks.
 *
 * At most one block is under way. It is sent again with every flush until the planner says that it
 * is stored. So a full mailbox, a planner that is gone for a moment and a block that was lost with
 * one are the same case. Meanwhile points are collected; those that find no room are refused and
 * counted.
 *
 * A head that ends, for whatever reason, flushes in its cleanup, as its memory is there until
 * then. The points that wait in its mailbox are kept for its successor (keep_mailbox). */
#include "store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct head {
    char series[SERIES_SIZE];
    struct block *under_way; /* a reference, or NULL */
    uint64_t blocks;         /* made until now */
    bool leaving;
    uint32_t count;
    struct point points[HEAD_POINTS]; /* sorted, each time once */
};

/* ---- collecting ---- */

/* Points mostly come in order, so the place is looked for from the end. A second value of the same
 * time replaces the first. False if there is no room. */
static bool insert(struct head *self, const struct point *point) {
    uint32_t place = self->count;
    while (place > 0 && self->points[place - 1].time_ms > point->time_ms)
        place--;
    if (place > 0 && self->points[place - 1].time_ms == point->time_ms) {
        self->points[place - 1] = *point;
        return true;
    }
    if (self->count == HEAD_POINTS)
        return false;
    memmove(&self->points[place + 1], &self->points[place], (self->count - place) * sizeof *point);
    self->points[place] = *point;
    self->count++;
    return true;
}

/* ---- flushing ---- */

/* Without memory the points stay where they are, until the next flush. */
static void make_block(jzx_context *ctx) {
    struct head *self = ctx->state;
    if (self->under_way != NULL || self->count == 0)
        return;
    self->under_way =
        block_create(ctx->loop, self->series, self->blocks, self->points, self->count);
    if (self->under_way == NULL)
        return;
    self->blocks++;
    self->count = 0;
}

static void flush(jzx_context *ctx) {
    struct head *self = ctx->state;
    make_block(ctx);
    if (self->under_way != NULL) /* if it is refused, the next flush tries again */
        (void)block_send(ctx->loop, "planner", ctx->self, self->under_way);
}

static void forget_block(jzx_context *ctx) {
    struct head *self = ctx->state;
    jzx_msg_free(ctx->loop, self->under_way);
    self->under_way = NULL;
}

/* A permanent child that returned JZX_BEHAVIOR_STOP would be started again: it has to be removed.
 * If the request is refused the next flush repeats it. */
static void leave_if_done(jzx_context *ctx) {
    const struct head *self = ctx->state;
    jzx_actor_id supervisor;
    if (self->leaving && self->under_way == NULL && self->count == 0 &&
        jzx_lookup(ctx->loop, "ingest", &supervisor) == JZX_OK)
        (void)jzx_supervisor_remove(ctx->loop, supervisor, self->series);
}

/* ---- the actor ---- */

/* A supervisor copies the name of a child, but not what its state points to. So all heads share one
 * spec, and each learns from its name which series it has. */
static jzx_err head_init(jzx_context *ctx) {
    jzx_actor_info info = {.size = sizeof info};
    jzx_err err = jzx_actor_info_get(ctx->loop, ctx->self, &info);
    if (err != JZX_OK)
        return err;
    struct head *self = jzx_alloc_zeroed(ctx, 1, sizeof *self);
    if (self == NULL)
        return JZX_ERR_NO_MEMORY;
    snprintf(self->series, sizeof self->series, "%.*s", SERIES_SIZE - 1, info.name);
    ctx->state = self;
    return jzx_send_every(ctx->loop, ctx->self, ctx->self, NULL, 0, FLUSH, JZX_MS(FLUSH_MS),
                          JZX_FIXED_RATE, NULL);
}

static void append(jzx_context *ctx, const struct point *point) {
    struct head *self = ctx->state;
    JZX_CHECK(ctx, isfinite(point->value)); /* before anything has changed */
    if (!self->leaving && self->count == HEAD_POINTS)
        flush(ctx);
    bool taken = !self->leaving && insert(self, point);
    store_count(ctx->loop, taken ? POINTS_TAKEN : POINTS_REFUSED, 1);
}

static jzx_behavior_result head(jzx_context *ctx, const jzx_message *msg) {
    struct head *self = ctx->state;
    switch (msg->tag) {
    case APPEND: append(ctx, msg->data); break;
    case STORED:
        if (self->under_way != NULL && self->under_way->number == *(const uint64_t *)msg->data)
            forget_block(ctx);
        break;
    case SHUTDOWN:
        self->leaving = true;
        flush(ctx);
        break;
    case FLUSH: flush(ctx); break;
    default: break;
    }
    leave_if_done(ctx);
    return JZX_BEHAVIOR_OK;
}

/* The last flush. No head is left to send a block again, so refused points are lost, and
 * counted. */
static void head_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct head *self = ctx->state;
    uint32_t lost = 0;
    (void)reason;
    if (self == NULL)
        return;                   /* its init did not get that far */
    for (int i = 0; i < 2; i++) { /* the block that is under way, then the rest */
        if (self->under_way != NULL &&
            block_send(ctx->loop, "planner", JZX_NOBODY, self->under_way) != JZX_OK)
            lost += self->under_way->count;
        forget_block(ctx);
        make_block(ctx);
    }
    store_count(ctx->loop, POINTS_LOST, lost + self->count);
}

const jzx_child_spec head_spec = {.behavior = head,
                                  .init = head_init,
                                  .cleanup = head_cleanup,
                                  .mode = JZX_PERMANENT,
                                  .mailbox_cap = 1024,
                                  .keep_mailbox = true};
