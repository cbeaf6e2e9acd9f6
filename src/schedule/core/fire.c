/* SPDX-License-Identifier: MIT */
/* The due list of a tick: collected as a whole before the first delivery, so that a delivery may
 * schedule, cancel and complete at will. */
#include "schedule/core/fire.h"

#include "schedule/core/life.h"
#include "schedule/core/pressure.h"
#include "schedule/core/rate.h"

static struct jzx__job *job_of(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__job, due);
}

/* ---- order ---- */

static bool is_in_order(const struct jzx__list *list) {
    const struct jzx__link *ring = &list->ring;
    for (struct jzx__link *link = ring->next; link != ring && link->next != ring;
         link = link->next) {
        if (job_of(link)->sequence > job_of(link->next)->sequence)
            return false;
    }
    return true;
}

/* Merges b into a; both are in order. */
static void merge(struct jzx__list *a, struct jzx__list *b) {
    struct jzx__link *link = a->ring.next;
    while (link != &a->ring && !jzx__list_is_empty(b)) {
        if (job_of(b->ring.next)->sequence < job_of(link)->sequence) {
            struct jzx__link *first = jzx__list_pop_front(b);
            jzx__list_insert(first, link->prev, link);
        } else {
            link = link->next;
        }
    }
    jzx__list_splice(a, b);
}

/* A merge sort from the bottom up: bin i has 2^i jobs or none. */
#define BINS 16u /* 2^16 is more than the largest quota */

static void sort(struct jzx__list *list) {
    struct jzx__list bins[BINS];
    for (uint32_t i = 0; i < BINS; i++)
        jzx__list_init(&bins[i]);
    struct jzx__link *link;
    while ((link = jzx__list_pop_front(list)) != NULL) {
        struct jzx__list carry;
        jzx__list_init(&carry);
        jzx__list_push_back(&carry, link);
        uint32_t i = 0;
        for (; i < BINS - 1 && !jzx__list_is_empty(&bins[i]); i++)
            merge(&carry, &bins[i]);
        merge(&bins[i], &carry);
    }
    for (uint32_t i = 0; i < BINS; i++)
        merge(list, &bins[i]);
}

/* Mostly there is nothing to do: only what came by the overflow, or was set again, is not in order
 * already. */
void jzx__schedule_order_due(struct jzx__schedule *s) {
    if (!is_in_order(&s->due))
        sort(&s->due);
}

/* ---- due ---- */

static uint32_t collect(struct jzx__schedule *s) {
    struct jzx__job *job;
    uint32_t count = 0;
    while ((job = jzx__places_pop(&s->places, s->tick)) != NULL) {
        jzx__list_push_back(&s->due, &job->due);
        job->where = JZX__WHERE_DUE;
        count++;
    }
    jzx__schedule_order_due(s);
    return count;
}

/* The job of this priority that was registered last, or NULL. */
static struct jzx__job *last_of(const struct jzx__list *list, struct jzx__link *from,
                                enum jzx__job_priority priority) {
    while (from != &list->ring && job_of(from)->policy.priority != priority)
        from = from->prev;
    return from == &list->ring ? NULL : job_of(from);
}

/* More are due than a slot holds: the lowest priority goes first, and of it the newest. */
static void drop_excess(struct jzx__schedule *s, uint32_t count) {
    for (int p = JZX__PRIORITY_LOW; p <= JZX__PRIORITY_HIGH; p++) {
        enum jzx__job_priority priority = (enum jzx__job_priority)p;
        struct jzx__link *from = s->due.ring.prev;
        struct jzx__job *job;
        while (count > s->config.slot_capacity &&
               (job = last_of(&s->due, from, priority)) != NULL) {
            struct jzx__schedule_event event = {
                .kind = JZX__EVENT_DROPPED_LOW_PRIORITY, .job = job->id, .priority = priority};
            from = job->due.prev;
            count--;
            if (jzx__schedule_drop(s, job))
                jzx__schedule_tell(s, event);
        }
    }
}

/* ---- one delivery ---- */

static struct jzx__rate_plan plan_for(const struct jzx__schedule *s, const struct jzx__job *job) {
    if (!jzx__job_is_periodic(job) || job->skips_missed)
        return (struct jzx__rate_plan){1, 0, job->deadline};
    return jzx__rate_plan_for(job->deadline, s->tick, job->period, job->paced_until);
}

static void warn_of_burst(struct jzx__schedule *s, const struct jzx__job *job) {
    if (job->mode == JZX__JOB_FIXED_RATE && job->batch.runs - 1 > job->policy.burst_threshold)
        jzx__schedule_tell(s, (struct jzx__schedule_event){.kind = JZX__EVENT_BURST_FIRE,
                                                           .job = job->id,
                                                           .value = job->batch.runs,
                                                           .batch = job->batch});
}

static void tell_backlog(struct jzx__schedule *s, jzx__job_id id, uint64_t missed) {
    jzx__schedule_tell(s, (struct jzx__schedule_event){
                              .kind = JZX__EVENT_BACKLOG_EXCEEDED, .job = id, .value = missed});
}

static enum jzx__delivery deliver(struct jzx__schedule *s, const struct jzx__job *job) {
    struct jzx__delivery_order order = {.job = job->id,
                                        .payload = job->payload,
                                        .batch = job->batch,
                                        .executor = job->executor,
                                        .is_function = job->is_function};
    if (s->phase == JZX__PHASE_ACTIVE)
        return s->ops.deliver(s->ops.ctx, &order);
    /* A shutdown puts nothing new into mailboxes: functions run here, messages are cancelled. */
    if (!job->is_function || s->ops.run_inline == NULL)
        return JZX__DELIVERY_GONE;
    int32_t error = s->ops.run_inline(s->ops.ctx, &order);
    (void)jzx__schedule_complete(s, order.job, jzx__tick_clock_now(&s->clock), error);
    return JZX__DELIVERED;
}

/* The receiver has no room. A one-shot waits as many ticks as its backlog allows; a periodic job
 * misses runs meanwhile, and those have a limit of their own. */
static void defer(struct jzx__schedule *s, struct jzx__job *job) {
    job->deferrals++;
    if (!jzx__job_is_periodic(job) && job->deferrals > job->policy.backlog_limit) {
        tell_backlog(s, job->id, job->deferrals);
        jzx__schedule_abandon(s, job);
        return;
    }
    jzx__schedule_put_off(s, job);
}

static void delivered(struct jzx__schedule *s, struct jzx__job *job, struct jzx__rate_plan plan) {
    s->metrics.enqueued_total++;
    s->last_batch = job->batch;
    jzx__schedule_record(s, job, JZX__LOG_FIRE);
    warn_of_burst(s, job);
    job->deadline = plan.next;
    job->last_fire = s->tick;
    job->paced_until = s->pass_end;
    job->deferrals = 0;
}

/* Counts as in flight from before the delivery, which may be followed by its end at once. */
static void run(struct jzx__schedule *s, struct jzx__job *job, struct jzx__rate_plan plan) {
    job->batch = (struct jzx__batch){plan.runs, plan.missed_runs, job->mode};
    job->is_in_flight = true;
    s->firing = job;
    s->firing_ended = false;
    enum jzx__delivery delivery = deliver(s, job);
    s->firing = NULL;
    switch (delivery) {
    case JZX__DELIVERED:
        delivered(s, job, plan);
        if (s->firing_ended)
            jzx__schedule_end_run(s, job);
        return;
    case JZX__DELIVERY_GONE: jzx__schedule_abandon(s, job); return;
    case JZX__DELIVERY_FULL: break;
    }
    job->is_in_flight = false;
    defer(s, job);
}

static void fire(struct jzx__schedule *s, struct jzx__job *job) {
    struct jzx__rate_plan plan = plan_for(s, job);
    if (plan.missed_runs > job->policy.backlog_limit) {
        jzx__job_id id = job->id;
        if (jzx__schedule_drop(s, job))
            tell_backlog(s, id, plan.missed_runs);
        return;
    }
    if (jzx__job_begin(&job->word))
        run(s, job, plan);
    else
        s->metrics.dropped_total++; /* cancelled elsewhere just now: its record comes back */
}

static void fire_all(struct jzx__schedule *s) {
    struct jzx__link *link;
    while ((link = jzx__list_pop_front(&s->due)) != NULL) {
        struct jzx__job *job = job_of(link);
        job->where = JZX__WHERE_NOWHERE;
        fire(s, job);
    }
}

/* ---- the tick ---- */

/* Told once per pass, and once per catch-up: its first tick is the one that is furthest behind. */
static void watch_drift(struct jzx__schedule *s) {
    uint64_t now_ns = jzx__tick_clock_now(&s->clock);
    uint64_t jitter = s->driver.jitter_ns != NULL ? s->driver.jitter_ns(s->driver.ctx) : 0;
    uint64_t deadline_ns = jzx__schedule_tick_ns(s, s->tick);
    if (!jzx__drift_exceeds(&s->drift, deadline_ns, now_ns, jitter) || s->drift_told)
        return;
    s->drift_told = true;
    jzx__schedule_tell(s, (struct jzx__schedule_event){.kind = JZX__EVENT_DRIFT_EXCEEDED,
                                                       .value = s->drift.observed_ns});
}

static void watch_overflow(struct jzx__schedule *s) {
    bool is_near = jzx__places_is_near_capacity(&s->places);
    if (is_near && !s->overflow_told)
        jzx__schedule_tell(s,
                           (struct jzx__schedule_event){.kind = JZX__EVENT_OVERFLOW_NEAR_CAPACITY,
                                                        .value = s->places.overflow.count,
                                                        .capacity = s->places.overflow.capacity});
    s->overflow_told = is_near;
}

void jzx__schedule_run_tick(struct jzx__schedule *s) {
    s->tick++;
    s->metrics.ticks_total++;
    if (s->clock.advance_to != NULL)
        s->clock.advance_to(s->clock.ctx, jzx__schedule_tick_ns(s, s->tick));
    jzx__schedule_take_in(s);
    jzx__pressure_tick(s);
    watch_overflow(s);
    (void)jzx__places_reinsert(&s->places);
    uint32_t count = collect(s);
    if (count > s->config.slot_capacity)
        drop_excess(s, count);
    watch_drift(s);
    fire_all(s);
    jzx__pressure_end_tick(s);
}

void jzx__schedule_pass_over(struct jzx__schedule *s, uint64_t ticks) {
    s->tick += ticks;
    s->metrics.ticks_total += ticks;
    if (s->clock.advance_to != NULL)
        s->clock.advance_to(s->clock.ctx, jzx__schedule_tick_ns(s, s->tick));
    jzx__places_pass(&s->places, s->tick);
}
