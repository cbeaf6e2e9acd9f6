/* SPDX-License-Identifier: MIT */
/* One turn of an actor (R8): its messages one after another until it has none, its budget is
 * spent, or it ends. What is rare (requests, starting, waiters) hides behind one test per
 * message. */
#include "actor/mailbox.h"
#include "sched/pass.h"

static jzx_exit_reason reason_of(jzx_behavior_result result) {
    switch (result) {
    case JZX_BEHAVIOR_STOP: return JZX_EXIT_NORMAL;
    case JZX_BEHAVIOR_FAIL: return JZX_EXIT_FAIL;
    default: return JZX_EXIT_PANIC;
    }
}

/* A behaviour may have replaced its state. */
static inline void keep_state(const struct jzx__turn *turn, struct jzx__actor *actor) {
    if (JZX_UNLIKELY(turn->ctx.state != actor->task.arg))
        actor->task.arg = turn->ctx.state;
}

void jzx__actor_announce(struct jzx_loop *loop, struct jzx__actor *actor) {
    if ((actor->task.care & JZX__CARE_ANNOUNCE) == 0)
        return;
    actor->task.care &= (uint8_t)~JZX__CARE_ANNOUNCE;
    if (!jzx__observer_is_set(&loop->observer))
        return;
    jzx_event event = {.kind = JZX_EVENT_ACTOR_START,
                       .actor = jzx__actor_id(actor),
                       .name = jzx__actor_name(actor)};
    jzx__observer_emit(&loop->observer, &event);
}

/* False if the actor has ended. */
static bool start(struct jzx__worker *me, struct jzx__turn *turn) {
    struct jzx__actor *actor = turn->actor;
    struct jzx__cold *cold = actor->task.cold;
    actor->task.care &= (uint8_t)~JZX__CARE_START;
    turn->current = NULL; /* there is no message yet that could be taken or stashed */
    turn->current_tag = 0;
    jzx_err err = JZX_OK;
    if (cold != NULL && cold->init != NULL) {
        err = cold->init(&turn->ctx);
        keep_state(turn, actor);
    }
    if (err != JZX_OK) {
        jzx__log(&me->sched->log, JZX_LOG_WARN, "actor %u.%u: its init returned %s",
                 jzx_id_index(turn->ctx.self), jzx_id_generation(turn->ctx.self),
                 jzx_err_name(err));
        jzx__actor_end(me, actor, JZX_EXIT_FAIL);
        return false;
    }
    if (actor->task.status == JZX_ACTOR_INIT)
        actor->task.status = JZX_ACTOR_RUNNING;
    return true;
}

/* Takes out of the state word what is answered now: the fulls and the wish to drain. The other
 * requests end the actor, and the word with it. */
static uint64_t take_requests(struct jzx__task *task) {
    const uint64_t answered = JZX__FULLS_MASK | JZX__WANT_DRAIN;
    /* relaxed: a first guess for the exchange below */
    uint64_t state = jzx__atomic_load_relaxed(&task->state);
    /* pairs with note_full and set_want: a count and bits are passed, nothing behind them */
    while (!jzx__atomic_cas_acq_rel(&task->state, &state, state & ~answered))
        continue;
    return state;
}

/* What other threads asked for. False if the actor has ended. */
static bool obey(struct jzx__worker *me, struct jzx__actor *actor) {
    uint64_t state = take_requests(&actor->task);
    actor->task.care &= (uint8_t)~JZX__CARE_WANT;
    uint32_t fulls = (uint32_t)(state & JZX__FULLS_MASK) / JZX__FULLS_ONE;
    if (fulls != 0)
        jzx__mailbox_report_fulls(me, actor, jzx__actor_id(actor), fulls);
    if (state & (JZX__WANT_KILL | JZX__WANT_FAIL | JZX__WANT_STOP)) {
        jzx_exit_reason reason = state & JZX__WANT_KILL   ? JZX_EXIT_KILLED
                                 : state & JZX__WANT_FAIL ? JZX_EXIT_FAIL
                                                          : JZX_EXIT_NORMAL;
        jzx__actor_end(me, actor, reason);
        return false;
    }
    if (state & JZX__WANT_DRAIN)
        jzx__actor_drain(me, actor);
    return true;
}

static bool is_wanted(const struct jzx__actor *actor) {
    /* acquire: pairs with the exchange that set a bit */
    return (jzx__atomic_load_acquire(&actor->task.state) & JZX__ATTENTION_MASK) != 0;
}

/* Everything that is not "handle the next message". Requests come last and are looked for again
 * after each call to user code, which may have made one. False if the actor has ended. */
static JZX_COLD bool attend(struct jzx__worker *me, struct jzx__turn *turn) {
    struct jzx__actor *actor = turn->actor;
    jzx__actor_announce(turn->ctx.loop, actor);
    if ((actor->task.care & JZX__CARE_DROP_OLDEST) &&
        jzx__inbox_count(jzx__task_inbox(&actor->task)) >= jzx__actor_cap(actor))
        jzx__mailbox_take_in(me, actor);
    if (actor->task.care & JZX__CARE_ROOM)
        jzx__mailbox_tell_waiters(me, actor, false);
    for (;;) {
        if (is_wanted(actor)) {
            if (!obey(me, actor))
                return false;
        } else if (actor->task.care & JZX__CARE_START) {
            if (!start(me, turn))
                return false;
        } else {
            break;
        }
    }
    if ((actor->task.care & JZX__CARE_DRAIN) && actor->task.head == NULL) {
        jzx__actor_end(me, actor, JZX_EXIT_NORMAL);
        return false;
    }
    return true;
}

static inline bool needs_attention(struct jzx__actor *actor) {
    /* relaxed: a hint; who set a bit also made the actor ready, and attend looks again */
    uint64_t state = jzx__atomic_load_relaxed(&actor->task.state);
    return ((uint32_t)state | actor->task.care) != 0;
}

/* The common end of a turn: nothing waits, nobody wants anything. A request of another thread comes
 * with the token, so the inbox word shows it; one of this thread is in care. */
static inline bool is_quiet(struct jzx__task *task) {
    return task->head == NULL && task->care == 0 && jzx__task_inbox(task) == 0;
}

/* Runs the behaviour on one message. */
JZX_INLINE jzx_behavior_result handle(struct jzx__worker *me, struct jzx__turn *turn,
                                      struct jzx__actor *actor, struct jzx__message *message) {
    jzx_message view = {message->payload, message->len, message->tag, message->sender};
    jzx_behavior_fn behavior = (jzx_behavior_fn)actor->task.entry;
    turn->current = message;
    turn->current_tag = message->tag;
    jzx_behavior_result result = behavior(&turn->ctx, &view);
    if (JZX_LIKELY(turn->current != NULL))
        jzx__message_destroy(turn->ctx.loop, me, message);
    return result;
}

/* One turn, as jzx__worker_pass wants it; ctx is the turn of the pass. */
JZX_INLINE void run_turn(struct jzx__worker *me, struct jzx__task *task, void *ctx) {
    struct jzx__turn *turn = ctx;
    struct jzx__actor *actor = jzx__actor_of(task);
    uint32_t budget = me->sched->msgs_per_turn;
    uint32_t handled = 0;
    turn->actor = actor;
    turn->current_tag = 0;
    turn->ctx.state = task->arg;
    turn->ctx.self = jzx__actor_id(actor);
    for (;;) {
        if (JZX_UNLIKELY(needs_attention(actor)) && !attend(me, turn))
            break;
        struct jzx__node *node = task->head;
        if (node == NULL) {
            uint64_t word = jzx__task_inbox(task);
            if (JZX_UNLIKELY(jzx__inbox_list(word) != NULL))
                jzx__mailbox_take_in(me, actor);
            else if (jzx__task_go_idle(task, word))
                break;
            continue;
        }
        if (JZX_UNLIKELY(handled == budget || (me->turn_flags & JZX__TURN_OVER) != 0)) {
            jzx__worker_requeue(me, task);
            break;
        }
        handled++;
        me->pass_handled++;
        jzx__task_pop(task, node);
        jzx_behavior_result result = handle(me, turn, actor, jzx__message_of(node));
        keep_state(turn, actor);
        if (JZX_UNLIKELY(result != JZX_BEHAVIOR_OK)) {
            jzx__actor_end(me, actor, reason_of(result));
            break;
        }
        jzx__worker_count_message(me);
        if (is_quiet(task)) {
            task->place = JZX__IDLE;
            break;
        }
    }
}

bool jzx__actor_run_ready(struct jzx__worker *me, uint32_t turns_max) {
    struct jzx__turn turn = {.ctx.loop = jzx__loop_of(me)};
    me->turn = &turn;
    bool ran = jzx__worker_pass(me, turns_max, run_turn, &turn);
    jzx__counter_add(&me->counters.handled, me->pass_handled);
    me->pass_handled = 0;
    me->turn = NULL;
    return ran;
}
