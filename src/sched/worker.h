/* SPDX-License-Identifier: MIT */
/* A worker: the order of its ready tasks, what others bring it, and what they may take from it. A
 * thread drives it (sched/crew.h).
 *
 * What it runs first, W1-W8, is in sched/order.h; the tick, which measures, in sched/meter.h.
 *
 * Several workers (the rules R1-R19 are those of docs/memory-model.md):
 *   K1  only the thread in the worker's seat touches the worker, inside a bracket, except for the
 *       fields marked as written by others.
 *   K2  a task is run by its owner alone, and in at most one turn at a time.
 *   K3  a worker sleeps only after it has said so and then found nothing: in its feeds
 *       (sched/feed.h), the global queue, and every deque that it may take from; and sleeps no
 *       longer than until its next timer.
 *   K4  who makes work visible looks afterwards for a worker that looks around, and that will see
 *       it, or for a sleeper; of the two sides in K3 and K4 one sees the other.
 *   K5  a worker that was woken and found work wakes another before it runs it if more is on
 *       offer: one at a time, as many as there is work for.
 *   K6  workers that use a CPU never outnumber the CPUs because of work that others have: beyond
 *       that number nobody steals, spins or is woken to steal. An awake worker whose thread waits
 *       in the kernel uses none; a turn that goes on without its worker uses one.
 *   K7  a worker that has seen a gentle stop asks every task to end that it owns, or comes to own:
 *       so none is missed, whenever and wherever it was made.
 *   K8  a worker with I/O sleeps where I/O wakes it, with the same announcement and the same checks
 *       as K3; a busy one polls about every JZX__POLL_NS, before the turns of a round.
 *
 * Rejected: one shared queue (a cache line that all write for every message); stealing from
 * private queues (every push would be atomic); waking everybody (each wake costs 5 us). */
#ifndef JZX_SCHED_WORKER_H
#define JZX_SCHED_WORKER_H

#include "base/compiler.h"
#include "base/deque.h"
#include "base/mpsc.h"
#include "base/parker.h"
#include "base/rng.h"
#include "base/slab.h"
#include "observe/counters.h"
#include "sched/balance.h"
#include "sched/cause.h"
#include "sched/feed.h"
#include "sched/meter.h"
#include "sched/order.h"
#include "sched/seat.h"
#include "sched/task.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a turn: how far it may still go. */
struct jzx__budget {
    uint32_t left;  /* messages, and one */
    uint32_t flags; /* JZX__TURN_* */
};

#define JZX__TURN_OVER 1u   /* it ends after this message */
#define JZX__TURN_ASKED 2u  /* jzx_turn_spent was asked, first at turn_asked_ns */
#define JZX__TURN_TICKED 4u /* a tick fell into it */

struct jzx__fault;
struct jzx__fault_ops;
struct jzx__sched;
struct jzx__thread;
struct jzx__worker;

enum jzx__pass_result {
    JZX__PASS_EMPTY, /* nothing was ready */
    JZX__PASS_RAN,
    JZX__PASS_LOST /* the thread has lost the worker, and must not touch it any more */
};

/* A turn that has taken longer than stall_after. */
struct jzx__stall {
    struct jzx__task *task; /* its words and its name may be read, nothing else */
    uint64_t id;            /* that the task had */
    uint32_t tag;
    uint64_t elapsed_ns;
    bool over;        /* it has returned meanwhile */
    bool handed_over; /* its worker has another thread now */
    enum jzx__stall_cause cause;
    void *const *stack;
    size_t stack_count;
};

/* What the layer above does for the scheduler. */
struct jzx__task_ops {
    /* One pass over the ready tasks: jzx__worker_pass with the layer's turn function. */
    enum jzx__pass_result (*run_ready)(struct jzx__worker *worker, uint32_t turns_max);
    /* The last entry of a task that has ended is consumed: its slot can be used again. */
    void (*free_slot)(struct jzx__worker *worker, struct jzx__task *task);
    /* The worker has seen that the loop stops gently: asks every task that it owns to end; and one
     * that it comes to own afterwards. */
    void (*begin_stop)(struct jzx__worker *worker);
    void (*ask_to_end)(struct jzx__worker *worker, struct jzx__task *task);
    /* Once per round of worker 0 while the loop stops, gently or not. */
    void (*go_on_stopping)(struct jzx__worker *worker);
    /* Time has come to due_ns. */
    void (*run_timers)(struct jzx__worker *worker);
    /* What due_ns would be now: a timer may have been cancelled. Asked before a sleep. */
    uint64_t (*next_due)(struct jzx__worker *worker);
    /* A turn that outlived its thread's worker is over: seat->turn has what became of it. */
    void (*take_back)(struct jzx__worker *worker, struct jzx__seat *seat);
    /* Sleeps in place of the futex, while worker->io_count is not 0, until the system has something
     * ready for this worker, its parker's descriptor is raised, or timeout_ns has passed
     * (JZX_NEVER: for ever). What is ready is kept with the worker, and poll_due says so; nothing
     * of it is handled here. May end early. */
    void (*wait)(struct jzx__worker *worker, uint64_t timeout_ns);
    /* Before the turns of a round, when poll_due says so: takes in what the system has ready for
     * this worker, a bounded number of things, and does not wait. True if there may be more. */
    bool (*poll)(struct jzx__worker *worker);
    /* A host is about to sleep at the descriptor of this worker: what that tells of is looked at
     * once more, and poll_due says if there is something. NULL: it tells what is so. */
    void (*settle)(struct jzx__worker *worker);
    /* A turn has taken longer than stall_after, or (in the end) took that long. On the watchdog's
     * thread, or on the worker. */
    void (*tell_stall)(struct jzx__worker *worker, const struct jzx__stall *stall);
    /* No thread is left to drive this worker (C7): said once in a run. On the watchdog's thread. */
    void (*tell_limit)(struct jzx__worker *worker);
    /* A tick has seen that much time since the last one: jzx__report_tick. NULL: nobody
     * reports stalls. */
    void (*stall_is_over)(struct jzx__worker *worker, struct jzx__task *task, uint64_t elapsed_ns,
                          bool single);
    size_t worker_size; /* of what the layer keeps per worker; begins with a struct jzx__worker */
    const struct jzx__fault_ops *faults; /* base/fault.h */
    /* The feeds of the layer, by their numbers, from JZX__FEED_OWN_COUNT on, without a gap; and
     * JZX__FEED_RETURNS, the crew's. */
    const struct jzx__feed_ops *feeds[JZX__FEED_MAX];
};

/* The last nodes that a worker pushed in a row onto one inbox that nobody took meanwhile. */
struct jzx__trail {
    const struct jzx__task *to;
    uint32_t length;
    const struct jzx__node *nodes[JZX__TRAIL_LENGTH];
};

/* The watchdog's notes about a turn that takes long. */
struct jzx__long_turn {
    uint64_t tick;           /* the last tick before the turn */
    struct jzx__usage usage; /* of the thread, at the first look at the turn */
    struct jzx__usage last;  /* and at the last look */
    bool is_held_up;         /* it was counted as that */
};

/* What a worker saw when it last looked. */
struct jzx__seen {
    uint64_t exited; /* its own exited, when it asked whether the run is over */
    uint32_t holds;  /* likewise */
    uint32_t stop;   /* the state of stop that the worker has acted on */
};

struct jzx__worker {
    /* The driving thread's own. First what every turn touches. */
    _Alignas(2 * JZX_CACHE_LINE) struct jzx__order order;
    _Alignas(JZX_CACHE_LINE) struct jzx__sched *sched;
    uint32_t turns_left;            /* of the pass that runs, with the current one */
    uint32_t turns_planned;         /* its turns so far and those left */
    struct jzx__budget budget;      /* of the current turn */
    struct jzx__budget full_budget; /* what a turn begins with */
    uint64_t pass_handled;          /* messages of the current pass, not yet in the counters */
    uint64_t pass_accepted;         /* likewise */
    struct jzx__meter meter;        /* its first fields, on this line */
    struct jzx__slab slab;
    uint64_t due_ns;   /* when run_timers must be called; JZX_NEVER: there are none */
    uint32_t io_count; /* things that the system may have ready for it: it sleeps in ops.wait while
                        * there are some, and polls (K8). The layer above's */
    bool poll_due;     /* the next round calls ops.poll */
    bool poll_rearms;  /* the first poll of another thread arms all requests anew (io_uring) */
    struct jzx__mpsc_node *inject_rest; /* taken from the inject feed, not yet handled */
    const struct jzx__fault *fault;     /* the layer above's: of the task that ends, or NULL */
    uint64_t taken_at_ns; /* when the hand-over to the thread that drives it began; 0: it is over */
    uint32_t index;
    struct jzx__seen seen;
    struct jzx__rng rng;
    struct jzx__trail trail;
    struct jzx__balance balance;

    /* Written by the driving thread, read by others. */
    _Alignas(JZX_CACHE_LINE) _Atomic(struct jzx__seat *) seat; /* who drives it. Decides */
    _Atomic uint64_t tick_at_ns;  /* last look at the clock: the watchdog's */
    _Atomic uint32_t ready_depth; /* gauge, of the last tick */
    struct jzx__counters counters;

    /* Written by other threads. Whoever brings something pushes it and then looks at the parker:
     * on one line with the first feeds. */
    _Alignas(2 * JZX_CACHE_LINE) struct jzx__parker parker;
    struct jzx__feed feeds[JZX__FEED_MAX];   /* sched->feed_count are in use */
    _Atomic(struct jzx__worker *) robbed_by; /* the last thief: a hint for the tick */
    _Atomic(struct jzx__thread *) wanted_by; /* its home thread, while that waits for it (C5 of
                                              * crew.h). Decides */
    bool is_unattended;                      /* no thread drives it (C7); under the crew's lock */
    bool has_rest;       /* the watchdog's: tasks are left that it could not move (C7) */
    _Atomic int poll_fd; /* of its poller, and 1; 0: none. The reactor's, a hint */
    struct jzx__long_turn long_turn; /* the watchdog's, as what follows */
    uint64_t reported_ns;            /* the tick after which a stall was reported */
    struct jzx__stall reported;      /* that stall, unless it was handed over */
    _Atomic uint32_t report_state;   /* who may use both, see report.c. Decides */

    /* What others may take; they write its top. */
    struct jzx__deque deque;
};

/* relaxed: a thread that drives it has written it, or was told so with the worker */
#define JZX_ASSERT_OWNER(worker)                                                                   \
    JZX_ASSERT(jzx__atomic_load_relaxed(&(worker)->seat) == jzx__seat_of_thread)

/* Brings what a pass has counted into the counters; also what the pass of another thread had, which
 * lost the worker. */
static inline void jzx__worker_flush(struct jzx__worker *me) {
    jzx__counter_add(&me->counters.handled, me->pass_handled);
    jzx__counter_add(&me->counters.accepted, me->pass_accepted);
    jzx__counter_add(&me->counters.turns, me->turns_planned - me->turns_left);
    me->pass_handled = 0;
    me->pass_accepted = 0;
    me->turns_planned = me->turns_left;
}

/* Messages that it has handled, and the one in hand. */
static inline uint64_t jzx__worker_handled(const struct jzx__worker *me) {
    return jzx__counter_get(&me->counters.handled) + me->pass_handled;
}

/* True if the worker's home thread waits for it, and so another drives it (C5 of crew.h). */
static inline bool jzx__worker_is_wanted(const struct jzx__worker *me) {
    /* relaxed: a hint for its driver, who looks again under the lock or before it sleeps */
    return jzx__atomic_load_relaxed(&me->wanted_by) != NULL;
}

/* True if timers are due. Looks at the clock if there are any. */
bool jzx__worker_is_due(const struct jzx__worker *me);

/* False without memory. */
bool jzx__worker_init(struct jzx__worker *worker, struct jzx__sched *sched, uint32_t index);
void jzx__worker_deinit(struct jzx__worker *worker);

/* The task whose turn it is, or NULL. */
static inline struct jzx__task *jzx__worker_current(const struct jzx__worker *me) {
    (void)me;
    return jzx__seat_task(jzx__seat_of_thread);
}

/* What `easy` is for an ordinary task. */
static inline uint32_t jzx__task_easy(uint32_t cap) {
    return cap < JZX__SOFT_LIMIT - 1 ? cap : JZX__SOFT_LIMIT - 1;
}

/* Says where the task idles, and with it how many nodes may wait before an append must think. */
static inline void jzx__task_set_rest(struct jzx__task *task, enum jzx__place rest) {
    /* relaxed: only the owner changes it */
    uint32_t cap = jzx__atomic_load_relaxed(&task->cap);
    task->rest = (uint8_t)rest;
    task->easy = rest == JZX__IDLE && (cap & JZX__CAP_LINE) == 0 ? jzx__task_easy(cap) : 0;
}

static inline bool jzx__task_is_heavy(const struct jzx__task *task) {
    return task != NULL && task->heat >= JZX__HEAVY;
}

/* A hog waits behind all others of its priority (W7). */
static inline bool jzx__task_is_hog(const struct jzx__task *task) {
    return task != NULL && task->bulk >= JZX__HEAVY;
}

/* ---- making tasks ready ---- */

static inline uintptr_t jzx__worker_word(const struct jzx__worker *worker) {
    return (uintptr_t)worker;
}

/* True if this thread owns the task, and so may touch its private side. */
static inline bool jzx__worker_owns(const struct jzx__worker *me, struct jzx__task *task) {
    /* relaxed: only I make it my address, and only I make it another (I4) */
    return jzx__atomic_load_relaxed(&task->owner) == jzx__hide(jzx__worker_word(me));
}

/* Puts a task of mine that is scheduled and in no queue into its own, an ordinary one at the end of
 * woken. */
static inline void jzx__worker_requeue_any(struct jzx__worker *me, struct jzx__task *task) {
    jzx__order_requeue_any(&me->order, task);
}

/* Makes a task of mine ready that somebody on this thread has something for (R7). */
static inline void jzx__worker_ready(struct jzx__worker *me, struct jzx__task *task) {
    jzx__order_ready(&me->order, task);
}

/* The same for one that is not aside: without a call. */
static inline void jzx__worker_ready_plain(struct jzx__worker *me, struct jzx__task *task) {
    jzx__order_ready_plain(&me->order, task);
}

/* Out of the queue that it is in, if it is in one. */
static inline void jzx__worker_unqueue(struct jzx__worker *me, struct jzx__task *task) {
    jzx__order_unqueue(&me->order, task);
}

/* W5, and also for a receiver that is full: it goes next and the current turn ends. */
JZX_COLD void jzx__worker_soft_limit(struct jzx__worker *me, struct jzx__task *receiver);

/* Before a node is pushed onto the inbox of another worker's task: what it may hint at, or NULL.
 * Only nodes of one list are: of others some may be in use elsewhere, and would be torn away. */
static inline const struct jzx__node *
jzx__worker_trail(struct jzx__worker *me, struct jzx__task *task, const struct jzx__node *node) {
    struct jzx__trail *trail = &me->trail;
    /* relaxed: a hint; nothing of the list is looked at */
    if (trail->to != task || jzx__inbox_list(jzx__atomic_load_relaxed(&task->inbox)) == NULL) {
        trail->to = task;
        trail->length = 0;
    }
    const struct jzx__node **place = &trail->nodes[trail->length % JZX__TRAIL_LENGTH];
    const struct jzx__node *hint = trail->length >= JZX__TRAIL_LENGTH ? *place : NULL;
    *place = node;
    trail->length++;
    return hint;
}

static inline struct jzx__mpsc *jzx__worker_queue(struct jzx__worker *worker, uint32_t feed) {
    return &worker->feeds[feed].queue;
}

/* Brings something to a worker by one of its feeds, and wakes the worker if it sleeps (K4): true
 * then. Any thread. */
static inline bool jzx__worker_bring(struct jzx__worker *worker, uint32_t feed,
                                     struct jzx__mpsc_node *what) {
    jzx__mpsc_push(jzx__worker_queue(worker, feed), what);
    return jzx__parker_wake(&worker->parker);
}

/* Links a task at its owner and wakes it; the caller has just got the task's token. me is the
 * calling thread's worker, or NULL. */
JZX_COLD void jzx__task_inject(struct jzx__task *task, struct jzx__worker *me);

/* ---- running ---- */

/* True if a task is ready that is not the one that runs. */
static inline bool jzx__worker_others_wait(const struct jzx__worker *me) {
    return jzx__order_others_wait(&me->order) || !jzx__feed_is_empty(&me->feeds[JZX__FEED_INJECT]);
}

/* True if something waits that others have brought. */
bool jzx__worker_has_untaken(const struct jzx__worker *me);

/* True if a task is ready, or something that others have brought waits. */
bool jzx__worker_has_work(const struct jzx__worker *me);

/* Takes in what others have brought, at most max from each feed: from the scheduler's own
 * feeds, and from those of the layer above. */
void jzx__worker_take_in_own(struct jzx__worker *me, uint32_t max);
void jzx__worker_take_in_above(struct jzx__worker *me, uint32_t max);

/* Takes in at most max tasks that other threads made ready. */
void jzx__worker_drain_inject(struct jzx__worker *me, uint32_t max);

/* A task that was just made my own: asks it to end if the loop stops (K7). */
void jzx__worker_welcome(struct jzx__worker *me, struct jzx__task *task);

/* The current turn ends after this message. */
static inline void jzx__worker_end_turn(struct jzx__worker *me) {
    me->budget.flags |= JZX__TURN_OVER;
    me->budget.left = 1;
}

/* The current pass ends after this turn. */
static inline void jzx__worker_end_pass(struct jzx__worker *me) {
    me->turns_planned -= me->turns_left - 1;
    me->turns_left = 1;
}

/* Time as far as ticks know. */
static inline uint64_t jzx__worker_last_tick(const struct jzx__worker *me) {
    /* relaxed: only this thread writes it */
    return jzx__atomic_load_relaxed(&me->tick_at_ns);
}

static inline void jzx__worker_count_message(struct jzx__worker *me) {
    /* relaxed, both: see the field */
    uint32_t left = jzx__atomic_load_relaxed(&me->meter.tick_left) - 1;
    jzx__atomic_store_relaxed(&me->meter.tick_left, left);
    if (JZX_UNLIKELY(left == 0))
        jzx__meter_tick(me);
}

/* The next tick comes a message earlier, but not now: the caller may be in the middle of something.
 */
static inline void jzx__worker_hasten_tick(struct jzx__worker *me) {
    /* relaxed, both: see the field */
    uint32_t left = jzx__atomic_load_relaxed(&me->meter.tick_left);
    jzx__atomic_store_relaxed(&me->meter.tick_left, left > 1 ? left - 1 : 1);
}

/* True if the turn that runs has used its time and others wait. */
bool jzx__worker_turn_spent(struct jzx__worker *me);

/* A task was made here, before anybody can see it; or has ended here. */
static inline void jzx__worker_count_spawned(struct jzx__worker *me, bool daemon) {
    jzx__counter_add_release(&me->counters.spawned, 1);
    if (JZX_UNLIKELY(daemon)) /* second: who sees it has seen the other, see jzx__sched_live */
        jzx__counter_add_release(&me->counters.daemons_spawned, 1);
}

static inline void jzx__worker_count_exited(struct jzx__worker *me, bool daemon) {
    if (JZX_UNLIKELY(daemon))
        jzx__counter_add_release(&me->counters.daemons_exited, 1);
    jzx__counter_add_release(&me->counters.exited, 1);
}

/* ---- sleeping ---- */

/* The thread begins or goes on: time that it did not drive the worker is not the worker's. */
void jzx__worker_resume(struct jzx__worker *me);

#endif
