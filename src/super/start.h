/* SPDX-License-Identifier: MIT */
/* Making and unmaking children and supervisors. */
#ifndef JZX_SUPER_START_H
#define JZX_SUPER_START_H

#include "super/super.h"

/* A call of the behaviour. */
struct jzx__super_turn {
    struct jzx__super *super;
    struct jzx__own own;
    bool over; /* nothing is left to do but to end */
};

/* Changes what others may read (U2). */
void jzx__child_set(struct jzx__child *child, jzx_child_state state, jzx_actor_id id);

/* Starts a child that has no actor: it is STARTING or RUNNING then, and has its mail. On an error
 * nothing has changed. */
jzx_err jzx__child_start(struct jzx__super_turn *turn, struct jzx__child *child);

/* Frees one that is in no list. */
void jzx__child_destroy(struct jzx__child *child);

#endif
