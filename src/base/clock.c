/* SPDX-License-Identifier: MIT */
/* The two clocks. */
#include "base/clock.h"

#include "base/assert.h"

#include <time.h>

static uint64_t monotonic_now(const struct jzx__clock *clock) {
    (void)clock;
    struct timespec t;
    int failed = clock_gettime(CLOCK_MONOTONIC, &t);
    JZX_ASSERT(failed == 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t manual_now(const struct jzx__clock *clock) {
    return clock->manual_ns;
}

void jzx__clock_init_monotonic(struct jzx__clock *clock) {
    clock->now = monotonic_now;
    clock->manual_ns = 0;
}

void jzx__clock_init_manual(struct jzx__clock *clock, uint64_t start_ns) {
    clock->now = manual_now;
    clock->manual_ns = start_ns;
}

void jzx__clock_advance(struct jzx__clock *clock, uint64_t duration_ns) {
    JZX_ASSERT(clock->now == manual_now);
    clock->manual_ns += duration_ns;
}
