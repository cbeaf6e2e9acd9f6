/* SPDX-License-Identifier: MIT */
/* Ending actors from outside. A request is a bit beside the generation, so it needs no memory,
 * cannot reach a newer actor, and is seen before the next message however many wait. */
#include "actor/control.h"

#include "actor/exit.h"
#include "actor/mailbox.h"

jzx_exit_reason jzx__control_reason(uint64_t state) {
    const uint64_t by_supervisor = JZX__WANT_SHUTDOWN | JZX__WANT_FINISH;
    const uint64_t fails = JZX__WANT_FAIL | JZX__WANT_STALLED;
    return state & JZX__WANT_KILL  ? JZX_EXIT_KILLED
           : state & fails         ? JZX_EXIT_FAIL
           : state & by_supervisor ? JZX_EXIT_SHUTDOWN
                                   : JZX_EXIT_NORMAL;
}

const char *jzx__control_text(uint64_t state) {
    bool stalled = (state & JZX__WANT_STALLED) && !(state & (JZX__WANT_KILL | JZX__WANT_FAIL));
    return stalled ? "it has not returned for stall_after_ns" : NULL;
}

/* False if the slot has another generation by now. */
static bool set_want(struct jzx__actor *actor, uint32_t generation, uint32_t want) {
    /* relaxed: a first guess for the exchange below */
    uint64_t state = jzx__atomic_load_relaxed(&actor->task.state);
    do {
        if (jzx__state_generation(state) != generation)
            return false;
        /* pairs with the load in the turn; the bit is all that is passed */
    } while (!jzx__atomic_cas_acq_rel(&actor->task.state, &state, state | want));
    return true;
}

/* After a request met CLOSED: false if it was in time all the same. An owner without GONE is alive
 * and works its queue off, so it will see the bit. With GONE and another generation the actor has
 * ended since the bit was set. With GONE and the same one a guessed id named a free slot. */
static bool was_in_vain(struct jzx__actor *actor, uint32_t generation) {
    /* acquire: pairs with the release in make_stale; the generation was raised before */
    if ((jzx__atomic_load_acquire(&actor->task.owner) & JZX__OWNER_GONE) == 0)
        return false;
    /* relaxed: see above */
    uint64_t state = jzx__atomic_load_relaxed(&actor->task.state);
    return jzx__state_generation(state) == generation;
}

static jzx_err request_remote(struct jzx_loop *loop, struct jzx__worker *me,
                              struct jzx__actor *actor, uint32_t generation, uint32_t want) {
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    if (!set_want(actor, generation, want))
        return JZX_ERR_NO_SUCH_ACTOR;
    enum jzx__push_result result = jzx__task_nudge(&actor->task);
    if (result == JZX__PUSH_OK_INJECT)
        jzx__task_inject(&actor->task, me);
    if (result == JZX__PUSH_CLOSED && was_in_vain(actor, generation))
        return jzx__mailbox_gone(loop);
    return JZX_OK;
}

jzx_err jzx__actor_request(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id id,
                           uint32_t want) {
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, id);
    if (actor == NULL)
        return jzx__mailbox_gone(loop);
    uint32_t generation = jzx_id_generation(id);
    if (!jzx__worker_owns(me, &actor->task))
        return request_remote(loop, me, actor, generation, want);
    if ((want & JZX__WANT_GENTLE) && !jzx__actor_is_told(actor))
        jzx__actor_drain(me, actor, want);
    else if (set_want(actor, generation, want))
        actor->task.care |= JZX__CARE_WANT;
    jzx__worker_ready(me, &actor->task);
    return JZX_OK;
}

bool jzx__actor_ask_for(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id id,
                        uint32_t want) {
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, id);
    if (actor == NULL || !set_want(actor, jzx_id_generation(id), want))
        return false;
    if (jzx__worker_owns(me, &actor->task)) {
        actor->task.care |= JZX__CARE_WANT;
        jzx__worker_ready(me, &actor->task);
        return (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED) == 0;
    }
    enum jzx__push_result result = jzx__task_nudge(&actor->task);
    if (result == JZX__PUSH_OK_INJECT)
        jzx__task_inject(&actor->task, me);
    bool is_closed = (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED) != 0; /* it may drain */
    return (result != JZX__PUSH_CLOSED && !is_closed) ||
           JZX__MUTANT(room_asks_who_has_closed); /* room/F3 */
}

static jzx_err request(jzx_loop *loop, jzx_actor_id id, uint32_t want) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = jzx__actor_request(loop, me, id, want);
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_actor_stop(jzx_loop *loop, jzx_actor_id id, jzx_stop_kind kind) {
    switch (kind) {
    case JZX_STOP_AFTER_MESSAGE: return request(loop, id, JZX__WANT_STOP);
    case JZX_STOP_AFTER_QUEUE: return request(loop, id, JZX__WANT_DRAIN);
    case JZX_STOP_KILL: return request(loop, id, JZX__WANT_KILL);
    }
    return JZX_ERR_INVALID_ARG;
}

jzx_err jzx_actor_fail(jzx_loop *loop, jzx_actor_id id) {
    return request(loop, id, JZX__WANT_FAIL);
}
