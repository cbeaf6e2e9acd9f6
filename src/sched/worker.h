/* SPDX-License-Identifier: MIT */
/* A worker: the queues of ready tasks, the tasks it owns, and the thread that drives it now.
 *
 * Run order. The first task that a turn wakes goes into the **next-slot** and runs when the turn
 * ends (its message is still in the cache); the others go to the end of **woken**, which is first
 * in, first out. A task that never ran goes to **spawned**, newest first: a tree of a million
 * tasks then keeps its live set in the cache (measured 3 times cheaper than in order of age).
 *
 * Newest first alone would starve, so a cheap **tick**, about every 10 us and counted in messages,
 * looks at the clock and makes all decisions:
 *   W1  at most JZX__NEXT_RUN_MAX turns in a row come from the next-slot while others wait.
 *   W2  when woken tasks were passed over for JZX__PASSED_NS, woken and spawned alternate for a
 *       tick.
 *   W3  the oldest spawned task runs every JZX__OLDEST_NS.
 *   W4  a turn ends after msgs_per_turn messages, or at a tick after JZX__TURN_NS if others wait.
 *   W5  a receiver that has JZX__SOFT_LIMIT messages waiting goes next, and its sender's turn
 *       ends.
 *   W6  a turn that has used up the worker's magazine of messages ends: what it made fits the
 *       cache, and is handled before it makes more.
 *
 * Only the thread that drives the worker touches it, except for the two queues and the parker. */
#ifndef JZX_SCHED_WORKER_H
#define JZX_SCHED_WORKER_H

#include "base/compiler.h"
#include "base/list.h"
#include "base/mpsc.h"
#include "base/parker.h"
#include "base/slab.h"
#include "observe/counters.h"
#include "sched/task.h"

#include <stdbool.h>
#include <stdint.h>

#define JZX__NEXT_RUN_MAX 16u
#define JZX__SOFT_LIMIT 256u
#define JZX__OLDEST_NS 80000u
#define JZX__PASSED_NS 20000u
#define JZX__TICK_NS 10000u
#define JZX__TICK_MSGS_MAX 1024u
#define JZX__TURN_NS 20000u

/* turn_flags */
#define JZX__TURN_OVER 1u   /* it ends after this message */
#define JZX__TURN_ASKED 2u  /* jzx_turn_spent was asked, first at turn_asked_ns */
#define JZX__TURN_TICKED 4u /* a tick fell into it */

struct jzx__sched;
struct jzx__worker;

/* What the layer above does for the scheduler. */
struct jzx__task_ops {
    /* One pass over the ready tasks: jzx__worker_pass with the layer's turn function. */
    bool (*run_ready)(struct jzx__worker *worker, uint32_t turns_max);
    /* The last entry of a task that has ended is consumed: its slot can be used again. */
    void (*free_slot)(struct jzx__worker *worker, struct jzx__task *task);
};

struct jzx__worker {
    /* Written by other threads. */
    _Alignas(JZX_CACHE_LINE) struct jzx__mpsc inject; /* tasks that other threads made ready */
    struct jzx__mpsc calls;                           /* functions to call on this thread */
    struct jzx__parker parker;

    /* The driving thread's own from here on. */
    _Alignas(JZX_CACHE_LINE) struct jzx__sched *sched;
    struct jzx__task *next; /* the next-slot */
    struct jzx__list spawned;
    struct jzx__list woken;
    uint32_t next_left;    /* turns in a row that the next-slot still has */
    uint32_t tick_left;    /* messages until the next tick */
    uint32_t tick_every;   /* messages between two ticks; adapts to JZX__TICK_NS */
    uint32_t turn_flags;   /* JZX__TURN_*: of the current turn */
    bool alternate;        /* W2 is in force */
    bool woken_last;       /* while it is: whose turn it was */
    bool run_oldest;       /* W3 is due */
    uint64_t pass_handled; /* messages of the current pass, not yet in the counters */
    uint64_t woken_served; /* woken tasks run so far */
    uint64_t woken_seen;   /* its value at the last tick */
    uint64_t passed_ns;    /* how long woken tasks have been passed over */
    uint64_t oldest_ns;    /* time since W3 was due last */
    uint64_t tick_at_ns;
    uint64_t turn_asked_ns;             /* when it was asked first */
    uint64_t turn_began_ns;             /* as far as its ticks know */
    struct jzx__mpsc_node *inject_rest; /* taken from inject, not yet handled */
    void *turn;                         /* the layer above's: the turn that runs, or NULL */
    struct jzx__slab slab;
    struct jzx__counters counters;
};

/* The worker that this thread drives now, or NULL. A single small initial-exec thread-local, so
 * that the library can be loaded with dlopen. */
extern _Thread_local struct jzx__worker *jzx__worker_of_thread;

static inline struct jzx__worker *jzx__worker_self(void) {
    return jzx__worker_of_thread;
}

#define JZX_ASSERT_OWNER(worker) JZX_ASSERT((worker) == jzx__worker_self())

void jzx__worker_init(struct jzx__worker *worker, struct jzx__sched *sched);
void jzx__worker_deinit(struct jzx__worker *worker);

/* ---- making tasks ready ---- */

static inline uintptr_t jzx__worker_word(const struct jzx__worker *worker) {
    return (uintptr_t)worker;
}

/* True if this thread owns the task, and so may touch its private side. */
static inline bool jzx__worker_owns(const struct jzx__worker *me, struct jzx__task *task) {
    /* relaxed: only I make it my address, and only I make it another (I4) */
    return jzx__atomic_load_relaxed(&task->owner) == jzx__worker_word(me);
}

/* Puts the task at the end of the woken queue; it must be scheduled and in no queue. */
static inline void jzx__worker_requeue(struct jzx__worker *me, struct jzx__task *task) {
    task->place = JZX__IN_WOKEN;
    jzx__list_push_back(&me->woken, &task->run);
}

/* Into the next-slot if it is free, else to the end of woken. */
static inline void jzx__worker_wake(struct jzx__worker *me, struct jzx__task *task) {
    if (me->next != NULL) {
        jzx__worker_requeue(me, task);
        return;
    }
    task->place = JZX__IN_NEXT;
    me->next = task;
}

/* Into the next-slot; who was there goes to the end of woken. */
static inline void jzx__worker_set_next(struct jzx__worker *me, struct jzx__task *task) {
    struct jzx__task *displaced = me->next;
    if (displaced != NULL)
        jzx__worker_requeue(me, displaced);
    task->place = JZX__IN_NEXT;
    me->next = task;
}

/* Makes a task of mine ready that somebody on this thread has something for (R7). */
static inline void jzx__worker_ready(struct jzx__worker *me, struct jzx__task *task) {
    if (task->place == JZX__IDLE) {
        jzx__worker_wake(me, task);
    } else if (task->place == JZX__NEW) {
        task->place = JZX__IN_SPAWNED;
        jzx__list_push_front(&me->spawned, &task->run);
    }
}

/* Out of the queue that it is in, if it is in one. */
static inline void jzx__worker_unqueue(struct jzx__worker *me, struct jzx__task *task) {
    if (task->place == JZX__IN_NEXT)
        me->next = NULL;
    else if (task->place == JZX__IN_SPAWNED || task->place == JZX__IN_WOKEN)
        jzx__list_remove(&task->run);
}

/* W5, and also for a receiver that is full: it goes next and the current turn ends. */
JZX_COLD void jzx__worker_soft_limit(struct jzx__worker *me, struct jzx__task *receiver);

/* Links a task at its owner and wakes it; the caller has just got the task's token. Any thread. */
JZX_COLD void jzx__task_inject(struct jzx__task *task);

/* ---- running ---- */

/* True if a task is ready or an entry or a call waits. */
bool jzx__worker_has_work(const struct jzx__worker *me);

/* True if a task is ready that is not the one that runs. */
static inline bool jzx__worker_others_wait(const struct jzx__worker *me) {
    return me->next != NULL || !jzx__list_is_empty(&me->woken) ||
           !jzx__list_is_empty(&me->spawned) || !jzx__mpsc_is_empty(&me->inject);
}

/* Takes in at most max tasks that other threads made ready. */
void jzx__worker_drain_inject(struct jzx__worker *me, uint32_t max);

/* The next task of the run queues, or NULL. The next-slot is left alone. */
struct jzx__task *jzx__worker_pick_queued(struct jzx__worker *me);

/* The next task to run, out of its queue, or NULL. */
static inline struct jzx__task *jzx__worker_pick(struct jzx__worker *me) {
    struct jzx__task *task = me->next;
    if (JZX_LIKELY(task != NULL) && JZX_LIKELY(--me->next_left != 0)) {
        me->next = NULL;
        return task;
    }
    me->next_left = JZX__NEXT_RUN_MAX;
    struct jzx__task *queued = jzx__worker_pick_queued(me);
    if (task == NULL)
        return queued;
    me->next = NULL;
    if (queued == NULL)
        return task;
    jzx__worker_requeue(me, task); /* W1 */
    return queued;
}

/* The current turn ends after this message. */
static inline void jzx__worker_end_turn(struct jzx__worker *me) {
    me->turn_flags |= JZX__TURN_OVER;
}

/* The tick: looks at the clock, decides W2-W4. */
JZX_COLD void jzx__worker_tick(struct jzx__worker *me);

static inline void jzx__worker_count_message(struct jzx__worker *me) {
    if (JZX_UNLIKELY(--me->tick_left == 0))
        jzx__worker_tick(me);
}

/* True if the turn that runs has used its time and others wait. */
bool jzx__worker_turn_spent(struct jzx__worker *me);

/* The thread begins or goes on: time that it did not drive the worker is not the worker's. */
void jzx__worker_resume(struct jzx__worker *me);

/* Sleeps until another thread brings something (R14); returns at once if it already did, or if the
 * number of holds is no longer what the caller saw when it decided to sleep. */
void jzx__worker_park(struct jzx__worker *me, uint32_t holds_seen);

/* After step: makes the descriptor readable if there is work, else announces that the host sleeps
 * on it. */
void jzx__worker_settle_fd(struct jzx__worker *me);

#endif
