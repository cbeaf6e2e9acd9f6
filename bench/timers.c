/* SPDX-License-Identifier: MIT */
/* Timers of one actor: what it costs to set and cancel them, what it costs to set a million and let
 * them fire, and how late they are when there is nothing else to do. */
#include "bench.h"

#include <stdlib.h>
#include <sys/resource.h>

JZX_BENCH_SHOWS("E67");

enum { GO, DUE };

static jzx_timer_id set_timer(jzx_context *ctx, uint64_t delay_ns, uint64_t value) {
    jzx_timer_id timer = JZX_NO_TIMER;
    BENCH_CHECK(jzx_send_after(ctx->loop, ctx->self, ctx->self, &value, sizeof value, DUE, delay_ns,
                               &timer) == JZX_OK);
    return timer;
}

/* ---- timer-cancel: BENCH_BATCH are set and cancelled, then a message to itself ---- */

struct canceller {
    uint64_t left;
    uint64_t random;
};

static jzx_behavior_result set_and_cancel(jzx_context *ctx, const jzx_message *msg) {
    struct canceller *self = ctx->state;
    jzx_timer_id timers[BENCH_BATCH];
    unsigned count = self->left < BENCH_BATCH ? (unsigned)self->left : BENCH_BATCH;
    BENCH_CHECK_EQUAL(msg->tag, GO);
    for (unsigned i = 0; i < count; i++)
        timers[i] = set_timer(ctx, JZX_MS(bench_delay_ms(&self->random, 1000, 60000)), i);
    for (unsigned i = 0; i < count; i++)
        BENCH_CHECK(jzx_timer_cancel(ctx->loop, timers[i]) == JZX_OK);
    self->left -= count;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, ctx->self, GO, 0);
    return JZX_BEHAVIOR_OK;
}

static void run_cancel(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct canceller canceller = {.left = size, .random = BENCH_SEED};
    bench_start(loop, bench_spawn(loop, set_and_cancel, &canceller), GO, 0);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    jzx_stats stats = bench_stats(loop);
    BENCH_CHECK_EQUAL(stats.timers_set, size);
    BENCH_CHECK_EQUAL(stats.timers_fired, 0);
    BENCH_CHECK_EQUAL(stats.timers_ended, size);
}

const struct bench bench_timer_cancel = {
    .name = "timer-cancel",
    .op = "timer of 1 to 60 s that is set and cancelled",
    .checked = "every cancel, timers set, fired and ended",
    .batch = "64",
    .shows = shows,
    .kind = BENCH_BOTH,
    .run = run_cancel,
    .size = 2000000,
    .payload = 8,
    .floor_row = "timer-cancel",
    .aim = -1, /* the limit is to be ahead of libuv, Go and Tokio: race.c */
};

/* ---- timer-fire: BENCH_BATCH are set, then a message to itself ---- */

/* A value is the time that was asked for, from the start, and the number of the timer. */
#define NUMBER_BITS 20u

/* Timers that may be handled without a look at the clock. */
#define LOOK_EVERY 64u

struct setter {
    uint64_t size;
    uint64_t set;
    uint64_t got;
    uint64_t random;
    uint64_t start_ns;
    uint64_t elapsed_ns; /* from the start, at the last look: not later than now */
    uint64_t late_ns;    /* at most, of those at which the clock was looked at */
    uint64_t *seen;      /* a bit for each timer */
};

static void set_some(jzx_context *ctx, struct setter *self) {
    uint64_t elapsed_ns = jzx_loop_now(ctx->loop) - self->start_ns;
    for (unsigned i = 0; i < BENCH_BATCH && self->set < self->size; i++, self->set++) {
        uint64_t delay_ns = JZX_MS(bench_delay_ms(&self->random, 1, 1000));
        set_timer(ctx, delay_ns, (elapsed_ns + delay_ns) << NUMBER_BITS | self->set);
    }
    if (self->set < self->size)
        bench_send(ctx, ctx->self, GO, 0);
}

static jzx_behavior_result set_and_count(jzx_context *ctx, const jzx_message *msg) {
    struct setter *self = ctx->state;
    if (msg->tag == GO) {
        set_some(ctx, self);
        return JZX_BEHAVIOR_OK;
    }
    uint64_t asked_ns = bench_value(msg) >> NUMBER_BITS;
    uint64_t number = bench_value(msg) & ((1u << NUMBER_BITS) - 1);
    uint64_t bit = (uint64_t)1 << number % 64;
    if (self->elapsed_ns < asked_ns ||
        self->got % LOOK_EVERY == 0) { /* or it is not early anyway */
        self->elapsed_ns = jzx_loop_now(ctx->loop) - self->start_ns;
        if (self->elapsed_ns - asked_ns > self->late_ns)
            self->late_ns = self->elapsed_ns - asked_ns;
    }
    BENCH_CHECK(self->elapsed_ns >= asked_ns);
    BENCH_CHECK((self->seen[number / 64] & bit) == 0);
    self->seen[number / 64] |= bit;
    return ++self->got == self->size ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* Of the process, user and system. */
static double cpu_seconds(void) {
    struct rusage usage;
    BENCH_CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void run_fire(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct setter setter = {
        .size = size, .random = BENCH_SEED, .start_ns = jzx_loop_now(loop) /* no timer is before */
    };
    BENCH_CHECK(size <= 1u << NUMBER_BITS);
    setter.seen = calloc(size / 64 + 1, sizeof *setter.seen);
    BENCH_CHECK(setter.seen != NULL);
    double start = bench_now();
    double cpu_start = cpu_seconds();
    bench_start(loop, bench_spawn(loop, set_and_count, &setter), GO, 0);
    bench_run_to_end(loop);
    run->seconds = cpu_seconds() - cpu_start;
    run->ops = size;
    run->notes[0] = bench_now() - start;
    run->notes[1] = (double)setter.late_ns * 1e-6;
    BENCH_CHECK_EQUAL(setter.got, size);
    BENCH_CHECK_EQUAL(bench_stats(loop).timers_fired, size);
    free(setter.seen);
}

static const char *const fire_notes[] = {"wall_s", "late_max_ms", NULL};

const struct bench bench_timer_fire = {
    .name = "timer-fire",
    .op = "timer of a million within a second, set and fired: CPU time",
    .checked = "each fires once, none early",
    .batch = "64",
    .notes = fire_notes,
    .kind = BENCH_ONE,
    .run = run_fire,
    .size = 1000000,
    .payload = 8,
    .floor_row = "timer-fire",
    .aim = 250,
    .ratio_limit = 1.5,
};

/* ---- timer-late: one timer after the other ---- */

#define LATE_DELAY_NS JZX_MS(1)
#define LATE_COUNT_MAX 1000u
#define TICK_NS 1000000u /* timers fire at whole milliseconds: include/jzx/timer.h */

struct sleeper {
    uint64_t size;
    uint64_t got;
    uint64_t asked_ns;
    double late_ns[LATE_COUNT_MAX];  /* after its millisecond */
    double after_ns[LATE_COUNT_MAX]; /* after what was asked for */
};

static jzx_behavior_result sleep_again(jzx_context *ctx, const jzx_message *msg) {
    struct sleeper *self = ctx->state;
    uint64_t now = jzx_loop_now(ctx->loop);
    if (msg->tag == DUE) {
        uint64_t due_ns = (self->asked_ns + TICK_NS - 1) / TICK_NS * TICK_NS;
        BENCH_CHECK_EQUAL(bench_value(msg), self->got);
        BENCH_CHECK(now >= due_ns);
        self->late_ns[self->got] = (double)(now - due_ns);
        self->after_ns[self->got] = (double)(now - self->asked_ns);
        self->got++;
    }
    if (self->got == self->size)
        return JZX_BEHAVIOR_STOP;
    self->asked_ns = jzx_loop_now(ctx->loop) + LATE_DELAY_NS;
    set_timer(ctx, LATE_DELAY_NS, self->got);
    return JZX_BEHAVIOR_OK;
}

static void run_late(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static struct sleeper sleeper;
    unsigned count = (unsigned)size;
    BENCH_CHECK(size <= LATE_COUNT_MAX);
    sleeper = (struct sleeper){.size = size};
    bench_start(loop, bench_spawn(loop, sleep_again, &sleeper), GO, 0);
    bench_run_to_end(loop);
    BENCH_CHECK_EQUAL(sleeper.got, size);
    bench_sort(sleeper.late_ns, count);
    bench_sort(sleeper.after_ns, count);
    run->seconds = sleeper.late_ns[count / 2] * 1e-9;
    run->ops = 1;
    run->notes[0] = sleeper.late_ns[count * 99 / 100] * 1e-3;
    run->notes[1] = sleeper.after_ns[count / 2] * 1e-3;
}

static const char *const late_notes[] = {"p99_us", "p50_after_asked_us", NULL};

const struct bench bench_timer_late = {
    .name = "timer-late",
    .op = "p50 of how late a timer of 1 ms is after its millisecond, in an idle loop",
    .checked = "each fires once, in order, none early",
    .batch = "1",
    .notes = late_notes,
    .kind = BENCH_ONE,
    .run = run_late,
    .size = 200,
    .size_min = 20,
    .payload = 8,
    .aim = 100e3,
};
