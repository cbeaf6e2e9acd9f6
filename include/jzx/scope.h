/* SPDX-License-Identifier: MIT */
/* Scopes: what is started in one ends with it.
 *
 *     jzx_scope *scope;
 *     jzx_scope_open(ctx, jzx_in(ctx, JZX_SECOND(2)), &scope);
 *     for (int i = 0; i < 10; i++)
 *         jzx_scope_async(scope, &fetch_type, &(struct fetch){.id = i}, &prices[i]);
 *     err = jzx_scope_close(ctx, scope, NULL);      waits for all ten
 *
 * A scope belongs to the actor that opens it. In it async functions, fibers and other actors are
 * started, its **members**. Closing it waits until all of them have ended, however they do. The
 * first that fails (an async function that is rejected, an actor that ends by a failure) cancels
 * the others, and its error is what close returns; so does the deadline (JZX_ERR_TIMEOUT), which
 * also ends the opener's own waits while the scope is open, and holds for all scopes that are
 * opened inside. When the opener ends before it has closed its scope, the members are cancelled,
 * too.
 *
 * The clock decides about the deadline. A scope has timed out if its opener begins to close it at
 * that time or later, or if its last member ends then while it closes.
 *
 * To cancel is to ask: an async function's waits fail with JZX_ERR_CANCELLED, and an actor is
 * stopped after its queue (JZX_STOP_AFTER_QUEUE). By that a fiber ends at a receive that finds
 * nothing, its waits for others fail with JZX_ERR_CANCELLED, and a sleep goes on. The opener itself
 * is not woken when a member fails: close tells it. */
#ifndef JZX_SCOPE_H
#define JZX_SCOPE_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/async.h"
#include "jzx/error.h"
#include "jzx/exit.h"
#include "jzx/future.h"
#include "jzx/op.h"

#include <stdint.h>

typedef struct jzx_scope jzx_scope;

/* What a scope has come to. */
typedef struct jzx_scope_result {
    size_t size;         /* sizeof(jzx_scope_result): set by the caller before the call */
    jzx_err err;         /* of the first that failed, or JZX_OK */
    jzx_actor_id member; /* which that was, if it was one */
    uint32_t ended;      /* members that have ended */
    char text[JZX_FUTURE_TEXT_MAX + 1];
} jzx_scope_result;

JZX_BEGIN_C

/* Opens one, with a deadline or JZX_NEVER; it is not later than that of the scope in which the
 * caller is. In any actor's own turn; a behaviour, which cannot wait, closes it by
 * jzx_scope_close_to. JZX_ERR_INVALID_ARG (also without a turn),
 * JZX_ERR_NO_MEMORY, JZX_ERR_MAX_ACTORS. */
JZX_API jzx_err jzx_scope_open(jzx_context *ctx, uint64_t deadline_ns, jzx_scope **scope);

/* Start a member, as jzx_spawn and jzx_async_spawn do; any thread, until the scope is closed. id
 * and future may be NULL. The handle to a member's future is the caller's: releasing the last one
 * does not cancel a member. JZX_ERR_CLOSED: the scope is closing. JZX_ERR_CANCELLED: it was
 * cancelled, or its deadline has passed. */
JZX_API jzx_err jzx_scope_spawn(jzx_scope *scope, const jzx_spawn_opts *opts, jzx_actor_id *id);
JZX_API jzx_err jzx_scope_async(jzx_scope *scope, const jzx_async_type *type, const void *state,
                                jzx_future **future);

/* Cancels what runs in it; close returns JZX_ERR_CANCELLED, unless a member has failed before. Any
 * thread that has the scope before it is closed. */
JZX_API void jzx_scope_cancel(jzx_scope *scope);

/* Waits for all members; the scope is gone then. The opener only; in a fiber (elsewhere
 * JZX_ERR_WOULD_SUSPEND, and the scope is as it was). While the fiber works off its queue this
 * cancels the scope, and still waits. how may be NULL. */
JZX_API jzx_err jzx_scope_close(jzx_context *ctx, jzx_scope *scope, jzx_scope_result *how);

/* The same for a behaviour, which does not wait: when all members have ended the outcome comes as
 * one message with that tag (jzx/op.h). The err of its jzx_result is what jzx_scope_close would
 * return, and the data are a jzx_scope_result. The scope is not the caller's any more: it takes no
 * member, its deadline still holds, and jzx_op_cancel(loop, op) cancels its members. If the opener
 * ends before the message has come they are cancelled, too. The opener only, in its own turn; op
 * may be NULL. JZX_ERR_INVALID_ARG (also a scope that it has not opened), JZX_ERR_NO_SUCH_ACTOR
 * (this actor works off its queue), JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY: then the scope is as it
 * was. */
JZX_API jzx_err jzx_scope_close_to(jzx_context *ctx, jzx_scope *scope, uint32_t tag, jzx_op *op);

/* The same for an async function: out is a jzx_scope_result, or NULL. */
JZX_API jzx_awaitable *jzx_op_close(jzx_await_op *op, jzx_scope *scope);

/* Members that have not ended. */
JZX_API uint32_t jzx_scope_members(jzx_scope *scope);

JZX_END_C

#endif
