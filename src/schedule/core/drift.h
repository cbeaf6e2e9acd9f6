/* SPDX-License-Identifier: MIT */
/* The drift monitor: how far a tick is run from the time at which it begins. A deterministic clock
 * may not be off at all; a real one may be late by the budget, beside the driver's own jitter. */
#ifndef JZX_SCHEDULE_CORE_DRIFT_H
#define JZX_SCHEDULE_CORE_DRIFT_H

#include "schedule/core/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct jzx__drift {
    enum jzx__tick_clock_kind kind;
    uint64_t budget_ns;
    uint64_t observed_ns; /* of the last tick that was looked at, without the jitter */
    uint64_t worst_ns;
    uint64_t exceeded;      /* ticks above the budget */
    uint64_t compensations; /* ticks that were made up for after a pause */
};

static inline void jzx__drift_init(struct jzx__drift *drift, enum jzx__tick_clock_kind kind,
                                   uint32_t resolution_ns, uint32_t budget_pct) {
    uint64_t budget = (uint64_t)resolution_ns * budget_pct / 100;
    *drift = (struct jzx__drift){.kind = kind,
                                 .budget_ns = kind == JZX__CLOCK_DETERMINISTIC ? 0 : budget};
}

/* A tick that begins at deadline_ns is run at now_ns. True: that is above the budget. */
static inline bool jzx__drift_exceeds(struct jzx__drift *drift, uint64_t deadline_ns,
                                      uint64_t now_ns, uint64_t jitter_ns) {
    bool exact = drift->kind == JZX__CLOCK_DETERMINISTIC;
    uint64_t off = now_ns > deadline_ns ? now_ns - deadline_ns : deadline_ns - now_ns;
    uint64_t allowed = exact ? 0 : jitter_ns;
    drift->observed_ns = off > allowed ? off - allowed : 0;
    if (drift->observed_ns > drift->worst_ns)
        drift->worst_ns = drift->observed_ns;
    bool exceeds = drift->observed_ns > drift->budget_ns;
    drift->exceeded += exceeds;
    return exceeds;
}

#endif
