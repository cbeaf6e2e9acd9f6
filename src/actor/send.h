/* SPDX-License-Identifier: MIT */
/* Sends that did not happen. */
#ifndef JZX_ACTOR_SEND_H
#define JZX_ACTOR_SEND_H

#include "actor/actor.h"

/* Counts a send that did not happen, so that the books balance, and passes its reason on. */
JZX_COLD jzx_err jzx__send_refuse(struct jzx_loop *loop, struct jzx__worker *me, jzx_err reason);

#endif
