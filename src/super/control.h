/* SPDX-License-Identifier: MIT */
/* Commands to a supervisor, and their answers. */
#ifndef JZX_SUPER_CONTROL_H
#define JZX_SUPER_CONTROL_H

#include "super/super.h"

/* Sends the answer of an ADD, which is gone then. NULL is fine. child is the one that was added, or
 * that has the name, or JZX_NOBODY. */
void jzx__command_answer(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *answer,
                         jzx_actor_id supervisor, jzx_actor_id child, jzx_err err);

#endif
