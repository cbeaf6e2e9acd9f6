/* SPDX-License-Identifier: MIT */
/* The work of `tasks` on plain threads, one per worker, without actors: about what a second core of
 * this machine gives at this time, for the rows that ask for a gain. */
#include "tasks.h"

#include <pthread.h>

#define THREADS_MAX 64u

struct share {
    BENCH_APART uint64_t tasks;
    uint64_t sum;
};

static void *work(void *arg) {
    struct share *share = arg;
    for (uint64_t i = 0; i < share->tasks; i++)
        share->sum += bench_compute(TASK_SEED, TASK_US);
    return NULL;
}

static void run(jzx_loop *loop, uint64_t tasks, struct bench_run *run) {
    static struct share shares[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    uint32_t count = jzx_loop_workers(loop);
    uint64_t sum = 0;
    BENCH_CHECK(count <= THREADS_MAX);
    double start = bench_now();
    for (uint32_t i = 0; i < count; i++) {
        shares[i] = (struct share){.tasks = TASK_ACTORS * tasks / count};
        BENCH_CHECK(pthread_create(&threads[i], NULL, work, &shares[i]) == 0);
    }
    run->ops = 0;
    for (uint32_t i = 0; i < count; i++) {
        BENCH_CHECK(pthread_join(threads[i], NULL) == 0);
        sum += shares[i].sum;
        run->ops += shares[i].tasks;
    }
    run->seconds = bench_now() - start;
    BENCH_CHECK_EQUAL(sum, run->ops * bench_compute(TASK_SEED, TASK_US));
}

const struct bench bench_threads = {
    .name = "threads",
    .op = "the same task, by plain threads: what the machine can gain now",
    .checked = "results of all",
    .batch = "-",
    .kind = BENCH_WORKERS,
    .run = run,
    .size = 200,
    .aim = -1,
};
