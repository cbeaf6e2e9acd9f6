/* SPDX-License-Identifier: MIT */
/* What an actor looks like, for people and tools. */
#ifndef JZX_ACTOR_INFO_H
#define JZX_ACTOR_INFO_H

#include "actor/actor.h"

/* What other threads may see of a slot. False if it has no living actor. Any thread. */
bool jzx__actor_glance(struct jzx__actor *actor, jzx_actor_info *info);

#endif
