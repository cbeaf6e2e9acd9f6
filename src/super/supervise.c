/* SPDX-License-Identifier: MIT */
/* The behaviour of a supervisor: one event at a time, and then the next step of its plan. */
#include "super/supervise.h"

#include "super/attempts.h"
#include "super/control.h"
#include "super/depend.h"
#include "super/super.h"
#include "timer/make.h"

#include "actor/control.h"
#include "actor/mailbox.h"
#include "base/log.h"
#include "super/start.h"
#include "super/tell.h"
#include "timer/timer.h"

#include "jzx/name.h"

#include <stdio.h>
#include <string.h>

/* A child that could not be started for want of memory or slots is not tried again before. */
#define RETRY_NS JZX_MS(10)

/* ---- small things ---- */

void jzx__child_set(struct jzx__child *child, jzx_child_state state, jzx_actor_id id) {
    struct jzx__supers *supers = jzx__supers_of(child->super->loop);
    jzx__lock_acquire(&supers->lock); /* U2 */
    child->super->actor_count -= jzx__child_has_actor(child);
    child->state = state;
    child->id = id;
    child->super->actor_count += jzx__child_has_actor(child);
    jzx__lock_release(&supers->lock);
}

static void set_end(struct jzx__child *child, jzx_exit_reason reason, const char *text) {
    struct jzx__supers *supers = jzx__supers_of(child->super->loop);
    jzx__lock_acquire(&supers->lock); /* U2 */
    child->last_reason = reason;
    snprintf(child->last_text, sizeof child->last_text, "%s", text);
    jzx__lock_release(&supers->lock);
}

static void set_attempt(struct jzx__child *child, uint32_t attempt, uint64_t delay_ns) {
    struct jzx__supers *supers = jzx__supers_of(child->super->loop);
    jzx__lock_acquire(&supers->lock); /* U2 */
    child->attempt = attempt;
    child->delay_ns = delay_ns;
    jzx__lock_release(&supers->lock);
}

/* False without memory. child is NULL for the plan's. */
static bool start_timer(struct jzx__super_turn *turn, struct jzx__child *child, uint32_t tag,
                        uint64_t delay_ns, jzx_timer_id *id) {
    const struct jzx__timer_spec spec = {.to = turn->super->id,
                                         .from = turn->super->id,
                                         .data = &child,
                                         .len = sizeof child,
                                         .tag = tag,
                                         .mode = JZX__TIMER_ONCE,
                                         .delay_ns = delay_ns};
    return jzx__timer_start(turn->own.turn, turn->own.me, &spec, id) == JZX_OK;
}

static void cancel_timer(struct jzx__super_turn *turn, jzx_timer_id *id) {
    if (*id != JZX_NO_TIMER)
        jzx__timer_cancel(turn->super->loop, turn->own.me, *id);
    *id = JZX_NO_TIMER;
}

static void request(struct jzx__super_turn *turn, struct jzx__child *child, uint32_t want) {
    /* If it is gone already, its notice is on its way (U1). */
    (void)jzx__actor_request(turn->super->loop, turn->own.me, child->id, want);
}

static void drop_mail(struct jzx__super_turn *turn, struct jzx__child *child) {
    jzx__message_bury_all(turn->super->loop, turn->own.me, &child->mail, child->last_id,
                          child->spec->name);
}

static void answer(struct jzx__super_turn *turn, struct jzx__child *child, jzx_err err) {
    struct jzx__message *message = child->answer;
    jzx_actor_id id = err == JZX_OK ? child->id : JZX_NOBODY;
    child->answer = NULL;
    if (err == JZX_ERR_EXISTS) /* of its registered name */
        (void)jzx_lookup(turn->super->loop, child->spec->registered, &id);
    jzx__command_answer(turn->super->loop, turn->own.me, message, turn->super->id, id, err);
}

/* It runs now. */
static void welcome(struct jzx__super_turn *turn, struct jzx__child *child) {
    child->is_new = false;
    jzx__tell_restart(turn, child);
    answer(turn, child, JZX_OK);
}

/* Removes a child that has no actor. */
static void forget(struct jzx__super_turn *turn, struct jzx__child *child) {
    struct jzx__super *super = turn->super;
    cancel_timer(turn, &child->timer);
    drop_mail(turn, child);
    jzx__tell_drop(super->loop, turn->own.me, child);
    jzx__depend_forget(child);
    jzx__lock_acquire(&jzx__supers_of(super->loop)->lock);
    jzx__list_remove(&child->link);
    super->child_count--;
    jzx__lock_release(&jzx__supers_of(super->loop)->lock);
    answer(turn, child, JZX_ERR_UNKNOWN); /* now: who has it finds the child gone */
    jzx__child_destroy(child);
}

/* ---- closing (U4) ---- */

static void close_with(struct jzx__super_turn *turn, struct jzx__stop_order order,
                       const char *text) {
    struct jzx__super *super = turn->super;
    if (super->closing)
        return;
    jzx__lock_acquire(&jzx__supers_of(super->loop)->lock);
    super->closing = true;
    jzx__lock_release(&jzx__supers_of(super->loop)->lock);
    super->end_reason = order.reason;
    super->at_once = order.at_once;
    snprintf(super->end_text, sizeof super->end_text, "%s", text);
    cancel_timer(turn, &super->plan_timer);
    super->stage = JZX__PLAN_STOP;
    super->from = 0;
    super->stop_at = super->children.ring.prev;
}

/* It cannot help itself any more: whoever supervises it may. */
static void give_up(struct jzx__super_turn *turn, const struct jzx__child *child,
                    const char *what) {
    struct jzx__super *super = turn->super;
    char text[JZX_EXIT_TEXT_MAX + 1];
    if (super->closing)
        return;
    /* The cause first: there may be more supervisors above, and a text has an end. */
    snprintf(text, sizeof text, "%.40s (child %s %s)",
             child->last_text[0] != '\0' ? child->last_text : jzx_exit_name(child->last_reason),
             jzx__child_name(child), what);
    close_with(turn, (struct jzx__stop_order){JZX_EXIT_FAIL, true}, text);
    super->escalates = true;
    jzx__log(&super->loop->sched.log, JZX_LOG_ERROR, "supervisor %u.%u%s%s gives up: %s",
             jzx_id_index(super->id), jzx_id_generation(super->id),
             super->spec->opts.name == NULL ? "" : " ",
             super->spec->opts.name == NULL ? "" : super->spec->opts.name, text);
    jzx_event event = {.kind = JZX_EVENT_SUPERVISOR_ESCALATE,
                       .actor = super->id,
                       .name = super->spec->opts.name,
                       .reason = child->last_reason,
                       .detail = text};
    jzx__loop_emit(super->loop, &event);
}

/* ---- failures ---- */

/* True if a failure makes no plan. */
static bool is_alone(const struct jzx__super *super) {
    return super->by_name || super->spec->opts.strategy == JZX_ONE_FOR_ONE ||
           super->spec->opts.strategy == JZX_DYNAMIC;
}

static void restart_alone(struct jzx__super_turn *turn, struct jzx__child *child);
static void retire(struct jzx__super_turn *turn, struct jzx__child *child);

/* The others that are concerned are stopped, and then all are started again. */
static void plan_restart(struct jzx__super_turn *turn, const struct jzx__child *child,
                         uint64_t delay_ns) {
    struct jzx__super *super = turn->super;
    uint64_t from = super->spec->opts.strategy == JZX_ONE_FOR_ALL ? 0 : child->number;
    /* While it starts, all before this child run already: they are no concern of the new plan. */
    if (super->stage == JZX__PLAN_NONE || super->stage == JZX__PLAN_START || from < super->from)
        super->from = from;
    cancel_timer(turn, &super->plan_timer);
    super->plan_delay_ns = delay_ns;
    super->stage = JZX__PLAN_STOP;
}

/* The state of a child that has ended by itself and is not started again. */
static jzx_child_state end_state(const struct jzx__child *child) {
    return child->last_reason == JZX_EXIT_NORMAL || child->last_reason == JZX_EXIT_SHUTDOWN
               ? JZX_CHILD_EXITED
               : JZX_CHILD_FAILED;
}

/* It is not started again, and its supervisor gives up. */
static void give_up_on(struct jzx__super_turn *turn, struct jzx__child *child, const char *what) {
    jzx__child_set(child, JZX_CHILD_FAILED, JZX_NOBODY);
    jzx__tell_exit(turn, child, false, 0);
    give_up(turn, child, what);
}

/* Notes a failure, and says how long the restart is to wait. */
static uint64_t note_failure(struct jzx__super *super, struct jzx__child *child,
                             uint64_t least_ns) {
    if (jzx__attempts_was_stable(child))
        set_attempt(child, 0, child->delay_ns);
    uint64_t delay_ns = jzx__attempts_delay_ns(super, child);
    if (delay_ns < least_ns)
        delay_ns = least_ns;
    set_attempt(child, child->attempt + 1, child->delay_ns);
    child->ran_from_ns = 0;
    return delay_ns;
}

static void await_restart(struct jzx__super_turn *turn, struct jzx__child *child,
                          uint64_t delay_ns) {
    bool alone = is_alone(turn->super);
    if (alone && delay_ns != 0 &&
        !start_timer(turn, child, JZX__TAG_CHILD_TIME, delay_ns, &child->timer)) {
        give_up_on(turn, child, "cannot be started again without memory");
        return;
    }
    set_attempt(child, child->attempt, delay_ns);
    jzx__child_set(child, JZX_CHILD_WAITING, JZX_NOBODY);
    jzx__tell_exit(turn, child, false, delay_ns);
    if (turn->super->by_name)
        jzx__depend_fail(child);
    if (!alone)
        plan_restart(turn, child, delay_ns);
    else if (delay_ns == 0)
        restart_alone(turn, child);
}

/* A child has ended that was to run, or could not be started: least_ns is how long to wait at
 * least. True if it is not started again: it may be gone then. */
static bool fail(struct jzx__super_turn *turn, struct jzx__child *child, uint64_t least_ns) {
    struct jzx__super *super = turn->super;
    bool is_service = child->spec->service;
    if (jzx__sched_stop_state(&super->loop->sched) != JZX__OPEN) {
        /* Nobody can be started any more, and that is nobody's failure. */
        jzx__child_set(child, end_state(child), JZX_NOBODY);
        jzx__tell_exit(turn, child, false, 0);
        close_with(turn, (struct jzx__stop_order){JZX_EXIT_SHUTDOWN, false}, JZX_SHUTDOWN_TEXT);
        return false;
    }
    if (!super->has_started && !child->has_run && !is_service) {
        give_up_on(turn, child, "did not start");
        return false;
    }
    uint64_t delay_ns = note_failure(super, child, least_ns);
    if (jzx__attempts_are_over(child)) {
        jzx__child_set(child, JZX_CHILD_FAILED, JZX_NOBODY);
        retire(turn, child);
        return true;
    }
    if (!is_service && jzx__attempts_too_many(super))
        give_up_on(turn, child, "failed too often");
    else
        await_restart(turn, child, delay_ns);
    return false;
}

/* ---- starting ---- */

/* A restart that has happened, for those who watch. */
static void tell_restart(struct jzx__super_turn *turn, struct jzx__child *child) {
    struct jzx__super *super = turn->super;
    jzx__lock_acquire(&jzx__supers_of(super->loop)->lock); /* U2 */
    child->restarts++;
    super->restarts++;
    jzx__lock_release(&jzx__supers_of(super->loop)->lock);
    jzx__log(&super->loop->sched.log, JZX_LOG_INFO,
             "supervisor %u.%u starts %s again as %u.%u: attempt %u after %llu ms, was %s%s%s",
             jzx_id_index(super->id), jzx_id_generation(super->id), jzx__child_name(child),
             jzx_id_index(child->id), jzx_id_generation(child->id), child->attempt,
             (unsigned long long)(child->delay_ns / 1000000u), jzx_exit_name(child->last_reason),
             child->last_text[0] == '\0' ? "" : " ", child->last_text);
    jzx_event event = {.kind = JZX_EVENT_ACTOR_RESTART,
                       .actor = child->id,
                       .name = child->spec->name,
                       .reason = child->last_reason,
                       .attempt = child->attempt,
                       .elapsed_ns = child->delay_ns,
                       .detail = child->last_text};
    jzx__loop_emit(super->loop, &event);
}

enum jzx__start_result jzx__supervise_start(struct jzx__super_turn *turn,
                                            struct jzx__child *child) {
    bool again = child->last_id != JZX_NOBODY;
    cancel_timer(turn, &child->timer);
    jzx_err err = jzx__child_start(turn, child);
    if (err != JZX_OK) {
        set_end(child, JZX_EXIT_FAIL, jzx_err_name(err));
        if (child->is_new) {
            answer(turn, child, err);
            forget(turn, child);
            return JZX__START_GONE;
        }
        return fail(turn, child, RETRY_NS) ? JZX__START_GONE : JZX__START_FAILED;
    }
    uint64_t start_ns = child->spec->start_ns;
    if (child->state == JZX_CHILD_STARTING && start_ns != JZX_NEVER)
        (void)start_timer(turn, child, JZX__TAG_CHILD_TIME, start_ns, &child->timer);
    if (again)
        tell_restart(turn, child);
    if (child->name_err != JZX_OK)
        answer(turn, child, child->name_err);
    else if (child->state == JZX_CHILD_RUNNING)
        welcome(turn, child);
    return JZX__STARTED;
}

static void restart_alone(struct jzx__super_turn *turn, struct jzx__child *child) {
    if (turn->super->closing)
        return;
    if (!turn->super->by_name) {
        (void)jzx__supervise_start(turn, child);
        return;
    }
    cancel_timer(turn, &child->timer); /* it starts when it can: see depend.h */
    if (child->state != JZX_CHILD_UNKNOWN)
        jzx__child_set(child, JZX_CHILD_WAITING, JZX_NOBODY);
}

/* ---- the plan ---- */

void jzx__supervise_stop(struct jzx__super_turn *turn, struct jzx__child *child, bool at_once) {
    uint64_t shutdown_ns = child->spec->shutdown_ns;
    at_once = at_once || child->spec->stop_at_once;
    cancel_timer(turn, &child->timer);
    jzx__child_set(child, JZX_CHILD_STOPPING, child->id);
    request(turn, child,
            shutdown_ns == JZX_NONE ? JZX__WANT_KILL
            : at_once               ? JZX__WANT_SHUTDOWN
                                    : JZX__WANT_FINISH);
    if (shutdown_ns != JZX_NONE && shutdown_ns != JZX_NEVER &&
        !start_timer(turn, child, JZX__TAG_CHILD_TIME, shutdown_ns, &child->timer))
        request(turn, child, JZX__WANT_KILL);
}

void jzx__supervise_abandon(struct jzx__super_turn *turn, struct jzx__child *child) {
    cancel_timer(turn, &child->timer);
    drop_mail(turn, child);
    answer(turn, child, JZX_ERR_LOOP_CLOSED);
    if (child->state == JZX_CHILD_WAITING)
        jzx__child_set(child, JZX_CHILD_STOPPED, JZX_NOBODY);
}

/* Stops the last child of the plan, which began with a failure, that has an actor. True if none has
 * one. */
static bool stop_next(struct jzx__super_turn *turn) {
    const struct jzx__super *super = turn->super;
    struct jzx__link *ring = &turn->super->children.ring;
    for (struct jzx__link *link = ring->prev; link != ring; link = link->prev) {
        struct jzx__child *child = jzx__child_of(link);
        if (child->number < super->from)
            break;
        if (!jzx__child_has_actor(child))
            continue;
        if (child->state != JZX_CHILD_STOPPING)
            jzx__supervise_stop(turn, child, true);
        return false;
    }
    return true;
}

/* The same for all, when it closes: one after the other, or at once if they do not depend on each
 * other. Goes on where it was, so that the ends of many cost a step each. */
static bool stop_rest(struct jzx__super_turn *turn) {
    struct jzx__super *super = turn->super;
    bool at_once = super->spec->opts.strategy == JZX_DYNAMIC;
    for (; super->stop_at != &super->children.ring; super->stop_at = super->stop_at->prev) {
        struct jzx__child *child = jzx__child_of(super->stop_at);
        if (!jzx__child_has_actor(child)) {
            jzx__supervise_abandon(turn, child);
            continue;
        }
        if (child->state != JZX_CHILD_STOPPING)
            jzx__supervise_stop(turn, child, super->at_once);
        if (!at_once)
            return false;
    }
    return super->actor_count == 0;
}

/* The first child of the plan (U3), or the ring. Mostly it is one of the last. */
static struct jzx__link *first_of_plan(struct jzx__super *super) {
    struct jzx__link *ring = &super->children.ring;
    struct jzx__link *link = ring;
    while (link->prev != ring && jzx__child_of(link->prev)->number >= super->from)
        link = link->prev;
    return link;
}

static bool waits_by_itself(const struct jzx__child *child) {
    return child->state == JZX_CHILD_WAITING && child->timer != JZX_NO_TIMER;
}

/* Starts the first child of the plan that is to run. True if all do. */
static bool start_next(struct jzx__super_turn *turn) {
    struct jzx__super *super = turn->super;
    struct jzx__link *ring = &super->children.ring;
    struct jzx__link *next;
    for (struct jzx__link *link = first_of_plan(super); link != ring; link = next) {
        struct jzx__child *child = jzx__child_of(link);
        next = link->next;
        if (!child->wanted)
            continue;
        if (waits_by_itself(child)) {
            if (child->spec->service && !child->has_run)
                return false; /* those behind it may depend on it */
            continue;         /* it has run before */
        }
        enum jzx__start_result result =
            jzx__child_has_actor(child) ? JZX__STARTED : jzx__supervise_start(turn, child);
        if (result == JZX__START_GONE && super->stage == JZX__PLAN_START)
            continue; /* the plan goes on without it */
        if (result != JZX__STARTED)
            return false;
        if (child->state == JZX_CHILD_STARTING || child->state == JZX_CHILD_STOPPING)
            return false;
    }
    return true;
}

void jzx__supervise_end_plan(struct jzx__super_turn *turn) {
    struct jzx__super *super = turn->super;
    super->stage = JZX__PLAN_NONE;
    if (!super->has_started) {
        super->has_started = true;
        jzx__actor_tell_started(super->loop, turn->own.me, turn->own.turn->actor);
    }
}

/* As many steps as can be done now. */
static void progress(struct jzx__super_turn *turn) {
    struct jzx__super *super = turn->super;
    if (super->by_name) {
        super->stage = JZX__PLAN_NONE;
        jzx__depend_progress(turn);
        return;
    }
    for (;;) {
        switch (super->stage) {
        case JZX__PLAN_NONE:
        case JZX__PLAN_DELAY: return;
        case JZX__PLAN_STOP:
            if (super->closing)
                turn->over = stop_rest(turn);
            if (super->closing || !stop_next(turn))
                return;
            super->stage = JZX__PLAN_START;
            if (super->plan_delay_ns != 0 && start_timer(turn, NULL, JZX__TAG_PLAN_TIME,
                                                         super->plan_delay_ns, &super->plan_timer))
                super->stage = JZX__PLAN_DELAY;
            break;
        case JZX__PLAN_START:
            if (start_next(turn))
                jzx__supervise_end_plan(turn);
            else if (super->stage == JZX__PLAN_START)
                return; /* one is starting; else it has failed, and there is another plan */
            break;
        }
    }
}

/* ---- events ---- */

static bool is_failure(const struct jzx__child *child) {
    switch (child->spec->mode) {
    case JZX_PERMANENT: return true;
    case JZX_TRANSIENT:
        return child->last_reason != JZX_EXIT_NORMAL && child->last_reason != JZX_EXIT_SHUTDOWN;
    case JZX_TEMPORARY: break;
    }
    return false;
}

/* True if it is not kept when it has ended and is not started again. */
static bool is_forgettable(const struct jzx__child *child) {
    return child->super->spec->opts.strategy == JZX_DYNAMIC || child->spec->mode == JZX_TEMPORARY;
}

/* A child has ended by itself that is not started again, and has the state of that. */
static void retire(struct jzx__super_turn *turn, struct jzx__child *child) {
    struct jzx__super *super = turn->super;
    jzx_auto_shutdown rule = super->spec->opts.auto_shutdown;
    bool significant = child->spec->significant && rule != JZX_AUTO_SHUTDOWN_NEVER;
    child->wanted = false;
    drop_mail(turn, child);
    jzx__tell_exit(turn, child, false, 0);
    if (is_forgettable(child))
        forget(turn, child);
    if (!significant)
        return;
    struct jzx__link *ring = &super->children.ring;
    for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
        const struct jzx__child *other = jzx__child_of(link);
        if (rule == JZX_AUTO_SHUTDOWN_ALL && other->spec->significant && other->wanted)
            return;
    }
    close_with(turn, (struct jzx__stop_order){JZX_EXIT_SHUTDOWN, false},
               "its significant children have ended");
}

/* The supervisor had asked for it, or would have. */
static void has_stopped(struct jzx__super_turn *turn, struct jzx__child *child, bool was_asked) {
    bool by_hand = child->by_hand;
    child->by_hand = false;
    child->wanted = child->wanted || by_hand;
    bool is_over = !by_hand && (child->spec->mode == JZX_TEMPORARY || !child->wanted);
    if (!is_over)
        jzx__child_set(child, JZX_CHILD_WAITING, JZX_NOBODY);
    jzx__tell_exit(turn, child, was_asked, 0);
    if (!is_over) {
        if (by_hand && (turn->super->stage == JZX__PLAN_NONE || child->number < turn->super->from))
            restart_alone(turn, child);
    } else if (is_forgettable(child)) {
        forget(turn, child); /* it has not ended by itself: see auto_shutdown */
    } else {
        drop_mail(turn, child);
    }
}

static void on_child_exit(struct jzx__super_turn *turn, struct jzx__watch *watch) {
    struct jzx__child *child = watch->child;
    const jzx_exit_notice *notice = jzx__watch_notice(watch);
    const struct jzx__super *super = turn->super;
    bool was_asked = child->state == JZX_CHILD_STOPPING;
    bool was_starting = child->state == JZX_CHILD_STARTING;
    bool is_next =
        child->is_down || (super->stage == JZX__PLAN_STOP && child->number >= super->from);
    JZX_ASSERT(jzx__child_has_actor(child) && child->id == notice->actor); /* U1 */
    cancel_timer(turn, &child->timer);
    child->is_down = false;
    child->last_id = child->id;
    set_end(child, notice->reason,
            notice->text[0] == '\0' && child->trouble != NULL ? child->trouble : notice->text);
    child->trouble = NULL;
    child->mail = watch->kept;
    watch->kept = NULL;
    jzx__child_set(child, was_asked ? JZX_CHILD_STOPPED : end_state(child), JZX_NOBODY);
    if (super->closing || child->forgotten || child->is_new)
        jzx__tell_exit(turn, child, was_asked, 0);
    if (super->closing)
        drop_mail(turn, child);
    else if (child->forgotten || child->is_new)
        forget(turn, child);
    else if (was_asked || (is_next && is_failure(child))) /* one failure has brought both down */
        has_stopped(turn, child, was_asked);
    else if (is_failure(child)) /* a tree below that could not start may want memory or slots */
        (void)fail(turn, child, was_starting && child->spec->supervisor != NULL ? RETRY_NS : 0);
    else
        retire(turn, child);
}

static void on_started(struct jzx__super_turn *turn, struct jzx__child *child,
                       jzx_actor_id sender) {
    if (child->id != sender || child->state != JZX_CHILD_STARTING || child->trouble != NULL)
        return; /* it is being stopped, or its init was too late: it does not count as started */
    cancel_timer(turn, &child->timer);
    jzx__child_set(child, JZX_CHILD_RUNNING, child->id);
    child->ran_from_ns = jzx_loop_now(turn->super->loop) + 1;
    child->has_run = true;
    welcome(turn, child);
}

static void on_child_time(struct jzx__super_turn *turn, struct jzx__child *child) {
    child->timer = JZX_NO_TIMER;
    switch (child->state) {
    case JZX_CHILD_STARTING:
        child->trouble = "its init took too long";
        request(turn, child, JZX__WANT_KILL);
        break;
    case JZX_CHILD_STOPPING: request(turn, child, JZX__WANT_KILL); break;
    case JZX_CHILD_WAITING: restart_alone(turn, child); break;
    case JZX_CHILD_UNKNOWN:
    case JZX_CHILD_RUNNING:
    case JZX_CHILD_STOPPED:
    case JZX_CHILD_EXITED:
    case JZX_CHILD_FAILED: break;
    }
}

static struct jzx__child *child_named(const struct jzx__super *super, const char *name) {
    const struct jzx__link *ring = &super->children.ring;
    for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
        struct jzx__child *child = jzx__child_of(link);
        if (jzx__child_is_named(child, name))
            return child;
    }
    return NULL;
}

static void on_add(struct jzx__super_turn *turn, struct jzx__command *command) {
    struct jzx__super *super = turn->super;
    const jzx_child_spec *spec = &command->spec->children[0];
    struct jzx__message *message = command->answer;
    const struct jzx__child *other = spec->name == NULL ? NULL : child_named(super, spec->name);
    struct jzx__child *child = NULL;
    jzx_err err = JZX_OK;
    command->answer = NULL;
    if (super->closing)
        err = JZX_ERR_LOOP_CLOSED;
    else if (other != NULL)
        err = JZX_ERR_EXISTS;
    else if ((child = jzx__child_create(super, spec)) == NULL)
        err = JZX_ERR_NO_MEMORY;
    if (child == NULL) {
        jzx__command_answer(super->loop, turn->own.me, message, super->id,
                            err == JZX_ERR_EXISTS ? other->id : JZX_NOBODY, err);
        return;
    }
    child->own_spec = command->spec;
    command->spec = NULL;
    child->answer = message;
    child->is_new = true;
    if (super->by_name) {
        err = jzx__depend_link(child);
        err = err == JZX_OK ? jzx__depend_adopt(child) : err;
    }
    if (err != JZX_OK) {
        answer(turn, child, err);
        forget(turn, child);
        return;
    }
    if (super->by_name || super->stage != JZX__PLAN_NONE)
        return; /* the plan comes to it */
    if (super->spec->opts.strategy == JZX_DYNAMIC) {
        (void)jzx__supervise_start(turn, child);
        return;
    }
    super->from = child->number; /* those that are added next wait for its init */
    super->stage = JZX__PLAN_START;
}

static void on_remove(struct jzx__super_turn *turn, struct jzx__child *child) {
    child->wanted = false;
    child->by_hand = false;
    if (!jzx__child_has_actor(child)) {
        forget(turn, child);
        return;
    }
    jzx__lock_acquire(&jzx__supers_of(turn->super->loop)->lock);
    child->forgotten = true;
    jzx__lock_release(&jzx__supers_of(turn->super->loop)->lock);
    if (child->state != JZX_CHILD_STOPPING)
        jzx__supervise_stop(turn, child, false);
}

static void on_stop(struct jzx__super_turn *turn, struct jzx__child *child) {
    child->wanted = false;
    child->by_hand = false;
    if (jzx__child_has_actor(child)) {
        if (child->state != JZX_CHILD_STOPPING)
            jzx__supervise_stop(turn, child, false);
        return;
    }
    if (child->is_new || is_forgettable(child)) {
        forget(turn, child);
        return;
    }
    cancel_timer(turn, &child->timer);
    drop_mail(turn, child);
    if (child->state == JZX_CHILD_WAITING || child->state == JZX_CHILD_UNKNOWN)
        jzx__child_set(child, JZX_CHILD_STOPPED, JZX_NOBODY);
}

/* True if the plan is going to start it. */
static bool is_planned(const struct jzx__super *super, const struct jzx__child *child) {
    if (super->stage == JZX__PLAN_NONE || child->number < super->from)
        return false;
    bool is_past = child->state == JZX_CHILD_RUNNING || waits_by_itself(child);
    return super->stage != JZX__PLAN_START || !is_past;
}

static void on_restart(struct jzx__super_turn *turn, struct jzx__child *child) {
    child->by_hand = child->by_hand || (child->state == JZX_CHILD_STOPPING && !child->wanted);
    child->wanted = true;
    if (is_planned(turn->super, child) || child->state == JZX_CHILD_STOPPING ||
        child->state == JZX_CHILD_STARTING)
        return; /* it is being started anyway */
    set_attempt(child, 0, 0);
    if (jzx__child_has_actor(child)) {
        child->by_hand = true;
        jzx__supervise_stop(turn, child,
                            child->spec->keep_mailbox); /* then its successor has the queue */
    } else {
        restart_alone(turn, child);
    }
}

static void on_command(struct jzx__super_turn *turn, struct jzx__command *command) {
    if (command->kind == JZX__COMMAND_ADD) {
        on_add(turn, command);
        return;
    }
    struct jzx__child *child = child_named(turn->super, command->name);
    if (child == NULL || turn->super->closing)
        return;
    if (command->kind == JZX__COMMAND_REMOVE)
        on_remove(turn, child);
    else if (command->kind == JZX__COMMAND_STOP)
        on_stop(turn, child);
    else
        on_restart(turn, child);
}

static void on_message(struct jzx__super_turn *turn, const jzx_message *msg) {
    struct jzx__child *child = NULL;
    struct jzx__stop_order order;
    switch (msg->tag) {
    case JZX__TAG_CHILD_ENDED: on_child_exit(turn, (void *)turn->own.turn->current); break;
    case JZX__TAG_CHILD_STARTED:
        memcpy(&child, (const char *)msg->data + sizeof(jzx_actor_id), sizeof child);
        on_started(turn, child, msg->sender);
        break;
    case JZX__TAG_CHILD_TIME:
        memcpy(&child, msg->data, sizeof child);
        on_child_time(turn, child);
        break;
    case JZX__TAG_PLAN_TIME:
        turn->super->plan_timer = JZX_NO_TIMER;
        turn->super->stage = JZX__PLAN_START;
        break;
    case JZX__TAG_SUPER_STOP:
        memcpy(&order, msg->data, sizeof order);
        close_with(turn, order, "");
        break;
    case JZX__TAG_COMMAND: on_command(turn, msg->data); break;
    default:
        break; /* nobody has anything to tell a supervisor; the end of a linked actor neither */
    }
}

/* Everything happens inside the bracket, where no worker is lost. */
static void handle(jzx_context *ctx, const jzx_message *msg) {
    struct jzx__super *super = ctx->state;
    struct jzx__super_turn turn = {.super = super};
    bool is_own = jzx__own_begin(&turn.own, ctx);
    JZX_ASSERT(is_own);
    if (msg == NULL)
        super->stage = JZX__PLAN_START;
    else
        on_message(&turn, msg);
    progress(&turn);
    jzx__own_end(&turn.own);
    if (!turn.over)
        return;
    if (super->is_top && super->escalates) {
        /* relaxed: read after the stop was seen */
        jzx__atomic_store_relaxed(&jzx__supers_of(super->loop)->escalated, 1u);
        jzx__sched_close(&super->loop->sched);
    }
    jzx_exit(ctx, super->end_reason, super->end_text);
}

jzx_behavior_result jzx__supervise(jzx_context *ctx, const jzx_message *msg) {
    handle(ctx, msg);
    return JZX_BEHAVIOR_OK;
}

jzx_err jzx__super_init(jzx_context *ctx) {
    handle(ctx, NULL);
    return JZX_OK;
}
