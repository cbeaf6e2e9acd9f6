/* SPDX-License-Identifier: MIT */
/* The turn of a fiber: its stack, the switch to it and back, and what became of its wish. */
#include "fiber/fiber.h"

#include "actor/exit.h"
#include "actor/mailbox.h"
#include "actor/pin.h"
#include "actor/turn.h"
#include "actor/waitless.h"
#include "base/switch.h"
#include "fiber/receive.h"
#include "fiber/stacks.h"
#include "sched/balance.h"
#include "timer/timer.h"

#include <stdlib.h>
#include <string.h>

/* ---- on the fiber's stack ---- */

JZX_ACROSS_WAIT struct jzx__seat *jzx__fiber_seat(void) {
    return jzx__seat_of_thread;
}

bool jzx__fiber_may_wait(const jzx_context *ctx) {
    return jzx__fiber_is_own(jzx__fiber_seat(), ctx);
}

jzx_err jzx__fiber_refuse(const jzx_context *ctx, const char *call) {
    return ctx == NULL ? JZX_ERR_INVALID_ARG : jzx__waitless_refuse(ctx->loop, call);
}

/* The wait is over before it was suspended. False if it is not, or others are to run first. */
static bool was_there(struct jzx__fiber *fiber) {
    if (jzx__waiter_cause(&fiber->waiter) == 0 || !jzx__fiber_goes_on(fiber))
        return false;
    fiber->waits = false;
    fiber->cause = jzx__waiter_end(&fiber->waiter);
    return true;
}

uint32_t jzx__fiber_await(struct jzx__fiber *fiber, const struct jzx__event *event,
                          uint64_t deadline_ns) {
    do {
        jzx__waiter_begin(&fiber->waiter, (struct jzx__wait_what){.kind = "event"});
        fiber->waits = true;
        if (!jzx__mortal_is_doomed(&fiber->mortal)) /* else it does not come back */
            jzx__waiter_join(&fiber->waiter, event->links, event->count, jzx__fiber_worker(fiber));
        if (was_there(fiber))
            continue;
        fiber->event = event;
        uint64_t limit_ns = fiber->limit_ns;
        fiber->limit_ns = event->is_firm ? JZX_NEVER : limit_ns;
        (void)jzx__fiber_wait(fiber, JZX__WISH_EVENT, deadline_ns);
        fiber->limit_ns = limit_ns;
    } while (jzx__cause_kind(fiber->cause) == JZX__CAUSE_AGAIN);
    return fiber->cause;
}

uint32_t jzx__fiber_await_queued(struct jzx__fiber *fiber, const struct jzx__event *event,
                                 uint64_t deadline_ns) {
    JZX_ASSERT(!event->is_firm);
    fiber->waits = true;
    if (was_there(fiber))
        return fiber->cause;
    fiber->event = event;
    (void)jzx__fiber_wait(fiber, JZX__WISH_EVENT, deadline_ns);
    return fiber->cause;
}

/* Leaves the stack for ever; turn says whether by jzx_exit. */
static _Noreturn void depart(struct jzx__fiber *fiber) {
    fiber->wish = JZX__WISH_END;
    jzx__switch_before_last(&fiber->side, &fiber->thread_side);
    jzx__switch(&fiber->point, fiber->thread_point, NULL);
    abort(); /* nobody resumes it */
}

/* jzx_exit was called. */
static void exit_turn(struct jzx__turn *turn) {
    struct jzx__fiber *fiber = jzx__fiber_of_turn(turn);
    fiber->is_lost = jzx__seat_enter(turn->seat) != fiber->worker;
    depart(fiber);
}

/* The first function on the stack. */
static void begin(void *arg) {
    struct jzx__fiber *fiber = arg;
    jzx__switch_after(&fiber->side, &fiber->thread_side);
    jzx_fiber_fn fn = (jzx_fiber_fn)fiber->turn.actor->task.entry;
    jzx__seat_leave(fiber->turn.seat, 0);
    fn(&fiber->turn.ctx);
    fiber->is_lost = jzx__seat_enter(jzx__fiber_seat()) != fiber->worker;
    depart(fiber);
}

/* ---- making one ---- */

#define RECORD_SIZE                                                                                \
    ((sizeof(struct jzx__fiber) + JZX_CACHE_LINE - 1) / JZX_CACHE_LINE * JZX_CACHE_LINE)

/* A stack of the size that the spawn asked for. NULL: the actor has ended. */
static struct jzx__stack *take_stack(struct jzx__worker *me, struct jzx__actor *actor) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__stack *stack;
    enum jzx__stack_status status =
        jzx__stack_take(&jzx__fibers_of(me)->stacks, cold->stack_size_bytes, &stack);
    if (JZX_LIKELY(status == JZX__STACK_OK))
        return stack;
    jzx__actor_end(me, actor, JZX_EXIT_FAIL, jzx__stack_status_text(status));
    return NULL;
}

/* The record at the upper end of a stack. NULL: the actor has ended. */
static struct jzx__fiber *create(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__stack *stack = take_stack(me, actor);
    if (stack == NULL)
        return NULL;
    struct jzx__fiber *fiber = (void *)(stack->top - RECORD_SIZE);
    size_t size = (size_t)((unsigned char *)fiber - stack->base);
    memset(fiber, 0, sizeof *fiber);
    fiber->stack = stack;
    fiber->limit_ns = JZX_NEVER;
    if (!cold->is_migratable && actor->task.bound == JZX__FREE)
        actor->task.bound = JZX__BOUND_WORKER; /* V4 */
    fiber->turn.kind = &jzx__kind_fiber;
    fiber->turn.actor = actor;
    fiber->turn.ctx = (jzx_context){actor->task.arg, jzx__actor_id(actor), jzx__loop_of(me)};
    fiber->turn.limit = (uintptr_t)fiber;
    jzx__waiter_init(&fiber->waiter, jzx__wake_task, &actor->task);
    jzx__mortal_init(&fiber->mortal, &actor->task, jzx_id_generation(fiber->turn.ctx.self),
                     jzx__actor_fatal(actor));
    jzx__switch_side_init(&fiber->side, stack->base, size);
    fiber->point = jzx__switch_prepare(stack->base, size, begin);
    jzx__cold_set_part(cold, JZX__PART_FIBER, fiber);
    return fiber;
}

/* ---- its wish, on the thread's stack ---- */

jzx_wait_kind jzx__fiber_wait_kind(const struct jzx__fiber *fiber) {
    if (fiber->wish == JZX__WISH_EVENT)
        return fiber->event->kind;
    static const jzx_wait_kind kinds[] = {
        [JZX__FILTER_NONE] = JZX_WAIT_TIME,   [JZX__FILTER_ANY] = JZX_WAIT_MESSAGE,
        [JZX__FILTER_TAG] = JZX_WAIT_TAG,     [JZX__FILTER_SENDER] = JZX_WAIT_SENDER,
        [JZX__FILTER_MATCH] = JZX_WAIT_MATCH, [JZX__FILTER_CALL] = JZX_WAIT_ANSWER,
        [JZX__FILTER_JOIN] = JZX_WAIT_EXIT,
    };
    return kinds[fiber->wish == JZX__WISH_TIME ? JZX__FILTER_NONE : fiber->filter->kind];
}

/* True if it waits for one actor, if for any. */
static bool has_holder(const struct jzx__fiber *fiber) {
    return fiber->wish == JZX__WISH_EVENT
               ? fiber->event->holder != NULL
               : fiber->wish == JZX__WISH_MESSAGE && fiber->filter->kind >= JZX__FILTER_CALL;
}

jzx_actor_id jzx__fiber_holder(const struct jzx__fiber *fiber) {
    if (!has_holder(fiber))
        return JZX_NOBODY;
    return fiber->wish == JZX__WISH_EVENT ? fiber->event->holder(fiber->event->object)
                                          : fiber->filter->object;
}

void jzx__fiber_show_holder(const struct jzx__fiber *fiber, jzx_actor_id holder) {
    /* relaxed: a picture of the moment */
    jzx__atomic_store_relaxed(&jzx__actor_cold(fiber->turn.actor)->wait_holder, holder);
}

/* For dumps, of any thread: they look at the id afterwards. */
static void show_wait(struct jzx__worker *me, struct jzx__fiber *fiber) {
    struct jzx__cold *cold = jzx__actor_cold(fiber->turn.actor);
    if (fiber->is_shown)
        return;
    jzx_wait_kind kind = jzx__fiber_wait_kind(fiber);
    uint64_t object = fiber->wish == JZX__WISH_EVENT  ? fiber->event->object
                      : fiber->wish == JZX__WISH_TIME ? fiber->deadline_ns
                                                      : fiber->filter->object;
    /* relaxed, all: a picture of the moment */
    jzx__atomic_store_relaxed(&cold->wait_object, object);
    jzx__atomic_store_relaxed(&cold->wait_since_ns, jzx__worker_last_tick(me));
    jzx__fiber_show_holder(fiber, jzx__fiber_holder(fiber));
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&cold->wait_kind, (uint32_t)kind);
    fiber->is_shown = true;
    if (has_holder(fiber))
        jzx__deadlock_begin(me, fiber);
}

static void hide_wait(struct jzx__fiber *fiber) {
    if (!fiber->is_shown)
        return;
    fiber->is_shown = false;
    jzx__deadlock_end(fiber);
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&jzx__actor_cold(fiber->turn.actor)->wait_kind,
                              (uint32_t)JZX_WAIT_NONE);
}

/* What is to be done with the fiber. */
enum next { GO, /* it is resumed */ IDLE, /* or idles, was requeued, or has ended */ AGAIN };

/* The deadline goes onto the worker's wheel, and a claim wakes from now on. False if there is one
 * already. */
static bool arm(struct jzx__worker *me, struct jzx__fiber *fiber) {
    if (fiber->armed || (!fiber->waits && fiber->deadline_ns == JZX_NEVER))
        return true;
    if (!fiber->waits)
        jzx__waiter_begin(&fiber->waiter, (struct jzx__wait_what){.kind = "time"});
    fiber->waits = true;
    fiber->armed = true;
    if (fiber->deadline_ns != JZX_NEVER) {
        jzx__timers_set_deadline(me, &fiber->waiter, fiber->deadline_ns);
        fiber->is_pinned = true;
        jzx__actor_pin(fiber->turn.actor); /* V5 */
    }
    return jzx__waiter_arm(&fiber->waiter) == JZX__ARM_SUSPEND;
}

/* It waits no more: kind says why, unless a source was faster. */
static void disarm(struct jzx__fiber *fiber, enum jzx__cause_kind kind) {
    if (!fiber->waits)
        return;
    (void)jzx__waiter_withdraw(&fiber->waiter, kind);
    fiber->cause = kind == JZX__CAUSE_KILLED ? jzx__waiter_end_killed(&fiber->waiter)
                                             : jzx__waiter_end(&fiber->waiter);
    fiber->waits = false;
    fiber->armed = false;
    if (fiber->is_pinned)
        jzx__actor_unpin(fiber->turn.actor);
    fiber->is_pinned = false;
}

static enum next fulfil(struct jzx__fiber *fiber, jzx_err result) {
    disarm(fiber, JZX__CAUSE_CANCELLED);
    hide_wait(fiber);
    fiber->wish = JZX__WISH_RUN;
    fiber->result = result;
    return GO;
}

/* Nothing was armed or shown. */
static void fulfil_yield(struct jzx__fiber *fiber) {
    fiber->wish = JZX__WISH_RUN;
    fiber->result = JZX_OK;
}

/* It goes on in its next turn. */
static enum next requeue(struct jzx__worker *me, struct jzx__fiber *fiber) {
    jzx__worker_requeue_any(me, &fiber->turn.actor->task);
    return IDLE;
}

/* True if time has come to the deadline. */
static bool is_over(const struct jzx__fiber *fiber) {
    uint64_t deadline_ns = fiber->deadline_ns;
    if (fiber->armed)
        return jzx__waiter_cause(&fiber->waiter) != 0;
    return deadline_ns != JZX_NEVER &&
           (deadline_ns == 0 || deadline_ns <= jzx__clock_now(&fiber->turn.ctx.loop->sched.clock));
}

/* Nothing has come. */
static enum next go_idle(struct jzx__worker *me, struct jzx__fiber *fiber) {
    struct jzx__task *task = &fiber->turn.actor->task;
    if (!arm(me, fiber))
        return AGAIN;
    show_wait(me, fiber);
    uint64_t word = jzx__task_inbox(task);
    return jzx__inbox_list(word) == NULL && jzx__task_go_idle(task, word) ? IDLE : AGAIN;
}

/* A deadline has passed. Who only looks, and goes on looking, has turns as others have. */
static enum next time_out(struct jzx__worker *me, struct jzx__fiber *fiber) {
    fulfil(fiber, JZX_ERR_TIMEOUT);
    if (me->budget.left <= 1)
        return requeue(me, fiber);
    me->budget.left--;
    return GO;
}

static bool is_receive(const struct jzx__fiber *fiber) {
    return fiber->filter->kind <= JZX__FILTER_MATCH;
}

/* It drains, and what it waits for will not come. */
static enum next give_up(struct jzx__worker *me, struct jzx__fiber *fiber) {
    if (!is_receive(fiber))
        return fulfil(fiber, JZX_ERR_CANCELLED);
    bool finishes = (fiber->turn.actor->task.care & JZX__CARE_FINISH) != 0;
    jzx__actor_end(me, fiber->turn.actor, finishes ? JZX_EXIT_SHUTDOWN : JZX_EXIT_NORMAL, NULL);
    return IDLE;
}

/* What has come; nothing, if the fiber has just looked itself. */
static enum jzx__scan look_at_mail(struct jzx__worker *me, struct jzx__fiber *fiber) {
    bool has_looked = fiber->has_looked;
    fiber->has_looked = false;
    if (has_looked && jzx__inbox_list(jzx__task_inbox(&fiber->turn.actor->task)) == NULL)
        return JZX__SCAN_NONE;
    return fiber->filter->kind == JZX__FILTER_MATCH ? jzx__fiber_judge(me, fiber)
                                                    : jzx__fiber_scan(me, fiber, true);
}

static enum next look_for_message(struct jzx__worker *me, struct jzx__fiber *fiber) {
    bool by_predicate = fiber->filter->kind == JZX__FILTER_MATCH;
    if (is_receive(fiber)) /* also if it is gone: that it was handled is not noted yet */
        jzx__fiber_drop_current(me, fiber);
    switch (look_at_mail(me, fiber)) {
    case JZX__SCAN_FOUND: return fulfil(fiber, JZX_OK);
    case JZX__SCAN_SPENT: return requeue(me, fiber);
    case JZX__SCAN_STOP: return AGAIN;
    case JZX__SCAN_ENDED: return IDLE;
    case JZX__SCAN_NONE: break;
    }
    if (by_predicate && jzx__fiber_has_unmatched(fiber))
        return me->budget.left <= 1 ? requeue(me, fiber) : fulfil(fiber, JZX__FIBER_LOOK);
    if (is_over(fiber))
        return time_out(me, fiber);
    if (fiber->turn.actor->task.care & JZX__CARE_DRAIN)
        return give_up(me, fiber);
    return go_idle(me, fiber);
}

static enum next look_at_time(struct jzx__worker *me, struct jzx__fiber *fiber) {
    switch (jzx__fiber_judge(me, fiber)) {
    case JZX__SCAN_ENDED: return IDLE;
    case JZX__SCAN_STOP: return AGAIN;
    default: break;
    }
    if (!is_over(fiber))
        return go_idle(me, fiber);
    bool has_waited = fiber->armed;
    fulfil(fiber, JZX_OK);
    return has_waited ? GO : requeue(me, fiber);
}

/* A source has claimed the wait, or nothing will any more: the party itself does, then. */
static enum next look_at_event(struct jzx__worker *me, struct jzx__fiber *fiber) {
    switch (jzx__fiber_judge(me, fiber)) {
    case JZX__SCAN_ENDED: return IDLE;
    case JZX__SCAN_STOP: return AGAIN;
    default: break;
    }
    if (jzx__waiter_cause(&fiber->waiter) == 0) {
        if (!fiber->armed && is_over(fiber))
            (void)jzx__waiter_withdraw(&fiber->waiter, JZX__CAUSE_TIMEOUT);
        else if ((fiber->turn.actor->task.care & JZX__CARE_DRAIN) && !fiber->event->is_firm)
            (void)jzx__waiter_withdraw(&fiber->waiter, JZX__CAUSE_CANCELLED);
        else
            return go_idle(me, fiber);
    }
    if (me->budget.left <= 1)
        return requeue(me, fiber); /* the wait stays claimed: what it brought can be given back */
    me->budget.left--;
    return fulfil(fiber, JZX_OK);
}

static enum next end(struct jzx__worker *me, struct jzx__fiber *fiber) {
    jzx__fiber_drop_current(me, fiber);
    if (fiber->turn.exits)
        jzx__turn_end_as_it_says(me, &fiber->turn);
    else
        jzx__actor_end(me, fiber->turn.actor, JZX_EXIT_NORMAL, NULL);
    return IDLE;
}

static enum next look_at_wish(struct jzx__worker *me, struct jzx__fiber *fiber) {
    switch ((enum jzx__wish)fiber->wish) {
    case JZX__WISH_RUN: return GO;
    case JZX__WISH_TURN: fulfil_yield(fiber); return requeue(me, fiber);
    case JZX__WISH_MESSAGE: return look_for_message(me, fiber);
    case JZX__WISH_TIME: return look_at_time(me, fiber);
    case JZX__WISH_EVENT: return look_at_event(me, fiber);
    case JZX__WISH_END: return end(me, fiber);
    }
    JZX_ASSERT(false && "a wish");
    return IDLE;
}

/* ---- running it ---- */

/* The thread has lost its worker meanwhile; what the fiber wants is for who takes the turn back. */
static enum jzx__fate lose(struct jzx__worker *me, struct jzx__fiber *fiber) {
    if (fiber->wish != JZX__WISH_END && !(fiber->wish == JZX__WISH_MESSAGE && is_receive(fiber))) {
        fiber->kept = fiber->turn.current; /* it is still in hand */
        fiber->turn.current = NULL;
    }
    return jzx__turn_lose(me, &fiber->turn);
}

/* Switches to the fiber, until it wants something. */
static enum jzx__fate resume(struct jzx__worker *me, struct jzx__fiber *fiber,
                             struct jzx__turn *pass) {
    struct jzx__seat *seat = pass->seat;
    struct jzx__turn *turn = &fiber->turn;
    turn->seat = seat;
    turn->jump = pass->jump;
    turn->frame = pass->frame;
    fiber->worker = me;
    seat->turn = turn;
    /* relaxed: for dumps and the watchdog */
    jzx__atomic_store_relaxed(&seat->tag, turn->current != NULL ? turn->current->tag : 0u);
    jzx__switch_side_init_thread(&fiber->thread_side);
    jzx__switch_before(&fiber->thread_side, &fiber->side);
    jzx__switch(&fiber->thread_point, fiber->point, fiber);
    jzx__switch_after(&fiber->thread_side, &fiber->side);
    if (JZX_UNLIKELY(fiber->is_lost))
        return lose(me, fiber);
    seat->turn = pass;
    if (JZX_UNLIKELY(turn->ctx.state != turn->actor->task.arg))
        turn->actor->task.arg = turn->ctx.state;
    jzx__worker_count_message(me);
    return JZX__FATE_AGAIN;
}

/* ---- fibers that wait for their thread (V4) ---- */

static void wake_aside(struct jzx__worker *me) {
    struct jzx__fibers *fibers = jzx__fibers_of(me);
    jzx__actor_worker_of(me)->at_home = NULL;
    while (fibers->aside != NULL) {
        struct jzx__fiber *fiber = fibers->aside;
        fibers->aside = fiber->next_aside;
        fiber->is_aside = false;
        jzx__worker_ready(me, &fiber->turn.actor->task);
    }
}

static void set_aside(struct jzx__worker *me, struct jzx__fiber *fiber) {
    struct jzx__fibers *fibers = jzx__fibers_of(me);
    if (!fiber->is_aside) {
        fiber->is_aside = true;
        fiber->next_aside = fibers->aside;
        fibers->aside = fiber;
    }
    jzx__actor_worker_of(me)->at_home = wake_aside;
}

/* One that ends. */
static void take_from_aside(struct jzx__worker *me, struct jzx__fiber *fiber) {
    struct jzx__fiber **place = &jzx__fibers_of(me)->aside;
    if (!fiber->is_aside)
        return;
    while (*place != fiber)
        place = &(*place)->next_aside;
    *place = fiber->next_aside;
    fiber->is_aside = false;
}

/* Some other worker that its home thread drives at this moment, or NULL. */
static struct jzx__worker *worker_at_home(struct jzx__worker *me) {
    uint32_t count = me->sched->worker_count;
    uint32_t first = jzx__rng_below(&me->rng, count);
    for (uint32_t i = 0; i < count; i++) {
        struct jzx__worker *worker = me->sched->workers[(first + i) % count];
        /* acquire: pairs with the release in jzx__crew_sit; the seat says whose it is */
        const struct jzx__seat *seat = jzx__atomic_load_acquire(&worker->seat);
        if (worker != me && seat != NULL && !seat->is_substitute)
            return worker;
    }
    return NULL;
}

/* A substitute has a fiber that has not begun: it begins on another worker, if it may and one is at
 * home. True if it is gone, or tries again in its next turn. */
static bool begins_elsewhere(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__worker *to = actor->task.bound == JZX__FREE ? worker_at_home(me) : NULL;
    if (to == NULL)
        return false;
    if (!jzx__balance_move(me, &actor->task, to)) /* an entry is under way, to this worker */
        jzx__worker_requeue_any(me, &actor->task);
    return true;
}

/* ---- the kind ---- */

static bool may_run_here(const struct jzx__cold *cold, const struct jzx__seat *seat) {
    return !seat->is_substitute || !cold->is_thread_bound;
}

static enum jzx__fate turn(struct jzx__worker *me, struct jzx__turn *pass) {
    struct jzx__actor *actor = pass->actor;
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__fiber *fiber = jzx__fiber_of(cold);
    if (fiber == NULL) {
        if (!may_run_here(cold, pass->seat) && begins_elsewhere(me, actor))
            return JZX__FATE_OVER;
        fiber = create(me, actor);
        if (fiber == NULL)
            return JZX__FATE_OVER;
    }
    for (;;) {
        if (fiber->wish != JZX__WISH_END && !may_run_here(cold, pass->seat)) {
            set_aside(me, fiber);
            uint64_t word = jzx__task_inbox(&actor->task);
            if (jzx__inbox_list(word) != NULL)
                jzx__mailbox_take_in(me, actor);
            else if (jzx__task_go_idle(&actor->task, word))
                return JZX__FATE_OVER;
            return JZX__FATE_AGAIN;
        }
        enum next next = look_at_wish(me, fiber);
        if (next != GO)
            return next == IDLE ? JZX__FATE_OVER : JZX__FATE_AGAIN;
        enum jzx__fate fate = resume(me, fiber, pass);
        if (fate != JZX__FATE_AGAIN || jzx__fiber_is_wanted(actor))
            return fate;
    }
}

static void landed(struct jzx__turn *turn) {
    struct jzx__fiber *fiber = jzx__fiber_of_turn(turn);
    jzx__switch_before_last(&fiber->side, &fiber->thread_side);
    jzx__switch_after(&fiber->thread_side, &fiber->side);
    fiber->wish = JZX__WISH_END;
}

static void take_back(struct jzx__worker *me, struct jzx__turn *turn) {
    struct jzx__fiber *fiber = jzx__fiber_of_turn(turn);
    if (fiber->kept != NULL)
        turn->current = fiber->kept;
    fiber->kept = NULL;
    fiber->is_lost = false;
    if (fiber->wish == JZX__WISH_TURN)
        fulfil_yield(fiber);
    jzx__worker_requeue_any(me, &turn->actor->task); /* whatever came meanwhile, it looks */
}

const struct jzx__kind_ops jzx__kind_fiber = {
    .turn = turn,
    .exit = exit_turn,
    .landed = landed,
    .take_back = take_back,
    .list_changed = jzx__fiber_forget_cursors,
};

/* ---- the part ---- */

/* Nobody will take what a source has handed over. Its links are on the stack, which is there
 * still. */
static void give_back(struct jzx__worker *me, const struct jzx__fiber *fiber) {
    const struct jzx__event *event = fiber->event;
    if (jzx__cause_kind(fiber->cause) == JZX__CAUSE_ITEM) {
        struct jzx__wait_link *link = &event->links[jzx__cause_index(fiber->cause)];
        if (link->source->ops->give_back != NULL)
            link->source->ops->give_back(link->source, link, me);
    }
    jzx__sources_vacate(event->links, event->count, fiber->cause, me);
}

/* Nor will anybody release what it has brought to its sources, and its references of them. A source
 * without references may be gone after its abandon, as a line of senders is. */
static void abandon(struct jzx__worker *me, const struct jzx__event *event) {
    for (uint32_t i = 0; i < event->count; i++) {
        struct jzx__wait_link *link = &event->links[i];
        _Atomic uint32_t *refs = jzx__source_refs(link->source);
        if (link->source->ops->abandon != NULL)
            link->source->ops->abandon(link->source, link, me);
        jzx__refs_drop(refs);
    }
}

/* The actor ends, on the thread's stack: it waits no more. */
static void cancel(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__fiber *fiber = jzx__fiber_of(jzx__actor_cold(actor));
    bool has_sources = fiber->waits && fiber->wish == JZX__WISH_EVENT;
    disarm(fiber, JZX__CAUSE_KILLED);
    hide_wait(fiber);
    if (has_sources)
        give_back(me, fiber);
    if (has_sources)
        abandon(me, fiber->event);
    take_from_aside(me, fiber);
    jzx__fiber_drop_current(me, fiber);
    if (fiber->turn.answer != NULL)
        jzx__message_destroy(fiber->turn.ctx.loop, me, fiber->turn.answer);
    fiber->turn.answer = NULL;
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    struct jzx__fiber *fiber = record;
    (void)loop;
    jzx__switch_side_deinit(&fiber->side);
    jzx__stack_give(&jzx__fibers_of(me)->stacks, fiber->stack);
}

/* What was touched of its stack. */
static size_t size_bytes(const void *record) {
    const struct jzx__fiber *fiber = record;
    return jzx__stack_high_water(jzx__stacks_of(fiber->turn.ctx.loop), fiber->stack);
}

const struct jzx__part_ops jzx__part_fiber = {
    .open = jzx__fibers_open,
    .close = jzx__fibers_close,
    .cancel = cancel,
    .release = release,
    .size_bytes = size_bytes,
};

/* ---- time ---- */

uint64_t jzx_in(const jzx_context *ctx, uint64_t delay_ns) {
    return ctx == NULL ? delay_ns : jzx__timer_add(jzx_loop_now(ctx->loop), delay_ns);
}

JZX_INLINE jzx_err wait_plainly(jzx_context *ctx, const char *call, enum jzx__wish wish,
                                uint64_t until_ns) {
    jzx_err err;
    struct jzx__fiber *fiber = jzx__fiber_enter(ctx, call, &err);
    if (fiber == NULL)
        return err;
    err = jzx__fiber_wait(fiber, wish, until_ns);
    if (wish == JZX__WISH_TIME && until_ns > fiber->limit_ns)
        err = JZX_ERR_TIMEOUT;
    jzx__fiber_leave(fiber);
    return err;
}

jzx_err jzx_sleep(jzx_context *ctx, uint64_t until_ns) {
    return wait_plainly(ctx, "jzx_sleep", JZX__WISH_TIME, until_ns);
}

jzx_err jzx_yield(jzx_context *ctx) {
    return wait_plainly(ctx, "jzx_yield", JZX__WISH_TURN, 0);
}
