/* SPDX-License-Identifier: MIT */
/* The observer and the counters of a loop, as its users see them. */
#include "actor/system.h"

#include <string.h>

jzx_err jzx_loop_set_observer(jzx_loop *loop, const jzx_observer *observer, void *ctx) {
    if (loop == NULL || (observer != NULL && observer->size != sizeof *observer))
        return JZX_ERR_INVALID_ARG;
    struct jzx__drive drive;
    if (!jzx__loop_enter(loop, &drive))
        return JZX_ERR_BUSY;
    jzx__observer_set(&loop->observer, observer, ctx);
    jzx__loop_leave(loop, &drive);
    return JZX_OK;
}

static void add(jzx_stats *stats, const struct jzx__counters *counters) {
#define ADD(name) stats->name += jzx__counter_get(&counters->name);
    JZX__COUNTER_MAP(ADD)
#undef ADD
}

jzx_err jzx_loop_stats(const jzx_loop *loop, jzx_stats *stats) {
    if (loop == NULL || stats == NULL || stats->size != sizeof *stats)
        return JZX_ERR_INVALID_ARG;
    jzx_stats sum = {.size = sizeof sum};
    add(&sum, &loop->sched.worker.counters);
    for (uint32_t i = 0; i < JZX__FOREIGN_COUNT; i++)
        add(&sum, &loop->sched.foreign[i].counters);
    if (jzx__loop_self(loop) != NULL)
        sum.handled += loop->sched.worker.pass_handled; /* a pass publishes at its end */
    uint64_t done = sum.handled + sum.dead;
    sum.waiting = sum.accepted > done ? sum.accepted - done : 0;
    sum.dead_letters = sum.dead + sum.refused_no_actor;
    *stats = sum;
    return JZX_OK;
}
