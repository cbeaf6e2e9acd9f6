/* SPDX-License-Identifier: MIT */
/* Sampling and combining loads. */
#include "schedule/core/gauge.h"

void jzx__gauge_init(struct jzx__gauge *gauge, uint32_t engaged_ticks) {
    *gauge = (struct jzx__gauge){.engaged_ticks = engaged_ticks};
}

bool jzx__gauge_register(struct jzx__gauge *gauge, struct jzx__probe probe) {
    if (gauge->count == JZX__PROBES_MAX)
        return false;
    gauge->probes[gauge->count++] = probe;
    return true;
}

void jzx__gauge_push(struct jzx__gauge *gauge, uint32_t load) {
    /* relaxed: only a first guess for the exchange */
    uint32_t seen = jzx__atomic_load_relaxed(&gauge->pushed_load);
    while (seen < load) {
        /* pairs with the exchange in jzx__gauge_poll */
        if (jzx__atomic_cas_acq_rel(&gauge->pushed_load, &seen, load))
            break;
    }
}

enum jzx__gauge_level jzx__gauge_poll(struct jzx__gauge *gauge) {
    /* pairs with jzx__gauge_push */
    uint32_t load = jzx__atomic_exchange_acq_rel(&gauge->pushed_load, 0);
    for (uint32_t i = 0; i < gauge->count; i++) {
        uint32_t sample = gauge->probes[i].sample(gauge->probes[i].ctx);
        load = sample > load ? sample : load;
    }
    gauge->load = load;
    if (load < JZX__LOAD_CRITICAL) {
        gauge->critical_ticks = 0;
        return JZX__GAUGE_CLEAR;
    }
    if (gauge->critical_ticks < gauge->engaged_ticks)
        gauge->critical_ticks++;
    return gauge->critical_ticks >= gauge->engaged_ticks ? JZX__GAUGE_ENGAGED : JZX__GAUGE_CRITICAL;
}

bool jzx__gauge_is_active(const struct jzx__gauge *gauge) {
    /* relaxed: a report that is missed now is seen at the next tick */
    return gauge->count > 0 || gauge->critical_ticks > 0 ||
           jzx__atomic_load_relaxed(&gauge->pushed_load) > 0;
}
