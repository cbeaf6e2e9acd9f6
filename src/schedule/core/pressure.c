/* SPDX-License-Identifier: MIT */
/* Driver, gauge and quota as inputs of the overload machine. */
#include "schedule/core/pressure.h"

#include "schedule/core/admit.h"
#include "schedule/core/life.h"

/* ---- effects ---- */

/* Only jobs that the load can do without: never because of the driver. */
static bool can_be_spared(const struct jzx__job *job) {
    return job->policy.priority == JZX__PRIORITY_LOW ||
           (job->mode == JZX__JOB_FIXED_DELAY && job->policy.priority != JZX__PRIORITY_HIGH);
}

static void cancel_spare_jobs(struct jzx__schedule *s) {
    for (uint32_t i = 0; i < s->table.count; i++) {
        struct jzx__job *job = &s->table.records[i];
        if (!job->is_registered || !can_be_spared(job))
            continue;
        struct jzx__schedule_event event = {.kind = JZX__EVENT_CANCELLED_BY_BACKPRESSURE,
                                            .job = job->id,
                                            .priority = job->policy.priority};
        if (jzx__schedule_drop(s, job))
            jzx__schedule_tell(s, event);
    }
}

/* What is told of the gauge names the kinds of probes. */
static uint32_t with_kinds(const struct jzx__schedule *s, uint32_t reasons) {
    bool by_gauge = (reasons & JZX__BP_BY_GAUGE) != 0;
    return by_gauge ? reasons | s->gauge.kinds << JZX__BP_KINDS_SHIFT : reasons;
}

/* `changed` is what an edge of the machine has returned. */
static bool follow(struct jzx__schedule *s, bool changed, enum jzx__backpressure_reason reason) {
    if (!changed)
        return false;
    jzx__schedule_publish(s);
    jzx__schedule_tell(
        s, (struct jzx__schedule_event){.kind = JZX__EVENT_BACKPRESSURE_STATE,
                                        .state = (uint32_t)s->pressure.state,
                                        .reason = with_kinds(s, (uint32_t)reason),
                                        .is_engaged = jzx__backpressure_is_engaged(&s->pressure)});
    return true;
}

/* ---- inputs ---- */

void jzx__pressure_set_driver_status(struct jzx__schedule *s, enum jzx__driver_status status) {
    if (!jzx__tick_runner_set_status(&s->runner, status))
        return;
    jzx__schedule_publish(s);
    jzx__schedule_tell(s, (struct jzx__schedule_event){.kind = JZX__EVENT_DRIVER_STATUS,
                                                       .state = (uint32_t)status,
                                                       .value = s->runner.owed});
}

enum jzx__tick_mode jzx__pressure_observe_driver(struct jzx__schedule *s) {
    struct jzx__backpressure *bp = &s->pressure;
    struct jzx__tick_verdict verdict = jzx__tick_runner_observe(&s->runner);
    if (verdict.status_changed)
        jzx__schedule_tell(s, (struct jzx__schedule_event){.kind = JZX__EVENT_DRIVER_STATUS,
                                                           .state = (uint32_t)s->runner.status,
                                                           .value = s->runner.owed});
    if (verdict.raises) {
        (void)follow(s, jzx__backpressure_notice(bp, JZX__BP_BY_DRIVER), JZX__BP_BY_DRIVER);
        (void)follow(s, jzx__backpressure_raise(bp, JZX__BP_BY_DRIVER), JZX__BP_BY_DRIVER);
    }
    if (verdict.is_exceeded) {
        jzx__schedule_tell(s,
                           (struct jzx__schedule_event){.kind = JZX__EVENT_DRIVER_CATCH_UP_EXCEEDED,
                                                        .value = s->runner.owed});
        (void)follow(s, jzx__backpressure_reject(bp, JZX__BP_BY_DRIVER, s->tick),
                     JZX__BP_BY_DRIVER);
    }
    if (verdict.clears)
        (void)follow(s, jzx__backpressure_clear(bp, JZX__BP_BY_DRIVER), JZX__BP_BY_DRIVER);
    if (verdict.recovered)
        (void)follow(s, jzx__backpressure_driver_recovered(bp), JZX__BP_BY_DRIVER);
    return verdict.mode;
}

static void poll_gauge(struct jzx__schedule *s) {
    struct jzx__backpressure *bp = &s->pressure;
    if (s->gauge.count == 0 && !jzx__gauge_is_active(&s->gauge))
        return;
    s->polled_tick = s->tick;
    switch (jzx__gauge_poll(&s->gauge)) {
    case JZX__GAUGE_CLEAR:
        (void)follow(s, jzx__backpressure_clear(bp, JZX__BP_BY_GAUGE), JZX__BP_BY_GAUGE);
        break;
    case JZX__GAUGE_CRITICAL:
        (void)follow(s, jzx__backpressure_notice(bp, JZX__BP_BY_GAUGE), JZX__BP_BY_GAUGE);
        break;
    case JZX__GAUGE_ENGAGED: {
        bool is_new = (bp->reasons & JZX__BP_BY_GAUGE) == 0 && bp->state != JZX__BP_REJECTING;
        (void)follow(s, jzx__backpressure_notice(bp, JZX__BP_BY_GAUGE), JZX__BP_BY_GAUGE);
        (void)follow(s, jzx__backpressure_raise(bp, JZX__BP_BY_GAUGE), JZX__BP_BY_GAUGE);
        if (is_new)
            cancel_spare_jobs(s);
        break;
    }
    }
}

void jzx__pressure_look(struct jzx__schedule *s) {
    if (s->polled_tick != s->tick && s->gauge.count > 0 && s->phase == JZX__PHASE_ACTIVE &&
        !jzx__pressure_needs_ticks(s))
        poll_gauge(s);
}

void jzx__pressure_tick(struct jzx__schedule *s) {
    enum jzx__backpressure_reason reason = (enum jzx__backpressure_reason)s->pressure.rejected_for;
    (void)follow(s, jzx__backpressure_cool_down(&s->pressure, s->tick), reason);
    poll_gauge(s);
}

void jzx__pressure_end_tick(struct jzx__schedule *s) {
    /* relaxed: a gauge; a refusal is told again once there was room at the end of a tick */
    if (s->quota_told && jzx__atomic_load_relaxed(&s->active) < jzx__schedule_quota(s))
        s->quota_told = false;
}

void jzx__pressure_exhausted(struct jzx__schedule *s) {
    if (s->pressure.state == JZX__BP_ENGAGED)
        (void)follow(s, jzx__backpressure_reject(&s->pressure, JZX__BP_BY_QUOTA, s->tick),
                     JZX__BP_BY_QUOTA);
}

uint32_t jzx__pressure_reasons(const struct jzx__schedule *s) {
    const struct jzx__backpressure *bp = &s->pressure;
    return bp->state == JZX__BP_REJECTING ? bp->rejected_for : with_kinds(s, bp->reasons);
}

bool jzx__pressure_needs_ticks(const struct jzx__schedule *s) {
    return s->pressure.state != JZX__BP_NORMAL || jzx__gauge_is_active(&s->gauge);
}
