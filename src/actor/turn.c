/* SPDX-License-Identifier: MIT */
/* One turn of an actor (R8): its messages one after another until it has none, its budget is
 * spent, or it ends. What is rare (requests, starting, waiters) hides behind one test per
 * message.
 *
 * C1  turn.current is the message in hand, from before user code runs until the message is taken,
 *     stashed or released; it is NULL before the release begins, whose destructor is user code.
 *     Every turn, step, poll and init therefore begins with NULL or with its own message. */
#include "actor/turn.h"

#include "actor/announce.h"
#include "actor/contain.h"
#include "actor/control.h"
#include "actor/exit.h"
#include "actor/kind.h"
#include "actor/mailbox.h"
#include "actor/room.h"
#include "actor/share.h"
#include "actor/spawn.h"
#include "actor/thread_end.h"
#include "actor/trap.h"
#include "actor/urgent.h"
#include "sched/balance.h"
#include "sched/crew.h"
#include "sched/fork.h"
#include "sched/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jzx_exit_reason reason_of(jzx_behavior_result result) {
    switch (result) {
    case JZX_BEHAVIOR_STOP: return JZX_EXIT_NORMAL;
    case JZX_BEHAVIOR_FAIL: return JZX_EXIT_FAIL;
    default: return JZX_EXIT_PANIC;
    }
}

static const char *text_of(jzx_behavior_result result) {
    return reason_of(result) == JZX_EXIT_PANIC ? "its behaviour returned an unknown result" : NULL;
}

/* A behaviour may have replaced its state. */
static inline void keep_state(const struct jzx__turn *turn, struct jzx__actor *actor) {
    if (JZX_UNLIKELY(turn->ctx.state != actor->task.arg))
        actor->task.arg = turn->ctx.state;
}

static JZX_COLD void end_failed(struct jzx__worker *me, struct jzx__actor *actor,
                                jzx_behavior_result result) {
    jzx__actor_end(me, actor, reason_of(result), text_of(result));
}

/* In a child of fork(2) that has come back from the code of an actor there is no way on: the loop
 * and its descriptors are the parent's. */
static void refuse_child(struct jzx__worker *lost) {
    const struct jzx_loop *loop = jzx__loop_of(lost);
    if (loop->forks == jzx__fork_count())
        return;
    jzx__log(&loop->sched.log, JZX_LOG_ERROR,
             "a child of fork returns to the loop of its parent: call exec or _exit in it");
    abort();
}

void jzx__turn_release_without_worker(struct jzx__turn *turn) {
    struct jzx__message *message = jzx__turn_put_down(turn);
    if (message != NULL && jzx__message_needs_worker(message))
        turn->unreleased = message;
    else if (message != NULL)
        jzx__message_destroy(turn->ctx.loop, NULL, message);
}

JZX_COLD enum jzx__fate jzx__turn_lose(struct jzx__worker *lost, struct jzx__turn *turn) {
    refuse_child(lost);
    uint64_t returned_at_ns = jzx__clock_now(&lost->sched->clock); /* a destructor may take long */
    jzx__seat_leave(turn->seat, 0);
    turn->jump = NULL; /* no user code runs any more */
    jzx__turn_release_without_worker(turn);
    jzx__crew_return(lost, turn->seat, returned_at_ns);
    return JZX__FATE_LOST;
}

/* After the init. False if the actor has ended. */
static bool settle_init(struct jzx__worker *me, struct jzx__turn *turn, jzx_err err) {
    struct jzx__actor *actor = turn->actor;
    keep_state(turn, actor);
    if (err != JZX_OK) {
        char text[JZX_EXIT_TEXT_MAX + 1];
        snprintf(text, sizeof text, "its init: %s", jzx_err_name(err));
        jzx__actor_note_failure(actor, err);
        jzx__actor_end(me, actor, JZX_EXIT_FAIL, text);
        return false;
    }
    if (actor->task.status == JZX_ACTOR_INIT)
        actor->task.status = JZX_ACTOR_RUNNING;
    if (JZX_UNLIKELY(jzx__actor_cold(actor) != NULL) && !jzx__actor_is_super(actor))
        jzx__actor_tell_started(turn->ctx.loop, me, actor);
    return true;
}

static enum jzx__fate start(struct jzx__worker *me, struct jzx__turn *turn) {
    struct jzx__cold *cold = jzx__actor_cold(turn->actor);
    turn->actor->task.care &= (uint16_t)~JZX__CARE_START;
    JZX_ASSERT(turn->current == NULL); /* turn/C1: none could be taken or stashed */
    jzx_err err = JZX_OK;
    if (cold != NULL && cold->init != NULL) {
        /* relaxed, both: this thread's own, the second also for dumps and the watchdog */
        uint32_t was = jzx__atomic_load_relaxed(&turn->seat->in_runtime);
        jzx__atomic_store_relaxed(&turn->seat->tag, 0u);
        turn->in_init = true;
        jzx__seat_leave(turn->seat, 0);
        err = cold->init(&turn->ctx);
        turn->init_err = err;
        if (JZX_UNLIKELY(jzx__seat_enter(turn->seat) != me))
            return jzx__turn_lose(me, turn);
        jzx__seat_leave(turn->seat, was);
        turn->in_init = false;
        jzx__worker_count_message(me); /* it takes time as a message does */
    }
    return settle_init(me, turn, err) ? JZX__FATE_GOES_ON : JZX__FATE_OVER;
}

/* What an actor that traps stops is told of, and does not obey. */
#define TRAPPED ((uint64_t)(JZX__WANT_STOP | JZX__WANT_SHUTDOWN | JZX__WANT_GENTLE))

/* Takes out of the state word what is answered now: the fulls, the wish to drain, that somebody is
 * in line, that urgent messages wait, and told. The other requests end the actor, and the word with
 * it. */
static uint64_t take_requests(struct jzx__task *task, uint64_t told) {
    const uint64_t answered =
        JZX__FULLS_MASK | JZX__WANT_GENTLE | JZX__WANT_ROOM | JZX__WANT_URGENT | told;
    /* relaxed: a first guess for the exchange below */
    uint64_t state = jzx__atomic_load_relaxed(&task->state);
    /* pairs with note_full and set_want: a count and bits are passed, nothing behind them */
    while (!jzx__atomic_cas_acq_rel(&task->state, &state, state & ~answered))
        continue;
    return state;
}

/* A supervisor is to end: it hears of it before all that waits, once, and first stops its
 * children. */
static void pass_on_stop(struct jzx__worker *me, struct jzx__actor *actor, uint64_t state) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__message *note = cold->stop_note;
    const struct jzx__stop_order order = {.reason = jzx__control_reason(state),
                                          .at_once =
                                              (state & (JZX__WANT_FAIL | JZX__WANT_SHUTDOWN)) != 0};
    if (note == NULL)
        return;
    cold->stop_note = NULL;
    memcpy(note->payload, &order, sizeof order);
    note->node.next = NULL;
    jzx__counter_add(&me->counters.accepted, 1);
    jzx__mailbox_put_first(actor, &note->node, &note->node);
}

static void end_as_wanted(struct jzx__worker *me, struct jzx__actor *actor, uint64_t state) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    if (actor->task.care & JZX__CARE_FINISH)
        state |= JZX__WANT_FINISH; /* its supervisor has asked before: that counts, too */
    bool is_late = cold != NULL && cold->trap != NULL && jzx__trap_is_over(cold->trap);
    jzx__actor_end(me, actor, jzx__control_reason(state),
                   is_late ? "it has not stopped by its deadline" : jzx__control_text(state));
}

/* What other threads asked for. False if the actor has ended. */
static bool obey(struct jzx__worker *me, struct jzx__actor *actor) {
    bool is_super = jzx__actor_is_super(actor);
    bool is_told = !is_super && jzx__actor_is_told(actor);
    const uint64_t gentle = JZX__WANT_END & ~(uint64_t)JZX__WANT_KILL;
    uint64_t state = take_requests(&actor->task, is_super ? gentle : is_told ? TRAPPED : 0);
    actor->task.care &= (uint16_t)~JZX__CARE_WANT;
    if (is_super)
        state &= ~(uint64_t)JZX__WANT_STALLED;
    actor->task.care |= jzx__line_care(state); /* also for the end of the actor */
    uint32_t fulls = (uint32_t)(state & JZX__FULLS_MASK) / JZX__FULLS_ONE;
    if (fulls != 0)
        jzx__mailbox_report_fulls(me, actor, jzx__actor_id(actor), fulls);
    if ((state & JZX__WANT_ROOM) && (is_super || !(state & JZX__WANT_END)))
        jzx__room_open(me, actor);
    if (is_super && (state & (JZX__WANT_END | JZX__WANT_GENTLE)) && !(state & JZX__WANT_KILL)) {
        pass_on_stop(me, actor, state);
        return true;
    }
    if (is_told && (state & TRAPPED)) {
        jzx__trap_tell(me, actor, state);
        state &= ~TRAPPED;
    }
    if (state & JZX__WANT_END) {
        end_as_wanted(me, actor, state);
        return false;
    }
    if (state & JZX__WANT_GENTLE)
        jzx__actor_drain(me, actor, state);
    return (actor->task.care & JZX__CARE_URGENT) == 0 || jzx__urgent_take(me, actor);
}

static bool is_wanted(const struct jzx__actor *actor, uint64_t mask) {
    /* acquire: pairs with the exchange that set a bit */
    return (jzx__atomic_load_acquire(&actor->task.state) & mask) != 0;
}

/* The actor goes to the worker that it sends to, or, in a restless test, where that wants it. */
static bool moves_away(struct jzx__worker *me, struct jzx__actor *actor, bool has_run) {
    if (me->sched->wander != NULL)
        return me->sched->wander(me, &actor->task);
    if (me->sched->restless)
        return has_run && jzx__balance_toss(me, &actor->task);
    actor->task.care &= (uint16_t)~JZX__CARE_MOVE;
    return jzx__balance_gather(me, &actor->task);
}

static enum jzx__look look_at(struct jzx__worker *me, struct jzx__actor *actor,
                              struct jzx__node *node) {
    const struct jzx__lane_ops *lane = jzx__lane_of(node);
    const struct jzx__spot head = {actor, NULL, node};
    return lane->begin == NULL ? JZX__LOOK_HANDLE : lane->begin(me, &head);
}

/* Between two messages: notes when the last one was handled, for actors that listen; drops nodes
 * from the head that are no message, were cancelled or come too late; counts the one that is going
 * to be handled. AGAIN or ENDED; else HANDLE, whether there is something to handle or not. */
static enum jzx__look look_at_head(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__node *node;
    if (cold->hears)
        cold->heard_ns = jzx__clock_now(&me->sched->clock);
    cold->hears = false;
    if (me->budget.left <= 1)
        return JZX__LOOK_HANDLE; /* nothing will be handled in this turn */
    while ((node = actor->task.head) != NULL && jzx__lane_is_special(node->lane)) {
        enum jzx__look look = look_at(me, actor, node);
        if (look == JZX__LOOK_HANDLE)
            break;
        if (look == JZX__LOOK_ENDED)
            return look;
        if (me->budget.left > 1) /* else a callback has ended the turn meanwhile */
            me->budget.left--;
        if (look == JZX__LOOK_AGAIN)
            return look;
        if (me->budget.left <= 1)
            return JZX__LOOK_HANDLE;
    }
    cold->hears = cold->listens && node != NULL && node->lane == JZX__LANE_USER;
    cold->steps += cold->accounts && node != NULL;
    if (cold->looks == 0 && !cold->listens && !cold->accounts)
        actor->task.care &= (uint16_t)~JZX__CARE_HEAD;
    return JZX__LOOK_HANDLE;
}

/* Everything that is not "handle the next message". Requests come last and are looked for again
 * after each call to user code, which may have made one. Refusals are reported once per look:
 * other threads may count new ones faster than an observer hears of them. */
static JZX_COLD enum jzx__fate attend(struct jzx__worker *me, struct jzx__turn *turn,
                                      bool has_run) {
    struct jzx__actor *actor = turn->actor;
    if ((actor->task.care & JZX__CARE_MOVE) && moves_away(me, actor, has_run))
        return JZX__FATE_OVER;
    jzx__actor_announce(turn->ctx.loop, actor);
    if ((actor->task.care & JZX__CARE_DROP_OLDEST) &&
        jzx__inbox_count(jzx__task_inbox(&actor->task)) >= jzx__actor_cap(actor))
        jzx__mailbox_try_take_in(me, actor); /* or at the next look */
    if (actor->task.care & JZX__CARE_LINE)
        jzx__room_serve(me, actor);
    if (actor->task.care & JZX__CARE_ROOM)
        jzx__mailbox_tell_waiters(me, actor, false);
    for (uint64_t mask = JZX__ATTENTION_MASK;;) {
        enum jzx__look look = JZX__LOOK_HANDLE;
        if (is_wanted(actor, mask) || (actor->task.care & JZX__CARE_URGENT)) {
            if (!obey(me, actor))
                return JZX__FATE_OVER;
            mask = JZX__CONTROL_BITS;
            continue;
        }
        if (actor->task.care & JZX__CARE_START) {
            enum jzx__fate fate = start(me, turn);
            if (fate != JZX__FATE_GOES_ON)
                return fate;
            continue;
        }
        if ((actor->task.care & (JZX__CARE_HEAD | JZX__CARE_KIND)) == JZX__CARE_HEAD)
            look = look_at_head(me, actor);
        if (look == JZX__LOOK_ENDED)
            return JZX__FATE_OVER;
        if (look == JZX__LOOK_HANDLE)
            break;
    }
    if (actor->task.care & JZX__CARE_KIND)
        return turn->ctx.loop->kinds[jzx__actor_cold(actor)->kind]->turn(me, turn);
    if ((actor->task.care & JZX__CARE_DRAIN) && actor->task.head == NULL) {
        bool finishes = (actor->task.care & JZX__CARE_FINISH) != 0;
        jzx__actor_end(me, actor, finishes ? JZX_EXIT_SHUTDOWN : JZX_EXIT_NORMAL, NULL);
        return JZX__FATE_OVER;
    }
    if (actor->task.care & JZX__CARE_DROP_OLDEST)
        jzx__mailbox_leave_head(actor);
    return JZX__FATE_GOES_ON;
}

/* True if there is nothing to attend to but the turn of a kind: the most common case for those. */
static inline bool is_just_a_kind(const struct jzx__actor *actor) {
    /* relaxed: as in needs_attention */
    uint64_t state = jzx__atomic_load_relaxed(&actor->task.state);
    return ((uint32_t)state | (actor->task.care ^ JZX__CARE_KIND)) == 0;
}

static inline enum jzx__fate run_kind(struct jzx__worker *me, struct jzx__turn *turn) {
    return turn->ctx.loop->kinds[jzx__actor_cold(turn->actor)->kind]->turn(me, turn);
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

/* The inbox has something. False if the turn is over instead: the actor follows its sender to
 * another worker, or has to wait for a thread that cuts the inbox. */
static JZX_COLD bool take_in(struct jzx__worker *me, struct jzx__actor *actor, uint64_t word) {
    if (me->balance.follow_to != NULL) {
        const struct jzx__message *newest = jzx__message_of(jzx__inbox_list(word));
        const struct jzx__actor *sender =
            jzx__table_lookup(&jzx__loop_of(me)->table, newest->sender);
        /* relaxed: a hint about where the sender is */
        uintptr_t owner = sender == NULL ? 0 : jzx__atomic_load_relaxed(&sender->task.owner);
        if (jzx__balance_follow(me, &actor->task, owner))
            return false;
    }
    if (jzx__mailbox_try_take_in(me, actor))
        return true;
    jzx__worker_requeue_any(me, &actor->task);
    return false;
}

/* One turn of a task, as jzx__worker_pass wants it; ctx is the turn of the pass. Somebody may take
 * the worker away while user code runs, so that runs outside the bracket. False if the worker was
 * lost. */
JZX_INLINE bool run_turn(struct jzx__worker *me, struct jzx__task *task, void *ctx) {
    struct jzx__turn *turn = ctx;
    struct jzx__seat *seat = JZX_CONTAINER_OF(turn, struct jzx__seat, turn_room);
    struct jzx__actor *actor = jzx__actor_of(task);
    /* release: pairs with the acquire of dumps and the watchdog, which look at the task's words */
    jzx__atomic_store_release(&seat->task, task);
    turn->actor = actor;
    turn->ctx.state = task->arg;
    turn->ctx.self = jzx__actor_id(actor);
    for (;;) {
        if (JZX_UNLIKELY(needs_attention(actor))) {
            enum jzx__fate fate = is_just_a_kind(actor)
                                      ? run_kind(me, turn)
                                      : attend(me, turn, me->budget.left != me->full_budget.left);
            if (fate == JZX__FATE_AGAIN)
                continue;
            if (fate != JZX__FATE_GOES_ON)
                return fate != JZX__FATE_LOST;
        }
        struct jzx__node *node = task->head;
        if (node == NULL) {
            uint64_t word = jzx__task_inbox(task);
            if (JZX_UNLIKELY(jzx__inbox_list(word) != NULL)) {
                if (!take_in(me, actor, word))
                    return true;
            } else if (jzx__task_go_idle(task, word)) {
                return true;
            }
            continue;
        }
        if (JZX_UNLIKELY(--me->budget.left == 0)) {
            jzx__worker_requeue_any(me, task);
            return true;
        }
        me->pass_handled++;
        jzx__task_pop(task, node);
        struct jzx__message *message = jzx__message_of(node);
        jzx_message view = {jzx__message_data(message), message->len, message->tag,
                            message->sender};
        jzx_behavior_fn behavior = (jzx_behavior_fn)task->entry;
        turn->current = message;
        /* relaxed: for dumps and the watchdog */
        jzx__atomic_store_relaxed(&seat->tag, message->tag);
        jzx__seat_leave(seat, 0);
        jzx_behavior_result result = behavior(&turn->ctx, &view);
        if (JZX_UNLIKELY(jzx__seat_enter(seat) != me)) {
            turn->result = result;
            return jzx__turn_lose(me, turn) != JZX__FATE_LOST;
        }
        if (JZX_LIKELY(jzx__turn_put_down(turn) != NULL))
            jzx__message_destroy(turn->ctx.loop, me, message);
        keep_state(turn, actor);
        jzx__worker_count_message(me);
        if (JZX_UNLIKELY(result != JZX_BEHAVIOR_OK)) {
            if (result == JZX_BEHAVIOR_STOP)
                jzx__actor_end(me, actor, JZX_EXIT_NORMAL, NULL);
            else
                end_failed(me, actor, result);
            return true;
        }
        if (is_quiet(task)) {
            task->place = task->rest;
            return true;
        }
    }
}

/* Not part of run_ready: a function that calls setjmp keeps nothing in registers. */
static __attribute__((noinline)) enum jzx__pass_result
run_pass(struct jzx__worker *me, uint32_t turns_max, struct jzx__turn *turn) {
    return jzx__worker_pass(me, turns_max, jzx__order_choose, run_turn, turn);
}

void jzx__turn_end_as_it_says(struct jzx__worker *me, const struct jzx__turn *turn) {
    me->fault = turn->exit_reason == JZX_EXIT_FAULT ? turn->fault : NULL;
    jzx__actor_end(me, turn->actor, turn->exit_reason, turn->exit_text);
    me->fault = NULL;
}

/* The turn has left user code so: ends the actor, and with it the pass. */
static JZX_COLD enum jzx__pass_result end_by_exit(struct jzx__worker *me, struct jzx__turn *turn) {
    struct jzx__actor *actor = turn->actor;
    if (turn->kind != NULL)
        turn->kind->landed(turn);
    jzx__contain_explain(turn);
    if (jzx__seat_enter(turn->seat) != me) {
        jzx__turn_lose(me, turn);
        return jzx__worker_pass_lost(me->sched);
    }
    struct jzx__message *message = jzx__turn_put_down(turn);
    if (message != NULL)
        jzx__message_destroy(turn->ctx.loop, me, message);
    keep_state(turn, actor);
    jzx__worker_count_message(me);
    jzx__turn_end_as_it_says(me, turn);
    me->turns_left--;
    return jzx__worker_pass_over(me);
}

/* Once in the life of a thread. */
static inline void watch_thread(void) {
    static _Thread_local bool watched;
    if (JZX_UNLIKELY(!watched))
        jzx__thread_end_watch();
    watched = true;
}

/* One jump point for all turns of a pass: jzx_exit costs those nothing that do not use it. */
enum jzx__pass_result jzx__actor_run_ready(struct jzx__worker *me, uint32_t turns_max) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    struct jzx__turn *turn = (void *)seat->turn_room;
    jmp_buf jump;
    watch_thread();
    memset(turn, 0, offsetof(struct jzx__turn, exit_text));
    turn->ctx.loop = jzx__loop_of(me);
    turn->seat = seat;
    seat->turn = turn;
    turn->jump = &jump;
    turn->frame = jzx__fault_landing();
    turn->limit = turn->frame;
    if (JZX_UNLIKELY(jzx__actor_worker_of(me)->at_home != NULL) && !seat->is_substitute)
        jzx__actor_worker_of(me)->at_home(me);
    if (JZX_LIKELY(_setjmp(jump) == 0))
        return run_pass(me, turns_max, turn);
    return end_by_exit(me, seat->turn); /* a kind may have brought another */
}

void jzx__actor_run_alone(struct jzx__worker *me, struct jzx__task *task) {
    JZX_ASSERT_OWNER(me);
    struct jzx__seat *seat = jzx__seat_of_thread;
    struct jzx__turn *turn = (void *)seat->turn_room;
    JZX_ASSERT(task->care & JZX__CARE_KIND);
    memset(turn, 0, offsetof(struct jzx__turn, exit_text));
    turn->ctx = (jzx_context){task->arg, jzx__actor_id(jzx__actor_of(task)), jzx__loop_of(me)};
    turn->actor = jzx__actor_of(task);
    turn->seat = seat;
    seat->turn = turn;
    jzx__worker_unqueue(me, task);
    task->place = JZX__RUNNING;
    /* release: pairs with the acquire of dumps and the watchdog, which look at the task's words */
    jzx__atomic_store_release(&seat->task, task);
    jzx__worker_flush(me);
    me->turns_planned = 1;
    me->turns_left = 0;
    me->budget = me->full_budget;
    while (attend(me, turn, false) == JZX__FATE_AGAIN)
        continue;
    (void)jzx__worker_pass_over(me);
}

/* ---- jzx_exit ---- */

/* What a user may end an actor with. */
static jzx_exit_reason allowed_reason(jzx_exit_reason reason) {
    switch (reason) {
    case JZX_EXIT_NORMAL:
    case JZX_EXIT_FAIL:
    case JZX_EXIT_PANIC:
    case JZX_EXIT_SHUTDOWN: return reason;
    default: return JZX_EXIT_FAIL;
    }
}

bool jzx__turn_can_exit(const struct jzx__turn *turn) {
    const struct jzx__seat *seat = jzx__seat_of_thread;
    if (!jzx__seat_exists(seat))
        return false;
    /* relaxed: written by this thread alone */
    uint32_t in_runtime = jzx__atomic_load_relaxed(&seat->in_runtime);
    if (in_runtime == JZX__SEAT_IN_CLEANUP)
        return seat->cleanup == turn;
    bool in_turn = in_runtime == 0 || in_runtime == JZX__SEAT_IN_PREDICATE;
    return in_turn && seat->turn == turn && turn->jump != NULL;
}

void jzx_exit(jzx_context *ctx, jzx_exit_reason reason, const char *text) {
    struct jzx__turn *turn = ctx == NULL ? NULL : jzx__turn_of(ctx);
    if (turn == NULL || !jzx__turn_can_exit(turn))
        jzx__wrong_use("jzx_exit was called outside of the actor's own turn");
    turn->exits = true;
    turn->exit_reason = allowed_reason(reason);
    snprintf(turn->exit_text, sizeof turn->exit_text, "%s", text == NULL ? "" : text);
    if (turn->kind != NULL)
        turn->kind->exit(turn);
    longjmp(*turn->jump, 1); /* as _longjmp after _setjmp, and ThreadSanitizer knows it */
}

void jzx_check_failed(jzx_context *ctx, const char *condition, const char *file, int line) {
    const char *slash = strrchr(file, '/');
    char text[JZX_EXIT_TEXT_MAX + 1];
    snprintf(text, sizeof text, "%s:%d: %s", slash == NULL ? file : slash + 1, line, condition);
    jzx_exit(ctx, JZX_EXIT_FAIL, text);
}

/* ---- a turn that went on without the worker ---- */

void jzx__turn_take_changes(struct jzx__worker *me, struct jzx__turn *turn) {
    struct jzx__task *task = &turn->actor->task;
    if (turn->become_to != NULL)
        task->entry = (void (*)(void))turn->become_to;
    if (turn->has_stashed)
        me->pass_handled--; /* the books: it waits again */
    jzx__mailbox_file_deferred(me, turn->actor, turn);
    if (turn->unreleased != NULL)
        jzx__message_destroy(turn->ctx.loop, me, turn->unreleased);
    if (turn->unstashed != NULL)
        jzx__mailbox_put_first(turn->actor, turn->unstashed, turn->unstashed_last);
    turn->has_stashed = false;
    turn->unreleased = NULL;
    turn->unstashed = NULL;
    keep_state(turn, turn->actor);
}

void jzx__actor_take_back(struct jzx__worker *me, struct jzx__seat *seat) {
    struct jzx__turn *turn = seat->turn;
    struct jzx__actor *actor = turn->actor;
    JZX_ASSERT(actor->task.place == JZX__AWAY);
    actor->task.place = JZX__RUNNING;
    jzx__turn_take_changes(me, turn);
    if (turn->exits) {
        jzx__turn_end_as_it_says(me, turn);
        return;
    }
    if (turn->kind != NULL) {
        turn->kind->take_back(me, turn);
        return;
    }
    if (turn->in_init) {
        if (!settle_init(me, turn, turn->init_err))
            return;
    } else if (turn->result != JZX_BEHAVIOR_OK) {
        end_failed(me, actor, turn->result);
        return;
    }
    jzx__worker_requeue_any(me, &actor->task); /* whatever came meanwhile, it looks */
}
