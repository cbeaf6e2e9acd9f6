/* SPDX-License-Identifier: MIT */
/* The global queue, under a lock: what comes through it comes from outside and is rare. */
#include "sched/global.h"

void jzx__global_init(struct jzx__global *global) {
    jzx__lock_init(&global->lock);
    jzx__list_init(&global->tasks);
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&global->count, 0u);
}

void jzx__global_deinit(struct jzx__global *global) {
    jzx__lock_deinit(&global->lock);
}

uint32_t jzx__global_push(struct jzx__global *global, struct jzx__task *task, uint32_t limit) {
    jzx__lock_acquire(&global->lock);
    /* relaxed: written under the lock that we hold */
    uint32_t count = jzx__atomic_load_relaxed(&global->count);
    if (count < limit) {
        jzx__list_push_back(&global->tasks, &task->run);
        /* seq_cst: pairs with the check of a worker that goes to sleep (G1) */
        jzx__atomic_store_seq_cst(&global->count, count + 1);
    }
    jzx__lock_release(&global->lock);
    return count < limit ? count + 1 : 0;
}

uint32_t jzx__global_take(struct jzx__global *global, struct jzx__task **tasks, uint32_t max) {
    uint32_t taken = 0;
    jzx__lock_acquire(&global->lock);
    while (taken < max) {
        struct jzx__link *link = jzx__list_pop_front(&global->tasks);
        if (link == NULL)
            break;
        tasks[taken++] = JZX_CONTAINER_OF(link, struct jzx__task, run);
    }
    /* relaxed, both: written under the lock that we hold; fewer wakes nobody */
    uint32_t count = jzx__atomic_load_relaxed(&global->count);
    jzx__atomic_store_relaxed(&global->count, count - taken);
    jzx__lock_release(&global->lock);
    return taken;
}
