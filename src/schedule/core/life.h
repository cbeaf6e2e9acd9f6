/* SPDX-License-Identifier: MIT */
/* From registration to the end of a job: cancelling, completing, and the way back of records that
 * other threads have ended. */
#ifndef JZX_SCHEDULE_CORE_LIFE_H
#define JZX_SCHEDULE_CORE_LIFE_H

#include "schedule/core/schedule.h"

/* ---- handles ---- */

/* Owner. True the first time, unless the job has ended or is a one-shot whose run has begun. A job
 * that waits is unlinked at once; a periodic job in flight ends with its run. */
bool jzx__schedule_cancel(struct jzx__schedule *s, jzx__job_id id);

/* Any thread: the same answer; the record comes back to the owner at its next tick. */
bool jzx__schedule_cancel_elsewhere(struct jzx__schedule *s, jzx__job_id id);

/* Any thread. */
enum jzx__job_state jzx__schedule_state(const struct jzx__schedule *s, jzx__job_id id);

/* ---- runs: the adapter's side of S2 ---- */

/* Any thread, immediately before the handler: false if the job was cancelled since its delivery.
 * Then the handler is not called, but the completion is still due. */
bool jzx__schedule_may_run(struct jzx__schedule *s, jzx__job_id id);

/* Any thread, before the completion: the run will never be handled, as its receiver has ended. The
 * job is cancelled without a word. */
void jzx__schedule_give_up(struct jzx__schedule *s, jzx__job_id id);

/* The handler has ended at finished_ns, with 0 or an error, or was not called. An error ends the
 * job. False: the id does not name a job in flight. */
bool jzx__schedule_complete(struct jzx__schedule *s, jzx__job_id id, uint64_t finished_ns,
                            int32_t error);

/* Any thread: the owner acts on it at its next tick. */
bool jzx__schedule_complete_elsewhere(struct jzx__schedule *s, jzx__job_id id, uint64_t finished_ns,
                                      int32_t error);

/* ---- for the files of the core; owner ---- */

/* Registers what was submitted, and takes back what ended elsewhere. */
void jzx__schedule_take_in(struct jzx__schedule *s);

/* Gives a job its place. False: there is none, and CAPACITY_EXCEEDED was told; the caller discards
 * the job. */
bool jzx__schedule_register(struct jzx__schedule *s, struct jzx__job *job);

/* Ends a job that waits, without a word. False: another thread has cancelled it, and the record
 * comes back by itself. */
bool jzx__schedule_discard(struct jzx__schedule *s, struct jzx__job *job);

/* Cancels a job for a reason of the scheduler's own, and counts it as dropped. False: it has ended
 * already. The record may be free when this returns. */
bool jzx__schedule_drop(struct jzx__schedule *s, struct jzx__job *job);

/* A run that was begun cannot go on: the job is Cancelled and its record free. */
void jzx__schedule_abandon(struct jzx__schedule *s, struct jzx__job *job);

/* The run of a job in flight has ended, as its fields say. During its own delivery this waits. */
void jzx__schedule_end_run(struct jzx__schedule *s, struct jzx__job *job);

/* A run that was begun is put off to the next tick. */
void jzx__schedule_put_off(struct jzx__schedule *s, struct jzx__job *job);

#endif
