/* SPDX-License-Identifier: MIT */
/* The model build's base/lock.h. A thread that waits for a lock is blocked, so that a deadlock is
 * found. */
#ifndef JZX_BASE_LOCK_H
#define JZX_BASE_LOCK_H

#include "engine.h"

struct jzx__lock {
    volatile uint32_t held;
};

static inline void jzx__lock_init(struct jzx__lock *lock) {
    lock->held = 0;
}

/* Whoever comes to it later waits for ever. */
static inline void jzx__lock_deinit(struct jzx__lock *lock) {
    model_lock(&lock->held);
}

static inline void jzx__lock_acquire(struct jzx__lock *lock) {
    model_lock(&lock->held);
}

static inline void jzx__lock_release(struct jzx__lock *lock) {
    model_unlock(&lock->held);
}

#endif
