/* SPDX-License-Identifier: MIT */
/* What sends share: the header of a message, and those that did not happen. */
#ifndef JZX_ACTOR_SEND_H
#define JZX_ACTOR_SEND_H

#include "actor/message.h"

/* Counts a send that did not happen, so that the books balance, and passes its reason on. */
JZX_COLD jzx_err jzx__send_refuse(struct jzx_loop *loop, struct jzx__worker *me, jzx_err reason);

/* Writes the header of a user message: of the node all but the link, the flags and the class. */
static inline void jzx__send_address(struct jzx__message *message, jzx_actor_id to,
                                     jzx_actor_id from, uint32_t tag) {
    message->node.generation = jzx_id_generation(to);
    message->node.weight = 1;
    message->node.lane = JZX__LANE_USER;
    message->sender = from;
    message->tag = tag;
}

#endif
