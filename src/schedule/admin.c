/* SPDX-License-Identifier: MIT */
/* Ticks, overload and shutdown, for the program that has the scheduler. */
#include "base/sized.h"
#include "schedule/closer.h"
#include "schedule/core/run.h"
#include "schedule/core/shutdown.h"
#include "schedule/driver.h"
#include "schedule/visit.h"

/* ---- ticks ---- */

bool jzx_tick_notify(jzx_tick_source *source, uint32_t ticks) {
    return source != NULL && jzx__tick_source_notify((void *)source, ticks);
}

bool jzx_schedule_notify(jzx_loop *loop, uint32_t ticks) {
    struct jzx__scheduler *scheduler = loop == NULL ? NULL : jzx__scheduler_of(loop);
    return scheduler != NULL && scheduler->settings.driver_kind == JZX_DRIVER_FOREIGN &&
           !scheduler->settings.has_driver &&
           jzx__tick_source_notify(&scheduler->core.source, ticks);
}

jzx_err jzx_schedule_advance(jzx_loop *loop, uint64_t ticks) {
    struct jzx__schedule_visit visit;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    if (visit.scheduler->settings.driver_kind != JZX_DRIVER_MANUAL)
        err = JZX_ERR_UNSUPPORTED;
    else if (!jzx__schedule_advance(visit.core, ticks))
        err = JZX_ERR_SHUTDOWN;
    bool needs_runner = visit.scheduler->needs_runner;
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    if (needs_runner)
        jzx__owner_poke(visit.scheduler);
    return err;
}

jzx_err jzx_schedule_driver_stopped(jzx_loop *loop, jzx_driver_error error) {
    struct jzx__schedule_visit visit;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    bool is_own = visit.scheduler->settings.driver_kind == JZX_DRIVER_FOREIGN;
    if (!is_own || visit.scheduler->is_automatic || visit.core->phase != JZX__PHASE_ACTIVE)
        err = JZX_ERR_INVALID_ARG; /* a driver of the library is stopped by its stop alone */
    else
        jzx__schedule_driver_stopped(visit.core, (enum jzx__driver_error)error);
    jzx__schedule_visit_end(&visit, 0); /* worker 0 looks now */
    return err;
}

/* NULL without memory. */
static struct jzx__scheduler *ensure(jzx_loop *loop) {
    struct jzx__visit visit;
    if (loop == NULL)
        return NULL;
    (void)jzx__loop_visit(loop, &visit);
    struct jzx__scheduler *scheduler = jzx__scheduler_ensure(loop);
    jzx__visit_end(&visit);
    return scheduler;
}

uint64_t jzx_schedule_now(jzx_loop *loop) {
    const struct jzx__scheduler *scheduler = ensure(loop);
    return scheduler == NULL ? 0 : jzx__schedule_now(&scheduler->core).ticks;
}

uint32_t jzx_schedule_max_frequency(jzx_loop *loop) {
    const struct jzx__scheduler *scheduler = ensure(loop);
    return scheduler == NULL ? 0 : jzx__max_frequency(scheduler->core.config.resolution_ns);
}

jzx_err jzx_schedule_capabilities_get(jzx_loop *loop, jzx_schedule_capabilities *out) {
    if (loop == NULL || !jzx__is_sized(out, sizeof *out))
        return JZX_ERR_INVALID_ARG;
    const struct jzx__scheduler *scheduler = ensure(loop);
    if (scheduler == NULL)
        return JZX_ERR_NO_MEMORY;
    struct jzx__schedule_capabilities own = jzx__schedule_capabilities_of(&scheduler->core.config);
    const jzx_schedule_capabilities shown = {.size = sizeof shown,
                                             .max_frequency_hz = own.max_frequency_hz,
                                             .min_delay_ticks = own.min_delay_ticks,
                                             .tick_resolution_ns = own.tick_resolution_ns,
                                             .fixed_rate = own.fixed_rate,
                                             .fixed_delay = own.fixed_delay,
                                             .manual_clock = own.manual_clock};
    jzx__write_sized(out, &shown);
    return JZX_OK;
}

/* ---- overload ---- */

jzx_err jzx_schedule_add_probe(jzx_loop *loop, const char *name, jzx_probe_kind kind,
                               jzx_probe_fn fn, void *ctx) {
    struct jzx__schedule_visit visit;
    if (name == NULL || fn == NULL || (unsigned)kind > JZX_PROBE_RUNTIME)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    const struct jzx__probe probe = {name, (enum jzx__probe_kind)kind, fn, ctx};
    if (visit.core->phase != JZX__PHASE_ACTIVE)
        err = JZX_ERR_SHUTDOWN;
    else if (!jzx__gauge_register(&visit.core->gauge, probe))
        err = JZX_ERR_FULL;
    jzx__schedule_visit_end(&visit, 0); /* there are ticks from now on */
    return err;
}

jzx_err jzx_schedule_push_load(jzx_loop *loop, uint32_t load) {
    if (loop == NULL || load > JZX__LOAD_FULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__scheduler *scheduler = ensure(loop);
    if (scheduler == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx__gauge_push(&scheduler->core.gauge, load);
    struct jzx__visit visit;
    (void)jzx__loop_visit(loop, &visit);
    jzx__owner_poke(scheduler);
    jzx__visit_end(&visit);
    return JZX_OK;
}

/* ---- shutdown ---- */

jzx_err jzx_schedule_on_close(jzx_loop *loop, jzx_close_priority priority, uint64_t *task,
                              jzx_close_fn fn, void *ctx) {
    struct jzx__schedule_visit visit;
    uint64_t id = 0;
    if ((unsigned)priority > JZX_CLOSE_USER)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    switch (jzx__schedule_register_on_close(
        visit.core, fn, ctx, jzx__close_priority_of(priority, JZX__CLOSE_USER), &id)) {
    case JZX__SCHEDULE_OK: break;
    case JZX__SCHEDULE_SHUTDOWN: err = JZX_ERR_SHUTDOWN; break;
    case JZX__SCHEDULE_TASK_RUN_CAPACITY_EXCEEDED: err = JZX_ERR_FULL; break;
    default: err = JZX_ERR_INVALID_ARG; break;
    }
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    if (err == JZX_OK && task != NULL)
        *task = id;
    return err;
}

bool jzx_schedule_cancel_on_close(jzx_loop *loop, uint64_t task) {
    struct jzx__schedule_visit visit;
    if (task <= JZX__CLOSERS || jzx__schedule_visit_begin(&visit, loop) != JZX_OK)
        return false;
    bool is_cancelled = jzx__schedule_cancel_on_close(visit.core, task);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    return is_cancelled;
}

jzx_err jzx_schedule_on_shutdown(jzx_loop *loop, jzx_close_fn fn, void *ctx) {
    struct jzx__schedule_visit visit;
    if (fn == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    if (visit.core->phase != JZX__PHASE_ACTIVE)
        err = JZX_ERR_SHUTDOWN;
    else if (!jzx__hooks_add(visit.scheduler, fn, ctx))
        err = JZX_ERR_NO_MEMORY;
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    return err;
}

jzx_err jzx_schedule_shutdown(jzx_loop *loop, jzx_shutdown_summary *summary) {
    struct jzx__schedule_visit visit;
    if (summary != NULL && !jzx__is_sized(summary, sizeof *summary))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__schedule_visit_begin(&visit, loop);
    if (err != JZX_OK)
        return err;
    struct jzx__shutdown_summary own = jzx__schedule_shutdown(visit.core);
    jzx__driver_leave_tick(visit.scheduler);
    jzx__schedule_visit_end(&visit, JZX_NEVER);
    const jzx_shutdown_summary shown = {sizeof shown,     own.flushed_ticks, own.tasks_succeeded,
                                        own.tasks_failed, own.jobs_run,      own.jobs_cancelled};
    if (summary != NULL)
        jzx__write_sized(summary, &shown);
    return JZX_OK;
}
