/* SPDX-License-Identifier: MIT */
/* The lock for many readers or one writer: a reader takes one permit, a writer all of them. An
 * actor that reads has a block among what it holds; for a writer that is part of the lock. Threads
 * that read are the holders of the permits: they are counted, not known. */
#include "sync/held.h"
#include "sync/object.h"
#include "sync/permits.h"
#include "sync/take.h"
#include "sync/to.h"

#define ALL JZX__PERMITS_MAX

struct rwlock {
    struct jzx__object object; /* first */
    struct jzx__permits permits;
    struct jzx__held held; /* of an actor that writes */

    /* Who writes, as in a mutex. */
    _Atomic uint64_t actor;
    _Atomic uintptr_t thread;
};

_Static_assert(sizeof(struct rwlock) <= JZX_SYNC_SIZE, "fits its storage");

static struct rwlock *rwlock_of(const jzx_rwlock *lock) {
    return jzx__object_of(lock, JZX__SYNC_RWLOCK);
}

static bool is_writer(const struct rwlock *lock, struct jzx__owner who) {
    /* relaxed, both: only who writes has written itself there, and sees that */
    return jzx__atomic_load_relaxed(&lock->actor) == who.actor &&
           jzx__atomic_load_relaxed(&lock->thread) == who.thread;
}

static void set_writer(struct rwlock *lock, struct jzx__owner who) {
    /* relaxed, both: see is_writer */
    jzx__atomic_store_relaxed(&lock->actor, who.actor);
    jzx__atomic_store_relaxed(&lock->thread, who.thread);
}

static void give_back(struct rwlock *lock, struct jzx__permit_return back, struct jzx__worker *me) {
    bool is_back = jzx__permits_release(&lock->permits, back, me);
    JZX_ASSERT(is_back);
}

static void writer_died(struct jzx__held *held, struct jzx__worker *me) {
    struct rwlock *lock = held->object;
    set_writer(lock, (struct jzx__owner){.actor = JZX_NOBODY});
    give_back(lock, (struct jzx__permit_return){.count = ALL, .died = true}, me);
}

/* It leaves nothing half done. */
static void reader_died(struct jzx__held *held, struct jzx__worker *me) {
    struct rwlock *lock = held->object;
    jzx__held_free_block(held, me);
    give_back(lock, (struct jzx__permit_return){.count = 1}, me);
}

static const struct jzx__held_ops write_ops = {.what = "a write lock", .died = writer_died};
static const struct jzx__held_ops read_ops = {.what = "a read lock", .died = reader_died};

/* ---- making one ---- */

jzx_err jzx_rwlock_init(jzx_loop *loop, jzx_rwlock *storage) {
    struct rwlock *lock = (struct rwlock *)(void *)storage;
    jzx_err err = jzx__object_init((void *)storage, loop, JZX__SYNC_RWLOCK);
    if (err != JZX_OK)
        return err;
    jzx__permits_init(&lock->permits, ALL, ALL);
    lock->held = (struct jzx__held){.ops = &write_ops, .object = lock, .count = 1};
    set_writer(lock, (struct jzx__owner){.actor = JZX_NOBODY});
    return JZX_OK;
}

jzx_err jzx_rwlock_deinit(jzx_rwlock *storage) {
    struct rwlock *lock = rwlock_of(storage);
    if (lock == NULL)
        return JZX_ERR_INVALID_ARG;
    if (jzx__permits_available(jzx__permits_word(&lock->permits)) != ALL ||
        !jzx__permits_deinit(&lock->permits))
        return JZX_ERR_BUSY;
    jzx__object_deinit(&lock->object);
    return JZX_OK;
}

/* ---- locking ---- */

/* What is asked for, and by whom. */
struct request {
    bool writes;
    struct jzx__owner who;
    struct jzx__helds *helds; /* of an actor, NULL for a thread */
    struct jzx__permit_want want;
};

/* JZX_ERR_BUSY: it has a lock already. */
static jzx_err prepare(struct request *request, struct rwlock *lock, struct jzx__worker *me,
                       struct jzx__actor *actor) {
    bool is_thread = actor == NULL;
    request->want = (struct jzx__permit_want){.count = request->writes ? ALL : 1,
                                              .holders = is_thread && !request->writes};
    request->helds = NULL;
    if (is_writer(lock, request->who))
        return JZX_ERR_BUSY;
    if (is_thread)
        return JZX_OK;
    request->helds = jzx__helds_ensure(lock->object.loop, me, actor);
    if (request->helds == NULL)
        return JZX_ERR_NO_MEMORY;
    if (jzx__helds_find(request->helds, lock) != NULL)
        return JZX_ERR_BUSY;
    return request->writes || jzx__helds_stock(request->helds, lock->object.loop, me)
               ? JZX_OK
               : JZX_ERR_NO_MEMORY;
}

/* It has the permits. */
static void own(const struct request *request, struct rwlock *lock) {
    if (request->writes)
        set_writer(lock, request->who);
    if (request->helds == NULL)
        return;
    if (request->writes)
        jzx__helds_add(request->helds, &lock->held);
    else
        jzx__helds_add_block(request->helds, &read_ops, lock, 1);
}

/* Those who read are not known here. */
static jzx_actor_id writer(uint64_t object) {
    const struct rwlock *lock = (const void *)(uintptr_t)object;
    /* relaxed: a writer that waits as well wrote it before that (fiber/D4) */
    return jzx__atomic_load_relaxed(&lock->actor);
}

static jzx_err await_lock(struct jzx__party *party, struct rwlock *lock, bool writes,
                          uint64_t deadline_ns) {
    struct jzx__actor *actor = party->fiber == NULL ? NULL : party->fiber->turn.actor;
    struct request request = {.writes = writes, .who = party->owner};
    jzx_err err = prepare(&request, lock, party->me, actor);
    if (err != JZX_OK)
        return err;
    const struct jzx__event what = {
        .kind = JZX_WAIT_RWLOCK, .object = (uintptr_t)lock, .holder = writer};
    err = jzx__take_permits(party, &lock->permits, &request.want, &what, deadline_ns);
    if (jzx__has_taken(err))
        own(&request, lock);
    return err;
}

static jzx_err lock_fiber(jzx_context *ctx, jzx_rwlock *storage, bool writes, const char *call,
                          uint64_t deadline_ns) {
    struct rwlock *lock = rwlock_of(storage);
    struct jzx__party party;
    if (lock == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_fiber(&party, &lock->object, ctx, call);
    if (err != JZX_OK)
        return err;
    err = await_lock(&party, lock, writes, deadline_ns);
    jzx__party_end(&party);
    return err;
}

static jzx_err lock_thread(jzx_rwlock *storage, bool writes, const char *call,
                           uint64_t deadline_ns) {
    struct rwlock *lock = rwlock_of(storage);
    struct jzx__party party;
    if (lock == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_thread(&party, &lock->object, call);
    if (err != JZX_OK)
        return err;
    err = await_lock(&party, lock, writes, deadline_ns);
    jzx__party_end(&party);
    return err;
}

static jzx_err try_now(struct jzx__caller *caller, struct rwlock *lock, bool writes) {
    struct request request = {.writes = writes, .who = caller->owner};
    jzx_err err = prepare(&request, lock, caller->me, caller->actor);
    if (err != JZX_OK)
        return err;
    if (!jzx__permits_try(&lock->permits, &request.want))
        return JZX_ERR_TIMEOUT;
    own(&request, lock);
    return request.want.result;
}

static jzx_err try_lock(jzx_context *ctx, jzx_rwlock *storage, bool writes) {
    struct rwlock *lock = rwlock_of(storage);
    struct jzx__caller caller;
    if (lock == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__caller_begin(&caller, &lock->object, ctx);
    if (err != JZX_OK)
        return err;
    err = try_now(&caller, lock, writes);
    jzx__caller_end(&caller);
    return err;
}

jzx_err jzx_rwlock_lock_read(jzx_context *ctx, jzx_rwlock *lock, uint64_t deadline_ns) {
    return lock_fiber(ctx, lock, false, "jzx_rwlock_lock_read", deadline_ns);
}

jzx_err jzx_rwlock_lock_read_wait(jzx_rwlock *lock, uint64_t deadline_ns) {
    return lock_thread(lock, false, "jzx_rwlock_lock_read_wait", deadline_ns);
}

jzx_err jzx_rwlock_try_lock_read(jzx_context *ctx, jzx_rwlock *lock) {
    return try_lock(ctx, lock, false);
}

jzx_err jzx_rwlock_lock_write(jzx_context *ctx, jzx_rwlock *lock, uint64_t deadline_ns) {
    return lock_fiber(ctx, lock, true, "jzx_rwlock_lock_write", deadline_ns);
}

jzx_err jzx_rwlock_lock_write_wait(jzx_rwlock *lock, uint64_t deadline_ns) {
    return lock_thread(lock, true, "jzx_rwlock_lock_write_wait", deadline_ns);
}

jzx_err jzx_rwlock_try_lock_write(jzx_context *ctx, jzx_rwlock *lock) {
    return try_lock(ctx, lock, true);
}

/* ---- as an operation ---- */

struct lock_to {
    struct jzx__to to; /* first */
    struct jzx__wait_link link;
    struct request request;
    struct rwlock *lock;
    struct jzx__held *block; /* of one that reads */
};

static jzx_err settle(struct jzx__to *to, jzx_err err, struct jzx__worker *me, size_t *len) {
    const struct lock_to *it = (void *)to;
    (void)me;
    (void)len;
    return err == JZX_OK ? it->request.want.result : err;
}

/* The owner may have got a read lock since it asked: it has no use for a second one. */
static bool handle(struct jzx__to *to, struct jzx__worker *me, struct jzx__actor *owner) {
    struct lock_to *it = (void *)to;
    struct jzx__helds *helds = jzx__helds_of(owner);
    (void)me;
    if (jzx__helds_find(helds, it->lock) != NULL) {
        jzx__to_result(to)->err = JZX_ERR_BUSY;
        return false;
    }
    if (it->request.writes) {
        own(&it->request, it->lock);
    } else {
        jzx__helds_adopt_block(helds, &read_ops, it->block, it->lock, 1);
        it->block = NULL;
    }
    return true;
}

static void release_record(struct jzx__to *to, struct jzx__worker *me) {
    const struct lock_to *it = (void *)to;
    if (it->block != NULL)
        jzx__sched_free(&to->op->loop->sched, me, JZX__PART_CLASS, it->block);
}

static const struct jzx__to_kind lock_kind = {
    .settle = settle, .handle = handle, .release = release_record};

static jzx_err fill(struct lock_to *it, struct jzx__own *turn) {
    struct jzx_loop *loop = it->lock->object.loop;
    jzx_err err = prepare(&it->request, it->lock, turn->me, turn->turn->actor);
    if (err == JZX_OK && !it->request.writes) {
        it->block = jzx__held_make_block(loop, turn->me);
        err = it->block == NULL ? JZX_ERR_NO_MEMORY : JZX_OK;
    }
    return err;
}

static jzx_err lock_to(jzx_context *ctx, jzx_rwlock *storage, bool writes, uint32_t tag,
                       jzx_op *op) {
    struct rwlock *lock = rwlock_of(storage);
    struct jzx__to_call call;
    if (lock == NULL)
        return JZX_ERR_INVALID_ARG;
    const struct jzx__to_spec spec = {.object = &lock->object,
                                      .kind = &lock_kind,
                                      .record_size = sizeof(struct lock_to),
                                      .tag = tag};
    jzx_err err = jzx__to_begin(&call, &spec, ctx);
    if (err != JZX_OK)
        return err;
    struct lock_to *it = (void *)call.to;
    it->lock = lock;
    it->request = (struct request){.writes = writes, .who = jzx__owner_actor(ctx->self)};
    err = fill(it, &call.own);
    if (err != JZX_OK)
        return jzx__to_refuse(&call, err);
    it->link = jzx__permits_link(&lock->permits, &it->request.want);
    jzx__to_start(&call, &it->link, 1, op);
    return JZX_OK;
}

jzx_err jzx_rwlock_lock_read_to(jzx_context *ctx, jzx_rwlock *lock, uint32_t tag, jzx_op *op) {
    return lock_to(ctx, lock, false, tag, op);
}

jzx_err jzx_rwlock_lock_write_to(jzx_context *ctx, jzx_rwlock *lock, uint32_t tag, jzx_op *op) {
    return lock_to(ctx, lock, true, tag, op);
}

/* ---- unlocking ---- */

static jzx_err unlock_read(struct jzx__caller *caller, struct rwlock *lock) {
    if (caller->actor == NULL) {
        const struct jzx__permit_return back = {.count = 1, .holders = 1};
        return jzx__permits_release(&lock->permits, back, caller->me) ? JZX_OK : JZX_ERR_NOT_OWNER;
    }
    struct jzx__helds *helds = jzx__helds_of(caller->actor);
    struct jzx__held *held = jzx__helds_find(helds, lock);
    if (held == NULL || held == &lock->held)
        return JZX_ERR_NOT_OWNER;
    jzx__helds_remove_block(helds, held, lock->object.loop, caller->me);
    give_back(lock, (struct jzx__permit_return){.count = 1}, caller->me);
    return JZX_OK;
}

static jzx_err unlock_write(struct jzx__caller *caller, struct rwlock *lock) {
    if (!is_writer(lock, caller->owner))
        return JZX_ERR_NOT_OWNER;
    if (caller->actor != NULL)
        jzx__list_remove(&lock->held.link);
    set_writer(lock, (struct jzx__owner){.actor = JZX_NOBODY});
    give_back(lock, (struct jzx__permit_return){.count = ALL}, caller->me);
    return JZX_OK;
}

jzx_err jzx_rwlock_unlock_read(jzx_context *ctx, jzx_rwlock *storage) {
    struct rwlock *lock = rwlock_of(storage);
    struct jzx__caller caller;
    if (lock == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__caller_begin(&caller, &lock->object, ctx);
    if (err != JZX_OK)
        return err;
    err = unlock_read(&caller, lock);
    jzx__caller_end(&caller);
    return err;
}

jzx_err jzx_rwlock_unlock_write(jzx_context *ctx, jzx_rwlock *storage) {
    struct rwlock *lock = rwlock_of(storage);
    struct jzx__caller caller;
    if (lock == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__caller_begin(&caller, &lock->object, ctx);
    if (err != JZX_OK)
        return err;
    err = unlock_write(&caller, lock);
    jzx__caller_end(&caller);
    return err;
}
