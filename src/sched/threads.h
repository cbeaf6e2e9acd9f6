/* SPDX-License-Identifier: MIT */
/* The threads of a loop, as data. Their rules (C1-C6) and what they do are in sched/crew.h. */
#ifndef JZX_SCHED_THREADS_H
#define JZX_SCHED_THREADS_H

#include "base/fault.h"
#include "base/lock.h"
#include "base/parker.h"
#include "base/sigstack.h"
#include "sched/seat.h"

#include "jzx/config.h"
#include "jzx/time.h"

#include <pthread.h>
#include <signal.h>

#define JZX__STACK_MAX 64u
#define JZX__THREAD_NAME_MAX 10u

struct jzx__sched;

struct jzx__thread {
    struct jzx__seat seat;
    struct jzx__parker parker; /* where it waits for a worker */
    struct jzx__sched *sched;
    struct jzx__worker *home;       /* the worker that it is the home thread of; NULL: substitute */
    struct jzx__thread *next;       /* of all but the caller's */
    struct jzx__thread *next_spare; /* of those that wait */
    struct jzx__worker *returned_to; /* of a substitute, under the lock: the worker that has its
                                      * turn, which is over, and has not taken it back yet */
    bool is_chosen;                  /* under the lock: the watchdog is about to give it a worker */
    struct jzx__fault_guard *guard;  /* NULL: no containment */
    struct jzx__sigstack sigstack;   /* for the stall signal, if there is no guard, which has one */
    pthread_t handle;
    _Atomic int tid;              /* the system's number, for the watchdog; 0: not known yet */
    uint32_t number;              /* 1, 2, ...: for its name */
    uint32_t hook_worker;         /* what the hooks are told */
    _Atomic uint32_t stack_state; /* asked, answered: see backtrace.c */
    uint32_t stack_count;
    void *stack[JZX__STACK_MAX];
};

/* The watchdog looks often until this time after a long message; see watchdog.c. */
#define JZX__LULL_NS 100000000u

/* A message of that length is long for the watchdog, and that is how often it then looks. */
#define JZX__LONG_NS 500000u

/* How the watchdog waits for its next look. */
enum jzx__watch_pace {
    JZX__WATCH_LOOKS, /* for a short time: a long turn may hold others up beside an idle worker */
    JZX__WATCH_DOZES,
    JZX__WATCH_SLEEPS /* until a worker wakes up */
};

struct jzx__crew {
    /* Settings. */
    uint64_t stall_after_ns;   /* a turn that takes longer is reported */
    uint64_t relieve_after_ns; /* one that does beside an idle worker and holds others up is
                                * relieved */
    uint64_t notice_after_ns;  /* a tick that sees such a message says so */
    uint32_t spare_max;
    int stall_signal;
    uint32_t contain; /* JZX_CONTAIN_* */
    bool pin_threads;
    bool can_take; /* there is a membarrier */
    char name[JZX__THREAD_NAME_MAX + 1];
    jzx_thread_hook on_start;
    jzx_thread_hook on_stop;
    void *hook_ctx;

    /* Guarded by lock. */
    struct jzx__lock lock;
    struct jzx__thread *threads;
    struct jzx__thread *spares;
    struct jzx__thread *retired; /* of earlier runs: their seats may still be looked at */
    uint32_t thread_count;       /* of threads */

    struct jzx__thread main;      /* of the thread that called run */
    struct jzx__parker watch;     /* where the watchdog waits */
    _Atomic uint32_t watch_pace;  /* enum jzx__watch_pace; the watchdog's, workers poke it */
    _Atomic uint64_t long_at_ns;  /* when a long message was seen last: a hint for the pace */
    _Atomic uint64_t handover_ns; /* what a hand-over costs, smoothed */
    _Atomic uint32_t lost_count;  /* turns that go on without a worker; a hint */
    struct jzx__thread watcher;   /* the watchdog's own, while it drives a worker (C7) */
    uint64_t ticks_seen;          /* the watchdog's: the sum of all ticks at the last look */
    uint64_t prepare_at_ns;       /* the watchdog's: no spare is started ahead before that time */
    bool limit_is_told;           /* the watchdog's: the log says that no spare was left */
    pthread_t watchdog;
    bool is_watched;
    bool is_signal_set;
    sigset_t signals; /* blocked in the caller of run, and so in all threads but the watchdog */
};

void jzx__crew_init(struct jzx__crew *crew, const jzx_config *config);
void jzx__crew_deinit(struct jzx__crew *crew, const jzx_allocator *allocator);

/* True if stalls are reported or relieved. */
static inline bool jzx__crew_wants_watchdog(const struct jzx__crew *crew) {
    return crew->stall_after_ns != JZX_NEVER || crew->relieve_after_ns != JZX_NEVER;
}

/* A worker has woken up: the watchdog must not sleep. */
static inline void jzx__crew_poke(struct jzx__crew *crew) {
    /* seq_cst: pairs with the store of the watchdog, which then looks whether a worker is awake */
    if (jzx__atomic_load_seq_cst(&crew->watch_pace) == JZX__WATCH_SLEEPS)
        jzx__parker_wake(&crew->watch);
}

/* Another worker may be in a long message beside an idle one, as there was one lately: asks the
 * watchdog to look often for a while. A watchdog that misses this looks a doze later. */
static inline void jzx__crew_hurry(struct jzx__crew *crew, uint64_t now) {
    /* relaxed, both: hints */
    uint64_t long_ns = jzx__atomic_load_relaxed(&crew->long_at_ns);
    if (long_ns != 0 && now < long_ns + JZX__LULL_NS &&
        jzx__atomic_load_relaxed(&crew->watch_pace) == JZX__WATCH_DOZES)
        jzx__parker_wake(&crew->watch);
}

#endif
