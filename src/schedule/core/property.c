/* SPDX-License-Identifier: MIT */
/* Looking at everything at once. */
#include "schedule/core/property.h"

#include "base/rng.h"
#include "schedule/core/life.h"

/* What the records say. */
struct census {
    uint32_t registered;
    uint32_t periodic;
    uint32_t in_timer;
    uint32_t in_overflow;
    uint32_t in_flight;
    bool is_in_past; /* one that waits was due already */
    bool is_adrift;  /* one is neither placed nor in flight */
};

static struct census count_all(const struct jzx__schedule *s) {
    struct census census = {0};
    for (uint32_t i = 0; i < s->table.count; i++) {
        const struct jzx__job *job = &s->table.records[i];
        if (!job->is_registered)
            continue;
        census.registered++;
        census.periodic += jzx__job_is_periodic(job);
        census.in_timer += job->where == JZX__WHERE_TIMER;
        census.in_overflow += job->where == JZX__WHERE_OVERFLOW;
        census.in_flight += job->is_in_flight;
        census.is_in_past |= job->where == JZX__WHERE_TIMER && job->entry.tick <= s->tick;
        census.is_adrift |= (job->where != JZX__WHERE_NOWHERE) == job->is_in_flight;
    }
    return census;
}

const char *jzx__schedule_check(struct jzx__schedule *s) {
    jzx__schedule_take_in(s);
    struct census census = count_all(s);
    /* relaxed: no other thread schedules during a check */
    uint32_t active = jzx__atomic_load_relaxed(&s->active);
    if (active != census.registered)
        return "active counts the records that are not free (S4)";
    if (active > s->config.capacity.system_quota)
        return "active is within the quota (S4)";
    if (census.is_adrift)
        return "a record is in exactly one place (S1)";
    if (census.periodic != s->metrics.periodic_total)
        return "periodic_total counts the periodic jobs";
    if (census.in_timer != s->places.in_timer || census.in_overflow != s->places.overflow.count)
        return "timer and overflow hold the jobs that say so";
    if (census.is_in_past)
        return "no job that waits was due before (P1)";
    if (s->places.now != s->tick)
        return "the timer is at the tick that was run last";
    return NULL;
}

bool jzx__schedule_is_monotonic(const struct jzx__schedule *s) {
    uint32_t count = jzx__log_count(&s->log);
    return jzx__log_is_monotonic(&s->log) &&
           (count == 0 || jzx__log_at(&s->log, count - 1)->fired_at <= s->tick);
}

uint32_t jzx__schedule_inject_random_cancel(struct jzx__schedule *s, uint64_t seed,
                                            uint32_t per_mille) {
    struct jzx__rng rng;
    uint32_t cancelled = 0;
    jzx__rng_init(&rng, seed);
    jzx__schedule_take_in(s);
    for (uint32_t i = 0; i < s->table.count; i++) {
        const struct jzx__job *job = &s->table.records[i];
        if (job->is_registered && jzx__rng_below(&rng, 1000) < per_mille)
            cancelled += jzx__schedule_cancel(s, job->id);
    }
    return cancelled;
}
