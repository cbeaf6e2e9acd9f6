/* SPDX-License-Identifier: MIT */
/* The clocks. */
#include "base/clock.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "base/lock.h"

#include <time.h>

struct jzx_clock {
    jzx_allocator allocator; /* fixed */
    _Atomic uint64_t now_ns;
    struct jzx__lock lock;
    struct jzx__clock_user *users; /* guarded by lock */
};

static uint64_t read_clock(clockid_t which) {
    struct timespec t;
    int failed = clock_gettime(which, &t);
    JZX_ASSERT(failed == 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t monotonic_now(const struct jzx__clock *clock) {
    (void)clock;
    return read_clock(CLOCK_MONOTONIC);
}

static uint64_t thread_cpu(const struct jzx__clock *clock) {
    (void)clock;
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t manual_now(const struct jzx__clock *clock) {
    return clock->manual_ns;
}

static uint64_t shared_now(const struct jzx__clock *clock) {
    return jzx_clock_now(clock->shared);
}

void jzx__clock_init_monotonic(struct jzx__clock *clock) {
    *clock = (struct jzx__clock){.now = monotonic_now, .cpu = thread_cpu, .is_real = true};
}

void jzx__clock_init_manual(struct jzx__clock *clock, uint64_t start_ns) {
    *clock = (struct jzx__clock){.now = manual_now, .manual_ns = start_ns};
}

void jzx__clock_advance(struct jzx__clock *clock, uint64_t duration_ns) {
    JZX_ASSERT(clock->now == manual_now);
    clock->manual_ns += duration_ns;
}

/* ---- shared ---- */

void jzx__clock_join(struct jzx__clock *clock, struct jzx_clock *shared,
                     struct jzx__clock_user *user) {
    *clock = (struct jzx__clock){.now = shared_now, .shared = shared};
    jzx__lock_acquire(&shared->lock);
    user->next = shared->users;
    shared->users = user;
    jzx__lock_release(&shared->lock);
}

void jzx__clock_leave(struct jzx_clock *shared, struct jzx__clock_user *user) {
    jzx__lock_acquire(&shared->lock);
    struct jzx__clock_user **place = &shared->users;
    while (*place != user)
        place = &(*place)->next;
    *place = user->next;
    jzx__lock_release(&shared->lock);
}

jzx_err jzx_clock_create(uint64_t start_ns, const jzx_allocator *allocator, jzx_clock **clock) {
    if (clock == NULL || !jzx__allocator_is_valid(allocator))
        return JZX_ERR_INVALID_ARG;
    const jzx_allocator *hooks = jzx__allocator_or_default(allocator);
    struct jzx_clock *made = jzx__alloc(hooks, sizeof *made);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    made->allocator = *hooks;
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&made->now_ns, start_ns);
    jzx__lock_init(&made->lock);
    made->users = NULL;
    *clock = made;
    return JZX_OK;
}

jzx_clock *jzx_clock_manual(uint64_t start_ns) {
    jzx_clock *clock = NULL;
    return jzx_clock_create(start_ns, NULL, &clock) == JZX_OK ? clock : NULL;
}

uint64_t jzx_clock_now(const jzx_clock *clock) {
    /* seq_cst: pairs with advance; a worker looks after it has announced its sleep */
    return clock == NULL ? 0 : jzx__atomic_load_seq_cst(&clock->now_ns);
}

jzx_err jzx_clock_advance(jzx_clock *clock, uint64_t duration_ns) {
    if (clock == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__lock_acquire(&clock->lock);
    uint64_t now = jzx_clock_now(clock);
    uint64_t next = now > UINT64_MAX - duration_ns ? UINT64_MAX : now + duration_ns;
    /* seq_cst: pairs with jzx_clock_now, see there; who slept before is woken below */
    jzx__atomic_store_seq_cst(&clock->now_ns, next);
    for (struct jzx__clock_user *user = clock->users; user != NULL; user = user->next)
        user->wake(user);
    jzx__lock_release(&clock->lock);
    return JZX_OK;
}

jzx_err jzx_clock_free(jzx_clock *clock) {
    if (clock == NULL)
        return JZX_OK;
    jzx__lock_acquire(&clock->lock);
    bool busy = clock->users != NULL;
    jzx__lock_release(&clock->lock);
    if (busy)
        return JZX_ERR_BUSY;
    jzx__lock_deinit(&clock->lock);
    jzx_allocator allocator = clock->allocator;
    jzx__free(&allocator, clock, sizeof *clock);
    return JZX_OK;
}
