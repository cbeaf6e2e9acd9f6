/* SPDX-License-Identifier: MIT */
/* Futures: a value, or an error, that comes later.
 *
 * A **promise** is the end that somebody fulfils, once: with a value (jzx_promise_resolve), with an
 * error (jzx_promise_reject), or not at all (jzx_promise_drop, which is an error as well). The
 * **future** is the end where others wait for it, as many as like to, each in its own way:
 *
 *     jzx_promise *promise;
 *     jzx_future *future;
 *     jzx_promise_create(loop, sizeof(int), &promise, &future);
 *     ... jzx_promise_resolve(promise, &(int){42});               any thread
 *
 *     jzx_await(ctx, future, jzx_in(ctx, JZX_MS(50)), &answer);   a fiber
 *     jzx_future_wait(future, JZX_NEVER, &answer);                a thread that is no worker
 *     jzx_future_release(future);
 *
 * A promise may be sent in a message, and kept; it belongs to one at a time, and each of the three
 * calls above consumes it. A future is counted: jzx_future_ref makes another handle, and each
 * handle is released. Both may outlive their loop; settling a promise then returns
 * JZX_ERR_LOOP_CLOSED and rejects its future with that error. The allocator of the loop must still
 * be there.
 *
 * A call that reads a rejected future returns the error of the future as if it were the call's
 * own: JZX_ERR_TIMEOUT may be the deadline of the wait or what the promise was rejected with. Where
 * that matters jzx_future_state tells. A rejection that nobody has read when the last handle is
 * released is shown to the observer (JZX_EVENT_UNHANDLED_REJECTION; by a thread that is no worker,
 * to the log). Cancelled futures are not. */
#ifndef JZX_FUTURE_H
#define JZX_FUTURE_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jzx_promise jzx_promise;
typedef struct jzx_future jzx_future;

/* Bytes of a value at most, and of the text of an error without its end. */
#define JZX_FUTURE_VALUE_MAX (1u << 30)
#define JZX_FUTURE_TEXT_MAX 127u

typedef enum jzx_future_status {
    JZX_FUTURE_PENDING = 0, /* an async function that was not started */
    JZX_FUTURE_RUNNING = 1,
    JZX_FUTURE_RESOLVED = 2,
    JZX_FUTURE_REJECTED = 3
} jzx_future_status;

JZX_BEGIN_C

/* ---- the end that is fulfilled; any thread ---- */

/* A pair, for values of value_size bytes (0: there is none, only the fact). JZX_ERR_INVALID_ARG,
 * JZX_ERR_NO_MEMORY. Settling a promise needs no memory and cannot fail for want of it. */
JZX_API jzx_err jzx_promise_create(jzx_loop *loop, size_t value_size, jzx_promise **promise,
                                   jzx_future **future);

/* Fulfils it with a copy of the value, and wakes all who wait; none of them runs inside this call.
 * The promise is gone, whatever this returns: JZX_OK; JZX_ERR_CANCELLED: somebody has cancelled the
 * future before; JZX_ERR_LOOP_CLOSED. value may be NULL if its size is 0. */
JZX_API jzx_err jzx_promise_resolve(jzx_promise *promise, const void *value);

/* The same with an object that is moved, not copied: the promise is one for values of sizeof(void
 * *), and who reads gets the pointer. drop (may be NULL) is called with it when the last handle is
 * released, or at once if this does not return JZX_OK; jzx_future_take takes the object out. */
typedef void (*jzx_drop_fn)(void *object);
JZX_API jzx_err jzx_promise_resolve_moved(jzx_promise *promise, void *object, jzx_drop_fn drop);

/* Fulfils it with an error, which is not JZX_OK, and a text (may be NULL), of which
 * JZX_FUTURE_TEXT_MAX bytes are kept if there is memory for them. As jzx_promise_resolve. */
JZX_API jzx_err jzx_promise_reject(jzx_promise *promise, jzx_err err, const char *text);

/* Gives it up: a rejection with JZX_ERR_BROKEN_PROMISE. NULL is fine. */
JZX_API void jzx_promise_drop(jzx_promise *promise);

/* False if nobody will read it: the future was cancelled, or its last handle was released. */
JZX_API bool jzx_promise_is_wanted(const jzx_promise *promise);

/* Futures that are settled already. JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_future_resolved(jzx_loop *loop, const void *value, size_t value_size,
                                    jzx_future **future);
JZX_API jzx_err jzx_future_rejected(jzx_loop *loop, jzx_err err, const char *text,
                                    jzx_future **future);

/* ---- waiting for it ----
 *
 * value (may be NULL) gets a copy of the value. JZX_OK; the error of a rejected one; and of the
 * wait itself JZX_ERR_TIMEOUT, and JZX_ERR_INVALID_STATE for an async function that was not
 * started. The caller has a handle until the call returns. */

/* In a fiber. JZX_ERR_CANCELLED while it works off its queue, JZX_ERR_WOULD_SUSPEND elsewhere.
 *
 * The handle stays the fiber's, also if the fiber is ended while it waits: then the call does not
 * return, and a handle that only its stack knew is leaked. A fiber that may be killed, shut down or
 * fail by a link has the handle in its state, where its cleanup releases it. */
JZX_API jzx_err jzx_await(jzx_context *ctx, jzx_future *future, uint64_t deadline_ns, void *value);

/* On a thread that is no worker; on one JZX_ERR_WOULD_SUSPEND. JZX_ERR_LOOP_CLOSED if the loop is
 * destroyed meanwhile. */
JZX_API jzx_err jzx_future_wait(jzx_future *future, uint64_t deadline_ns, void *value);

/* Without waiting: JZX_ERR_TIMEOUT if it is not settled. Any thread. */
JZX_API jzx_err jzx_future_try(jzx_future *future, void *value);

/* ---- what else a future can tell; any thread ---- */

JZX_API jzx_future_status jzx_future_state(const jzx_future *future);
JZX_API bool jzx_future_is_ready(const jzx_future *future); /* resolved or rejected */
JZX_API size_t jzx_future_value_size(const jzx_future *future);

/* JZX_OK unless it is rejected; then its error, and in *text (may be NULL) its text or "", which
 * stays valid as long as the handle. */
JZX_API jzx_err jzx_future_error(jzx_future *future, const char **text);

/* The object of a resolve_moved becomes the caller's, once: NULL if there is none, or another was
 * faster. */
JZX_API void *jzx_future_take(jzx_future *future);

/* ---- handles; any thread ---- */

/* Another handle to the same future, which it returns. */
JZX_API jzx_future *jzx_future_ref(jzx_future *future);

/* NULL is fine. If it is the last handle to a future that is not settled, what works on it is
 * cancelled; whoever has the promise can see that nobody wants it. */
JZX_API void jzx_future_release(jzx_future *future);

/* The same, but what works on it goes on. */
JZX_API void jzx_future_detach(jzx_future *future);

/* Nobody wants it any more, whoever else has a handle: an unsettled promise's future is rejected
 * with JZX_ERR_CANCELLED at once; other work is asked to end, and settles its future when it
 * has. */
JZX_API void jzx_future_cancel(jzx_future *future);

JZX_END_C

#endif
