/* SPDX-License-Identifier: MIT */
/* The turn of an async function, its beginning and its end. */
#include "future/async.h"

#include "actor/exit.h"
#include "actor/mailbox.h"
#include "actor/pin.h"
#include "actor/spawn.h"
#include "actor/turn.h"
#include "base/sized.h"
#include "future/scope.h"
#include "timer/timer.h"

#include "jzx/loop.h"

#include <string.h>

struct jzx__async *jzx__async_of(jzx_context *ctx) {
    const struct jzx__seat *seat = jzx__seat_of_thread;
    if (ctx == NULL || !jzx__seat_exists(seat) || (const void *)ctx != seat->turn)
        return NULL;
    const struct jzx__turn *turn = seat->turn;
    return jzx__actor_part(turn->actor, JZX__PART_ASYNC);
}

/* ---- the wait ---- */

/* The deadline goes onto the worker's wheel, and a claim wakes from now on. False if there is one
 * already. */
static bool arm(struct jzx__worker *me, struct jzx__async *async, struct jzx__task *task) {
    if (async->armed)
        return true;
    async->armed = true;
    if (async->deadline_ns != JZX_NEVER) {
        jzx__timers_set_deadline(me, &async->waiter, async->deadline_ns);
        async->is_pinned = true;
        jzx__actor_pin(jzx__actor_of(task)); /* P5 */
    }
    return jzx__waiter_arm(&async->waiter) == JZX__ARM_SUSPEND;
}

/* It waits no more: kind says why, unless somebody was faster. */
static void disarm(struct jzx__async *async, struct jzx__task *task, enum jzx__cause_kind kind) {
    if (!async->waits)
        return;
    (void)jzx__waiter_withdraw(&async->waiter, kind);
    async->cause = jzx__waiter_end(&async->waiter);
    async->waits = false;
    async->armed = false;
    if (async->is_pinned)
        jzx__actor_unpin(jzx__actor_of(task));
    async->is_pinned = false;
}

/* For dumps, of any thread: they look at the id afterwards. */
static void show_wait(struct jzx__worker *me, const struct jzx__async *async,
                      const struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    bool is_time = async->on->link.source == NULL;
    bool is_future = async->on->future != NULL;
    uint64_t object = is_time ? async->deadline_ns : (uint64_t)(uintptr_t)async->on->link.source;
    /* relaxed, all: a picture of the moment */
    jzx__atomic_store_relaxed(&cold->wait_object, object);
    jzx__atomic_store_relaxed(&cold->wait_since_ns, jzx__worker_last_tick(me));
    jzx__atomic_store_relaxed(&cold->wait_kind, (uint32_t)(is_time     ? JZX_WAIT_TIME
                                                           : is_future ? JZX_WAIT_FUTURE
                                                                       : JZX_WAIT_SCOPE));
}

static void hide_wait(const struct jzx__actor *actor) {
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&jzx__actor_cold(actor)->wait_kind, (uint32_t)JZX_WAIT_NONE);
}

/* ---- the turn ---- */

/* Nobody reads its mail: what others want of it by way of a node is seen to, and messages are dead
 * letters. */
static enum jzx__look clear_mail(struct jzx__worker *me, struct jzx__actor *actor) {
    for (;;) {
        struct jzx__node *node = actor->task.head;
        if (node == NULL) {
            if (jzx__inbox_list(jzx__task_inbox(&actor->task)) == NULL)
                return JZX__LOOK_HANDLE;
            jzx__mailbox_take_in(me, actor);
            continue;
        }
        const struct jzx__lane_ops *lane = jzx__lane_of(node);
        const struct jzx__spot head = {actor, NULL, node};
        enum jzx__look look = lane->begin == NULL ? JZX__LOOK_HANDLE : lane->begin(me, &head);
        if (look == JZX__LOOK_ENDED || look == JZX__LOOK_AGAIN)
            return look;
        if (look == JZX__LOOK_HANDLE) {
            jzx__task_pop(&actor->task, node);
            jzx__message_bury(jzx__loop_of(me), me, jzx__message_of(node), jzx__actor_id(actor),
                              jzx__actor_name(actor));
        }
    }
}

static bool is_over(struct jzx__worker *me, const struct jzx__async *async) {
    return !async->armed && async->deadline_ns != JZX_NEVER &&
           (async->deadline_ns == 0 || async->deadline_ns <= jzx__clock_now(&me->sched->clock));
}

/* True if it is to be polled; *fate says what becomes of the turn otherwise. */
static bool is_due(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__async *async,
                   enum jzx__fate *fate) {
    struct jzx__task *task = &actor->task;
    if (async->waits && jzx__waiter_cause(&async->waiter) == 0) {
        if (is_over(me, async)) {
            (void)jzx__waiter_withdraw(&async->waiter, JZX__CAUSE_TIMEOUT);
        } else if ((task->care & JZX__CARE_DRAIN) && !async->on->is_firm) {
            (void)jzx__waiter_withdraw(&async->waiter, JZX__CAUSE_CANCELLED);
        } else {
            *fate = JZX__FATE_AGAIN;
            if (!arm(me, async, task))
                return false;
            show_wait(me, async, actor);
            uint64_t word = jzx__task_inbox(task);
            if (jzx__inbox_list(word) == NULL && jzx__task_go_idle(task, word))
                *fate = JZX__FATE_OVER;
            return false;
        }
    }
    if (async->again || me->budget.left <= 1) { /* a wait that is claimed stays so */
        async->again = false;
        jzx__worker_requeue_any(me, task);
        *fate = JZX__FATE_OVER;
        return false;
    }
    if (!jzx__executor_admit(&async->executed, task)) {
        uint64_t word = jzx__task_inbox(task);
        *fate = jzx__inbox_list(word) == NULL && jzx__task_go_idle(task, word) ? JZX__FATE_OVER
                                                                               : JZX__FATE_AGAIN;
        return false;
    }
    me->budget.left--;
    disarm(async, task, JZX__CAUSE_CANCELLED);
    hide_wait(actor);
    return true;
}

/* The function has returned. */
static enum jzx__fate finish(struct jzx__worker *me, struct jzx__actor *actor,
                             struct jzx__async *async) {
    struct jzx_future *future = async->future;
    if (async->root.base.err == JZX_OK)
        (void)jzx__future_resolve(future, me, future->value.bytes);
    else
        (void)jzx__future_reject(future, me, async->root.base.err, async->root.base.text);
    jzx__actor_end(me, actor, JZX_EXIT_NORMAL, NULL);
    return JZX__FATE_OVER;
}

static enum jzx__fate poll(struct jzx__worker *me, struct jzx__turn *turn,
                           struct jzx__async *async) {
    struct jzx__seat *seat = turn->seat;
    JZX_ASSERT(turn->current == NULL); /* turn/C1 */
    /* relaxed: for dumps and the watchdog */
    jzx__atomic_store_relaxed(&seat->tag, 0u);
    jzx__seat_leave(seat, 0);
    jzx_poll poll =
        async->root.base.poll(&async->root.base, &turn->ctx, async->future->value.bytes);
    async->is_done = poll == JZX_READY;
    if (JZX_UNLIKELY(jzx__seat_enter(seat) != me))
        return jzx__turn_lose(me, turn);
    jzx__worker_count_message(me);
    JZX_ASSERT(async->is_done || async->waits || async->again); /* P2 */
    return JZX__FATE_AGAIN;
}

static enum jzx__fate turn(struct jzx__worker *me, struct jzx__turn *turn) {
    struct jzx__actor *actor = turn->actor;
    struct jzx__async *async = jzx__cold_part(jzx__actor_cold(actor), JZX__PART_ASYNC);
    enum jzx__fate fate;
    if (async->waiter.wake.fn == NULL) /* its first turn */
        jzx__waiter_init(&async->waiter, jzx__wake_task, &actor->task);
    switch (clear_mail(me, actor)) {
    case JZX__LOOK_ENDED: return JZX__FATE_OVER;
    case JZX__LOOK_AGAIN: return JZX__FATE_AGAIN;
    default: break;
    }
    if (async->is_done)
        return finish(me, actor, async);
    return is_due(me, actor, async, &fate) ? poll(me, turn, async) : fate;
}

const struct jzx__kind_ops jzx__kind_async = {.turn = turn};

/* ---- the part ---- */

/* Nobody will take what a source has handed over, nor go on. */
static void cancel(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__async *async = jzx__cold_part(jzx__actor_cold(actor), JZX__PART_ASYNC);
    bool waited = async->waits;
    disarm(async, &actor->task, JZX__CAUSE_KILLED);
    if (waited && jzx__cause_kind(async->cause) == JZX__CAUSE_ITEM) {
        struct jzx__source *source = async->on->link.source;
        if (source->ops->give_back != NULL)
            source->ops->give_back(source, &async->on->link, me);
    }
    if (waited)
        jzx__await_drop(async->on);
}

/* What its future says if the function did not return. */
static jzx_err err_of(jzx_exit_reason reason) {
    switch (reason) {
    case JZX_EXIT_NORMAL:
    case JZX_EXIT_KILLED:
    case JZX_EXIT_SHUTDOWN: return JZX_ERR_CANCELLED;
    default: return JZX_ERR_FAILED;
    }
}

static void tell(struct jzx__worker *me, struct jzx__cold *cold, struct jzx__ending *ending) {
    struct jzx__async *async = jzx__cold_part(cold, JZX__PART_ASYNC);
    if (!jzx__future_is_settled(async->future))
        (void)jzx__future_reject(async->future, me, err_of(ending->reason), ending->text);
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    struct jzx__async *async = record;
    struct jzx_future *future = async->future;
    bool is_kept = async->is_kept;
    (void)loop, (void)me;
    jzx__executor_leave(&async->executed);
    jzx__future_let_go(future, JZX__HOLDER_PROMISE);
    if (is_kept)
        jzx_future_release(future);
}

static size_t size_bytes(const void *record) {
    const struct jzx__async *async = record;
    return sizeof(struct jzx_future) + sizeof *async + async->state_size;
}

const struct jzx__part_ops jzx__part_async = {
    .cancel = cancel,
    .tell = tell,
    .release = release,
    .size_bytes = size_bytes,
};

/* ---- the future of one ---- */

static size_t extra_of(struct jzx_future *future) {
    const struct jzx__async *async = jzx__future_extra(future);
    return sizeof *async + async->state_size;
}

/* It was not started, and will not be: the promise's place is given up. Claimed. */
static void give_up(struct jzx_future *future, struct jzx__worker *me) {
    struct jzx__async *async = jzx__future_extra(future);
    jzx__executor_leave(&async->executed);
    (void)jzx__future_reject(future, me, JZX_ERR_CANCELLED, NULL);
    jzx__future_let_go(future, JZX__HOLDER_PROMISE);
}

/* From PENDING to RUNNING, once. */
static bool claim_start(struct jzx_future *future) {
    jzx__lock_acquire(future->source.lock);
    bool is_mine = jzx__future_state(future) == JZX_FUTURE_PENDING;
    if (is_mine) /* release: pairs with jzx__future_state */
        jzx__atomic_store_release(&future->state, (uint8_t)JZX_FUTURE_RUNNING);
    jzx__lock_release(future->source.lock);
    return is_mine;
}

/* Its waits fail from now on. */
static void ask_to_end(const struct jzx_future *future, const struct jzx__async *async) {
    /* acquire: pairs with note_id */
    jzx_actor_id id = jzx__atomic_load_acquire(&async->id);
    if (id != JZX_NOBODY)
        (void)jzx_actor_stop(future->home->loop, id, JZX_STOP_AFTER_QUEUE);
}

static void cancel_function(struct jzx_future *future, struct jzx__worker *me) {
    struct jzx__async *async = jzx__future_extra(future);
    if (claim_start(future)) {
        give_up(future, me);
        return;
    }
    /* seq_cst: pairs with start: one of both sees the other's */
    jzx__atomic_store_seq_cst(&async->is_unwanted, (uint8_t)1);
    ask_to_end(future, async);
}

static void release_function(struct jzx_future *future, struct jzx__worker *me) {
    struct jzx__async *async = jzx__future_extra(future);
    (void)me;
    jzx_future_release(async->failed);
}

static const struct jzx__future_ops async_ops = {
    .extra = extra_of,
    .cancel = cancel_function,
    .give_up = give_up,
    .release = release_function,
};

/* ---- starting one ---- */

/* An actor of this kind needs a behaviour to be valid, which nobody calls. */
static jzx_behavior_result be_nothing(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    return JZX_BEHAVIOR_FAIL;
}

struct async_bonds {
    struct jzx__bonds bonds; /* first */
    struct jzx__async *async;
    struct jzx_scope *scope; /* which it is a member of, or NULL */
};

static bool prepare(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold) {
    (void)loop, (void)me, (void)cold;
    return true;
}

static void tie(struct jzx__cold *cold, const struct jzx__bonds *bonds, jzx_actor_id id) {
    const struct async_bonds *own = (const void *)bonds;
    jzx__cold_set_part(cold, JZX__PART_ASYNC, own->async);
    if (own->scope != NULL)
        jzx__scope_tie(own->scope, cold, id);
    /* seq_cst: pairs with cancel_function, and with start_inside */
    jzx__atomic_store_seq_cst(&own->async->id, id);
}

static const struct jzx__bond_ops lonely = {.prepare = prepare, .tie = tie};
static const struct jzx__bond_ops in_scope = {.prepare = jzx__scope_prepare, .tie = tie};

/* A member of the scope, which counts it already, unless that is NULL. */
static jzx_err spawn(struct jzx_future *future, struct jzx__worker *me, struct jzx_scope *scope) {
    struct jzx_loop *loop = future->home->loop;
    struct jzx__async *async = jzx__future_extra(future);
    const struct async_bonds bonds = {
        {.ops = scope == NULL ? &lonely : &in_scope, .kind = JZX__KIND_ASYNC}, async, scope};
    jzx_actor_id id;
    jzx_err err = jzx__spawn_bound(
        loop, me,
        &JZX_SPAWN_OPTS(.behavior = be_nothing, .state = async->state, .mailbox_cap = 1,
                        .name = async->name, .cleanup = async->cleanup, .place = async->place),
        &bonds.bonds, &id);
    if (err != JZX_OK)
        return err;
    if (scope != NULL)
        jzx__scope_settle(scope, id);
    /* seq_cst: pairs with cancel_function: one of both sees the other's */
    if (jzx__atomic_load_seq_cst(&async->is_unwanted) != 0)
        ask_to_end(future, async);
    return JZX_OK;
}

static jzx_err start_inside(struct jzx_future *future, struct jzx__worker *me,
                            struct jzx_scope *scope) {
    jzx_err err = scope == NULL ? JZX_OK : jzx__scope_reserve(scope);
    if (err == JZX_OK) {
        err = spawn(future, me, scope);
        if (err != JZX_OK && scope != NULL)
            jzx__scope_unreserve(scope, me);
    }
    if (err != JZX_OK)
        (void)jzx__future_reject(future, me, err, NULL);
    return err;
}

/* In the scope, or, if that is NULL, in the nursery of the actor whose turn it is. Claimed. */
static jzx_err start(struct jzx_future *future, struct jzx_scope *scope) {
    struct jzx__future_home *home = future->home;
    struct jzx__async *async = jzx__future_extra(future);
    struct jzx__future_visit visit;
    jzx_err err = JZX_ERR_LOOP_CLOSED;
    if (jzx__future_visit(home, &visit)) {
        err = JZX_OK;
        if (scope == NULL && !async->is_detached)
            scope = jzx__scope_nursery(home->loop, visit.me, &err);
        if (err == JZX_OK)
            err = start_inside(future, visit.me, scope);
        else
            (void)jzx__future_reject(future, visit.me, err, NULL);
    } else {
        (void)jzx__future_reject(future, NULL, err, NULL); /* nobody waits for it any more */
    }
    jzx__future_visit_end(home, &visit);
    if (err != JZX_OK) {
        jzx__executor_leave(&async->executed);
        jzx__future_let_go(future, JZX__HOLDER_PROMISE);
    }
    return err;
}

jzx_err jzx_async_start(jzx_future *future) {
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    if (future->ops != &async_ops || !claim_start(future))
        return JZX_ERR_INVALID_STATE;
    return start(future, NULL);
}

static bool read_opts(jzx_async_opts *full, const jzx_async_opts *opts) {
    *full = JZX_ASYNC_OPTS();
    return (opts == NULL || jzx__read_sized(full, sizeof *full, opts)) && full->reserved[0] == 0 &&
           (full->name == NULL || strnlen(full->name, JZX_NAME_MAX + 1) <= JZX_NAME_MAX);
}

static bool type_is_valid(const jzx_async_type *type) {
    return type != NULL && type->size == sizeof *type && type->step != NULL &&
           type->state_size <= JZX_FUTURE_VALUE_MAX && type->result_size <= JZX_FUTURE_VALUE_MAX;
}

static void fill(struct jzx_future *future, const jzx_async_type *type, const void *state,
                 const jzx_async_opts *opts) {
    struct jzx__async *async = jzx__future_extra(future);
    memset(async, 0, sizeof *async);
    async->future = future;
    async->state_size = type->state_size;
    async->cleanup = opts->cleanup;
    async->is_detached = opts->detached;
    async->place = opts->place;
    async->limit_ns = JZX_NEVER;
    async->name = opts->name != NULL ? opts->name : type->name;
    jzx_async_call(&async->root, type, async->state);
    if (type->state_size != 0)
        memcpy(async->state, state, type->state_size);
    /* relaxed: nobody else has it yet */
    jzx__atomic_store_relaxed(&future->state, (uint8_t)JZX_FUTURE_PENDING);
    jzx__executor_join(opts->executor, &async->executed);
}

jzx_err jzx_async_create(jzx_loop *loop, const jzx_async_type *type, const void *state,
                         const jzx_async_opts *opts, jzx_future **future) {
    jzx_async_opts full;
    struct jzx__visit visit;
    if (loop == NULL || future == NULL || !type_is_valid(type) || !read_opts(&full, opts) ||
        (state == NULL && type->state_size != 0) || !jzx__executor_fits(full.executor, loop))
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx_future *made =
        jzx__future_create(jzx__future_home_of(loop), me, type->result_size,
                           sizeof(struct jzx__async) + type->state_size, &async_ops);
    if (made != NULL)
        fill(made, type, state, &full);
    jzx__visit_end(&visit);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    *future = made;
    return JZX_OK;
}

/* Starts what was created; on an error nothing is left of it. */
static jzx_err launch(struct jzx_future *made, struct jzx_scope *scope) {
    /* relaxed: nobody else has it yet */
    jzx__atomic_store_relaxed(&made->state, (uint8_t)JZX_FUTURE_RUNNING);
    jzx_err err = start(made, scope);
    if (err != JZX_OK) {
        (void)jzx_future_error(made, NULL);
        jzx_future_release(made);
    }
    return err;
}

jzx_err jzx_async_spawn(jzx_loop *loop, const jzx_async_type *type, const void *state,
                        const jzx_async_opts *opts, jzx_future **future) {
    struct jzx_future *made;
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx_async_create(loop, type, state, opts, &made);
    if (err == JZX_OK)
        err = launch(made, NULL);
    if (err == JZX_OK)
        *future = made;
    return err;
}

jzx_err jzx__async_spawn_in(struct jzx_scope *scope, const jzx_async_type *type, const void *state,
                            struct jzx_future **future) {
    struct jzx_future *made;
    jzx_err err = jzx_async_create(scope->loop, type, state, NULL, &made);
    if (err != JZX_OK)
        return err;
    /* Its own handle, so that it goes on without that of the caller. */
    ((struct jzx__async *)jzx__future_extra(made))->is_kept = true;
    (void)jzx_future_ref(made);
    err = launch(made, scope);
    if (err != JZX_OK)
        jzx_future_release(made);
    else if (future != NULL)
        *future = made;
    else
        jzx_future_release(made);
    return err;
}

jzx_actor_id jzx_async_actor(const jzx_future *future) {
    if (future == NULL || future->ops != &async_ops)
        return JZX_NOBODY;
    const struct jzx__async *async = jzx__future_extra((struct jzx_future *)(uintptr_t)future);
    /* acquire: pairs with tie */
    return jzx__atomic_load_acquire(&async->id);
}

jzx_err jzx_async_run(const jzx_config *config, const jzx_async_type *type, const void *state,
                      void *result) {
    jzx_future *future = NULL;
    jzx_loop *loop = jzx_loop_create(config);
    if (loop == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = jzx_async_spawn(loop, type, state, NULL, &future);
    if (err == JZX_OK)
        err = jzx_loop_run(loop);
    if (err == JZX_OK)
        err = jzx_future_try(future, result);
    jzx_future_release(future);
    (void)jzx_loop_destroy(loop);
    return err;
}
