/* SPDX-License-Identifier: MIT */
/* The edges of the overload machine. */
#include "schedule/core/backpressure.h"

void jzx__backpressure_init(struct jzx__backpressure *bp, uint32_t cooldown_ticks) {
    *bp = (struct jzx__backpressure){.state = JZX__BP_NORMAL, .cooldown_ticks = cooldown_ticks};
}

static bool go(struct jzx__backpressure *bp, enum jzx__backpressure_state state) {
    bool changed = bp->state != state;
    bp->state = state;
    return changed;
}

static bool go_normal(struct jzx__backpressure *bp) {
    bp->reasons = 0;
    bp->rejected_for = 0;
    return go(bp, JZX__BP_NORMAL);
}

bool jzx__backpressure_notice(struct jzx__backpressure *bp, enum jzx__backpressure_reason reason) {
    if (bp->state != JZX__BP_NORMAL)
        return false;
    return go(bp, reason == JZX__BP_BY_DRIVER ? JZX__BP_DRIVER : JZX__BP_GAUGE);
}

bool jzx__backpressure_raise(struct jzx__backpressure *bp, enum jzx__backpressure_reason reason) {
    if (bp->state == JZX__BP_REJECTING)
        return false; /* the cooldown decides */
    bp->reasons |= (uint32_t)reason;
    return go(bp, JZX__BP_ENGAGED);
}

bool jzx__backpressure_clear(struct jzx__backpressure *bp, enum jzx__backpressure_reason reason) {
    bp->reasons &= ~(uint32_t)reason;
    switch (bp->state) {
    case JZX__BP_DRIVER: return reason == JZX__BP_BY_DRIVER && go_normal(bp);
    case JZX__BP_GAUGE: return reason == JZX__BP_BY_GAUGE && go_normal(bp);
    case JZX__BP_ENGAGED: return bp->reasons == 0 && go_normal(bp);
    case JZX__BP_NORMAL:
    case JZX__BP_REJECTING: break;
    }
    return false;
}

bool jzx__backpressure_reject(struct jzx__backpressure *bp, enum jzx__backpressure_reason reason,
                              uint64_t now) {
    if (bp->state == JZX__BP_REJECTING)
        return false;
    bp->rejected_for = (uint32_t)reason;
    bp->reject_until = now + bp->cooldown_ticks;
    return go(bp, JZX__BP_REJECTING);
}

bool jzx__backpressure_cool_down(struct jzx__backpressure *bp, uint64_t now) {
    return bp->state == JZX__BP_REJECTING && now >= bp->reject_until && go_normal(bp);
}

bool jzx__backpressure_driver_recovered(struct jzx__backpressure *bp) {
    return bp->state == JZX__BP_REJECTING && bp->rejected_for == JZX__BP_BY_DRIVER && go_normal(bp);
}
