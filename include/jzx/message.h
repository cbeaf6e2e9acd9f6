/* SPDX-License-Identifier: MIT */
/* Messages: sending copies, moving buffers, taking what arrived, backpressure.
 *
 * Nothing is lost in silence. A send either returns an error, and then nothing happened and a
 * moved buffer is still the caller's, or it is accepted. An accepted message is handled by its
 * actor, or it becomes a dead letter: counted, shown to the observer, released. Those of an actor
 * that ends come in this order: what it had taken in, its stash, what came last.
 *
 * A buffer has one owner. Every call that takes one refuses a pointer that the caller does not own
 * (memory of another kind or another loop, a buffer that was sent or freed, msg->data that was not
 * taken) and logs an error that names the actor and the call. Two mistakes stay unseen: a pointer
 * to a buffer that has become somebody else's meanwhile, and one that leads to memory that is gone,
 * as that of a freed buffer of more than 4 KiB may be. Under AddressSanitizer and Valgrind's
 * memcheck, with the default allocator, each message is a block of malloc, and the tool reports
 * whoever writes behind a payload, keeps one after its call, or touches a buffer after it was sent
 * or freed; payloads of up to 8 bytes of timers aside. */
#ifndef JZX_MESSAGE_H
#define JZX_MESSAGE_H

#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/id.h"

#include <stddef.h>
#include <stdint.h>

typedef struct jzx_loop jzx_loop;
typedef struct jzx_context jzx_context;

/* What a behaviour receives. data is never NULL; it is borrowed for the call, may be written to
 * (unless it is shared, see jzx_msg_share), and is aligned for any type. jzx_msg_take() makes it
 * the receiver's. */
typedef struct jzx_message {
    void *data;
    size_t len;
    uint32_t tag;
    jzx_actor_id sender; /* JZX_NOBODY if the sender gave none */
} jzx_message;

/* Tags from here on are the runtime's: a send with one is JZX_ERR_INVALID_ARG. Behaviours see
 * these, which are defined in the headers named here:
 *
 *   JZX_TAG_IO               io.h          a watched descriptor is ready
 *   JZX_TAG_CHILD_EXIT       supervisor.h  to a listener: a child has ended
 *   JZX_TAG_CHILD_RESTART    supervisor.h  to a listener: a child runs again
 *   JZX_TAG_CHILD_ADDED      supervisor.h  the answer to jzx_supervisor_add
 *   JZX_TAG_ROOM             message.h     the answer to jzx_send_when_room
 *   JZX_TAG_RECEIVE_TIMEOUT  timer.h       nothing came for the time that was set
 *   JZX_TAG_ASK_TIMEOUT      ask.h         a question was not answered
 *   JZX_TAG_ASK_DOWN         ask.h         an actor has ended without an answer to a question
 *   JZX_TAG_EXIT             exit.h        a linked actor has ended, and exits are trapped
 *   JZX_TAG_DOWN             exit.h        a monitored actor has ended
 *   JZX_TAG_STOP             exit.h        the actor is to stop, and stops are trapped
 *   JZX_TAG_GROUP_JOIN       group.h       an actor has joined a group
 *   JZX_TAG_GROUP_LEAVE      group.h       an actor has left a group
 *
 * and the stages of a command processor JZX_TAG_COMMAND (processor.h). */
#define JZX_TAG_RESERVED 0xFFFF0000u

/* The answer to jzx_send_when_room: try again now. sender is the actor that has room. No data.
 * Others may have been told, too: if the mailbox is full again, ask again. */
#define JZX_TAG_ROOM 0xFFFF0010u

/* Payloads up to this length travel inside the message, without a second cache line. */
#define JZX_MSG_INLINE 32u

/* The longest payload. */
#define JZX_MSG_LEN_MAX 0x7FFFFFFFu

/* Runs once when a buffer is released, on the thread that releases it. One that itself releases a
 * buffer with a destructor has that run inside its own call, JZX_NESTING_MAX deep; destructors
 * below that run when the innermost has returned. So a list of buffers can be released by their
 * destructors, however long it is. */
typedef void (*jzx_msg_destructor)(void *data, size_t len);

JZX_BEGIN_C

/* Sends a copy of len bytes (data may be NULL if len is 0). from is what the receiver sees as
 * sender: the sending actor's id, or JZX_NOBODY. Any thread; never blocks.
 * Messages of one sender to one receiver arrive in order.
 * JZX_ERR_INVALID_ARG (NULL loop, NULL data, len or tag out of range), JZX_ERR_NO_SUCH_ACTOR,
 * JZX_ERR_MAILBOX_FULL (only with on_full = refuse; also while other senders wait in line for room,
 * see jzx_send_wait), JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_send(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, const void *data,
                         size_t len, uint32_t tag);

/* jzx_send for what cannot wait: the message is handled before all that waits for the receiver, the
 * urgent messages that came earlier aside. Keep it for the rare and the short: config.urgent_cap of
 * them (16) may wait for one actor, and one more is JZX_ERR_MAILBOX_FULL, whatever its on_full
 * says. Neither mailbox_cap nor a full mailbox concerns them. A fiber that waits for another
 * message passes over an urgent one as over any. The successor of a child with keep_mailbox begins
 * with those that its predecessor had not handled. Takes a lock for a moment. Any thread. */
JZX_API jzx_err jzx_send_urgent(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from,
                                const void *data, size_t len, uint32_t tag);

/* jzx_send with sender JZX_NOBODY: the form for threads that are no actors. */
JZX_API jzx_err jzx_send_async(jzx_loop *loop, jzx_actor_id to, const void *data, size_t len,
                               uint32_t tag);

/* jzx_send_async that blocks the thread while the mailbox of the receiver is full: for threads that
 * drive no loop. Senders that wait for room form one queue (see jzx_send_until in fiber.h).
 * deadline_ns is a time of the loop (jzx_loop_now) or JZX_NEVER; one that has passed makes it look
 * once. While the loop does not run it waits, or times out. On JZX_OK the message was sent once,
 * else not at all. JZX_ERR_TIMEOUT; JZX_ERR_NO_SUCH_ACTOR, also if the receiver ends, or stops
 * after its queue, meanwhile; JZX_ERR_LOOP_CLOSED, also if the loop ends meanwhile;
 * JZX_ERR_WOULD_SUSPEND on a thread that drives a loop (in a behaviour, a fiber, a callback); the
 * other errors of jzx_send. The loop must not be destroyed before it has returned. */
JZX_API jzx_err jzx_send_wait(jzx_loop *loop, jzx_actor_id to, const void *data, size_t len,
                              uint32_t tag, uint64_t deadline_ns);

/* A buffer of len bytes that can be sent without a copy; NULL without memory or if len is too
 * large. The caller owns it until jzx_send_msg accepts it, and else gives it to jzx_msg_free.
 * destructor (may be NULL) runs exactly once, whatever becomes of the buffer. Any thread.
 * A buffer belongs to its loop: it must be sent or freed there, before the loop is destroyed.
 * config.track_buffers names those that were not. */
JZX_API JZX_MUST_USE void *jzx_msg_alloc(jzx_loop *loop, size_t len, jzx_msg_destructor destructor);

/* Moves a buffer of jzx_msg_alloc or jzx_msg_take to an actor. On JZX_OK the runtime owns it, on
 * an error (those of jzx_send) it is still the caller's. JZX_ERR_INVALID_ARG also if it was not the
 * caller's. Any thread; never blocks, no copy. */
JZX_API JZX_MUST_USE jzx_err jzx_send_msg(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from,
                                          void *data, uint32_t tag);

/* Makes the payload of the message that is being handled the receiver's, without a copy: it stays
 * valid until jzx_msg_free or jzx_send_msg. NULL if msg is not the message of this call or was
 * taken or stashed already, or if it is that of a timer that repeats or of I/O. Only inside a
 * behaviour. Cannot fail for memory. */
JZX_API JZX_MUST_USE void *jzx_msg_take(jzx_context *ctx, const jzx_message *msg);

/* When the message that is being handled was sent, as jzx_loop_now: the difference says how long it
 * has waited, in the stash and for room too. Of a buffer that was forwarded it is the last send.
 * Only with config.stamp_messages, and for what users send, ask and answer; 0 otherwise, as for the
 * messages of timers, of I/O and of the runtime, and if msg is not the message of this call or was
 * taken or stashed. Only inside a behaviour. */
JZX_API uint64_t jzx_msg_sent_ns(jzx_context *ctx, const jzx_message *msg);

/* Makes a buffer that the caller owns (of jzx_msg_alloc or jzx_msg_take) a shared one: it has a
 * count of references, of which the caller has one, and from now on nobody writes to it. Returns
 * data: it stays where it is, and nothing can fail. A buffer that is shared already stays as it is:
 * the caller has one reference before and after. NULL if loop or data is NULL, or if the buffer is
 * not the caller's.
 * With a reference to a shared buffer one may call jzx_send_shared, jzx_msg_free, which gives the
 * reference up (with the last one the destructor runs and the buffer is freed, on that thread), and
 * jzx_send_msg, which moves it to the receiver. A receiver's msg->data is the buffer itself;
 * jzx_msg_take gives it a reference of its own. References may be used and given up on any
 * threads. */
JZX_API void *jzx_msg_share(jzx_loop *loop, void *data);

/* Sends a reference to a shared buffer, without a copy; the caller keeps its own. Any thread; never
 * blocks. Errors as jzx_send; JZX_ERR_INVALID_ARG also if data is not shared. */
JZX_API jzx_err jzx_send_shared(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, void *data,
                                uint32_t tag);

/* Releases a buffer that the caller owns; its destructor runs now. NULL does nothing, and so does,
 * but for a line in the log, what the caller does not own. */
JZX_API void jzx_msg_free(jzx_loop *loop, void *data);

/* The length of a buffer that the caller owns. */
JZX_API size_t jzx_msg_len(const void *data);

/* Asks for one message (tag JZX_TAG_ROOM, sender target) to actor who as soon as less than half of
 * target's mailbox is used: at once if it is so now, and also when target ends. Asked for by a
 * thread that does not drive the loop, it comes when what waited before the request was handled. A
 * thread that is no actor has no mailbox to be told in: it has jzx_send_wait. Each call that
 * returns JZX_OK is followed by such a message, which no mailbox bound refuses; if who has ended
 * meanwhile it is a dead letter. A call while an earlier one of the same who waits at target joins
 * it: one message answers both, so an actor waits at most once at each target. A request of another
 * thread joins when target takes its mail in, and one that finds room is answered at once by a
 * message of its own. Any thread. JZX_ERR_INVALID_ARG, JZX_ERR_NO_SUCH_ACTOR (target or who),
 * JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_send_when_room(jzx_loop *loop, jzx_actor_id target, jzx_actor_id who);

JZX_END_C

#endif
