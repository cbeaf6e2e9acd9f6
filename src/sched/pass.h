/* SPDX-License-Identifier: MIT */
/* The loop of a pass over ready tasks. It is a template: the layer above instantiates it with a
 * function that chooses the next task and with its own turn function, which the compiler then puts
 * inside the loop. A turn of one message, the most common one, is so short that a call and six
 * saved registers would be a sixth of it. */
#ifndef JZX_SCHED_PASS_H
#define JZX_SCHED_PASS_H

#include "sched/sched.h"

/* A turn of a scheduled task ends with it idle, requeued, or gone: true. False if the thread has
 * lost the worker meanwhile. */
typedef bool jzx__turn_fn(struct jzx__worker *worker, struct jzx__task *task, void *ctx);

/* Takes the next task to run out of its queue; NULL ends the pass. jzx__order_choose follows W1-W8.
 */
typedef struct jzx__task *jzx__choose_fn(struct jzx__order *order);

/* The end of a pass whose thread has lost the worker in its last turn. */
static inline enum jzx__pass_result jzx__worker_pass_lost(struct jzx__sched *sched) {
    jzx__counter_add_shared(&jzx__sched_foreign(sched)->counters.turns, 1);
    return JZX__PASS_LOST;
}

/* The end of every other pass. */
static inline enum jzx__pass_result jzx__worker_pass_over(struct jzx__worker *me) {
    /* relaxed: for dumps and the watchdog */
    jzx__atomic_store_relaxed(&jzx__seat_of_thread->task, NULL);
    bool ran = me->turns_planned != me->turns_left;
    jzx__worker_flush(me);
    return ran ? JZX__PASS_RAN : JZX__PASS_EMPTY;
}

/* One pass of at most turns_max turns; fewer when other threads sent something or the loop was
 * stopped, which is looked at after each turn, or when a tick ends it. */
JZX_INLINE enum jzx__pass_result jzx__worker_pass(struct jzx__worker *me, uint32_t turns_max,
                                                  jzx__choose_fn *choose, jzx__turn_fn *run_turn,
                                                  void *ctx) {
    JZX_ASSERT_OWNER(me);
    JZX_ASSERT(turns_max != 0);
    struct jzx__sched *sched = me->sched;
    struct jzx__task *task;
    jzx__worker_flush(me);
    me->turns_left = turns_max;
    me->turns_planned = turns_max;
    me->meter.pass_ns = 0;
    while ((task = choose(&me->order)) != NULL) {
        task->place = JZX__RUNNING;
        me->budget = me->full_budget;
        if (JZX_UNLIKELY(!run_turn(me, task, ctx)))
            return jzx__worker_pass_lost(sched);
        /* relaxed: a hint; who runs passes looks again */
        if (JZX_UNLIKELY(--me->turns_left == 0 ||
                         !jzx__feed_is_empty(&me->feeds[JZX__FEED_INJECT]) ||
                         jzx__sched_is_leaving(sched)))
            break;
    }
    return jzx__worker_pass_over(me);
}

#endif
