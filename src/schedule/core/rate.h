/* SPDX-License-Identifier: MIT */
/* The arithmetic of delays and periods, in ticks: pure functions. */
#ifndef JZX_SCHEDULE_CORE_RATE_H
#define JZX_SCHEDULE_CORE_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* The longest delay and the longest period. */
#define JZX__DELAY_TICKS_MAX ((uint64_t)INT32_MAX)

/* The first tick that begins at or after this time. */
static inline uint64_t jzx__ticks_up(uint64_t ns, uint32_t resolution_ns) {
    return ns / resolution_ns + (ns % resolution_ns != 0);
}

/* The tick that this time belongs to. */
static inline uint64_t jzx__ticks_down(uint64_t ns, uint32_t resolution_ns) {
    return ns / resolution_ns;
}

/* A delay in ticks, rounded up; 0 if it is not positive or longer than JZX__DELAY_TICKS_MAX. */
static inline uint32_t jzx__delay_ticks(int64_t delay_ns, uint32_t resolution_ns) {
    if (delay_ns <= 0)
        return 0;
    uint64_t ticks = jzx__ticks_up((uint64_t)delay_ns, resolution_ns);
    return ticks > JZX__DELAY_TICKS_MAX ? 0 : (uint32_t)ticks;
}

/* What a periodic job that was due at `due` does when it is run at `now`. */
struct jzx__rate_plan {
    uint32_t runs;        /* runs that this one stands for, itself included */
    uint32_t missed_runs; /* those of them that its receiver was too late for */
    uint64_t next;        /* the next point of the grid, after now */
};

/* Points of the grid up to `paced_until` went by while the driver made up for a pause: those were
 * not missed by the receiver. now >= due, period > 0. */
struct jzx__rate_plan jzx__rate_plan_for(uint64_t due, uint64_t now, uint32_t period,
                                         uint64_t paced_until);

/* The tick of the next run at a fixed delay: the first one after `now` that begins at or after
 * finished + delay. */
uint64_t jzx__delay_next(uint64_t finished_ns, uint64_t delay_ns, uint32_t resolution_ns,
                         uint64_t now);

#endif
