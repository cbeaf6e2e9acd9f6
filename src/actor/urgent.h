/* SPDX-License-Identifier: MIT */
/* Urgent messages: the lane that overtakes what waits in a mailbox.
 *
 * An urgent message does not go through the inbox of its receiver: taking that in early would let
 * other threads fill the mailbox beyond its bound (mailbox/B2). It waits in a **queue** that is
 * found by the receiver's id, in stripes with a lock each, as the lines of senders are (line.h);
 * and a request in the state word tells the owner, which moves the messages to the head of its
 * private list before it handles anything else. There they are nodes of JZX__LANE_URGENT.
 *
 *   G1  a queue exists while `waiting` is not 0: the messages in it, and those of the private list
 *       that came from it and were not handled. So the bound counts both, exactly.
 *   G2  who appends asks the owner afterwards (JZX__WANT_URGENT, then a nudge). If the owner takes
 *       nothing in any more, the sender takes its message back, unless the owner has it already.
 *   G3  the end of an actor closes its queue, after its inbox was closed: a message whose sender
 *       was in time is buried, or kept for a successor, and any other is taken back by its sender
 *       (G2).
 *   G4  in the private list urgent messages are in front of all others, oldest first; what is put
 *       first (an unstash) goes behind them.
 *   G5  the owner counts a message as accepted when it takes or buries it, and nobody else.
 *
 * Exit signals and the orders of jzx_actor_cancel travel by this lane, too. They are judged when
 * the owner takes them: on the stack of its thread, where an actor of any kind may end. */
#ifndef JZX_ACTOR_URGENT_H
#define JZX_ACTOR_URGENT_H

#include "actor/actor.h"

#include "jzx/id.h"

struct jzx__addressee;
struct jzx__message;

/* Sends a message that has its tag, sender and payload. On JZX_OK the runtime owns it, otherwise
 * the caller still does: JZX_ERR_MAILBOX_FULL, JZX_ERR_NO_SUCH_ACTOR, JZX_ERR_LOOP_CLOSED,
 * JZX_ERR_NO_MEMORY. Any thread; me is this thread's worker, or NULL. */
jzx_err jzx__urgent_deliver(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id to,
                            struct jzx__message *message);

/* The actor has JZX__CARE_URGENT: moves what is in its queue to the head of its mailbox, and obeys
 * signals. False if the actor has ended by one. Owner only. */
bool jzx__urgent_take(struct jzx__worker *me, struct jzx__actor *actor);

/* The actor ends, and its id is stale: buries what is in its queue, and frees that (G3). The cold
 * record may be NULL. Owner only. */
void jzx__urgent_close(struct jzx__worker *me, const struct jzx__addressee *to);

/* The same for an actor whose mail is kept: instead all that is urgent, of its queue and of its
 * private list, becomes plain messages, which are taken out and returned, oldest first. The cold
 * record is there. Owner only. */
struct jzx__node *jzx__urgent_bequeath(struct jzx__worker *me, struct jzx__actor *actor,
                                       jzx_actor_id id, struct jzx__node **list);

#endif
