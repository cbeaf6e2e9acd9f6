/* SPDX-License-Identifier: MIT */
/* The life of a timer: made, launched, fired, handled, cancelled, freed. */
#include "timer/timer.h"

#include "actor/mailbox.h"
#include "sched/waiter.h"
#include "timer/list.h"
#include "timer/make.h"
#include "timer/worker.h"

/* Cancelled timers that wait for their home before it is woken to free them. */
#define CANCELLED_MAX 256u

/* Timers that one look fires at most, and then somebody else has a turn: so many that they and
 * their places in lists are still in the first cache when they are handled. */
#define FIRE_MAX 128u

/* Those whose lines are fetched together. */
#define FIRE_BATCH 32u

/* ---- small things ---- */

static struct jzx__timer *timer_of_entry(struct jzx__wheel_entry *entry) {
    return JZX_CONTAINER_OF(entry, struct jzx__timer, wait.entry);
}

static struct jzx__timer *timer_of_block(struct jzx__message *message) {
    return (void *)message;
}

static uint64_t state_of(const struct jzx__timer *timer) {
    /* acquire: pairs with the exchange that brought it into this phase (H1) */
    return jzx__atomic_load_acquire(&timer->state);
}

static uint32_t phase_of(uint64_t state) {
    return (uint32_t)state & JZX__TIMER_PHASE;
}

/* Goes on to another phase unless it was cancelled. to: the phase, with its home if that is SET. */
static bool change_phase(struct jzx__timer *timer, enum jzx__timer_phase from, uint64_t to) {
    uint64_t state = state_of(timer);
    uint64_t kept;
    do {
        if (state & JZX__TIMER_CANCELLED)
            return false;
        JZX_ASSERT(phase_of(state) == from);
        kept = state & ~(JZX__TIMER_HOME | JZX__TIMER_PHASE);
        /* acquire, release: pairs with itself in other hands (H1) */
    } while (!jzx__atomic_cas_acq_rel(&timer->state, &state, kept | to));
    return true;
}

/* Returns what they were. */
static uint64_t set_bits(struct jzx__timer *timer, uint64_t bits) {
    uint64_t state = state_of(timer);
    /* acquire, release: pairs with itself in other hands (H3) */
    while (!jzx__atomic_cas_acq_rel(&timer->state, &state, state | bits))
        continue;
    return state;
}

static struct jzx__actor *actor_of(const struct jzx_loop *loop, const struct jzx__timer *timer) {
    return jzx__table_slot(&loop->table, timer->target);
}

/* True if that actor is the one that the timer, a message now, is for. */
static bool is_target(const struct jzx__actor *actor, struct jzx__timer *timer) {
    return jzx_id_generation(jzx__actor_id(actor)) == jzx__timer_block(timer)->node.generation;
}

static uint64_t ns_of_tick(uint64_t tick) {
    return tick > UINT64_MAX / JZX__TIMER_TICK_NS ? JZX_NEVER : tick * JZX__TIMER_TICK_NS;
}

static uint64_t now_of(const struct jzx__worker *me) {
    return jzx__clock_now(&me->sched->clock);
}

/* ---- the wheel of a worker ---- */

/* Before the first entry of an idle wheel is set, the wheel catches up with the time. */
static void catch_up(struct jzx__worker *me) {
    struct jzx__wheel *wheel = &jzx__timers_of(me)->wheel;
    if (wheel->count != 0)
        return;
    /* relaxed: only this thread writes it */
    jzx__wheel_pop(wheel, jzx__atomic_load_relaxed(&me->tick_at_ns) / JZX__TIMER_TICK_NS);
}

/* One that comes after its time fires at the next look. What is beyond the reach of a wheel may be
 * near: one on which nothing was due for weeks is behind. */
static void arm(struct jzx__worker *me, struct jzx__wheel_entry *entry, uint64_t tick) {
    struct jzx__wheel *wheel = &jzx__timers_of(me)->wheel;
    if (JZX_UNLIKELY(!jzx__wheel_set(wheel, entry, tick))) {
        jzx__wheel_remove(wheel, entry);
        jzx__wheel_catch_up(wheel, now_of(me) / JZX__TIMER_TICK_NS);
        jzx__wheel_set(wheel, entry, tick);
    }
    uint64_t due_ns = ns_of_tick(tick);
    if (due_ns < me->due_ns)
        me->due_ns = due_ns;
}

/* A message goes onto the wheel of this worker, unless it was cancelled: then nothing happens. The
 * form changes before the phase: a cancel elsewhere writes into that of an entry. */
static bool set_here(struct jzx__worker *me, struct jzx__timer *timer, enum jzx__timer_phase from,
                     uint64_t tick) {
    jzx__timer_to_wait(timer);
    if (!change_phase(timer, from, jzx__timer_set_at(me)))
        return false;
    arm(me, &timer->wait.entry, tick);
    return true;
}

/* ---- ending ---- */

/* Neither listed nor on its way any more (H3): it is the caller's alone. */
static void end_timer(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__timer *timer) {
    jzx__loop_count(loop, me, timers_ended);
    jzx__timer_unmake(loop, me, timer);
}

/* Of an actor of mine. */
static void unlist(struct jzx_loop *loop, struct jzx__timer *timer) {
    struct jzx__actor *actor = actor_of(loop, timer);
    struct jzx__actor_timers *own = jzx__actor_timers(actor);
    if (JZX_UNLIKELY(jzx__timer_is_chained(timer)))
        jzx__timer_unchain(loop, own, timer);
    else
        jzx__timer_list_remove(jzx__timer_is_keyed(timer) ? own->keyed : own->plain, timer);
    if (own->receive == timer) {
        own->receive = NULL;
        jzx__actor_cold(actor)->listens = false;
    }
}

static void end_listed(struct jzx__worker *me, struct jzx__timer *timer) {
    unlist(jzx__loop_of(me), timer);
    end_timer(jzx__loop_of(me), me, timer);
}

/* It cannot be brought to its actor (H3). */
static void bounce(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__timer *timer) {
    if (set_bits(timer, JZX__TIMER_BOUNCED) & JZX__TIMER_ORPHAN)
        end_timer(loop, me, timer);
}

/* Its list does not know it any more (H3). */
static void orphan(struct jzx__worker *me, struct jzx__timer *timer) {
    unlist(jzx__loop_of(me), timer);
    if (set_bits(timer, JZX__TIMER_ORPHAN) & JZX__TIMER_BOUNCED)
        end_timer(jzx__loop_of(me), me, timer);
}

/* ---- launching ---- */

/* phase: with its home if that is SET. */
static uint64_t state_in(const struct jzx__timer *timer, uint64_t phase) {
    /* relaxed: it is this thread's own as yet */
    return jzx__atomic_load_relaxed(&timer->state) | phase;
}

/* A spare (part.h) comes along with one that is not SET yet. It has the tick then. */
static void give_spare(struct jzx__timer *timer, struct jzx__cold *spare) {
    struct jzx__actor_timers *own = jzx__cold_part(spare, JZX__PART_TIMER);
    own->tick = jzx__timer_tick_of(timer);
    timer->transit = (uintptr_t)spare;
}

/* The other way round. */
static struct jzx__cold *take_spare(struct jzx__timer *timer) {
    if (timer->transit & 1)
        return NULL;
    struct jzx__cold *spare = (void *)(uintptr_t)timer->transit;
    struct jzx__actor_timers *own = jzx__cold_part(spare, JZX__PART_TIMER);
    jzx__timer_set_tick(timer, own->tick);
    return spare;
}

/* A receive timeout replaces the one before, and looks at every message from now on. */
static void list_idle(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__timer *timer) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__cold *cold = jzx__actor_cold(actor);
    struct jzx__actor_timers *own = jzx__actor_timers(actor);
    struct jzx__timer *before = own->receive;
    own->receive = timer;
    cold->listens = true;
    cold->heard_ns = now_of(me);
    actor->task.care |= JZX__CARE_HEAD;
    if (before != NULL)
        jzx__timer_cancel_listed(loop, me, before, jzx__timer_index(loop, own, before));
}

/* False without memory for a longer list. */
static bool list(struct jzx__worker *me, struct jzx__actor_timers *own, struct jzx__timer *timer) {
    struct jzx__timer_list **list = jzx__timer_is_keyed(timer) ? &own->keyed : &own->plain;
    if (!jzx__timer_list_reserve(jzx__loop_of(me), me, list))
        return false;
    jzx__timer_list_add(*list, timer);
    if (JZX_UNLIKELY(own->chained != 0))
        jzx__timer_list_chained(jzx__loop_of(me), me, own);
    return true;
}

/* After it was listed. */
static void welcome(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__timer *timer) {
    if (JZX_UNLIKELY(jzx__timer_mode(timer) == JZX__TIMER_IDLE))
        list_idle(me, actor, timer);
}

/* The actor's own record, made if need be; NULL without memory. me is NULL in its turn that has
 * lost its worker. */
static struct jzx__actor_timers *ensure_own(struct jzx_loop *loop, struct jzx__worker *me,
                                            struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__cold_ensure(loop, me, actor);
    return cold == NULL ? NULL : jzx__part_ensure(loop, me, cold, JZX__PART_TIMER);
}

/* On the owner's thread. */
static jzx_err launch_here(struct jzx__worker *me, struct jzx__actor *actor,
                           struct jzx__timer *timer) {
    uint64_t tick = jzx__timer_tick_of(timer);
    if (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED)
        return jzx__mailbox_gone(jzx__loop_of(me)); /* it works its queue off */
    struct jzx__actor_timers *own = ensure_own(jzx__loop_of(me), me, actor);
    if (own == NULL || !list(me, own, timer))
        return JZX_ERR_NO_MEMORY;
    welcome(me, actor, timer);
    jzx__timer_to_wait(timer);
    /* release: pairs with the acquire of a cancel */
    jzx__atomic_store_release(&timer->state, state_in(timer, jzx__timer_set_at(me)));
    catch_up(me);
    arm(me, &timer->wait.entry, tick);
    return JZX_OK;
}

/* An actor without a record gets one with the timer, so that taking it in needs no memory. */
static bool add_spare(struct jzx_loop *loop, struct jzx__worker *me, const struct jzx__actor *actor,
                      struct jzx__timer *timer) {
    struct jzx__cold *spare;
    if (!jzx__spare_prepare(loop, me, actor, JZX__PART_TIMER, &spare))
        return false;
    if (spare != NULL)
        give_spare(timer, spare);
    return true;
}

static void drop_spare(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__timer *timer) {
    jzx__cold_destroy(loop, me, take_spare(timer));
}

/* By way of the actor's inbox, to its owner. False if that is closed. */
static bool push(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__timer *timer) {
    switch (jzx__task_push(&actor->task, &jzx__timer_block(timer)->node, 0)) {
    case JZX__PUSH_OK_INJECT: jzx__task_inject(&actor->task, me); return true;
    case JZX__PUSH_OK: return true;
    case JZX__PUSH_FULL:
    case JZX__PUSH_CLOSED: break;
    }
    return false;
}

/* The worker that has the actor, as it seems, or NULL. */
static struct jzx__worker *likely_owner(struct jzx__actor *actor) {
    /* relaxed: a guess; who gets it looks whether the actor is its own */
    uintptr_t owner = jzx__atomic_load_relaxed(&actor->task.owner);
    return (void *)(owner & ~JZX__OWNER_FLAGS);
}

/* On another thread: to the mail of its owner, which sets it before it fires anything that is due
 * later; or, if that is not known, by way of the actor. */
static jzx_err launch_there(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__actor *actor,
                            struct jzx__timer *timer) {
    struct jzx__worker *owner = likely_owner(actor);
    if (jzx__sched_is_stopped(&loop->sched) ||
        (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED) != 0)
        return jzx__mailbox_gone(loop);
    if (!add_spare(loop, me, actor, timer))
        return JZX_ERR_NO_MEMORY;
    /* release: pairs with the acquire of a cancel */
    jzx__atomic_store_release(&timer->state, state_in(timer, JZX__TIMER_TRANSIT));
    if (owner != NULL) {
        jzx__worker_bring(owner, JZX__FEED_TIMER_MAIL, (void *)timer);
    } else if (!push(me, actor, timer)) {
        drop_spare(loop, me, timer);
        return jzx__mailbox_gone(loop);
    }
    return JZX_OK;
}

jzx_err jzx__timer_launch(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__timer *timer,
                          jzx_timer_id *id) {
    jzx_actor_id to = jzx_make_id(jzx__timer_block(timer)->node.generation, timer->target);
    jzx_timer_id made = jzx__timer_id_of(timer, timer->number);
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, to);
    jzx_err err;
    if (JZX_UNLIKELY(actor == NULL))
        err = jzx__mailbox_gone(loop);
    else if (JZX_LIKELY(jzx__timer_may_list(me, actor)))
        err = launch_here(me, actor, timer);
    else
        err = launch_there(loop, me, actor, timer);
    if (JZX_UNLIKELY(err != JZX_OK)) {
        jzx__timer_unmake(loop, me, timer);
        return err;
    }
    jzx__loop_count(loop, me, timers_set);
    if (id != NULL)
        *id = made;
    return JZX_OK;
}

/* ---- arriving ---- */

/* It was set by another thread. */
static void accept(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__timer *timer) {
    struct jzx_loop *loop = jzx__loop_of(me);
    jzx__spare_use(loop, me, jzx__actor_cold(actor), JZX__PART_TIMER, take_spare(timer));
    struct jzx__actor_timers *own = jzx__actor_timers(actor);
    uint64_t tick = jzx__timer_tick_of(timer);
    if (state_of(timer) & JZX__TIMER_CANCELLED) { /* it must not replace a receive timeout */
        end_timer(loop, me, timer);
        return;
    }
    if (!list(me, own, timer)) { /* H6 */
        jzx__timer_chain(own, timer);
        set_bits(timer, JZX__TIMER_CHAINED);
    }
    welcome(me, actor, timer);
    if (!set_here(me, timer, JZX__TIMER_TRANSIT, tick))
        end_listed(me, timer);
}

/* The actor has a cold record from here on. */
static void give_cold(struct jzx__actor *actor, struct jzx__timer *timer) {
    if (jzx__actor_cold(actor) != NULL)
        return;
    struct jzx__cold *spare = take_spare(timer);
    if (!jzx__spare_give_cold(actor, spare))
        give_spare(timer, spare); /* another thread was first: it is used for the rest */
}

enum jzx__filed jzx__timer_file(struct jzx__worker *me, struct jzx__actor *actor,
                                struct jzx__node *node) {
    struct jzx__message *message = jzx__message_of(node);
    if (message->node.size_class != JZX__MSG_EMBEDDED)
        return JZX__FILED_KEEP; /* of its kinds, only a message travels as a body */
    struct jzx__timer *timer = timer_of_block(message);
    uint32_t phase = phase_of(state_of(timer));
    if (phase == JZX__TIMER_QUEUED)
        return JZX__FILED_KEEP;
    if (phase == JZX__TIMER_TRANSIT)
        give_cold(actor, timer);
    if (actor->task.place == JZX__AWAY)
        return JZX__FILED_DEFER;
    if (phase == JZX__TIMER_TRANSIT)
        accept(me, actor, timer);
    else
        end_listed(me, timer); /* its home has taken it off the wheel */
    return JZX__FILED_TAKEN;
}

/* The same for one that did not come by the inbox, and is no message. */
static void file_here(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__timer *timer) {
    struct jzx__node *node = &jzx__timer_block(timer)->node;
    if (jzx__timer_file(me, actor, node) == JZX__FILED_DEFER)
        jzx__mailbox_defer(actor, node);
}

/* ---- a turn without its worker ---- */

bool jzx__timer_request(struct jzx__turn *turn, struct jzx__timer *timer) {
    struct jzx_loop *loop = turn->ctx.loop;
    struct jzx__actor *actor = turn->actor;
    if (ensure_own(loop, NULL, actor) == NULL) {
        jzx__timer_unmake(loop, NULL, timer);
        return false;
    }
    /* release: pairs with the acquire of a cancel */
    jzx__atomic_store_release(&timer->state, state_in(timer, JZX__TIMER_TRANSIT));
    struct jzx__node *node = &jzx__timer_block(timer)->node;
    node->next = turn->requested;
    turn->requested = node;
    jzx__loop_count(loop, (struct jzx__worker *)NULL, timers_set);
    return true;
}

/* ---- being handled ---- */

static void pull(struct jzx__worker *me, const struct jzx__spot *at) {
    jzx__spot_remove(at);
    me->pass_handled++; /* the books: it was accepted */
}

/* A receive timeout whose actor has heard something meanwhile: true, and it waits again. */
static bool comes_too_soon(struct jzx__worker *me, const struct jzx__spot *at,
                           struct jzx__timer *timer) {
    uint64_t heard_ns = jzx__actor_cold(at->actor)->heard_ns;
    uint64_t due_ns = jzx__timer_add(heard_ns, jzx__timer_period(timer));
    if (due_ns <= now_of(me))
        return false;
    struct jzx__timer_extra *extra = jzx__timer_extra(timer);
    if (extra != NULL)
        extra->due_ns = due_ns;
    pull(me, at);
    if (!set_here(me, timer, JZX__TIMER_QUEUED, jzx__timer_tick(due_ns)))
        end_listed(me, timer); /* cancelled */
    return true;
}

/* The message stands for all firings up to now, its own and those that were missed. */
static void count_missed(struct jzx__worker *me, struct jzx__timer *timer) {
    struct jzx__timer_extra *extra = jzx__timer_extra(timer);
    uint64_t count = (now_of(me) - extra->due_ns) / extra->period_ns;
    extra->due_ns += count * extra->period_ns;
    extra->missed += count;
}

enum jzx__look jzx__timer_begin(struct jzx__worker *me, const struct jzx__spot *at) {
    struct jzx__timer *timer = jzx__timer_of(jzx__message_of(at->node));
    uint64_t state = state_of(timer);
    if (phase_of(state) == JZX__TIMER_HANDLED)
        return JZX__LOOK_HANDLE; /* it was looked at before */
    jzx__mailbox_looked(at->actor);
    if (jzx__timer_mode(timer) == JZX__TIMER_IDLE && comes_too_soon(me, at, timer))
        return JZX__LOOK_GONE;
    if (jzx__timer_mode(timer) == JZX__TIMER_RATE)
        count_missed(me, timer);
    if (change_phase(timer, JZX__TIMER_QUEUED, JZX__TIMER_HANDLED))
        return JZX__LOOK_HANDLE;
    pull(me, at);
    end_listed(me, timer);
    return JZX__LOOK_GONE;
}

/* Its message was handled: sets it again, at the worker that its actor has now. */
static void repeat(struct jzx__worker *me, struct jzx__timer *timer) {
    struct jzx__timer_extra *extra = jzx__timer_extra(timer);
    uint64_t now = now_of(me);
    bool rate = jzx__timer_mode(timer) == JZX__TIMER_RATE;
    uint64_t period_ns = jzx__timer_period(timer);
    uint64_t passed = rate ? (now - extra->due_ns) % period_ns : 0;
    uint64_t due_ns = jzx__timer_add(now, period_ns - passed);
    if (!rate && extra != NULL)
        extra->due_ns = due_ns;
    if (!set_here(me, timer, JZX__TIMER_HANDLED, jzx__timer_tick(due_ns)))
        end_listed(me, timer);
}

void jzx__timer_release(struct jzx_loop *loop, struct jzx__worker *me,
                        struct jzx__message *message) {
    struct jzx__timer *timer = jzx__timer_of(message);
    uint64_t state = state_of(timer);
    if (state & JZX__TIMER_ORPHAN)
        end_timer(loop, me, timer);
    else if ((state & JZX__TIMER_REPEATS) && phase_of(state) == JZX__TIMER_HANDLED)
        repeat(me, timer);
    else
        end_listed(me, timer);
}

void jzx__timer_stash(struct jzx__cold *cold, struct jzx__message *message) {
    (void)cold;
    struct jzx__timer *timer = jzx__timer_of(message);
    uint64_t state = state_of(timer);
    /* pairs with itself, as in change_phase; one that repeats may be cancelled already */
    while (!jzx__atomic_cas_acq_rel(&timer->state, &state,
                                    state - JZX__TIMER_HANDLED + JZX__TIMER_QUEUED))
        continue;
}

bool jzx__timer_take(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message) {
    struct jzx__timer *timer = jzx__timer_of(message);
    struct jzx__timer_extra *extra = jzx__timer_extra(timer);
    if (jzx__timer_mode(timer) != JZX__TIMER_ONCE)
        return false;
    unlist(loop, timer);
    message->node.lane = JZX__LANE_USER; /* a block as any */
    jzx__loop_count(loop, me, timers_ended);
    if (extra != NULL && extra->body != NULL) {
        extra->body = NULL;
        jzx__timer_unmake(loop, me, timer);
        return true;
    }
    if (extra != NULL)
        jzx__sched_free(&loop->sched, me, JZX__TIMER_EXTRA_CLASS, extra);
    if (!jzx__timer_make_stale(timer))
        message->node.size_class = JZX__MSG_RETIRED;
    return true;
}

/* The record that a payload was taken with. */
static void free_block(struct jzx_loop *loop, struct jzx__worker *me,
                       struct jzx__message *message) {
    jzx__timer_free(jzx__timer_pool_of(loop), jzx__timer_cache_of(me), timer_of_block(message));
}

/* ---- firing ---- */

/* What the wheel could not hold for so long (jzx__wheel_set) goes back. */
static bool comes_out_early(struct jzx__worker *me, struct jzx__timer *timer,
                            const struct jzx__timer_extra *extra) {
    bool rate = jzx__timer_mode(timer) == JZX__TIMER_RATE;
    uint64_t due_ns = rate ? jzx__timer_add(extra->due_ns, extra->period_ns) : extra->due_ns;
    if (jzx__timer_tick(due_ns) <= jzx__timers_of(me)->wheel.now)
        return false;
    arm(me, &timer->wait.entry, jzx__timer_tick(due_ns));
    return true;
}

/* Of many timers the place in the list is not in the cache when its message is handled. */
static void fetch_place(const struct jzx__worker *me, struct jzx__actor *actor,
                        const struct jzx__timer *timer) {
    const struct jzx__actor_timers *own =
        jzx__timer_may_list(me, actor) ? jzx__actor_timers(actor) : NULL;
    const struct jzx__timer_list *list = own == NULL ? NULL : own->plain;
    if (list == NULL || timer->number >= list->count)
        return;
    const uint32_t *place = &list->places[timer->number];
    __builtin_prefetch(place, 1);
}

static void fire(struct jzx__worker *me, struct jzx__timer *timer) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__actor *actor = actor_of(loop, timer);
    struct jzx__timer_extra *extra = jzx__timer_extra(timer);
    struct jzx__message *message = jzx__timer_carrier(timer);
    if (extra != NULL && comes_out_early(me, timer, extra))
        return;
    if (!change_phase(timer, JZX__TIMER_SET, JZX__TIMER_QUEUED))
        return; /* who has cancelled it has sent it to the timer mail */
    jzx__timer_to_message(timer);
    if (extra != NULL)
        extra->missed = UINT64_MAX; /* its own firing makes that 0 */
    fetch_place(me, actor, timer);
    if (jzx__mailbox_deliver(loop, me, actor, message) == JZX_OK)
        jzx__counter_add(&me->counters.timers_fired, 1);
    else
        bounce(loop, me, timer);
}

/* Set on another thread. Whoever the actor belongs to now sets it; if it has ended, nobody. */
static void pass_on(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__timer *timer) {
    struct jzx_loop *loop = jzx__loop_of(me);
    bool mine = jzx__worker_owns(me, &actor->task);
    if (mine && is_target(actor, timer)) {
        file_here(me, actor, timer);
    } else if (mine || !push(me, actor, timer)) {
        drop_spare(loop, me, timer);
        end_timer(loop, me, timer);
    }
}

/* Cancelled on another thread, or by an actor that has moved away. */
static void undo(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__timer *timer) {
    struct jzx_loop *loop = jzx__loop_of(me);
    jzx__wheel_remove(&jzx__timers_of(me)->wheel, &timer->wait.entry);
    jzx__timer_to_message(timer); /* its sender is of no interest any more, and not known */
    if (state_of(timer) & JZX__TIMER_ORPHAN)
        end_timer(loop, me, timer);
    else if (jzx__worker_owns(me, &actor->task) && is_target(actor, timer))
        file_here(me, actor, timer);
    else if (!push(me, actor, timer))
        bounce(loop, me, timer);
}

/* The link is the first word of a message, and another one of an entry: a record is one line. */
static struct jzx__timer *timer_of_mail(struct jzx__mpsc_node *node) {
    return (void *)((uintptr_t)node & ~(uintptr_t)(sizeof(struct jzx__timer) - 1));
}

void jzx__timers_take_mail(struct jzx__worker *me, uint32_t max) {
    (void)max;
    if (jzx__feed_is_empty(&me->feeds[JZX__FEED_TIMER_MAIL]))
        return;
    struct jzx__mpsc_node *node = jzx__mpsc_take_all(jzx__worker_queue(me, JZX__FEED_TIMER_MAIL));
    while (node != NULL) {
        struct jzx__timer *timer = timer_of_mail(node);
        struct jzx__actor *actor = actor_of(jzx__loop_of(me), timer);
        node = node->next;
        if (phase_of(state_of(timer)) == JZX__TIMER_TRANSIT)
            pass_on(me, actor, timer);
        else
            undo(me, actor, timer);
    }
}

const struct jzx__feed_ops jzx__timer_mail = {.take = jzx__timers_take_mail, .ends_pass = true};

/* Takes some that are due off the wheel, and has the lines fetched that firing and handling them
 * will touch: of a million timers hardly one is in the cache. Up to a waiter, which may cancel
 * whatever it likes when it is woken: so the timers before it are fired first. */
static uint32_t take_due(struct jzx__worker *me, uint64_t tick, struct jzx__timer **batch,
                         struct jzx__waiter **waiter) {
    struct jzx__wheel *wheel = &jzx__timers_of(me)->wheel;
    struct jzx__wheel_entry *entry;
    uint32_t count = 0;
    while (count < FIRE_BATCH && (entry = jzx__wheel_pop(wheel, tick)) != NULL) {
        __builtin_prefetch(wheel->due.ring.next, 1);
        if (JZX_UNLIKELY(jzx__wheel_spare(entry) == JZX__WHEEL_WAITER)) {
            *waiter = jzx__waiter_of_entry(entry);
            break;
        }
        batch[count++] = timer_of_entry(entry);
    }
    return count;
}

/* Fires up to FIRE_BATCH. False if there were fewer. */
static bool fire_some(struct jzx__worker *me, uint64_t tick) {
    struct jzx__timer *batch[FIRE_BATCH];
    struct jzx__waiter *waiter = NULL;
    uint32_t count = take_due(me, tick, batch, &waiter);
    for (uint32_t i = 0; i < count; i++)
        fire(me, batch[i]);
    if (JZX_UNLIKELY(waiter != NULL) && !jzx__waiter_expire(waiter, tick, me))
        arm(me, &waiter->deadline, waiter->due_tick); /* it came out early */
    return count == FIRE_BATCH || waiter != NULL;
}

/* No timer is due before what the wheel says, which may be a tick at which it only has to move
 * some; nor before due_ns, which may be that of one that was cancelled. */
uint64_t jzx__timers_next(struct jzx__worker *me) {
    uint64_t next = ns_of_tick(jzx__wheel_next(&jzx__timers_of(me)->wheel));
    return next > me->due_ns ? next : me->due_ns;
}

void jzx__timers_run(struct jzx__worker *me) {
    JZX_ASSERT_OWNER(me);
    uint64_t tick = now_of(me) / JZX__TIMER_TICK_NS;
    bool more = true;
    jzx__timers_take_mail(me, UINT32_MAX);
    for (uint32_t i = 0; i < FIRE_MAX / FIRE_BATCH && more; i++)
        more = fire_some(me, tick);
    me->due_ns = 0;
    if (!more) /* else at the next look */
        me->due_ns = jzx__timers_next(me);
}

/* ---- cancelling ---- */

static void post(struct jzx__worker *home, struct jzx__timer *timer) {
    jzx__mpsc_push(jzx__worker_queue(home, JZX__FEED_TIMER_MAIL), &timer->mail);
    /* relaxed: a count. The record is not ours any more */
    if (jzx__atomic_add_relaxed(&jzx__timers_of(home)->mail_count, 1u) % CANCELLED_MAX ==
        CANCELLED_MAX - 1)
        jzx__parker_wake(&home->parker);
}

/* It was SET when we cancelled it: takes it off its wheel, or has that done. */
static void take_off(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__timer *timer,
                     uint64_t state) {
    uint64_t index = (state & JZX__TIMER_HOME) >> JZX__TIMER_HOME_SHIFT;
    struct jzx__worker *home = loop->sched.workers[index];
    struct jzx__actor *actor = actor_of(loop, timer);
    if (me != NULL && jzx__timer_may_list(me, actor)) {
        if (home == me) {
            jzx__wheel_remove(&jzx__timers_of(me)->wheel, &timer->wait.entry);
            end_listed(me, timer);
            return;
        }
        orphan(me, timer);
    }
    post(home, timer);
}

static bool can_be_cancelled(uint64_t state) {
    uint32_t phase = phase_of(state);
    return phase != JZX__TIMER_FREE && (state & JZX__TIMER_CANCELLED) == 0 &&
           (phase != JZX__TIMER_HANDLED || (state & JZX__TIMER_REPEATS) != 0);
}

jzx_err jzx__timer_cancel(struct jzx_loop *loop, struct jzx__worker *me, jzx_timer_id id) {
    if (!jzx__timer_exists(jzx__timer_pool_of(loop), (uint32_t)id))
        return JZX_ERR_TIMER_INVALID;
    struct jzx__timer *timer = jzx__timer_record(jzx__timer_pool_of(loop), (uint32_t)id);
    uint64_t state = state_of(timer);
    do {
        if (state >> 32 != id >> 32 || !can_be_cancelled(state))
            return JZX_ERR_TIMER_INVALID;
        /* acquire: pairs with the release that set it (H2) */
    } while (!jzx__atomic_cas_acq_rel(&timer->state, &state, state | JZX__TIMER_CANCELLED));
    if (phase_of(state) == JZX__TIMER_SET)
        take_off(loop, me, timer, state);
    return JZX_OK;
}

bool jzx__timer_is_active(const struct jzx__timer *timer) {
    return can_be_cancelled(state_of(timer));
}

bool jzx__timer_cancel_listed(struct jzx_loop *loop, struct jzx__worker *me,
                              struct jzx__timer *timer, uint32_t index) {
    return jzx__timer_cancel(loop, me, jzx__timer_id_of(timer, index)) == JZX_OK;
}

void jzx__timers_stop_keyed(struct jzx_loop *loop, struct jzx__worker *me) {
    const struct jzx__timer_pool *pool = jzx__timer_pool_of(loop);
    for (uint32_t index = 0; jzx__timer_exists(pool, index); index++) {
        const struct jzx__timer *timer = jzx__timer_record(pool, index);
        uint64_t state = state_of(timer);
        uint64_t mode = state >> JZX__TIMER_KIND_SHIFT & JZX__TIMER_MODE;
        bool is_keyed = (state >> JZX__TIMER_KIND_SHIFT & JZX__TIMER_KEYED) != 0;
        if (is_keyed && mode != JZX__TIMER_IDLE && can_be_cancelled(state))
            (void)jzx__timer_cancel(loop, me, (state & ~(uint64_t)UINT32_MAX) | index);
    }
}

/* ---- the end of an actor ---- */

static void cancel_one(struct jzx__worker *me, uint32_t index) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__timer *timer = jzx__timer_record(jzx__timer_pool_of(loop), index);
    if (!jzx__timer_cancel_listed(loop, me, timer, index) &&
        phase_of(state_of(timer)) == JZX__TIMER_SET)
        orphan(me, timer); /* another thread has cancelled it, and sends it to its home */
}

/* It has fired elsewhere, and finds the inbox closed. */
static void forget_one(struct jzx__worker *me, uint32_t index) {
    orphan(me, jzx__timer_record(jzx__timer_pool_of(jzx__loop_of(me)), index));
}

static void for_list(struct jzx__worker *me, const struct jzx__timer_list *list,
                     void (*each)(struct jzx__worker *me, uint32_t index)) {
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        if (list->places[i] != JZX__TIMER_NONE)
            each(me, list->places[i]);
    }
}

static void for_all(struct jzx__worker *me, const struct jzx__actor_timers *own,
                    void (*each)(struct jzx__worker *me, uint32_t index)) {
    for_list(me, own->plain, each);
    for_list(me, own->keyed, each);
    for (uint32_t number = own->chained; number != 0;) {
        uint32_t index = number - 1;
        number =
            jzx__timer_record(jzx__timer_pool_of(jzx__loop_of(me)), index)->number; /* read first */
        each(me, index);
    }
}

/* Before its mail is buried all are cancelled, */
static void cancel_all(struct jzx__worker *me, struct jzx__actor *actor) {
    for_all(me, jzx__actor_timers(actor), cancel_one);
}

/* and afterwards none is listed. */
static void forget_all(struct jzx__worker *me, struct jzx__actor *actor) {
    for_all(me, jzx__actor_timers(actor), forget_one);
}

const struct jzx__part_ops jzx__part_timer = {.open = jzx__timers_open,
                                              .close = jzx__timers_close,
                                              .cancel = cancel_all,
                                              .leave = forget_all,
                                              .release = jzx__timer_lists_release,
                                              .size_bytes = jzx__timer_lists_size_bytes,
                                              .set_deadline = jzx__timers_set_deadline,
                                              .free_block = free_block};

void jzx__timer_bury(struct jzx__worker *me, struct jzx__node *node,
                     const struct jzx__addressee *to) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__message *message = jzx__message_of(node);
    struct jzx__timer *timer = jzx__timer_of(message);
    uint64_t state = state_of(timer);
    if (phase_of(state) >= JZX__TIMER_QUEUED) {
        jzx__message_bury(loop, me, message, to->id, to->name);
    } else if (phase_of(state) == JZX__TIMER_TRANSIT) {
        drop_spare(loop, me, timer); /* it never was listed */
        end_timer(loop, me, timer);
    } else if (state & JZX__TIMER_ORPHAN) {
        end_timer(loop, me, timer);
    } else {
        end_listed(me, timer);
    }
}

const struct jzx__lane_ops jzx__lane_timer = {.file = jzx__timer_file,
                                              .begin = jzx__timer_begin,
                                              .bury = jzx__timer_bury,
                                              .release = jzx__timer_release,
                                              .take = jzx__timer_take,
                                              .stash = jzx__timer_stash};

/* ---- deadlines of waits ---- */

void jzx__timers_set_deadline(struct jzx__worker *me, struct jzx__waiter *waiter, uint64_t due_ns) {
    JZX_ASSERT_OWNER(me);
    if (due_ns == JZX_NEVER)
        return;
    jzx__waiter_set_deadline(waiter, &jzx__timers_of(me)->wheel, jzx__timer_tick(due_ns));
    arm(me, &waiter->deadline, waiter->due_tick);
}
