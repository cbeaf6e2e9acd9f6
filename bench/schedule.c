/* SPDX-License-Identifier: MIT */
/* The scheduler API: what it costs to schedule and cancel a job, to deliver many that are due at
 * one tick, to bring jobs of the far future into the wheel, and how late jobs are. */
#include "bench.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

JZX_BENCH_SHOWS("B48");

enum { GO, DUE };

#define TICK_NS INT64_C(10000000)

/* Of the process, user and system. */
static double cpu_seconds(void) {
    struct rusage usage;
    BENCH_CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* ---- schedule-cancel: BENCH_BATCH are scheduled and cancelled, then a message to itself ---- */

struct canceller {
    uint64_t left;
    uint64_t random;
};

static jzx_behavior_result schedule_and_cancel(jzx_context *ctx, const jzx_message *msg) {
    struct canceller *self = ctx->state;
    jzx_job_id jobs[BENCH_BATCH];
    unsigned count = self->left < BENCH_BATCH ? (unsigned)self->left : BENCH_BATCH;
    BENCH_CHECK_EQUAL(msg->tag, GO);
    for (uint64_t i = 0; i < count; i++) {
        int64_t delay_ns = (int64_t)JZX_MS(bench_delay_ms(&self->random, 1000, 60000));
        BENCH_CHECK(jzx_schedule_once(ctx->loop, delay_ns, ctx->self, ctx->self, &i, sizeof i, DUE,
                                      &jobs[i]) == JZX_OK);
    }
    for (unsigned i = 0; i < count; i++)
        BENCH_CHECK(jzx_job_cancel(ctx->loop, jobs[i]));
    self->left -= count;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, ctx->self, GO, 0);
    return JZX_BEHAVIOR_OK;
}

static void run_cancel(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct canceller canceller = {.left = size, .random = BENCH_SEED};
    bench_start(loop, bench_spawn(loop, schedule_and_cancel, &canceller), GO, 0);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
}

static void run_timers(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    bench_timer_cancel.run(loop, size, run);
}

const struct bench bench_schedule_cancel = {
    .name = "schedule-cancel",
    .op = "job of 1 to 60 s that is scheduled and cancelled, beside a timer of the same",
    .checked = "every cancel",
    .batch = "64",
    .kind = BENCH_ONE,
    .run = run_cancel,
    .alone = run_timers,
    .size = 500000,
    .payload = 8,
    .aim = -1,
    .ratio_limit = 3,
};

/* ---- schedule-fire: all are due at one tick ---- */

#define FIRE_AHEAD_TICKS 20u /* time enough to schedule them all */

struct receiver {
    uint64_t size;
    uint64_t got;
    double cpu_start;
    double cpu_end;
};

static jzx_behavior_result count_jobs(jzx_context *ctx, const jzx_message *msg) {
    struct receiver *self = ctx->state;
    BENCH_CHECK_EQUAL(bench_value(msg), self->got); /* in the order of the calls */
    BENCH_CHECK(jzx_schedule_batch(ctx)->runs == 1);
    if (++self->got < self->size)
        return JZX_BEHAVIOR_OK;
    self->cpu_end = cpu_seconds();
    return JZX_BEHAVIOR_STOP;
}

/* In the middle of the tick before `due`, so that the job is due there; again if the thread lost
 * its CPU for so long that it is not. */
static void schedule_for(jzx_loop *loop, uint64_t due, jzx_actor_id to, uint64_t number) {
    for (;;) {
        jzx_job_id job;
        uint64_t now_ns = jzx_loop_now(loop);
        int64_t delay_ns = (int64_t)(due * (uint64_t)TICK_NS - now_ns) - TICK_NS / 2;
        BENCH_CHECK(delay_ns > 0);
        BENCH_CHECK(jzx_schedule_once(loop, delay_ns, to, JZX_NOBODY, &number, sizeof number, DUE,
                                      &job) == JZX_OK);
        if (jzx_loop_now(loop) - now_ns < (uint64_t)TICK_NS / 2)
            return;
        BENCH_CHECK(jzx_job_cancel(loop, job));
    }
}

static void run_fire(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct receiver receiver = {.size = size};
    jzx_actor_id to = bench_spawn(loop, count_jobs, &receiver);
    uint64_t due = jzx_loop_now(loop) / (uint64_t)TICK_NS + FIRE_AHEAD_TICKS;
    for (uint64_t i = 0; i < size; i++)
        schedule_for(loop, due, to, i);
    receiver.cpu_start = cpu_seconds();
    bench_run_to_end(loop);
    run->seconds = receiver.cpu_end - receiver.cpu_start;
    run->ops = size;
    run->notes[0] = run->seconds * 1e3;
    BENCH_CHECK_EQUAL(receiver.got, size);
}

static const char *const fire_notes[] = {"cpu_ms", NULL};
static const jzx_schedule_config one_slot = {
    .size = sizeof one_slot, .profile = JZX_SCHEDULE_LARGE, .slot_capacity = 16384};
static const jzx_config one_slot_loop = {.size = sizeof one_slot_loop, .schedule = &one_slot};

const struct bench bench_schedule_fire = {
    .name = "schedule-fire",
    .op = "job of 10,000 that are due at one tick, delivered and handled: CPU time",
    .checked = "each comes once, in the order of the calls",
    .batch = "all",
    .notes = fire_notes,
    .kind = BENCH_ONE,
    .run = run_fire,
    .size = 10000,
    .size_min = 100,
    .config = &one_slot_loop,
    .payload = 8,
    .aim = 500,
};

/* ---- schedule-notify: a driver announces ticks; beside it, an atomic add ---- */

static jzx_tick_source *notified;

static jzx_driver_error keep_source(void *ctx, jzx_tick_source *source, uint32_t resolution_ns) {
    (void)ctx;
    (void)resolution_ns;
    notified = source;
    return JZX_DRIVER_OK;
}

static void run_notify(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_schedule_metrics metrics = {.size = sizeof metrics};
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++)
        (void)jzx_tick_notify(notified, 1);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK(jzx_schedule_metrics_get(loop, &metrics) == JZX_OK);
    BENCH_CHECK_EQUAL(metrics.tick_backlog, size);
}

static void run_adds(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static _Atomic uint32_t total;
    (void)loop;
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++)
        (void)atomic_fetch_add_explicit(&total, 1, memory_order_acq_rel);
    run->seconds = bench_now() - start;
    run->ops = size;
}

static const jzx_tick_driver notifier = {.name = "bench", .start = keep_source};
static const jzx_schedule_config notified_ticks = {
    .size = sizeof notified_ticks, .driver_kind = JZX_DRIVER_FOREIGN, .driver = &notifier};
static const jzx_config notified_loop = {.size = sizeof notified_loop, .schedule = &notified_ticks};

const struct bench bench_schedule_notify = {
    .name = "schedule-notify",
    .op = "tick that a driver announces, beside an atomic add",
    .checked = "every tick waits",
    .batch = "1",
    .kind = BENCH_ONE,
    .run = run_notify,
    .alone = run_adds,
    .size = 5000000,
    .config = &notified_loop,
    .aim = -1,
    .ratio_limit = 2, /* the call, and the look whether the source is open */
};

/* ---- schedule-overflow: jobs beyond the wheel's span, 100 of them a tick ---- */

static void run_overflow(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct receiver receiver = {.size = size};
    jzx_actor_id to = bench_spawn(loop, count_jobs, &receiver);
    receiver.cpu_start = cpu_seconds();
    for (uint64_t i = 0; i < size; i++)
        BENCH_CHECK(jzx_schedule_once(loop, (int64_t)JZX_MS(100 + i / 100), to, JZX_NOBODY, &i,
                                      sizeof i, DUE, NULL) == JZX_OK);
    bench_run_to_end(loop);
    run->seconds = receiver.cpu_end - receiver.cpu_start;
    run->ops = size;
    run->notes[0] = run->seconds / (double)size * 100 * 1e6;
    BENCH_CHECK_EQUAL(receiver.got, size);
}

static const char *const overflow_notes[] = {"us_per_100", NULL};
static const jzx_schedule_config short_wheel = {.size = sizeof short_wheel,
                                                .resolution_ns = 1000000,
                                                .profile = JZX_SCHEDULE_CUSTOM,
                                                .system_quota = 6000,
                                                .overflow_capacity = 5000,
                                                .wheel_slots = {4, 4, 4}};
static const jzx_config short_wheel_loop = {.size = sizeof short_wheel_loop,
                                            .schedule = &short_wheel};

const struct bench bench_schedule_overflow = {
    .name = "schedule-overflow",
    .op = "job that waits in the overflow, is put into the wheel and delivered: CPU time",
    .checked = "each comes once, in the order of the calls",
    .batch = "100 a tick",
    .notes = overflow_notes,
    .shows = shows,
    .kind = BENCH_ONE,
    .run = run_overflow,
    .size = 4000,
    .size_min = 400,
    .config = &short_wheel_loop,
    .payload = 8,
    .aim = 5000, /* 100 a tick within 5 % of 10 ms */
};

/* ---- schedule-late: jobs at a fixed rate, in an idle loop ---- */

#define LATE_PERIOD_TICKS 100
#define LATE_RUNS 2u

struct late {
    uint64_t wanted;
    uint64_t got;
    uint64_t tick;     /* of the last job */
    uint64_t first_ns; /* how late the first job of that tick came: the driver's jitter */
    double *late_ns;   /* without the jitter */
    double *raw_ns;
};

static jzx_behavior_result note_lateness(jzx_context *ctx, const jzx_message *msg) {
    struct late *self = ctx->state;
    uint64_t now = jzx_loop_now(ctx->loop);
    uint64_t tick = now / (uint64_t)TICK_NS;
    uint64_t late_ns = now % (uint64_t)TICK_NS;
    (void)msg;
    if (tick != self->tick) {
        self->tick = tick;
        self->first_ns = late_ns;
    }
    self->raw_ns[self->got] = (double)late_ns;
    self->late_ns[self->got] = (double)(late_ns - self->first_ns);
    return ++self->got == self->wanted ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void run_late(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct late late = {.wanted = size * LATE_RUNS, .tick = UINT64_MAX};
    late.late_ns = calloc(late.wanted, sizeof *late.late_ns);
    late.raw_ns = calloc(late.wanted, sizeof *late.raw_ns);
    BENCH_CHECK(late.late_ns != NULL && late.raw_ns != NULL);
    jzx_actor_id to = bench_spawn(loop, note_lateness, &late);
    for (uint64_t i = 0; i < size; i++)
        BENCH_CHECK(jzx_schedule_at_fixed_rate(loop, TICK_NS * (int64_t)(5 + i % LATE_PERIOD_TICKS),
                                               TICK_NS * LATE_PERIOD_TICKS, to, JZX_NOBODY, NULL, 0,
                                               DUE, NULL) == JZX_OK);
    bench_run_to_end(loop);
    BENCH_CHECK_EQUAL(late.got, late.wanted);
    bench_sort(late.late_ns, (unsigned)late.got);
    bench_sort(late.raw_ns, (unsigned)late.got);
    run->seconds = late.late_ns[late.got * 99 / 100] * 1e-9;
    run->ops = 1;
    run->notes[0] = late.late_ns[late.got / 2] * 1e-3;
    run->notes[1] = late.raw_ns[late.got * 99 / 100] * 1e-3;
    free(late.late_ns);
    free(late.raw_ns);
}

static const char *const late_notes[] = {"p50_us", "p99_with_jitter_us", NULL};

#define LATE(symbol, label, count)                                                                 \
    const struct bench symbol = {                                                                  \
        .name = label,                                                                             \
        .op = "p99 of how late jobs at 1 Hz come after their tick, without the driver's jitter",   \
        .checked = "every run of every job",                                                       \
        .batch = "1",                                                                              \
        .notes = late_notes,                                                                       \
        .kind = BENCH_ONE,                                                                         \
        .run = run_late,                                                                           \
        .size = count,                                                                             \
        .size_min = count,                                                                         \
        .config = &one_slot_loop,                                                                  \
        .aim = 500e3, /* 5 % of the resolution */                                                  \
    }

LATE(bench_schedule_late_1k, "schedule-late-1k", 1000);
LATE(bench_schedule_late_10k, "schedule-late-10k", 10000);
