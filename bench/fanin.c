/* SPDX-License-Identifier: MIT */
/* 100 producers, one consumer whose mailbox they would fill. */
#include "bench.h"

#define PRODUCERS 100

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static struct bench_producer producers[PRODUCERS];
    struct bench_counter counter = {.expected = PRODUCERS * size};
    jzx_actor_id consumer = bench_spawn(loop, bench_count, &counter);
    double start = bench_now();
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct bench_producer){.to = consumer, .left = size};
        bench_start(loop, bench_spawn(loop, bench_produce, &producers[i]), 0, 0);
    }
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = PRODUCERS * size;
    BENCH_CHECK_EQUAL(counter.sum, PRODUCERS * size);
    for (int i = 0; i < PRODUCERS; i++)
        BENCH_CHECK_EQUAL(producers[i].left, 0);
}

const struct bench bench_fanin = {
    .name = "fanin",
    .op = "message",
    .checked = "sum at the consumer",
    .batch = "64",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 80000,
    .payload = 8,
    .floor_row = "fanin",
    .aim = 15,
    .aim_2 = 17,
    .ratio_limit = 2,
};
