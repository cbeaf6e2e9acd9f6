/* SPDX-License-Identifier: MIT */
/* The loop of a pass over ready tasks. It is a template: the layer above instantiates it with its
 * own turn function, which the compiler then puts inside the loop. A turn of one message, the most
 * common one, is so short that a call and six saved registers would be a sixth of it. */
#ifndef JZX_SCHED_PASS_H
#define JZX_SCHED_PASS_H

#include "sched/sched.h"

/* A turn of a scheduled task ends with it idle, requeued, or gone. */
typedef void jzx__turn_fn(struct jzx__worker *worker, struct jzx__task *task, void *ctx);

/* One pass of at most turns_max turns; fewer when other threads sent something or the loop was
 * stopped, which is looked at after each turn. The layer above instantiates it with its turn
 * function, so that the shortest turns cost neither a call nor saved registers. False if nothing
 * was ready. */
JZX_INLINE bool jzx__worker_pass(struct jzx__worker *me, uint32_t turns_max, jzx__turn_fn *run_turn,
                                 void *ctx) {
    JZX_ASSERT_OWNER(me);
    struct jzx__task *task;
    uint32_t turns = 0;
    while (turns < turns_max && (task = jzx__worker_pick(me)) != NULL) {
        task->place = JZX__RUNNING;
        me->turn_flags = 0;
        run_turn(me, task, ctx);
        turns++;
        /* relaxed: a hint; who runs passes looks again */
        if (JZX_UNLIKELY(!jzx__mpsc_is_empty(&me->inject) ||
                         jzx__atomic_load_relaxed(&me->sched->stop) != 0))
            break;
    }
    jzx__counter_add(&me->counters.turns, turns);
    return turns > 0;
}

#endif
