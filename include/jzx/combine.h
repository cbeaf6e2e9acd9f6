/* SPDX-License-Identifier: MIT */
/* Combinators: futures made of futures.
 *
 *     jzx_future *both;
 *     jzx_future_all(loop, (jzx_future *[]){a, b}, 2, 0, &both);
 *     jzx_future_release(a);
 *     jzx_future_release(b);
 *     jzx_await(ctx, both, JZX_NEVER, prices);                       int prices[2]
 *
 * The rules of all of them:
 *
 * - A combinator takes a handle of its own to each input; yours stays yours.
 * - It lets go of its inputs when its result is settled or cancelled, or the last handle to the
 *   result is released. An input to which nobody else has a handle is cancelled by that, as ever.
 *   With JZX_CANCEL_INPUTS all inputs that are not settled are cancelled then, whoever has a
 *   handle.
 * - All memory is taken at the call: JZX_ERR_NO_MEMORY. Nothing runs inside a resolve but the
 *   copying of values, and a chain of any length needs no stack.
 * - An error goes on with its text, and counts as read.
 * - The inputs are of one loop, and have values of one size; those that are rejected already may
 *   have any. JZX_ERR_INVALID_ARG else, as for a NULL.
 * - An object (jzx_promise_resolve_moved) moves on to the result, of which it can be taken; the
 *   input then has NULL. It cannot be part of a list: that is an error, JZX_ERR_INVALID_ARG.
 * - Results may outlive the loop, also detached ones: an input that is settled then is rejected
 *   with JZX_ERR_LOOP_CLOSED, and the result is made of that as of any other error.
 *
 * On an error *result is untouched. Any thread. */
#ifndef JZX_COMBINE_H
#define JZX_COMBINE_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/async.h"
#include "jzx/context.h"
#include "jzx/error.h"
#include "jzx/future.h"
#include "jzx/op.h"

#include <stddef.h>
#include <stdint.h>

/* Flags. */
#define JZX_CANCEL_INPUTS 1u /* inputs that are left over are cancelled */

JZX_BEGIN_C

/* ---- lists ---- */

/* All values in the order of the list, one behind the other (count times the value size); rejected
 * as soon as one input is. Of an empty list: resolved, without a value. */
JZX_API jzx_err jzx_future_all(jzx_loop *loop, jzx_future *const *inputs, size_t count,
                               uint32_t flags, jzx_future **result);

/* The outcome of the input that is settled first, value or error; of those that are settled
 * already, of the first in the list. An empty list would never be settled: JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_future_race(jzx_loop *loop, jzx_future *const *inputs, size_t count,
                                uint32_t flags, jzx_future **result);

/* The first value; jzx_future_winner says of which input. Rejected with JZX_ERR_ALL_REJECTED when
 * all inputs are rejected, and at once if the list is empty; it has the error of each
 * (jzx_future_error_at). */
JZX_API jzx_err jzx_future_any(jzx_loop *loop, jzx_future *const *inputs, size_t count,
                               uint32_t flags, jzx_future **result);

/* The first k values, as k records in the order in which they came, each a jzx_settled with the
 * value behind it, JZX_SETTLED_SIZE(value size) bytes. Rejected with JZX_ERR_ALL_REJECTED as soon
 * as more than count - k inputs are, and at once if k is more than count; it has their errors
 * (jzx_future_error_at). For k = 0: resolved at once, without a value. An object counts as an
 * error of its input, JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_future_some(jzx_loop *loop, jzx_future *const *inputs, size_t count, size_t k,
                                uint32_t flags, jzx_future **result);

/* Waits for all, and is never rejected but by a cancel. The value is count records, in the order of
 * the list, each a jzx_settled with the value behind it, JZX_SETTLED_SIZE(value size) bytes. */
JZX_API jzx_err jzx_future_all_settled(jzx_loop *loop, jzx_future *const *inputs, size_t count,
                                       uint32_t flags, jzx_future **result);

typedef struct jzx_settled {
    int32_t err;    /* a jzx_err: JZX_OK, and the value follows; or the error, and zeroes do */
    uint32_t index; /* of the input in the list */
} jzx_settled;

#define JZX_SETTLED_SIZE(value_size) (sizeof(jzx_settled) + ((value_size) + 7u) / 8u * 8u)

/* Record number `index` of the value (of all_settled: of that input; of some: the one that came as
 * that), in a copy of the result's value, which is aligned for a jzx_settled. The input's own value
 * is behind it: (void *)(record + 1). */
JZX_API inline jzx_settled *jzx_settled_at(void *records, size_t value_size, size_t index) {
    return (jzx_settled *)(void *)((char *)records + index * JZX_SETTLED_SIZE(value_size));
}

/* Which input the outcome of a settled result is of: of race, and of any that has a value; of all
 * and map, if one has rejected it; of timeout 0, or 1 if it was the time. JZX_ERR_NOT_FOUND: it is
 * of none (all have a value, or are rejected; it was cancelled; some and all_settled: always).
 * JZX_ERR_INVALID_STATE: it is not settled. JZX_ERR_INVALID_ARG: NULL, or no result of these. */
JZX_API jzx_err jzx_future_winner(jzx_future *result, size_t *index);

/* What an input of any or some was rejected with, before the result was settled: *err, and in *text
 * (may be NULL) its text or "", which stays valid as long as the handle to the result. JZX_OK in
 * *err: it was not. JZX_ERR_INVALID_STATE: the result is not settled. JZX_ERR_INVALID_ARG: NULL, no
 * such input, or no result of any or some (of race: jzx_future_error). */
JZX_API jzx_err jzx_future_error_at(jzx_future *result, size_t index, jzx_err *err,
                                    const char **text);

/* ---- one after the other ----
 *
 * The function runs once, as an async function of its own: in an actor, which belongs to the one in
 * whose turn this is called, and in which a fault is contained (JZX_ERR_FAILED). It must not wait.
 * It is not called if the result is cancelled before, or nobody has a handle to it: where only the
 * call matters, jzx_future_detach the result. JZX_ERR_MAX_ACTORS, JZX_ERR_LOOP_CLOSED. */

/* Returns JZX_OK and the result in *result, which has result_size bytes; or the error that the
 * result is rejected with. value and text are valid during the call. */
typedef jzx_err (*jzx_then_fn)(jzx_context *ctx, const void *value, void *result, void *arg);
typedef jzx_err (*jzx_catch_fn)(jzx_context *ctx, jzx_err err, const char *text, void *result,
                                void *arg);
typedef void (*jzx_finally_fn)(jzx_context *ctx, jzx_err err, void *arg);

/* Makes another value of a value. An error goes on, and fn is not called. */
JZX_API jzx_err jzx_future_then(jzx_future *input, size_t result_size, jzx_then_fn fn, void *arg,
                                jzx_future **result);

/* Goes on with another future, whose outcome the result has: a then that waits. fn stores that in
 * *next, with a handle, which belongs to the result from then on, and returns JZX_OK; or it returns
 * the error that the result is rejected with. A cancel of the result lets go of what it waits for,
 * the input or the next one. The next one is of the same loop, is not the result itself, was
 * started, and has a value of result_size bytes: JZX_ERR_INVALID_ARG, as for a NULL, or
 * JZX_ERR_INVALID_STATE else, in the result. It may be the result of another call of this, and so
 * on: no stack is needed. */
typedef jzx_err (*jzx_then_future_fn)(jzx_context *ctx, const void *value, jzx_future **next,
                                      void *arg);
JZX_API jzx_err jzx_future_then_future(jzx_future *input, size_t result_size, jzx_then_future_fn fn,
                                       void *arg, jzx_future **result);

/* Makes a value of an error, of the size that the input's value would have. A value goes on, and fn
 * is not called. */
JZX_API jzx_err jzx_future_catch(jzx_future *input, jzx_catch_fn fn, void *arg,
                                 jzx_future **result);

/* Calls fn when the input is settled, however (err is JZX_OK for a value); the outcome goes on. It
 * is also called, with JZX_ERR_CANCELLED, if the result is cancelled after the actor has begun. */
JZX_API jzx_err jzx_future_finally(jzx_future *input, jzx_finally_fn fn, void *arg,
                                   jzx_future **result);

/* ---- time ---- */

/* Has a copy of the value at that time; value may be NULL if its size is 0. */
JZX_API jzx_err jzx_future_delayed(jzx_loop *loop, uint64_t until_ns, const void *value,
                                   size_t value_size, jzx_future **result);

/* The outcome of the input, or JZX_ERR_TIMEOUT at the deadline. An outcome that is there already
 * needs no time. */
JZX_API jzx_err jzx_future_timeout(jzx_future *input, uint64_t deadline_ns, uint32_t flags,
                                   jzx_future **result);

/* ---- many ---- */

/* Runs an async function for each of count states, which lie one behind the other and are copied,
 * limit of them at a time (0: all). The results in the order of the list, as of jzx_future_all. The
 * first error rejects the result: those that run are cancelled, the others are not started. They
 * belong to the result, not to the caller. */
JZX_API jzx_err jzx_future_map(jzx_loop *loop, const jzx_async_type *type, const void *states,
                               size_t count, uint32_t limit, jzx_future **result);

/* ---- as a message ---- */

/* Sends the outcome to the actor itself, in its own turn, as op.h says: a jzx_result with the tag,
 * behind it the value. An object stays with the future (jzx_future_take); the message has no data
 * then. Takes a handle of its own, which is let go when the message is sent, the operation is
 * cancelled, or the actor ends. op may be NULL. JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY,
 * JZX_ERR_NO_SUCH_ACTOR (it works off its queue), JZX_ERR_LOOP_CLOSED. */
JZX_API jzx_err jzx_future_to(jzx_context *ctx, jzx_future *future, uint32_t tag, jzx_op *op);

JZX_END_C

#endif
