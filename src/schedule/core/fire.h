/* SPDX-License-Identifier: MIT */
/* One tick. Owner only. */
#ifndef JZX_SCHEDULE_CORE_FIRE_H
#define JZX_SCHEDULE_CORE_FIRE_H

#include "schedule/core/schedule.h"

/* Runs tick s->tick + 1: registers and takes back, reinserts from the overflow, drops what a
 * saturated slot does not hold, and delivers what is due, in the order of registration. */
void jzx__schedule_run_tick(struct jzx__schedule *s);

/* Sorts the due list by registration. */
void jzx__schedule_order_due(struct jzx__schedule *s);

/* Lets so many ticks pass at which nothing is due; they are counted all the same. */
void jzx__schedule_pass_over(struct jzx__schedule *s, uint64_t ticks);

#endif
