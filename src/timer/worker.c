/* SPDX-License-Identifier: MIT */
/* The wheels of the workers, and the pool of records that they share. */
#include "timer/worker.h"

#include "base/alloc.h"

#include <string.h>

bool jzx__timers_init(struct jzx__worker *worker) {
    struct jzx__sched *sched = worker->sched;
    uint64_t now = jzx__clock_now(&sched->clock) / JZX__TIMER_TICK_NS;
    jzx__timers_of(worker)->set_at =
        (uint64_t)worker->index << JZX__TIMER_HOME_SHIFT | JZX__TIMER_SET;
    return jzx__wheel_init(&jzx__timers_of(worker)->wheel, JZX__WHEEL_SHAPE, now,
                           &sched->allocator);
}

void jzx__timers_deinit(struct jzx__worker *worker) {
    jzx__wheel_deinit(&jzx__timers_of(worker)->wheel);
}

/* ---- the part of a loop ---- */

static void free_worker(struct jzx_loop *loop, struct jzx__worker *worker) {
    struct jzx__timers *timers = jzx__timers_of(worker);
    jzx__timer_cache_deinit(jzx__timer_pool_of(loop), &timers->cache);
    jzx__free_aligned(&loop->sched.allocator, timers, sizeof *timers, _Alignof(struct jzx__timers));
    jzx__actor_worker_of(worker)->parts[JZX__PART_TIMER] = NULL;
}

static bool open_worker(struct jzx_loop *loop, struct jzx__worker *worker) {
    struct jzx__timers *timers =
        jzx__alloc_aligned(&loop->sched.allocator, sizeof *timers, _Alignof(struct jzx__timers));
    if (timers == NULL)
        return false;
    memset(timers, 0, sizeof *timers);
    jzx__actor_worker_of(worker)->parts[JZX__PART_TIMER] = timers;
    if (jzx__timers_init(worker))
        return true;
    free_worker(loop, worker);
    return false;
}

static void close_workers(struct jzx_loop *loop, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        jzx__timers_deinit(loop->sched.workers[i]);
        free_worker(loop, loop->sched.workers[i]);
    }
    struct jzx__timer_pool *pool = jzx__timer_pool_of(loop);
    jzx__timer_pool_deinit(pool);
    jzx__free_aligned(&loop->sched.allocator, pool, sizeof *pool, _Alignof(struct jzx__timer_pool));
    loop->parts[JZX__PART_TIMER] = NULL;
}

bool jzx__timers_open(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct jzx__timer_pool *pool =
        jzx__alloc_aligned(&loop->sched.allocator, sizeof *pool, _Alignof(struct jzx__timer_pool));
    if (pool == NULL)
        return false;
    memset(pool, 0, sizeof *pool);
    jzx__timer_pool_init(pool, &loop->sched.allocator);
    loop->parts[JZX__PART_TIMER] = pool;
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        if (!open_worker(loop, loop->sched.workers[i])) {
            close_workers(loop, i);
            return false;
        }
    }
    return true;
}

void jzx__timers_close(struct jzx_loop *loop) {
    close_workers(loop, loop->sched.worker_count);
}
