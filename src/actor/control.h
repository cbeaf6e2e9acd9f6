/* SPDX-License-Identifier: MIT */
/* Requests to an actor: to end, to fail, to work its queue off. */
#ifndef JZX_ACTOR_CONTROL_H
#define JZX_ACTOR_CONTROL_H

#include "actor/actor.h"

/* The reason of an actor that ends by the requests in its state word: of several, the strongest. */
jzx_exit_reason jzx__control_reason(uint64_t state);

/* The text of such an end, or NULL. */
const char *jzx__control_text(uint64_t state);

/* Asks an actor for something (JZX__WANT_*). me is this thread's worker, or NULL. */
jzx_err jzx__actor_request(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id id,
                           uint32_t want);

/* The same for JZX__WANT_ROOM, by a sender that is about to wait in line (room.h), and for
 * JZX__WANT_URGENT (urgent.h). False if the actor takes no more messages: it has ended, or works
 * its queue off. */
bool jzx__actor_ask_for(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id id,
                        uint32_t want);

#endif
