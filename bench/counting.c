/* SPDX-License-Identifier: MIT */
/* One producer, one consumer: the cost of a message when turns have many. */
#include "bench.h"

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    uint64_t sum = 0;
    struct bench_producer producer = {.to = bench_spawn(loop, bench_count, &sum), .left = size};
    jzx_actor_id id = bench_spawn(loop, bench_produce, &producer);
    double start = bench_now();
    bench_start(loop, id, 0, 0);
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(sum, size);
}

const struct bench bench_counting = {
    .name = "counting",
    .op = "message",
    .checked = "sum at the consumer",
    .batch = "64",
    .run = run,
    .size = 8000000,
    .payload = 8,
    .floor_row = "counting",
    .aim = 12,
    .ratio_limit = 2,
};
