/* SPDX-License-Identifier: MIT */
/* Requests to an actor: to end, to fail, to work its queue off. */
#ifndef JZX_ACTOR_CONTROL_H
#define JZX_ACTOR_CONTROL_H

#include "actor/actor.h"

/* Asks an actor for something (JZX__WANT_*). me is this thread's worker, or NULL. */
jzx_err jzx__actor_request(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id id,
                           uint32_t want);

#endif
