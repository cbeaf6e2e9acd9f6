/* SPDX-License-Identifier: MIT */
/* Blocking work: functions that may take long or block (a file, a database driver, getaddrinfo, a
 * long computation) run on threads of a pool of their own, and never hold up a worker.
 *
 *     static jzx_err lookup(void *arg) {                   on a thread of the pool
 *         struct query *query = arg;
 *         query->found = database_find(query->key);        may block
 *         return JZX_OK;
 *     }
 *     jzx_blocking_copy_to(ctx, NULL, lookup, &query, sizeof query, FOUND, NULL);
 *     ...
 *     case FOUND: a jzx_result (jzx/op.h), with the query behind it
 *
 * A pool starts threads when there is work, up to its limit; then jobs wait in a queue, up to its
 * limit; then a call is refused with JZX_ERR_FULL, at once. A thread that has had nothing to do for
 * a while ends. Jobs of a pool start in the order in which they came. Different kinds of work that
 * must not hold each other up have pools of their own.
 *
 * A job that waits can be cancelled (jzx_op_cancel), and then is never started. One that has been
 * started runs to its end whatever happens: a cancel then changes nothing, and it completes with
 * its result. If its actor has ended meanwhile the result is dropped. jzx_loop_destroy cancels the
 * jobs that wait, and blocks until those that run have returned.
 *
 * In the function, which is on no thread of the loop, all calls for any thread may be made
 * (jzx_send, ...), but not jzx_loop_destroy. Its thread blocks all signals but those of faults,
 * which are not contained there. */
#ifndef JZX_BLOCKING_H
#define JZX_BLOCKING_H

#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/future.h"
#include "jzx/message.h"
#include "jzx/op.h"

#include <stddef.h>
#include <stdint.h>

/* A job. What it returns is the err of the result. */
typedef jzx_err (*jzx_blocking_fn)(void *arg);

/* ---- pools ---- */

typedef struct jzx_blocking_pool jzx_blocking_pool;

/* The name of the pool that every loop has. */
#define JZX_BLOCKING_DEFAULT "blocking"

#define JZX_DEFAULT_BLOCKING_THREADS 64u
#define JZX_DEFAULT_BLOCKING_QUEUE 4096u
#define JZX_DEFAULT_BLOCKING_IDLE_NS 10000000000u

/* The largest threads_max and the longest name, in bytes. */
#define JZX_BLOCKING_THREADS_MAX 4096u
#define JZX_BLOCKING_NAME_MAX 10u

/* Zero fields are the defaults. */
typedef struct jzx_blocking_opts {
    size_t size;          /* sizeof(jzx_blocking_opts): set by JZX_BLOCKING_OPTS or ..._init */
    const char *name;     /* copied. Its threads are called name-1, name-2, ... */
    uint32_t threads_max; /* 64 */
    uint32_t queue_max;   /* jobs that may wait for a thread: 4096; JZX_NONE: none;
                           * JZX_UNLIMITED */
    uint64_t idle_ns;     /* a thread without work ends after this time (10 s, by the clock of the
                           * system); JZX_NEVER: it stays */
} jzx_blocking_opts;

/* Options in place, in C. In C++ use jzx_blocking_opts_init. */
#define JZX_BLOCKING_OPTS(...) ((jzx_blocking_opts){.size = sizeof(jzx_blocking_opts), __VA_ARGS__})

/* What a pool is doing: a picture of the moment. */
typedef struct jzx_blocking_stats {
    size_t size; /* sizeof(jzx_blocking_stats), set by the caller */
    uint32_t threads;
    uint32_t idle;   /* of those */
    uint32_t queued; /* jobs that wait */
    uint32_t reserved;
    uint64_t started;   /* jobs that were started */
    uint64_t cancelled; /* jobs that never will be */
    uint64_t refused;   /* calls that returned JZX_ERR_FULL or JZX_ERR_NO_THREAD */
    uint64_t threads_started;
} jzx_blocking_stats;

JZX_BEGIN_C

/* As JZX_BLOCKING_OPTS(); size is sizeof *opts. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_blocking_opts_init(jzx_blocking_opts *opts, size_t size);

/* Makes a pool, which lives as long as its loop; *pool (may be NULL) is it. It has no thread before
 * its first job. To set the limits of the default pool make one of its name, JZX_BLOCKING_DEFAULT,
 * before its first job. Any thread. JZX_ERR_EXISTS (the name), JZX_ERR_INVALID_ARG,
 * JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_blocking_pool_create(jzx_loop *loop, const jzx_blocking_opts *opts,
                                         jzx_blocking_pool **pool);

/* The pool of that name, or NULL. Any thread. */
JZX_API jzx_blocking_pool *jzx_blocking_pool_find(jzx_loop *loop, const char *name);

/* Any thread. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_blocking_pool_stats(jzx_blocking_pool *pool, jzx_blocking_stats *stats);

/* ---- jobs: only in an actor's own turn, its init included, its cleanup not ----
 *
 * JZX_OK: the message comes, once. Else nothing has happened: JZX_ERR_FULL, JZX_ERR_NO_THREAD (the
 * system has given the pool no thread, and it has none), JZX_ERR_NO_SUCH_ACTOR (this actor works
 * off its queue), JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY, JZX_ERR_INVALID_ARG (a NULL function, a
 * wrong context, a pool of another loop, a tag or length out of range). *op is the operation's, and
 * may be NULL. They never block. */

/* Calls fn(arg) on a thread of the default pool. arg must stay valid until the message has come; if
 * the actor may end before, until the function has returned, of which nothing tells: then
 * jzx_blocking_copy_to is the right call. */
JZX_API jzx_err jzx_blocking_to(jzx_context *ctx, jzx_blocking_fn fn, void *arg, uint32_t tag,
                                jzx_op *op);

/* Calls fn with a copy of len bytes, aligned for any type, on a thread of the pool (NULL: the
 * default one). What the function leaves there are the data of the result. The copy is part of the
 * message, so nothing of it is the actor's before that. */
JZX_API jzx_err jzx_blocking_copy_to(jzx_context *ctx, jzx_blocking_pool *pool, jzx_blocking_fn fn,
                                     const void *data, size_t len, uint32_t tag, jzx_op *op);

/* ---- the same for fibers, which wait (jzx/fiber.h) ----
 *
 * The result is what the function has returned; or JZX_ERR_TIMEOUT, JZX_ERR_CANCELLED (the fiber
 * works off its queue), JZX_ERR_WOULD_SUSPEND, and the errors above: then the function was not
 * called, or it runs on and what it returns is dropped. A deadline that has passed already starts
 * nothing. A fiber that is asked to work off its queue while the function of jzx_blocking runs
 * waits on for it. */

/* Calls fn(arg) on a thread of the default pool, and waits for it. arg may be on the fiber's stack
 * if deadline_ns is JZX_NEVER; with a deadline it must stay valid until the function has returned,
 * as for jzx_blocking_to. A fiber that is killed meanwhile, and the run of its loop, end when the
 * function has returned: its id is stale at once, but its cleanup waits. */
JZX_API jzx_err jzx_blocking(jzx_context *ctx, jzx_blocking_fn fn, void *arg, uint64_t deadline_ns);

/* Calls fn with a copy of len bytes on a thread of the pool (NULL: the default one), and waits for
 * it. What the function leaves there is copied back to data when it has returned, whatever it
 * returned; else data is untouched. Nothing of the fiber's is used meanwhile, so neither a deadline
 * nor a kill waits for the function. */
JZX_API jzx_err jzx_blocking_copy(jzx_context *ctx, jzx_blocking_pool *pool, jzx_blocking_fn fn,
                                  void *data, size_t len, uint64_t deadline_ns);

/* ---- the same as a future (jzx/future.h): for async functions, combinators and any thread ----
 *
 * The job belongs to no actor. JZX_OK: *future, a handle of the caller's, is settled once: resolved
 * if the function returns JZX_OK, else rejected with what it returned. jzx_future_cancel and the
 * release of the last handle cancel a job that waits; one that has been started runs to its end,
 * and settles the future with its result then. jzx_loop_destroy cancels the jobs that wait, and
 * waits for those that run, before it returns: no such future stays unsettled. Any thread, also
 * in a function of a pool; never blocks. The errors are those above, JZX_ERR_NO_SUCH_ACTOR aside;
 * then nothing has happened, and *future is untouched. */

/* Calls fn(arg) on a thread of the default pool. arg must stay valid until the future is settled.
 * The future has no value. */
JZX_API jzx_err jzx_blocking_async(jzx_loop *loop, jzx_blocking_fn fn, void *arg,
                                   jzx_future **future);

/* Calls fn with a copy of len bytes, aligned to 8 bytes, on a thread of the pool (NULL: the default
 * one). What the function leaves there is the value of the future, of len bytes. */
JZX_API jzx_err jzx_blocking_copy_async(jzx_loop *loop, jzx_blocking_pool *pool, jzx_blocking_fn fn,
                                        const void *data, size_t len, jzx_future **future);

JZX_END_C

#endif
