/* SPDX-License-Identifier: MIT */
/* Async functions: functions that wait without a stack of their own.
 *
 *     struct fetch { int id; jzx_await_op wait; struct reply reply; };
 *
 *     JZX_ASYNC(fetch, struct fetch, int) {
 *         JZX_AWAIT(jzx_op_consume(&self->wait, ask(ctx, self->id), JZX_NEVER), &self->reply);
 *         JZX_RETURN(self->reply.price);
 *     } JZX_END
 *
 *     fetch_spawn(loop, (struct fetch){.id = 7}, &future);
 *
 * Here ask() is a function of the program that sends a promise to an actor and returns its future:
 * so an async function calls a server.
 *
 * JZX_ASYNC(name, state, result) begins a function whose state and result have these types; it also
 * defines name_type, for the calls that take a jzx_async_type, name_spawn and name_call. Between
 * its braces `self` points to the state, and `ctx` is its context. At each JZX_AWAIT the function
 * may return to its worker, and go on there later, perhaps on another thread: what is to survive
 * that is in the state. Local variables do not: gcc refuses one with a value in a block that has an
 * await behind it ("switch jumps over variable initialization"), and warns of one that would be
 * used without a value. An await may be in a loop or a condition, but not in a switch statement of
 * the function's own: that ends the process when the function is to go on there.
 *
 * It runs as an actor of its own, which has no mailbox to speak of (what is sent to it is a dead
 * letter): ctx->self is its id, it is in dumps, and a fault ends only it. It ends when the function
 * does, and its future has the result. It belongs to the actor in whose turn it was spawned, and is
 * cancelled when that ends, unless it is detached.
 *
 * A function of its own may also be called, without an actor and without an allocation: the state
 * of the call is part of the caller's.
 *
 *     struct both { struct fetch_call first, second; int a, b; };
 *     JZX_ASYNC(both, struct both, int) {
 *         JZX_AWAIT(fetch_call(&self->first, (struct fetch){.id = 1}), &self->a);
 *         JZX_AWAIT(fetch_call(&self->second, (struct fetch){.id = 2}), &self->b);
 *         JZX_RETURN(self->a + self->b);
 *     } JZX_END
 *
 * A call is awaited once. One that has ended is not resumed: awaiting it again fails with
 * JZX_ERR_INVALID_STATE, and none of its code runs. fetch_call begins a new one in the same place.
 *
 * **Errors.** JZX_AWAIT of something that fails ends the function with that error, as an exception
 * would; JZX_TRY stores it, and the function goes on. JZX_FAIL ends it with an error of its own.
 *
 * **Cancelling** (jzx_future_cancel, or the last handle is released) is a request: the await that
 * the function is in, and each one after it that would have to wait, fails with JZX_ERR_CANCELLED,
 * and what it does then is its own affair. Only a kill ends it where it is; jzx_async_opts.cleanup
 * runs in any case. */
#ifndef JZX_ASYNC_H
#define JZX_ASYNC_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/config.h"
#include "jzx/error.h"
#include "jzx/future.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

JZX_BEGIN_C

/* ---- what can be awaited ---- */

typedef enum jzx_poll {
    JZX_PENDING = 0,
    JZX_READY = 1 /* err and text say how; the result, if any, is where it was wanted */
} jzx_poll;

/* Something that an async function awaits. Made by the calls below, each in memory of the state. */
typedef struct jzx_awaitable jzx_awaitable;
struct jzx_awaitable {
    jzx_poll (*poll)(jzx_awaitable *what, jzx_context *ctx, void *out);
    jzx_err err;
    const char *text; /* NULL: there is none */
};

/* Room for one of the operations below, until it is ready. */
typedef struct jzx_await_op {
    jzx_awaitable base;
    uint64_t opaque[11];
} jzx_await_op;

/* Waits for a future, as jzx_await does. The handle stays the caller's. */
JZX_API jzx_awaitable *jzx_op_await(jzx_await_op *op, jzx_future *future, uint64_t deadline_ns);

/* The same; the handle is released when the future is settled, or the wait is over (which cancels
 * what works on it, if it was the last one). If the function is killed while it waits, too. */
JZX_API jzx_awaitable *jzx_op_consume(jzx_await_op *op, jzx_future *future, uint64_t deadline_ns);

/* Waits until that time. */
JZX_API jzx_awaitable *jzx_op_sleep(jzx_await_op *op, uint64_t until_ns);

/* ---- async functions ---- */

typedef struct jzx_async_type jzx_async_type;

/* A call of one; what the macros keep in it is theirs. */
typedef struct jzx_async {
    jzx_awaitable base;
    const jzx_async_type *type;
    void *state;
    jzx_awaitable *on; /* what it awaits */
    uint32_t at;       /* where it goes on */
} jzx_async;

struct jzx_async_type {
    size_t size; /* sizeof(jzx_async_type) */
    const char *name;
    size_t state_size;
    size_t result_size;
    jzx_poll (*step)(jzx_context *ctx, jzx_async *async, void *state, void *result);
};

/* See below. */
typedef struct jzx_executor jzx_executor;

typedef struct jzx_async_opts {
    size_t size;            /* sizeof(jzx_async_opts) */
    const char *name;       /* of the actor; NULL: that of the function */
    jzx_cleanup_fn cleanup; /* called when it has ended, however: ctx->state is its state */
    bool detached;          /* belongs to nobody */
    uint16_t place;         /* JZX_PLACE_* of actor.h: the worker that polls it; a worker that the
                             * loop does not have: JZX_ERR_INVALID_ARG when it is started */
    jzx_executor *executor; /* that polls it; NULL: the workers do, when it is due */
    uint64_t reserved[1];
} jzx_async_opts;

/* Options in place, in C: &JZX_ASYNC_OPTS(.detached = true). */
#define JZX_ASYNC_OPTS(...) ((jzx_async_opts){.size = sizeof(jzx_async_opts), __VA_ARGS__})

/* Starts one with a copy of the state; opts may be NULL, future not. Its future has the result. Any
 * thread.
 * JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY, JZX_ERR_MAX_ACTORS, JZX_ERR_LOOP_CLOSED. JZX_ASYNC makes
 * a form with types, name_spawn(loop, state, &future). */
JZX_API jzx_err jzx_async_spawn(jzx_loop *loop, const jzx_async_type *type, const void *state,
                                const jzx_async_opts *opts, jzx_future **future);

/* The same in two steps: the future is JZX_FUTURE_PENDING, and awaiting it is
 * JZX_ERR_INVALID_STATE, until it is started, which is done once (JZX_ERR_INVALID_STATE). If the
 * start fails, the future is rejected with the error. A handle that is released before frees it; if
 * combinators or jzx_future_to still wait for it, they get JZX_ERR_CANCELLED, as nobody is left to
 * start it. */
JZX_API jzx_err jzx_async_create(jzx_loop *loop, const jzx_async_type *type, const void *state,
                                 const jzx_async_opts *opts, jzx_future **future);
JZX_API jzx_err jzx_async_start(jzx_future *future);

/* The id of the actor that runs it; JZX_NOBODY if it was not started, or is no async function's. */
JZX_API jzx_actor_id jzx_async_actor(const jzx_future *future);

/* Makes a loop, runs the function in it until all is done, and destroys the loop: for a program
 * whose main is an async function. config may be NULL, result too. What the function came to, or
 * the error of the loop. */
JZX_API jzx_err jzx_async_run(const jzx_config *config, const jzx_async_type *type,
                              const void *state, void *result);

/* ---- workers ----
 *
 * The workers of the loop are the threaded executor of its functions: jzx_config.workers of them.
 * To have functions polled by n of the workers only, start the i-th with the place
 * JZX_PLACE_WORKER(i % n); its calls and awaits stay there. Those that it spawns have a place of
 * their own. */

/* ---- executors: functions that are polled by hand ----
 *
 * For tests, and for hosts that decide what runs when. A function that is started with
 * jzx_async_opts.executor is not polled by the workers of its loop when it is due, but by the calls
 * below, in the order in which the functions became ready; all else is as ever. The calls step the
 * loop (jzx_loop_step with JZX_NEVER) before and after, so that wakes of other threads, messages
 * and timers are seen to; they are made by the thread that drives it, where no jzx_loop_run is
 * needed. A jzx_loop_run returns only when the functions of executors have ended, too. */

/* Of a loop with config.workers = 1, before which it is destroyed. JZX_ERR_INVALID_ARG,
 * JZX_ERR_NO_MEMORY. Any thread. */
JZX_API jzx_err jzx_executor_create(jzx_loop *loop, jzx_executor **executor);

/* Polls one function that is ready, once; *polled (may be NULL) is false if none was. Errors as
 * jzx_loop_step: JZX_ERR_BUSY inside a turn of the loop, or while another thread drives it. */
JZX_API jzx_err jzx_executor_poll_one(jzx_executor *executor, bool *polled);

/* Polls each function that is ready at the call once, not those that become so by it; *polled (may
 * be NULL) is how many. Errors as above. */
JZX_API jzx_err jzx_executor_poll_all(jzx_executor *executor, uint32_t *polled);

/* Functions that have not ended, with those that were not started yet. Any thread. */
JZX_API uint32_t jzx_executor_pending(jzx_executor *executor);

/* Cancels what has not ended, which the loop polls from now on. NULL is fine. Any thread, but not
 * while another uses the executor. */
JZX_API void jzx_executor_destroy(jzx_executor *executor);

/* ---- for the macros ---- */

JZX_API jzx_awaitable *jzx_async_call(jzx_async *async, const jzx_async_type *type, void *state);
JZX_API jzx_poll jzx_async_done(jzx_async *async, jzx_err err, const char *text);
JZX_API void jzx_async_again(jzx_context *ctx);
JZX_API JZX_NO_RETURN void jzx_async_astray(jzx_context *ctx, const jzx_async *async);

/* One poll of what it awaits: a NULL could not be started, for want of memory. */
JZX_API inline jzx_poll jzx_async_poll(jzx_async *async, jzx_context *ctx, void *out) {
    jzx_poll poll = JZX_READY;
    async->base.err = JZX_ERR_NO_MEMORY;
    async->base.text = NULL;
    if (async->on != NULL) {
        poll = async->on->poll(async->on, ctx, out);
        async->base.err = async->on->err;
        async->base.text = async->on->text;
    }
    return poll;
}

JZX_END_C

#if defined __GNUC__ && !defined __clang__ && !defined __cplusplus
#define JZX_ASYNC_HELP_BEGIN                                                                       \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic error \"-Wjump-misses-init\"")
#define JZX_ASYNC_HELP_END _Pragma("GCC diagnostic pop")
#else
#define JZX_ASYNC_HELP_BEGIN
#define JZX_ASYNC_HELP_END
#endif

/* The types of a function, for a header or before its state is used; JZX_ASYNC does it as well. */
#define JZX_ASYNC_TYPES(fn, state_type)                                                            \
    struct fn##_call {                                                                             \
        jzx_async async;                                                                           \
        state_type state;                                                                          \
    };

#define JZX_ASYNC(fn, state_type, result_type)                                                     \
    JZX_ASYNC_TYPES(fn, state_type)                                                                \
    static jzx_poll fn##_step(jzx_context *ctx, jzx_async *async, void *state, void *result);      \
    static const jzx_async_type fn##_type = {sizeof(jzx_async_type), #fn, sizeof(state_type),      \
                                             sizeof(result_type), fn##_step};                      \
    static inline __attribute__((unused))                                                          \
    jzx_awaitable *fn##_call(struct fn##_call *call, state_type state) {                           \
        call->state = state;                                                                       \
        return jzx_async_call(&call->async, &fn##_type, &call->state);                             \
    }                                                                                              \
    static inline __attribute__((unused))                                                          \
    jzx_err fn##_spawn(jzx_loop *loop, state_type state, jzx_future **future) {                    \
        return jzx_async_spawn(loop, &fn##_type, &state, NULL, future);                            \
    }                                                                                              \
    static jzx_poll fn##_body(jzx_context *ctx, jzx_async *async, state_type *self,                \
                              result_type *jzx_out);                                               \
    static jzx_poll fn##_step(jzx_context *ctx, jzx_async *async, void *state, void *result) {     \
        return fn##_body(ctx, async, (state_type *)state, (result_type *)result);                  \
    }                                                                                              \
    JZX_ASYNC_HELP_BEGIN                                                                           \
    static jzx_poll fn##_body(jzx_context *ctx, jzx_async *async, state_type *self,                \
                              result_type *jzx_out) {                                              \
        (void)self;                                                                                \
        (void)jzx_out;                                                                             \
        switch (async->at) {                                                                       \
        default: jzx_async_astray(ctx, async);                                                     \
        case 0:

/* Ends what JZX_ASYNC began. A function that comes here without a JZX_RETURN has failed. */
#define JZX_END                                                                                    \
    }                                                                                              \
    return jzx_async_done(async, JZX_ERR_INVALID_STATE, "it ended without JZX_RETURN");            \
    }                                                                                              \
    JZX_ASYNC_HELP_END

#define JZX_ASYNC_WAIT(what, out, number)                                                          \
    async->on = (what);                                                                            \
    __attribute__((fallthrough));                                                                  \
    case (number) + 1:                                                                             \
        if (jzx_async_poll(async, ctx, (out)) == JZX_PENDING) {                                    \
            async->at = (number) + 1;                                                              \
            return JZX_PENDING;                                                                    \
        }

/* Waits for what, whose result goes to *out (in the state, or NULL). */
#define JZX_AWAIT(what, out)                                                                       \
    do {                                                                                           \
        JZX_ASYNC_WAIT(what, out, __COUNTER__)                                                     \
        if (async->base.err != JZX_OK)                                                             \
            return jzx_async_done(async, async->base.err, async->base.text);                       \
    } while (0)

/* The same, but the function goes on, with the error in err_place. */
#define JZX_TRY(err_place, what, out)                                                              \
    do {                                                                                           \
        JZX_ASYNC_WAIT(what, out, __COUNTER__)                                                     \
        (err_place) = async->base.err;                                                             \
    } while (0)

/* Lets others run first. */
#define JZX_YIELD() JZX_ASYNC_YIELD(__COUNTER__)
#define JZX_ASYNC_YIELD(number)                                                                    \
    do {                                                                                           \
        async->at = (number) + 1;                                                                  \
        jzx_async_again(ctx);                                                                      \
        return JZX_PENDING;                                                                        \
    case (number) + 1:;                                                                            \
    } while (0)

/* Ends the function with its result, or with an error and a text (a literal, or in the state). Of a
 * call there may be no place for the result: it is awaited with NULL. */
#define JZX_RETURN(...)                                                                            \
    do {                                                                                           \
        if (jzx_out != NULL)                                                                       \
            *jzx_out = (__VA_ARGS__);                                                              \
        else                                                                                       \
            (void)(__VA_ARGS__);                                                                   \
        return jzx_async_done(async, JZX_OK, NULL);                                                \
    } while (0)
#define JZX_FAIL(err, text) return jzx_async_done(async, (err), (text))

#endif
