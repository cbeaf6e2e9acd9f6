/* SPDX-License-Identifier: MIT */
/* Making and ending the scheduler of a loop. */
#include "schedule/make.h"

#include "actor/part.h"
#include "base/alloc.h"
#include "base/log.h"
#include "schedule/closer.h"
#include "schedule/core/life.h"
#include "schedule/core/shutdown.h"
#include "schedule/driver.h"
#include "schedule/item.h"
#include "schedule/owner.h"
#include "schedule/probes.h"

#include <string.h>

/* ---- making ---- */

static void init_words(struct jzx__scheduler *scheduler) {
    /* relaxed, all: nobody knows the scheduler yet */
    jzx__atomic_store_relaxed(&scheduler->holder, (uintptr_t)0);
    jzx__atomic_store_relaxed(&scheduler->armed_ns, JZX_NEVER);
    jzx__atomic_store_relaxed(&scheduler->shadow_ns, (uint64_t)0);
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&scheduler->poked, 0u);
    jzx__atomic_store_relaxed(&scheduler->wants_ticks, 0u);
    for (uint32_t i = 0; i < JZX__DISPATCHERS_MAX; i++) {
        /* relaxed: as above */
        jzx__atomic_store_relaxed(&scheduler->runners[i], JZX_NOBODY);
        jzx__atomic_store_relaxed(&scheduler->queued[i], 0u);
    }
}

static void destroy(struct jzx__scheduler *scheduler) {
    jzx_allocator allocator = scheduler->loop->sched.allocator;
    (void)jzx__schedule_shutdown(&scheduler->core);
    jzx__driver_leave_tick(scheduler);
    jzx__owner_disarm(scheduler);
    jzx__schedule_deinit(&scheduler->core);
    jzx__items_ring(jzx__items_take_woken(scheduler), NULL);
    jzx__hooks_free(scheduler);
    jzx__lock_deinit(&scheduler->lock);
    jzx__free(&allocator, scheduler, sizeof *scheduler);
}

static bool start(struct jzx__scheduler *scheduler) {
    enum jzx__driver_error error = jzx__driver_start(scheduler);
    if (error == JZX__DRIVER_OK)
        return true;
    jzx__log(&scheduler->loop->sched.log, JZX_LOG_ERROR,
             "the tick driver of the scheduler could not be started: %s",
             jzx__driver_error_text(error));
    return false;
}

/* NULL without memory, or if the driver does not start: the log says so. */
static struct jzx__scheduler *create(struct jzx_loop *loop, const jzx_schedule_config *config) {
    const jzx_allocator *allocator = &loop->sched.allocator;
    struct jzx__scheduler *scheduler = jzx__alloc(allocator, sizeof *scheduler);
    if (scheduler == NULL)
        return NULL;
    memset(scheduler, 0, sizeof *scheduler);
    init_words(scheduler);
    scheduler->loop = loop;
    scheduler->is_deterministic = !loop->sched.clock.is_real;
    scheduler->was_idle = true;
    jzx__settings_fill(&scheduler->settings, config);
    scheduler->settings.core.capacity.task_run += JZX__CLOSERS; /* beside those of the program */
    jzx__lock_init(&scheduler->lock);
    jzx__waiter_init(&scheduler->alarm, jzx__owner_ring, scheduler);
    const struct jzx__schedule_ops ops = {.ctx = scheduler,
                                          .deliver = jzx__item_deliver,
                                          .run_inline = jzx__item_run_inline,
                                          .release = jzx__item_release,
                                          .emit = jzx__owner_emit};
    if (!jzx__schedule_init(&scheduler->core, &scheduler->settings.core, ops,
                            jzx__driver_clock(scheduler), allocator)) {
        jzx__lock_deinit(&scheduler->lock);
        jzx__free(allocator, scheduler, sizeof *scheduler);
        return NULL;
    }
    jzx__probes_register(scheduler);
    jzx__closers_register(scheduler);
    if (start(scheduler))
        return scheduler;
    destroy(scheduler);
    return NULL;
}

struct jzx__scheduler *jzx__scheduler_ensure(struct jzx_loop *loop) {
    struct jzx__scheduler *scheduler = jzx__scheduler_of(loop);
    if (JZX_LIKELY(scheduler != NULL))
        return scheduler;
    struct jzx__scheduler *mine = create(loop, NULL);
    if (mine == NULL)
        return NULL;
    struct jzx__scheduler *seen = NULL;
    /* pairs with the load in jzx__scheduler_of; publishes the scheduler. The one that comes second
     * uses that of the first */
    if (jzx__atomic_cas_strong_acq_rel(&jzx__schedule_root_of(loop)->made, &seen, mine))
        return mine;
    destroy(mine);
    return seen;
}

/* ---- ending ---- */

void jzx__scheduler_end(struct jzx_loop *loop, struct jzx__worker *me) {
    struct jzx__scheduler *scheduler = jzx__scheduler_of(loop);
    if (scheduler == NULL || !jzx__owner_acquire(scheduler, me))
        return;
    (void)jzx__schedule_shutdown(&scheduler->core);
    jzx__driver_leave_tick(scheduler);
    jzx__owner_end_looks(scheduler);
    jzx__owner_release(scheduler, JZX_NEVER);
}

/* ---- the part of a loop ---- */

static void close_part(struct jzx_loop *loop) {
    struct jzx__scheduler *scheduler = jzx__scheduler_of(loop);
    if (scheduler != NULL)
        destroy(scheduler);
    jzx__free(&loop->sched.allocator, jzx__schedule_root_of(loop),
              sizeof(struct jzx__schedule_root));
    loop->parts[JZX__PART_SCHEDULE] = NULL;
}

static bool open_part(struct jzx_loop *loop, const jzx_config *config) {
    struct jzx__schedule_root *root = jzx__alloc(&loop->sched.allocator, sizeof *root);
    if (root == NULL)
        return false;
    loop->parts[JZX__PART_SCHEDULE] = root;
    struct jzx__scheduler *made = config->schedule == NULL ? NULL : create(loop, config->schedule);
    /* relaxed: no other thread knows the loop yet */
    jzx__atomic_store_relaxed(&root->made, made);
    if (made != NULL || config->schedule == NULL)
        return true;
    close_part(loop);
    return false;
}

const struct jzx__part_ops jzx__part_schedule = {.open = open_part, .close = close_part};
