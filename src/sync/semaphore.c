/* SPDX-License-Identifier: MIT */
/* The semaphore: permits, and a record at each actor that has some. */
#include "sync/held.h"
#include "sync/object.h"
#include "sync/permits.h"
#include "sync/take.h"
#include "sync/to.h"

struct semaphore {
    struct jzx__object object; /* first */
    struct jzx__permits permits;
};

_Static_assert(sizeof(struct semaphore) <= JZX_SYNC_SIZE, "fits its storage");
_Static_assert(JZX_SEMAPHORE_MAX == JZX__PERMITS_MAX, "all that the word can say");

static struct semaphore *semaphore_of(const jzx_semaphore *semaphore) {
    return jzx__object_of(semaphore, JZX__SYNC_SEMAPHORE);
}

/* What the actor has may be there already: another has added it in its place. */
static void owner_died(struct jzx__held *held, struct jzx__worker *me) {
    struct semaphore *semaphore = held->object;
    const struct jzx__permit_return back = {
        .count = held->count, .holders = 1, .died = true, .clamps = true};
    jzx__held_free_block(held, me);
    bool is_back = jzx__permits_release(&semaphore->permits, back, me);
    JZX_ASSERT(is_back);
}

static const struct jzx__held_ops held_ops = {.what = "permits of a semaphore", .died = owner_died};

/* ---- making one ---- */

jzx_err jzx_semaphore_init(jzx_loop *loop, jzx_semaphore *storage, uint32_t permits, uint32_t max) {
    struct semaphore *semaphore = (struct semaphore *)(void *)storage;
    if (max == 0 || max > JZX_SEMAPHORE_MAX || permits > max)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__object_init((void *)storage, loop, JZX__SYNC_SEMAPHORE);
    if (err == JZX_OK)
        jzx__permits_init(&semaphore->permits, permits, max);
    return err;
}

jzx_err jzx_semaphore_deinit(jzx_semaphore *storage) {
    struct semaphore *semaphore = semaphore_of(storage);
    if (semaphore == NULL)
        return JZX_ERR_INVALID_ARG;
    if (jzx__permits_word(&semaphore->permits) >= JZX__PERMITS_HOLDER ||
        !jzx__permits_deinit(&semaphore->permits))
        return JZX_ERR_BUSY;
    jzx__object_deinit(&semaphore->object);
    return JZX_OK;
}

uint32_t jzx_semaphore_available(const jzx_semaphore *storage) {
    const struct semaphore *semaphore = semaphore_of(storage);
    return semaphore == NULL ? 0 : jzx__permits_available(jzx__permits_word(&semaphore->permits));
}

/* ---- taking ---- */

/* What an actor has of the semaphore; all NULL for a thread. */
struct account {
    struct jzx__helds *helds;
    struct jzx__held *held; /* NULL: nothing yet */
};

/* Before it takes some: false without memory. */
static bool prepare(struct account *account, struct semaphore *semaphore, struct jzx__worker *me,
                    struct jzx__actor *actor) {
    *account = (struct account){.helds = NULL};
    if (actor == NULL)
        return true;
    account->helds = jzx__helds_ensure(semaphore->object.loop, me, actor);
    if (account->helds == NULL)
        return false;
    account->held = jzx__helds_find(account->helds, semaphore);
    return account->held != NULL || jzx__helds_stock(account->helds, semaphore->object.loop, me);
}

static struct jzx__permit_want want_of(const struct account *account, uint32_t count) {
    return (struct jzx__permit_want){.count = count,
                                     .holders = account->helds != NULL && account->held == NULL};
}

static void book(const struct account *account, struct semaphore *semaphore, uint32_t count) {
    if (account->held != NULL)
        account->held->count += count;
    else if (account->helds != NULL)
        jzx__helds_add_block(account->helds, &held_ops, semaphore, count);
}

static bool is_count(const struct semaphore *semaphore, uint32_t count) {
    return semaphore != NULL && count != 0 && count <= semaphore->permits.max;
}

static jzx_err acquire(struct jzx__party *party, struct semaphore *semaphore, uint32_t count,
                       uint64_t deadline_ns) {
    struct jzx__actor *actor = party->fiber == NULL ? NULL : party->fiber->turn.actor;
    struct account account;
    if (!prepare(&account, semaphore, party->me, actor))
        return JZX_ERR_NO_MEMORY;
    struct jzx__permit_want want = want_of(&account, count);
    const struct jzx__event what = {.kind = JZX_WAIT_SEMAPHORE, .object = (uintptr_t)semaphore};
    jzx_err err = jzx__take_permits(party, &semaphore->permits, &want, &what, deadline_ns);
    if (jzx__has_taken(err))
        book(&account, semaphore, count);
    return err;
}

jzx_err jzx_semaphore_acquire(jzx_context *ctx, jzx_semaphore *storage, uint32_t count,
                              uint64_t deadline_ns) {
    struct semaphore *semaphore = semaphore_of(storage);
    struct jzx__party party;
    if (!is_count(semaphore, count))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_fiber(&party, &semaphore->object, ctx, "jzx_semaphore_acquire");
    if (err != JZX_OK)
        return err;
    err = acquire(&party, semaphore, count, deadline_ns);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_semaphore_acquire_wait(jzx_semaphore *storage, uint32_t count, uint64_t deadline_ns) {
    struct semaphore *semaphore = semaphore_of(storage);
    struct jzx__party party;
    if (!is_count(semaphore, count))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_thread(&party, &semaphore->object, "jzx_semaphore_acquire_wait");
    if (err != JZX_OK)
        return err;
    err = acquire(&party, semaphore, count, deadline_ns);
    jzx__party_end(&party);
    return err;
}

/* ---- as an operation ---- */

/* It always becomes a holder, since what its actor has may change before the message is handled. */
struct acquire_to {
    struct jzx__to to; /* first */
    struct jzx__wait_link link;
    struct jzx__permit_want want;
    struct semaphore *semaphore;
    struct jzx__held *block; /* for the actor's record, if it has none then */
};

static jzx_err settle(struct jzx__to *to, jzx_err err, struct jzx__worker *me, size_t *len) {
    const struct acquire_to *it = (void *)to;
    (void)me;
    (void)len;
    return err == JZX_OK ? it->want.result : err;
}

static bool handle(struct jzx__to *to, struct jzx__worker *me, struct jzx__actor *owner) {
    struct acquire_to *it = (void *)to;
    struct jzx__helds *helds = jzx__helds_of(owner);
    struct jzx__held *held = jzx__helds_find(helds, it->semaphore);
    if (held == NULL) {
        jzx__helds_adopt_block(helds, &held_ops, it->block, it->semaphore, it->want.count);
        it->block = NULL;
        return true;
    }
    held->count += it->want.count;
    const struct jzx__permit_return twice = {.holders = 1};
    bool is_back = jzx__permits_release(&it->semaphore->permits, twice, me);
    JZX_ASSERT(is_back);
    return true;
}

static void release_record(struct jzx__to *to, struct jzx__worker *me) {
    const struct acquire_to *it = (void *)to;
    if (it->block != NULL)
        jzx__sched_free(&to->op->loop->sched, me, JZX__PART_CLASS, it->block);
}

static const struct jzx__to_kind acquire_kind = {
    .settle = settle, .handle = handle, .release = release_record};

jzx_err jzx_semaphore_acquire_to(jzx_context *ctx, jzx_semaphore *storage, uint32_t count,
                                 uint32_t tag, jzx_op *op) {
    struct semaphore *semaphore = semaphore_of(storage);
    struct jzx__to_call call;
    if (!is_count(semaphore, count))
        return JZX_ERR_INVALID_ARG;
    const struct jzx__to_spec spec = {.object = &semaphore->object,
                                      .kind = &acquire_kind,
                                      .record_size = sizeof(struct acquire_to),
                                      .tag = tag};
    jzx_err err = jzx__to_begin(&call, &spec, ctx);
    if (err != JZX_OK)
        return err;
    struct acquire_to *it = (void *)call.to;
    it->semaphore = semaphore;
    it->block = jzx__held_make_block(semaphore->object.loop, call.own.me);
    if (it->block == NULL ||
        jzx__helds_ensure(semaphore->object.loop, call.own.me, call.own.turn->actor) == NULL)
        return jzx__to_refuse(&call, JZX_ERR_NO_MEMORY);
    it->want = (struct jzx__permit_want){.count = count, .holders = 1};
    it->link = jzx__permits_link(&semaphore->permits, &it->want);
    jzx__to_start(&call, &it->link, 1, op);
    return JZX_OK;
}

/* ---- without a wait ---- */

static jzx_err try_acquire(struct jzx__caller *caller, struct semaphore *semaphore,
                           uint32_t count) {
    struct account account;
    if (!prepare(&account, semaphore, caller->me, caller->actor))
        return JZX_ERR_NO_MEMORY;
    struct jzx__permit_want want = want_of(&account, count);
    if (!jzx__permits_try(&semaphore->permits, &want))
        return JZX_ERR_TIMEOUT;
    book(&account, semaphore, count);
    return want.result;
}

jzx_err jzx_semaphore_try_acquire(jzx_context *ctx, jzx_semaphore *storage, uint32_t count) {
    struct semaphore *semaphore = semaphore_of(storage);
    struct jzx__caller caller;
    if (!is_count(semaphore, count))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__caller_begin(&caller, &semaphore->object, ctx);
    if (err != JZX_OK)
        return err;
    err = try_acquire(&caller, semaphore, count);
    jzx__caller_end(&caller);
    return err;
}

/* ---- giving back ---- */

/* What the calling actor has of it; NULL: nothing, or it is a thread. */
static struct jzx__held *held_by(const struct jzx__caller *caller,
                                 const struct semaphore *semaphore) {
    if (caller->actor == NULL)
        return NULL;
    return jzx__helds_find(jzx__helds_of(caller->actor), semaphore);
}

/* The actor has so many less. */
static void unbook(const struct jzx__caller *caller, struct semaphore *semaphore,
                   struct jzx__held *held, uint32_t count) {
    held->count -= count;
    if (held->count == 0)
        jzx__helds_remove_block(jzx__helds_of(caller->actor), held, semaphore->object.loop,
                                caller->me);
}

static jzx_err release(struct jzx__caller *caller, struct semaphore *semaphore, uint32_t count) {
    struct jzx__held *held = held_by(caller, semaphore);
    uint32_t own = held == NULL ? 0 : held->count < count ? held->count : count;
    const struct jzx__permit_return back = {.count = count,
                                            .holders = own != 0 && own == held->count};
    if (!jzx__permits_release(&semaphore->permits, back, caller->me))
        return JZX_ERR_FULL;
    if (own != 0)
        unbook(caller, semaphore, held, own);
    return JZX_OK;
}

jzx_err jzx_semaphore_release(jzx_context *ctx, jzx_semaphore *storage, uint32_t count) {
    struct semaphore *semaphore = semaphore_of(storage);
    struct jzx__caller caller;
    if (semaphore == NULL || count == 0)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__caller_begin(&caller, &semaphore->object, ctx);
    if (err != JZX_OK)
        return err;
    err = release(&caller, semaphore, count);
    jzx__caller_end(&caller);
    return err;
}

static jzx_err forget(struct jzx__caller *caller, struct semaphore *semaphore, uint32_t count) {
    struct jzx__held *held = held_by(caller, semaphore);
    if (held == NULL || held->count < count)
        return JZX_ERR_NOT_OWNER;
    bool is_last = held->count == count;
    unbook(caller, semaphore, held, count);
    if (is_last) {
        const struct jzx__permit_return back = {.holders = 1};
        bool is_back = jzx__permits_release(&semaphore->permits, back, caller->me);
        JZX_ASSERT(is_back);
    }
    return JZX_OK;
}

jzx_err jzx_semaphore_forget(jzx_context *ctx, jzx_semaphore *storage, uint32_t count) {
    struct semaphore *semaphore = semaphore_of(storage);
    struct jzx__caller caller;
    if (semaphore == NULL || count == 0)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__caller_begin(&caller, &semaphore->object, ctx);
    if (err != JZX_OK)
        return err;
    err = forget(&caller, semaphore, count);
    jzx__caller_end(&caller);
    return err;
}
