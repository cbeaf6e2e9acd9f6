/* SPDX-License-Identifier: MIT */
/* A worker: the queues of ready tasks, the tasks it owns, and the thread that drives it now.
 *
 * Run order. A task that was woken goes into the **next-slot** and runs when the current turn ends
 * (its message is still in the cache); who it displaces goes to the end of **woken**, which is
 * first in, first out. A task that never ran goes to **spawned**, newest first: a tree of a
 * million tasks then keeps its live set in the cache (measured 3 times cheaper than in order of
 * age).
 *
 * Newest first alone would starve, so a cheap **tick**, about every 10 us and counted in messages,
 * looks at the clock and makes all decisions:
 *   W1  at most JZX__NEXT_RUN_MAX turns in a row come from the next-slot while others wait.
 *   W2  when woken tasks were passed over for two ticks, woken and spawned alternate for a tick.
 *   W3  the oldest spawned task runs every JZX__OLDEST_EVERY ticks.
 *   W4  a turn ends after msgs_per_turn messages, or at a tick after JZX__TURN_NS if others wait.
 *   W5  a receiver that has JZX__SOFT_LIMIT messages waiting goes next, and its sender's turn
 *       ends.
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
#define JZX__OLDEST_EVERY 8u
#define JZX__TICK_NS 10000u
#define JZX__TICK_MSGS_MAX 256u
#define JZX__TURN_NS 20000u

struct jzx__sched;
struct jzx__worker;

/* What the layer above does for the scheduler. */
struct jzx__task_ops {
    /* Runs one turn of a scheduled task: ends with it idle, requeued, or gone. */
    void (*run)(struct jzx__worker *worker, struct jzx__task *task);
    /* The last entry of a task that has ended is consumed: its slot can be used again. */
    void (*free_slot)(struct jzx__worker *worker, struct jzx__task *task);
};

enum jzx__queue_index { JZX__QUEUE_NONE, JZX__QUEUE_SPAWNED, JZX__QUEUE_WOKEN, JZX__QUEUE_NEXT };

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
    uint32_t next_run;     /* turns in a row from the next-slot */
    uint32_t tick_left;    /* messages until the next tick */
    uint32_t tick_every;   /* messages between two ticks; adapts to JZX__TICK_NS */
    bool turn_over;        /* the current turn should end after this message */
    bool turn_asked;       /* jzx_turn_spent was asked in this turn, at turn_asked_ns */
    bool turn_ticked;      /* a tick fell into this turn */
    bool alternate;        /* W2 is in force */
    bool woken_last;       /* while it is: whose turn it was */
    bool run_oldest;       /* W3 is due */
    uint32_t ticks;        /* for W3 */
    uint32_t woken_passed; /* ticks that passed over woken tasks */
    uint64_t woken_served; /* woken tasks run so far */
    uint64_t woken_seen;   /* its value at the last tick */
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
    task->queue = JZX__QUEUE_WOKEN;
    jzx__list_push_back(&me->woken, &task->run);
}

/* Into the next-slot; who was there goes to the end of woken. */
static inline void jzx__worker_set_next(struct jzx__worker *me, struct jzx__task *task) {
    struct jzx__task *displaced = me->next;
    if (displaced != NULL)
        jzx__worker_requeue(me, displaced);
    task->queue = JZX__QUEUE_NEXT;
    me->next = task;
}

/* Makes a task of mine ready that somebody on this thread has something for (R7). */
static inline void jzx__worker_ready(struct jzx__worker *me, struct jzx__task *task) {
    if (task->scheduled)
        return;
    task->scheduled = true;
    if (task->fresh) {
        task->queue = JZX__QUEUE_SPAWNED;
        jzx__list_push_front(&me->spawned, &task->run);
    } else {
        jzx__worker_set_next(me, task);
    }
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

/* Runs ready tasks: one pass of at most turns_per_pass turns, cut short when the loop is stopped,
 * when other threads sent something, or when deadline_ns has passed; all three are looked at after
 * each turn. False if nothing was ready. */
bool jzx__worker_run_ready(struct jzx__worker *me, uint64_t deadline_ns);

/* The tick: looks at the clock, decides W1-W4. */
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
