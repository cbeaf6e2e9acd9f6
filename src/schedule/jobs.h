/* SPDX-License-Identifier: MIT */
/* Jobs of other parts of the library. */
#ifndef JZX_SCHEDULE_JOBS_H
#define JZX_SCHEDULE_JOBS_H

#include "schedule/item.h"

/* A one-shot that calls wake(ctx) once, after the delay or when it ends in any other way (item.h).
 * Errors as jzx_schedule_once; then wake is not called. It has the priority HIGH. Any thread. */
jzx_err jzx__schedule_wake(struct jzx_loop *loop, int64_t delay_ns, jzx_job_id *job,
                           jzx__wake_fn *wake, void *ctx);

#endif
