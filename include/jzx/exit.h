/* SPDX-License-Identifier: MIT */
/* How actors end, and how others hear of it.
 *
 * An actor ends when its behaviour says so, when somebody stops it, or when it calls jzx_exit. Its
 * timers go, its id becomes stale, and in that moment its names are free. Then its cleanup runs,
 * and those who asked are told:
 *
 *   a **monitor** is one-way: the watcher gets one message JZX_TAG_DOWN.
 *   a **link** is mutual, for actors that make no sense without each other: if one ends, the other
 *   ends as well, with the same reason, unless the reason is JZX_EXIT_NORMAL; or, if it traps
 *   exits, it gets one message JZX_TAG_EXIT whatever the reason. Supervisors trap exits and ignore
 *   such messages: an actor that links itself to one ends with it, but not the other way round.
 *
 * Both come exactly once, and after everything that the dead actor had sent to the watcher; they
 * need no memory, and no mailbox bound refuses them. Monitors are notified before links: an actor
 * that has both of the dead one gets JZX_TAG_DOWN first. An actor that is notified may take the
 * name at once. */
#ifndef JZX_EXIT_H
#define JZX_EXIT_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/id.h"

#include <stdbool.h>
#include <stdint.h>

/* The longest text that says why an actor has ended; what is longer is cut. */
#define JZX_EXIT_TEXT_MAX 71u

/* Names a monitor of this loop; never used twice. */
typedef uint64_t jzx_monitor_ref;
#define JZX_NO_MONITOR ((jzx_monitor_ref)0)

#define JZX_TAG_EXIT 0xFFFF0013u /* of a link, to an actor that traps exits */
#define JZX_TAG_DOWN 0xFFFF0014u /* of a monitor */

/* The data of both messages; their sender is the actor that has ended. */
typedef struct jzx_exit_notice {
    jzx_actor_id actor;      /* who has ended */
    jzx_monitor_ref monitor; /* JZX_TAG_DOWN: of jzx_monitor */
    jzx_exit_reason reason;
    char text[JZX_EXIT_TEXT_MAX + 1]; /* what jzx_exit said, what the runtime says of a panic, a
                                       * fault or a supervisor that gives up, or ""; ends with
                                       * '\0' */
} jzx_exit_notice;

/* Stops that an actor sees coming. An actor that was spawned with trap_stop does not end when
 * somebody stops it (jzx_actor_stop, its supervisor, jzx_loop_stop); it gets one message
 * JZX_TAG_STOP, before all that waits, and goes on: it may finish what it has begun, hand its work
 * over, say good-bye. Then it ends by itself, as always. At deadline_ns it is killed, with
 * JZX_EXIT_KILLED; at the deadline of jzx_loop_stop it ends with JZX_EXIT_SHUTDOWN. Its mailbox
 * stays open until its end. Of several stops only the first is told, but for those of
 * jzx_actor_cancel. Nothing delays a kill, jzx_actor_fail, or the end of a loop that is closed at
 * once. */
#define JZX_TAG_STOP 0xFFFF0016u

/* How long an actor may take to stop if its stop has no deadline, as by jzx_actor_stop: 10 s.
 * A child has the shutdown_ns of its spec, and what jzx_loop_stop ends has the loop's deadline. */
#define JZX_DEFAULT_STOP_GRACE UINT64_C(10000000000)

/* The text of a stop notice, and of an exit notice, if the end of the loop is the reason. */
#define JZX_SHUTDOWN_TEXT "scheduler shutdown"

/* The data of JZX_TAG_STOP. */
typedef struct jzx_stop_notice {
    uint64_t deadline_ns;             /* a time of the loop; JZX_NEVER: there is none */
    jzx_exit_reason reason;           /* what the actor would have ended with */
    char text[JZX_EXIT_TEXT_MAX + 1]; /* who stops it, or what jzx_actor_cancel said; or "" */
} jzx_stop_notice;

/* Ends the actor from any depth of its behaviour or its init if the condition does not hold: reason
 * JZX_EXIT_FAIL, and a text with place and condition. In its cleanup it ends the cleanup, and the
 * reason of the actor's end stays what it was. */
#define JZX_CHECK(ctx, cond) ((cond) ? (void)0 : jzx_check_failed((ctx), #cond, __FILE__, __LINE__))

JZX_BEGIN_C

/* The same with a reason and a text of its own (copied; may be NULL). Reasons beside NORMAL,
 * FAIL, PANIC and SHUTDOWN are the runtime's to give, and become JZX_EXIT_FAIL. ctx must be the
 * one that this call of the behaviour was given: called anywhere else (another thread, an
 * observer, a destructor) it ends the process with a message, as there is nothing to return to.
 * It jumps out of the functions on its way, as longjmp does: what they hold, the actor's memory
 * aside, stays held. */
JZX_API JZX_NO_RETURN void jzx_exit(jzx_context *ctx, jzx_exit_reason reason, const char *text);

/* For JZX_CHECK. */
JZX_API JZX_NO_RETURN void jzx_check_failed(jzx_context *ctx, const char *condition,
                                            const char *file, int line);

/* Sends an exit signal: what an actor gets from a linked actor that ends with that reason and text
 * (may be NULL), without a link, and before all that waits for it. One that traps exits gets a
 * message JZX_TAG_EXIT, in which actor is the actor that made this call, or JZX_NOBODY; any other
 * ends with that reason, but for JZX_EXIT_NORMAL, which is ignored. JZX_EXIT_KILLED is not trapped:
 * it is JZX_STOP_KILL. The other reasons of the runtime are JZX_ERR_INVALID_ARG. The signal is an
 * urgent message: errors as of jzx_send_urgent, JZX_ERR_MAILBOX_FULL among them. Any thread. */
JZX_API jzx_err jzx_actor_exit(jzx_loop *loop, jzx_actor_id id, jzx_exit_reason reason,
                               const char *text);

/* Asks an actor to end by that time of the loop (JZX_NEVER: whenever it likes), and says why (may
 * be NULL). One that traps stops is told by a message JZX_TAG_STOP, and killed at the deadline; if
 * it was stopped before, the earlier deadline counts. Any other ends after the message that it
 * handles, as by JZX_STOP_AFTER_MESSAGE. An urgent message, as jzx_actor_exit. Any thread. */
JZX_API jzx_err jzx_actor_cancel(jzx_loop *loop, jzx_actor_id id, uint64_t deadline_ns,
                                 const char *text);

/* "JZX_EXIT_FAIL"; a fixed text for reasons that do not exist. */
JZX_API const char *jzx_exit_name(jzx_exit_reason reason);

/* The calls below are for the actor itself, in its own turn, its init included; with the very
 * context that it was given, else, and in its cleanup, they are JZX_ERR_INVALID_ARG. */

/* Watches an actor. JZX_OK: exactly one JZX_TAG_DOWN will come, unless the monitor is taken
 * back, or this actor ends or works off its queue (JZX_STOP_AFTER_QUEUE) before: then it hears
 * of nothing. Several monitors of one actor are independent. ref may be NULL.
 * JZX_ERR_NO_SUCH_ACTOR if it has ended already, or is about to and takes nothing in any more: no
 * message comes then. If the actor ends on another worker during the call, the call may still be
 * JZX_OK: then the JZX_TAG_DOWN has its reason, or JZX_EXIT_NO_ACTOR if that is lost already.
 * JZX_ERR_INVALID_ARG (also for itself), JZX_ERR_NO_MEMORY, JZX_ERR_LOOP_CLOSED. */
JZX_API jzx_err jzx_monitor(jzx_context *ctx, jzx_actor_id target, jzx_monitor_ref *ref);

/* Takes a monitor back: from here on its message will not be handled, even if it waits already or
 * is stashed. JZX_ERR_NO_SUCH_ACTOR if there is none (any more), which may be ignored. Takes longer
 * the more monitors and links were made after it. */
JZX_API jzx_err jzx_demonitor(jzx_context *ctx, jzx_monitor_ref ref);

/* Links this actor and another. Linking twice is linking once. Errors as jzx_monitor. */
JZX_API jzx_err jzx_link(jzx_context *ctx, jzx_actor_id other);

/* Undoes it for both: nothing that happens to the other has an effect here any more, even if its
 * message waits already or is stashed. JZX_OK also if there was no link. */
JZX_API jzx_err jzx_unlink(jzx_context *ctx, jzx_actor_id other);

/* From now on an end of a linked actor is a message (JZX_TAG_EXIT) instead of this actor's end; or,
 * with false, no longer (a message that was stashed stays one). JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_trap_exits(jzx_context *ctx, bool trap);

/* jzx_spawn, watched from the first moment: linked if linked is true, monitored if ref is not NULL,
 * or both. With linked false and ref NULL it is a plain spawn. Errors as jzx_spawn. */
JZX_API jzx_err jzx_spawn_watched(jzx_context *ctx, const jzx_spawn_opts *opts, bool linked,
                                  jzx_actor_id *id, jzx_monitor_ref *ref);

JZX_END_C

#endif
