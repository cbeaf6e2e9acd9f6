/* SPDX-License-Identifier: MIT */
/* Sampling mailboxes, dispatchers and workers. Owner only: in a poll of the gauge. */
#include "schedule/probes.h"

#include "actor/mailbox.h"

#define LOOKS_PER_TICK 8u

static uint32_t share(uint64_t part, uint64_t whole) {
    if (whole == 0)
        return 0;
    return part < whole ? (uint32_t)(part * JZX__LOAD_FULL / whole) : JZX__LOAD_FULL;
}

/* ---- mailboxes ---- */

/* Messages that count against the bound. The private list is its owner's: a hint. */
JZX_PEEKS static uint64_t waiting_for(struct jzx__task *task) {
    return (uint64_t)jzx__inbox_count(jzx__task_inbox(task)) + jzx__peek(&task->pending);
}

/* A mailbox that drops messages when it is full bounds its load itself. */
static uint32_t fill_of(const struct jzx__scheduler *scheduler, jzx_actor_id id) {
    struct jzx__actor *actor = jzx__table_lookup(&scheduler->loop->table, id);
    if (actor == NULL || jzx__actor_on_full(actor) != JZX_FULL_REFUSE)
        return 0;
    return share(waiting_for(&actor->task), jzx__actor_bound(actor));
}

/* The receivers go round, so that each is looked at sooner or later. */
static uint32_t sample_mailboxes(void *ctx) {
    struct jzx__scheduler *scheduler = ctx;
    jzx_actor_id last = scheduler->fullest != NULL ? scheduler->fullest->to : JZX_NOBODY;
    uint32_t most = last != JZX_NOBODY ? fill_of(scheduler, last) : 0;
    struct jzx__link *first = scheduler->receivers.ring.next;
    for (uint32_t i = 0; i < LOOKS_PER_TICK; i++) {
        struct jzx__link *link = scheduler->receivers.ring.next;
        if (link == &scheduler->receivers.ring || (i > 0 && link == first))
            break;
        jzx__list_remove(link);
        jzx__list_push_back(&scheduler->receivers, link);
        struct jzx__schedule_item *item =
            JZX_CONTAINER_OF(link, struct jzx__schedule_item, receiver);
        uint32_t fill = item->to == last ? 0 : fill_of(scheduler, item->to); /* often the same */
        last = item->to;
        if (fill > most) {
            most = fill;
            scheduler->fullest = item;
        }
    }
    return most;
}

void jzx__probes_watch(struct jzx__scheduler *scheduler, struct jzx__schedule_item *item) {
    if (item->receiver.next == NULL)
        jzx__list_push_back(&scheduler->receivers, &item->receiver);
}

void jzx__probes_forget(struct jzx__schedule_item *item) {
    if (item->receiver.next != NULL)
        jzx__list_remove(&item->receiver);
    if (item->scheduler->fullest == item)
        item->scheduler->fullest = NULL; /* perhaps no other job sends to that receiver */
}

/* ---- dispatchers ---- */

void jzx__probes_queued(struct jzx__scheduler *scheduler, uint32_t dispatcher) {
    /* relaxed: a gauge */
    (void)jzx__atomic_add_relaxed(&scheduler->queued[dispatcher], 1);
}

void jzx__probes_finished(struct jzx__scheduler *scheduler, uint32_t dispatcher) {
    /* relaxed: a gauge */
    (void)jzx__atomic_add_relaxed(&scheduler->queued[dispatcher], UINT32_MAX); /* one less */
}

static uint32_t sample_dispatchers(void *ctx) {
    const struct jzx__scheduler *scheduler = ctx;
    uint32_t most = 0;
    for (uint32_t i = 0; i < scheduler->settings.dispatcher_count; i++) {
        /* relaxed: a gauge */
        uint32_t queued = jzx__atomic_load_relaxed(&scheduler->queued[i]);
        most = queued > most ? queued : most;
    }
    return share(most, scheduler->core.config.slot_capacity);
}

/* ---- the runtime ---- */

/* Actors that are ready on a worker, in its queues and in the one that others may take from. The
 * queues are the worker's own: a hint. */
JZX_PEEKS static uint64_t ready_on(const struct jzx__worker *worker) {
    const struct jzx__order *order = &worker->order;
    uint64_t depth = (uint64_t)jzx__peek(&order->spawned.depth) + jzx__peek(&order->woken.depth) +
                     jzx__peek(&order->heavy.depth) + jzx__peek(&order->hogs.depth) +
                     (jzx__peek(&order->next) != NULL);
    for (uint32_t i = 0; i < JZX__RANK_COUNT; i++)
        depth += jzx__peek(&order->ranked[i].depth);
    return depth + jzx__deque_count(&worker->deque);
}

static uint32_t sample_runtime(void *ctx) {
    const struct jzx__scheduler *scheduler = ctx;
    const struct jzx__sched *sched = &scheduler->loop->sched;
    uint64_t ready = jzx__global_count(&sched->global);
    for (uint32_t i = 0; i < sched->worker_count; i++)
        ready += ready_on(sched->workers[i]);
    return share(ready, sched->global_max);
}

/* ---- registering ---- */

void jzx__probes_register(struct jzx__scheduler *scheduler) {
    const struct jzx__probe own[] = {
        {"mailbox", JZX__PROBE_MAILBOX, sample_mailboxes, scheduler},
        {"dispatcher", JZX__PROBE_DISPATCHER_LOAD, sample_dispatchers, scheduler},
        {"runtime", JZX__PROBE_RUNTIME, sample_runtime, scheduler}};
    jzx__list_init(&scheduler->receivers);
    for (uint32_t i = 0; i < JZX__PROBES_OWN; i++) {
        if ((scheduler->settings.without_probes & JZX__PROBE_BIT(own[i].kind)) == 0)
            jzx__gauge_register_own(&scheduler->core.gauge, own[i]);
    }
}
