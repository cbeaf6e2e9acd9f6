/* SPDX-License-Identifier: MIT */
/* Runners: actors that run the functions of jobs, one per dispatcher that has had any. They are
 * daemons with the priority and the place of their dispatcher. */
#ifndef JZX_SCHEDULE_RUNNER_H
#define JZX_SCHEDULE_RUNNER_H

#include "schedule/scheduler.h"

/* JZX_NOBODY: there is none yet. Any thread. */
jzx_actor_id jzx__runner_of(const struct jzx__scheduler *scheduler, uint32_t dispatcher);

/* Makes it unless there is one that lives. Any thread, without the lock. */
jzx_err jzx__runner_ensure(struct jzx__scheduler *scheduler, uint32_t dispatcher);

/* Makes those anew that have ended. On worker 0, without the lock. */
void jzx__runners_mend(struct jzx__scheduler *scheduler);

/* The dispatcher whose runner's turn it is on this thread; 0: none. */
uint32_t jzx__runner_current(const struct jzx__scheduler *scheduler);

#endif
