/* SPDX-License-Identifier: MIT */
/* Waiting for room: senders that wait until a full mailbox takes their message.
 *
 * A sender that waits, a fiber or a thread, stands in the **line** of its target (line.h): a source
 * of waiter.h, with the prepared message in the slot of the link. When room arises the owner of the
 * target claims the first in line and appends the message itself: nobody is woken to try again.
 *
 *   F1  a message is its sender's until the wait is claimed with ITEM, and the target's from then
 *       on: a wait that ends otherwise has sent nothing.
 *   F2  the owner learns of each that joins: the request (JZX__WANT_ROOM) is made under the lock of
 *       the stripe, and the link is queued before that is released. The owner looks at the line
 *       when it sees the request, and from then on before each message (JZX__CARE_LINE), until it
 *       finds the line empty under that lock.
 *   F3  a request whose nudge found the inbox open is seen by the end of the target, or by its
 *       drain, which closes the inbox before it looks. A nudge that found it closed is an answer.
 *       So everyone in line is served, or told that the line is closed.
 *   F4  room goes to the line first: while somebody is in it, other senders are refused, and those
 *       that would wait join its end. JZX__CAP_LINE makes them look into the stripe. A sender on
 *       another thread that does not wait may come before the owner has set it.
 *   F5  messages of one sender keep their order (mailbox/B3). Before it claims, under the lock, the
 *       owner finds the inbox empty: what the sender sent before it joined was taken in. Nothing is
 *       taken in between the claim and the append: what it sends afterwards comes behind.
 *   F6  a line is there as long as it has users: who waits in it, and the owner while it closes it.
 *
 * Rejected: a message in the lane of requests for room that becomes a message when there is room
 * (those that have timed out would stay until the target has room); one list per stripe for all
 * targets (an owner would walk over those who wait for others). */
#ifndef JZX_ACTOR_ROOM_H
#define JZX_ACTOR_ROOM_H

#include "actor/line.h"

/* ---- the sender ---- */

/* A message that is to be sent, in the frame of the call. */
struct jzx__room_wait {
    /* Set by the caller. */
    struct jzx_loop *loop;
    struct jzx__worker *me; /* this thread's worker, or NULL: as it is at each call */
    jzx_actor_id to;

    struct jzx__message *message; /* NULL: it is not the sender's (F1) */
    struct jzx__line *line;       /* NULL: it is in none */
};

/* Sends a copy if there is room and nobody is in line. On JZX_ERR_MAILBOX_FULL the message is kept
 * for join or give_up, and nobody has heard of it; on other errors nothing is left. */
jzx_err jzx__room_send(struct jzx__room_wait *wait, jzx_actor_id from, const void *data, size_t len,
                       uint32_t tag);

/* Prepares the link for a wait at the line of the target. Without memory it gives up. */
jzx_err jzx__room_join(struct jzx__room_wait *wait, struct jzx__wait_link *link);

/* The wait has ended; what the call returns for its cause. */
jzx_err jzx__room_leave(struct jzx__room_wait *wait, uint32_t cause);

/* The message will not be sent: frees it, counts it as refused, and passes the reason on. */
jzx_err jzx__room_give_up(struct jzx__room_wait *wait, jzx_err reason);

/* ---- the owner of the target ---- */

/* A request was seen: serves those in line, now and from now on. In its turn. */
void jzx__room_open(struct jzx__worker *me, struct jzx__actor *actor);

/* Gives the room that there is to those in line. In its turn. */
void jzx__room_serve(struct jzx__worker *me, struct jzx__actor *actor);

#endif
