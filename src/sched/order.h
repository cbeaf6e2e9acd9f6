/* SPDX-License-Identifier: MIT */
/* The order in which a worker runs its ready tasks: the queues, their fences, and the shares of the
 * time that each of them has.
 *
 * Run order. The first task that a turn wakes goes into the **next-slot** and runs when the turn
 * ends (its message is still in the cache); the others go to the end of **woken**, which is first
 * in, first out. A task that never ran goes to **spawned**, newest first: a tree of a million
 * tasks then keeps its live set in the cache (measured 3 times cheaper than in order of age).
 * Tasks with a rank have queues of their own: critical and high before all others, low after them.
 * Tasks whose messages take long wait apart, in two classes: **heavy** ones (JZX__HEAVY_NS), and
 * **hogs** (JZX__HOG_NS of CPU time), behind which a heavy task would wait too long. One worker has
 * no heavy tasks, because nobody else could run them meanwhile; it has hogs.
 *
 * Newest first alone would starve, so a cheap **tick**, about every 10 us and counted in messages,
 * looks at the clock and makes all decisions (time is the worked time of meter.h, which goes on
 * with the messages if a manual clock stands still):
 *   W1  while others wait, a run of turns from the next-slot, with the one from a queue that begins
 *       it, has at most JZX__NEXT_RUN_MAX of them, and none after its second whole tick (the
 *       second: ticks come at regular numbers of messages, and the first one could cut short the
 *       same pair each time). So those who talk to each other stay in the cache for a while, and
 *       whoever is first in a queue does not wait for them longer than two ticks and a turn. The
 *       number is prime, so that two who talk, or three in a circle, take turns in who waits at the
 *       end of a run that no tick ends: or a client might always be the one, with something in hand
 *       that its server then has to refuse to all others.
 *   W2  when woken tasks were passed over for JZX__PASSED_NS, they go first for a tick; but not
 *       after one that has spawned: those would only wait longer.
 *   W3  the oldest spawned task runs every JZX__OLDEST_NS, whatever else waits. The spawned tasks
 *       that are left at that moment are **elders** and run before newer ones, oldest first. Only
 *       the tasks that spring up while an elder runs, or a task of the next-slot after it, go
 *       before the other elders, newest first and until the next JZX__OLDEST_NS. So a tree is
 *       walked in depth, and the backlog of a task that spawns on and on, and waits for the newest,
 *       is served before that task goes on.
 *   W4  a turn ends after msgs_per_turn messages, or at a tick after JZX__TURN_NS if others wait;
 *       and at a tick that ends the pass, because timers are due, or mail about them came, or the
 *       worker's home thread waits for it, or after JZX__PASS_NS. Ticks are counted in messages:
 *       see JZX__TICK_MSGS_MAX.
 *   W5  a receiver that has JZX__SOFT_LIMIT messages waiting goes next, and its sender's turn
 *       ends; unless it waits for something else, and would take none of them.
 *   W6  a turn that has used up the worker's magazine of messages ends: what it made fits the
 *       cache, and is handled before it makes more.
 *   W7  heavy tasks get an eighth of the time while light ones, or those with a rank, wait; but the
 *       next one waits no longer than JZX__HEAVY_WAIT_NS for its share, however long the last took.
 *       Hogs get the same share, measured apart, while any others wait. Two hogs run in a row only
 *       if no light or heavy task waits, so such a task waits for one turn of one hog.
 *   W8  what has waited for 3 x JZX__FENCE_NS among the woken, the hogs or those with a rank gets
 *       half of the time (each side, after a turn of the other that is longer than
 *       JZX__LEAD_MAX_NS, only that), and of several such queues the one that waits for longest is
 *       served first: as long as no turn is longer, nobody waits longer than that and twice a turn
 *       of each that is ready; or four times, who comes right behind a fence.
 *   W9  liveness. W1-W8 order what waits for a worker that ticks; a turn that does not return is no
 *       reason to wait beside an idle worker. While a worker is idle and the awake ones use fewer
 *       CPUs than there are (K6), a ready task that may run elsewhere starts
 *         (a) within two ticks and a wake-up if all awake workers tick: their ticks offer work
 *             (balance.c), and a spawn of another thread wakes a worker if no awake one is
 *             attentive, or if relieve_after_ns is JZX_NEVER (jzx__sched_submit);
 *         (b) else within relieve_after_ns and a wake-up: the watchdog gives the worker of the long
 *             turn to another thread, or empties it (relief.c), and looks at the global queue, as a
 *             worker that seemed attentive may have begun a long turn. Within 6 ms
 *             for the first long turn after JZX__LULL_NS without one, and for what comes to a turn
 *             that has lasted longer than that. */
#ifndef JZX_SCHED_ORDER_H
#define JZX_SCHED_ORDER_H

#include "base/compiler.h"
#include "sched/runq.h"
#include "sched/task.h"

#include <stdbool.h>
#include <stdint.h>

#define JZX__NEXT_RUN_MAX 61u /* a prime: see W1 */
#define JZX__SOFT_LIMIT 256u
#define JZX__OLDEST_NS 80000u
#define JZX__PASSED_NS 20000u
#define JZX__TURN_NS 20000u
#define JZX__FENCE_NS 1600000u
#define JZX__PASS_NS 1000000u /* then other things than turns are looked at: calls, stops */
#define JZX__HEAVY_SHARE 7u   /* times the length of a heavy turn that light tasks get after it, */
#define JZX__HEAVY_WAIT_NS 5000000u       /* at most */
#define JZX__LEAD_MAX_NS INT64_C(5000000) /* W8: what one side can have more than the other */

/* The first field of its worker, and touched by the worker's thread alone. */
struct jzx__order {
    struct jzx__task *next; /* the next-slot */
    uint32_t next_left;     /* turns in a row that it still has */
    uint32_t next_run;      /* what that is set to: 1 while others go first */
    struct jzx__runq woken;
    struct jzx__runq spawned;
    bool next_ticked;        /* W1: a tick fell into the run of the next-slot */
    bool is_special;         /* the order is not just: newest spawned, then oldest woken */
    bool bound_last;         /* the last pick was bound to the caller */
    bool run_woken;          /* W2 is due */
    bool run_oldest;         /* W3 is due */
    bool overdue;            /* W8: some queue is */
    bool in_spell;           /* W8: its tasks go first */
    bool ran_overdue;        /* W8: the last task came from the queue that was it for longest */
    bool heavy_last;         /* W7: the last one in order was heavy because that was due */
    bool hog_last;           /* W7: a hog was the last in order, or came after that */
    bool by_caller;          /* the worker is driven by the thread that called run, or by a test */
    uint16_t fence_looks;    /* how often the fences were looked at, modulo 2^16 */
    uint32_t spawned_seen;   /* W2: spawned tasks that waited before the last woken one ran */
    uint32_t elders;         /* W3: that many of spawned, the oldest, go first */
    uint32_t children;       /* W3: that many of spawned, the newest, go before them */
    uint32_t spawned_left;   /* W3: its depth when the last one was taken; UINT32_MAX: a task of
                              * another queue has run since */
    uint64_t woken_served;   /* woken tasks run so far */
    uint64_t woken_seen;     /* its value at the last tick */
    uint64_t passed_ns;      /* how long woken tasks have been passed over */
    uint64_t oldest_ns;      /* time since W3 was due last */
    uint64_t fence_ns;       /* time since the fences were looked at */
    uint64_t heavy_after_ns; /* W7: when the next heavy task may run beside light ones */
    uint64_t hog_after_ns;   /* W7: when the next hog may run beside others */
    int64_t lead_ns;         /* W8: what the others had more than overdue tasks */
    uint64_t lead_at_ns;     /* W8: when that was */
    struct jzx__runq ranked[JZX__RANK_COUNT]; /* that of JZX__NORMAL: bound to the caller */
    struct jzx__runq heavy;
    struct jzx__runq hogs;
};

/* In zeroed memory. */
void jzx__order_init(struct jzx__order *order);

/* ---- making tasks ready ---- */

/* Puts an ordinary task at the end of the woken queue; it must be scheduled and in no queue. */
static inline void jzx__order_requeue(struct jzx__order *order, struct jzx__task *task) {
    task->place = JZX__IN_WOKEN;
    jzx__runq_push_back(&order->woken, task);
}

/* The same for any task: into the queue that it belongs to. */
JZX_COLD void jzx__order_requeue_aside(struct jzx__order *order, struct jzx__task *task);

static inline void jzx__order_requeue_any(struct jzx__order *order, struct jzx__task *task) {
    if (JZX_UNLIKELY(task->rest != JZX__IDLE))
        jzx__order_requeue_aside(order, task);
    else
        jzx__order_requeue(order, task);
}

/* Into the next-slot if it is free, else to the end of woken. */
static inline void jzx__order_wake(struct jzx__order *order, struct jzx__task *task) {
    if (order->next != NULL) {
        jzx__order_requeue(order, task);
        return;
    }
    task->place = JZX__IN_NEXT;
    order->next = task;
}

/* Into the next-slot; who was there goes to the end of woken. */
static inline void jzx__order_set_next(struct jzx__order *order, struct jzx__task *task) {
    struct jzx__task *displaced = order->next;
    if (displaced != NULL)
        jzx__order_requeue(order, displaced);
    task->place = JZX__IN_NEXT;
    order->next = task;
}

/* Makes a task of mine ready that is not aside: without a call. */
static inline void jzx__order_ready_plain(struct jzx__order *order, struct jzx__task *task) {
    if (task->place == JZX__IDLE) {
        jzx__order_wake(order, task);
    } else if (task->place == JZX__NEW) {
        task->place = JZX__IN_SPAWNED;
        jzx__runq_push_front(&order->spawned, task);
    }
}

/* Makes a task of mine ready that somebody on this thread has something for (R7). */
static inline void jzx__order_ready(struct jzx__order *order, struct jzx__task *task) {
    if (JZX_UNLIKELY(task->place == JZX__ASIDE))
        jzx__order_requeue_aside(order, task);
    else
        jzx__order_ready_plain(order, task);
}

/* Those who are urgent or overdue go before the next-slot. */
static inline void jzx__order_go_first(struct jzx__order *order) {
    order->next_run = 1;
    order->next_left = 1;
    order->is_special = true;
}

/* Out of the queue that it is in, if it is in one. */
void jzx__order_unqueue(struct jzx__order *order, struct jzx__task *task);

/* ---- choosing ---- */

/* True if a task is ready that is not the one that runs. */
static inline bool jzx__order_others_wait(const struct jzx__order *order) {
    return order->next != NULL ||
           (order->woken.depth | order->spawned.depth | order->heavy.depth | order->hogs.depth |
            order->ranked[JZX__CRITICAL].depth | order->ranked[JZX__HIGH].depth |
            order->ranked[JZX__LOW].depth) != 0 ||
           (order->by_caller && order->ranked[JZX__NORMAL].depth != 0);
}

/* Tasks in the run queues. */
uint32_t jzx__order_depth(const struct jzx__order *order);

/* The next task of the run queues, or NULL. The next-slot is left alone. */
struct jzx__task *jzx__order_choose_queued(struct jzx__order *order);

/* The next task to run, out of its queue, or NULL: the chooser of a pass (sched/pass.h). */
JZX_INLINE struct jzx__task *jzx__order_choose(struct jzx__order *order) {
    struct jzx__task *task = order->next;
    if (JZX_LIKELY(task != NULL) && JZX_LIKELY(--order->next_left != 0)) {
        order->next = NULL;
        return task;
    }
    order->next_left = order->next_run;
    order->next_ticked = false;
    struct jzx__task *queued = jzx__order_choose_queued(order);
    if (task == NULL)
        return queued;
    order->next = NULL;
    if (queued == NULL)
        return task;
    jzx__order_requeue(order, task); /* W1 */
    return queued;
}

/* The part of the tick that looks at the queues: W1, W2, W3, W8. */
void jzx__order_inspect(struct jzx__order *order, uint64_t elapsed);

#endif
