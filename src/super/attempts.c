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
    return oldest != 0 &&
           (opts->period_ms == JZX_UNLIMITED || now - oldest <= JZX_MS(opts->period_ms));
}

uint64_t jzx__attempts_delay_ms(struct jzx__super *super, const struct jzx__child *child) {
    const jzx_backoff *backoff = &child->spec->backoff;
    int64_t delay = jzx__backoff_delay_ms(backoff, child->attempt);
    uint32_t percent = child->spec->jitter_percent == JZX_NONE ? 0 : child->spec->jitter_percent;
    int64_t jitter = backoff->jitter_ms + delay * percent / 100;
    if (jitter > INT32_MAX)
        jitter = INT32_MAX;
    if (jitter != 0) {
        delay += jzx__rng_below(&super->rng, 2 * (uint32_t)jitter + 1);
        delay -= jitter;
    }
    return delay < 0                                ? 0
           : delay > (int64_t)backoff->max_delay_ms ? backoff->max_delay_ms
                                                    : (uint64_t)delay;
}

bool jzx__attempts_was_stable(const struct jzx__child *child) {
    uint32_t stable_ms =
        child->spec->stable_ms != 0 ? child->spec->stable_ms : child->super->spec->opts.stable_ms;
    return stable_ms != JZX_UNLIMITED && child->ran_from_ns != 0 &&
           jzx_loop_now(child->super->loop) + 1 - child->ran_from_ns >= JZX_MS(stable_ms);
}

bool jzx__attempts_are_over(const struct jzx__child *child) {
    uint32_t max = child->spec->max_attempts;
    return max != 0 && max != JZX_UNLIMITED && child->attempt > max;
}
