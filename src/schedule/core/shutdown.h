/* SPDX-License-Identifier: MIT */
/* The end of a scheduler, in order: the driver stops and its last ticks are run, close tasks run by
 * priority, the jobs that wait are drained. From the first step on nothing new is let in, and
 * nothing is delivered: function jobs run inline, message jobs are cancelled. Owner only. */
#ifndef JZX_SCHEDULE_CORE_SHUTDOWN_H
#define JZX_SCHEDULE_CORE_SHUTDOWN_H

#include "schedule/core/admit.h"

struct jzx__shutdown_summary {
    uint32_t flushed_ticks;
    uint32_t tasks_succeeded;
    uint32_t tasks_failed;
    uint32_t jobs_run;
    uint32_t jobs_cancelled;
};

/* A second call does nothing and returns an empty summary. */
struct jzx__shutdown_summary jzx__schedule_shutdown(struct jzx__schedule *s);

/* Only while the scheduler is active. *id is the task's, for jzx__schedule_cancel_on_close. */
enum jzx__schedule_status jzx__schedule_register_on_close(struct jzx__schedule *s, jzx__close_fn fn,
                                                          void *ctx,
                                                          enum jzx__close_priority priority,
                                                          uint64_t *id);

/* False: there is no such task, any more, or the scheduler is not active. */
bool jzx__schedule_cancel_on_close(struct jzx__schedule *s, uint64_t id);

#endif
