/* SPDX-License-Identifier: MIT */
/* The global queue: tasks that threads without a worker have made, first in, first out. A task in
 * it is offered (I5): scheduled, held, its owner word OUT; the worker that takes it out owns it. So
 * what is sent to it meanwhile needs no entry anywhere.
 *
 * G1  count is written under the lock, before the pusher looks for a worker that is awake and after
 *     a worker that goes to sleep has said so: one of the two sees the other. */
#ifndef JZX_SCHED_GLOBAL_H
#define JZX_SCHED_GLOBAL_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"
#include "sched/task.h"

struct jzx__global {
    struct jzx__lock lock;
    struct jzx__list tasks;
    _Atomic uint32_t count;
};

void jzx__global_init(struct jzx__global *global);
void jzx__global_deinit(struct jzx__global *global);

/* Adds a task that is held and open, unless limit tasks wait. Returns how many wait with it, 0 if
 * it was not added. */
uint32_t jzx__global_push(struct jzx__global *global, struct jzx__task *task, uint32_t limit);

/* Takes out at most max tasks into tasks[], oldest first. Returns how many. */
uint32_t jzx__global_take(struct jzx__global *global, struct jzx__task **tasks, uint32_t max);

/* A hint. */
static inline uint32_t jzx__global_count(const struct jzx__global *global) {
    /* relaxed: what is missed now is seen at the next pass, or by the check before sleeping */
    return jzx__atomic_load_relaxed(&global->count);
}

/* The check between announcing sleep and sleeping. */
static inline bool jzx__global_is_empty_seq_cst(const struct jzx__global *global) {
    /* seq_cst: pairs with the store in push (G1) */
    return jzx__atomic_load_seq_cst(&global->count) == 0;
}

#endif
