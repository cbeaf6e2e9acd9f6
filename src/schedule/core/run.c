/* SPDX-License-Identifier: MIT */
/* Passes and chunks. No tick is lost: what is pulled is owed until it was run. Ticks at which
 * nothing is due are counted, and passed over in one step. */
#include "schedule/core/run.h"

#include "schedule/core/fire.h"
#include "schedule/core/life.h"
#include "schedule/core/pressure.h"
#include "schedule/core/rate.h"

/* ---- drivers ---- */

static enum jzx__driver_error start_driver(struct jzx__schedule *s,
                                           const struct jzx__driver *driver) {
    if (driver->kind == JZX__DRIVER_MANUAL && !s->config.test_mode)
        return JZX__DRIVER_UNSUPPORTED_ENVIRONMENT;
    enum jzx__driver_error error = JZX__DRIVER_OK;
    if (driver->start != NULL)
        error = driver->start(driver->ctx, &s->source, s->config.resolution_ns);
    if (error == JZX__DRIVER_OK) {
        s->driver = *driver;
        jzx__pressure_set_driver_status(s, JZX__DRIVER_STATUS_OK);
    }
    return error;
}

enum jzx__driver_error jzx__schedule_start(struct jzx__schedule *s,
                                           const struct jzx__driver *driver,
                                           const struct jzx__driver *fallback) {
    if (s->driver.name != NULL || s->phase != JZX__PHASE_ACTIVE)
        return JZX__DRIVER_HANDLE_UNAVAILABLE;
    if (fallback != NULL)
        s->fallback = *fallback;
    return start_driver(s, driver);
}

void jzx__schedule_driver_stopped(struct jzx__schedule *s, enum jzx__driver_error error) {
    struct jzx__driver next = s->fallback;
    s->driver = (struct jzx__driver){.name = NULL};
    s->fallback = (struct jzx__driver){.name = NULL};
    jzx__schedule_tell(s, (struct jzx__schedule_event){.kind = JZX__EVENT_DRIVER_STOPPED,
                                                       .error = (int32_t)error});
    if (next.name == NULL || start_driver(s, &next) != JZX__DRIVER_OK)
        jzx__pressure_set_driver_status(s, JZX__DRIVER_STATUS_STALLED);
}

/* ---- measuring ---- */

/* Once per second of ticks: how many there were per second of the clock. */
static void measure(struct jzx__schedule *s) {
    uint64_t ticks = s->tick - s->measured_tick;
    if (ticks < jzx__max_frequency(s->config.resolution_ns))
        return;
    uint64_t now_ns = jzx__tick_clock_now(&s->clock);
    uint64_t elapsed_us = (now_ns - s->measured_ns) / 1000;
    uint64_t rate = elapsed_us > 0 ? ticks * 1000000 / elapsed_us : 0;
    s->metrics.ticks_per_second = rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
    s->measured_tick = s->tick;
    s->measured_ns = now_ns;
    jzx__schedule_tell(s, (struct jzx__schedule_event){
                              .kind = JZX__EVENT_TICK_METRICS, .value = rate, .capacity = ticks});
}

/* A driver with jobs to wake that announces nothing although time passes. */
static void watch_for_stall(struct jzx__schedule *s, uint32_t pulled) {
    bool is_stalled = s->runner.status == JZX__DRIVER_STATUS_STALLED;
    if (pulled > 0) {
        if (is_stalled)
            jzx__pressure_set_driver_status(s, JZX__DRIVER_STATUS_OK);
        return;
    }
    if (s->runner.owed > 0 || s->clock.kind == JZX__CLOCK_DETERMINISTIC || is_stalled ||
        s->runner.status == JZX__DRIVER_STATUS_SUSPENDED)
        return;
    uint64_t next = jzx__schedule_next_tick(s);
    uint64_t now = jzx__schedule_now(s).ticks;
    if (next <= now && now - s->tick > s->config.stalled_after_ticks)
        jzx__pressure_set_driver_status(s, JZX__DRIVER_STATUS_STALLED);
}

/* ---- ticks ---- */

uint64_t jzx__schedule_next_tick(struct jzx__schedule *s) {
    bool is_busy = !jzx__mpsc_is_empty(&s->commands) || !jzx__mpsc_is_empty(&s->back) ||
                   jzx__pressure_needs_ticks(s);
    return is_busy ? s->tick + 1 : jzx__places_next(&s->places);
}

/* Runs so many of the ticks that are owed. */
static void run_chunk(struct jzx__schedule *s, uint32_t ticks) {
    uint64_t end = s->tick + ticks;
    s->runner.owed -= ticks;
    while (s->tick < end) {
        uint64_t next = jzx__schedule_next_tick(s);
        next = next > s->tick ? next : s->tick + 1;
        if (next > end) {
            jzx__schedule_pass_over(s, end - s->tick);
        } else {
            if (next - s->tick > 1)
                jzx__schedule_pass_over(s, next - s->tick - 1);
            jzx__schedule_run_tick(s);
        }
    }
    measure(s);
}

struct jzx__schedule_pass jzx__schedule_run(struct jzx__schedule *s) {
    struct jzx__schedule_pass pass = {{0, JZX__TICKS_NORMAL}, 0, false};
    if (s->phase != JZX__PHASE_ACTIVE)
        return pass;
    jzx__schedule_take_in(s);
    pass.event.ticks = jzx__tick_source_pull(&s->source);
    s->runner.owed += pass.event.ticks;
    watch_for_stall(s, pass.event.ticks);
    pass.event.mode = jzx__pressure_observe_driver(s);
    pass.ticks = jzx__tick_runner_chunk(&s->runner);
    if (pass.event.mode == JZX__TICKS_CATCH_UP)
        s->drift.compensations += pass.ticks;
    s->pass_end = s->tick + s->runner.owed;
    if (pass.event.mode == JZX__TICKS_NORMAL)
        s->drift_told = false;
    run_chunk(s, pass.ticks);
    pass.has_more = s->runner.owed > 0;
    return pass;
}

void jzx__schedule_pass_idle(struct jzx__schedule *s, uint64_t to) {
    if (to <= s->tick)
        return;
    uint64_t next = jzx__pressure_needs_ticks(s) ? s->tick + 1 : jzx__places_next(&s->places);
    uint64_t last = next <= to ? next - 1 : to;
    if (last <= s->tick)
        return;
    uint64_t ticks = last - s->tick;
    s->runner.owed -= ticks < s->runner.owed ? ticks : s->runner.owed;
    jzx__schedule_pass_over(s, ticks);
}

void jzx__schedule_leap(struct jzx__schedule *s, uint64_t ticks) {
    s->runner.owed += ticks;
    s->drift_told = false;
    s->pass_end = s->tick + s->runner.owed;
    while (s->runner.owed > 0)
        run_chunk(s, jzx__tick_runner_chunk(&s->runner));
}

/* By hand every tick is a pass of its own: between two of them receivers had time. */
bool jzx__schedule_advance(struct jzx__schedule *s, uint64_t ticks) {
    if (!s->config.test_mode || s->phase != JZX__PHASE_ACTIVE)
        return false;
    s->runner.owed += ticks;
    jzx__schedule_run_owed(s);
    return true;
}

void jzx__schedule_run_owed(struct jzx__schedule *s) {
    while (s->runner.owed > 0) {
        s->drift_told = false;
        s->pass_end = s->tick;
        run_chunk(s, jzx__tick_runner_chunk(&s->runner));
    }
}
