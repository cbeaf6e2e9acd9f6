/* SPDX-License-Identifier: MIT */
/* Folding the runs of a grid into one. */
#include "schedule/core/rate.h"

static uint32_t saturate(uint64_t count, uint32_t most) {
    return count < most ? (uint32_t)count : most;
}

struct jzx__rate_plan jzx__rate_plan_for(uint64_t due, uint64_t now, uint32_t period,
                                         uint64_t paced_until) {
    uint64_t skipped = now > due ? (now - due) / period : 0;
    uint64_t paced = paced_until >= due ? (paced_until - due) / period + 1 : 0;
    paced = paced < skipped ? paced : skipped;
    return (struct jzx__rate_plan){.runs = saturate(skipped, UINT32_MAX - 1) + 1,
                                   .missed_runs = saturate(skipped - paced, UINT32_MAX - 1),
                                   .next = due + (skipped + 1) * period};
}

uint64_t jzx__delay_next(uint64_t finished_ns, uint64_t delay_ns, uint32_t resolution_ns,
                         uint64_t now) {
    uint64_t next = jzx__ticks_up(finished_ns + delay_ns, resolution_ns);
    return next > now ? next : now + 1;
}
