/* SPDX-License-Identifier: MIT */
/* Let it crash: a child that fails on its first message is started again by its supervisor, over
 * and over; and short lives that somebody watches. */
#include "bench.h"

#include <stdlib.h>

JZX_BENCH_SHOWS("C29");

/* ---- restart: from the failure to the init of the next one ---- */

struct victim {
    uint64_t size;
    uint64_t restarts;
    uint64_t failed_ns;
    double *took_ns;
    jzx_actor_id supervisor;
};

static jzx_err come_back(jzx_context *ctx) {
    struct victim *self = ctx->state;
    if (self->failed_ns != 0)
        self->took_ns[self->restarts++] = (double)(bench_now_ns() - self->failed_ns);
    if (self->restarts < self->size)
        bench_send(ctx, ctx->self, 0, 1);
    else
        BENCH_CHECK(jzx_actor_stop(ctx->loop, self->supervisor, JZX_STOP_AFTER_MESSAGE) == JZX_OK);
    return JZX_OK;
}

static jzx_behavior_result fail(jzx_context *ctx, const jzx_message *msg) {
    struct victim *self = ctx->state;
    BENCH_CHECK_EQUAL(bench_value(msg), 1);
    self->failed_ns = bench_now_ns();
    return JZX_BEHAVIOR_FAIL;
}

static void run_restart(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct victim victim = {.size = size, .took_ns = malloc(size * sizeof(double))};
    BENCH_CHECK(victim.took_ns != NULL);
    memset(victim.took_ns, 0, size * sizeof(double)); /* or its pages would come later */
    const jzx_child_spec child = {
        .name = "victim", .behavior = fail, .init = come_back, .state = &victim};
    const jzx_supervisor_opts opts = {.size = sizeof opts,
                                      .intensity = JZX_UNLIMITED,
                                      .children = &child,
                                      .child_count = 1,
                                      .child_size = sizeof child};
    BENCH_CHECK(jzx_spawn_supervisor(loop, &opts, &victim.supervisor) == JZX_OK);
    bench_run_to_end(loop);
    BENCH_CHECK_EQUAL(victim.restarts, size);
    BENCH_CHECK_EQUAL(bench_stats(loop).failed, size);
    double sum_ns = 0;
    for (uint64_t i = 0; i < size; i++)
        sum_ns += victim.took_ns[i];
    bench_sort(victim.took_ns, (unsigned)size);
    run->seconds = sum_ns * 1e-9;
    run->ops = size;
    run->notes[0] = victim.took_ns[size / 2];
    run->notes[1] = victim.took_ns[size * 99 / 100];
    free(victim.took_ns);
}

static const char *const restart_notes[] = {"p50_ns", "p99_ns", NULL};

const struct bench bench_restart = {
    .name = "restart",
    .op = "failure of a child until its successor is there, mean",
    .checked = "restarts, failures",
    .batch = "1",
    .shows = shows,
    .notes = restart_notes,
    .kind = BENCH_BOTH,
    .run = run_restart,
    .size = 100000,
    .payload = 8,
    .aim = 1000,
    .aim_2 = 1000,
};

/* ---- monitor: an actor is spawned and watched, gets a message and ends ---- */

struct watcher {
    uint64_t left;
    uint64_t down;
    uint64_t size;
};

static jzx_behavior_result once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    BENCH_CHECK_EQUAL(bench_value(msg), 1);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result watch(jzx_context *ctx, const jzx_message *msg) {
    struct watcher *self = ctx->state;
    if (msg->tag == JZX_TAG_DOWN) {
        const jzx_exit_notice *notice = msg->data;
        BENCH_CHECK_EQUAL(notice->reason, JZX_EXIT_NORMAL);
        return ++self->down == self->size ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    }
    const jzx_spawn_opts opts = {.size = sizeof opts, .behavior = once};
    for (uint32_t i = 0; i < BENCH_BATCH && self->left != 0; i++, self->left--) {
        jzx_actor_id id = JZX_NOBODY;
        jzx_monitor_ref ref;
        BENCH_CHECK(jzx_spawn_watched(ctx, &opts, false, &id, &ref) == JZX_OK);
        bench_send(ctx, id, 0, 1);
    }
    if (self->left != 0)
        bench_send(ctx, ctx->self, 0, 0);
    return JZX_BEHAVIOR_OK;
}

static void run_monitor(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct watcher watcher = {.left = size, .size = size};
    bench_start(loop, bench_spawn(loop, watch, &watcher), 0, 0);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(watcher.down, size);
    BENCH_CHECK_EQUAL(bench_stats(loop).exited, size + 1);
}

const struct bench bench_monitor = {
    .name = "monitor",
    .op = "spawn with a monitor + message + exit + DOWN",
    .checked = "exits, reasons, DOWN messages",
    .batch = "64",
    .shows = shows,
    .kind = BENCH_BOTH,
    .run = run_monitor,
    .size = 500000,
    .payload = 8,
    .aim = 150,
    .aim_2 = 150,
};
