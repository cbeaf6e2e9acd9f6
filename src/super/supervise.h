/* SPDX-License-Identifier: MIT */
/* The behaviour of a supervisor. */
#ifndef JZX_SUPER_SUPERVISE_H
#define JZX_SUPER_SUPERVISE_H

#include "super/start.h"

/* Changes what others may read (U2). */
void jzx__child_set(struct jzx__child *child, jzx_child_state state, jzx_actor_id id);

/* FAILED: the failure is dealt with. GONE: the child is not tried again, and may be freed. */
enum jzx__start_result { JZX__STARTED, JZX__START_FAILED, JZX__START_GONE };
enum jzx__start_result jzx__supervise_start(struct jzx__super_turn *turn, struct jzx__child *child);

/* Asks a child to end: at once, which is after the message in hand, or when it has worked off its
 * queue. */
void jzx__supervise_stop(struct jzx__super_turn *turn, struct jzx__child *child, bool at_once);

/* The supervisor closes, and the child has no actor. */
void jzx__supervise_abandon(struct jzx__super_turn *turn, struct jzx__child *child);

/* The first time: the supervisor has started. */
void jzx__supervise_end_plan(struct jzx__super_turn *turn);

/* The behaviour and its init. */
jzx_behavior_result jzx__supervise(jzx_context *ctx, const jzx_message *msg);
jzx_err jzx__super_init(jzx_context *ctx);

#endif
