/* SPDX-License-Identifier: MIT */
/* One turn of an actor, and a pass over all that are ready. */
#ifndef JZX_ACTOR_TURN_H
#define JZX_ACTOR_TURN_H

#include "actor/actor.h"

/* One pass over the ready actors. */
enum jzx__pass_result jzx__actor_run_ready(struct jzx__worker *me, uint32_t turns_max);

/* A turn that went on without the worker is over: does what its end asks for. */
void jzx__actor_take_back(struct jzx__worker *me, struct jzx__seat *seat);

#endif
