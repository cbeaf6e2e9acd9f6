/* SPDX-License-Identifier: MIT */
/* Async functions: the kind of actor that is polled.
 *
 * An async function is one block: its future, then struct jzx__async, then its state. The actor
 * that runs it has the promise's place, and so keeps the block. What it awaits at the moment, at
 * whatever depth of calls, waits with the one waiter of this record: an operation (await.c) begins
 * the wait in the poll that finds nothing, and reads the cause in the next.
 *
 *   P1  the function is polled in the turn of its actor, and nowhere else: once for each time that
 *       what it awaits is over, or when it has said so (again). Wakes that come before the poll are
 *       one wake, and one that comes during it is found by arm (waiter/A3).
 *   P2  a poll that is pending has begun a wait, or has set `again`.
 *   P3  the record belongs to the function's own code while that runs, and else to the owner of the
 *       actor; so the thread that polls may lose its worker meanwhile.
 *   P4  the future is settled once: by the turn, when the function has returned; or at the end of
 *       the actor. Its result is written into the future's own memory, which nobody reads before.
 *   P5  while a deadline is on a wheel, the actor does not leave that worker (waiter/A7). */
#ifndef JZX_FUTURE_ASYNC_H
#define JZX_FUTURE_ASYNC_H

#include "future/await.h"
#include "future/executor.h"
#include "future/future.h"

#include "jzx/async.h"

struct jzx__async {
    struct jzx_future *future; /* which it is a part of */
    struct jzx__waiter waiter;
    uint64_t deadline_ns; /* of the wait */
    uint64_t limit_ns;    /* no wait goes on after that: of an open scope, or JZX_NEVER */
    uint32_t cause;       /* why the last one ended; 0: it was read */
    bool waits;           /* from begin to end of the waiter */
    bool armed;
    bool is_pinned; /* P5 */
    bool again;
    bool is_done; /* it has returned */
    bool is_detached;
    bool is_kept;                /* its actor has a handle to its future */
    _Atomic uint8_t is_unwanted; /* somebody has cancelled it, perhaps before it had an actor */
    uint16_t place;              /* of its actor */
    _Atomic uint64_t id;         /* of its actor; JZX_NOBODY: it was not started */
    struct jzx__await *on;       /* what waits, or NULL */
    struct jzx_future *failed;   /* a handle to the one that was rejected last, for its text */
    struct jzx__executed executed;
    size_t state_size;
    jzx_cleanup_fn cleanup;
    const char *name;
    jzx_async root;
    _Alignas(16) unsigned char state[];
};

struct jzx_scope;

/* jzx_async_spawn of a member; future may be NULL. */
jzx_err jzx__async_spawn_in(struct jzx_scope *scope, const jzx_async_type *type, const void *state,
                            struct jzx_future **future);

/* That of the function whose context it is; NULL if ctx is none's. */
struct jzx__async *jzx__async_of(jzx_context *ctx);

#endif
