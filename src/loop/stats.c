/* SPDX-License-Identifier: MIT */
/* The observer and the counters of a loop, as its users see them. */
#include "actor/loop.h"
#include "base/sized.h"
#include "process/process.h"

#include <string.h>

jzx_err jzx_loop_set_observer(jzx_loop *loop, const jzx_observer *observer, void *ctx) {
    jzx_observer full;
    if (loop == NULL || (observer != NULL && !jzx__read_sized(&full, sizeof full, observer)))
        return JZX_ERR_INVALID_ARG;
    /* relaxed: with several workers set before their threads start, and cleared when all ended */
    if (loop->sched.worker_count > 1 && jzx__atomic_load_relaxed(&loop->running) != 0)
        return JZX_ERR_BUSY;
    struct jzx__drive drive;
    if (!jzx__loop_enter(loop, &drive))
        return JZX_ERR_BUSY;
    jzx__observer_set(&loop->observer, observer == NULL ? NULL : &full, ctx);
    jzx__loop_leave(loop, &drive);
    return JZX_OK;
}

static void add(jzx_stats *stats, const struct jzx__counters *counters) {
#define ADD(name) stats->name += jzx__counter_get(&counters->name);
    JZX__COUNTER_MAP(ADD)
#undef ADD
}

jzx_err jzx_loop_stats(const jzx_loop *loop, jzx_stats *stats) {
    if (loop == NULL || !jzx__is_sized(stats, sizeof *stats))
        return JZX_ERR_INVALID_ARG;
    jzx_stats sum = {.size = sizeof sum};
    for (uint32_t i = 0; i < loop->sched.worker_count; i++)
        add(&sum, &loop->sched.workers[i]->counters);
    for (uint32_t i = 0; i < JZX__FOREIGN_COUNT; i++)
        add(&sum, &loop->sched.foreign[i].counters);
    struct jzx__visit visit;
    const struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    if (me != NULL) { /* a pass publishes at its end */
        sum.handled += me->pass_handled;
        sum.accepted += me->pass_accepted;
    }
    jzx__visit_end(&visit);
    uint64_t done = sum.handled + sum.dead;
    sum.waiting = sum.accepted > done ? sum.accepted - done : 0;
    sum.dead_letters = sum.dead + sum.refused_no_actor;
    sum.global_depth = jzx__global_count(&loop->sched.global);
    sum.processes = jzx__process_count(loop);
    jzx__write_sized(stats, &sum);
    return JZX_OK;
}

jzx_err jzx_loop_worker_stats(const jzx_loop *loop, uint32_t worker, jzx_worker_stats *stats) {
    if (loop == NULL || !jzx__is_sized(stats, sizeof *stats) || worker >= loop->sched.worker_count)
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *of = loop->sched.workers[worker];
    const struct jzx__counters *counters = &of->counters;
    jzx_worker_stats seen = {.size = sizeof seen};
#define COPY(name) seen.name = jzx__counter_get(&counters->name);
    JZX__WORKER_COUNTER_MAP(COPY)
#undef COPY
    /* relaxed: a gauge */
    seen.ready_depth = jzx__atomic_load_relaxed(&of->ready_depth);
    seen.public_depth = (uint32_t)jzx__deque_count(&of->deque);
    seen.is_parked = jzx__parker_sleeps(&of->parker);
    seen.running = jzx__loop_running_on(loop, worker, NULL);
    jzx__write_sized(stats, &seen);
    return JZX_OK;
}
