/* SPDX-License-Identifier: MIT */
/* The gate word, the quotas, and new records. */
#include "schedule/core/admit.h"

#include "base/assert.h"
#include "schedule/core/life.h"
#include "schedule/core/pressure.h"
#include "schedule/core/rate.h"

/* The gate: {stalled, reasons, state, phase}. */
#define GATE_PHASE 3u
#define GATE_STATE_SHIFT 2
#define GATE_REASONS_SHIFT 5
#define GATE_STALLED (1u << 8)

static uint32_t gate_reasons(const struct jzx__backpressure *bp) {
    return bp->state == JZX__BP_REJECTING ? bp->rejected_for : bp->reasons;
}

void jzx__schedule_publish(struct jzx__schedule *s) {
    uint32_t gate = (uint32_t)s->phase | (uint32_t)s->pressure.state << GATE_STATE_SHIFT |
                    gate_reasons(&s->pressure) << GATE_REASONS_SHIFT;
    if (s->runner.status == JZX__DRIVER_STATUS_STALLED)
        gate |= GATE_STALLED;
    /* release: pairs with the loads in let_in and is_closed */
    jzx__atomic_store_release(&s->gate, gate);
}

bool jzx__schedule_is_closed(const struct jzx__schedule *s) {
    /* acquire: pairs with jzx__schedule_publish */
    return (jzx__atomic_load_acquire(&s->gate) & GATE_PHASE) == JZX__PHASE_CLOSED;
}

uint32_t jzx__schedule_quota(const struct jzx__schedule *s) {
    return jzx__backpressure_is_engaged(&s->pressure) ? s->config.adaptive_quota
                                                      : s->config.capacity.system_quota;
}

/* ---- any thread: one request ---- */

static struct jzx__schedule_result refuse(enum jzx__schedule_status status, uint32_t reason) {
    return (struct jzx__schedule_result){status, reason, JZX__NO_JOB};
}

static void note(struct jzx__schedule *s, uint32_t bits) {
    /* pairs with the exchange in jzx__schedule_heed */
    (void)jzx__atomic_or_acq_rel(&s->notes, bits);
}

/* Counts one more, unless there are `limit` already. */
static bool count_in(struct jzx__schedule *s, uint32_t limit) {
    /* relaxed: only a first guess for the exchange */
    uint32_t active = jzx__atomic_load_relaxed(&s->active);
    while (active < limit) {
        /* pairs with the decrement of the owner, which comes after the record was freed (S4) */
        if (jzx__atomic_cas_acq_rel(&s->active, &active, active + 1))
            return true;
    }
    return false;
}

static struct jzx__schedule_result let_in(struct jzx__schedule *s,
                                          enum jzx__job_priority priority) {
    /* acquire: pairs with jzx__schedule_publish */
    uint32_t gate = jzx__atomic_load_acquire(&s->gate);
    uint32_t state = gate >> GATE_STATE_SHIFT & 7u;
    uint32_t reasons = gate >> GATE_REASONS_SHIFT & 7u;
    if ((gate & GATE_PHASE) != JZX__PHASE_ACTIVE)
        return refuse(JZX__SCHEDULE_SHUTDOWN, 0);
    if (state == JZX__BP_REJECTING)
        return refuse(JZX__SCHEDULE_BACKPRESSURED, reasons);
    if ((gate & GATE_STALLED) != 0)
        return refuse(JZX__SCHEDULE_BACKPRESSURED, JZX__BP_BY_DRIVER);
    bool is_engaged = state == JZX__BP_ENGAGED;
    if (is_engaged && priority != JZX__PRIORITY_HIGH)
        return refuse(JZX__SCHEDULE_BACKPRESSURED, reasons);
    if (count_in(s, is_engaged ? s->config.adaptive_quota : s->config.capacity.system_quota))
        return refuse(JZX__SCHEDULE_OK, 0); /* there is no job yet */
    note(s, is_engaged ? JZX__NOTE_ADAPTIVE : JZX__NOTE_QUOTA);
    return is_engaged ? refuse(JZX__SCHEDULE_BACKPRESSURED, JZX__BP_BY_QUOTA)
                      : refuse(JZX__SCHEDULE_QUOTA_EXCEEDED, 0);
}

static enum jzx__schedule_status check(const struct jzx__schedule *s,
                                       const struct jzx__schedule_request *request) {
    uint32_t resolution_ns = s->config.resolution_ns;
    bool is_periodic = request->mode != JZX__JOB_ONE_SHOT;
    if (request->mode > JZX__JOB_FIXED_DELAY ||
        !jzx__policy_allows(request->affinity, request->policy.priority))
        return JZX__SCHEDULE_INVALID_ARG;
    if (!jzx__schedule_offers(&s->config, request->mode))
        return JZX__SCHEDULE_UNSUPPORTED_MODE;
    if (jzx__delay_ticks(request->delay_ns, resolution_ns) == 0 ||
        (is_periodic && jzx__delay_ticks(request->period_ns, resolution_ns) == 0))
        return JZX__SCHEDULE_INVALID_DELAY;
    return JZX__SCHEDULE_OK;
}

static void fill(const struct jzx__schedule *s, struct jzx__job *job,
                 const struct jzx__schedule_request *request, struct jzx__policy policy) {
    uint32_t resolution_ns = s->config.resolution_ns;
    uint64_t now_ns = request->now_ns != 0 ? request->now_ns : jzx__tick_clock_now(&s->clock);
    bool is_periodic = request->mode != JZX__JOB_ONE_SHOT;
    job->mode = request->mode;
    job->deadline = jzx__ticks_up(now_ns + (uint64_t)request->delay_ns, resolution_ns);
    job->scheduled_at = jzx__ticks_down(now_ns, resolution_ns);
    job->period = is_periodic ? jzx__delay_ticks(request->period_ns, resolution_ns) : 0;
    job->delay_ns = is_periodic ? (uint64_t)request->period_ns : 0;
    job->executor = request->executor;
    job->payload = request->payload;
    job->policy = policy;
    job->skips_missed = request->skips_missed && request->mode == JZX__JOB_FIXED_DELAY;
    job->is_function = request->is_function;
    job->error = 0;
}

/* Admits a request: *job is its record, Scheduled, and known to nobody else. */
static struct jzx__schedule_result prepare(struct jzx__schedule *s,
                                           const struct jzx__schedule_request *request,
                                           struct jzx__job **job) {
    enum jzx__schedule_status status = check(s, request);
    if (status != JZX__SCHEDULE_OK)
        return refuse(status, 0);
    struct jzx__policy policy = jzx__policy_resolve(s->config.policies, s->config.policies_count,
                                                    request->affinity, request->policy);
    struct jzx__schedule_result result = let_in(s, policy.priority);
    if (result.status != JZX__SCHEDULE_OK)
        return result;
    *job = jzx__job_table_take(&s->table, request->mode != JZX__JOB_ONE_SHOT);
    JZX_ASSERT(*job != NULL); /* S4 */
    fill(s, *job, request, policy);
    jzx__job_submit(&(*job)->word);
    result.job = (*job)->id;
    return result;
}

struct jzx__schedule_result jzx__schedule_submit(struct jzx__schedule *s,
                                                 const struct jzx__schedule_request *request) {
    struct jzx__job *job = NULL;
    struct jzx__schedule_result result = prepare(s, request, &job);
    if (job != NULL)
        jzx__mpsc_push(&s->commands, &job->command);
    return result;
}

/* ---- owner ---- */

struct jzx__schedule_result jzx__schedule_add(struct jzx__schedule *s,
                                              const struct jzx__schedule_request *request) {
    struct jzx__job *job = NULL;
    jzx__schedule_take_in(s); /* those that were submitted before come first */
    jzx__pressure_look(s);
    struct jzx__schedule_result result = prepare(s, request, &job);
    jzx__schedule_heed(s);
    if (job == NULL || jzx__schedule_register(s, job))
        return result;
    job->payload = NULL; /* it stays the caller's */
    (void)jzx__schedule_discard(s, job);
    return refuse(JZX__SCHEDULE_CAPACITY_EXCEEDED, 0);
}

void jzx__schedule_heed(struct jzx__schedule *s) {
    /* relaxed: a note that is missed now is seen at the next pass */
    if (jzx__atomic_load_relaxed(&s->notes) == 0)
        return;
    /* pairs with note */
    uint32_t notes = jzx__atomic_exchange_acq_rel(&s->notes, 0);
    if (!s->quota_told) {
        bool adaptive = (notes & JZX__NOTE_ADAPTIVE) != 0;
        s->quota_told = true;
        jzx__schedule_tell(
            s, (struct jzx__schedule_event){.kind = JZX__EVENT_QUOTA_REACHED,
                                            .is_engaged = adaptive,
                                            .value = adaptive ? s->config.adaptive_quota
                                                              : s->config.capacity.system_quota});
    }
    if ((notes & JZX__NOTE_ADAPTIVE) != 0)
        jzx__pressure_exhausted(s);
}
