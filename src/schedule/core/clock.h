/* SPDX-License-Identifier: MIT */
/* The clock as the scheduler core sees it: a table of functions that the adapter supplies. Times
 * are monotonic nanoseconds; tick n begins at n * resolution. */
#ifndef JZX_SCHEDULE_CORE_CLOCK_H
#define JZX_SCHEDULE_CORE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

enum jzx__tick_clock_kind {
    JZX__CLOCK_DETERMINISTIC,    /* moves only when it is told to: no drift is allowed */
    JZX__CLOCK_REALTIME_HOST,    /* the monotonic clock of an operating system */
    JZX__CLOCK_REALTIME_HARDWARE /* a counter that an interrupt drives */
};

/* Who runs the ticks, which follows from the kind of clock. */
enum jzx__runner_mode { JZX__RUNNER_MANUAL, JZX__RUNNER_ASYNC_HOST, JZX__RUNNER_HARDWARE };

struct jzx__tick_clock {
    enum jzx__tick_clock_kind kind;
    void *ctx;
    /* Any thread that schedules. Never goes backwards. */
    uint64_t (*now_ns)(void *ctx);
    /* Owner only. Moves a deterministic clock forward before the tick that begins then is run;
     * NULL if somebody else moves it. */
    void (*advance_to)(void *ctx, uint64_t now_ns);
};

/* A moment in whole ticks. */
struct jzx__tick_instant {
    uint64_t ticks;
    uint32_t resolution_ns;
};

static inline enum jzx__runner_mode jzx__runner_mode_for(enum jzx__tick_clock_kind kind) {
    switch (kind) {
    case JZX__CLOCK_DETERMINISTIC: return JZX__RUNNER_MANUAL;
    case JZX__CLOCK_REALTIME_HOST: return JZX__RUNNER_ASYNC_HOST;
    case JZX__CLOCK_REALTIME_HARDWARE: return JZX__RUNNER_HARDWARE;
    }
    return JZX__RUNNER_MANUAL;
}

static inline uint64_t jzx__tick_clock_now(const struct jzx__tick_clock *clock) {
    return clock->now_ns(clock->ctx);
}

/* ---- the manual clock: one number ---- */

struct jzx__manual_clock {
    uint64_t now_ns;
};

static inline uint64_t jzx__manual_clock_now(void *ctx) {
    return ((const struct jzx__manual_clock *)ctx)->now_ns;
}

static inline void jzx__manual_clock_advance_to(void *ctx, uint64_t now_ns) {
    struct jzx__manual_clock *clock = ctx;
    clock->now_ns = now_ns > clock->now_ns ? now_ns : clock->now_ns;
}

static inline struct jzx__tick_clock jzx__manual_clock_table(struct jzx__manual_clock *clock) {
    return (struct jzx__tick_clock){JZX__CLOCK_DETERMINISTIC, clock, jzx__manual_clock_now,
                                    jzx__manual_clock_advance_to};
}

#endif
