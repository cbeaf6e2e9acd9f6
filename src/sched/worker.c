/* SPDX-License-Identifier: MIT */
/* How a worker chooses what to run, takes in what other threads sent, and sleeps. The rules W1-W5
 * are in worker.h, the protocol rules (R4-R6, R14, R15) in task.h and docs/architecture.md. */
#include "sched/worker.h"

#include "base/assert.h"
#include "sched/sched.h"

_Thread_local struct jzx__worker *jzx__worker_of_thread;

void jzx__worker_init(struct jzx__worker *worker, struct jzx__sched *sched) {
    jzx__mpsc_init(&worker->inject);
    jzx__mpsc_init(&worker->calls);
    jzx__parker_init(&worker->parker);
    worker->sched = sched;
    jzx__list_init(&worker->spawned);
    jzx__list_init(&worker->woken);
    worker->next_left = JZX__NEXT_RUN_MAX;
    worker->tick_every = 1;
    worker->tick_left = 1;
    jzx__slab_init(&worker->slab, &sched->depot);
}

void jzx__worker_deinit(struct jzx__worker *worker) {
    jzx__parker_deinit(&worker->parker);
}

/* ---- making tasks ready ---- */

static struct jzx__task *task_of_run(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__task, run);
}

static struct jzx__task *task_of_entry(struct jzx__mpsc_node *node) {
    return JZX_CONTAINER_OF(node, struct jzx__task, injected);
}

void jzx__worker_soft_limit(struct jzx__worker *me, struct jzx__task *receiver) {
    jzx__worker_end_turn(me);
    if (receiver->place == JZX__IN_WOKEN || receiver->place == JZX__IN_SPAWNED) {
        jzx__list_remove(&receiver->run);
        jzx__worker_set_next(me, receiver);
    }
}

void jzx__task_inject(struct jzx__task *task) {
    /* relaxed: the push that got the token made the last owner store visible, and I3 holds it */
    uintptr_t word = jzx__atomic_load_relaxed(&task->owner);
    struct jzx__worker *owner = (struct jzx__worker *)(word & ~JZX__OWNER_OUT);
    jzx__mpsc_push(&owner->inject, &task->injected);
    jzx__parker_wake(&owner->parker);
}

/* ---- taking in ---- */

/* An entry is consumed: its token is mine (R6). It always makes ready; the inbox is taken later,
 * when the private list is empty, or the mailbox bound would not bound. */
static void handle_entry(struct jzx__worker *me, struct jzx__task *task) {
    /* relaxed: the entry was pushed by who read or wrote this word under the token (I3) */
    uintptr_t owner = jzx__atomic_load_relaxed(&task->owner);
    JZX_ASSERT((owner & ~JZX__OWNER_OUT) == jzx__worker_word(me));
    JZX_ASSERT(!task->holds); /* I1 */
    jzx__counter_add(&me->counters.injected, 1);
    if (task->entry == NULL) { /* it has ended, and this was what its slot waited for */
        /* release: pairs with the acquire of a push; a free slot has no token (I6) */
        jzx__atomic_store_release(&task->inbox, JZX__INBOX_CLOSED);
        me->sched->ops.free_slot(me, task);
        return;
    }
    /* relaxed: ends a hand-over; only this thread's fast path looks for it (I4) */
    jzx__atomic_store_relaxed(&task->owner, jzx__worker_word(me));
    task->holds = true;
    if (!jzx__task_is_scheduled(task))
        jzx__worker_requeue(me, task);
}

void jzx__worker_drain_inject(struct jzx__worker *me, uint32_t max) {
    JZX_ASSERT_OWNER(me);
    for (uint32_t n = 0; n < max; n++) {
        if (me->inject_rest == NULL) {
            if (jzx__mpsc_is_empty(&me->inject))
                return;
            me->inject_rest = jzx__mpsc_take_all(&me->inject);
        }
        struct jzx__mpsc_node *entry = me->inject_rest;
        me->inject_rest = entry->next; /* read first: the task may be injected again at once */
        handle_entry(me, task_of_entry(entry));
    }
}

/* ---- running ---- */

bool jzx__worker_has_work(const struct jzx__worker *me) {
    return jzx__worker_others_wait(me) || me->inject_rest != NULL ||
           !jzx__mpsc_is_empty(&me->calls);
}

struct jzx__task *jzx__worker_pick_queued(struct jzx__worker *me) {
    struct jzx__link *link = NULL;
    if (me->run_oldest) { /* W3 */
        me->run_oldest = false;
        link = jzx__list_pop_back(&me->spawned);
    } else if (!me->alternate || me->woken_last || jzx__list_is_empty(&me->woken)) { /* W2 */
        link = jzx__list_pop_front(&me->spawned);
    }
    me->woken_last = link == NULL;
    if (link == NULL) {
        link = jzx__list_pop_front(&me->woken);
        if (link == NULL)
            return NULL;
        me->woken_served++;
    }
    return task_of_run(link);
}

/* Aims at one tick per JZX__TICK_NS: halves or doubles the number of messages between two. */
static void adapt_tick(struct jzx__worker *me, uint64_t elapsed_ns) {
    if (elapsed_ns > 2 * JZX__TICK_NS) {
        uint64_t wanted = me->tick_every * (uint64_t)JZX__TICK_NS / elapsed_ns;
        me->tick_every = wanted == 0 ? 1 : (uint32_t)wanted;
    } else if (elapsed_ns < JZX__TICK_NS / 2 && me->tick_every < JZX__TICK_MSGS_MAX) {
        me->tick_every *= 2;
    }
    me->tick_left = me->tick_every;
}

/* W4. The first tick of a turn does not know when the turn began, unless every message ticks: it
 * then counts from now, so that a turn of many short messages gets a little more than its time. */
static void watch_turn(struct jzx__worker *me, uint64_t now, uint64_t elapsed, bool every_message) {
    if (!(me->turn_flags & JZX__TURN_TICKED))
        me->turn_began_ns = every_message ? now - elapsed : now;
    me->turn_flags |= JZX__TURN_TICKED;
    if (now - me->turn_began_ns >= JZX__TURN_NS && jzx__worker_others_wait(me))
        jzx__worker_end_turn(me);
}

void jzx__worker_tick(struct jzx__worker *me) {
    uint64_t now = jzx__clock_now(&me->sched->clock);
    uint64_t elapsed = now - me->tick_at_ns;
    me->tick_at_ns = now;
    watch_turn(me, now, elapsed, me->tick_every == 1);
    adapt_tick(me, elapsed);

    bool passed = !jzx__list_is_empty(&me->woken) && me->woken_served == me->woken_seen;
    me->passed_ns = passed ? me->passed_ns + elapsed : 0;
    me->woken_seen = me->woken_served;
    me->alternate = me->passed_ns >= JZX__PASSED_NS; /* W2 */
    me->oldest_ns += elapsed;
    if (me->oldest_ns >= JZX__OLDEST_NS) {
        me->oldest_ns = 0;
        me->run_oldest = true; /* W3 */
    }
}

bool jzx__worker_turn_spent(struct jzx__worker *me) {
    if (!jzx__worker_others_wait(me))
        return false;
    uint64_t now = jzx__clock_now(&me->sched->clock);
    if (!(me->turn_flags & JZX__TURN_ASKED))
        me->turn_asked_ns = now;
    me->turn_flags |= JZX__TURN_ASKED;
    return (me->turn_flags & JZX__TURN_OVER) != 0 || now - me->turn_asked_ns >= JZX__TURN_NS;
}

/* ---- sleeping ---- */

void jzx__worker_resume(struct jzx__worker *me) {
    me->tick_at_ns = jzx__clock_now(&me->sched->clock);
}

/* Between announcing sleep and sleeping: whatever another thread can bring, in seq_cst order. */
static bool nothing_came(struct jzx__worker *me) {
    return jzx__mpsc_is_empty_seq_cst(&me->inject) && jzx__mpsc_is_empty_seq_cst(&me->calls) &&
           /* seq_cst: pairs with the store in request_stop, which then looks at the parker */
           jzx__atomic_load_seq_cst(&me->sched->stop) == 0;
}

void jzx__worker_park(struct jzx__worker *me, uint32_t holds_seen) {
    JZX_ASSERT_OWNER(me);
    jzx__parker_announce(&me->parker, JZX__SLEEPS_ON_FUTEX);
    /* seq_cst: pairs with the decrement in jzx_loop_release, which then looks at the parker */
    if (nothing_came(me) && jzx__atomic_load_seq_cst(&me->sched->holds) == holds_seen) {
        jzx__counter_add(&me->counters.parked, 1);
        jzx__parker_wait(&me->parker);
    }
    jzx__parker_cancel(&me->parker);
    jzx__worker_resume(me);
}

void jzx__worker_settle_fd(struct jzx__worker *me) {
    if (jzx__worker_has_work(me)) {
        jzx__parker_raise_fd(&me->parker);
        return;
    }
    jzx__parker_clear_fd(&me->parker);
    jzx__parker_announce(&me->parker, JZX__SLEEPS_ON_FD);
    if (!nothing_came(me)) {
        jzx__parker_cancel(&me->parker);
        jzx__parker_raise_fd(&me->parker);
    }
}
