/* SPDX-License-Identifier: MIT */
/* Setting a scheduler up, and memory for threads that are no workers. */
#include "sched/sched.h"

#include <string.h>

void jzx__sched_init(struct jzx__sched *sched, const jzx_config *config,
                     const struct jzx__task_ops *ops) {
    memset(sched, 0, sizeof *sched);
    sched->allocator = config->allocator;
    sched->log = config->log;
    sched->msgs_per_turn = config->max_msgs_per_actor;
    sched->turns_per_pass = config->max_actors_per_tick;
    sched->drain_max = config->max_async_drain;
    sched->ops = *ops;
    jzx__clock_init_monotonic(&sched->clock);
    jzx__depot_init(&sched->depot, &sched->allocator);
    for (uint32_t i = 0; i < JZX__FOREIGN_COUNT; i++) {
        jzx__lock_init(&sched->foreign[i].lock);
        jzx__slab_init(&sched->foreign[i].slab, &sched->depot);
    }
    jzx__worker_init(&sched->worker, sched);
}

void jzx__sched_deinit(struct jzx__sched *sched) {
    jzx__worker_deinit(&sched->worker);
    for (uint32_t i = 0; i < JZX__FOREIGN_COUNT; i++)
        jzx__lock_deinit(&sched->foreign[i].lock);
    jzx__depot_deinit(&sched->depot);
}

struct jzx__foreign *jzx__sched_foreign(struct jzx__sched *sched) {
    /* Every thread has its own copy of the thread-local, so its address tells threads apart. */
    uint64_t hash = (uint64_t)(uintptr_t)&jzx__worker_of_thread * 0x9E3779B97F4A7C15u;
    return &sched->foreign[(hash >> 32) % JZX__FOREIGN_COUNT];
}

void *jzx__sched_alloc(struct jzx__sched *sched, struct jzx__worker *me, uint32_t class_index) {
    if (me != NULL)
        return jzx__slab_alloc(&me->slab, class_index);
    struct jzx__foreign *foreign = jzx__sched_foreign(sched);
    jzx__lock_acquire(&foreign->lock);
    void *block = jzx__slab_alloc(&foreign->slab, class_index);
    jzx__lock_release(&foreign->lock);
    return block;
}

void jzx__sched_free(struct jzx__sched *sched, struct jzx__worker *me, uint32_t class_index,
                     void *block) {
    if (me != NULL) {
        jzx__slab_free(&me->slab, class_index, block);
        return;
    }
    struct jzx__foreign *foreign = jzx__sched_foreign(sched);
    jzx__lock_acquire(&foreign->lock);
    jzx__slab_free(&foreign->slab, class_index, block);
    jzx__lock_release(&foreign->lock);
}
