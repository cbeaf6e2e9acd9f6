/* SPDX-License-Identifier: MIT */
/* Sampling and combining loads. */
#include "schedule/core/gauge.h"

#include "base/assert.h"

void jzx__gauge_init(struct jzx__gauge *gauge, uint32_t engaged_ticks) {
    *gauge = (struct jzx__gauge){.engaged_ticks = engaged_ticks};
}

void jzx__gauge_register_own(struct jzx__gauge *gauge, struct jzx__probe probe) {
    JZX_ASSERT(gauge->own_count < JZX__PROBES_OWN && gauge->own_count == gauge->count);
    gauge->probes[gauge->count++] = probe;
    gauge->own_count++;
}

bool jzx__gauge_register(struct jzx__gauge *gauge, struct jzx__probe probe) {
    if (gauge->count - gauge->own_count == JZX__PROBES_MAX)
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
    /* relaxed: a report that is missed now is seen at the next poll */
    uint32_t load = jzx__atomic_load_relaxed(&gauge->pushed_load);
    if (load != 0)
        load = jzx__atomic_exchange_acq_rel(&gauge->pushed_load, 0); /* pairs with push */
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < gauge->count; i++) {
        uint32_t sample = gauge->probes[i].sample(gauge->probes[i].ctx);
        gauge->samples[i] = sample;
        load = sample > load ? sample : load;
        if (sample >= JZX__LOAD_CRITICAL)
            kinds |= JZX__PROBE_BIT(gauge->probes[i].kind);
    }
    gauge->load = load;
    if (load < JZX__LOAD_CRITICAL) {
        gauge->critical_ticks = 0;
        return JZX__GAUGE_CLEAR;
    }
    gauge->kinds = kinds;
    if (gauge->critical_ticks < gauge->engaged_ticks)
        gauge->critical_ticks++;
    return gauge->critical_ticks >= gauge->engaged_ticks ? JZX__GAUGE_ENGAGED : JZX__GAUGE_CRITICAL;
}

bool jzx__gauge_is_active(const struct jzx__gauge *gauge) {
    /* relaxed: a report that is missed now is seen at the next tick */
    return gauge->count > gauge->own_count || gauge->critical_ticks > 0 ||
           jzx__atomic_load_relaxed(&gauge->pushed_load) > 0;
}
