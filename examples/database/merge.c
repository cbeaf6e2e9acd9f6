/* SPDX-License-Identifier: MIT */
/* A merge job: merges the sources of one series into its target, one source a turn.
 *
 * The first block of the series that has room is the target. A source that does not fit into it
 * begins the next one. Full targets and the last one go to the index, where a new version takes the
 * place of the one before. The job tells its progress marker to the planner and to metrics.
 *
 * A job owns nothing that would be lost with it. So it checks what it is given, and fails: its
 * supervisor starts it again after a pause, and the planner gives it the same work once more.
 * References to messages are no memory of the actor: each is always in the state, also when a check
 * leaves in the middle of something, and the cleanup gives them up. */
#include "store.h"

#include <stdio.h>
#include <string.h>

enum { GO_ON_KEY = 1 };

struct input {
    struct block *block;
    size_t len;
};

struct job {
    struct progress progress; /* the marker */
    struct merge_work work;
    uint32_t count;
    struct input inputs[SOURCES_MAX + 1]; /* the target, if there is one, then the sources */
    struct block *target;                 /* NULL: the next source begins one */
    uint32_t made;                        /* targets that were begun here */
};

static jzx_err merge_init(jzx_context *ctx) {
    jzx_actor_info info = {.size = sizeof info};
    jzx_err err = jzx_actor_info_get(ctx->loop, ctx->self, &info);
    if (err != JZX_OK)
        return err;
    struct job *self = jzx_alloc_zeroed(ctx, 1, sizeof *self);
    if (self == NULL)
        return JZX_ERR_NO_MEMORY;
    ctx->state = self;
    snprintf(self->progress.series, SERIES_SIZE, "%.*s", SERIES_SIZE - 1,
             info.name + strlen(JOB_PREFIX));
    return jzx_send_named(ctx->loop, "planner", ctx->self, self->progress.series, SERIES_SIZE,
                          JOB_READY);
}

static void merge_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct job *self = ctx->state;
    (void)reason;
    if (self == NULL)
        return;
    jzx_msg_free(ctx->loop, self->target);
    for (uint32_t i = 0; i < self->count; i++)
        jzx_msg_free(ctx->loop, self->inputs[i].block);
}

/* ---- merging ---- */

/* Merges the points of both in order. For the same time the newer block wins. Points of the older
 * one that the compaction has dropped, or soon will, are left out. */
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

/* The next version of the target, or a new one; NULL without memory. */
static struct block *make_version(jzx_context *ctx, const struct block *source) {
    struct job *self = ctx->state;
    struct point points[BLOCK_POINTS];
    if (self->target == NULL)
        return block_create(ctx->loop, source->series, self->work.first_number + self->made++,
                            source->points, source->count);
    uint32_t count =
        merge_points(self->target, source, store_now_ms(ctx->loop) - RETENTION_MS, points);
    return block_create(ctx->loop, source->series, self->target->number, points, count);
}

static void set_target(jzx_context *ctx, struct block *target) {
    struct job *self = ctx->state;
    jzx_msg_free(ctx->loop, self->target);
    self->target = target;
}

/* The block that the marker stands before. */
static const struct block *next_source(jzx_context *ctx) {
    const struct job *self = ctx->state;
    const struct input *input = &self->inputs[self->work.has_target + self->progress.done];
    JZX_CHECK(ctx, block_is_sound(input->block, input->len));
    return input->block;
}

static void tell_progress(jzx_context *ctx) {
    const struct job *self = ctx->state;
    (void)jzx_send_named(ctx->loop, "metrics", ctx->self, &self->progress, sizeof self->progress,
                         PROGRESS);
    (void)jzx_send_named(ctx->loop, "planner", ctx->self, &self->progress, sizeof self->progress,
                         PROGRESS);
}

/* ---- the steps: each ends with a message that asks for the next one ---- */

static void go_on(jzx_context *ctx) {
    JZX_CHECK(ctx, jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, GO_ON) == JZX_OK);
}

/* A lack of memory, or an actor that is being started again, is not the fault of a block. */
static void go_on_later(jzx_context *ctx) {
    JZX_CHECK(ctx, jzx_timer_start(ctx, GO_ON_KEY, NULL, 0, GO_ON, JZX_MS(MERGE_MS)) == JZX_OK);
}

/* False: not now; a message will have the step repeated. */
static bool send_target(jzx_context *ctx, const char *name, uint32_t tag) {
    const struct job *self = ctx->state;
    jzx_actor_id to = JZX_NOBODY;
    jzx_err err = jzx_lookup(ctx->loop, name, &to);
    if (err == JZX_OK)
        err = jzx_send_shared(ctx->loop, to, ctx->self, self->target, tag);
    if (err == JZX_OK)
        return true;
    if (err != JZX_ERR_MAILBOX_FULL || jzx_send_when_room(ctx->loop, to, ctx->self) != JZX_OK)
        go_on_later(ctx);
    return false;
}

static void merge_source(jzx_context *ctx) {
    struct job *self = ctx->state;
    const struct block *source = next_source(ctx);
    if (self->target != NULL && self->target->count + source->count > BLOCK_POINTS) {
        if (!send_target(ctx, "index", BLOCK))
            return;
        set_target(ctx, NULL);
    }
    struct block *version = make_version(ctx, source);
    if (version == NULL) {
        go_on_later(ctx);
        return;
    }
    set_target(ctx, version);
    self->progress.done++;
    tell_progress(ctx);
    go_on(ctx);
}

static bool finish(jzx_context *ctx) {
    return send_target(ctx, "index", BLOCK) && send_target(ctx, "planner", MERGED);
}

static jzx_behavior_result step(jzx_context *ctx) {
    const struct job *self = ctx->state;
    if (self->progress.done == self->progress.total)
        return finish(ctx) ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    merge_source(ctx);
    return JZX_BEHAVIOR_OK;
}

static void start(jzx_context *ctx, const struct merge_work *work) {
    struct job *self = ctx->state;
    JZX_CHECK(ctx, self->count == work->blocks);
    self->work = *work;
    self->progress.total = work->blocks - work->has_target;
    if (work->has_target) {
        self->target = self->inputs[0].block;
        self->inputs[0].block = NULL;
    }
    go_on(ctx);
}

static jzx_behavior_result merge(jzx_context *ctx, const jzx_message *msg) {
    struct job *self = ctx->state;
    switch (msg->tag) {
    case BLOCK:
        JZX_CHECK(ctx, self->count <= SOURCES_MAX);
        self->inputs[self->count++] =
            (struct input){.len = msg->len, .block = jzx_msg_take(ctx, msg)};
        break;
    case START_MERGE: start(ctx, msg->data); break;
    case GO_ON:
    case JZX_TAG_ROOM: return step(ctx);
    case ABANDON: return JZX_BEHAVIOR_STOP;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}

const jzx_child_spec merge_spec = {
    .behavior = merge,
    .init = merge_init,
    .cleanup = merge_cleanup,
    .mode = JZX_TRANSIENT,
    .backoff = {.initial_delay_ns = JZX_MS(100), .factor = 2, .max_delay_ns = JZX_MS(5000)}};
