/* SPDX-License-Identifier: MIT */
/* Questions and answers: a message with a reference and a deadline, and the answer to it.
 *
 *     asker                                     asked
 *     jzx_ask(ctx, bank, &q, sizeof q, BALANCE,
 *             JZX_MS(50), &ref);
 *                                               case BALANCE:
 *                                                   jzx_reply(ctx, msg, &sum, sizeof sum, SUM);
 *     case SUM:                 jzx_ask_ref(ctx) == ref
 *     case JZX_TAG_ASK_TIMEOUT: jzx_ask_ref(ctx) == ref
 *     case JZX_TAG_ASK_DOWN:    jzx_ask_ref(ctx) == ref
 *
 * A question and its answer are ordinary messages, with tags of their own; the reference travels
 * beside the payload, and takes 8 of the JZX_MSG_INLINE bytes that travel without a second cache
 * line. Nobody waits: the asker goes on with its other messages meanwhile.
 *
 * Of each question the asker handles exactly one: the answer, the timeout, or the end of the asked
 * actor (JZX_TAG_ASK_DOWN), whichever comes first; and none of them after jzx_ask_cancel. A second
 * answer, and one that comes too late, is a dead letter. The questions of an actor that ends are
 * forgotten, as are those of one that works off its queue.
 *
 * A question is bound to the actor that it was sent to. When that ends, before or after it has
 * handled the question, the asker is told at once, behind all that the ended actor has sent it: an
 * answer that was sent before the end comes first. Until then anybody may answer. So an actor that
 * has others answer for it lives until they have, or tells the asker whom to ask. A question that a
 * successor inherits (jzx_child_spec.keep_mailbox) is bound to the successor instead. Deadlines are
 * for living actors that drop a question or never answer.
 *
 * No mailbox bound refuses an answer: the asker made room for it by asking. The question itself is
 * bounded as any message. */
#ifndef JZX_ASK_H
#define JZX_ASK_H

#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/exit.h"
#include "jzx/id.h"
#include "jzx/message.h"
#include "jzx/time.h"

#include <stddef.h>
#include <stdint.h>

/* There was no answer in time. sender is who was asked; data is the reference (8 bytes). */
#define JZX_TAG_ASK_TIMEOUT 0xFFFF0012u

/* The asked actor has ended without an answer. sender is that actor; data is a jzx_ask_down. It
 * needs no memory, and no mailbox bound refuses it. */
#define JZX_TAG_ASK_DOWN 0xFFFF0015u

typedef struct jzx_ask_down {
    jzx_actor_id actor; /* who was asked */
    uint64_t ref;       /* of the question */
    jzx_exit_reason reason;
    char text[JZX_EXIT_TEXT_MAX + 1]; /* as in jzx_exit_notice */
} jzx_ask_down;

/* Whom to answer, and what. Plain data: may be copied, kept, and sent to others. */
typedef struct jzx_ask_handle {
    jzx_actor_id asker; /* JZX_NOBODY: there was no question */
    uint64_t ref;
} jzx_ask_handle;

JZX_BEGIN_C

/* ---- the asker: only in its own turn, its init included, its cleanup not, and with the very
 * context that it was given; also in a behaviour whose worker went on without it ---- */

/* Sends a copy of len bytes as jzx_send does, from this actor, and expects an answer for
 * timeout_ns: measured and rounded as jzx_send_after does; JZX_NEVER: for ever. The reference,
 * which is never 0 and never used again by this actor, goes to *ref unless that is NULL.
 * JZX_ERR_NO_SUCH_ACTOR: the asked actor has ended already (or this one works off its queue); if
 * it ends on another worker during the call, the call may be JZX_OK, and JZX_TAG_ASK_DOWN follows,
 * perhaps with JZX_EXIT_NO_ACTOR. And the other errors of jzx_send. On an error there is no
 * question, and *ref is untouched. An actor may ask itself; of its own end it hears nothing. */
JZX_API jzx_err jzx_ask(jzx_context *ctx, jzx_actor_id to, const void *data, size_t len,
                        uint32_t tag, uint64_t timeout_ns, uint64_t *ref);

/* JZX_OK: neither an answer nor the timeout nor the end of the asked actor will be handled any
 * more, even if one waits in the mailbox. JZX_ERR_INVALID_ARG: no such question waits for its
 * answer, or a wrong context. */
JZX_API jzx_err jzx_ask_cancel(jzx_context *ctx, uint64_t ref);

/* The reference of the question to which the message that is being handled is the answer, the
 * timeout or the end of the asked actor; 0 for every other message, and once it was taken or
 * stashed. */
JZX_API uint64_t jzx_ask_ref(const jzx_context *ctx);

/* ---- who is asked ---- */

/* Answers the question that is being handled, with a copy of len bytes. It is answered once:
 * JZX_ERR_INVALID_ARG if msg is not the message of this call or not a question, was answered, taken
 * or stashed already. JZX_ERR_NO_SUCH_ACTOR: the asker has ended. JZX_ERR_LOOP_CLOSED,
 * JZX_ERR_NO_MEMORY: may be tried again. JZX_OK says that the answer is under way, not that it
 * comes in time. Only in the turn of the
 * asked actor: its behaviour, or a fiber. */
JZX_API jzx_err jzx_reply(jzx_context *ctx, const jzx_message *msg, const void *data, size_t len,
                          uint32_t tag);

/* For an answer later, or by somebody else: the asker and the reference of the question that is
 * being handled; all zero where jzx_reply would say JZX_ERR_INVALID_ARG. The message may then be
 * taken. Only in the turn of the
 * asked actor: its behaviour, or a fiber. */
JZX_API jzx_ask_handle jzx_ask_from(const jzx_context *ctx, const jzx_message *msg);

/* Answers a question by its handle; from is what the asker sees as sender. Any thread; never
 * blocks. An answer to a question that has one, or that is over, is a dead letter as soon as the
 * asker's worker has taken it in, between two messages of the asker: such answers do not pile up
 * behind it, but for as long as one message takes.
 * JZX_ERR_INVALID_ARG (as jzx_send, or the handle names no question),
 * JZX_ERR_NO_SUCH_ACTOR: the asker has ended; JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_reply_to(jzx_loop *loop, jzx_ask_handle handle, jzx_actor_id from,
                             const void *data, size_t len, uint32_t tag);

/* ---- threads that are no actors ---- */

/* Asks, and blocks the calling thread until the answer comes. deadline_ns is a time of the loop
 * (jzx_loop_now), or JZX_NEVER; it also holds while the loop does not run, which the call waits
 * for. On JZX_OK *answer is the answer, whose data the caller owns: it gives it to jzx_msg_free, or
 * sends it on with jzx_send_msg, before the loop is destroyed. answer may be NULL: it is dropped.
 *
 * A short-lived actor named "jzx_call_wait" asks in place of the thread: it is the sender that the
 * asked actor sees, it keeps jzx_loop_run going, and it counts for max_actors.
 *
 * JZX_ERR_WOULD_SUSPEND, at once: on a thread that is inside a loop, of this loop or another; a
 * fiber has jzx_call. JZX_ERR_NO_SUCH_ACTOR: the asked actor has ended without an answer, before or
 * after the question reached it. JZX_ERR_TIMEOUT: a later answer is dropped. JZX_ERR_LOOP_CLOSED:
 * the loop stops, gently or not, or is being destroyed; jzx_loop_destroy waits for threads that
 * were in this call before. A loop that was closed ends the wait when it is run or destroyed.
 * JZX_ERR_CANCELLED: somebody has ended that actor. And the errors of jzx_send and jzx_spawn. */
JZX_API jzx_err jzx_call_wait(jzx_loop *loop, jzx_actor_id to, const void *data, size_t len,
                              uint32_t tag, uint64_t deadline_ns, jzx_message *answer);

JZX_END_C

#endif
