/* SPDX-License-Identifier: MIT */
/* A million idle actors: resident memory of the process for each, everything included. Each has
 * handled a message, so that nothing which first use allocates is left out. */
#include "bench.h"

JZX_BENCH_SHOWS("E68");

#define WAVE 1000u /* actors that have a message at once */

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct bench_counter counter = {.expected = UINT64_MAX};
    double before = bench_resident_bytes();
    double start = bench_now();
    for (uint64_t i = 0; i < size; i++) {
        bench_start(loop, bench_spawn(loop, bench_count, &counter), 0, 1);
        if (i % WAVE == WAVE - 1)
            bench_run_until_quiet(loop);
    }
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->amount = bench_resident_bytes() - before;
    run->ops = size;
    BENCH_CHECK_EQUAL(counter.sum, size);
    jzx_stats stats = bench_stats(loop);
    BENCH_CHECK_EQUAL(stats.spawned - stats.exited, size);
}

const struct bench bench_memory = {
    .name = "memory",
    .op = "idle actor, of 1,000,000",
    .checked = "messages handled, actors alive",
    .batch = "1",
    .shows = shows,
    .run = run,
    .size = 1000000,
    .payload = 8,
    .unit = BENCH_BYTES,
    .floor_row = "memory",
    .aim = 192,
};
