/* SPDX-License-Identifier: MIT */
/* Dropping the oldest nodes of an inbox on any thread, for tasks whose bound keeps the newest.
 *
 * The owner trims what it takes in, but it may be in a long turn: then a sender that finds the
 * inbox at its limit cuts the oldest nodes off itself.
 *
 *   C1  the inbox of such a task is taken, closed or cut by who has its lock, a bit in the state
 *       word. It comes with the generation, so a late sender never locks a newer task.
 *   C2  pushes need no lock: they change the head of the list, and a cut what is below it.
 *   C3  nothing under the lock allocates or calls out.
 *
 * Rejected: a second list for the older half, which senders swap in (a sender that is held up in
 * between hides messages from the owner, and order is lost); refusing what is new. */
#ifndef JZX_SCHED_CUT_H
#define JZX_SCHED_CUT_H

#include "sched/task.h"

#include <sched.h>

enum jzx__lock_result {
    JZX__LOCK_GOT,
    JZX__LOCK_BUSY, /* somebody has it, for a short time */
    JZX__LOCK_GONE  /* the task of that generation has ended */
};

/* Any thread. */
static inline enum jzx__lock_result jzx__task_try_lock(struct jzx__task *task,
                                                       uint32_t generation) {
    /* relaxed: a first guess for the exchange below */
    uint64_t state = jzx__atomic_load_relaxed(&task->state);
    do {
        if (jzx__state_generation(state) != generation)
            return JZX__LOCK_GONE;
        if (state & JZX__LOCKED)
            return JZX__LOCK_BUSY;
        /* acquire: pairs with unlock; the list is as the last one left it */
    } while (!jzx__atomic_cas_acq_rel(&task->state, &state, state | JZX__LOCKED));
    return JZX__LOCK_GOT;
}

/* Adds to the count of nodes that the owner is to report, as far as it can count. */
static inline void jzx__task_unlock(struct jzx__task *task, uint32_t dropped) {
    /* relaxed: a first guess for the exchange below */
    uint64_t state = jzx__atomic_load_relaxed(&task->state);
    uint64_t wanted;
    do {
        uint64_t room = (JZX__FULLS_MASK - (state & JZX__FULLS_MASK)) / JZX__FULLS_ONE;
        uint64_t more = dropped < room ? dropped : room;
        wanted = (state & ~(uint64_t)JZX__LOCKED) + more * JZX__FULLS_ONE;
        /* release: pairs with try_lock; publishes the list as it is now */
    } while (!jzx__atomic_cas_acq_rel(&task->state, &state, wanted));
}

/* The same for the owner, which waits. */
static inline void jzx__task_lock(struct jzx__task *task) {
    /* relaxed: only the owner changes the generation */
    uint64_t state = jzx__atomic_load_relaxed(&task->state);
    while (jzx__task_try_lock(task, jzx__state_generation(state)) != JZX__LOCK_GOT)
        sched_yield();
}

/* Takes all but the newest `keep` nodes with weight (at least 1) out of the inbox; the others stay
 * where they are. Returns them, oldest first, and how many there are. The caller has the lock. */
static inline struct jzx__node *jzx__task_cut(struct jzx__task *task, uint32_t keep,
                                              uint32_t *count) {
    uint64_t word = jzx__task_inbox(task);
    struct jzx__node *dropped = NULL;
    struct jzx__node *before = NULL;
    struct jzx__node *node = jzx__inbox_list(word);
    uint32_t excess = jzx__inbox_count(word) > keep ? jzx__inbox_count(word) - keep : 0;
    *count = excess;
    if (excess == 0)
        return NULL;
    for (; keep > 0; node = node->next) {
        keep -= node->weight;
        before = node;
    }
    for (uint32_t left = excess; left > 0;) {
        struct jzx__node *next = node->next;
        if (node->weight == 0) {
            before = node;
        } else {
            before->next = next;
            node->flags &= (uint8_t)~JZX__NODE_HINTED; /* it is in no inbox any more */
            node->next = dropped;
            dropped = node;
            left--;
        }
        node = next;
    }
    uint64_t wanted;
    do {
        wanted = word - ((uint64_t)excess << JZX__INBOX_COUNT_SHIFT);
        /* release: pairs with take; publishes the new links, as the lock does */
    } while (!jzx__atomic_cas_acq_rel(&task->inbox, &word, wanted));
    return dropped;
}

#endif
