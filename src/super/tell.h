/* SPDX-License-Identifier: MIT */
/* What the listener of a supervisor is told of its children. Both messages of an incarnation are
 * made before it is started (U6 of super.h), so that neither an end nor a restart that has
 * succeeded goes untold for want of memory. */
#ifndef JZX_SUPER_TELL_H
#define JZX_SUPER_TELL_H

#include "super/start.h"

/* Makes the messages of the next incarnation, unless there is no listener. False without memory.
 * Those that were not sent are there for the next try. */
bool jzx__tell_reserve(struct jzx__super_turn *turn, struct jzx__child *child);

/* The child is in the state that is told. Nothing if no incarnation has ended, or none could be
 * started. */
void jzx__tell_exit(struct jzx__super_turn *turn, struct jzx__child *child, bool asked,
                    uint64_t delay_ns);

/* A child runs: if this was a restart it is told. */
void jzx__tell_restart(struct jzx__super_turn *turn, struct jzx__child *child);

/* Frees what was not sent. me may be NULL. */
void jzx__tell_drop(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__child *child);

#endif
