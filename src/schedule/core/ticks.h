/* SPDX-License-Identifier: MIT */
/* The tick source: where a driver announces that ticks have passed, and where the runner takes
 * them. Announcing is one atomic add, so that an interrupt or a foreign thread may do it at any
 * time; no lock, no allocation. The backlog is counted, never clamped: 2^32 ticks may wait.
 *
 *   T1  every tick that was announced while the source was open is taken exactly once, by a pull or
 *       by the flush that closes the source.
 *   T2  after the flush nothing is taken any more. A driver is stopped before the flush; a tick
 *       that it announces all the same is ignored. */
#ifndef JZX_SCHEDULE_CORE_TICKS_H
#define JZX_SCHEDULE_CORE_TICKS_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

enum jzx__tick_mode { JZX__TICKS_NORMAL, JZX__TICKS_CATCH_UP };

struct jzx__tick_event {
    uint32_t ticks; /* 0: none */
    enum jzx__tick_mode mode;
};

struct jzx__tick_source {
    _Atomic uint32_t pending_total; /* added to by drivers, taken whole by the owner */
    _Atomic uint32_t is_open;       /* written by the owner, read by drivers */
};

static inline void jzx__tick_source_open(struct jzx__tick_source *source) {
    /* relaxed: no driver has been given the source yet */
    jzx__atomic_store_relaxed(&source->pending_total, 0);
    /* release: pairs with the load in jzx__tick_source_notify */
    jzx__atomic_store_release(&source->is_open, 1);
}

/* Any context, also an interrupt. False: the source is closed and the ticks do not count. */
static inline bool jzx__tick_source_notify(struct jzx__tick_source *source, uint32_t ticks) {
    /* acquire: pairs with open and flush */
    if (jzx__atomic_load_acquire(&source->is_open) == 0)
        return false;
    /* pairs with the exchange in pull and flush */
    (void)jzx__atomic_add_acq_rel(&source->pending_total, ticks);
    return true;
}

/* Owner. Ticks that wait now, without taking them: a gauge. */
static inline uint32_t jzx__tick_source_pending(const struct jzx__tick_source *source) {
    /* relaxed: a gauge that decides nothing */
    return jzx__atomic_load_relaxed(&source->pending_total);
}

/* Owner. Takes the backlog; 0 if there is none or the source is closed. */
static inline uint32_t jzx__tick_source_pull(struct jzx__tick_source *source) {
    /* relaxed: only the owner closes the source */
    if (jzx__atomic_load_relaxed(&source->is_open) == 0)
        return 0;
    /* pairs with the add in jzx__tick_source_notify */
    return jzx__atomic_exchange_acq_rel(&source->pending_total, 0);
}

/* Owner. Closes the source and takes the backlog (T2). */
static inline uint32_t jzx__tick_source_flush(struct jzx__tick_source *source) {
    /* release: pairs with the load in jzx__tick_source_notify */
    jzx__atomic_store_release(&source->is_open, 0);
    /* pairs with the add in jzx__tick_source_notify */
    return jzx__atomic_exchange_acq_rel(&source->pending_total, 0);
}

#endif
