/* SPDX-License-Identifier: MIT */
/* How an actor ends, in one place and once (R12).
 *
 * The order: its timers are cancelled; its mailbox closes; its id becomes stale, and with it its
 * names; it hears of nobody's end any more; what waited becomes dead letters, or is kept for its
 * successor; who waited for room is told; it leaves its groups; its cleanup runs; the observer
 * hears of it; those who watch it are told; its memory is free; its supervisor is told; its slot
 * is free. From the first step on no message can reach it, so its cleanup is the last that
 * anybody hears of its state. */
#include "actor/ask.h"
#include "actor/contain.h"
#include "actor/mailbox.h"
#include "actor/memory.h"
#include "actor/timer_list.h"

#include "base/log.h"

static bool is_failure(jzx_exit_reason reason) {
    return reason == JZX_EXIT_FAIL || reason == JZX_EXIT_PANIC || reason == JZX_EXIT_FAULT;
}

void jzx__actor_drain(struct jzx__worker *me, struct jzx__actor *actor) {
    JZX_ASSERT_OWNER(me);
    if (actor->task.care & JZX__CARE_DRAIN)
        return;
    actor->task.status = JZX_ACTOR_STOPPING;
    actor->task.care |= JZX__CARE_DRAIN;
    bool entry_left; /* an entry under way finds the actor alive or its slot waiting: both fine */
    jzx__mailbox_file(me, actor, jzx__task_close(&actor->task, &entry_left));
}

/* Makes the id stale: sends and requests that come later do not find the actor. The mailbox is
 * closed already, so a guessed id of the next generation meets CLOSED. Returns the refusals of
 * other threads that the observer has not heard of. */
static uint32_t make_stale(struct jzx__worker *me, struct jzx__actor *actor, jzx_actor_id id) {
    uint32_t next = jzx_id_generation(id) + 1; /* 0 after the last one: the slot is retired */
    /* release: pairs with the acquire in lookup */
    jzx__atomic_store_release(&actor->task.id, jzx_make_id(next, jzx_id_index(id)));
    uint32_t fulls = 0;
    if (!jzx__observer_is_set(&jzx__loop_of(me)->observer)) {
        /* release: pairs with the exchange in set_want and note_full, which compare the generation.
         * A request that races with it is forgotten with the actor */
        jzx__atomic_store_release(&actor->task.state, jzx__state_make(next));
    } else {
        /* pairs with the exchange in note_full: what it counted before is reported, later it fails
         */
        uint64_t state = jzx__atomic_exchange_acq_rel(&actor->task.state, jzx__state_make(next));
        fulls = (uint32_t)(state & JZX__FULLS_MASK) / JZX__FULLS_ONE;
    }
    /* release: pairs with the acquire in was_in_vain. Takes the slot out of this thread's fast
     * path */
    jzx__atomic_store_release(&actor->task.owner, jzx__worker_word(me) | JZX__OWNER_FLAGS);
    return fulls;
}

static void bury_list(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *nodes,
                      const struct jzx__ending *ending) {
    struct jzx_loop *loop = jzx__loop_of(me);
    jzx_actor_id id = ending->id;
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        nodes = node->next;
        if (JZX_UNLIKELY(node->lane == JZX__LANE_TIMER))
            jzx__timer_bury(me, node, id, jzx__actor_name(actor));
        else if (JZX_UNLIKELY(jzx__lane_is_watch(node->lane)))
            jzx__watch_bury(me, node, jzx__actor_cold(actor), ending);
        else
            jzx__message_bury(loop, me, jzx__message_of(node), id, jzx__actor_name(actor));
    }
}

/* What the inbox held: messages, late ones of older generations, requests for room. */
static void bury_inbox(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *nodes,
                       const struct jzx__ending *ending) {
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        nodes = node->next;
        node->next = NULL;
        if (node->lane != JZX__LANE_ROOM && node->generation == jzx_id_generation(ending->id))
            bury_list(me, actor, node, ending);
        else
            jzx__mailbox_file(me, actor, node); /* of another generation by now: not ours */
    }
}

static bool has_timers(const struct jzx__cold *cold) {
    return !jzx__timer_list_is_empty(cold->timers) || !jzx__timer_list_is_empty(cold->keyed) ||
           cold->chained != 0;
}

/* Dead letters: the stash, the private list, then what the inbox held. */
static void bury_all(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *inbox,
                     const struct jzx__ending *ending) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__node *list = jzx__task_clear(&actor->task);
    struct jzx__node *stash = NULL;
    if (cold != NULL) {
        uint32_t generation = jzx_id_generation(ending->id);
        jzx__watches_let_go(me, cold);
        stash = cold->stash_first;
        if (cold->keeps_mail) {
            stash = jzx__watches_keep(cold, stash, generation);
            list = jzx__watches_keep(cold, list, generation);
            inbox = jzx__watches_keep(cold, inbox, generation);
        }
        cold->stash_first = NULL;
        cold->stash_count = 0;
    }
    if (list != NULL)
        bury_list(me, actor, list, ending);
    if (stash != NULL)
        bury_list(me, actor, stash, ending);
    if (inbox != NULL)
        bury_inbox(me, actor, inbox, ending);
    if (cold != NULL && has_timers(cold))
        jzx__timers_forget_all(me, actor);
    if (actor->task.waiters != NULL)
        jzx__mailbox_tell_waiters(me, actor, true);
}

/* jzx_exit in a cleanup comes back here, and a fault. */
static __attribute__((noinline)) void run_cleanup(jzx_cleanup_fn cleanup, struct jzx__turn *turn,
                                                  jzx_exit_reason reason) {
    jmp_buf jump;
    turn->jump = &jump;
    turn->frame = (uintptr_t)__builtin_frame_address(0);
    if (_setjmp(jump) == 0)
        cleanup(&turn->ctx, reason);
}

static void call_cleanup(struct jzx__worker *me, struct jzx__actor *actor, jzx_actor_id id,
                         jzx_exit_reason reason) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    if (cold == NULL || cold->cleanup == NULL)
        return;
    struct jzx__seat *seat = jzx__seat_of_thread;
    struct jzx__turn turn = {.ctx = {actor->task.arg, id, jzx__loop_of(me)}, .seat = seat};
    void *cleanup_before = seat->cleanup;
    struct jzx__task *task_before = jzx__worker_current(me);
    seat->cleanup = &turn;
    /* release: pairs with the acquire of dumps and the watchdog */
    jzx__atomic_store_release(&seat->task, &actor->task);
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* S3 of seat.h */
    jzx__seat_leave(seat, JZX__SEAT_IN_CLEANUP);
    run_cleanup(cold->cleanup, &turn, reason);
    jzx__visit_end(&visit);
    /* release: pairs with the same */
    jzx__atomic_store_release(&seat->task, task_before);
    seat->cleanup = cleanup_before;
    if (JZX_UNLIKELY(turn.exits))
        jzx__contain_log_cleanup(&turn);
}

static void tell_observer(struct jzx_loop *loop, struct jzx__actor *actor,
                          const struct jzx__ending *ending) {
    if (!is_failure(ending->reason) && !jzx__observer_is_set(&loop->observer))
        return;
    const char *name = jzx__actor_name(actor);
    jzx_actor_id id = ending->id;
    const char *text = ending->text == NULL ? "" : ending->text;
    if (is_failure(ending->reason))
        jzx__log(&loop->sched.log, JZX_LOG_WARN, "actor %u.%u%s%s failed%s%s", jzx_id_index(id),
                 jzx_id_generation(id), name != NULL ? " " : "", name != NULL ? name : "",
                 text[0] != '\0' ? ": " : "", text);
    if (ending->fault != NULL)
        jzx__contain_log_stack(loop, ending->fault);
    jzx_event event = {.kind =
                           is_failure(ending->reason) ? JZX_EVENT_ACTOR_FAIL : JZX_EVENT_ACTOR_STOP,
                       .actor = id,
                       .name = name,
                       .reason = ending->reason,
                       .detail = text};
    if (ending->fault != NULL) {
        event.stack = ending->fault->stack;
        event.stack_count = ending->fault->stack_count;
    }
    jzx__loop_emit(loop, &event);
}

/* Those that were not needed. */
static void free_notes(struct jzx__worker *me, struct jzx__cold *cold) {
    if (cold->stop_note != NULL)
        jzx__message_destroy(jzx__loop_of(me), me, cold->stop_note);
    if (cold->started_note != NULL)
        jzx__message_destroy(jzx__loop_of(me), me, cold->started_note);
}

/* Everything that the end of an ordinary actor, which nobody watches, does not need. */
static JZX_COLD void end_with_ceremony(struct jzx__worker *me, struct jzx__actor *actor,
                                       struct jzx__node *inbox, uint32_t fulls,
                                       struct jzx__ending *ending) {
    if (me->fault != NULL && me->fault->actor == ending->id)
        ending->fault = me->fault;
    bool failed = is_failure(ending->reason);
    struct jzx__cold *cold = jzx__actor_cold(actor);
    if (fulls != 0)
        jzx__mailbox_report_fulls(me, actor, ending->id, fulls);
    actor->task.status = failed ? JZX_ACTOR_FAILED : JZX_ACTOR_STOPPED;
    bury_all(me, actor, inbox, ending);
    if (cold != NULL && cold->groups != NULL)
        jzx__groups_leave_all(me, actor);
    call_cleanup(me, actor, ending->id, ending->reason);
    tell_observer(jzx__loop_of(me), actor, ending);
    if (failed)
        jzx__counter_add(&me->counters.failed, 1);
    if (cold != NULL) {
        free_notes(me, cold);
        struct jzx__watch *supervisor = jzx__watches_fire(me, cold, ending);
        jzx__asks_release(jzx__loop_of(me), cold);
        jzx__timers_release(jzx__loop_of(me), me, cold);
        jzx__memory_release(cold);
        jzx__actor_set_cold(actor, NULL);
        jzx__slab_free(&me->slab, JZX__COLD_CLASS, cold);
        jzx__watch_fire(me, supervisor, ending);
    }
}

void jzx__actor_end(struct jzx__worker *me, struct jzx__actor *actor, jzx_exit_reason reason,
                    const char *text) {
    JZX_ASSERT_OWNER(me);
    JZX_ASSERT(actor->task.place <= JZX__RUNNING);
    struct jzx_loop *loop = jzx__loop_of(me);
    jzx_actor_id id = jzx__actor_id(actor);
    bool entry_left;
    if (JZX_UNLIKELY(actor->task.care & JZX__CARE_ANNOUNCE))
        jzx__actor_announce(loop, actor);
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    if (JZX_UNLIKELY(cold != NULL) && has_timers(cold))
        jzx__timers_cancel_all(me, actor);
    struct jzx__node *inbox = jzx__task_close(&actor->task, &entry_left);
    uint32_t fulls = make_stale(me, actor, id);
    if (JZX_UNLIKELY(inbox != NULL || actor->task.head != NULL || jzx__actor_cold(actor) != NULL ||
                     actor->task.waiters != NULL || jzx__observer_is_set(&loop->observer) ||
                     is_failure(reason))) {
        struct jzx__ending ending = {.id = id, .reason = reason, .text = text};
        end_with_ceremony(me, actor, inbox, fulls, &ending);
    }
    jzx__worker_count_exited(me, actor->task.daemon);
    actor->task.entry = NULL; /* tells the last entry, if one is under way, to free the slot */
    if (JZX_LIKELY(!entry_left))
        jzx__table_release(&loop->table, jzx__slots_of(me), actor);
}
