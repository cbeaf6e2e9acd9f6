/* SPDX-License-Identifier: MIT */
/* The alarm of a worker, the way of a probe, and the report (D1-D5 of deadlock.h). */
#include "fiber/deadlock.h"

#include "actor/actor.h"
#include "actor/pin.h"
#include "fiber/receive.h"
#include "fiber/stacks.h"
#include "timer/timer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A chain that is longer is not followed to its end. */
#define STEPS_MAX 4096u

/* Waits that an alarm looks at before others have a turn. */
#define LOOKS_MAX 16u

void jzx__deadlocks_init(struct jzx__deadlocks *deadlocks, const jzx_config *config) {
    memset(deadlocks, 0, sizeof *deadlocks);
    deadlocks->after_ns = config->deadlock_after_ns;
}

static struct jzx__deadlocks *deadlocks_of(struct jzx__worker *me) {
    return jzx__deadlocks_of(jzx__loop_of(me));
}

static struct jzx__deadlock_watch *watch_of(struct jzx__worker *me) {
    return &jzx__fibers_of(me)->deadlocks;
}

static struct jzx__fiber *fiber_of(struct jzx__link *link) {
    struct jzx__watched *watched = JZX_CONTAINER_OF(link, struct jzx__watched, link);
    return JZX_CONTAINER_OF(watched, struct jzx__fiber, watched);
}

/* ---- the list of a worker (D1) ---- */

static void set_alarm(struct jzx__worker *me, uint64_t due_ns) {
    struct jzx__deadlock_watch *watch = watch_of(me);
    JZX_ASSERT(!watch->is_set);
    (void)jzx__waiter_begin(&watch->alarm, (struct jzx__wait_what){.kind = "deadlocks"});
    jzx__timers_set_deadline(me, &watch->alarm, due_ns);
    (void)jzx__waiter_arm(&watch->alarm);
    watch->is_set = true;
}

void jzx__deadlock_watch_deinit(struct jzx__deadlock_watch *watch) {
    if (!watch->is_set)
        return;
    (void)jzx__waiter_withdraw(&watch->alarm, JZX__CAUSE_CANCELLED);
    (void)jzx__waiter_end(&watch->alarm);
    watch->is_set = false;
}

static void leave_list(struct jzx__fiber *fiber) {
    struct jzx__watched *watched = &fiber->watched;
    if (watched->link.next == NULL)
        return;
    jzx__list_remove(&watched->link);
    watched->link.next = NULL;
    if (watched->is_pinned)
        jzx__actor_unpin(fiber->turn.actor);
    watched->is_pinned = false;
}

static void join_list(struct jzx__fiber *fiber, uint64_t look_at_ns) {
    struct jzx__watched *watched = &fiber->watched;
    watched->look_at_ns = look_at_ns;
    watched->is_pinned = jzx__actor_cold(fiber->turn.actor)->is_migratable;
    if (watched->is_pinned)
        jzx__actor_pin(fiber->turn.actor);
}

void jzx__deadlock_begin(struct jzx__worker *me, struct jzx__fiber *fiber) {
    struct jzx__deadlock_watch *watch = watch_of(me);
    uint64_t after_ns = deadlocks_of(me)->after_ns;
    if (after_ns == JZX_NEVER)
        return;
    fiber->watched.number++;
    fiber->watched.is_reported = false;
    join_list(fiber, jzx__timer_add(jzx__worker_last_tick(me), after_ns));
    jzx__list_push_back(&watch->list, &fiber->watched.link);
    if (JZX_UNLIKELY(!watch->is_set))
        set_alarm(me, fiber->watched.look_at_ns);
}

void jzx__deadlock_end(struct jzx__fiber *fiber) {
    leave_list(fiber);
}

/* ---- an edge (D2, D5) ---- */

/* What there is to say of a member. */
enum edge { NO_EDGE, UNSURE, EDGE };

/* Somebody wants its end, or that it works off its queue: then it waits no longer. */
static bool is_to_end(const struct jzx__actor *actor) {
    /* acquire: pairs with the exchange that set a bit */
    uint64_t state = jzx__atomic_load_acquire(&actor->task.state);
    return (state & (JZX__WANT_END | JZX__WANT_GENTLE)) != 0 ||
           (actor->task.care & JZX__CARE_DRAIN) != 0;
}

/* Whether nobody but the asked actor can end the wait for an answer, and it has not yet. */
static enum edge call_edge(struct jzx__fiber *fiber) {
    struct jzx__actor *actor = fiber->turn.actor;
    /* relaxed: who waits now, and gave the handle away before, is behind this by a feed (D4) */
    if (jzx__atomic_load_relaxed(&jzx__actor_cold(actor)->open_ref) == fiber->filter->value)
        return NO_EDGE;
    if (jzx__fiber_has_match(fiber))
        return NO_EDGE;
    return jzx__inbox_list(jzx__task_inbox(&actor->task)) != NULL ? UNSURE : EDGE;
}

/* Of an actor of this worker; *holder is whom it waits for. */
static enum edge edge_of(struct jzx__actor *actor, jzx_actor_id *holder) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    if (cold == NULL || cold->kind != JZX__KIND_FIBER || actor->task.place == JZX__AWAY ||
        is_to_end(actor))
        return NO_EDGE;
    struct jzx__fiber *fiber = jzx__fiber_of(cold);
    if (fiber == NULL || !fiber->is_shown ||
        (fiber->waits && jzx__waiter_cause(&fiber->waiter) != 0))
        return NO_EDGE;
    *holder = jzx__fiber_holder(fiber);
    if (*holder == JZX_NOBODY)
        return NO_EDGE;
    bool is_call = fiber->wish == JZX__WISH_MESSAGE && fiber->filter->kind == JZX__FILTER_CALL;
    return is_call ? call_edge(fiber) : EDGE;
}

/* ---- the text ---- */

__attribute__((format(printf, 2, 3))) static void append(struct jzx__deadlock_probe *probe,
                                                         const char *format, ...) {
    size_t room = sizeof probe->text - probe->length;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(probe->text + probe->length, room, format, args);
    va_end(args);
    if (length > 0)
        probe->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void append_actor(struct jzx__deadlock_probe *probe, jzx_actor_id id, const char *name) {
    append(probe, "%u.%u%s%s", jzx_id_index(id), jzx_id_generation(id), name[0] == '\0' ? "" : " ",
           name);
}

/* "3.1 alice waits for a mutex of " and then the next. */
static void describe(struct jzx__deadlock_probe *probe, const struct jzx__fiber *fiber) {
    char name[JZX_NAME_MAX + 1];
    jzx_wait_kind kind = jzx__fiber_wait_kind(fiber);
    bool has_of = kind == JZX_WAIT_ANSWER || kind == JZX_WAIT_EXIT;
    jzx__name_read(fiber->turn.actor, name);
    if (probe->members == 0)
        memcpy(probe->name, name, sizeof name);
    append_actor(probe, probe->at, name);
    append(probe, "%swaits for %s%s ", probe->members == 0 ? " " : ", which ", jzx_wait_name(kind),
           has_of ? "" : " of");
}

/* ---- the way of the probe ---- */

static bool start_probe(struct jzx__deadlock_probe *probe, jzx_actor_id origin) {
    uint32_t none = 0;
    /* acquire: pairs with end_probe; the rest is the caller's now */
    while (!jzx__atomic_cas_acq_rel(&probe->is_out, &none, 1u)) {
        if (none != 0)
            return false;
    }
    probe->origin = origin;
    probe->at = origin;
    probe->turtle = JZX_NOBODY;
    probe->round = 1;
    probe->steps = 0;
    probe->members = 0;
    probe->waits = 0;
    probe->length = 0;
    return true;
}

static void end_probe(struct jzx__deadlock_probe *probe) {
    /* release: pairs with start_probe; who takes it next may write the rest */
    jzx__atomic_store_release(&probe->is_out, 0u);
}

/* What it says is copied: the observer may run the loop, and with it another probe. */
static void report(struct jzx_loop *loop, struct jzx__deadlock_probe *probe) {
    char name[sizeof probe->name];
    char text[sizeof probe->text];
    memcpy(name, probe->name, sizeof name);
    memcpy(text, probe->text, sizeof text);
    const jzx_event event = {.kind = JZX_EVENT_DEADLOCK,
                             .actor = probe->origin,
                             .name = name[0] == '\0' ? NULL : name,
                             .detail = text,
                             .count = probe->members};
    end_probe(probe);
    jzx__log(&loop->sched.log, JZX_LOG_WARN, "deadlock: %s", text);
    jzx__loop_emit(loop, &event);
}

/* It has come back to where it began. False if it goes no further. */
static bool next_round(struct jzx__deadlock_probe *probe) {
    if (probe->round == 2) {
        if (probe->waits != probe->waits_before)
            return false; /* D4 */
        append_actor(probe, probe->origin, probe->name);
    }
    if (probe->round == 3)
        return false;
    probe->waits_before = probe->waits;
    probe->waits = 0;
    if (probe->round == 1)
        probe->members = 0;
    probe->round++;
    return true;
}

/* D5: it is looked at once more, from itself. */
static void look_again(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__fiber *fiber = jzx__fiber_of(jzx__actor_cold(actor));
    struct jzx__deadlock_watch *watch = watch_of(me);
    if (fiber->watched.link.next != NULL)
        return;
    join_list(fiber, jzx__timer_add(jzx__clock_now(&me->sched->clock), JZX__TIMER_TICK_NS));
    jzx__list_push_front(&watch->list, &fiber->watched.link);
    jzx__deadlock_watch_deinit(watch); /* it may be set for later */
    set_alarm(me, fiber->watched.look_at_ns);
}

/* A number for a wait, of which sums are equal by chance only. */
static uint64_t mix(uint64_t id, uint64_t number) {
    uint64_t z = id * 0x9E3779B97F4A7C15u + number;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* False if the wait that the probe began at was reported already, or the chain leads into a cycle
 * that has another beginning: the turtle stays where the probe is at each power of two. */
static bool is_new(struct jzx__deadlock_probe *probe, const struct jzx__fiber *fiber) {
    if (probe->members == 0)
        return !fiber->watched.is_reported;
    if (probe->at == probe->turtle)
        return false;
    if ((probe->members & (probe->members - 1)) == 0)
        probe->turtle = probe->at;
    return true;
}

/* Looks at a member of this worker and goes on to the next. False if it goes no further. */
static bool pass(struct jzx__worker *me, struct jzx__deadlock_probe *probe,
                 struct jzx__actor *actor) {
    jzx_actor_id holder = JZX_NOBODY;
    enum edge edge = edge_of(actor, &holder);
    if (edge == UNSURE)
        look_again(me, actor);
    if (edge != EDGE)
        return false;
    struct jzx__fiber *fiber = jzx__fiber_of(jzx__actor_cold(actor));
    if (probe->round == 1 && !is_new(probe, fiber))
        return false;
    jzx__fiber_show_holder(fiber, holder);
    probe->waits += mix(probe->at, fiber->watched.number);
    if (probe->round == 2)
        describe(probe, fiber);
    if (probe->round == 3)
        fiber->watched.is_reported = true;
    else
        probe->members++;
    probe->at = holder;
    return holder != probe->origin || next_round(probe);
}

/* The worker that owns an actor that may wait, or NULL. */
static struct jzx__worker *owner_of(const struct jzx__actor *actor) {
    /* relaxed: that worker looks for itself whether it is the owner */
    uintptr_t owner = jzx__atomic_load_relaxed(&actor->task.owner);
    return (owner & JZX__OWNER_FLAGS) != 0 ? NULL : (struct jzx__worker *)owner;
}

static void follow(struct jzx__worker *me, struct jzx__deadlock_probe *probe) {
    struct jzx_loop *loop = jzx__loop_of(me);
    while (probe->steps++ < STEPS_MAX) {
        struct jzx__actor *actor = jzx__table_lookup(&loop->table, probe->at);
        struct jzx__worker *owner = actor == NULL ? NULL : owner_of(actor);
        if (owner == NULL)
            break;
        if (owner != me) {
            (void)jzx__worker_bring(owner, JZX__FEED_PROBES, &probe->node);
            return;
        }
        if (!pass(me, probe, actor))
            break;
    }
    if (probe->round == 3)
        report(loop, probe);
    else
        end_probe(probe);
}

static void take_probe(struct jzx__worker *me, uint32_t max) {
    (void)max;
    if (jzx__mpsc_take_all(jzx__worker_queue(me, JZX__FEED_PROBES)) != NULL) /* one node */
        follow(me, &deadlocks_of(me)->probe);
}

const struct jzx__feed_ops jzx__deadlock_probes = {.take = take_probe};

/* ---- the alarm ---- */

/* The waits of the list whose time has come. When the next look is due. */
static uint64_t look_at_list(struct jzx__worker *me) {
    struct jzx__deadlock_watch *watch = watch_of(me);
    struct jzx__deadlock_probe *probe = &deadlocks_of(me)->probe;
    uint64_t now_ns = jzx__clock_now(&me->sched->clock);
    for (uint32_t i = 0; !jzx__list_is_empty(&watch->list); i++) {
        struct jzx__fiber *fiber = fiber_of(watch->list.ring.next);
        if (fiber->watched.look_at_ns > now_ns)
            return fiber->watched.look_at_ns;
        jzx_actor_id id = fiber->turn.ctx.self;
        if (i == LOOKS_MAX || !start_probe(probe, id))
            return jzx__timer_add(now_ns, JZX__TIMER_TICK_NS);
        leave_list(fiber);
        follow(me, probe);
    }
    return JZX_NEVER;
}

static void ring(void *who, struct jzx__worker *me) {
    struct jzx__deadlock_watch *watch = who;
    (void)jzx__waiter_end(&watch->alarm);
    watch->is_set = false;
    uint64_t due_ns = look_at_list(me);
    if (!watch->is_set && due_ns != JZX_NEVER)
        set_alarm(me, due_ns);
}

void jzx__deadlock_watch_init(struct jzx__deadlock_watch *watch) {
    jzx__list_init(&watch->list);
    jzx__waiter_init(&watch->alarm, ring, watch);
    watch->is_set = false;
}
