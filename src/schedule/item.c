/* SPDX-License-Identifier: MIT */
/* Messages of jobs: made, delivered, looked at, handled, and given back to the core. */
#include "schedule/item.h"

#include "actor/mailbox.h"
#include "actor/part.h"
#include "schedule/core/life.h"
#include "schedule/owner.h"
#include "schedule/probes.h"
#include "schedule/runner.h"

/* ---- life ---- */

static void free_body(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *body) {
    if (body == NULL)
        return;
    body->node.lane = JZX__LANE_USER; /* a block as any */
    jzx__message_destroy(loop, me, body);
}

static struct jzx__message *make_body(struct jzx_loop *loop, struct jzx__worker *me,
                                      struct jzx__schedule_item *item,
                                      const struct jzx__item_spec *spec) {
    struct jzx__message *body = jzx__message_create_large(loop, me, spec->len, jzx__no_destructor);
    if (body == NULL)
        return NULL;
    body->node.flags = JZX__TRAILER_OTHER;
    body->node.weight = 0; /* no bound refuses it */
    memcpy(jzx__message_trailer(body), &item, sizeof item);
    body->sender = spec->from;
    body->tag = spec->tag;
    if (spec->len != 0)
        memcpy(body->payload, spec->data, spec->len);
    return body;
}

/* A special message needs a receiver with a cold record, and delivering must not need memory. */
static bool add_spare(struct jzx_loop *loop, struct jzx__worker *me,
                      struct jzx__schedule_item *item) {
    bool has_receiver = item->fn == NULL && item->wake == NULL;
    struct jzx__actor *actor = has_receiver ? jzx__table_lookup(&loop->table, item->to) : NULL;
    if (actor == NULL || jzx__actor_cold(actor) != NULL)
        return true; /* runners are made with one */
    if (jzx__worker_owns(me, &actor->task))
        return jzx__cold_ensure(loop, me, actor) != NULL;
    item->spare = jzx__cold_create(loop, me);
    return item->spare != NULL;
}

struct jzx__schedule_item *jzx__item_create(struct jzx__scheduler *scheduler,
                                            struct jzx__worker *me,
                                            const struct jzx__item_spec *spec) {
    struct jzx_loop *loop = scheduler->loop;
    struct jzx__schedule_item *item = jzx__sched_alloc(&loop->sched, me, JZX__ITEM_CLASS);
    if (item == NULL)
        return NULL;
    *item = (struct jzx__schedule_item){.scheduler = scheduler,
                                        .to = spec->to,
                                        .fn = spec->fn,
                                        .wake = spec->wake,
                                        .ctx = spec->ctx,
                                        .metadata = spec->metadata};
    if (item->wake != NULL)
        return item;
    item->body = make_body(loop, me, item, spec);
    if (item->body != NULL && add_spare(loop, me, item))
        return item;
    jzx__item_destroy(item, me);
    return NULL;
}

void jzx__item_destroy(struct jzx__schedule_item *item, struct jzx__worker *me) {
    struct jzx_loop *loop = item->scheduler->loop;
    free_body(loop, me, item->body);
    jzx__cold_destroy(loop, me, item->spare);
    jzx__sched_free(&loop->sched, me, JZX__ITEM_CLASS, item);
}

static struct jzx__schedule_item *item_of(struct jzx__message *message) {
    struct jzx__schedule_item *item;
    memcpy(&item, jzx__message_trailer(message), sizeof item);
    return item;
}

struct jzx__schedule_item *jzx__item_of(struct jzx__message *message) {
    return message->node.lane == JZX__LANE_JOB ? item_of(message) : NULL;
}

/* ---- delivering; owner ---- */

static void give_cold(struct jzx__actor *actor, struct jzx__schedule_item *item) {
    if (jzx__spare_give_cold(actor, item->spare))
        item->spare = NULL;
}

static void fill(struct jzx__schedule_item *item, const struct jzx__delivery_order *order) {
    item->job = order->job;
    item->batch =
        (jzx_batch){order->batch.runs, order->batch.missed_runs, (jzx_job_mode)order->batch.mode};
    item->error = JZX_OK;
    item->executor = (uint16_t)order->executor;
    item->is_looked = item->has_begun = item->is_running = false;
}

enum jzx__delivery jzx__item_deliver(void *ctx, const struct jzx__delivery_order *order) {
    struct jzx__scheduler *scheduler = ctx;
    struct jzx_loop *loop = scheduler->loop;
    struct jzx__worker *me = scheduler->me;
    struct jzx__schedule_item *item = order->payload;
    if (item->wake != NULL) {
        uint64_t now_ns = jzx__tick_clock_now(&scheduler->core.clock);
        (void)jzx__schedule_complete(&scheduler->core, order->job, now_ns, JZX_OK);
        return JZX__DELIVERED;
    }
    jzx_actor_id to = order->is_function ? jzx__runner_of(scheduler, order->executor) : item->to;
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, to);
    if (actor == NULL && !order->is_function)
        return JZX__DELIVERY_GONE;
    if (actor == NULL) {
        scheduler->needs_runner = true;
        return JZX__DELIVERY_FULL; /* its runner has ended: another one will do it */
    }
    fill(item, order);
    item->body->node.generation = jzx_id_generation(to);
    item->body->node.lane = JZX__LANE_JOB;
    if (jzx__worker_owns(me, &actor->task))
        give_cold(actor, item);
    if (order->is_function)
        jzx__probes_queued(scheduler, order->executor);
    else
        jzx__probes_watch(scheduler, item);
    if (jzx__mailbox_deliver(loop, me, actor, item->body) == JZX_OK)
        return JZX__DELIVERED;
    if (order->is_function)
        jzx__probes_finished(scheduler, order->executor);
    return JZX__DELIVERY_GONE;
}

int32_t jzx__item_run_inline(void *ctx, const struct jzx__delivery_order *order) {
    const struct jzx__schedule_item *item = order->payload;
    (void)ctx;
    jzx_batch batch = {order->batch.runs, order->batch.missed_runs,
                       (jzx_job_mode)order->batch.mode};
    return (int32_t)item->fn(item->ctx, &batch);
}

void jzx__item_release(void *ctx, void *payload, enum jzx__job_state end) {
    struct jzx__scheduler *scheduler = ctx;
    struct jzx__schedule_item *item = payload;
    (void)end;
    jzx__probes_forget(item);
    if (item->wake == NULL) {
        jzx__item_destroy(item, scheduler->me);
        return;
    }
    item->next_woken = NULL;
    if (scheduler->woken == NULL)
        scheduler->woken = item;
    else
        scheduler->woken_last->next_woken = item;
    scheduler->woken_last = item;
}

/* ---- wakes ---- */

struct jzx__schedule_item *jzx__items_take_woken(struct jzx__scheduler *scheduler) {
    struct jzx__schedule_item *woken = scheduler->woken;
    scheduler->woken = NULL;
    return woken;
}

void jzx__items_ring(struct jzx__schedule_item *woken, struct jzx__worker *me) {
    while (woken != NULL) {
        struct jzx__schedule_item *item = woken;
        jzx__wake_fn *wake = item->wake;
        void *ctx = item->ctx;
        woken = item->next_woken;
        jzx__item_destroy(item, me);
        wake(ctx, me);
    }
}

/* ---- the end of a run ---- */

/* The handler has ended, or will never be called. The item is not ours any more afterwards. */
static void finish(struct jzx__worker *me, struct jzx__schedule_item *item) {
    struct jzx__scheduler *scheduler = item->scheduler;
    struct jzx__schedule *core = &scheduler->core;
    jzx__job_id job = item->job;
    int32_t error = item->is_running ? JZX_ERR_UNKNOWN : item->error; /* it left by a jump */
    if (item->fn != NULL)
        jzx__probes_finished(scheduler, item->executor);
    if (!item->has_begun)
        jzx__schedule_give_up(core, job);
    uint64_t now_ns = jzx__tick_clock_now(&core->clock);
    if (jzx__owner_try_acquire(scheduler, me)) {
        (void)jzx__schedule_complete(core, job, now_ns, error);
        jzx__owner_release(scheduler, jzx__owner_due_of(scheduler, job));
    } else {
        (void)jzx__schedule_complete_elsewhere(core, job, now_ns, error);
        jzx__owner_hand_over(scheduler, me);
    }
}

/* ---- the lane ---- */

static enum jzx__filed file(struct jzx__worker *me, struct jzx__actor *actor,
                            struct jzx__node *node) {
    (void)me;
    give_cold(actor, item_of(jzx__message_of(node)));
    return JZX__FILED_KEEP;
}

/* The last moment at which a cancel counts. */
static enum jzx__look begin(struct jzx__worker *me, const struct jzx__spot *at) {
    struct jzx__schedule_item *item = item_of(jzx__message_of(at->node));
    if (item->is_looked)
        return JZX__LOOK_HANDLE;
    jzx__mailbox_looked(at->actor);
    item->is_looked = true;
    item->has_begun = true;
    if (jzx__schedule_may_run(&item->scheduler->core, item->job))
        return JZX__LOOK_HANDLE;
    jzx__spot_remove(at);
    me->pass_handled++; /* the books: it was accepted */
    finish(me, item);
    return JZX__LOOK_GONE;
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message) {
    (void)loop;
    finish(me, item_of(message));
}

static bool take(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message) {
    struct jzx__schedule_item *item = item_of(message);
    (void)loop;
    if (item->batch.mode != JZX_JOB_ONE_SHOT || item->fn != NULL)
        return false;
    message->node.lane = JZX__LANE_USER; /* a block as any */
    item->body = NULL;
    finish(me, item);
    return true;
}

static void stash(struct jzx__cold *cold, struct jzx__message *message) {
    struct jzx__schedule_item *item = item_of(message);
    (void)cold;
    item->is_looked = item->has_begun = false;
}

const struct jzx__lane_ops jzx__lane_job = {
    .file = file, .begin = begin, .release = release, .take = take, .stash = stash};
