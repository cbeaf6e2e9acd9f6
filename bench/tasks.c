/* SPDX-License-Identifier: MIT */
/* 100 actors that compute and talk to nobody: what several workers are for. */
#include "tasks.h"

/* ---- the same tasks by plain threads ---- */

static struct {
    uint64_t tasks; /* of each */
    uint64_t sums[BENCH_APART_MAX];
} apart;

static uint64_t run_part(unsigned index) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < apart.tasks; i++)
        sum += bench_compute(TASK_SEED, TASK_US);
    apart.sums[index] = sum;
    return apart.tasks;
}

static void run_apart(jzx_loop *unused, uint64_t tasks, struct bench_run *run) {
    unsigned count = jzx_loop_workers(unused);
    uint64_t result = bench_compute(TASK_SEED, TASK_US);
    apart.tasks = TASK_ACTORS * tasks / count;
    bench_run_apart(count, run_part, run);
    for (unsigned i = 0; i < count; i++)
        BENCH_CHECK_EQUAL(apart.sums[i], apart.tasks * result);
}

const struct bench bench_tasks = {
    .name = "tasks",
    .op = "task of 5 us, 100 actors",
    .checked = "results of each actor",
    .batch = "1",
    .kind = BENCH_WORKERS,
    .run = task_run,
    .apart = run_apart,
    .size = 200,
    .payload = 8,
    .aim = -1,
    .speedup_min = 1.9,
};
