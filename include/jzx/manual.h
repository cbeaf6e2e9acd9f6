/* SPDX-License-Identifier: MIT */
/* Manual actors: actors that a thread of the program polls.
 *
 * A manual actor has an id as every other; sends, timers, links, monitors and names work on it. But
 * no worker runs it: its messages wait until a thread of the program polls it, and are handled
 * there, inside the call. A game loop, a user interface or a test decides so when an actor runs:
 *
 *     jzx_manual *world;
 *     world_manual(loop, &world);                       (jzx/typed.h; or jzx_manual_create)
 *     for (;;) {
 *         world_post_tick(loop, jzx_manual_id(world), dt);
 *         jzx_manual_drain(world, 0, NULL);
 *         render(jzx_manual_state(world));
 *     }
 *
 * Nothing else runs in a poll. The loop may be run by other threads meanwhile, may be stepped by
 * the host, or not be driven at all: then the poll itself takes in what was sent and fires the
 * timers that are due, and leaves all other actors alone. (Descriptors and signals are looked at by
 * threads that run or step the loop only.) Timers that its handlers set are armed when the poll
 * returns, for jzx_loop_next_deadline; if another thread drives the loop, that one arms them soon.
 *
 * The actor belongs to one thread at a time, the one that polls it: that thread may look at its
 * state between two polls. A stop, a kill, the exit of a link are seen at the next poll; the
 * cleanup runs inside that poll, or, if the loop ends first, in jzx_loop_run, _step or _destroy,
 * which wait for a handler that is running. A fault in a handler is not contained. A manual actor
 * is a daemon: it does not keep jzx_loop_run from returning. */
#ifndef JZX_MANUAL_H
#define JZX_MANUAL_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jzx_manual jzx_manual;

JZX_BEGIN_C

/* Makes one, of a behaviour or a type; its init runs in the first poll. The handle is the caller's,
 * for jzx_manual_destroy. opts->place may name the worker that keeps its timers, 0 by default. Any
 * thread. Errors as jzx_spawn; JZX_ERR_INVALID_ARG also for a fiber, a process,
 * JZX_PLACE_CALLER and JZX_FULL_DROP_OLDEST. */
JZX_API jzx_err jzx_manual_create(jzx_loop *loop, const jzx_spawn_opts *opts, jzx_manual **manual);

/* Any thread. JZX_NOBODY for NULL. */
JZX_API jzx_actor_id jzx_manual_id(const jzx_manual *manual);

/* Its state, for the thread that polls it, in its handlers and between two polls; it may wait as a
 * poll does, but handles nothing. NULL once it has ended. */
JZX_API void *jzx_manual_state(jzx_manual *manual);

/* ---- polling: one thread at a time, which is inside no loop ----
 *
 * JZX_ERR_NO_SUCH_ACTOR: it has ended, before or in this call. JZX_ERR_BUSY: on a thread that is
 * inside a loop (in a behaviour, a callback, a handler of a manual actor), or while another thread
 * polls it. JZX_ERR_INVALID_ARG. What was handled before the error is counted. */

/* Handles the next message, if one waits; *handled (may be NULL) says whether one did. */
JZX_API jzx_err jzx_manual_poll_one(jzx_manual *manual, bool *handled);

/* Handles messages until none waits. Messages count that arrive during the call, and messages that
 * its handlers send to it. *count (may be NULL) is how many it has handled. It returns after
 * max_messages of them, and then more may wait: the depth of jzx_actor_info tells. 0 and
 * JZX_UNLIMITED: no bound. Without one it may go on for ever: with an actor that sends to itself,
 * or beside threads that send without a pause. JZX_ERR_NO_SUCH_ACTOR also if the actor has ended
 * normally in this call. */
JZX_API jzx_err jzx_manual_drain(jzx_manual *manual, uint32_t max_messages, size_t *count);

/* As a drain without a bound, while more(arg), which is called before each message, is true. */
JZX_API jzx_err jzx_manual_poll_while(jzx_manual *manual, bool (*more)(void *arg), void *arg,
                                      size_t *count);

/* Gives the handle up, and ends the actor, unless it has ended, as JZX_STOP_AFTER_MESSAGE does: in
 * this call, or, on a thread that is inside a loop, soon. Also after the loop was destroyed. NULL
 * is fine. The thread that polls it. */
JZX_API void jzx_manual_destroy(jzx_manual *manual);

JZX_END_C

#endif
