/* SPDX-License-Identifier: MIT */
/* 100 actors that compute and talk to nobody: what several workers are for. */
#include "tasks.h"

const struct bench bench_tasks = {
    .name = "tasks",
    .op = "task of 5 us, 100 actors",
    .checked = "results of each actor",
    .batch = "1",
    .kind = BENCH_WORKERS,
    .run = task_run,
    .size = 200,
    .payload = 8,
    .aim = -1,
    .speedup_min = 1.9,
};
