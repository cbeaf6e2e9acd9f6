/* SPDX-License-Identifier: MIT */
/* A mutex for the rare paths (growing, refilling). While one is held no user code runs but the
 * allocator hooks, which must not call into the library. */
#ifndef JZX_BASE_LOCK_H
#define JZX_BASE_LOCK_H

#include "base/assert.h"
#include "base/compiler.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

struct jzx__lock {
    pthread_mutex_t mutex;
};

static inline void jzx__lock_init(struct jzx__lock *lock) {
    int failed = pthread_mutex_init(&lock->mutex, NULL); /* cannot fail for a default mutex */
    JZX_ASSERT(failed == 0);
}

static inline void jzx__lock_deinit(struct jzx__lock *lock) {
    int failed = pthread_mutex_destroy(&lock->mutex);
    JZX_ASSERT(failed == 0); /* fails if somebody still holds it */
}

static inline void jzx__lock_acquire(struct jzx__lock *lock) {
    int failed = pthread_mutex_lock(&lock->mutex);
    JZX_ASSERT(failed == 0);
}

/* False if somebody has it, the calling thread perhaps. */
static inline bool jzx__lock_try_acquire(struct jzx__lock *lock) {
    return pthread_mutex_trylock(&lock->mutex) == 0;
}

/* The object is new: other threads come to its lock only by a stale handle, and take no second lock
 * under it. So the lock has no place in the order of locks. ThreadSanitizer learns that from a try;
 * else it reports a cycle when two records of a pool have exchanged their roles. */
static inline void jzx__lock_acquire_unordered(struct jzx__lock *lock) {
#if defined(JZX__HAS_TSAN)
    while (!jzx__lock_try_acquire(lock))
        (void)sched_yield();
#else
    jzx__lock_acquire(lock);
#endif
}

static inline void jzx__lock_release(struct jzx__lock *lock) {
    int failed = pthread_mutex_unlock(&lock->mutex);
    JZX_ASSERT(failed == 0);
}

#endif
