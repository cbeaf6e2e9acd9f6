/* SPDX-License-Identifier: MIT */
/* Counting the failures of children. Each call is made in the supervisor's turn. */
#include "super/attempts.h"

bool jzx__attempts_too_many(struct jzx__super *super) {
    const jzx_supervisor_opts *opts = &super->spec->opts;
    if (super->failures == NULL)
        return false;
    /* The ring holds one more than is allowed: what is overwritten next is the oldest of them. */
    uint64_t now = jzx_loop_now(super->loop) + 1; /* 0 means that there was none */
    super->failures[super->failure_next] = now;
    super->failure_next = (super->failure_next + 1) % super->failures_max;
    uint64_t oldest = super->failures[super->failure_next];
    return oldest != 0 && now - oldest <= opts->period_ns;
}

/* How much is added or taken away at most. No sum here overflows: no span is above INT64_MAX. */
static uint64_t jitter_of(const jzx_child_spec *spec, uint64_t delay_ns) {
    uint64_t percent = spec->jitter_percent == JZX_NONE ? 0 : spec->jitter_percent;
    uint64_t part_ns = delay_ns / 100 * percent + delay_ns % 100 * percent / 100;
    uint64_t jitter_ns = spec->backoff.jitter_ns + part_ns;
    return jitter_ns < INT64_MAX ? jitter_ns : INT64_MAX;
}

uint64_t jzx__attempts_delay_ns(struct jzx__super *super, const struct jzx__child *child) {
    const jzx_backoff *backoff = &child->spec->backoff;
    uint64_t delay_ns = jzx__backoff_delay_ns(backoff, child->attempt);
    uint64_t jitter_ns = jitter_of(child->spec, delay_ns);
    if (jitter_ns == 0)
        return delay_ns;
    /* The bias is below 2 * jitter_ns / 2^64: nothing, for a jitter of days. */
    uint64_t throw_ns = jzx__rng_next(&super->rng) % (2 * jitter_ns + 1);
    if (throw_ns < jitter_ns) {
        uint64_t less_ns = jitter_ns - throw_ns;
        return delay_ns > less_ns ? delay_ns - less_ns : 0;
    }
    delay_ns += throw_ns - jitter_ns;
    return delay_ns < backoff->max_delay_ns ? delay_ns : backoff->max_delay_ns;
}

bool jzx__attempts_was_stable(const struct jzx__child *child) {
    uint64_t stable_ns =
        child->spec->stable_ns != 0 ? child->spec->stable_ns : child->super->spec->opts.stable_ns;
    return child->ran_from_ns != 0 &&
           jzx_loop_now(child->super->loop) + 1 - child->ran_from_ns >= stable_ns;
}

bool jzx__attempts_are_over(const struct jzx__child *child) {
    uint32_t max = child->spec->max_attempts;
    return max != 0 && max != JZX_UNLIMITED && child->attempt > max;
}
