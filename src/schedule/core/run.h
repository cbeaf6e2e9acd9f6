/* SPDX-License-Identifier: MIT */
/* Running the ticks of a driver: started, pulled, judged, made up for, stopped. Owner only. */
#ifndef JZX_SCHEDULE_CORE_RUN_H
#define JZX_SCHEDULE_CORE_RUN_H

#include "schedule/core/schedule.h"

/* Starts the driver; the fallback (NULL: none) takes over if that stops by itself. On an error the
 * scheduler has no driver. A manual driver needs a configuration for tests. */
enum jzx__driver_error jzx__schedule_start(struct jzx__schedule *s,
                                           const struct jzx__driver *driver,
                                           const struct jzx__driver *fallback);

/* The driver has ended by itself. The fallback takes over, or the status is Stalled. */
void jzx__schedule_driver_stopped(struct jzx__schedule *s, enum jzx__driver_error error);

/* What one pass has done. */
struct jzx__schedule_pass {
    struct jzx__tick_event event; /* what was pulled, and how it is run */
    uint32_t ticks;               /* that were run, at most one chunk */
    bool has_more;                /* the caller lets others run, and calls again */
};

/* Pulls what the driver has announced and runs one chunk of what is owed. */
struct jzx__schedule_pass jzx__schedule_run(struct jzx__schedule *s);

/* Runs n ticks by hand, chunk by chunk, until none is owed. False unless the configuration is for
 * tests and the scheduler is active. */
bool jzx__schedule_advance(struct jzx__schedule *s, uint64_t ticks);

/* The tick at which the scheduler has something to do, at the latest; UINT64_MAX: nothing waits,
 * and a driver that can may sleep. */
uint64_t jzx__schedule_next_tick(struct jzx__schedule *s);

/* For drivers that know the time themselves. Passes over ticks up to `to` at which there is nothing
 * to do, owed or not: they are no backlog. */
void jzx__schedule_pass_idle(struct jzx__schedule *s, uint64_t to);

/* Runs so many ticks of a clock that was moved by hand, as one pass: a pause that is nobody's
 * fault, so that nothing is judged and no run counts as missed. */
void jzx__schedule_leap(struct jzx__schedule *s, uint64_t ticks);

/* Runs all that is owed, whatever the phase: for the shutdown. */
void jzx__schedule_run_owed(struct jzx__schedule *s);

#endif
