/* SPDX-License-Identifier: MIT */
/* Flush, close, drain. */
#include "schedule/core/shutdown.h"

#include "schedule/core/fire.h"
#include "schedule/core/life.h"
#include "schedule/core/pressure.h"
#include "schedule/core/run.h"

enum jzx__schedule_status jzx__schedule_register_on_close(struct jzx__schedule *s, jzx__close_fn fn,
                                                          void *ctx,
                                                          enum jzx__close_priority priority,
                                                          uint64_t *id) {
    if (s->phase != JZX__PHASE_ACTIVE)
        return JZX__SCHEDULE_SHUTDOWN;
    if (fn == NULL || priority > JZX__CLOSE_USER)
        return JZX__SCHEDULE_INVALID_ARG;
    uint64_t task = jzx__close_register(&s->close, fn, ctx, priority);
    if (task == 0)
        return JZX__SCHEDULE_TASK_RUN_CAPACITY_EXCEEDED;
    *id = task;
    return JZX__SCHEDULE_OK;
}

bool jzx__schedule_cancel_on_close(struct jzx__schedule *s, uint64_t id) {
    return s->phase == JZX__PHASE_ACTIVE && jzx__close_cancel(&s->close, id);
}

static void set_phase(struct jzx__schedule *s, enum jzx__schedule_phase phase) {
    s->phase = phase;
    jzx__schedule_publish(s);
}

static uint32_t stop_and_flush(struct jzx__schedule *s) {
    jzx__pressure_set_driver_status(s, JZX__DRIVER_STATUS_SUSPENDED);
    if (s->driver.stop != NULL)
        s->driver.stop(s->driver.ctx);
    return jzx__tick_source_flush(&s->source);
}

static void run_close_tasks(struct jzx__schedule *s, struct jzx__shutdown_summary *summary) {
    uint64_t began_ns = jzx__tick_clock_now(&s->clock);
    const struct jzx__close_task *task;
    while ((task = jzx__close_pop(&s->close)) != NULL) {
        uint64_t id = task->id;
        int32_t error = task->fn(task->ctx);
        s->metrics.task_run_on_close_total++;
        if (error == 0) {
            summary->tasks_succeeded++;
            continue;
        }
        summary->tasks_failed++;
        s->metrics.task_run_on_close_failures++;
        jzx__schedule_tell(s, (struct jzx__schedule_event){
                                  .kind = JZX__EVENT_TASK_RUN_FAILED, .job = id, .error = error});
    }
    s->metrics.task_run_on_close_duration_ns += jzx__tick_clock_now(&s->clock) - began_ns;
}

/* Function jobs run once; all others, and periodic jobs in flight, are cancelled. */
static void drain_job(struct jzx__schedule *s, struct jzx__job *job,
                      struct jzx__shutdown_summary *summary) {
    bool runs = job->is_function && s->ops.run_inline != NULL && !job->is_in_flight;
    if (!runs || !jzx__job_begin(&job->word)) {
        summary->jobs_cancelled += jzx__schedule_drop(s, job);
        return;
    }
    struct jzx__delivery_order order = {.job = job->id,
                                        .payload = job->payload,
                                        .batch = {1, 0, job->mode},
                                        .executor = job->executor,
                                        .is_function = true};
    job->batch = order.batch;
    job->is_in_flight = true;
    s->last_batch = order.batch;
    jzx__schedule_record(s, job, JZX__LOG_FIRE);
    int32_t error = s->ops.run_inline(s->ops.ctx, &order);
    (void)jzx__schedule_complete(s, order.job, jzx__tick_clock_now(&s->clock), error);
    summary->jobs_run++;
}

/* In the order of their registration. */
static void drain(struct jzx__schedule *s, struct jzx__shutdown_summary *summary) {
    struct jzx__link *link;
    for (uint32_t i = 0; i < s->table.count; i++) {
        struct jzx__job *job = &s->table.records[i];
        if (!job->is_registered)
            continue;
        jzx__places_remove(&s->places, job);
        jzx__list_push_back(&s->due, &job->due);
        job->where = JZX__WHERE_DUE;
    }
    jzx__schedule_order_due(s);
    while ((link = jzx__list_pop_front(&s->due)) != NULL) {
        struct jzx__job *job = JZX_CONTAINER_OF(link, struct jzx__job, due);
        job->where = JZX__WHERE_NOWHERE;
        drain_job(s, job, summary);
    }
}

struct jzx__shutdown_summary jzx__schedule_shutdown(struct jzx__schedule *s) {
    struct jzx__shutdown_summary summary = {0};
    if (s->phase != JZX__PHASE_ACTIVE)
        return summary;
    jzx__schedule_take_in(s);
    set_phase(s, JZX__PHASE_SHUTTING_DOWN);
    summary.flushed_ticks = stop_and_flush(s);
    s->runner.owed += summary.flushed_ticks;
    jzx__schedule_run_owed(s);
    run_close_tasks(s, &summary);
    jzx__schedule_take_in(s);
    drain(s, &summary);
    set_phase(s, JZX__PHASE_CLOSED);
    return summary;
}
