/* SPDX-License-Identifier: MIT */
/* Scopes: members, the first error, the deadline, and who closes one. */
#include "future/scope.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "fiber/fiber.h"
#include "future/async.h"
#include "op/op.h"

#include <stdio.h>
#include <string.h>

/* ---- the scope itself ---- */

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    (void)link;
    return JZX_CONTAINER_OF(source, struct jzx_scope, source)->count == 0 ? JZX__CAUSE_ITEM
                                                                          : JZX__CAUSE_NONE;
}

static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    (void)source, (void)link, (void)wake;
    return true;
}

static struct jzx_scope *create(struct jzx_loop *loop) {
    static const struct jzx__source_ops ops = {.look = look, .take = take};
    struct jzx_scope *scope = jzx__alloc(&loop->sched.allocator, sizeof *scope);
    if (scope == NULL)
        return NULL;
    memset(scope, 0, sizeof *scope);
    jzx__lock_init(&scope->lock);
    jzx__source_init(&scope->source, &scope->lock, &ops);
    jzx__list_init(&scope->running);
    jzx__list_init(&scope->asked);
    scope->loop = loop;
    scope->refs = 1;
    scope->deadline_ns = JZX_NEVER;
    scope->result.size = sizeof scope->result;
    return scope;
}

/* The caller has the lock, which this releases. */
static void unref_locked(struct jzx_scope *scope) {
    bool is_last = --scope->refs == 0;
    jzx__lock_release(&scope->lock);
    if (!is_last)
        return;
    jzx__source_deinit(&scope->source);
    jzx__lock_deinit(&scope->lock);
    jzx__free(&scope->loop->sched.allocator, scope, sizeof *scope);
}

static void unref(struct jzx_scope *scope) {
    jzx__lock_acquire(&scope->lock);
    unref_locked(scope);
}

/* ---- cancelling ---- */

static struct jzx__scope_part *part_of_link(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__scope_part, in_scope);
}

/* The next that was not asked yet, which is now; JZX_NOBODY: there is none (C3). */
static jzx_actor_id next_to_ask(struct jzx_scope *scope) {
    jzx_actor_id id = JZX_NOBODY;
    jzx__lock_acquire(&scope->lock);
    struct jzx__link *link = jzx__list_pop_front(&scope->running);
    if (link != NULL) {
        jzx__list_push_back(&scope->asked, link);
        id = part_of_link(link)->id;
    }
    jzx__lock_release(&scope->lock);
    return id;
}

static void ask_all(struct jzx_scope *scope) {
    jzx_actor_id id;
    while ((id = next_to_ask(scope)) != JZX_NOBODY)
        (void)jzx_actor_stop(scope->loop, id, JZX_STOP_AFTER_QUEUE);
}

/* The clock decides, not the guard, which may run late (C7). */
static bool is_overdue(const struct jzx_scope *scope) {
    uint64_t deadline_ns = scope->deadline_ns;
    return deadline_ns != JZX_NEVER &&
           (deadline_ns == 0 || deadline_ns <= jzx__clock_now(&scope->loop->sched.clock));
}

/* All members have ended and no more can come: the outcome stands. Under the lock. */
static bool is_complete(const struct jzx_scope *scope) {
    return scope->is_closing && scope->count == 0;
}

/* The first error is the outcome; after the deadline it is the time-out. Under the lock. */
static void note_error(struct jzx_scope *scope, jzx_err err, jzx_actor_id member,
                       const char *text) {
    struct jzx_scope_result *result = &scope->result;
    if (is_complete(scope))
        return;
    scope->is_cancelled = true;
    if (result->err != JZX_OK)
        return;
    bool was_late = is_overdue(scope);
    result->err = was_late ? JZX_ERR_TIMEOUT : err;
    result->member = was_late ? JZX_NOBODY : member;
    snprintf(result->text, sizeof result->text, "%s", text == NULL || was_late ? "" : text);
}

/* The scope has failed so, unless it had before; its members are cancelled. */
static void fail(struct jzx_scope *scope, jzx_err err, jzx_actor_id member, const char *text) {
    jzx__lock_acquire(&scope->lock);
    note_error(scope, err, member, text);
    jzx__lock_release(&scope->lock);
    ask_all(scope);
}

static void time_out(struct jzx_scope *scope) {
    fail(scope, JZX_ERR_TIMEOUT, JZX_NOBODY, NULL);
}

void jzx_scope_cancel(jzx_scope *scope) {
    struct jzx__visit visit;
    if (scope == NULL)
        return;
    jzx__visit_begin(&visit);
    jzx__lock_acquire(&scope->lock);
    scope->refs++; /* who closes it may be done when the last member was asked */
    jzx__lock_release(&scope->lock);
    fail(scope, JZX_ERR_CANCELLED, JZX_NOBODY, NULL);
    unref(scope);
    jzx__visit_end(&visit);
}

/* ---- members ---- */

jzx_err jzx__scope_reserve(struct jzx_scope *scope) {
    if (scope->is_nursery)
        return JZX_OK; /* C5: tie counts it */
    if (is_overdue(scope))
        time_out(scope);
    jzx__lock_acquire(&scope->lock);
    jzx_err err = scope->is_closing     ? JZX_ERR_CLOSED
                  : scope->is_cancelled ? JZX_ERR_CANCELLED
                                        : JZX_OK;
    if (err == JZX_OK) {
        scope->count++;
        scope->refs += 2; /* of the member, and of who spawns it until settle or unreserve */
    }
    jzx__lock_release(&scope->lock);
    return err;
}

static void complete_close(struct jzx_scope *scope, struct jzx__worker *me, struct jzx__op *closer);

/* One less; wakes who closes it, if it was the last. */
static void leave(struct jzx_scope *scope, struct jzx__worker *me, struct jzx__link *link) {
    jzx__lock_acquire(&scope->lock);
    if (link != NULL) {
        jzx__list_remove(link);
        scope->result.ended++;
    }
    if (scope->count == 1 && scope->is_closing && is_overdue(scope))
        note_error(scope, JZX_ERR_TIMEOUT, JZX_NOBODY, NULL);
    bool is_empty = --scope->count == 0;
    struct jzx__op *closer = is_empty ? scope->closer : NULL;
    if (closer != NULL) {
        scope->closer = NULL;
        jzx__lock_release(&scope->lock);
        complete_close(scope, me, closer);
        unref(scope);
    } else if (is_empty && !jzx__list_is_empty(&scope->source.waiting)) {
        jzx__source_unlock_and_wake_all(&scope->source, JZX__CAUSE_ITEM, me);
        unref(scope);
    } else {
        unref_locked(scope);
    }
}

void jzx__scope_unreserve(struct jzx_scope *scope, struct jzx__worker *me) {
    if (scope->is_nursery)
        return; /* C5 */
    leave(scope, me, NULL);
    unref(scope);
}

bool jzx__scope_prepare(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold) {
    return jzx__part_ensure(loop, me, cold, JZX__PART_SCOPE) != NULL;
}

void jzx__scope_tie(struct jzx_scope *scope, struct jzx__cold *cold, jzx_actor_id id) {
    struct jzx__scope_part *part = jzx__cold_part(cold, JZX__PART_SCOPE);
    part->member_of = scope;
    part->id = id;
    part->limit_ns = scope->deadline_ns == JZX_NEVER ? 0
                     : scope->deadline_ns == 0       ? 1
                                                     : scope->deadline_ns;
    jzx__lock_acquire(&scope->lock);
    if (scope->is_nursery) { /* C5 */
        scope->count++;
        scope->refs++;
    }
    jzx__list_push_back(&scope->running, &part->in_scope);
    jzx__lock_release(&scope->lock);
}

void jzx__scope_settle(struct jzx_scope *scope, jzx_actor_id id) {
    if (scope->is_nursery)
        return; /* C5 */
    struct jzx_loop *loop = scope->loop;
    jzx__lock_acquire(&scope->lock);
    bool is_cancelled = scope->is_cancelled;
    unref_locked(scope);
    if (is_cancelled)
        (void)jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE);
}

struct scope_bonds {
    struct jzx__bonds bonds; /* first */
    struct jzx_scope *scope;
};

static void tie(struct jzx__cold *cold, const struct jzx__bonds *bonds, jzx_actor_id id) {
    jzx__scope_tie(((const struct scope_bonds *)(const void *)bonds)->scope, cold, id);
}

/* Counted already. */
static jzx_err spawn(struct jzx_scope *scope, struct jzx__worker *me, const jzx_spawn_opts *opts,
                     jzx_actor_id *id) {
    static const struct jzx__bond_ops ops = {.prepare = jzx__scope_prepare, .tie = tie};
    const struct scope_bonds bonds = {{.ops = &ops}, scope};
    jzx_actor_id made;
    jzx_err err = jzx__spawn_bound(scope->loop, me, opts, &bonds.bonds, &made);
    if (err != JZX_OK) {
        jzx__scope_unreserve(scope, me);
        return err;
    }
    jzx__scope_settle(scope, made);
    if (id != NULL)
        *id = made;
    return JZX_OK;
}

jzx_err jzx_scope_spawn(jzx_scope *scope, const jzx_spawn_opts *opts, jzx_actor_id *id) {
    struct jzx__visit visit;
    if (scope == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(scope->loop, &visit);
    jzx_err err = jzx__scope_reserve(scope);
    if (err == JZX_OK)
        err = spawn(scope, me, opts, id);
    jzx__visit_end(&visit);
    return err;
}

uint32_t jzx_scope_members(jzx_scope *scope) {
    struct jzx__visit visit;
    if (scope == NULL)
        return 0;
    jzx__visit_begin(&visit);
    jzx__lock_acquire(&scope->lock);
    uint32_t count = scope->count;
    jzx__lock_release(&scope->lock);
    jzx__visit_end(&visit);
    return count;
}

/* ---- openers ---- */

/* The record of the actor whose turn this thread runs; NULL without a turn (*err is JZX_OK) or
 * memory. An actor that has ended, of which an observer hears, has no turn any more (C8).
 * Inside. */
static struct jzx__scope_part *part_of_turn(struct jzx_loop *loop, struct jzx__worker *me,
                                            jzx_err *err) {
    const struct jzx__seat *seat = jzx__seat_of_thread;
    *err = JZX_OK;
    if (!jzx__seat_exists(seat) || jzx__seat_task(seat) == NULL || seat->cleanup != NULL)
        return NULL;
    const struct jzx__turn *turn = seat->turn;
    if (turn->ctx.loop != loop || jzx__actor_id(turn->actor) != turn->ctx.self)
        return NULL;
    struct jzx__cold *cold = jzx__cold_ensure(loop, me, turn->actor);
    struct jzx__scope_part *part =
        cold == NULL ? NULL : jzx__part_ensure(loop, me, cold, JZX__PART_SCOPE);
    if (part == NULL)
        *err = JZX_ERR_NO_MEMORY;
    return part;
}

struct jzx_scope *jzx__scope_nursery(struct jzx_loop *loop, struct jzx__worker *me, jzx_err *err) {
    struct jzx__scope_part *part = part_of_turn(loop, me, err);
    if (part != NULL && part->nursery == NULL) {
        part->nursery = create(loop);
        if (part->nursery != NULL)
            part->nursery->is_nursery = true;
        else
            *err = JZX_ERR_NO_MEMORY;
    }
    return part == NULL ? NULL : part->nursery;
}

/* ---- the deadline ---- */

struct guard {
    struct jzx_scope *scope; /* to which it has a handle */
    jzx_await_op op;
};

JZX_ASYNC(guard, struct guard, int) {
    JZX_AWAIT(jzx_op_sleep(&self->op, self->scope->deadline_ns), NULL);
    time_out(self->scope);
    JZX_RETURN(0);
}
JZX_END

static void leave_guard(jzx_context *ctx, jzx_exit_reason reason) {
    struct guard *guard = ctx->state;
    (void)reason;
    unref(guard->scope);
}

static jzx_err set_guard(struct jzx_scope *scope) {
    const struct guard state = {.scope = scope};
    jzx_future *future;
    if (scope->deadline_ns == JZX_NEVER)
        return JZX_OK;
    scope->refs++; /* nobody else has it yet */
    jzx_err err = jzx_async_spawn(
        scope->loop, &guard_type, &state,
        &JZX_ASYNC_OPTS(.name = "scope guard", .cleanup = leave_guard, .detached = true), &future);
    if (err != JZX_OK) {
        scope->refs--;
        return err;
    }
    scope->guard = jzx_async_actor(future);
    jzx_future_detach(future);
    return JZX_OK;
}

/* ---- opening and closing ---- */

static bool is_own_turn(const jzx_context *ctx) {
    const struct jzx__seat *seat = jzx__seat_of_thread;
    return ctx != NULL && jzx__seat_exists(seat) && (const void *)ctx == seat->turn;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* The opener's own waits end there, too. */
static void set_limit(const jzx_context *ctx, struct jzx__scope_part *part, uint64_t limit_ns) {
    part->limit_ns = limit_ns == JZX_NEVER ? 0 : limit_ns == 0 ? 1 : limit_ns;
    struct jzx__turn *turn = jzx__seat_of_thread->turn;
    struct jzx__async *async = jzx__actor_part(turn->actor, JZX__PART_ASYNC);
    (void)ctx;
    if (turn->kind == &jzx__kind_fiber)
        jzx__fiber_of_turn(turn)->limit_ns = limit_ns;
    if (async != NULL)
        async->limit_ns = limit_ns;
}

static jzx_err open_inside(jzx_context *ctx, struct jzx__worker *me, uint64_t deadline_ns,
                           jzx_scope **scope) {
    jzx_err err;
    struct jzx__scope_part *part = part_of_turn(ctx->loop, me, &err);
    if (part == NULL)
        return err == JZX_OK ? JZX_ERR_INVALID_ARG : err;
    struct jzx_scope *made = create(ctx->loop);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    made->outer_limit_ns = part->limit_ns == 0 ? JZX_NEVER : part->limit_ns;
    made->deadline_ns = least(deadline_ns, made->outer_limit_ns);
    err = set_guard(made);
    if (err != JZX_OK) {
        unref(made);
        return err;
    }
    made->next = part->opened;
    part->opened = made;
    set_limit(ctx, part, made->deadline_ns);
    *scope = made;
    return JZX_OK;
}

jzx_err jzx_scope_open(jzx_context *ctx, uint64_t deadline_ns, jzx_scope **scope) {
    struct jzx__visit visit;
    if (scope == NULL || !is_own_turn(ctx))
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
    jzx_err err = open_inside(ctx, me, deadline_ns, scope);
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_scope_async(jzx_scope *scope, const jzx_async_type *type, const void *state,
                        jzx_future **future) {
    return scope == NULL ? JZX_ERR_INVALID_ARG : jzx__async_spawn_in(scope, type, state, future);
}

static void stop_guard(const struct jzx_scope *scope) {
    if (scope->guard != JZX_NOBODY)
        (void)jzx_actor_stop(scope->loop, scope->guard, JZX_STOP_KILL);
}

/* Takes the scope out of those that the opener has opened; false if it is none of them. The limit
 * is that of the ones that are left. */
static bool forget(const jzx_context *ctx, struct jzx__scope_part *part, struct jzx_scope *scope) {
    struct jzx_scope **place = &part->opened;
    while (*place != NULL && *place != scope)
        place = &(*place)->next;
    if (*place == NULL)
        return false;
    if (place == &part->opened)
        set_limit(ctx, part, scope->outer_limit_ns);
    else /* the one inside it keeps its limit, and leaves that of the ones outside */
        JZX_CONTAINER_OF(place, struct jzx_scope, next)->outer_limit_ns = scope->outer_limit_ns;
    *place = scope->next;
    return true;
}

/* All members have ended. Inside. */
static JZX_ACROSS_WAIT jzx_err finish(const jzx_context *ctx, struct jzx_scope *scope,
                                      jzx_scope_result *how) {
    const struct jzx__turn *turn = jzx__seat_of_thread->turn;
    jzx__lock_acquire(&scope->lock); /* the guard may still write it */
    jzx_err err = scope->result.err;
    if (how != NULL)
        jzx__write_sized(how, &scope->result);
    jzx__lock_release(&scope->lock);
    (void)forget(ctx, jzx__actor_part(turn->actor, JZX__PART_SCOPE), scope);
    stop_guard(scope);
    unref(scope);
    return err;
}

/* True if the scope is one that the actor of this turn has opened. */
static bool has_opened(const struct jzx_scope *scope) {
    const struct jzx__turn *turn = jzx__seat_of_thread->turn;
    const struct jzx__scope_part *part = jzx__actor_part(turn->actor, JZX__PART_SCOPE);
    const struct jzx_scope *opened = part == NULL ? NULL : part->opened;
    while (opened != NULL && opened != scope)
        opened = opened->next;
    return opened != NULL;
}

/* It takes no member any more. */
static void set_closing(struct jzx_scope *scope) {
    if (is_overdue(scope))
        time_out(scope);
    jzx__lock_acquire(&scope->lock);
    scope->is_closing = true;
    jzx__lock_release(&scope->lock);
}

/* False if the actor of this turn has not opened it; else it is closing from now on. */
static JZX_ACROSS_WAIT bool begin_close(struct jzx_scope *scope) {
    if (!has_opened(scope))
        return false;
    set_closing(scope);
    return true;
}

jzx_err jzx_scope_close(jzx_context *ctx, jzx_scope *scope, jzx_scope_result *how) {
    jzx_err err;
    if (scope == NULL || (how != NULL && !jzx__is_sized(how, sizeof *how)))
        return JZX_ERR_INVALID_ARG;
    struct jzx__fiber *fiber = jzx__fiber_enter(ctx, "jzx_scope_close", &err);
    if (fiber == NULL)
        return err;
    if (!begin_close(scope)) {
        jzx__fiber_leave(fiber);
        return JZX_ERR_INVALID_ARG;
    }
    struct jzx__wait_link link = {.source = &scope->source};
    struct jzx__event event = {
        .kind = JZX_WAIT_SCOPE, .object = (uint64_t)(uintptr_t)scope, .links = &link, .count = 1};
    err = jzx__cause_err(jzx__fiber_await(fiber, &event, JZX_NEVER));
    if (err != JZX_OK) {
        fail(scope, err, JZX_NOBODY, NULL);
        event.is_firm = true;
        (void)jzx__fiber_await(fiber, &event, JZX_NEVER);
    }
    err = finish(ctx, scope, how);
    jzx__fiber_leave(fiber);
    return err;
}

/* ---- closing by an operation (C6) ---- */

/* What it keeps in its slot. */
struct close {
    struct jzx_scope *scope; /* under the lock of the slot; NULL: it is complete */
};

static struct jzx__lock *lock_of(const struct jzx__op *op) {
    return jzx__future_lock(jzx__future_home_of(op->loop), op);
}

/* All members have ended. */
static void complete_close(struct jzx_scope *scope, struct jzx__worker *me,
                           struct jzx__op *closer) {
    struct close *close = jzx__op_own(closer);
    jzx__lock_acquire(&scope->lock); /* the guard may still write it */
    jzx_scope_result result = scope->result;
    jzx__lock_release(&scope->lock);
    jzx__lock_acquire(lock_of(closer));
    close->scope = NULL;
    jzx__lock_release(lock_of(closer));
    stop_guard(scope);
    unref(scope);
    jzx__op_complete(closer, me, result.err, &result, sizeof result);
}

/* The members are asked to end; it completes when they have. */
static void cancel_close(struct jzx__op *op, struct jzx__worker *me) {
    const struct close *close = jzx__op_own(op);
    (void)me;
    jzx__lock_acquire(lock_of(op));
    struct jzx_scope *scope = close->scope;
    if (scope != NULL) {
        jzx__lock_acquire(&scope->lock);
        scope->refs++;
        jzx__lock_release(&scope->lock);
    }
    jzx__lock_release(lock_of(op));
    if (scope == NULL)
        return;
    fail(scope, JZX_ERR_CANCELLED, JZX_NOBODY, NULL);
    unref(scope);
}

/* The operation waits for the last member, or completes at once. */
static void close_by(struct jzx_scope *scope, struct jzx__worker *me, struct jzx__op *op) {
    jzx__lock_acquire(&scope->lock);
    bool is_empty = scope->count == 0;
    if (!is_empty)
        scope->closer = op;
    jzx__lock_release(&scope->lock);
    if (is_empty)
        complete_close(scope, me, op);
}

static jzx_err begin_close_to(struct jzx__own *own, struct jzx_scope *scope, uint32_t tag,
                              jzx_op *id) {
    static const struct jzx__op_ops ops = {.cancel = cancel_close};
    const struct jzx__op_spec spec = {
        .ops = &ops, .capacity = sizeof(jzx_scope_result), .tag = tag};
    struct jzx__op *op;
    if (!has_opened(scope))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__op_begin(own, &spec, &op);
    if (err != JZX_OK)
        return err;
    if (id != NULL)
        *id = jzx__op_id(op);
    *(struct close *)jzx__op_own(op) = (struct close){scope};
    jzx__op_launch(op);
    set_closing(scope);
    (void)forget(&own->turn->ctx, jzx__own_part(own, JZX__PART_SCOPE), scope);
    close_by(scope, own->me, op);
    return JZX_OK;
}

jzx_err jzx_scope_close_to(jzx_context *ctx, jzx_scope *scope, uint32_t tag, jzx_op *op) {
    struct jzx__own own;
    if (scope == NULL || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = begin_close_to(&own, scope, tag, op);
    jzx__own_end(&own);
    return err;
}

/* ---- for async functions ---- */

static jzx_poll poll_close(jzx_awaitable *what, jzx_context *ctx, void *out) {
    struct jzx__await *await = JZX_CONTAINER_OF(what, struct jzx__await, base);
    struct jzx_scope *scope = await->object;
    struct jzx__visit visit;
    if (!await->begun &&
        (!is_own_turn(ctx) || scope == NULL ||
         (out != NULL && !jzx__is_sized(out, sizeof(jzx_scope_result))) || !begin_close(scope))) {
        what->err = JZX_ERR_INVALID_ARG;
        return JZX_READY;
    }
    if (jzx__await_wait(await, ctx) == JZX_PENDING)
        return JZX_PENDING;
    jzx__visit_begin(&visit);
    if (what->err !=
        JZX_OK) { /* it is to end, or its time is over: but all members are waited for */
        fail(scope, what->err, JZX_NOBODY, NULL);
        await->begun = false;
        await->is_firm = true;
        (void)jzx__await_wait(await, ctx);
        jzx__visit_end(&visit);
        return JZX_PENDING;
    }
    what->err = finish(ctx, scope, out);
    jzx__visit_end(&visit);
    return JZX_READY;
}

jzx_awaitable *jzx_op_close(jzx_await_op *op, jzx_scope *scope) {
    struct jzx__await *await = (void *)op;
    *await = (struct jzx__await){
        .base = {.poll = poll_close}, .object = scope, .deadline_ns = JZX_NEVER};
    if (scope != NULL)
        await->link.source = &scope->source;
    return &await->base;
}

/* ---- the part ---- */

/* What the actor has opened is cancelled, and goes on without it. */
static void give_up(struct jzx__scope_part *part) {
    while (part->opened != NULL) {
        struct jzx_scope *scope = part->opened;
        part->opened = scope->next;
        fail(scope, JZX_ERR_CANCELLED, JZX_NOBODY, NULL);
        stop_guard(scope);
        unref(scope);
    }
    if (part->nursery != NULL) {
        fail(part->nursery, JZX_ERR_CANCELLED, JZX_NOBODY, NULL);
        unref(part->nursery);
    }
    part->nursery = NULL;
}

static void cancel(struct jzx__worker *me, struct jzx__actor *actor) {
    (void)me;
    give_up(jzx__cold_part(jzx__actor_cold(actor), JZX__PART_SCOPE));
}

/* How a member has ended: JZX_OK unless it has failed. */
static jzx_err err_of(const struct jzx__cold *cold, const struct jzx__ending *ending,
                      const char **text) {
    const struct jzx__async *async = jzx__cold_part(cold, JZX__PART_ASYNC);
    *text = ending->text;
    if (async != NULL && async->is_done) {
        *text = async->root.base.text;
        return async->root.base.err;
    }
    switch (ending->reason) {
    case JZX_EXIT_NORMAL:
    case JZX_EXIT_KILLED:
    case JZX_EXIT_SHUTDOWN: return JZX_OK;
    default: return JZX_ERR_FAILED;
    }
}

static void tell(struct jzx__worker *me, struct jzx__cold *cold, struct jzx__ending *ending) {
    struct jzx__scope_part *part = jzx__cold_part(cold, JZX__PART_SCOPE);
    struct jzx_scope *scope = part->member_of;
    const char *text;
    if (scope == NULL)
        return;
    jzx_err err = err_of(cold, ending, &text);
    if (!scope->is_nursery && err != JZX_OK && err != JZX_ERR_CANCELLED)
        fail(scope, err, ending->id, text);
    part->member_of = NULL;
    leave(scope, me, &part->in_scope);
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    give_up(record); /* C8 */
    jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, record);
}

static size_t size_bytes(const void *record) {
    (void)record;
    return jzx__slab_class_size(JZX__PART_CLASS);
}

const struct jzx__part_ops jzx__part_scope = {
    .cancel = cancel,
    .tell = tell,
    .release = release,
    .size_bytes = size_bytes,
};
