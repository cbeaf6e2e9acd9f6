/* SPDX-License-Identifier: MIT */
/* The automatic driver, the thread, and those of the program. */
#include "schedule/driver.h"

#include "base/futex.h"
#include "schedule/core/life.h"
#include "schedule/core/rate.h"
#include "schedule/core/run.h"
#include "schedule/owner.h"
#include "timer/timer.h"

#include "jzx/time.h"

#include <signal.h>

/* ---- clocks ---- */

/* While the automatic driver makes up for a leap of a manual clock, each tick has its own time. */
static uint64_t now_of_loop(void *ctx) {
    struct jzx__scheduler *scheduler = ctx;
    /* relaxed: a time; it never goes beyond that of the clock */
    uint64_t shadow_ns = jzx__atomic_load_relaxed(&scheduler->shadow_ns);
    return shadow_ns != 0 ? shadow_ns : jzx__clock_now(&scheduler->loop->sched.clock);
}

/* A driver of the program's own is judged by what the clock says. */
static void show_tick(void *ctx, uint64_t now_ns) {
    struct jzx__scheduler *scheduler = ctx;
    if (scheduler->is_automatic) {
        /* relaxed: as above */
        jzx__atomic_store_relaxed(&scheduler->shadow_ns, now_ns);
    }
}

void jzx__driver_leave_tick(struct jzx__scheduler *scheduler) {
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&scheduler->shadow_ns, (uint64_t)0);
}

static void move_clock(void *ctx, uint64_t now_ns) {
    const struct jzx__scheduler *scheduler = ctx;
    uint64_t before_ns = jzx__clock_now(&scheduler->loop->sched.clock);
    if (now_ns > before_ns)
        (void)jzx_clock_advance(scheduler->loop->sched.shared_clock, now_ns - before_ns);
}

struct jzx__tick_clock jzx__driver_clock(struct jzx__scheduler *scheduler) {
    const struct jzx__settings *settings = &scheduler->settings;
    if (settings->clock.now_ns != NULL)
        return (struct jzx__tick_clock){(enum jzx__tick_clock_kind)settings->clock.kind,
                                        settings->clock.ctx, settings->clock.now_ns, NULL};
    struct jzx__tick_clock clock = {JZX__CLOCK_REALTIME_HOST, scheduler, now_of_loop, NULL};
    if (scheduler->is_deterministic) {
        clock.kind = JZX__CLOCK_DETERMINISTIC;
        clock.advance_to = settings->driver_kind == JZX_DRIVER_MANUAL ? move_clock : show_tick;
    }
    return clock;
}

/* ---- the automatic driver ---- */

/* How late worker 0 looked, as far as that is the wheel's own doing, which counts milliseconds. */
static void note_jitter(struct jzx__scheduler *scheduler) {
    /* relaxed: changes under the lock */
    uint64_t armed_ns = jzx__atomic_load_relaxed(&scheduler->armed_ns);
    uint64_t now_ns = jzx__clock_now(&scheduler->loop->sched.clock);
    uint64_t late_ns = now_ns > armed_ns ? now_ns - armed_ns : 0;
    scheduler->jitter_ns = late_ns < JZX__TIMER_TICK_NS ? late_ns : JZX__TIMER_TICK_NS;
}

static uint64_t jitter_of_worker(void *ctx) {
    return ((const struct jzx__scheduler *)ctx)->jitter_ns;
}

/* Passes over ticks up to `to` at which there is nothing to do. */
static void pass_idle(struct jzx__scheduler *scheduler, uint64_t to) {
    jzx__schedule_pass_idle(&scheduler->core, to);
    jzx__driver_leave_tick(scheduler);
}

/* Ticks at which nothing was due are no backlog: worker 0 slept. */
static void run_automatic(struct jzx__scheduler *scheduler) {
    struct jzx__schedule *core = &scheduler->core;
    uint64_t now = jzx__schedule_now(core).ticks;
    note_jitter(scheduler);
    pass_idle(scheduler, now);
    jzx__schedule_take_in(core);
    pass_idle(scheduler, now);
    if (core->tick >= now || jzx__schedule_next_tick(core) > now)
        return;
    uint64_t passed = now - core->tick - core->runner.owed;
    if (scheduler->is_deterministic) {
        jzx__schedule_leap(core, passed);
        jzx__driver_leave_tick(scheduler);
        return;
    }
    (void)jzx__tick_source_notify(&core->source,
                                  passed < UINT32_MAX ? (uint32_t)passed : UINT32_MAX);
    (void)jzx__schedule_run(core);
}

/* ---- those of the program ---- */

/* What was announced while there was no job is no backlog either: the clock says where we are. */
static void skip_announced(struct jzx__scheduler *scheduler) {
    struct jzx__schedule *core = &scheduler->core;
    uint64_t before = core->tick;
    uint32_t announced = jzx__tick_source_pull(&core->source);
    pass_idle(scheduler, jzx__schedule_now(core).ticks);
    uint64_t passed = core->tick - before;
    if (passed < announced)
        (void)jzx__tick_source_notify(&core->source, announced - (uint32_t)passed);
}

uint64_t jzx__driver_before_add(struct jzx__scheduler *scheduler) {
    struct jzx__schedule *core = &scheduler->core;
    if (core->phase != JZX__PHASE_ACTIVE)
        return 0;
    if (scheduler->is_automatic) {
        uint64_t now_ns = jzx__tick_clock_now(&core->clock);
        pass_idle(scheduler, jzx__ticks_down(now_ns, core->config.resolution_ns));
        return now_ns;
    }
    if (scheduler->was_idle && scheduler->settings.driver_kind != JZX_DRIVER_MANUAL)
        skip_announced(scheduler);
    return 0;
}

static void run_announced(struct jzx__scheduler *scheduler) {
    if (scheduler->was_idle)
        skip_announced(scheduler);
    (void)jzx__schedule_run(&scheduler->core);
}

void jzx__driver_run(struct jzx__scheduler *scheduler) {
    if (scheduler->core.phase != JZX__PHASE_ACTIVE ||
        (scheduler->settings.driver_kind == JZX_DRIVER_MANUAL && !scheduler->is_automatic))
        jzx__schedule_take_in(&scheduler->core);
    else if (scheduler->is_automatic)
        run_automatic(scheduler);
    else
        run_announced(scheduler);
}

uint64_t jzx__driver_next_look(struct jzx__scheduler *scheduler) {
    if (scheduler->settings.driver_kind != JZX_DRIVER_FOREIGN)
        return JZX_NEVER;
    return jzx__clock_now(&scheduler->loop->sched.clock) + scheduler->core.config.resolution_ns;
}

/* ---- the thread ---- */

static struct jzx__scheduler *scheduler_of(struct jzx__driver_thread *thread) {
    return JZX_CONTAINER_OF(thread, struct jzx__scheduler, thread);
}

uint64_t jzx__driver_announce(struct jzx__driver_thread *thread, uint64_t last) {
    struct jzx__scheduler *scheduler = scheduler_of(thread);
    uint64_t now_ns = jzx__clock_now(&scheduler->loop->sched.clock);
    uint64_t now = now_ns / thread->resolution_ns;
    if (now == last)
        return last;
    /* relaxed: a figure */
    jzx__atomic_store_relaxed(&thread->jitter_ns, now_ns % thread->resolution_ns);
    (void)jzx__tick_source_notify(thread->source, (uint32_t)(now - last));
    /* relaxed, both: a job that is missed now is seen a tick later; its deadline is that far */
    if (jzx__atomic_load_relaxed(&scheduler->core.active) != 0 ||
        jzx__atomic_load_relaxed(&scheduler->wants_ticks) != 0)
        jzx__owner_poke(scheduler);
    return now;
}

static void *drive(void *arg) {
    struct jzx__driver_thread *thread = arg;
    const struct jzx__clock *clock = &scheduler_of(thread)->loop->sched.clock;
    uint64_t last = jzx__clock_now(clock) / thread->resolution_ns;
    /* acquire: pairs with the store in stop_thread */
    while (jzx__atomic_load_acquire(&thread->stop) == 0) {
        uint64_t left_ns = thread->resolution_ns - jzx__clock_now(clock) % thread->resolution_ns;
        (void)jzx__futex_wait(&thread->stop, 0, left_ns);
        last = jzx__driver_announce(thread, last);
    }
    return NULL;
}

static enum jzx__driver_error start_thread(void *ctx, struct jzx__tick_source *source,
                                           uint32_t resolution_ns) {
    struct jzx__driver_thread *thread = ctx;
    sigset_t all;
    sigset_t before;
    thread->source = source;
    thread->resolution_ns = resolution_ns;
    sigfillset(&all); /* the program's signals are for its own threads */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread->thread, NULL, drive, thread);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0 ? JZX__DRIVER_OK : JZX__DRIVER_SPAWN_FAILED;
}

static void stop_thread(void *ctx) {
    struct jzx__driver_thread *thread = ctx;
    /* release: pairs with the load in drive */
    jzx__atomic_store_release(&thread->stop, 1u);
    jzx__futex_wake(&thread->stop);
    (void)pthread_join(thread->thread, NULL);
}

static uint64_t jitter_of_thread(void *ctx) {
    /* relaxed: a figure */
    return jzx__atomic_load_relaxed(&((struct jzx__driver_thread *)ctx)->jitter_ns);
}

/* ---- starting ---- */

/* The public driver in the form of the core. */
static enum jzx__driver_error start_foreign(void *ctx, struct jzx__tick_source *source,
                                            uint32_t resolution_ns) {
    const jzx_tick_driver *driver = ctx;
    if (driver->start == NULL)
        return JZX__DRIVER_OK;
    return (enum jzx__driver_error)driver->start(driver->ctx, (void *)source, resolution_ns);
}

static void stop_foreign(void *ctx) {
    const jzx_tick_driver *driver = ctx;
    if (driver->stop != NULL)
        driver->stop(driver->ctx);
}

static uint64_t jitter_of_foreign(void *ctx) {
    const jzx_tick_driver *driver = ctx;
    return driver->jitter_ns != NULL ? driver->jitter_ns(driver->ctx) : 0;
}

/* When another driver has stopped by itself. */
static enum jzx__driver_error take_over(void *ctx, struct jzx__tick_source *source,
                                        uint32_t resolution_ns) {
    struct jzx__scheduler *scheduler = ctx;
    (void)source;
    (void)resolution_ns;
    scheduler->is_automatic = true;
    return JZX__DRIVER_OK;
}

enum jzx__driver_error jzx__driver_start(struct jzx__scheduler *scheduler) {
    struct jzx__settings *settings = &scheduler->settings;
    struct jzx__driver driver = {.kind = JZX__DRIVER_AUTOMATIC,
                                 .name = "automatic",
                                 .ctx = scheduler,
                                 .start = take_over,
                                 .jitter_ns = jitter_of_worker};
    const struct jzx__driver fallback = driver;
    switch (settings->driver_kind) {
    case JZX_DRIVER_THREAD:
        driver = (struct jzx__driver){JZX__DRIVER_AUTOMATIC, "thread",    &scheduler->thread,
                                      start_thread,          stop_thread, jitter_of_thread};
        break;
    case JZX_DRIVER_FOREIGN:
        driver = (struct jzx__driver){.kind = JZX__DRIVER_FOREIGN, .name = "foreign"};
        if (settings->has_driver)
            driver =
                (struct jzx__driver){JZX__DRIVER_FOREIGN, settings->driver.name, &settings->driver,
                                     start_foreign,       stop_foreign,          jitter_of_foreign};
        break;
    case JZX_DRIVER_MANUAL:
        driver = (struct jzx__driver){.kind = JZX__DRIVER_MANUAL, .name = "manual"};
        break;
    case JZX_DRIVER_DEFAULT:
    case JZX_DRIVER_AUTOMATIC: break;
    }
    bool can_take_over = settings->clock.now_ns == NULL;
    return jzx__schedule_start(&scheduler->core, &driver, can_take_over ? &fallback : NULL);
}

const char *jzx__driver_error_text(enum jzx__driver_error error) {
    static const char *const texts[] = {[JZX__DRIVER_OK] = "ok",
                                        [JZX__DRIVER_SPAWN_FAILED] = "spawn failed",
                                        [JZX__DRIVER_HANDLE_UNAVAILABLE] = "handle unavailable",
                                        [JZX__DRIVER_UNSUPPORTED_ENVIRONMENT] =
                                            "unsupported environment",
                                        [JZX__DRIVER_DRIFT_EXCEEDED] = "drift exceeded",
                                        [JZX__DRIVER_STOPPED] = "driver stopped",
                                        [JZX__DRIVER_UNSUPPORTED_EXECUTOR] = "unsupported executor",
                                        [JZX__DRIVER_INVALID_RESOLUTION] = "invalid resolution"};
    return (unsigned)error < sizeof texts / sizeof texts[0] ? texts[error] : "unknown error";
}
