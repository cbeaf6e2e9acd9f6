/* SPDX-License-Identifier: MIT */
/* The loop: the runtime handle. Any number per process, no globals. With one worker it has no
 * thread of its own: the thread that calls run or step does the work. With several, run starts
 * threads and ends them before it returns. JZX_CONFIG_ONE_THREAD (jzx/config.h) configures a loop
 * that is on its caller's thread alone, and says what holds there.
 *
 * Threads: run, step, fd and destroy belong to one thread at a time. Everything else that this
 * library offers may be called from any thread unless its comment says otherwise. */
#ifndef JZX_LOOP_H
#define JZX_LOOP_H

#include "jzx/api.h"
#include "jzx/config.h"
#include "jzx/error.h"
#include "jzx/time.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct jzx_loop jzx_loop;

/* The deadline of jzx_loop_stop(loop, 0), from the call: ten seconds. */
#define JZX_DEFAULT_LOOP_STOP UINT64_C(10000000000)

typedef void (*jzx_call_fn)(jzx_loop *loop, void *ctx);

JZX_BEGIN_C

/* NULL for the defaults. Returns NULL without memory; if the configuration is wrong: call
 * jzx_config_check, which names the field; or if the system lacks what it asks for (JZX_IO_URING,
 * contain): the log says what. */
JZX_API JZX_MUST_USE jzx_loop *jzx_loop_create(const jzx_config *config);

/* How many workers it has, 0 for NULL. */
JZX_API uint32_t jzx_loop_workers(const jzx_loop *loop);

/* Runs actors until none is left (daemons do not count), nobody holds the loop and no call waits;
 * or until jzx_loop_stop or jzx_loop_request_stop. Sleeps while there is nothing to do. Can be
 * called again. Of the calling thread's stack the library needs less than 12 KiB, here and in
 * jzx_loop_create; behaviours need theirs beside it.
 * JZX_ERR_ESCALATED if a supervisor at the top gave up (the loop is closed then),
 * JZX_ERR_LOOP_CLOSED once the loop was stopped, JZX_ERR_BUSY if it is being run, also by the
 * caller itself, JZX_ERR_FULL inside JZX_NESTING_MAX runs of other loops on this thread,
 * JZX_ERR_NO_MEMORY if its threads cannot be started (nothing has run then),
 * JZX_ERR_INVALID_STATE in a child of fork(2), for loops of its parent, JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_loop_run(jzx_loop *loop);

/* For a host that has its own loop: runs what is ready until nothing is, or until the deadline has
 * passed (at least one turn is taken; a turn is not cut short). Never sleeps. Needs a loop with
 * config.workers = 1, else JZX_ERR_INVALID_ARG; errors otherwise as run. */
JZX_API jzx_err jzx_loop_step(jzx_loop *loop, uint64_t deadline_ns);

/* A descriptor for poll(2) that is readable when step has work, a watched descriptor that is ready
 * (jzx/io.h) among it, timers aside: poll no longer than until jzx_loop_next_deadline. Never again
 * once the loop was stopped and step has ended everything. It belongs to the loop: do not read or
 * close it. Negative on failure: a jzx_err (JZX_ERR_IO_REG_FAILED, JZX_ERR_INVALID_ARG also for a
 * loop with several workers). */
JZX_API int jzx_loop_fd(jzx_loop *loop);

/* When step must be called at the latest: 0 if it has work now, JZX_NEVER if only a message from
 * another thread or I/O (see jzx_loop_fd) can bring some; else no later than the next timer is due.
 * Only on the thread that drives the loop, and of use only where step is: with one worker. */
JZX_API uint64_t jzx_loop_next_deadline(const jzx_loop *loop);

/* True while run or step has something to do or to wait for: an actor lives that is no daemon,
 * somebody holds the loop, something waits to be taken in, or a stop was requested and not yet
 * carried out. Only on the thread that drives the loop. */
JZX_API bool jzx_loop_alive(const jzx_loop *loop);

/* Monotonic nanoseconds of this loop's clock. Any thread, also in a signal handler. */
JZX_API uint64_t jzx_loop_now(const jzx_loop *loop);

/* Between hold and release run goes on without actors: for threads that will still send or spawn.
 * JZX_ERR_INVALID_ARG for a release without a hold, JZX_ERR_LOOP_CLOSED for a hold after a stop. */
JZX_API jzx_err jzx_loop_hold(jzx_loop *loop);
JZX_API jzx_err jzx_loop_release(jzx_loop *loop);

/* Closes the loop: run and step end soon (after the current turn if the call comes from inside
 * it); every actor ends with JZX_EXIT_SHUTDOWN, what waits becomes dead letters, later sends and
 * spawns are JZX_ERR_LOOP_CLOSED (a send inside the turn that asked for the stop may still be
 * accepted, and is a dead letter then). A spawn or send of another thread that is under way
 * meanwhile may come after the end of the run: the next call of run, step or destroy ends such an
 * actor, with its cleanup, and drops such a message. Idempotent; may be called from a signal
 * handler (which must be disarmed before the loop is destroyed). */
JZX_API jzx_err jzx_loop_request_stop(jzx_loop *loop);

/* The gentle way to stop: jzx_loop_stop(loop, jzx_loop_now(loop) + JZX_SECOND(5)). 0 is the
 * default, JZX_DEFAULT_LOOP_STOP from now (and no time that has passed, as it is for waits);
 * JZX_NEVER sets no deadline. Spawns are
 * JZX_ERR_LOOP_CLOSED from now on, every actor, daemons too, works off what waits and ends with
 * JZX_EXIT_NORMAL; supervised ones are asked by their supervisors, the last child first, and end
 * with JZX_EXIT_SHUTDOWN (see jzx/supervisor.h). As by JZX_STOP_AFTER_QUEUE sends to one that has
 * seen the request are JZX_ERR_NO_SUCH_ACTOR: an actor without messages ends first, and answers to
 * its questions do not reach it any more. Actors that need each other to the end belong under a
 * supervisor, those that are needed for longest first. Then run returns, whoever holds the loop.
 * An actor that is still alive at the deadline is reported (JZX_EVENT_STOP_LATE and the log, with
 * what it is doing), and so are the messages that it has not handled (JZX_EVENT_DRAIN_CUT; the log
 * has the sum); then it is ended as by request_stop, with JZX_EXIT_SHUTDOWN and
 * JZX_SHUTDOWN_TEXT. A behaviour that does not return cannot be ended: run waits for it, and then
 * ends the others, too. Of several calls the earliest deadline counts. Does not wait. Any thread,
 * also in a signal handler. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_loop_stop(jzx_loop *loop, uint64_t deadline_ns);

/* Has fn(loop, ctx) called on worker 0 (after a stall that may be on a spare thread; for your own
 * thread use an actor with JZX_PLACE_CALLER), outside any actor's turn, in the
 * order of the calls of one thread. Each call that returns JZX_OK is made exactly once, in destroy
 * at the latest. JZX_ERR_FULL if config.max_calls of them wait, those that have begun not
 * counted; JZX_ERR_INVALID_ARG, JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_loop_call(jzx_loop *loop, jzx_call_fn fn, void *ctx);

/* Stops the remaining actors as jzx_loop_request_stop does, then frees the loop. No thread may use
 * the loop during or after the call. NULL is fine. JZX_ERR_BUSY, and nothing happens, while the
 * loop is run; JZX_ERR_INVALID_STATE in a child of fork(2), for loops of its parent. */
JZX_API jzx_err jzx_loop_destroy(jzx_loop *loop);

JZX_END_C

#endif
