/* SPDX-License-Identifier: MIT */
/* The scheduler of a loop: the core (schedule/core) with actors, mailboxes and worker 0 around it.
 *
 * The core wants one owner at a time: **whoever has the lock**. Worker 0 takes it to run ticks, all
 * other threads take it for what the core offers to its owner alone. Scheduling, cancelling and
 * completing never wait for it: a thread that finds it taken uses the core's queues, which are for
 * any thread, and **pokes** worker 0, which looks at them.
 *
 *   Q1  nothing of the user's runs under the lock but what the core calls: probes, drivers, close
 *       tasks, and the functions that a shutdown runs inline. In these a call that needs the lock
 *       is JZX_ERR_BUSY. What is told to observers waits in a ring until the lock is released, and
 *       so do the wakes whose jobs have ended (item.h), unless a close task ends them.
 *   Q2  `armed_ns` is when worker 0 looks next, at the latest. It is written under the lock. A
 *       thread that makes something due before that pokes.
 *   Q3  the alarm, an entry on the wheel of worker 0, is touched by worker 0 alone.
 *   Q4  a thread with a seat takes the lock inside its bracket (S4 of seat.h).
 *   Q5  what a thread leaves in the core's queues is taken in: by a look of worker 0, which a poke
 *       brings about, or, once the scheduler is closed and no worker may look any more, by that
 *       thread. */
#ifndef JZX_SCHEDULE_SCHEDULER_H
#define JZX_SCHEDULE_SCHEDULER_H

#include "actor/loop.h"
#include "base/lock.h"
#include "sched/waiter.h"
#include "schedule/core/schedule.h"
#include "schedule/settings.h"

#include <pthread.h>

struct jzx__scheduler;
struct jzx__schedule_item;

/* What waits to be shown to the observer. */
#define JZX__STREAM_MAX 512u

struct jzx__schedule_stream {
    struct jzx__schedule_event events[JZX__STREAM_MAX];
    uint32_t first;
    uint32_t count;
    uint64_t lost; /* since it was last empty */
};

/* JZX_DRIVER_THREAD. */
struct jzx__driver_thread {
    pthread_t thread;
    struct jzx__tick_source *source;
    uint32_t resolution_ns;
    _Atomic uint32_t stop;      /* set by the owner, read by the thread */
    _Atomic uint64_t jitter_ns; /* of its last tick; written by the thread */
};

/* The close tasks of the library itself: closer.h. */
enum jzx__closer_kind {
    JZX__CLOSER_DELAYS,
    JZX__CLOSER_REMOTING,
    JZX__CLOSER_TIMERS,
    JZX__CLOSER_HOOKS,
    JZX__CLOSERS
};

_Static_assert(JZX__CLOSERS == JZX_SCHEDULE_OWN_TASKS, "as the header says");

struct jzx__closer;

/* 0, or an error. Under the lock, in the shutdown. */
typedef int32_t jzx__closer_fn(const struct jzx__closer *closer);

struct jzx__closer {
    struct jzx__scheduler *scheduler;
    jzx__closer_fn *close; /* NULL: a place alone */
    uint64_t task;         /* its handle */
};

struct jzx__hook;

/* Under the lock. */
struct jzx__hooks {
    struct jzx__hook *first;
    struct jzx__hook *last;
};

struct jzx__scheduler {
    struct jzx_loop *loop;
    struct jzx__settings settings; /* constant */
    bool is_deterministic;         /* the loop's clock is moved by hand; constant */

    struct jzx__lock lock;
    _Atomic uintptr_t holder; /* names the thread that has the lock; for that thread alone */

    /* Under the lock. */
    struct jzx__schedule core; /* its queues: any thread */
    struct jzx__worker *me;    /* of the thread that has the lock; NULL: none */
    struct jzx__schedule_stream stream;
    struct jzx__schedule_item *woken; /* wakes whose jobs have ended, in that order; or NULL */
    struct jzx__schedule_item *woken_last;
    struct jzx__closer closers[JZX__CLOSERS];
    struct jzx__hooks hooks;
    struct jzx__list receivers;         /* items that were delivered, for a probe: probes.h */
    struct jzx__schedule_item *fullest; /* of the receiver with the fullest mailbox; or NULL */
    bool is_automatic; /* worker 0 drives: by configuration, or because the driver has stopped */
    bool was_idle;     /* there was nothing to drive at the last look */
    bool needs_runner; /* a function could not be delivered: its runner has ended */
    uint64_t jitter_ns;
    struct jzx__driver_thread thread;

    /* Any thread. */
    _Atomic uint64_t armed_ns;    /* Q2: written under the lock */
    _Atomic uint64_t shadow_ns;   /* while ticks run on a clock that was moved by hand: the tick's
                                   * time; else 0. Written under the lock */
    _Atomic uint32_t wants_ticks; /* 1: not idle at the last look; written under the lock */
    _Atomic uint32_t poked;       /* 1: the node is on its way to worker 0, or none looks (Q5) */
    struct jzx__mpsc_node poke;   /* in worker 0's feed */
    _Atomic uint64_t runners[JZX__DISPATCHERS_MAX]; /* actors that run functions; 0: none yet */
    _Atomic uint32_t queued[JZX__DISPATCHERS_MAX];  /* functions that wait or run there; a gauge */

    /* Worker 0 (Q3). */
    struct jzx__waiter alarm;
    bool is_alarm_set;
};

/* What a loop has, always. */
struct jzx__schedule_root {
    _Atomic(struct jzx__scheduler *) made; /* written once, by who is first */
};

static inline struct jzx__schedule_root *jzx__schedule_root_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_SCHEDULE];
}

/* NULL: there is none yet. */
static inline struct jzx__scheduler *jzx__scheduler_of(const struct jzx_loop *loop) {
    /* acquire: pairs with the exchange in ensure; the scheduler is whole */
    return jzx__atomic_load_acquire(&jzx__schedule_root_of(loop)->made);
}

#endif
