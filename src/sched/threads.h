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
    struct jzx__fault_guard *guard; /* NULL: no containment */
    struct jzx__sigstack sigstack;  /* for the stall signal, if there is no guard, which has one */
    pthread_t handle;
    uint32_t number;              /* 1, 2, ...: for its name */
    uint32_t hook_worker;         /* what the hooks are told */
    _Atomic uint32_t stack_state; /* asked, answered: see watchdog.c */
    uint32_t stack_count;
    void *stack[JZX__STACK_MAX];
};

struct jzx__crew {
    /* Settings. */
    uint64_t stall_after_ns;
    uint32_t spare_max;
    int stall_signal;
    uint32_t contain; /* JZX_CONTAIN_* */
    bool pin_threads;
    bool can_take; /* there is a membarrier, and spares are wanted */
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

    struct jzx__thread main;       /* of the thread that called run */
    struct jzx__parker watch;      /* where the watchdog sleeps while no turn runs */
    _Atomic uint32_t watch_sleeps; /* a hint for workers that wake up */
    pthread_t watchdog;
    bool is_watched;
    bool is_signal_set;
    sigset_t signals; /* blocked in the caller of run, and so in all threads but the watchdog */
};

void jzx__crew_init(struct jzx__crew *crew, const jzx_config *config);
void jzx__crew_deinit(struct jzx__crew *crew, const jzx_allocator *allocator);

/* A worker has woken up: the watchdog must not sleep. */
static inline void jzx__crew_poke(struct jzx__crew *crew) {
    /* seq_cst: pairs with the announcement of the watchdog, which then looks at all workers */
    if (jzx__atomic_load_seq_cst(&crew->watch_sleeps) != 0)
        jzx__parker_wake(&crew->watch);
}

#endif
