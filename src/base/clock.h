/* SPDX-License-Identifier: MIT */
/* Where time comes from: the monotonic clock of the system, or a number that a test moves. */
#ifndef JZX_BASE_CLOCK_H
#define JZX_BASE_CLOCK_H

#include <stdint.h>

struct jzx__clock {
    uint64_t (*now)(const struct jzx__clock *clock); /* nanoseconds, never backwards */
    uint64_t manual_ns;                              /* the manual clock's time */
};

void jzx__clock_init_monotonic(struct jzx__clock *clock);
void jzx__clock_init_manual(struct jzx__clock *clock, uint64_t start_ns);

/* Manual clocks only, on the thread that drives the loop. */
void jzx__clock_advance(struct jzx__clock *clock, uint64_t duration_ns);

static inline uint64_t jzx__clock_now(const struct jzx__clock *clock) {
    return clock->now(clock);
}

#endif
