/* SPDX-License-Identifier: MIT */
/* The scheduler of one loop: its memory, its clock, its worker, and the caches that threads
 * without a worker use. Knows no actor: the layer above supplies how a task runs and how a slot is
 * freed. */
#ifndef JZX_SCHED_SCHED_H
#define JZX_SCHED_SCHED_H

#include "base/atomic.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/slab.h"
#include "observe/counters.h"
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

struct jzx__sched {
    /* Written at creation, read by all. */
    jzx_allocator allocator;
    jzx_log_sink log;
    uint32_t msgs_per_turn;
    uint32_t turns_per_pass;
    uint32_t drain_max;
    struct jzx__task_ops ops;
    struct jzx__clock clock;

    /* Written rarely, by any thread. */
    _Alignas(JZX_CACHE_LINE) _Atomic uint32_t stop; /* 1: the loop is closed. Decides */
    _Atomic uint32_t holds;                         /* of jzx_loop_hold. Decides */
    struct jzx__depot depot;

    struct jzx__foreign foreign[JZX__FOREIGN_COUNT];
    struct jzx__worker worker;
};

void jzx__sched_init(struct jzx__sched *sched, const jzx_config *config,
                     const struct jzx__task_ops *ops);

/* Everything must be quiet. Frees all blocks. */
void jzx__sched_deinit(struct jzx__sched *sched);

static inline bool jzx__sched_is_stopped(const struct jzx__sched *sched) {
    /* acquire: pairs with the store in jzx_loop_request_stop */
    return jzx__atomic_load_acquire(&sched->stop) != 0;
}

/* The cache of this thread, for threads that are no workers. */
struct jzx__foreign *jzx__sched_foreign(struct jzx__sched *sched);

/* A block from the worker's slab, or, if me is NULL, from the foreign cache. */
void *jzx__sched_alloc(struct jzx__sched *sched, struct jzx__worker *me, uint32_t class_index);
void jzx__sched_free(struct jzx__sched *sched, struct jzx__worker *me, uint32_t class_index,
                     void *block);

#endif
