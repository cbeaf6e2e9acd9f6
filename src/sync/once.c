/* SPDX-License-Identifier: MIT */
/* Once: a mutex, and a word that says that it is needed no more. */
#include "sync/object.h"

struct once {
    struct jzx__object object; /* first */
    _Atomic uint32_t is_done;  /* written under the mutex. Decides */
};

_Static_assert(sizeof(struct once) <= sizeof(jzx_sync_storage), "fits its storage");

static struct once *once_of(const jzx_once *storage) {
    return jzx__object_of(storage, JZX__SYNC_ONCE);
}

static bool is_done(const struct once *once) {
    /* acquire: pairs with the store in run; what fn did is visible */
    return jzx__atomic_load_acquire(&once->is_done) != 0;
}

jzx_err jzx_once_init(jzx_loop *loop, jzx_once *storage) {
    struct once *once = (struct once *)(void *)storage;
    jzx_err err = jzx__object_init((void *)storage, loop, JZX__SYNC_ONCE);
    if (err != JZX_OK)
        return err;
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&once->is_done, 0u);
    err = jzx_mutex_init(loop, &storage->mutex);
    if (err != JZX_OK)
        jzx__object_deinit(&once->object);
    return err;
}

jzx_err jzx_once_deinit(jzx_once *storage) {
    struct once *once = once_of(storage);
    if (once == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx_mutex_deinit(&storage->mutex);
    if (err == JZX_OK)
        jzx__object_deinit(&once->object);
    return err;
}

bool jzx_once_is_done(const jzx_once *storage) {
    const struct once *once = once_of(storage);
    return once != NULL && is_done(once);
}

/* The caller has the mutex. */
static jzx_err run(jzx_context *ctx, jzx_once *storage, jzx_once_fn fn, void *arg) {
    struct once *once = once_of(storage);
    jzx_err err = JZX_OK;
    if (!is_done(once)) {
        err = fn(ctx, arg);
        if (err == JZX_OK)
            /* release: pairs with is_done; publishes what fn did */
            jzx__atomic_store_release(&once->is_done, 1u);
    }
    jzx_err unlocked = jzx_mutex_unlock(ctx, &storage->mutex);
    JZX_ASSERT(unlocked == JZX_OK);
    return err;
}

jzx_err jzx_once_run(jzx_context *ctx, jzx_once *storage, uint64_t deadline_ns, jzx_once_fn fn,
                     void *arg) {
    const struct once *once = once_of(storage);
    if (once == NULL || fn == NULL)
        return JZX_ERR_INVALID_ARG;
    if (is_done(once))
        return JZX_OK;
    jzx_err err = jzx_mutex_lock(ctx, &storage->mutex, deadline_ns);
    return err == JZX_OK || err == JZX_ERR_OWNER_DIED ? run(ctx, storage, fn, arg) : err;
}

jzx_err jzx_once_run_wait(jzx_once *storage, uint64_t deadline_ns, jzx_once_fn fn, void *arg) {
    const struct once *once = once_of(storage);
    if (once == NULL || fn == NULL)
        return JZX_ERR_INVALID_ARG;
    if (is_done(once))
        return JZX_OK;
    jzx_err err = jzx_mutex_lock_wait(&storage->mutex, deadline_ns);
    return err == JZX_OK || err == JZX_ERR_OWNER_DIED ? run(NULL, storage, fn, arg) : err;
}
