/* SPDX-License-Identifier: MIT */
/* A function on a thread of the blocking pool, and its result, one after another: the worker and
 * the thread wake each other, as the two threads of the floor do. */
#include "bench.h"

enum { START, DONE };

struct caller {
    uint64_t left;
    uint64_t sum;
};

static jzx_err add_one(void *arg) {
    ++*(uint64_t *)arg;
    return JZX_OK;
}

static void call_next(jzx_context *ctx, struct caller *self) {
    BENCH_CHECK(jzx_blocking_copy_to(ctx, NULL, add_one, &self->sum, sizeof self->sum, DONE,
                                     NULL) == JZX_OK);
}

static jzx_behavior_result call(jzx_context *ctx, const jzx_message *msg) {
    struct caller *self = ctx->state;
    if (msg->tag == DONE) {
        const jzx_result *result = msg->data;
        BENCH_CHECK(result->err == JZX_OK && result->len == sizeof self->sum);
        memcpy(&self->sum, jzx_result_data(result), sizeof self->sum);
        if (--self->left == 0)
            return JZX_BEHAVIOR_STOP;
    }
    call_next(ctx, self);
    return JZX_BEHAVIOR_OK;
}

static void run_calls(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct caller caller = {.left = size};
    bench_start(loop, bench_spawn(loop, call, &caller), START, 0);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(caller.sum, size);
    jzx_blocking_stats stats = {.size = sizeof stats};
    BENCH_CHECK(jzx_blocking_pool_stats(jzx_blocking_pool_find(loop, JZX_BLOCKING_DEFAULT),
                                        &stats) == JZX_OK);
    BENCH_CHECK_EQUAL(stats.threads_started, 1);
}

const struct bench bench_blocking = {
    .name = "blocking",
    .op = "blocking call round trip",
    .checked = "calls, results, threads",
    .batch = "1",
    .kind = BENCH_ONE,
    .run = run_calls,
    .size = 5000,
    .size_min = 100,
    .foreign_threads = 1,
    .payload = 8,
    .floor_row = "futex",
    .aim = -1,
    .ratio_limit = 1.5,
};
