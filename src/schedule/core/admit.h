/* SPDX-License-Identifier: MIT */
/* Scheduling a job: who is let in, and with which policy. Any thread; the owner has a form of its
 * own that knows at once whether the slot has room. */
#ifndef JZX_SCHEDULE_CORE_ADMIT_H
#define JZX_SCHEDULE_CORE_ADMIT_H

#include "schedule/core/schedule.h"

enum jzx__schedule_status {
    JZX__SCHEDULE_OK,
    JZX__SCHEDULE_INVALID_DELAY, /* not positive, or longer than JZX__DELAY_TICKS_MAX */
    JZX__SCHEDULE_INVALID_ARG,   /* an unknown mode, a priority that is not for users */
    JZX__SCHEDULE_UNSUPPORTED_MODE,
    JZX__SCHEDULE_CAPACITY_EXCEEDED, /* the slot or the overflow is full */
    JZX__SCHEDULE_QUOTA_EXCEEDED,
    JZX__SCHEDULE_BACKPRESSURED, /* the result has the reason */
    JZX__SCHEDULE_SHUTDOWN,
    JZX__SCHEDULE_TASK_RUN_CAPACITY_EXCEEDED
};

struct jzx__schedule_request {
    enum jzx__job_mode mode;
    int64_t delay_ns;  /* to the first run */
    int64_t period_ns; /* of periodic jobs: between points of the grid, or from end to start */
    struct jzx__affinity affinity;
    struct jzx__policy policy; /* zero fields: by affinity */
    bool skips_missed;         /* fixed delay: runs is always 1, and the job is never cancelled */
    bool is_function;          /* a shutdown runs it inline */
    uint32_t executor;
    void *payload;   /* the scheduler's until `release`, if the job is let in */
    uint64_t now_ns; /* of the scheduler's clock, if the caller has just read it; 0: it has not */
};

struct jzx__schedule_result {
    enum jzx__schedule_status status;
    uint32_t reason; /* jzx__backpressure_reason bits, if Backpressured */
    jzx__job_id job; /* JZX__NO_JOB, whose state is Cancelled, on every error */
};

/* Owner. The job is registered when this returns. */
struct jzx__schedule_result jzx__schedule_add(struct jzx__schedule *s,
                                              const struct jzx__schedule_request *request);

/* Any thread. The job is registered by the owner's next tick, in the order of the calls. If its
 * slot is full then, it is cancelled and CAPACITY_EXCEEDED is told. */
struct jzx__schedule_result jzx__schedule_submit(struct jzx__schedule *s,
                                                 const struct jzx__schedule_request *request);

/* Owner. Lets all threads know the phase, the overload state and whether the driver has stalled. */
void jzx__schedule_publish(struct jzx__schedule *s);

/* Any thread. The shutdown is over. */
bool jzx__schedule_is_closed(const struct jzx__schedule *s);

/* Owner. The quota that holds now. */
uint32_t jzx__schedule_quota(const struct jzx__schedule *s);

/* Owner. Acts on what other threads noted. */
void jzx__schedule_heed(struct jzx__schedule *s);

#endif
