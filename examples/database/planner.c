/* SPDX-License-Identifier: MIT */
/* The planner: collects the blocks of the heads by series and has them merged, one job a series.
 *
 * A job is an actor of its own (merge.c) that may fail; the planner keeps all that a failed job
 * needs to begin again. For each series it has the target, which is the newest block in the index
 * and still has room, and the sources, blocks that are to be merged into it. A job that starts asks
 * for them. Its progress marker says how many sources it has merged: when a job has failed too
 * often, the source behind the marker is given up, and the rest is merged without it.
 *
 * The planner looks into no points, so a bad block cannot hurt it. If it is ended from outside, the
 * heads send their blocks again.
 *
 * References to messages are no memory of the actor, so the cleanup gives them up. */
#include "store.h"

#include <stdio.h>
#include <string.h>

enum { PLAN_KEY = 1 };

struct source {
    struct block *block;
    jzx_actor_id head; /* waits for STORED, or JZX_NOBODY */
};

struct plan {
    char series[SERIES_SIZE]; /* "" if this place is free */
    struct block *target;     /* or NULL */
    uint32_t count;
    struct source sources[SOURCES_MAX];
    /* The job. */
    jzx_actor_id job;      /* the incarnation that was given its work, or JZX_NOBODY */
    uint32_t taken;        /* sources[0] to [taken - 1] are the job's; 0: there is no job */
    uint32_t merged;       /* its progress marker */
    uint32_t attempts;     /* incarnations that were given the work */
    uint64_t first_number; /* of the blocks that it makes */
};

struct planner {
    uint64_t next_number;
    struct plan plans[SERIES_MAX];
};

jzx_err planner_init(jzx_context *ctx) {
    struct planner *self = jzx_alloc_zeroed(ctx, 1, sizeof *self);
    if (self == NULL)
        return JZX_ERR_NO_MEMORY;
    /* Beyond all numbers of an earlier incarnation, which gave less than one a nanosecond. */
    self->next_number = jzx_loop_now(ctx->loop);
    ctx->state = self;
    return JZX_OK;
}

static void drop_sources(jzx_context *ctx, struct plan *plan, uint32_t from, uint32_t count) {
    for (uint32_t i = from; i < from + count; i++)
        jzx_msg_free(ctx->loop, plan->sources[i].block);
    plan->count -= count;
    memmove(&plan->sources[from], &plan->sources[from + count],
            (plan->count - from) * sizeof plan->sources[0]);
}

void planner_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct planner *self = ctx->state;
    (void)reason;
    for (uint32_t i = 0; self != NULL && i < SERIES_MAX; i++) {
        drop_sources(ctx, &self->plans[i], 0, self->plans[i].count);
        jzx_msg_free(ctx->loop, self->plans[i].target);
    }
}

/* ---- plans ---- */

static struct plan *find(struct planner *self, const char *series) {
    for (uint32_t i = 0; i < SERIES_MAX; i++) {
        if (strcmp(self->plans[i].series, series) == 0)
            return &self->plans[i];
    }
    return NULL;
}

/* Opens a plan in a free place, or in the place of a series without work, whose target stays in the
 * index. NULL: all have work. */
static struct plan *open_plan(jzx_context *ctx, const char *series) {
    struct planner *self = ctx->state;
    struct plan *plan = find(self, "");
    for (uint32_t i = 0; plan == NULL && i < SERIES_MAX; i++) {
        if (self->plans[i].count == 0)
            plan = &self->plans[i];
    }
    if (plan == NULL)
        return NULL;
    jzx_msg_free(ctx->loop, plan->target);
    *plan = (struct plan){.job = JZX_NOBODY};
    memcpy(plan->series, series, strlen(series));
    return plan;
}

/* Without memory for the timer the next block starts it. */
static void plan_soon(jzx_context *ctx) {
    if (!jzx_timer_is_active(ctx, PLAN_KEY))
        (void)jzx_timer_start(ctx, PLAN_KEY, NULL, 0, PLAN, JZX_MS(MERGE_MS));
}

static bool is_known(const struct plan *plan, const struct block *block, jzx_actor_id head) {
    for (uint32_t i = 0; i < plan->count; i++) {
        if (head != JZX_NOBODY && plan->sources[i].head == head &&
            plan->sources[i].block->number == block->number)
            return true;
    }
    return false;
}

/* A head repeats its block with each flush: a block that finds no room comes again. */
static void take_block(jzx_context *ctx, const jzx_message *msg) {
    const struct block *block = msg->data;
    if (!block_has_name(block, msg->len)) {
        store_count(ctx->loop, BLOCKS_REFUSED, 1);
        return;
    }
    struct plan *plan = find(ctx->state, block->series);
    if (plan == NULL)
        plan = open_plan(ctx, block->series);
    if (plan == NULL || plan->count == SOURCES_MAX || is_known(plan, block, msg->sender))
        return;
    plan->sources[plan->count++] =
        (struct source){.head = msg->sender, .block = jzx_msg_take(ctx, msg)};
    plan_soon(ctx);
}

/* ---- jobs ---- */

/* The supervisor starts the job, and starts it again when it fails. It forgets its jobs only when
 * it gives up itself; a repeated request to start one that it knows changes nothing. */
static void start_job(jzx_context *ctx, const struct plan *plan) {
    jzx_child_spec spec = merge_spec;
    jzx_child_state state;
    jzx_actor_id merging;
    char name[JZX_NAME_MAX + 1];
    snprintf(name, sizeof name, JOB_PREFIX "%s", plan->series);
    spec.name = name;
    if (jzx_lookup(ctx->loop, "merging", &merging) == JZX_OK &&
        jzx_supervisor_child_state(ctx->loop, merging, name, &state) == JZX_OK &&
        state == JZX_CHILD_UNKNOWN)
        (void)jzx_supervisor_add(ctx->loop, merging, &spec, sizeof spec, JZX_NOBODY);
}

static void plan_jobs(jzx_context *ctx) {
    struct planner *self = ctx->state;
    bool has_work = false;
    for (uint32_t i = 0; i < SERIES_MAX; i++) {
        struct plan *plan = &self->plans[i];
        if (plan->count == 0)
            continue;
        has_work = true;
        if (plan->taken == 0) {
            plan->taken = plan->count;
            plan->merged = plan->attempts = 0;
            plan->first_number = self->next_number;
            self->next_number += plan->taken;
        }
        if (plan->job == JZX_NOBODY)
            start_job(ctx, plan);
    }
    if (has_work)
        plan_soon(ctx);
}

/* The heads of these sources need them no more. If a message is refused the head asks again, by
 * sending its block again. */
static void settle(jzx_context *ctx, struct plan *plan, uint32_t from, uint32_t count) {
    for (uint32_t i = from; i < from + count; i++) {
        const struct source *source = &plan->sources[i];
        if (source->head != JZX_NOBODY)
            (void)jzx_send(ctx->loop, source->head, ctx->self, &source->block->number,
                           sizeof source->block->number, STORED);
    }
    drop_sources(ctx, plan, from, count);
    plan->taken -= count;
}

/* Gives the source up that the job fails on. */
static void give_up_source(jzx_context *ctx, struct plan *plan) {
    settle(ctx, plan, plan->merged, 1);
    store_count(ctx->loop, BLOCKS_REFUSED, 1);
    plan->attempts = 0;
}

/* A block that cannot be sent is missing in the job, which fails then and asks again. */
static void give_work(jzx_context *ctx, struct plan *plan) {
    struct merge_work work = {.first_number = plan->first_number,
                              .blocks = plan->taken + (plan->target != NULL),
                              .has_target = plan->target != NULL};
    if (plan->target != NULL)
        (void)jzx_send_shared(ctx->loop, plan->job, ctx->self, plan->target, BLOCK);
    for (uint32_t i = 0; i < plan->taken; i++)
        (void)jzx_send_shared(ctx->loop, plan->job, ctx->self, plan->sources[i].block, BLOCK);
    (void)jzx_send(ctx->loop, plan->job, ctx->self, &work, sizeof work, START_MERGE);
}

/* An incarnation of a job asks for its work. Every one begins at the first source. */
static void begin_job(jzx_context *ctx, const jzx_message *msg) {
    struct plan *plan = find(ctx->state, msg->data);
    if (plan != NULL && plan->merged < plan->taken && plan->attempts == JOB_ATTEMPTS)
        give_up_source(ctx, plan);
    if (plan == NULL || plan->taken == 0 || jzx_monitor(ctx, msg->sender, NULL) != JZX_OK) {
        (void)jzx_send(ctx->loop, msg->sender, ctx->self, NULL, 0, ABANDON);
        return;
    }
    plan->job = msg->sender;
    plan->attempts++;
    plan->merged = 0;
    give_work(ctx, plan);
}

static struct plan *plan_of_job(struct planner *self, jzx_actor_id job) {
    for (uint32_t i = 0; i < SERIES_MAX; i++) {
        if (self->plans[i].taken > 0 && self->plans[i].job == job)
            return &self->plans[i];
    }
    return NULL; /* of an incarnation of the planner before this one */
}

/* All sources are in the index. The last block that the job made is the next target. */
static void end_job(jzx_context *ctx, const jzx_message *msg) {
    struct plan *plan = plan_of_job(ctx->state, msg->sender);
    if (plan == NULL)
        return;
    jzx_msg_free(ctx->loop, plan->target);
    plan->target = jzx_msg_take(ctx, msg);
    store_count(ctx->loop, BLOCKS_MERGED, plan->taken);
    settle(ctx, plan, 0, plan->taken);
    plan->job = JZX_NOBODY;
}

jzx_behavior_result planner(jzx_context *ctx, const jzx_message *msg) {
    struct plan *plan;
    switch (msg->tag) {
    case BLOCK: take_block(ctx, msg); break;
    case PLAN: plan_jobs(ctx); break;
    case JOB_READY: begin_job(ctx, msg); break;
    case PROGRESS:
        if ((plan = plan_of_job(ctx->state, msg->sender)) != NULL)
            plan->merged = ((const struct progress *)msg->data)->done;
        break;
    case MERGED: end_job(ctx, msg); break;
    case JZX_TAG_DOWN: /* its supervisor starts it again, or the next PLAN asks for it */
        if ((plan = plan_of_job(ctx->state, msg->sender)) != NULL)
            plan->job = JZX_NOBODY;
        break;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}
