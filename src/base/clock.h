/* SPDX-License-Identifier: MIT */
/* Where time comes from: the monotonic clock of the system, a number that a test moves, or a clock
 * that several loops share (jzx/clock.h). */
#ifndef JZX_BASE_CLOCK_H
#define JZX_BASE_CLOCK_H

#include "jzx/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jzx__clock {
    uint64_t (*now)(const struct jzx__clock *clock); /* nanoseconds, never backwards */
    uint64_t (*cpu)(const struct jzx__clock *clock); /* CPU time of the calling thread; NULL: it
                                                      * computes all the time */
    uint64_t manual_ns;                              /* the manual clock's time */
    struct jzx_clock *shared;                        /* or where it is */
    bool is_real;                                    /* it goes on by itself */
};

/* Who waits for a shared clock. */
struct jzx__clock_user {
    struct jzx__clock_user *next;
    void (*wake)(struct jzx__clock_user *user);
};

void jzx__clock_init_monotonic(struct jzx__clock *clock);
void jzx__clock_init_manual(struct jzx__clock *clock, uint64_t start_ns);

/* Shows the time of a shared clock, which wakes the user whenever it was moved, until it leaves. */
void jzx__clock_join(struct jzx__clock *clock, struct jzx_clock *shared,
                     struct jzx__clock_user *user);
void jzx__clock_leave(struct jzx_clock *shared, struct jzx__clock_user *user);

/* Manual clocks only, on the thread that drives the loop. */
void jzx__clock_advance(struct jzx__clock *clock, uint64_t duration_ns);

static inline uint64_t jzx__clock_now(const struct jzx__clock *clock) {
    return clock->now(clock);
}

/* How long the calling thread has computed. A system call, where time is the system's. */
static inline uint64_t jzx__clock_cpu(const struct jzx__clock *clock) {
    return clock->cpu != NULL ? clock->cpu(clock) : jzx__clock_now(clock);
}

#endif
