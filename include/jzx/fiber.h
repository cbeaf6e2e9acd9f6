/* SPDX-License-Identifier: MIT */
/* Fibers: actors that wait in straight-line code.
 *
 * A behaviour handles one message and returns. A fiber is a function with a stack of its own, which
 * may wait for a message, a time or an answer at any depth of calls and goes on where it stopped:
 *
 *     static void greeter(jzx_context *ctx) {
 *         jzx_message msg;
 *         while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK)
 *             jzx_send(ctx->loop, msg.sender, ctx->self, "hello", 6, HELLO);
 *     }
 *     jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = greeter), &id);
 *
 * It is an actor as any other: it has an id, a mailbox with a bound, a name, links, monitors,
 * timers, a supervisor. It begins at its spawn, without a message, and ends when its function
 * returns (JZX_EXIT_NORMAL), by jzx_exit, or as any actor ends. While it waits it costs memory
 * (its stack as far as it was touched), and no time.
 *
 * A fiber waits for one thing at a time, and is suspended only in calls that say so: those below
 * and the plain forms of jzx/stream.h, jzx/file.h and their like. All of them need the fiber's own
 * context. In a behaviour, an init, a cleanup, a predicate or a callback of the runtime they return
 * JZX_ERR_WOULD_SUSPEND at once, and nothing has happened; config.on_wait makes them fail the actor
 * or abort instead.
 *
 * A deadline is a time of the loop (jzx_loop_now): JZX_NEVER, or jzx_in(ctx, JZX_MS(50)); one that
 * has passed already, 0 for instance, makes the call look once and not wait.
 * A wait that has timed out (JZX_ERR_TIMEOUT) has consumed nothing. A deadline counts when the
 * fiber gets its turn and what it waits for is not there: a message or an answer that came in the
 * same millisecond, or after it but before that turn, wins.
 *
 * A fiber that is killed, fails by a link or is shut down while it waits ends there: its stack is
 * dropped, not unwound; its cleanup runs, and frees what the state says. A value or a message that
 * it waits to send is not sent if the room for it comes after jzx_actor_stop or jzx_actor_fail has
 * returned. A call of another thread that makes room, and began before that return, may still send
 * it. A fiber that is to stop after its queue (JZX_STOP_AFTER_QUEUE, jzx_loop_stop) receives what
 * waits for it, and ends at a receive that finds nothing; its waits for others (jzx_call, jzx_join,
 * jzx_send_until, futures, locks, streams) return JZX_ERR_CANCELLED from then on, and a sleep goes
 * on.
 *
 * Threads: a fiber that has begun belongs to its worker. While some turn blocks the worker's own
 * thread (a system call, a lock, an endless loop), another thread drives the worker and its fibers.
 * So a wait may return on another thread. Nothing that belongs to a thread may be kept across a
 * wait: errno, the address of a thread-local, a locked pthread mutex. docs/fibers.md has the whole
 * list. With jzx_spawn_opts.thread_bound a fiber runs on the worker's own thread only, and waits
 * while that is blocked. With jzx_spawn_opts.migratable it may move to another worker at each wait.
 * Between two runs of a loop, and between two steps on different threads, the thread of a fiber may
 * change in any case. */
#ifndef JZX_FIBER_H
#define JZX_FIBER_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/exit.h"
#include "jzx/id.h"
#include "jzx/message.h"
#include "jzx/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

JZX_BEGIN_C

/* The time of the loop in so many nanoseconds, for deadlines. Any context. */
JZX_API uint64_t jzx_in(const jzx_context *ctx, uint64_t delay_ns);

/* ---- receiving ----
 *
 * *msg is the oldest message in the mailbox that is asked for; others stay where they are, in their
 * order. msg->data stays valid until this fiber's next receive (of any form), other waits do not
 * end it; jzx_msg_take, jzx_stash, jzx_reply work on it until then, and jzx_ask_ref and
 * jzx_timer_missed are about it: the message that was received last, whatever was called meanwhile,
 * and after a receive that has timed out about none. What a receive has passed over
 * is not looked at again by the next one that asks for the same tag or sender. It still counts for
 * the bound: in a mailbox that is full of it nothing else arrives, but for answers and messages of
 * the runtime.
 *
 * JZX_OK, JZX_ERR_TIMEOUT, JZX_ERR_WOULD_SUSPEND, JZX_ERR_INVALID_ARG (NULL). */

JZX_API jzx_err jzx_receive(jzx_context *ctx, uint64_t deadline_ns, jzx_message *msg);

/* The next with that tag; those of the runtime (JZX_TAG_*) included. */
JZX_API jzx_err jzx_receive_tag(jzx_context *ctx, uint32_t tag, uint64_t deadline_ns,
                                jzx_message *msg);

/* The next from that sender. */
JZX_API jzx_err jzx_receive_from(jzx_context *ctx, jzx_actor_id sender, uint64_t deadline_ns,
                                 jzx_message *msg);

/* True for the message that is wanted. It is a callback of the runtime: it must not wait, and sees
 * each message once per call of jzx_receive_match. */
typedef bool (*jzx_match_fn)(void *arg, const jzx_message *msg);

/* The next for which fn says true. */
JZX_API jzx_err jzx_receive_match(jzx_context *ctx, jzx_match_fn fn, void *arg,
                                  uint64_t deadline_ns, jzx_message *msg);

/* ---- time ---- */

/* Waits until that time; a time that has passed lets others run first, too. JZX_OK,
 * JZX_ERR_WOULD_SUSPEND; JZX_ERR_TIMEOUT if the deadline of a scope comes first (jzx/scope.h). */
JZX_API jzx_err jzx_sleep(jzx_context *ctx, uint64_t until_ns);

/* Lets others that are ready run first. JZX_OK, JZX_ERR_WOULD_SUSPEND. */
JZX_API jzx_err jzx_yield(jzx_context *ctx);

/* ---- other actors ---- */

/* Asks, as jzx_ask does, and waits for the answer; what else arrives meanwhile stays in the
 * mailbox. answer->data stays valid until this fiber's next jzx_call; jzx_msg_take makes it the
 * fiber's own. JZX_ERR_TIMEOUT: a later answer is a dead letter. JZX_ERR_NO_SUCH_ACTOR: the asked
 * actor has ended without an answer, before or after the question reached it. JZX_ERR_CANCELLED,
 * JZX_ERR_WOULD_SUSPEND, and the errors of jzx_send; JZX_ERR_INVALID_ARG also for the fiber's own
 * id. */
JZX_API jzx_err jzx_call(jzx_context *ctx, jzx_actor_id to, const void *data, size_t len,
                         uint32_t tag, uint64_t deadline_ns, jzx_message *answer);

/* Waits for the end of an actor; *how (may be NULL) says how it ended: JZX_EXIT_NO_ACTOR if that
 * was before the call. What it has sent to this fiber is in the mailbox by then. JZX_ERR_TIMEOUT,
 * JZX_ERR_CANCELLED, JZX_ERR_WOULD_SUSPEND, JZX_ERR_NO_MEMORY; JZX_ERR_INVALID_ARG for the fiber's
 * own id. */
JZX_API jzx_err jzx_join(jzx_context *ctx, jzx_actor_id id, uint64_t deadline_ns,
                         jzx_exit_notice *how);

/* Sends a copy, as jzx_send does, and waits while the mailbox of the receiver is full. All that
 * wait for room at one actor, fibers and threads (jzx_send_wait) alike, form one queue: room goes
 * to its head, and jzx_send is refused (JZX_ERR_MAILBOX_FULL) meanwhile. The message is sent
 * once if this returns JZX_OK, and else not at all. It waits only for an actor that refuses what it
 * has no room for (on_full): others take each message. JZX_ERR_TIMEOUT; JZX_ERR_NO_SUCH_ACTOR, also
 * if the receiver ends, or stops after its queue, while this waits; JZX_ERR_MAILBOX_FULL for the
 * fiber's own id, which would wait for itself; JZX_ERR_CANCELLED, JZX_ERR_WOULD_SUSPEND, and the
 * other errors of jzx_send. */
JZX_API jzx_err jzx_send_until(jzx_context *ctx, jzx_actor_id to, const void *data, size_t len,
                               uint32_t tag, uint64_t deadline_ns);

JZX_END_C

#endif
