/* SPDX-License-Identifier: MIT */
/* The behaviour of a supervisor. */
#ifndef JZX_SUPER_SUPERVISE_H
#define JZX_SUPER_SUPERVISE_H

#include "super/super.h"

/* Changes what others may read (U2). */
void jzx__child_set(struct jzx__child *child, jzx_child_state state, jzx_actor_id id);

/* The behaviour and its init. */
jzx_behavior_result jzx__supervise(jzx_context *ctx, const jzx_message *msg);
jzx_err jzx__super_init(jzx_context *ctx);

#endif
