/* SPDX-License-Identifier: MIT */
/* How a worker takes in what other threads sent. The rules K1-K7 are in worker.h, the protocol
 * rules (R4-R6) in task.h and docs/memory-model.md. */
#include "sched/worker.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "sched/balance.h"
#include "sched/sched.h"

#include "jzx/time.h"

struct jzx__seat jzx__no_seat = {.in_runtime = 1};
_Thread_local struct jzx__seat *jzx__seat_of_thread = &jzx__no_seat;

/* ---- setting up ---- */

static const struct jzx__feed_ops inject_ops = {.take = jzx__worker_drain_inject};

static void init_feeds(struct jzx__worker *worker, const struct jzx__task_ops *ops) {
    for (uint32_t i = 0; i < JZX__FEED_MAX; i++) {
        jzx__mpsc_init(jzx__worker_queue(worker, i));
        worker->feeds[i].ops = ops->feeds[i];
    }
    worker->feeds[JZX__FEED_INJECT].ops = &inject_ops;
}

bool jzx__worker_init(struct jzx__worker *worker, struct jzx__sched *sched, uint32_t index) {
    if (!jzx__deque_init(&worker->deque, sched->local_size, &sched->allocator))
        return false;
    if (!jzx__balance_init(&worker->balance, sched)) {
        jzx__deque_deinit(&worker->deque);
        return false;
    }
    init_feeds(worker, &sched->ops);
    jzx__parker_init(&worker->parker);
    worker->sched = sched;
    worker->index = index;
    jzx__order_init(&worker->order);
    jzx__meter_init(&worker->meter);
    worker->due_ns = JZX_NEVER;
    worker->full_budget.left = sched->msgs_per_turn + 1;
    jzx__slab_init(&worker->slab, &sched->depot);
    jzx__rng_init(&worker->rng, index + 1u);
    return true;
}

void jzx__worker_deinit(struct jzx__worker *worker) {
    jzx__parker_deinit(&worker->parker);
    jzx__balance_deinit(&worker->balance, worker->sched);
    jzx__deque_deinit(&worker->deque);
    jzx__slab_deinit(&worker->slab);
}

/* ---- making tasks ready ---- */

void jzx__worker_soft_limit(struct jzx__worker *me, struct jzx__task *receiver) {
    jzx__worker_end_turn(me);
    if (receiver->place == JZX__IN_WOKEN || receiver->place == JZX__IN_SPAWNED) {
        jzx__order_unqueue(&me->order, receiver);
        jzx__order_set_next(&me->order, receiver);
    }
}

void jzx__task_inject(struct jzx__task *task, struct jzx__worker *me) {
    /* relaxed: the push that got the token made the last owner store visible, and I3 holds it */
    uintptr_t word = jzx__atomic_load_relaxed(&task->owner);
    struct jzx__worker *owner = (struct jzx__worker *)(word & ~JZX__OWNER_FLAGS);
    if (jzx__worker_bring(owner, JZX__FEED_INJECT, &task->injected) && me != NULL) {
        me->balance.window.wakes++;
        me->meter.wakes_in_tick++;
    }
}

/* ---- taking in ---- */

void jzx__worker_welcome(struct jzx__worker *me, struct jzx__task *task) {
    if (JZX_LIKELY(me->seen.stop != JZX__STOPPING))
        return;
    if (jzx__seat_of_thread == &me->sched->crew.watcher.seat)
        me->seen.stop = JZX__OPEN; /* no user code here (C7): the next driver asks all again */
    else
        me->sched->ops.ask_to_end(me, task); /* K7 */
}

static void handle_entry(struct jzx__worker *me, struct jzx__task *task) {
    jzx__counter_add(&me->counters.injected, 1);
    bool was_mine = jzx__worker_owns(me, task);
    switch (jzx__task_accept(task, jzx__worker_word(me))) {
    case JZX__ENTRY_FREE: me->sched->ops.free_slot(me, task); break;
    case JZX__ENTRY_READY:
        jzx__worker_requeue_any(me, task);
        if (!was_mine)
            jzx__worker_welcome(me, task);
        break;
    case JZX__ENTRY_SCHEDULED: break;
    }
}

void jzx__worker_drain_inject(struct jzx__worker *me, uint32_t max) {
    struct jzx__mpsc *inject = jzx__worker_queue(me, JZX__FEED_INJECT);
    JZX_ASSERT_OWNER(me);
    for (uint32_t n = 0; n < max; n++) {
        if (me->inject_rest == NULL) {
            if (jzx__mpsc_is_empty(inject))
                return;
            me->inject_rest = jzx__mpsc_take_all(inject);
        }
        struct jzx__mpsc_node *entry = me->inject_rest;
        me->inject_rest = entry->next; /* read first: the task may be injected again at once */
        handle_entry(me, JZX_CONTAINER_OF(entry, struct jzx__task, injected));
    }
}

static void take_in(struct jzx__worker *me, uint32_t first, uint32_t end, uint32_t max) {
    for (uint32_t i = first; i < end; i++) {
        if (JZX_UNLIKELY(!jzx__feed_is_empty(&me->feeds[i])))
            me->feeds[i].ops->take(me, max);
    }
}

void jzx__worker_take_in_own(struct jzx__worker *me, uint32_t max) {
    jzx__worker_drain_inject(me, max); /* also what it has left over from the last time */
    take_in(me, JZX__FEED_INJECT + 1, JZX__FEED_OWN_COUNT, max);
}

void jzx__worker_take_in_above(struct jzx__worker *me, uint32_t max) {
    take_in(me, JZX__FEED_OWN_COUNT, me->sched->feed_count, max);
}

/* ---- running ---- */

bool jzx__worker_is_due(const struct jzx__worker *me) {
    return me->due_ns != JZX_NEVER && jzx__clock_now(&me->sched->clock) >= me->due_ns;
}

bool jzx__worker_has_untaken(const struct jzx__worker *me) {
    if (me->inject_rest != NULL)
        return true;
    for (uint32_t i = 0; i < me->sched->feed_count; i++) {
        if (!jzx__feed_is_empty(&me->feeds[i]))
            return true;
    }
    return false;
}

bool jzx__worker_has_work(const struct jzx__worker *me) {
    return jzx__worker_others_wait(me) || jzx__worker_has_untaken(me);
}

bool jzx__worker_turn_spent(struct jzx__worker *me) {
    if (!jzx__worker_others_wait(me))
        return false;
    uint64_t now = jzx__clock_now(&me->sched->clock);
    if (!(me->budget.flags & JZX__TURN_ASKED))
        me->meter.turn_asked_ns = now;
    else if (!me->sched->clock.is_real)
        me->meter.turn_asked_ns -= JZX__COUNTED_NS; /* the clock may stand still (meter.h) */
    me->budget.flags |= JZX__TURN_ASKED;
    return (me->budget.flags & JZX__TURN_OVER) != 0 ||
           now - me->meter.turn_asked_ns >= JZX__TURN_NS;
}

void jzx__worker_resume(struct jzx__worker *me) {
    uint64_t now = jzx__clock_now(&me->sched->clock);
    uint64_t slept_at = me->balance.slept_at_ns;
    me->meter.off_ns += now - (slept_at != 0 ? slept_at : jzx__worker_last_tick(me));
    if (JZX_UNLIKELY(me->meter.cpu_of != &jzx__seat_of_thread))
        jzx__meter_begin(me, now);
    /* relaxed: the watchdog looks at it now and then */
    jzx__atomic_store_relaxed(&me->tick_at_ns, now);
    me->meter.decided_at_ns = now + me->meter.counted_ns;
    jzx__balance_resume(me, now);
}
