/* SPDX-License-Identifier: MIT */
/* Being the owner of a scheduler's core: the lock, the looks of worker 0, and what is due next. */
#ifndef JZX_SCHEDULE_OWNER_H
#define JZX_SCHEDULE_OWNER_H

#include "schedule/scheduler.h"

/* True unless this thread has the lock already (Q1). Inside the bracket (Q4); me is this thread's
 * worker of the loop, or NULL. */
bool jzx__owner_acquire(struct jzx__scheduler *scheduler, struct jzx__worker *me);

/* False if somebody has the lock. */
bool jzx__owner_try_acquire(struct jzx__scheduler *scheduler, struct jzx__worker *me);

/* Something is due at due_ns, or JZX_NEVER: releases the lock, tells observers what waits for them,
 * and sees to it that worker 0 looks in time. */
void jzx__owner_release(struct jzx__scheduler *scheduler, uint64_t due_ns);

/* Has worker 0 look soon. Any thread. */
void jzx__owner_poke(struct jzx__scheduler *scheduler);

/* This thread has left something in the core's queues: has worker 0 look, or does it itself once
 * the scheduler is closed (Q5). Any thread, as jzx__owner_acquire. */
void jzx__owner_hand_over(struct jzx__scheduler *scheduler, struct jzx__worker *me);

/* The loop has ended and its scheduler is closed: worker 0 looks no more (Q5). Owner. */
void jzx__owner_end_looks(struct jzx__scheduler *scheduler);

/* One look of worker 0: takes in what others have left, runs the ticks that have passed, sets the
 * alarm for the next. */
void jzx__owner_look(struct jzx__scheduler *scheduler, struct jzx__worker *me);

/* Of the alarm's waiter. */
void jzx__owner_ring(void *who, struct jzx__worker *me);

/* Takes the alarm off the wheel. On worker 0, or when no thread drives it. */
void jzx__owner_disarm(struct jzx__scheduler *scheduler);

/* The event stream of the core. */
void jzx__owner_emit(void *ctx, const struct jzx__schedule_event *event);

/* Owner. When the job runs next, in the time of the loop; JZX_NEVER if worker 0 need not look for
 * it. */
uint64_t jzx__owner_due_of(struct jzx__scheduler *scheduler, jzx__job_id id);

/* JZX__FEED_SCHEDULE: pokes. */
extern const struct jzx__feed_ops jzx__schedule_pokes;

/* The public form of an event. */
struct jzx_schedule_event jzx__schedule_event_show(const struct jzx__schedule_event *event);

#endif
