/* SPDX-License-Identifier: MIT */
/* Idle fibers: resident memory of the process for each, everything but page tables included. Each
 * has begun, has received a message and waits for the next. */
#include "bench.h"

#include <stdio.h>

JZX_BENCH_SHOWS("E68");

#define WAVE 1000u /* fibers that have a message at once */

/* 6 GiB for a million. */
#define MILLION_BYTES_MAX 6442

static uint64_t received;

static void wait_on(jzx_context *ctx) {
    jzx_message msg;
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK)
        received += bench_value(&msg);
}

static double page_table_bytes(void) {
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    BENCH_CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "VmPTE: %llu kB", &kib) != 1)
        continue;
    fclose(file);
    return (double)kib * 1024;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    double before = bench_resident_bytes();
    double tables_before = page_table_bytes();
    double start = bench_now();
    received = 0;
    for (uint64_t i = 0; i < size; i++) {
        jzx_actor_id id;
        BENCH_CHECK(jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = wait_on), &id) == JZX_OK);
        bench_start(loop, id, 0, 1);
        if (i % WAVE == WAVE - 1)
            bench_run_until_quiet(loop);
    }
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->amount = bench_resident_bytes() - before;
    run->notes[0] = (page_table_bytes() - tables_before) / (double)size;
    run->notes[1] = run->seconds;
    run->ops = size;
    jzx_stats stats = bench_stats(loop);
    BENCH_CHECK_EQUAL(stats.spawned - stats.exited, size); /* else see vm.max_map_count */
    BENCH_CHECK_EQUAL(received, size);
}

static const char *const notes[] = {"bytes of page tables", "seconds", NULL};

const struct bench bench_fiber_memory = {
    .name = "fiber-memory",
    .op = "idle fiber, of 20,000",
    .checked = "messages received, fibers alive",
    .batch = "1",
    .shows = shows,
    .notes = notes,
    .run = run,
    .size = 20000,
    .payload = 8,
    .unit = BENCH_BYTES,
    .aim = 4608,
};

const struct bench bench_fiber_million = {
    .name = "fiber-million",
    .op = "idle fiber, of 1,000,000",
    .checked = "messages received, fibers alive",
    .batch = "1",
    .shows = shows,
    .notes = notes,
    .kind = BENCH_ONE,
    .if_named = true,
    .run = run,
    .size = 1000000,
    .payload = 8,
    .pairs_max = 3,
    .unit = BENCH_BYTES,
    .aim = MILLION_BYTES_MAX,
};
