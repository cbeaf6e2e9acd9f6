/* SPDX-License-Identifier: MIT */
/* What the library does in a shutdown of a scheduler, and the hooks of the program. */
#include "schedule/closer.h"

#include "base/alloc.h"
#include "schedule/core/life.h"
#include "schedule/core/shutdown.h"
#include "schedule/item.h"
#include "timer/timer.h"

struct jzx__hook {
    struct jzx__hook *next;
    jzx_close_fn fn;
    void *ctx;
};

/* ---- delays ---- */

/* A record that is not registered may be in another thread's hands (S5). Its delay, if it is one,
 * is resolved when the record is taken in: a scheduler that shuts down discards it. */
static bool is_wake(const struct jzx__job *job) {
    if (!job->is_registered)
        return false;
    const struct jzx__schedule_item *item = job->payload;
    return item != NULL && item->wake != NULL;
}

static int32_t close_delays(const struct jzx__closer *closer) {
    struct jzx__scheduler *scheduler = closer->scheduler;
    struct jzx__schedule *core = &scheduler->core;
    for (uint32_t i = 0; i < core->table.count; i++) {
        if (is_wake(&core->table.records[i]))
            (void)jzx__schedule_drop(core, &core->table.records[i]);
    }
    jzx__items_ring(jzx__items_take_woken(scheduler), scheduler->me);
    return 0;
}

/* ---- timers ---- */

static int32_t close_timers(const struct jzx__closer *closer) {
    jzx__timers_stop_keyed(closer->scheduler->loop, closer->scheduler->me);
    return 0;
}

/* ---- hooks ---- */

bool jzx__hooks_add(struct jzx__scheduler *scheduler, jzx_close_fn fn, void *ctx) {
    struct jzx__hooks *hooks = &scheduler->hooks;
    struct jzx__hook *hook = jzx__alloc(&scheduler->loop->sched.allocator, sizeof *hook);
    if (hook == NULL)
        return false;
    *hook = (struct jzx__hook){NULL, fn, ctx};
    if (hooks->first == NULL)
        hooks->first = hook;
    else
        hooks->last->next = hook;
    hooks->last = hook;
    return true;
}

/* The first one leaves the list. */
static struct jzx__hook take_hook(struct jzx__scheduler *scheduler) {
    struct jzx__hook *first = scheduler->hooks.first;
    struct jzx__hook hook = *first;
    scheduler->hooks.first = hook.next;
    jzx__free(&scheduler->loop->sched.allocator, first, sizeof *first);
    return hook;
}

void jzx__hooks_free(struct jzx__scheduler *scheduler) {
    while (scheduler->hooks.first != NULL)
        (void)take_hook(scheduler);
}

/* All are called; the first error is the task's. */
static int32_t close_hooks(const struct jzx__closer *closer) {
    int32_t error = 0;
    while (closer->scheduler->hooks.first != NULL) {
        struct jzx__hook hook = take_hook(closer->scheduler);
        int32_t own = hook.fn(hook.ctx);
        if (error == 0)
            error = own;
    }
    return error;
}

/* ---- all of them ---- */

static const struct {
    enum jzx__close_priority priority;
    jzx__closer_fn *close;
} closers[JZX__CLOSERS] = {
    [JZX__CLOSER_DELAYS] = {JZX__CLOSE_SYSTEM_CRITICAL, close_delays},
    [JZX__CLOSER_REMOTING] = {JZX__CLOSE_SYSTEM_CRITICAL, NULL},
    [JZX__CLOSER_TIMERS] = {JZX__CLOSE_RUNTIME, close_timers},
    [JZX__CLOSER_HOOKS] = {JZX__CLOSE_USER, close_hooks},
};

static int32_t run(void *ctx) {
    const struct jzx__closer *closer = ctx;
    return closer->close == NULL ? 0 : closer->close(closer);
}

/* The library's choice unless the configuration has another. */
static enum jzx__close_priority priority_of(const struct jzx__scheduler *scheduler, uint32_t kind) {
    const jzx_task_run_policy *policy = &scheduler->settings.task_run;
    const jzx_close_priority chosen[JZX__CLOSERS] = {[JZX__CLOSER_DELAYS] = policy->delays,
                                                     [JZX__CLOSER_REMOTING] = policy->remoting,
                                                     [JZX__CLOSER_TIMERS] = policy->actor_timers,
                                                     [JZX__CLOSER_HOOKS] = policy->user_hooks};
    return jzx__close_priority_of(chosen[kind], closers[kind].priority);
}

void jzx__closers_register(struct jzx__scheduler *scheduler) {
    for (uint32_t i = 0; i < JZX__CLOSERS; i++) {
        struct jzx__closer *closer = &scheduler->closers[i];
        closer->scheduler = scheduler;
        closer->close = closers[i].close;
        (void)jzx__schedule_register_on_close(&scheduler->core, run, closer,
                                              priority_of(scheduler, i),
                                              &closer->task); /* there is room for all */
    }
}
