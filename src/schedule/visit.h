/* SPDX-License-Identifier: MIT */
/* A public call that needs the lock of a scheduler: begin, use the core, end. */
#ifndef JZX_SCHEDULE_VISIT_H
#define JZX_SCHEDULE_VISIT_H

#include "schedule/make.h"
#include "schedule/owner.h"

struct jzx__schedule_visit {
    struct jzx__visit visit;
    struct jzx__scheduler *scheduler;
    struct jzx__schedule *core;
};

/* JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY, or JZX_ERR_BUSY under the lock (scheduler.h, Q1): then
 * there is nothing to end. */
static inline jzx_err jzx__schedule_visit_begin(struct jzx__schedule_visit *visit,
                                                struct jzx_loop *loop) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit->visit);
    visit->scheduler = jzx__scheduler_ensure(loop);
    jzx_err err = visit->scheduler == NULL                    ? JZX_ERR_NO_MEMORY
                  : !jzx__owner_acquire(visit->scheduler, me) ? JZX_ERR_BUSY
                                                              : JZX_OK;
    if (err != JZX_OK) {
        jzx__visit_end(&visit->visit);
        return err;
    }
    visit->core = &visit->scheduler->core;
    return JZX_OK;
}

/* due_ns as for jzx__owner_release. */
static inline void jzx__schedule_visit_end(struct jzx__schedule_visit *visit, uint64_t due_ns) {
    jzx__owner_release(visit->scheduler, due_ns);
    jzx__visit_end(&visit->visit);
}

#endif
