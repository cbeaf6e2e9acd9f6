/* SPDX-License-Identifier: MIT */
/* The time at half the price of a look at the clock, for who asks often: counted in cycles since
 * the last real look, at most about a millisecond long. It is never behind the clock, and a few
 * microseconds ahead at most: so what is due by it is never early. One thread's own. */
#ifndef JZX_BASE_PACE_H
#define JZX_BASE_PACE_H

#include "base/clock.h"
#include "base/compiler.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#define JZX__HAS_CYCLES 1
#else
#define JZX__HAS_CYCLES 0
#endif

struct jzx__pace {
    uint64_t cycles;       /* at the last look that counts, just before it */
    uint64_t ns;           /* what it said */
    uint64_t window;       /* cycles after it that can be counted; 0 until the rate is known */
    uint64_t rate;         /* nanoseconds of 2^32 cycles, and a thousandth more than that */
    uint64_t measured;     /* the same without that thousandth */
    uint64_t first_cycles; /* at the look by which the rate is measured */
    uint64_t first_ns;
};

/* A processor may count the cycles before it has done what stands before in the program: by so much
 * counted time is ahead. */
#define JZX__PACE_AHEAD_NS 100u

/* A real look. */
uint64_t jzx__pace_look(struct jzx__pace *pace, const struct jzx__clock *clock);

/* The time if it can be counted, else 0. */
static inline uint64_t jzx__pace_count(const struct jzx__pace *pace) {
#if JZX__HAS_CYCLES
    uint64_t passed = __rdtsc() - pace->cycles;
    if (JZX_LIKELY(passed < pace->window))
        return pace->ns + (passed * pace->rate >> 32) + JZX__PACE_AHEAD_NS;
#else
    (void)pace;
#endif
    return 0;
}

static inline uint64_t jzx__pace_now(struct jzx__pace *pace, const struct jzx__clock *clock) {
    uint64_t counted = jzx__pace_count(pace);
    return JZX_LIKELY(counted != 0) ? counted : jzx__pace_look(pace, clock);
}

#endif
