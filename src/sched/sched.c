/* SPDX-License-Identifier: MIT */
/* Setting a scheduler up, and memory for threads that are no workers. */
#include "sched/sched.h"

#include <sched.h>
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
    for (uint32_t i = 0; i < JZX__FOREIGN_COUNT; i++)
        jzx__slab_init(&sched->foreign[i].slab, &sched->depot);
    jzx__worker_init(&sched->worker, sched);
}

void jzx__sched_deinit(struct jzx__sched *sched) {
    jzx__worker_deinit(&sched->worker);
    jzx__depot_deinit(&sched->depot);
}

/* Every thread has its own copy of the thread-local, so its address tells threads apart. */
static uint32_t foreign_index(void) {
    uint64_t hash = (uint64_t)(uintptr_t)&jzx__worker_of_thread * 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 32) % JZX__FOREIGN_COUNT;
}

struct jzx__foreign *jzx__sched_foreign(struct jzx__sched *sched) {
    return &sched->foreign[foreign_index()];
}

/* Takes a cache that nobody uses. Whoever has one is about to give it back: no call out, no sleep.
 */
static struct jzx__foreign *take_foreign(struct jzx__sched *sched) {
    for (uint32_t i = foreign_index(), tries = 1;; i = (i + 1) % JZX__FOREIGN_COUNT, tries++) {
        struct jzx__foreign *foreign = &sched->foreign[i];
        /* acquire: pairs with give_foreign; the slab is as its last user left it */
        if (jzx__atomic_exchange_acq_rel(&foreign->taken, 1u) == 0)
            return foreign;
        if (tries % JZX__FOREIGN_COUNT == 0)
            sched_yield(); /* one of its users may wait for this CPU */
    }
}

static void give_foreign(struct jzx__foreign *foreign) {
    /* release: pairs with take_foreign; publishes the slab */
    jzx__atomic_store_release(&foreign->taken, 0u);
}

void *jzx__sched_alloc(struct jzx__sched *sched, struct jzx__worker *me, uint32_t class_index) {
    if (me != NULL)
        return jzx__slab_alloc(&me->slab, class_index);
    struct jzx__foreign *foreign = take_foreign(sched);
    void *block = jzx__slab_alloc(&foreign->slab, class_index);
    give_foreign(foreign);
    return block;
}

void jzx__sched_free(struct jzx__sched *sched, struct jzx__worker *me, uint32_t class_index,
                     void *block) {
    if (me != NULL) {
        jzx__slab_free(&me->slab, class_index, block);
        return;
    }
    struct jzx__foreign *foreign = take_foreign(sched);
    jzx__slab_free(&foreign->slab, class_index, block);
    give_foreign(foreign);
}
