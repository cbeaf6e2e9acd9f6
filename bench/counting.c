/* SPDX-License-Identifier: MIT */
/* One producer, one consumer: the cost of a message when turns have many. */
#include "bench.h"

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct bench_counter counter = {.expected = size};
    struct bench_producer producer = {.to = bench_spawn(loop, bench_count, &counter), .left = size};
    jzx_actor_id id = bench_spawn(loop, bench_produce, &producer);
    double start = bench_now();
    bench_start(loop, id, 0, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(counter.sum, size);
}

const struct bench bench_counting = {
    .name = "counting",
    .op = "message",
    .checked = "sum at the consumer",
    .batch = "64",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 8000000,
    .payload = 8,
    .floor_row = "counting",
    .aim = 12,
    .aim_2 = 12,
    .ratio_limit = 2,
};
