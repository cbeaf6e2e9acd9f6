/* SPDX-License-Identifier: MIT */
/* Overload as one state machine with two inputs, the tick driver and the gauge:
 *
 *   Normal              --driver late-->        DriverBackpressured
 *   Normal              --load critical-->      GaugeBackpressured
 *   either              --raise-->              Backpressure
 *   GaugeBackpressured  --load falls-->         Normal
 *   Backpressure        --no reason is left-->  Normal
 *   Backpressure        --quota exhausted-->    Rejecting
 *   any                 --driver far behind-->  Rejecting
 *   Rejecting           --cooldown over-->      Normal
 *   Rejecting           --driver recovered-->   Normal, if the driver was the cause
 *
 * One function per edge; each returns whether the state has changed. */
#ifndef JZX_SCHEDULE_CORE_BACKPRESSURE_H
#define JZX_SCHEDULE_CORE_BACKPRESSURE_H

#include <stdbool.h>
#include <stdint.h>

enum jzx__backpressure_state {
    JZX__BP_NORMAL,
    JZX__BP_DRIVER,  /* DriverBackpressured */
    JZX__BP_GAUGE,   /* GaugeBackpressured */
    JZX__BP_ENGAGED, /* Backpressure */
    JZX__BP_REJECTING
};

/* Why; bits. */
enum jzx__backpressure_reason {
    JZX__BP_NO_REASON = 0,
    JZX__BP_BY_DRIVER = 1,
    JZX__BP_BY_GAUGE = 2,
    JZX__BP_BY_QUOTA = 4
};

/* Told beside JZX__BP_BY_GAUGE: which kinds of probes were critical. The machine does not know
 * them. */
#define JZX__BP_KINDS_SHIFT 3

struct jzx__backpressure {
    enum jzx__backpressure_state state;
    uint32_t reasons;      /* raised and not cleared */
    uint32_t rejected_for; /* why the state is Rejecting */
    uint64_t reject_until; /* tick */
    uint32_t cooldown_ticks;
};

void jzx__backpressure_init(struct jzx__backpressure *bp, uint32_t cooldown_ticks);

/* The driver is late, the load is critical: Normal alone changes. */
bool jzx__backpressure_notice(struct jzx__backpressure *bp, enum jzx__backpressure_reason reason);

bool jzx__backpressure_raise(struct jzx__backpressure *bp, enum jzx__backpressure_reason reason);
bool jzx__backpressure_clear(struct jzx__backpressure *bp, enum jzx__backpressure_reason reason);

/* Rejects until the cooldown is over, counted from now. */
bool jzx__backpressure_reject(struct jzx__backpressure *bp, enum jzx__backpressure_reason reason,
                              uint64_t now);
bool jzx__backpressure_cool_down(struct jzx__backpressure *bp, uint64_t now);
bool jzx__backpressure_driver_recovered(struct jzx__backpressure *bp);

/* True while the adaptive quota holds. */
static inline bool jzx__backpressure_is_engaged(const struct jzx__backpressure *bp) {
    return bp->state == JZX__BP_ENGAGED || bp->state == JZX__BP_REJECTING;
}

#endif
