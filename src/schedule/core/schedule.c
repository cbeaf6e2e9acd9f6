/* SPDX-License-Identifier: MIT */
/* Making a scheduler out of one block of memory, and its figures. */
#include "schedule/core/schedule.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "schedule/core/admit.h"
#include "schedule/core/life.h"
#include "schedule/core/rate.h"
#include "schedule/core/region.h"

/* ---- memory ---- */

/* Where the arrays are in the block. */
struct layout {
    size_t jobs;
    size_t ring;
    size_t slots;
    size_t overflow;
    size_t timer;
    size_t events;
    size_t log;
    size_t tasks;
    size_t task_items;
    size_t total;
};

static size_t reserve(struct layout *layout, size_t count, size_t size) {
    size_t at = layout->total;
    layout->total += jzx__region_round(count * size);
    return at;
}

/* A size beyond all memory stays one, whatever is added to it. */
static size_t timer_bytes(const struct jzx__schedule_config *c) {
    jzx_tick_timer timer = jzx__places_timer(c);
    size_t bytes = timer.size != NULL ? timer.size(timer.arg, c->capacity.system_quota) : 0;
    return bytes < SIZE_MAX / 4 ? bytes : SIZE_MAX / 4;
}

static struct layout lay_out(const struct jzx__schedule_config *c) {
    struct layout l = {.total = 0};
    uint32_t jobs = c->capacity.system_quota;
    l.jobs = reserve(&l, jobs, sizeof(struct jzx__job));
    l.ring = reserve(&l, jzx__job_table_cells(jobs), sizeof(_Atomic uint32_t));
    l.slots = reserve(&l, jzx__slots_cells(jobs), sizeof(struct jzx__slot_cell));
    l.overflow = reserve(&l, c->capacity.overflow, sizeof(struct jzx__heap_item));
    l.timer = reserve(&l, 1, timer_bytes(c));
    l.events = reserve(&l, jzx__events_storage(c->diagnostics_queue_capacity),
                       sizeof(struct jzx__schedule_event));
    l.log = reserve(&l, c->log_capacity, sizeof(struct jzx__log_record));
    l.tasks = reserve(&l, c->capacity.task_run, sizeof(struct jzx__close_task));
    l.task_items = reserve(&l, c->capacity.task_run, sizeof(struct jzx__heap_item));
    return l;
}

size_t jzx__schedule_bytes(const struct jzx__schedule_config *resolved) {
    return lay_out(resolved).total;
}

/* ---- life ---- */

static void *at(const struct jzx__schedule *s, size_t offset) {
    return (char *)s->memory + offset;
}

static void init_shared(struct jzx__schedule *s) {
    jzx__mpsc_init(&s->commands);
    jzx__mpsc_init(&s->back);
    /* relaxed: no other thread knows the scheduler yet, here and below */
    jzx__atomic_store_relaxed(&s->active, 0);
    jzx__atomic_store_relaxed(&s->notes, 0);
    jzx__atomic_store_relaxed(&s->dropped_elsewhere, 0);
    jzx__tick_source_open(&s->source);
}

static void init_parts(struct jzx__schedule *s, const struct layout *l) {
    const struct jzx__schedule_config *c = &s->config;
    jzx__job_table_init(&s->table, at(s, l->jobs), c->capacity.system_quota, at(s, l->ring));
    jzx__events_init(&s->events, at(s, l->events), c->diagnostics_queue_capacity, s->ops.emit,
                     s->ops.ctx);
    jzx__log_init(&s->log, at(s, l->log), c->log_capacity);
    jzx__close_init(&s->close, at(s, l->tasks), at(s, l->task_items), c->capacity.task_run);
    jzx__tick_runner_init(&s->runner, c->catch_up_window_ticks, c->catch_up_chunk_ticks);
    s->runner.buffer_quota = c->tick_buffer_quota;
    jzx__backpressure_init(&s->pressure, c->cooldown_ticks);
    jzx__gauge_init(&s->gauge, c->gauge_engaged_ticks);
    jzx__drift_init(&s->drift, s->clock.kind, c->resolution_ns, c->drift_budget_pct);
    jzx__list_init(&s->due);
}

bool jzx__schedule_init(struct jzx__schedule *s, const struct jzx__schedule_config *resolved,
                        struct jzx__schedule_ops ops, struct jzx__tick_clock clock,
                        const jzx_allocator *allocator) {
    struct layout l = lay_out(resolved);
    *s = (struct jzx__schedule){.config = *resolved,
                                .ops = ops,
                                .clock = clock,
                                .allocator = allocator,
                                .memory_bytes = l.total};
    s->memory = jzx__alloc(allocator, l.total);
    if (s->memory == NULL)
        return false;
    s->measured_ns = jzx__tick_clock_now(&s->clock);
    s->tick = jzx__ticks_down(s->measured_ns, resolved->resolution_ns);
    s->pass_end = s->measured_tick = s->tick;
    s->polled_tick = UINT64_MAX;
    const struct jzx__places_memory memory = {at(s, l.slots), at(s, l.overflow), at(s, l.timer)};
    if (!jzx__places_init(&s->places, &s->config, &memory, s->tick)) {
        jzx__free(allocator, s->memory, l.total);
        return false;
    }
    init_parts(s, &l);
    init_shared(s);
    jzx__schedule_publish(s);
    return true;
}

void jzx__schedule_deinit(struct jzx__schedule *s) {
    JZX_ASSERT(s->phase == JZX__PHASE_CLOSED);
    jzx__schedule_take_in(s);
    for (uint32_t i = 0; i < s->table.count; i++) {
        struct jzx__job *job = &s->table.records[i];
        if (job->is_in_flight && s->ops.release != NULL)
            s->ops.release(s->ops.ctx, job->payload, JZX__JOB_CANCELLED);
    }
    jzx__places_deinit(&s->places);
    jzx__free(s->allocator, s->memory, s->memory_bytes);
}

/* ---- figures ---- */

struct jzx__schedule_metrics jzx__schedule_metrics_of(struct jzx__schedule *s) {
    struct jzx__schedule_metrics m = s->metrics;
    /* relaxed: gauges, here and below */
    m.active_total = jzx__atomic_load_relaxed(&s->active);
    m.dropped_total += jzx__atomic_load_relaxed(&s->dropped_elsewhere);
    m.quota_limit = jzx__schedule_quota(s);
    m.tick_backlog = s->runner.owed + jzx__tick_source_pending(&s->source);
    m.catch_up_window_ticks = s->config.catch_up_window_ticks;
    m.tick_backlog_peak = s->runner.backlog_peak;
    m.tick_overflow_events = s->runner.overflow_events;
    m.catch_ups = s->runner.catch_ups;
    m.tick_buffer_quota = s->runner.buffer_quota;
    m.tick_buffer_overflows = s->runner.buffer_overflows;
    m.drift_compensations = s->drift.compensations;
    m.drift_worst_ns = s->drift.worst_ns;
    m.diagnostics_dropped_total = s->events.dropped_total;
    m.driver = s->driver.name;
    m.driver_status = s->runner.status;
    return m;
}

struct jzx__tick_instant jzx__schedule_now(const struct jzx__schedule *s) {
    uint32_t resolution_ns = s->config.resolution_ns;
    return (struct jzx__tick_instant){
        jzx__ticks_down(jzx__tick_clock_now(&s->clock), resolution_ns), resolution_ns};
}

/* ---- records ---- */

void jzx__schedule_record(struct jzx__schedule *s, const struct jzx__job *job,
                          enum jzx__log_kind kind) {
    static const enum jzx__schedule_event_kind events[] = {[JZX__LOG_SCHEDULE] =
                                                               JZX__EVENT_SCHEDULE,
                                                           [JZX__LOG_FIRE] = JZX__EVENT_FIRE,
                                                           [JZX__LOG_CANCEL] = JZX__EVENT_CANCEL};
    jzx__log_write(&s->log, &(struct jzx__log_record){.timer_id = job->id,
                                                      .scheduled_at = job->scheduled_at,
                                                      .deadline = job->deadline,
                                                      .fired_at = s->tick,
                                                      .executor = job->executor,
                                                      .kind = kind});
    jzx__schedule_tell(
        s, (struct jzx__schedule_event){.kind = events[kind], .job = job->id, .batch = job->batch});
}
