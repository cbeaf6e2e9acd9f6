/* SPDX-License-Identifier: MIT */
/* What a loop and its workers have of fibers. */
#include "fiber/stacks.h"

#include "base/alloc.h"

#include <string.h>

static void close_workers(struct jzx_loop *loop, uint32_t count) {
    struct jzx__fiber_home *home = loop->parts[JZX__PART_FIBER];
    for (uint32_t i = 0; i < count; i++) {
        struct jzx__fibers *fibers = jzx__fibers_of(loop->sched.workers[i]);
        jzx__deadlock_watch_deinit(&fibers->deadlocks);
        jzx__stack_pool_deinit(&fibers->stacks);
        jzx__free(&loop->sched.allocator, fibers, sizeof *fibers);
        jzx__actor_worker_of(loop->sched.workers[i])->parts[JZX__PART_FIBER] = NULL;
    }
    jzx__stacks_deinit(&home->stacks);
    jzx__free(&loop->sched.allocator, home, sizeof *home);
    loop->parts[JZX__PART_FIBER] = NULL;
}

bool jzx__fibers_open(struct jzx_loop *loop, const jzx_config *config) {
    const struct jzx__stacks_options options = {.mapper = config->mapper,
                                                .idle_bytes_max = JZX__STACK_IDLE_BYTES_DEFAULT};
    struct jzx__fiber_home *home = jzx__alloc(&loop->sched.allocator, sizeof *home);
    if (home == NULL)
        return false;
    jzx__stacks_init(&home->stacks, &options);
    jzx__deadlocks_init(&home->deadlocks, config);
    loop->parts[JZX__PART_FIBER] = home;
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        struct jzx__fibers *fibers = jzx__alloc(&loop->sched.allocator, sizeof *fibers);
        if (fibers == NULL) {
            close_workers(loop, i);
            return false;
        }
        memset(fibers, 0, sizeof *fibers);
        jzx__stack_pool_init(&fibers->stacks, &home->stacks);
        jzx__deadlock_watch_init(&fibers->deadlocks);
        jzx__actor_worker_of(loop->sched.workers[i])->parts[JZX__PART_FIBER] = fibers;
    }
    return true;
}

void jzx__fibers_close(struct jzx_loop *loop) {
    close_workers(loop, loop->sched.worker_count);
}
