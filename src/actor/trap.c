/* SPDX-License-Identifier: MIT */
/* Telling an actor that it is to stop, and killing it when it does not. */
#include "actor/trap.h"

#include "actor/control.h"
#include "actor/mailbox.h"
#include "actor/part.h"
#include "actor/pin.h"

#include "jzx/exit.h"
#include "jzx/time.h"

#include <stdio.h>

struct jzx__trap *jzx__trap_create(struct jzx_loop *loop, struct jzx__worker *me,
                                   uint64_t grace_ns) {
    struct jzx__trap *trap = jzx__sched_alloc(&loop->sched, me, JZX__TRAP_CLASS);
    if (trap == NULL)
        return NULL;
    struct jzx__message *note = jzx__message_create(loop, me, sizeof(jzx_stop_notice));
    if (note == NULL) {
        jzx__sched_free(&loop->sched, me, JZX__TRAP_CLASS, trap);
        return NULL;
    }
    *trap = (struct jzx__trap){.note = note,
                               .grace_ns = grace_ns == 0 ? JZX_DEFAULT_STOP_GRACE : grace_ns,
                               .deadline_ns = JZX_NEVER};
    return trap;
}

void jzx__trap_destroy(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__trap *trap) {
    if (trap == NULL)
        return;
    JZX_ASSERT(trap->deadline_ns == JZX_NEVER);
    if (trap->note != NULL)
        jzx__message_destroy(loop, me, trap->note);
    jzx__sched_free(&loop->sched, me, JZX__TRAP_CLASS, trap);
}

/* ---- the deadline ---- */

/* It has passed: on the worker that has the wheel, which owns the actor (H2). */
static void force(void *who, struct jzx__worker *me) {
    const struct jzx__actor *actor = who;
    (void)jzx__actor_request(jzx__loop_of(me), me, jzx__actor_id(actor), JZX__WANT_KILL);
}

void jzx__trap_disarm(struct jzx__actor *actor) {
    struct jzx__trap *trap = jzx__actor_cold(actor)->trap;
    if (trap == NULL || trap->deadline_ns == JZX_NEVER)
        return;
    trap->deadline_ns = JZX_NEVER;
    (void)jzx__waiter_withdraw(&trap->limit, JZX__CAUSE_CANCELLED);
    (void)jzx__waiter_end(&trap->limit);
    jzx__actor_unpin(actor);
}

static void arm(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__trap *trap) {
    const struct jzx__part_ops *timers = jzx__loop_of(me)->part_ops[JZX__PART_TIMER];
    jzx__waiter_init(&trap->limit, force, actor);
    jzx__waiter_begin(&trap->limit, (struct jzx__wait_what){.kind = "time"});
    timers->set_deadline(me, &trap->limit, trap->deadline_ns);
    enum jzx__arm_result result = jzx__waiter_arm(&trap->limit);
    JZX_ASSERT(result == JZX__ARM_SUSPEND); /* the wheel is this worker's */
    jzx__actor_pin(actor);
}

void jzx__trap_expect(struct jzx__worker *me, struct jzx__actor *actor, uint64_t deadline_ns) {
    struct jzx__trap *trap = jzx__actor_cold(actor)->trap;
    actor->task.status = JZX_ACTOR_STOPPING;
    if (deadline_ns >= trap->deadline_ns)
        return;
    jzx__trap_disarm(actor);
    trap->deadline_ns = deadline_ns;
    arm(me, actor, trap);
}

bool jzx__trap_is_over(const struct jzx__trap *trap) {
    return trap->deadline_ns != JZX_NEVER && jzx__waiter_cause(&trap->limit) != 0;
}

/* ---- telling ---- */

/* The loop's own deadline, if it is stopping; else JZX_NEVER. */
static uint64_t deadline_of_loop(const struct jzx_loop *loop) {
    /* acquire: pairs with the exchange in jzx_loop_stop */
    return jzx__sched_stop_state(&loop->sched) == JZX__OPEN
               ? JZX_NEVER
               : jzx__atomic_load_acquire(&loop->sched.stop_deadline_ns);
}

void jzx__trap_tell(struct jzx__worker *me, struct jzx__actor *actor, uint64_t state) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__trap *trap = jzx__actor_cold(actor)->trap;
    struct jzx__message *note = trap->note;
    bool is_stopping = jzx__sched_stop_state(&loop->sched) != JZX__OPEN;
    bool by_loop =
        is_stopping && (state & (JZX__WANT_STOP | JZX__WANT_SHUTDOWN | JZX__WANT_FINISH)) == 0;
    bool by_super = (state & (JZX__WANT_SHUTDOWN | JZX__WANT_FINISH)) != 0;
    uint64_t now_ns = jzx__clock_now(&loop->sched.clock);
    uint64_t loop_ns = deadline_of_loop(loop);
    uint64_t own_ns = JZX_NEVER; /* the loop itself ends who is alive at its deadline */
    if (!by_loop && trap->grace_ns < loop_ns && now_ns < loop_ns - trap->grace_ns)
        own_ns = now_ns + trap->grace_ns;
    if (note == NULL)
        return; /* H1 */
    jzx_stop_notice notice = {.deadline_ns = own_ns < loop_ns ? own_ns : loop_ns,
                              .reason = jzx__control_reason(state)};
    snprintf(notice.text, sizeof notice.text, "%s",
             by_loop || (by_super && is_stopping) ? JZX_SHUTDOWN_TEXT
             : by_super                           ? "its supervisor stops it"
                                                  : "");
    trap->note = NULL;
    memcpy(note->payload, &notice, sizeof notice);
    note->tag = JZX_TAG_STOP;
    note->sender = JZX_NOBODY;
    note->node.generation = jzx_id_generation(jzx__actor_id(actor));
    note->node.weight = 0;
    note->node.lane = JZX__LANE_RUNTIME;
    note->node.next = NULL;
    jzx__counter_add(&me->counters.accepted, 1);
    jzx__mailbox_put_first(actor, &note->node, &note->node);
    jzx__trap_expect(me, actor, own_ns);
}
