/* SPDX-License-Identifier: MIT */
/* Making and ending the scheduler of a loop. */
#ifndef JZX_SCHEDULE_MAKE_H
#define JZX_SCHEDULE_MAKE_H

#include "schedule/scheduler.h"

/* Made if need be; NULL without memory. Any thread, in a visit. */
struct jzx__scheduler *jzx__scheduler_ensure(struct jzx_loop *loop);

/* The loop has been stopped and its actors have ended: shuts the scheduler down, if there is one.
 * On the thread that drives the loop, at worker 0. */
void jzx__scheduler_end(struct jzx_loop *loop, struct jzx__worker *me);

#endif
