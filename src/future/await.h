/* SPDX-License-Identifier: MIT */
/* What an async function awaits: an operation that waits for a future or a time. */
#ifndef JZX_FUTURE_AWAIT_H
#define JZX_FUTURE_AWAIT_H

#include "sched/waiter.h"

#include "jzx/async.h"

/* An operation that waits, in a jzx_await_op of some state. */
struct jzx__await {
    jzx_awaitable base;
    struct jzx__wait_link link; /* its source is NULL: for time alone */
    struct jzx_future *future;
    void *object; /* of another operation */
    uint64_t deadline_ns;
    bool owns; /* the handle to the future */
    bool begun;
    bool is_firm; /* neither a limit nor that the actor drains ends the wait */
};

_Static_assert(sizeof(struct jzx__await) <= sizeof(jzx_await_op), "has room there");

/* PENDING: the wait has begun, or is not over yet. READY: base.err says how it ended. */
jzx_poll jzx__await_wait(struct jzx__await *await, jzx_context *ctx);

/* Its actor ends while the operation waits. */
void jzx__await_drop(struct jzx__await *await);

#endif
