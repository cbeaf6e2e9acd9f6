/* SPDX-License-Identifier: MIT */
/* How often a child may fail, and how long its restart waits. */
#ifndef JZX_SUPER_ATTEMPTS_H
#define JZX_SUPER_ATTEMPTS_H

#include "super/super.h"

/* Notes a failure. True if there were more than the intensity within the period. */
bool jzx__attempts_too_many(struct jzx__super *super);

/* How long the next restart of a child waits, with its jitter. */
uint64_t jzx__attempts_delay_ns(struct jzx__super *super, const struct jzx__child *child);

/* True if its last run was long enough to begin anew with its attempts. */
bool jzx__attempts_was_stable(const struct jzx__child *child);

/* True if it is not tried again. */
bool jzx__attempts_are_over(const struct jzx__child *child);

#endif
