/* SPDX-License-Identifier: MIT */
/* The start event of an actor. */
#ifndef JZX_ACTOR_ANNOUNCE_H
#define JZX_ACTOR_ANNOUNCE_H

#include "actor/actor.h"

/* Emits the start event if it is still due, so that no other event of the actor comes before it. */
void jzx__actor_announce(struct jzx_loop *loop, struct jzx__actor *actor);

#endif
