/* SPDX-License-Identifier: MIT */
/* For property tests, ours and a user's: the invariants of the whole, and faults by seed. Owner
 * only, between ticks. */
#ifndef JZX_SCHEDULE_CORE_PROPERTY_H
#define JZX_SCHEDULE_CORE_PROPERTY_H

#include "schedule/core/schedule.h"

/* NULL, or a text that says which invariant does not hold. */
const char *jzx__schedule_check(struct jzx__schedule *s);

/* Ticks in the log never go backwards, and the last one is not after the present tick. */
bool jzx__schedule_is_monotonic(const struct jzx__schedule *s);

/* Cancels each job that waits with a chance of per_mille in 1,000; the same seed cancels the same
 * jobs. Returns how many. */
uint32_t jzx__schedule_inject_random_cancel(struct jzx__schedule *s, uint64_t seed,
                                            uint32_t per_mille);

#endif
