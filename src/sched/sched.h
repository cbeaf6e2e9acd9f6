/* SPDX-License-Identifier: MIT */
/* The scheduler of one loop: its memory, its clock, its workers, what they share, and the caches
 * that threads without a worker use. Knows no actor: the layer above supplies how a task runs and
 * how a slot is freed. */
#ifndef JZX_SCHED_SCHED_H
#define JZX_SCHED_SCHED_H

#include "base/atomic.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/slab.h"
#include "observe/counters.h"
#include "sched/global.h"
#include "sched/threads.h"
#include "sched/worker.h"

#include "jzx/config.h"

/* Threads that are no workers share these. Each thread begins its search at its own, by a hash, so
 * that few meet; one that is taken is passed by. */
#define JZX__FOREIGN_COUNT 8u

struct jzx__foreign {
    _Alignas(JZX_CACHE_LINE) _Atomic uint32_t taken; /* 1 while a thread uses the slab. Decides */
    struct jzx__slab slab;
    struct jzx__counters counters; /* added to by several threads, taken or not */
};

/* What stop says, in the order in which it may change. */
enum jzx__stop {
    JZX__OPEN,
    JZX__STOPPING, /* gently: no new tasks, those there are work off what they have */
    JZX__STOPPED   /* closed: everything ends */
};

struct jzx__sched {
    /* Written at creation, read by all. */
    jzx_allocator allocator;
    jzx_log_sink log;
    uint32_t msgs_per_turn;
    uint32_t turns_per_pass;
    uint32_t drain_max;
    uint32_t worker_count;
    uint32_t cpu_count; /* that we may use; K6 */
    uint32_t local_size;
    uint32_t global_max;
    uint32_t steal_max;
    jzx_balance balance;
    bool restless; /* tests only: every task moves to another worker after every message */
    /* Tests only, or NULL: asked in its place, before each message and each step of a kind, of each
     * task that was spawned in a restless scheduler. True if the task is gone, or queued again. */
    bool (*wander)(struct jzx__worker *me, struct jzx__task *task);
    uint32_t feed_count;  /* of each worker */
    uint32_t pass_enders; /* bit i: feed i ends a pass */
    uint64_t park_timeout_ns;
    struct jzx__task_ops ops;
    struct jzx__clock clock;
    struct jzx_clock *shared_clock; /* NULL: the system's */
    jzx_mapper mapper;
    struct jzx__clock_user clock_user;
    struct jzx__worker **workers;

    /* Written rarely, by any thread. */
    _Alignas(JZX_CACHE_LINE) _Atomic uint32_t stop; /* enum jzx__stop. Decides */
    _Atomic uint32_t leave; /* 1: workers end their run, as it is over or stopped. Decides */
    _Atomic uint32_t holds; /* of jzx_loop_hold. Decides */
    _Atomic uint64_t stop_deadline_ns; /* of the gentle stop */
    struct jzx__depot depot;
    struct jzx__global global;

    /* Written by workers that fall asleep, wake up or end. */
    _Alignas(JZX_CACHE_LINE) _Atomic uint32_t active; /* workers that are not idle. Decides */
    _Atomic uint32_t blocked; /* of these, whose threads wait in the kernel; and turns that use a */
    _Atomic uint32_t strays;  /* CPU without a worker. The watchdog's: figures of its last look */
    _Atomic uint32_t spinners; /* idle workers that look around instead of sleeping. Decides */
    uint32_t spin_looks;       /* of one of them, */
    uint32_t spin_peeks;       /* and how long a look takes */
    _Atomic uint32_t checks;   /* orders the looks whether the run is over */

    /* Written by whoever experiments (B2 of balance.c): hints. */
    _Atomic uint64_t explored_at_ns;
    _Atomic uint64_t explore_gap_ns;   /* until the next time */
    _Atomic uint32_t explore_failures; /* experiments that did not pay; some may not be counted */

    struct jzx__foreign foreign[JZX__FOREIGN_COUNT];
    struct jzx__crew crew;
};

/* False without memory, and then nothing is left behind. */
bool jzx__sched_init(struct jzx__sched *sched, const jzx_config *config,
                     const struct jzx__task_ops *ops);

/* Everything must be quiet. Frees all blocks. */
void jzx__sched_deinit(struct jzx__sched *sched);

static inline uint32_t jzx__sched_stop_state(const struct jzx__sched *sched) {
    /* acquire: pairs with the stores in jzx_loop_request_stop and jzx_loop_stop */
    return jzx__atomic_load_acquire(&sched->stop);
}

static inline bool jzx__sched_is_stopped(const struct jzx__sched *sched) {
    return jzx__sched_stop_state(sched) == JZX__STOPPED;
}

/* True if workers are to end their run. */
static inline bool jzx__sched_is_leaving(const struct jzx__sched *sched) {
    /* relaxed: a hint; a worker that sleeps looks again in seq_cst order */
    return jzx__atomic_load_relaxed(&sched->leave) != 0;
}

/* Closes the scheduler for good, or only ends this run, and wakes every worker. Any thread, also
 * in signal handlers. */
void jzx__sched_close(struct jzx__sched *sched);
void jzx__sched_end_run(struct jzx__sched *sched);

/* Wakes every worker that sleeps. Any thread, also in signal handlers. */
void jzx__sched_wake_all(struct jzx__sched *sched);

/* How many tasks that keep the run going are alive: exact if it is 0 at some moment during the
 * call and stays so, else just not 0. */
uint64_t jzx__sched_live(const struct jzx__sched *sched);

/* True if nothing keeps the run going: no such task, no hold, no call that waits. */
bool jzx__sched_is_done(const struct jzx__sched *sched);

/* Makes a task visible that the caller has made on a thread without a worker: it is held and open.
 */
void jzx__sched_submit(struct jzx__sched *sched, struct jzx__task *task);

/* Makes a worker look at the global queue after something was put there, unless one is about to. */
void jzx__sched_wake_for_global(struct jzx__sched *sched);

/* K6: how many CPUs the awake workers use, and turns without a worker. */
static inline uint32_t jzx__sched_busy(const struct jzx__sched *sched) {
    /* seq_cst: pairs with the changes of a worker that falls asleep or wakes up (K4). relaxed, the
     * others: figures of the watchdog's last look */
    uint32_t active = jzx__atomic_load_seq_cst(&sched->active);
    uint32_t blocked = jzx__atomic_load_relaxed(&sched->blocked);
    uint32_t strays = jzx__atomic_load_relaxed(&sched->strays); /* relaxed: as above */
    return (active > blocked ? active - blocked : 0) + strays;
}

/* True if another worker may be woken to take work: one sleeps, and a CPU is free for it (K6). */
bool jzx__sched_has_idle(const struct jzx__sched *sched);

/* After work was made visible: wakes a worker that may take it, unless one looks around anyway.
 * True if somebody will come. */
bool jzx__sched_wake_one(struct jzx__sched *sched);

/* The cache of this thread, for threads that are no workers. */
struct jzx__foreign *jzx__sched_foreign(struct jzx__sched *sched);

/* A block from the worker's slab, or, if me is NULL, from the foreign cache. */
void *jzx__sched_alloc(struct jzx__sched *sched, struct jzx__worker *me, uint32_t class_index);
void jzx__sched_free(struct jzx__sched *sched, struct jzx__worker *me, uint32_t class_index,
                     void *block);

#endif
