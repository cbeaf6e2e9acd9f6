/* SPDX-License-Identifier: MIT */
/* What a loop asks of its allocator once it is warm: nothing, neither for messages nor for spawns.
 * Warm means: it has once had as many messages, or actors, as the row can have at once, whatever
 * turns the clock allows. The calls that come after that are counted. */
#include "bench.h"

#include <stdlib.h>

static uint64_t calls;

static void *counting_alloc(void *ctx, size_t size) {
    (void)ctx;
    calls++;
    return malloc(size);
}

static void counting_free(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    (void)size;
    calls++;
    free(ptr);
}

static const jzx_config config = {.size = sizeof(jzx_config),
                                  .allocator = {counting_alloc, counting_free, NULL}};

/* ---- messages: of every size that travels in blocks of the loop ---- */

static const uint32_t sizes[] = {8, 32, 33, 100, 500, 1000, 2000, 4000};
#define SIZE_COUNT (sizeof sizes / sizeof sizes[0])
static const char payload[4000];

struct sink {
    uint64_t received;
    uint64_t bytes;
};

struct source {
    jzx_actor_id to;
    uint64_t sent;
    uint64_t left;
};

static jzx_behavior_result drain(jzx_context *ctx, const jzx_message *msg) {
    struct sink *self = ctx->state;
    self->received++;
    self->bytes += msg->len;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result pour(jzx_context *ctx, const jzx_message *msg) {
    struct source *self = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < BENCH_BATCH && self->left != 0; i++) {
        jzx_err err =
            jzx_send(ctx->loop, self->to, ctx->self, payload, sizes[self->sent % SIZE_COUNT], 0);
        if (err == JZX_ERR_MAILBOX_FULL) {
            BENCH_CHECK(jzx_send_when_room(ctx->loop, self->to, ctx->self) == JZX_OK);
            return JZX_BEHAVIOR_OK;
        }
        BENCH_CHECK(err == JZX_OK);
        self->sent++;
        self->left--;
    }
    if (self->left != 0)
        bench_send(ctx, ctx->self, 0, 0);
    return JZX_BEHAVIOR_OK;
}

/* Fills the mailbox with messages of each size. */
static void warm_messages(jzx_loop *loop, jzx_actor_id to) {
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        jzx_err err;
        do
            err = jzx_send(loop, to, JZX_NOBODY, payload, sizes[i], 0);
        while (err == JZX_OK);
        BENCH_CHECK(err == JZX_ERR_MAILBOX_FULL);
        bench_run_until_quiet(loop);
    }
}

static void run_messages(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct sink sink = {0};
    struct source source = {.to = bench_spawn(loop, drain, &sink), .left = size};
    jzx_actor_id id = bench_spawn(loop, pour, &source);
    warm_messages(loop, source.to);
    sink = (struct sink){0};
    calls = 0;
    double start = bench_now();
    bench_start(loop, id, 0, 0);
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    run->amount = (double)calls;
    uint64_t round_bytes = 0;
    for (size_t i = 0; i < SIZE_COUNT; i++)
        round_bytes += sizes[i];
    BENCH_CHECK_EQUAL(sink.received, size);
    BENCH_CHECK_EQUAL(sink.bytes, size / SIZE_COUNT * round_bytes);
}

/* ---- spawns: every other actor has a name and a cleanup, which need a record of their own ---- */

static uint64_t handled;
static uint64_t cleaned;

static jzx_behavior_result once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    handled += bench_value(msg);
    return JZX_BEHAVIOR_STOP;
}

static void clean(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    BENCH_CHECK(reason == JZX_EXIT_NORMAL);
    cleaned++;
}

static jzx_actor_id spawn_one(jzx_loop *loop, bool named) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = once);
    if (named) {
        opts.name = "named";
        opts.cleanup = clean;
    }
    BENCH_CHECK(jzx_spawn(loop, &opts, &id) == JZX_OK);
    return id;
}

static jzx_behavior_result drive(jzx_context *ctx, const jzx_message *msg) {
    uint64_t *left = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < BENCH_BATCH && *left != 0; i++, --*left)
        bench_send(ctx, spawn_one(ctx->loop, *left % 2 == 0), 0, 1);
    if (*left != 0)
        bench_send(ctx, ctx->self, 0, 0);
    return JZX_BEHAVIOR_OK;
}

/* As many actors at once as the driver can make before they run. */
static void warm_spawns(jzx_loop *loop) {
    for (uint32_t i = 0; i < 2 * BENCH_BATCH * JZX_DEFAULT_MSGS_PER_ACTOR; i++)
        bench_start(loop, spawn_one(loop, true), 0, 1);
    bench_run_until_quiet(loop);
}

static void run_spawns(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    uint64_t left = size;
    jzx_actor_id driver = bench_spawn(loop, drive, &left);
    warm_spawns(loop);
    handled = cleaned = 0;
    calls = 0;
    double start = bench_now();
    bench_start(loop, driver, 0, 0);
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    run->amount = (double)calls;
    BENCH_CHECK_EQUAL(handled, size);
    BENCH_CHECK_EQUAL(cleaned, size / 2);
}

const struct bench bench_allocations_message = {
    .name = "allocations-message",
    .op = "message, warm",
    .checked = "messages and bytes received",
    .batch = "64",
    .run = run_messages,
    .size = 400000,
    .config = &config,
    .payload = 4000,
    .unit = BENCH_ALLOCATIONS,
    .aim = 0,
};

const struct bench bench_allocations_spawn = {
    .name = "allocations-spawn",
    .op = "spawn, warm",
    .checked = "messages handled, cleanups",
    .batch = "64",
    .run = run_spawns,
    .size = 400000,
    .config = &config,
    .payload = 8,
    .unit = BENCH_ALLOCATIONS,
    .aim = 0,
};
