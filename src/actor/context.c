/* SPDX-License-Identifier: MIT */
/* Where the calling code runs. */
#include "jzx/context.h"

#include "actor/actor.h"
#include "sched/seat.h"
#include "sched/worker.h"

#include "jzx/config.h"

#include <errno.h>

jzx_context_kind jzx_current_kind(void) {
    const struct jzx__seat *seat = jzx__seat_of_thread;
    if (!jzx__seat_exists(seat))
        return JZX_CONTEXT_NONE;
    const struct jzx__turn *turn = seat->turn;
    bool is_inside = jzx__seat_is_inside(seat);
    return !is_inside && turn != NULL && turn->kind != NULL ? JZX_CONTEXT_FIBER
                                                            : JZX_CONTEXT_WAITLESS;
}

jzx_actor_id jzx_current_actor(void) {
    struct jzx__visit visit;
    jzx__visit_begin(&visit);
    jzx_actor_id id = JZX_NOBODY;
    /* relaxed: this thread's own. The id is the turn's: that of the actor may be stale already */
    if (jzx__seat_exists(visit.seat) && jzx__atomic_load_relaxed(&visit.seat->task) != NULL) {
        const struct jzx__turn *turn = visit.seat->turn;
        const struct jzx__turn *cleanup = visit.seat->cleanup;
        id = cleanup != NULL ? cleanup->ctx.self : turn->ctx.self;
    }
    jzx__visit_end(&visit);
    return id;
}

JZX_ACROSS_WAIT int jzx_errno(void) {
    return errno;
}

uint32_t jzx_current_worker(void) {
    struct jzx__visit visit;
    const struct jzx__worker *me = jzx__visit_begin(&visit);
    uint32_t index = me == NULL ? JZX_NONE : me->index;
    jzx__visit_end(&visit);
    return index;
}
