/* SPDX-License-Identifier: MIT */
/* Pools of threads for functions that block.
 *
 * A pool has a lock, which is held for a few instructions only: no thread is made, woken or waited
 * for under it, and nothing of the user runs under it. So a worker that submits a job is never held
 * up by one.
 *
 *   J1  a job is in exactly one place: with the call that submits it, in the queue, or with a
 *       thread. All moves are made under the lock. Only a job in the queue can be cancelled.
 *   J2  no job waits in the queue while a thread is idle, nor while no thread is there or comes.
 *   J3  a thread is idle from before its last job completes: so whoever hears of that and submits
 *       the next one finds it, and no thread is started for a sequence of jobs.
 *   J4  the most recently idle thread gets the next job. So the others can end, and it is warm.
 *   J5  a thread that has ended is joined by the next one that ends, or when the loop does: never
 *       by a worker.
 *   J6  a pool that was halted takes no job, and a loop whose pools are halted makes no pool: jobs
 *       of futures come from any thread, so also from functions that still run then.
 *
 * Rejected: a condition variable (who is woken takes the lock that the waker has, which costs a
 * second switch); detached threads (who destroys a loop could not know that they have left the
 * lock). */
#ifndef JZX_IO_BLOCKING_H
#define JZX_IO_BLOCKING_H

#include "base/list.h"
#include "op/op.h"

#include "jzx/blocking.h"

#include <pthread.h>
#include <sched.h>

struct jzx__pool_thread;

enum jzx__job_place {
    JZX__JOB_WITH_CALLER,
    JZX__JOB_QUEUED,
    JZX__JOB_GONE /* started, or cancelled */
};

/* What the pool keeps in the slot of an operation. */
struct jzx__job {
    struct jzx__link at_queue;
    struct jzx_blocking_pool *pool;
    jzx_blocking_fn fn;
    void *arg;     /* with a copy: the data of the result */
    uint8_t place; /* enum jzx__job_place; under the lock of the pool (J1) */
};

_Static_assert(sizeof(struct jzx__job) <= JZX__OP_OWN_SIZE, "has its place in the slot");

struct jzx_blocking_pool {
    struct jzx_loop *loop;
    struct jzx_blocking_pool *next; /* of the loop */
    char name[JZX_BLOCKING_NAME_MAX + 1];
    uint32_t threads_max;
    uint32_t queue_max;
    uint64_t idle_ns;

    struct jzx__lock lock; /* of all that follows */
    struct jzx__list queue;
    struct jzx__list threads;       /* all that can be joined and have not ended */
    struct jzx__list idle;          /* J4: the first is the most recent */
    struct jzx__pool_thread *ended; /* J5 */
    uint32_t thread_count;          /* with those that are being started */
    uint32_t idle_count;
    uint32_t queue_count;
    bool is_halted;
    uint64_t started;
    uint64_t cancelled;
    uint64_t refused;
    uint64_t threads_started;
};

/* What a loop has of pools. */
struct jzx__blocking {
    struct jzx__lock lock; /* of the list of pools, and of the next */
    bool is_halted;        /* no pool is made any more */
    struct jzx_blocking_pool *pools;
    _Atomic(struct jzx_blocking_pool *) usual; /* JZX_BLOCKING_DEFAULT, or NULL; set once */
    cpu_set_t cpus;                            /* on which its threads may run */
    bool has_cpus;
};

#endif
