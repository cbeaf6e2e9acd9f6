/* SPDX-License-Identifier: MIT */
/* The mutex: one permit that has an owner. */
#include "sync/held.h"
#include "sync/object.h"
#include "sync/permits.h"
#include "sync/take.h"
#include "sync/to.h"

struct mutex {
    struct jzx__object object; /* first */
    struct jzx__permits permits;
    struct jzx__held held; /* of an actor that has it */

    /* Who has it; written by whom, with the permit. Others compare it with themselves. */
    _Atomic uint64_t actor;
    _Atomic uintptr_t thread;
};

_Static_assert(sizeof(struct mutex) <= JZX_SYNC_SIZE, "fits its storage");

static struct mutex *mutex_of(const jzx_mutex *mutex) {
    return jzx__object_of(mutex, JZX__SYNC_MUTEX);
}

static bool is_owner(const struct mutex *mutex, struct jzx__owner who) {
    /* relaxed, both: only who has it has written itself there, and sees that */
    return jzx__atomic_load_relaxed(&mutex->actor) == who.actor &&
           jzx__atomic_load_relaxed(&mutex->thread) == who.thread;
}

static void set_owner(struct mutex *mutex, struct jzx__owner who) {
    /* relaxed, both: see is_owner */
    jzx__atomic_store_relaxed(&mutex->actor, who.actor);
    jzx__atomic_store_relaxed(&mutex->thread, who.thread);
}

static void give_away(struct mutex *mutex, struct jzx__worker *me, bool died) {
    set_owner(mutex, (struct jzx__owner){.actor = JZX_NOBODY});
    bool fits = jzx__permits_release(&mutex->permits,
                                     (struct jzx__permit_return){.count = 1, .died = died}, me);
    JZX_ASSERT(fits);
}

static void owner_died(struct jzx__held *held, struct jzx__worker *me) {
    give_away(held->object, me, true);
}

static const struct jzx__held_ops held_ops = {.what = "a mutex", .died = owner_died};

/* The caller has the permit. helds: of its actor, NULL for a thread. */
static void own(struct mutex *mutex, struct jzx__owner who, struct jzx__helds *helds) {
    set_owner(mutex, who);
    if (helds != NULL)
        jzx__helds_add(helds, &mutex->held);
}

/* ---- the calls ---- */

jzx_err jzx_mutex_init(jzx_loop *loop, jzx_mutex *storage) {
    struct mutex *mutex = (struct mutex *)(void *)storage;
    jzx_err err = jzx__object_init((void *)storage, loop, JZX__SYNC_MUTEX);
    if (err != JZX_OK)
        return err;
    jzx__permits_init(&mutex->permits, 1, 1);
    mutex->held = (struct jzx__held){.ops = &held_ops, .object = mutex, .count = 1};
    set_owner(mutex, (struct jzx__owner){.actor = JZX_NOBODY});
    return JZX_OK;
}

jzx_err jzx_mutex_deinit(jzx_mutex *storage) {
    struct mutex *mutex = mutex_of(storage);
    if (mutex == NULL)
        return JZX_ERR_INVALID_ARG;
    if (jzx__permits_available(jzx__permits_word(&mutex->permits)) != 1 ||
        !jzx__permits_deinit(&mutex->permits))
        return JZX_ERR_BUSY;
    jzx__object_deinit(&mutex->object);
    return JZX_OK;
}

static jzx_actor_id holder(uint64_t object) {
    const struct mutex *mutex = (const void *)(uintptr_t)object;
    /* relaxed: a holder that waits as well wrote it before that (fiber/D4) */
    return jzx__atomic_load_relaxed(&mutex->actor);
}

static jzx_err lock(struct jzx__party *party, struct mutex *mutex, uint64_t deadline_ns) {
    struct jzx__permit_want want = {.count = 1};
    struct jzx__helds *helds = NULL;
    if (is_owner(mutex, party->owner))
        return JZX_ERR_BUSY;
    if (party->fiber != NULL) {
        helds = jzx__helds_ensure(mutex->object.loop, party->me, party->fiber->turn.actor);
        if (helds == NULL)
            return JZX_ERR_NO_MEMORY;
    }
    const struct jzx__event what = {
        .kind = JZX_WAIT_MUTEX, .object = (uintptr_t)mutex, .holder = holder};
    jzx_err err = jzx__take_permits(party, &mutex->permits, &want, &what, deadline_ns);
    if (jzx__has_taken(err))
        own(mutex, party->owner, helds);
    return err;
}

jzx_err jzx_mutex_lock(jzx_context *ctx, jzx_mutex *storage, uint64_t deadline_ns) {
    struct mutex *mutex = mutex_of(storage);
    struct jzx__party party;
    if (mutex == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_fiber(&party, &mutex->object, ctx, "jzx_mutex_lock");
    if (err != JZX_OK)
        return err;
    err = lock(&party, mutex, deadline_ns);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_mutex_lock_wait(jzx_mutex *storage, uint64_t deadline_ns) {
    struct mutex *mutex = mutex_of(storage);
    struct jzx__party party;
    if (mutex == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_thread(&party, &mutex->object, "jzx_mutex_lock_wait");
    if (err != JZX_OK)
        return err;
    err = lock(&party, mutex, deadline_ns);
    jzx__party_end(&party);
    return err;
}

/* ---- as an operation ---- */

struct lock_to {
    struct jzx__to to; /* first */
    struct jzx__wait_link link;
    struct jzx__permit_want want;
    struct mutex *mutex;
};

static jzx_err settle(struct jzx__to *to, jzx_err err, struct jzx__worker *me, size_t *len) {
    const struct lock_to *lock = (void *)to;
    (void)me;
    (void)len;
    return err == JZX_OK ? lock->want.result : err;
}

static bool handle(struct jzx__to *to, struct jzx__worker *me, struct jzx__actor *owner) {
    const struct lock_to *lock = (void *)to;
    (void)me;
    own(lock->mutex, jzx__owner_actor(jzx__actor_id(owner)), jzx__helds_of(owner));
    return true;
}

static const struct jzx__to_kind lock_kind = {.settle = settle, .handle = handle};

jzx_err jzx_mutex_lock_to(jzx_context *ctx, jzx_mutex *storage, uint32_t tag, jzx_op *op) {
    struct mutex *mutex = mutex_of(storage);
    struct jzx__to_call call;
    if (mutex == NULL)
        return JZX_ERR_INVALID_ARG;
    const struct jzx__to_spec spec = {.object = &mutex->object,
                                      .kind = &lock_kind,
                                      .record_size = sizeof(struct lock_to),
                                      .tag = tag};
    jzx_err err = jzx__to_begin(&call, &spec, ctx);
    if (err != JZX_OK)
        return err;
    if (is_owner(mutex, jzx__owner_actor(ctx->self)))
        return jzx__to_refuse(&call, JZX_ERR_BUSY);
    if (jzx__helds_ensure(mutex->object.loop, call.own.me, call.own.turn->actor) == NULL)
        return jzx__to_refuse(&call, JZX_ERR_NO_MEMORY);
    struct lock_to *lock = (void *)call.to;
    lock->mutex = mutex;
    lock->want.count = 1;
    lock->link = jzx__permits_link(&mutex->permits, &lock->want);
    jzx__to_start(&call, &lock->link, 1, op);
    return JZX_OK;
}

/* ---- without a wait ---- */

static jzx_err try_lock(struct jzx__caller *caller, struct mutex *mutex) {
    struct jzx__permit_want want = {.count = 1};
    struct jzx__helds *helds = NULL;
    if (is_owner(mutex, caller->owner))
        return JZX_ERR_BUSY;
    if (caller->actor != NULL) {
        helds = jzx__helds_ensure(mutex->object.loop, caller->me, caller->actor);
        if (helds == NULL)
            return JZX_ERR_NO_MEMORY;
    }
    if (!jzx__permits_try(&mutex->permits, &want))
        return JZX_ERR_TIMEOUT;
    own(mutex, caller->owner, helds);
    return want.result;
}

jzx_err jzx_mutex_try_lock(jzx_context *ctx, jzx_mutex *storage) {
    struct mutex *mutex = mutex_of(storage);
    struct jzx__caller caller;
    if (mutex == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__caller_begin(&caller, &mutex->object, ctx);
    if (err != JZX_OK)
        return err;
    err = try_lock(&caller, mutex);
    jzx__caller_end(&caller);
    return err;
}

jzx_err jzx_mutex_unlock(jzx_context *ctx, jzx_mutex *storage) {
    struct mutex *mutex = mutex_of(storage);
    struct jzx__caller caller;
    if (mutex == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__caller_begin(&caller, &mutex->object, ctx);
    if (err != JZX_OK)
        return err;
    if (is_owner(mutex, caller.owner)) {
        if (caller.actor != NULL)
            jzx__list_remove(&mutex->held.link);
        give_away(mutex, caller.me, false);
    } else {
        err = JZX_ERR_NOT_OWNER;
    }
    jzx__caller_end(&caller);
    return err;
}
