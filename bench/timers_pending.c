/* SPDX-License-Identifier: MIT */
/* Many timers that wait: what memory each takes, and what it costs to set and cancel others beside
 * them. */
#include "bench.h"

#include <stdlib.h>

enum { FILL, REPLACE, FRESH, DRAIN, DUE };

#define TIMERS_1K 1000u
#define TIMERS_32K 32768u
#define TIMERS_1M 1000000u

/* Does so much of each kind of work, BENCH_BATCH at a time, and then waits to be told more. */
struct holder {
    jzx_timer_id *timers;
    uint64_t count;
    uint64_t random;
    uint64_t left; /* of the work */
};

/* No run takes so long that one of them is due. */
static jzx_timer_id set_timer(jzx_context *ctx, struct holder *self) {
    jzx_timer_id timer = JZX_NO_TIMER;
    uint64_t value = self->left;
    uint64_t delay_ns = JZX_MS(bench_delay_ms(&self->random, 60000, 120000));
    BENCH_CHECK(jzx_send_after(ctx->loop, ctx->self, ctx->self, &value, sizeof value, DUE, delay_ns,
                               &timer) == JZX_OK);
    return timer;
}

static void cancel_timer(jzx_context *ctx, jzx_timer_id timer) {
    BENCH_CHECK(jzx_timer_cancel(ctx->loop, timer) == JZX_OK);
}

static jzx_behavior_result hold(jzx_context *ctx, const jzx_message *msg) {
    struct holder *self = ctx->state;
    for (unsigned i = 0; i < BENCH_BATCH && self->left != 0; i++) {
        uint64_t at = --self->left;
        switch (msg->tag) {
        case FILL: self->timers[at] = set_timer(ctx, self); break;
        case REPLACE:
            at = bench_random(&self->random) * self->count >> 32;
            cancel_timer(ctx, self->timers[at]);
            self->timers[at] = set_timer(ctx, self);
            break;
        case FRESH: cancel_timer(ctx, set_timer(ctx, self)); break;
        case DRAIN: cancel_timer(ctx, self->timers[at]); break;
        default: bench_fail("a timer was due");
        }
    }
    if (self->left != 0)
        bench_send(ctx, ctx->self, msg->tag, 0);
    return JZX_BEHAVIOR_OK;
}

/* Has so much work done, and returns how long it took. */
static double work(jzx_loop *loop, jzx_actor_id holder_id, struct holder *holder, uint32_t tag,
                   uint64_t amount) {
    holder->left = amount;
    double start = bench_now();
    bench_start(loop, holder_id, tag, 0);
    bench_run_until_quiet(loop);
    double seconds = bench_now() - start;
    BENCH_CHECK_EQUAL(holder->left, 0);
    return seconds;
}

static void check_pending(jzx_loop *loop, uint64_t count) {
    jzx_stats stats = bench_stats(loop);
    BENCH_CHECK_EQUAL(stats.timers_set - stats.timers_ended, count);
    BENCH_CHECK_EQUAL(stats.timers_fired, 0);
}

static struct holder holder_with_room(uint64_t count) {
    struct holder holder = {.count = count, .random = BENCH_SEED};
    holder.timers = malloc(count * sizeof *holder.timers);
    BENCH_CHECK(holder.timers != NULL);
    memset(holder.timers, 0xFF, count * sizeof *holder.timers); /* or its pages would come later */
    return holder;
}

/* ---- timer-memory ---- */

static void run_memory(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct holder holder = holder_with_room(size);
    jzx_actor_id id = bench_spawn(loop, hold, &holder);
    double before = bench_resident_bytes();
    run->seconds = work(loop, id, &holder, FILL, size);
    run->amount = bench_resident_bytes() - before;
    run->ops = size;
    check_pending(loop, size);
    work(loop, id, &holder, DRAIN, size);
    check_pending(loop, 0);
    free(holder.timers);
}

const struct bench bench_timer_memory = {
    .name = "timer-memory",
    .op = "pending timer, of 1,000,000",
    .checked = "timers pending, every cancel",
    .batch = "64",
    .run = run_memory,
    .size = TIMERS_1M,
    .payload = 8,
    .unit = BENCH_BYTES,
    .aim = 128,
};

/* ---- timer-scale ---- */

static void run_scale(jzx_loop *loop, uint64_t count, uint64_t size, struct bench_run *run) {
    struct holder holder = holder_with_room(count);
    jzx_actor_id id = bench_spawn(loop, hold, &holder);
    work(loop, id, &holder, FILL, count);
    run->seconds = work(loop, id, &holder, FRESH, size);
    run->ops = size;
    run->notes[0] = work(loop, id, &holder, REPLACE, size) * 1e9 / (double)size;
    check_pending(loop, count);
    work(loop, id, &holder, DRAIN, count);
    check_pending(loop, 0);
    free(holder.timers);
}

static const char *const scale_notes[] = {"random_ns", NULL};

static void run_1k(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_scale(loop, TIMERS_1K, size, run);
}

/* random_ns: one of them at random is cancelled and another set; of a million no line is in
 * the cache. */
#define SCALE(id, shown, timers, other, limit)                                                     \
    static void run_##id(jzx_loop *loop, uint64_t size, struct bench_run *figures) {               \
        run_scale(loop, timers, size, figures);                                                    \
    }                                                                                              \
    const struct bench bench_##id = {                                                              \
        .name = shown,                                                                             \
        .op = "timer set and cancelled beside so many; alone: beside 1,000",                       \
        .checked = "timers pending, every cancel",                                                 \
        .batch = "64",                                                                             \
        .notes = scale_notes,                                                                      \
        .kind = BENCH_ONE,                                                                         \
        .run = run_##id,                                                                           \
        .alone = other,                                                                            \
        .size = 1000000,                                                                           \
        .payload = 8,                                                                              \
        .aim = -1,                                                                                 \
        .ratio_limit = limit,                                                                      \
    }

SCALE(timer_scale_1k, "timer-scale-1k", TIMERS_1K, NULL, 0);
SCALE(timer_scale_32k, "timer-scale-32k", TIMERS_32K, run_1k, 1.3);
SCALE(timer_scale_1m, "timer-scale-1m", TIMERS_1M, run_1k, 1.3);
