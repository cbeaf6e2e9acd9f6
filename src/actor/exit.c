/* SPDX-License-Identifier: MIT */
/* How an actor ends, in one place and once (R12).
 *
 * The order: what its parts would still send it is cancelled (its timers); its mailbox closes; its
 * id becomes stale, and with it its names; its parts let go (it hears of nobody's end any more);
 * what waited becomes dead letters, or is kept for its successor; who waited for room is told; its
 * parts leave (its groups); its parts become quiet, which may take a while (part/A3); its cleanup
 * runs; the observer hears of it; its monitors are told, then its links; its memory is free; its
 * supervisor is told; its slot is free. From the second step on no message can reach it, so its
 * cleanup is the last that anybody hears of its state. */
#include "actor/exit.h"

#include "actor/announce.h"
#include "actor/contain.h"
#include "actor/line.h"
#include "actor/mailbox.h"
#include "actor/part.h"
#include "actor/spawn.h"
#include "actor/trap.h"
#include "actor/urgent.h"

#include "base/log.h"
#include "sched/cut.h"

#include <stdio.h>

static bool is_failure(jzx_exit_reason reason) {
    return reason == JZX_EXIT_FAIL || reason == JZX_EXIT_PANIC || reason == JZX_EXIT_FAULT;
}

/* After its inbox was closed: a request for room that was in time is a care from here on, as those
 * that were seen before (room/F3). */
static inline void note_line(struct jzx__actor *actor) {
    /* relaxed: ordered by the inbox word, which was nudged after the request was made */
    uint64_t state = jzx__atomic_load_relaxed(&actor->task.state);
    if (!JZX__MUTANT(room_forgotten_at_end))
        actor->task.care |= jzx__line_care(state);
}

/* A kind may wait while it drains, and is still to hear of requests. */
static struct jzx__node *close_mailbox(struct jzx__actor *actor) {
    bool entry_left; /* an entry under way finds the actor alive or its slot waiting: both fine */
    return actor->task.care & JZX__CARE_KIND ? jzx__task_close_to_nodes(&actor->task)
                                             : jzx__task_close(&actor->task, &entry_left);
}

void jzx__actor_drain(struct jzx__worker *me, struct jzx__actor *actor, uint64_t want) {
    JZX_ASSERT_OWNER(me);
    if (want & JZX__WANT_FINISH)
        actor->task.care |= JZX__CARE_FINISH;
    if (actor->task.care & JZX__CARE_DRAIN)
        return;
    actor->task.status = JZX_ACTOR_STOPPING;
    actor->task.care |= JZX__CARE_DRAIN;
    bool is_locked = (actor->task.care & JZX__CARE_DROP_OLDEST) != 0; /* cut/C1 */
    if (is_locked)
        jzx__task_lock(&actor->task);
    struct jzx__node *nodes = close_mailbox(actor);
    if (is_locked)
        jzx__task_unlock(&actor->task, 0);
    jzx__mailbox_file(me, actor, nodes);
    note_line(actor);
    if (actor->task.care & JZX__CARE_LINE)
        jzx__line_close(&jzx__loop_of(me)->lines, me, jzx__actor_id(actor));
    actor->task.care &= (uint16_t)~JZX__CARE_LINE;
}

/* Makes the id stale: sends and requests that come later do not find the actor. The mailbox is
 * closed already, so a guessed id of the next generation meets CLOSED. Returns the refusals of
 * other threads that the observer has not heard of. */
static uint32_t make_stale(struct jzx__worker *me, struct jzx__actor *actor, jzx_actor_id id) {
    uint32_t next = jzx_id_generation(id) + 1; /* 0 after the last one: the slot is retired */
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
    /* release: pairs with the acquire in lookup and in jzx__actor_glance. Last, so that a thread
     * which reads the id to come also reads GONE, and takes the free slot for no actor */
    jzx__atomic_store_release(&actor->task.id, jzx_make_id(next, jzx_id_index(id)));
    return fulls;
}

/* ---- its parts ---- */

/* Calls an operation of every part that the actor has and that has the operation. */
#define FOR_PARTS(loop, cold, op, ...)                                                             \
    for (uint32_t left_ = jzx__cold_parts(cold); left_ != 0; left_ &= left_ - 1) {                 \
        const struct jzx__part_ops *ops_ = (loop)->part_ops[__builtin_ctz(left_)];                 \
        if (ops_->op != NULL)                                                                      \
            ops_->op(__VA_ARGS__);                                                                 \
    }

/* Of its mail what its parts do not keep. */
static struct jzx__node *keep_mail(struct jzx__worker *me, struct jzx__cold *cold,
                                   struct jzx__node *nodes, uint32_t generation) {
    for (uint32_t left = jzx__cold_parts(cold); left != 0; left &= left - 1) {
        const struct jzx__part_ops *ops = jzx__loop_of(me)->part_ops[__builtin_ctz(left)];
        if (ops->keep != NULL)
            nodes = ops->keep(me, cold, nodes, generation);
    }
    return nodes;
}

/* NULL if all parts are quiet; else where the ending is to be kept (part/A3). */
static struct jzx__ending_kept *quiesce(struct jzx__worker *me, struct jzx__actor *actor) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__ending_kept *kept = NULL;
    uint32_t left = cold == NULL ? 0 : jzx__cold_parts(cold);
    for (; kept == NULL && left != 0; left &= left - 1) {
        const struct jzx__part_ops *ops = jzx__loop_of(me)->part_ops[__builtin_ctz(left)];
        if (ops->quiesce != NULL)
            kept = ops->quiesce(me, actor);
    }
    return kept;
}

static void release_parts(struct jzx__worker *me, struct jzx__cold *cold) {
    struct jzx_loop *loop = jzx__loop_of(me);
    for (uint32_t left = jzx__cold_parts(cold); left != 0; left &= left - 1) {
        uint32_t part = (uint32_t)__builtin_ctz(left);
        JZX_ASSERT(loop->part_ops[part]->release != NULL);
        loop->part_ops[part]->release(loop, me, cold->parts[part]);
    }
}

/* ---- its mail ---- */

static void bury_list(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *nodes,
                      const struct jzx__ending *ending) {
    const struct jzx__addressee to = {.id = ending->id,
                                      .name = jzx__actor_name(actor),
                                      .cold = jzx__actor_cold(actor),
                                      .ending = ending};
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        nodes = node->next;
        jzx__node_bury(me, node, &to);
    }
}

/* What the inbox held: messages, late ones of older generations, requests for room. */
static void bury_inbox(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *nodes,
                       const struct jzx__ending *ending) {
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        nodes = node->next;
        node->next = NULL;
        if (node->generation == jzx_id_generation(ending->id))
            bury_list(me, actor, node, ending);
        else
            jzx__mailbox_file(me, actor, node); /* of another generation by now: not ours */
    }
}

/* After the id became stale: a sender that has found it valid has pushed by now, or is refused. The
 * slot may have its next actor (mailbox/B5). */
static void wait_for_senders(struct jzx_loop *loop, jzx_actor_id id) {
    struct jzx__lock *keeper = jzx__table_keeper(&loop->table, jzx_id_index(id));
    jzx__lock_acquire(keeper);
    jzx__lock_release(keeper);
}

static void close_urgent(struct jzx__worker *me, struct jzx__actor *actor,
                         const struct jzx__ending *ending) {
    jzx__urgent_close(me, &(struct jzx__addressee){.id = ending->id,
                                                   .name = jzx__actor_name(actor),
                                                   .cold = jzx__actor_cold(actor),
                                                   .ending = ending});
}

static bool has_urgent(const struct jzx__actor *actor) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    return (actor->task.care & JZX__CARE_URGENT) || (cold != NULL && cold->urgent_count != 0);
}

/* What is for a successor: the urgent messages first, as they were, then the rest of its mail. */
static void keep_all(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node **list,
                     struct jzx__node **inbox, const struct jzx__ending *ending) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    uint32_t generation = jzx_id_generation(ending->id);
    wait_for_senders(jzx__loop_of(me), ending->id);
    if (has_urgent(actor)) {
        struct jzx__node *urgent = jzx__urgent_bequeath(me, actor, ending->id, list);
        bury_list(me, actor, keep_mail(me, cold, urgent, generation), ending);
    }
    cold->stash_first = keep_mail(me, cold, cold->stash_first, generation);
    *list = keep_mail(me, cold, *list, generation);
    *inbox = keep_mail(me, cold, *inbox, generation);
}

/* Dead letters: the private list, the stash, then what the inbox held. */
static void bury_all(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *inbox,
                     const struct jzx__ending *ending) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__node *list = jzx__task_clear(&actor->task);
    struct jzx__node *stash = NULL;
    if (cold != NULL) {
        if (cold->keeps_mail)
            keep_all(me, actor, &list, &inbox, ending);
        stash = cold->stash_first;
        cold->stash_first = NULL;
        cold->stash_count = 0;
    }
    if (list != NULL)
        bury_list(me, actor, list, ending);
    if (stash != NULL)
        bury_list(me, actor, stash, ending);
    if (inbox != NULL)
        bury_inbox(me, actor, inbox, ending);
    if (actor->task.waiters != NULL)
        jzx__mailbox_tell_waiters(me, actor, true);
    if (actor->task.care & JZX__CARE_LINE)
        jzx__line_close(&loop->lines, me, ending->id);
    if (has_urgent(actor))
        close_urgent(me, actor, ending);
}

/* True if it was to work off its queue, by itself or with its loop, and did not end of its own
 * accord. */
static bool is_cut_short(const struct jzx_loop *loop, const struct jzx__actor *actor,
                         jzx_exit_reason reason) {
    if (actor->task.care & JZX__CARE_DRAIN)
        return reason != JZX_EXIT_NORMAL;
    /* relaxed: set before the stop, which was seen */
    return jzx__sched_is_stopped(&loop->sched) &&
           jzx__atomic_load_relaxed(&loop->sched.stop_deadline_ns) != JZX_NEVER;
}

/* Before its mail is buried: how much of it a deadline has left. */
static void tell_cut_short(struct jzx__worker *me, struct jzx__actor *actor,
                           const struct jzx__node *inbox, const struct jzx__ending *ending) {
    struct jzx_loop *loop = jzx__loop_of(me);
    jzx_actor_id id = ending->id;
    uint64_t left = actor->task.pending;
    if (!is_cut_short(loop, actor, ending->reason))
        return;
    for (const struct jzx__node *node = inbox; node != NULL; node = node->next)
        left += node->generation == jzx_id_generation(id) ? node->weight : 0;
    if (left == 0)
        return;
    const char *name = jzx__actor_name(actor);
    if (jzx__sched_is_stopped(&loop->sched))
        /* relaxed: a sum, which one line tells when all threads have ended */
        jzx__atomic_add_relaxed(&loop->left_at_stop, left);
    else
        jzx__log(&loop->sched.log, JZX_LOG_WARN,
                 "actor %u.%u%s%s ended before its queue: %llu messages not handled",
                 jzx_id_index(id), jzx_id_generation(id), name != NULL ? " " : "",
                 name != NULL ? name : "", (unsigned long long)left);
    jzx_event event = {.kind = JZX_EVENT_DRAIN_CUT,
                       .actor = id,
                       .name = name,
                       .reason = ending->reason,
                       .count = left};
    jzx__loop_emit(loop, &event);
}

/* ---- its cleanup, and who is told ---- */

/* jzx_exit in a cleanup comes back here, and a fault. */
static __attribute__((noinline)) void run_cleanup(jzx_cleanup_fn cleanup, struct jzx__turn *turn,
                                                  jzx_exit_reason reason) {
    jmp_buf jump;
    turn->jump = &jump;
    turn->frame = jzx__fault_landing();
    turn->limit = turn->frame;
    if (_setjmp(jump) == 0)
        cleanup(&turn->ctx, reason);
}

static void call_cleanup(struct jzx__worker *me, struct jzx__actor *actor, jzx_actor_id id,
                         jzx_exit_reason reason) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    if (cold == NULL || cold->cleanup == NULL)
        return;
    struct jzx__seat *seat = jzx__seat_of_thread;
    struct jzx__turn turn = {
        .ctx = {actor->task.arg, id, jzx__loop_of(me)}, .actor = actor, .seat = seat};
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
        jzx__contain_log_stack(loop, ending->fault->stack, ending->fault->stack_count);
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
        jzx__started_note_drop(jzx__loop_of(me), me, cold->started_note);
    jzx__trap_destroy(jzx__loop_of(me), me, cold->trap);
}

/* The last things of an actor: from here on nothing of it is left but its slot. */
static void let_rest(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__ending *ending) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    call_cleanup(me, actor, ending->id, ending->reason);
    tell_observer(jzx__loop_of(me), actor, ending);
    if (is_failure(ending->reason))
        jzx__counter_add(&me->counters.failed, 1);
    if (cold == NULL)
        return;
    free_notes(me, cold);
    FOR_PARTS(jzx__loop_of(me), cold, tell, me, cold, ending);
    release_parts(me, cold);
    jzx__actor_set_cold(actor, NULL);
    jzx__slab_free(&me->slab, JZX__COLD_CLASS, cold);
    if (ending->last != NULL)
        ending->last(me, ending->last_arg, ending);
}

/* A part is not quiet yet: the rest comes later (part/A3). A fault is reported by its text only:
 * its stack belongs to the thread, which goes on. */
static void wait_for_parts(struct jzx__actor *actor, const struct jzx__ending *ending,
                           struct jzx__ending_kept *kept) {
    kept->id = ending->id;
    kept->reason = ending->reason;
    snprintf(kept->text, sizeof kept->text, "%s", ending->text == NULL ? "" : ending->text);
    actor->task.place = JZX__ENDING;
}

/* Everything that the end of an ordinary actor, which nobody watches, does not need. False if the
 * rest comes later. */
static JZX_COLD bool end_with_ceremony(struct jzx__worker *me, struct jzx__actor *actor,
                                       struct jzx__node *inbox, uint32_t fulls,
                                       struct jzx__ending *ending) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    if (me->fault != NULL && me->fault->actor == ending->id)
        ending->fault = me->fault;
    if (fulls != 0)
        jzx__mailbox_report_fulls(me, actor, ending->id, fulls);
    actor->task.status = is_failure(ending->reason) ? JZX_ACTOR_FAILED : JZX_ACTOR_STOPPED;
    if (cold != NULL)
        FOR_PARTS(jzx__loop_of(me), cold, let_go, me, actor);
    tell_cut_short(me, actor, inbox, ending);
    bury_all(me, actor, inbox, ending);
    if (cold != NULL)
        FOR_PARTS(jzx__loop_of(me), cold, leave, me, actor);
    struct jzx__ending_kept *kept = quiesce(me, actor);
    if (kept != NULL) {
        jzx__actor_worker_of(me)->endings++;
        wait_for_parts(actor, ending, kept);
        return false;
    }
    let_rest(me, actor, ending);
    return true;
}

/* Its slot is free, now or with the entry that is still under way. */
JZX_INLINE void give_slot_back(struct jzx__worker *me, struct jzx__actor *actor, bool entry_left) {
    jzx__worker_count_exited(me, actor->task.daemon);
    actor->task.entry = NULL; /* tells the last entry, if one is under way, to free the slot */
    if (JZX_LIKELY(!entry_left))
        jzx__table_release(&jzx__loop_of(me)->table, jzx__slots_of(me), actor);
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
    if (JZX_UNLIKELY(cold != NULL)) {
        if (JZX_UNLIKELY(cold->kind == JZX__KIND_MANUAL))
            FOR_PARTS(loop, cold, reclaim, me, actor);
        FOR_PARTS(loop, cold, cancel, me, actor);
        jzx__trap_disarm(actor);
        if (actor->task.care & JZX__CARE_DROP_OLDEST)
            jzx__task_lock(&actor->task); /* cut/C1; make_stale ends it with the generation */
    }
    struct jzx__node *inbox = jzx__task_close(&actor->task, &entry_left);
    note_line(actor);
    uint32_t fulls = make_stale(me, actor, id);
    if (JZX_UNLIKELY((actor->task.care & (JZX__CARE_LINE | JZX__CARE_URGENT)) != 0 ||
                     inbox != NULL || actor->task.head != NULL || jzx__actor_cold(actor) != NULL ||
                     actor->task.waiters != NULL || jzx__observer_is_set(&loop->observer) ||
                     is_failure(reason))) {
        struct jzx__ending ending = {.id = id, .reason = reason, .text = text};
        if (!end_with_ceremony(me, actor, inbox, fulls, &ending))
            return;
    }
    give_slot_back(me, actor, entry_left);
}

void jzx__actor_finish(struct jzx__worker *me, struct jzx__actor *actor,
                       const struct jzx__ending_kept *kept) {
    JZX_ASSERT_OWNER(me);
    JZX_ASSERT(actor->task.place == JZX__ENDING);
    const struct jzx__ending_kept copy = *kept; /* it goes with its part */
    struct jzx__ending ending = {.id = copy.id, .reason = copy.reason, .text = copy.text};
    struct jzx__ending_kept *next = quiesce(me, actor);
    if (next != NULL) {
        wait_for_parts(actor, &ending, next);
        return;
    }
    actor->task.place = JZX__RUNNING;
    jzx__actor_worker_of(me)->endings--;
    let_rest(me, actor, &ending);
    give_slot_back(me, actor, (jzx__task_inbox(&actor->task) & JZX__INBOX_TOKEN) != 0);
}

void jzx__actor_abort(struct jzx__worker *me, struct jzx__actor *actor) {
    JZX_ASSERT_OWNER(me);
    JZX_ASSERT(actor->task.place == JZX__ENDING);
    const struct jzx__ending_kept *kept = quiesce(me, actor);
    JZX_ASSERT(kept != NULL); /* or the part would have called jzx__actor_finish */
    const struct jzx__ending_kept copy = *kept;
    FOR_PARTS(jzx__loop_of(me), jzx__actor_cold(actor), abort, me, actor);
    jzx__actor_finish(me, actor, &copy);
    JZX_ASSERT(actor->task.place != JZX__ENDING);
}
