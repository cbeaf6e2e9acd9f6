/* SPDX-License-Identifier: MIT */
/* Clocks and drivers: where the time of a scheduler comes from, and who announces its ticks. The
 * automatic driver is worker 0 itself: it wakes at the next tick at which there is something to do,
 * and credits the ticks that have passed. */
#ifndef JZX_SCHEDULE_DRIVER_H
#define JZX_SCHEDULE_DRIVER_H

#include "schedule/core/clock.h"
#include "schedule/core/driver.h"
#include "schedule/scheduler.h"

/* The clock of the configuration, or that of the loop. */
struct jzx__tick_clock jzx__driver_clock(struct jzx__scheduler *scheduler);

/* Starts the driver of the configuration. Owner. */
enum jzx__driver_error jzx__driver_start(struct jzx__scheduler *scheduler);
const char *jzx__driver_error_text(enum jzx__driver_error error);

/* Takes in what others have left, and runs one pass of the ticks that have passed. Owner. */
void jzx__driver_run(struct jzx__scheduler *scheduler);

/* Before a job is added: ticks at which there was nothing to do have passed. Returns the time of
 * the clock if it has read it, else 0. Owner. */
uint64_t jzx__driver_before_add(struct jzx__scheduler *scheduler);

/* When worker 0 looks whether a driver that is not automatic has announced something; JZX_NEVER:
 * that driver pokes, or a test advances. Owner. */
uint64_t jzx__driver_next_look(struct jzx__scheduler *scheduler);

/* One round of the thread: announces the ticks that have passed since `last`, however long it has
 * slept. Returns the last one now. */
uint64_t jzx__driver_announce(struct jzx__driver_thread *thread, uint64_t last);

/* Shows the time of the clock again, after ticks that the core has run. Owner. */
void jzx__driver_leave_tick(struct jzx__scheduler *scheduler);

#endif
