/* SPDX-License-Identifier: MIT */
/* Promises and futures, and those who wait for them. */
#include "future/future.h"

#include "actor/waitless.h"
#include "base/alloc.h"
#include "base/log.h"
#include "fiber/fiber.h"

#include "jzx/observe.h"

#include <stdio.h>
#include <string.h>

static struct jzx_future *future_of(jzx_promise *promise) {
    return (struct jzx_future *)(void *)promise;
}

/* ---- the source: what is settled is there for all ---- */

static struct jzx_future *future_of_source(struct jzx__source *source) {
    return JZX_CONTAINER_OF(source, struct jzx_future, source);
}

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    (void)link;
    return jzx__future_is_settled(future_of_source(source)) ? JZX__CAUSE_ITEM : JZX__CAUSE_NONE;
}

/* Who has waited reads the future itself. */
static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    (void)source, (void)link, (void)wake;
    return true;
}

static const struct jzx__source_ops source_ops = {.look = look, .take = take};

/* ---- making one ---- */

static size_t value_room(size_t value_size) {
    const size_t start = offsetof(struct jzx_future, value);
    const size_t least = sizeof((struct jzx_future *)0)->value;
    return (start + (value_size < least ? least : value_size) + 15) / 16 * 16 - start;
}

static size_t block_size(size_t value_size, size_t extra) {
    return offsetof(struct jzx_future, value) + value_room(value_size) + extra;
}

static size_t size_of(struct jzx_future *future) {
    bool has_extra = future->ops != NULL && future->ops->extra != NULL;
    return block_size(future->value_size, has_extra ? future->ops->extra(future) : 0);
}

void *jzx__future_extra(struct jzx_future *future) {
    return future->value.bytes + value_room(future->value_size);
}

struct jzx_future *jzx__future_create(struct jzx__future_home *home, struct jzx__worker *me,
                                      size_t value_size, size_t extra,
                                      const struct jzx__future_ops *ops) {
    uint8_t class_index;
    struct jzx_future *future =
        jzx__future_alloc(home, me, block_size(value_size, extra), &class_index);
    if (future == NULL)
        return NULL;
    jzx__source_init(&future->source, jzx__future_lock(home, future), &source_ops);
    future->home = home;
    future->ops = ops;
    future->thens = NULL;
    future->flags = 0;
    future->class_index = class_index;
    future->then_count = 0;
    future->value_size = (uint32_t)value_size;
    memset(&future->value, 0, sizeof future->value);
    /* relaxed, all: nobody else has it yet */
    jzx__atomic_store_relaxed(&future->seen, (uint8_t)0);
    jzx__atomic_store_relaxed(&future->holders, JZX__HOLDER_PROMISE | 1u);
    jzx__atomic_store_relaxed(&future->state, (uint8_t)JZX_FUTURE_RUNNING);
    return future;
}

/* ---- settling ---- */

/* The row of thens that the outermost settling of this thread runs (F4). */
struct row {
    struct jzx__then *first;
    struct jzx__then **last;
};

static _Thread_local struct row *row_of_thread;

static void run_row(struct row *row, struct jzx__worker *me) {
    while (row->first != NULL) {
        struct jzx__then *then = row->first;
        row->first = then->next;
        if (row->first == NULL)
            row->last = &row->first;
        then->run(then, then->future, me);
    }
}

/* Oldest first. */
static struct jzx__then *reverse(struct jzx__then *thens) {
    struct jzx__then *oldest = NULL;
    while (thens != NULL) {
        struct jzx__then *then = thens;
        thens = then->next;
        then->next = oldest;
        oldest = then;
    }
    return oldest;
}

static void run_thens(struct jzx__then *thens, struct jzx__worker *me) {
    struct row row = {.last = &row.first};
    struct row *outer = row_of_thread;
    if (thens == NULL)
        return;
    struct row *mine = outer != NULL ? outer : &row;
    *mine->last = reverse(thens);
    while (*mine->last != NULL)
        mine->last = &(*mine->last)->next;
    if (outer != NULL)
        return;
    row_of_thread = &row;
    run_row(&row, me);
    row_of_thread = NULL;
}

/* The state from here on is that; value and error were written. Under the lock; takes the thens. */
static struct jzx__then *set_state(struct jzx_future *future, jzx_future_status state) {
    struct jzx__then *thens = future->thens;
    for (struct jzx__then *then = thens; then != NULL; then = then->next)
        then->place = NULL;
    future->thens = NULL;
    /* release: pairs with jzx__future_state */
    jzx__atomic_store_release(&future->state, (uint8_t)state);
    return thens;
}

struct outcome {
    jzx_err err;       /* JZX_OK: the value */
    const void *value; /* or NULL */
    bool is_moved;
    jzx_drop_fn drop;
    char *text; /* of the allocator, or NULL */
};

static void write_outcome(struct jzx_future *future, const struct outcome *outcome) {
    future->err = outcome->err;
    if (outcome->err != JZX_OK) {
        future->flags = outcome->text != NULL ? JZX__FUTURE_TEXT : 0;
        future->value.text = outcome->text;
    } else if (outcome->is_moved) {
        future->flags = JZX__FUTURE_MOVED;
        /* relaxed: published with the state */
        jzx__atomic_store_relaxed(&future->value.moved.object, (void *)(uintptr_t)outcome->value);
        future->value.moved.drop = outcome->drop;
    } else if (outcome->value == future->value.bytes) {
        return; /* it was written in place (operate/B1) */
    } else if (outcome->value != NULL) {
        memcpy(future->value.bytes, outcome->value, future->value_size);
    } else {
        memset(future->value.bytes, 0, future->value_size);
    }
}

/* False if it was settled before. Inside. */
static bool settle(struct jzx_future *future, struct jzx__worker *me,
                   const struct outcome *outcome) {
    jzx__lock_acquire(future->source.lock);
    if (jzx__future_is_settled(future)) {
        jzx__lock_release(future->source.lock);
        return false;
    }
    const jzx_future_status state =
        outcome->err == JZX_OK ? JZX_FUTURE_RESOLVED : JZX_FUTURE_REJECTED;
    if (JZX__MUTANT(future_state_before_value))
        (void)set_state(future, state);
    write_outcome(future, outcome);
    struct jzx__then *thens = set_state(future, state);
    if (JZX__MUTANT(future_thens_under_lock))
        run_thens(thens, me);
    jzx__source_unlock_and_wake_all(&future->source, JZX__CAUSE_ITEM, me);
    run_thens(thens, me);
    return true;
}

char *jzx__future_text_copy(const struct jzx__future_home *home, const char *text) {
    if (text == NULL || text[0] == '\0')
        return NULL;
    char *copy = jzx__alloc(&home->allocator, JZX_FUTURE_TEXT_MAX + 1);
    if (copy != NULL)
        snprintf(copy, JZX_FUTURE_TEXT_MAX + 1, "%s", text);
    return copy;
}

void jzx__future_text_free(const struct jzx__future_home *home, char *text) {
    if (text != NULL)
        jzx__free(&home->allocator, text, JZX_FUTURE_TEXT_MAX + 1);
}

jzx_err jzx__future_resolve(struct jzx_future *future, struct jzx__worker *me, const void *value) {
    const struct outcome outcome = {.value = value};
    return settle(future, me, &outcome) ? JZX_OK : JZX_ERR_CANCELLED;
}

jzx_err jzx__future_reject(struct jzx_future *future, struct jzx__worker *me, jzx_err err,
                           const char *text) {
    const struct outcome outcome = {.err = err, .text = jzx__future_text_copy(future->home, text)};
    if (settle(future, me, &outcome))
        return JZX_OK;
    jzx__future_text_free(future->home, outcome.text);
    return JZX_ERR_CANCELLED;
}

static void mark_seen(struct jzx_future *future) {
    /* relaxed: who frees it has taken holders to 0 after that */
    jzx__atomic_store_relaxed(&future->seen, (uint8_t)1);
}

static const char *text_of(const struct jzx_future *future) {
    return future->flags & JZX__FUTURE_TEXT ? future->value.text : "";
}

/* The object of from becomes that of the future. If that is settled, it stays where it is. */
static jzx_err move_on(struct jzx_future *future, struct jzx__worker *me, struct jzx_future *from) {
    /* acq_rel: pairs with itself and jzx_future_take: one gets it */
    void *object = jzx__atomic_exchange_acq_rel(&from->value.moved.object, NULL);
    const struct outcome outcome = {
        .value = object, .is_moved = true, .drop = from->value.moved.drop};
    if (settle(future, me, &outcome))
        return JZX_OK;
    if (object != NULL) /* release: pairs with the exchange above */
        jzx__atomic_store_release(&from->value.moved.object, object);
    return JZX_ERR_CANCELLED;
}

jzx_err jzx__future_copy(struct jzx_future *future, struct jzx__worker *me,
                         struct jzx_future *from) {
    JZX_ASSERT(jzx__future_is_settled(from));
    if (from->err != JZX_OK) {
        mark_seen(from);
        return jzx__future_reject(future, me, from->err, text_of(from));
    }
    JZX_ASSERT(from->value_size == future->value_size);
    if (from->flags & JZX__FUTURE_MOVED)
        return move_on(future, me, from);
    return jzx__future_resolve(future, me, from->value.bytes);
}

/* ---- handles ---- */

/* Nobody has read its error. Inside. */
static void report(struct jzx_future *future, const struct jzx__future_visit *visit) {
    char detail[JZX_FUTURE_TEXT_MAX + 64];
    snprintf(detail, sizeof detail, "%s%s%s", jzx_err_name((jzx_err)future->err),
             future->flags & JZX__FUTURE_TEXT ? ": " : "", text_of(future));
    if (visit->me != NULL) {
        jzx_event event = {.kind = JZX_EVENT_UNHANDLED_REJECTION, .detail = detail};
        jzx__loop_emit(future->home->loop, &event);
    } else if (visit->is_open) {
        jzx__log(&future->home->loop->sched.log, JZX_LOG_WARN, "a rejection that nobody read: %s",
                 detail);
    }
}

/* What it has come to is destroyed; nobody else has it. Inside. */
static void release_outcome(struct jzx_future *future, const struct jzx__future_visit *visit) {
    jzx_future_status state = jzx__future_state(future);
    /* relaxed: the last one has seen all that the others did, by the count */
    bool seen = jzx__atomic_load_relaxed(&future->seen) != 0;
    if (state == JZX_FUTURE_REJECTED && !seen && future->err != JZX_ERR_CANCELLED)
        report(future, visit);
    if (state == JZX_FUTURE_REJECTED && (future->flags & JZX__FUTURE_TEXT))
        jzx__future_text_free(future->home, future->value.text);
    if (state == JZX_FUTURE_RESOLVED && (future->flags & JZX__FUTURE_MOVED)) {
        /* relaxed: as above */
        void *object = jzx__atomic_load_relaxed(&future->value.moved.object);
        if (object != NULL && future->value.moved.drop != NULL)
            future->value.moved.drop(object);
    }
}

static void cancel_work(struct jzx_future *future, struct jzx__worker *me) {
    if (future->ops != NULL && future->ops->cancel != NULL && !jzx__future_is_settled(future))
        future->ops->cancel(future, me);
}

/* Gives up a handle of one that was not started: each of those goes under the lock, so that what is
 * read there is of one moment (F5). If only thens have one besides, it is given up instead, and the
 * handle is still there, as it is if the future was started or settled. True if it went. */
static bool leave_unstarted(struct jzx_future *future, struct jzx__worker *me) {
    const uint32_t mine = JZX__HOLDER_PROMISE | 1u;
    jzx__lock_acquire(future->source.lock);
    bool is_unstarted = jzx__future_state(future) == JZX_FUTURE_PENDING;
    /* relaxed: a then's handle is taken before it is hung, and goes after it is taken out; others
     * can only add to them meanwhile */
    bool is_unwanted =
        is_unstarted && jzx__atomic_load_relaxed(&future->holders) == mine + future->then_count;
    if (is_unwanted) /* release: pairs with jzx__future_state */
        jzx__atomic_store_release(&future->state, (uint8_t)JZX_FUTURE_RUNNING);
    else if (is_unstarted) /* relaxed: who frees it has taken the lock after this */
        jzx__atomic_add_relaxed(&future->holders, 0u - 1u);
    jzx__lock_release(future->source.lock);
    if (is_unwanted)
        future->ops->give_up(future, me);
    return is_unstarted && !is_unwanted;
}

/* Gives up holders; true if nobody has it any more. If the last handle goes while the promise is
 * there, what works on it is cancelled before: nobody makes another handle meanwhile. */
static bool leave(struct jzx_future *future, struct jzx__worker *me, uint32_t holders,
                  bool cancels) {
    if (holders == 1 && jzx__future_state(future) == JZX_FUTURE_PENDING &&
        leave_unstarted(future, me))
        return false;
    /* acquire: pairs with the exchange below; what each other holder did is over */
    uint32_t before = jzx__atomic_load_acquire(&future->holders);
    if (before == holders)
        return true; /* F2: nobody else has it, or can get it */
    do {
        JZX_ASSERT((before & holders) == holders || holders < before); /* F2 */
        if (holders == 1 && cancels && before == (JZX__HOLDER_PROMISE | 1u))
            cancel_work(future, me);
        /* acq_rel: pairs with itself: what each holder did is over for who frees it */
    } while (!jzx__atomic_cas_acq_rel(&future->holders, &before, before - holders));
    return before == holders;
}

/* Ends the visit. */
static void let_go_inside(struct jzx_future *future, const struct jzx__future_visit *visit,
                          uint32_t holders, bool cancels) {
    struct jzx__future_home *home = future->home;
    bool is_last = leave(future, visit->me, holders, cancels);
    size_t size = 0;
    uint8_t class_index = 0;
    if (is_last) {
        size = size_of(future);
        release_outcome(future, visit);
        if (future->ops != NULL && future->ops->release != NULL)
            future->ops->release(future, visit->me);
        class_index = future->class_index;
        jzx__source_deinit(&future->source);
        if (visit->me != NULL)
            jzx__future_free(home, visit->me, future, size, class_index);
    }
    bool frees = is_last && visit->me == NULL;
    jzx__future_visit_end(home, visit);
    if (frees)
        jzx__future_free(home, NULL, future, size, class_index);
}

static void let_go(struct jzx_future *future, uint32_t holders, bool cancels) {
    struct jzx__future_visit visit;
    (void)jzx__future_visit(future->home, &visit);
    let_go_inside(future, &visit, holders, cancels);
}

void jzx__future_let_go(struct jzx_future *future, uint32_t holders) {
    let_go(future, holders, true);
}

jzx_future *jzx_future_ref(jzx_future *future) {
    if (future != NULL) /* relaxed: the caller's own handle keeps it */
        jzx__atomic_add_relaxed(&future->holders, 1u);
    return future;
}

void jzx_future_release(jzx_future *future) {
    if (future != NULL)
        let_go(future, 1, true);
}

void jzx_future_detach(jzx_future *future) {
    if (future != NULL)
        let_go(future, 1, false);
}

void jzx_future_cancel(jzx_future *future) {
    struct jzx__future_visit visit;
    if (future == NULL)
        return;
    struct jzx__future_home *home = future->home;
    if (jzx__future_visit(home, &visit)) {
        if (future->ops != NULL && future->ops->cancel != NULL)
            cancel_work(future, visit.me);
        else
            (void)jzx__future_reject(future, visit.me, JZX_ERR_CANCELLED, NULL);
    }
    jzx__future_visit_end(home, &visit);
}

/* ---- promises ---- */

jzx_err jzx_promise_create(jzx_loop *loop, size_t value_size, jzx_promise **promise,
                           jzx_future **future) {
    struct jzx__visit visit;
    if (loop == NULL || promise == NULL || future == NULL || value_size > JZX_FUTURE_VALUE_MAX)
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx_future *made =
        jzx__future_create(jzx__future_home_of(loop), me, value_size, 0, NULL);
    jzx__visit_end(&visit);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    *promise = (jzx_promise *)(void *)made;
    *future = made;
    return JZX_OK;
}

static void drop_moved(const struct outcome *outcome) {
    if (outcome->drop != NULL && outcome->value != NULL)
        outcome->drop((void *)(uintptr_t)outcome->value);
}

/* Settles it inside a visit, or, when the loop is gone, with that fact: the thens that are left by
 * then are those of combinators, which touch no loop, and would keep their blocks for ever. */
static jzx_err settle_in_visit(struct jzx_future *future, const struct jzx__future_visit *visit,
                               const struct outcome *outcome) {
    const struct outcome closed = {.err = JZX_ERR_LOOP_CLOSED};
    if (visit->is_open)
        return settle(future, visit->me, outcome) ? JZX_OK : JZX_ERR_CANCELLED;
    (void)settle(future, NULL, &closed);
    return JZX_ERR_LOOP_CLOSED;
}

/* Settles it, and gives the promise up. */
static jzx_err fulfil(struct jzx_future *future, const struct outcome *outcome) {
    struct jzx__future_home *home = future->home;
    struct jzx__future_visit visit;
    if (JZX__MUTANT(future_left_before_settled))
        let_go(future, JZX__HOLDER_PROMISE, false);
    (void)jzx__future_visit(home, &visit);
    jzx_err err = settle_in_visit(future, &visit, outcome);
    if (JZX__MUTANT(future_left_before_settled))
        return err;
    if (err == JZX_OK) {
        let_go_inside(future, &visit, JZX__HOLDER_PROMISE, false);
        return JZX_OK;
    }
    jzx__future_visit_end(home, &visit);
    jzx__future_text_free(home, outcome->text);
    drop_moved(outcome);
    let_go(future, JZX__HOLDER_PROMISE, false);
    return err;
}

jzx_err jzx_promise_resolve(jzx_promise *promise, const void *value) {
    if (promise == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx_future *future = future_of(promise);
    if (value == NULL && future->value_size != 0) {
        const struct outcome wrong = {.err = JZX_ERR_INVALID_ARG};
        (void)fulfil(future, &wrong);
        return JZX_ERR_INVALID_ARG;
    }
    const struct outcome outcome = {.value = value};
    return fulfil(future, &outcome);
}

jzx_err jzx_promise_resolve_moved(jzx_promise *promise, void *object, jzx_drop_fn drop) {
    const struct outcome outcome = {.value = object, .is_moved = true, .drop = drop};
    if (promise != NULL && future_of(promise)->value_size == sizeof(void *))
        return fulfil(future_of(promise), &outcome);
    drop_moved(&outcome);
    if (promise != NULL)
        (void)jzx_promise_reject(promise, JZX_ERR_INVALID_ARG, "not a promise for an object");
    return JZX_ERR_INVALID_ARG;
}

jzx_err jzx_promise_reject(jzx_promise *promise, jzx_err err, const char *text) {
    if (promise == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx_future *future = future_of(promise);
    const struct outcome outcome = {.err = err == JZX_OK ? JZX_ERR_INVALID_ARG : err,
                                    .text = jzx__future_text_copy(future->home, text)};
    jzx_err done = fulfil(future, &outcome);
    return err == JZX_OK ? JZX_ERR_INVALID_ARG : done;
}

void jzx_promise_drop(jzx_promise *promise) {
    if (promise != NULL)
        (void)jzx_promise_reject(promise, JZX_ERR_BROKEN_PROMISE, NULL);
}

bool jzx_promise_is_wanted(const jzx_promise *promise) {
    const struct jzx_future *future = (const struct jzx_future *)(const void *)promise;
    /* relaxed: a picture of the moment */
    return future != NULL && !jzx__future_is_settled(future) &&
           jzx__atomic_load_relaxed(&future->holders) != JZX__HOLDER_PROMISE;
}

/* A future whose promise is settled by the caller. */
static jzx_err make(jzx_loop *loop, size_t value_size, jzx_promise **promise, jzx_future **future) {
    return future == NULL ? JZX_ERR_INVALID_ARG
                          : jzx_promise_create(loop, value_size, promise, future);
}

jzx_err jzx_future_resolved(jzx_loop *loop, const void *value, size_t value_size,
                            jzx_future **future) {
    jzx_promise *promise;
    if (value == NULL && value_size != 0)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = make(loop, value_size, &promise, future);
    if (err == JZX_OK)
        (void)jzx_promise_resolve(promise, value);
    return err;
}

jzx_err jzx_future_rejected(jzx_loop *loop, jzx_err why, const char *text, jzx_future **future) {
    jzx_promise *promise;
    if (why == JZX_OK)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = make(loop, 0, &promise, future);
    if (err == JZX_OK)
        (void)jzx_promise_reject(promise, why, text);
    return err;
}

/* ---- reading ---- */

jzx_err jzx__future_read(struct jzx_future *future, void *value) {
    JZX_ASSERT(jzx__future_is_settled(future));
    if (future->err != JZX_OK) {
        mark_seen(future);
        return (jzx_err)future->err;
    }
    if (value != NULL && (future->flags & JZX__FUTURE_MOVED)) {
        /* acquire: pairs with the release of its state; another may take it meanwhile */
        void *object = jzx__atomic_load_acquire(&future->value.moved.object);
        memcpy(value, &object, sizeof object);
    } else if (value != NULL && future->value_size != 0) {
        memcpy(value, future->value.bytes, future->value_size);
    }
    return JZX_OK;
}

jzx_err jzx_future_try(jzx_future *future, void *value) {
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    switch (jzx__future_state(future)) {
    case JZX_FUTURE_PENDING: return JZX_ERR_INVALID_STATE;
    case JZX_FUTURE_RUNNING: return JZX_ERR_TIMEOUT;
    default: return jzx__future_read(future, value);
    }
}

jzx_err jzx_await(jzx_context *ctx, jzx_future *future, uint64_t deadline_ns, void *value) {
    jzx_err err;
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__fiber *fiber = jzx__fiber_enter(ctx, "jzx_await", &err);
    if (fiber == NULL)
        return err;
    if (jzx__future_state(future) == JZX_FUTURE_PENDING) {
        err = JZX_ERR_INVALID_STATE;
    } else {
        struct jzx__wait_link link = {.source = &future->source};
        const struct jzx__event event = {.kind = JZX_WAIT_FUTURE,
                                         .object = (uint64_t)(uintptr_t)future,
                                         .links = &link,
                                         .count = 1};
        err = jzx__cause_err(jzx__fiber_await(fiber, &event, deadline_ns));
        if (err == JZX_OK)
            err = jzx__future_read(future, value);
    }
    jzx__fiber_leave(fiber);
    return err;
}

/* Behind the gate. */
static jzx_err block(jzx_future *future, uint64_t deadline_ns, void *value) {
    struct jzx__wait_link link = {.source = &future->source};
    uint32_t cause = jzx__future_block(future->home, &link, 1, deadline_ns);
    switch (jzx__cause_kind(cause)) {
    case JZX__CAUSE_ITEM: return jzx__future_read(future, value);
    case JZX__CAUSE_CLOSED: return JZX_ERR_LOOP_CLOSED;
    default: return jzx__cause_err(cause);
    }
}

jzx_err jzx_future_wait(jzx_future *future, uint64_t deadline_ns, void *value) {
    struct jzx__future_visit visit;
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    if (jzx__seat_exists(jzx__seat_of_thread))
        return jzx__waitless_refuse(NULL, "jzx_future_wait");
    /* One look decides: it may be settled, or started, at any time. */
    jzx_future_status state = jzx__future_state(future);
    if (state == JZX_FUTURE_PENDING)
        return JZX_ERR_INVALID_STATE;
    if (state != JZX_FUTURE_RUNNING)
        return jzx__future_read(future, value);
    if (deadline_ns == 0)
        return JZX_ERR_TIMEOUT;
    jzx_err err = JZX_ERR_LOOP_CLOSED;
    if (jzx__future_visit(future->home, &visit))
        err = block(future, deadline_ns, value);
    jzx__future_visit_end(future->home, &visit);
    return err;
}

/* ---- what else it can tell ---- */

jzx_future_status jzx_future_state(const jzx_future *future) {
    return future == NULL ? JZX_FUTURE_PENDING : jzx__future_state(future);
}

bool jzx_future_is_ready(const jzx_future *future) {
    return future != NULL && jzx__future_is_settled(future);
}

size_t jzx_future_value_size(const jzx_future *future) {
    return future == NULL ? 0 : future->value_size;
}

jzx_err jzx_future_error(jzx_future *future, const char **text) {
    if (text != NULL)
        *text = "";
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    if (jzx__future_state(future) != JZX_FUTURE_REJECTED)
        return JZX_OK;
    mark_seen(future);
    if (text != NULL)
        *text = text_of(future);
    return (jzx_err)future->err;
}

void *jzx_future_take(jzx_future *future) {
    if (future == NULL || jzx__future_state(future) != JZX_FUTURE_RESOLVED ||
        !(future->flags & JZX__FUTURE_MOVED))
        return NULL;
    /* acq_rel: pairs with itself: one gets it */
    return jzx__atomic_exchange_acq_rel(&future->value.moved.object, NULL);
}

/* ---- thens ---- */

bool jzx__future_on(struct jzx_future *future, struct jzx__then *then, jzx__then_fn *run) {
    then->future = future;
    then->lock = future->source.lock;
    then->run = run;
    jzx__lock_acquire(future->source.lock);
    bool waits = !jzx__future_is_settled(future);
    if (waits) {
        then->next = future->thens;
        then->place = &future->thens;
        if (then->next != NULL)
            then->next->place = &then->next;
        future->thens = then;
        future->then_count++;
    }
    jzx__lock_release(future->source.lock);
    return waits;
}

bool jzx__future_off(struct jzx__then *then) {
    struct jzx__lock *lock = then->lock;
    jzx__lock_acquire(lock);
    bool waited = then->place != NULL;
    if (waited) {
        *then->place = then->next;
        if (then->next != NULL)
            then->next->place = then->place;
        then->place = NULL;
        then->future->then_count--; /* it is there: the then has a handle */
    }
    jzx__lock_release(lock);
    return waited;
}
