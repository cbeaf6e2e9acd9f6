/* SPDX-License-Identifier: MIT */
/* Actors that compute (tasks, mixed): each has so many tasks of 5 us, one a message, sends itself
 * the next one, and tells the judge after the last. */
#ifndef JZX_BENCH_TASKS_H
#define JZX_BENCH_TASKS_H

#include "bench.h"

#define TASK_ACTORS 100u
#define TASK_US 5u
#define TASK_SEED 0x9E3779B97F4A7C15u

enum { TASK_DONE = 100 }; /* beside the tags of other actors of the row */

struct tasker {
    BENCH_APART uint64_t left;
    uint64_t sum;
    jzx_actor_id judge;
};

static inline jzx_behavior_result task_work(jzx_context *ctx, const jzx_message *msg) {
    struct tasker *self = ctx->state;
    self->sum += bench_compute(bench_value(msg), TASK_US);
    if (--self->left != 0) {
        bench_send(ctx, ctx->self, 0, TASK_SEED);
        return JZX_BEHAVIOR_OK;
    }
    bench_send(ctx, self->judge, TASK_DONE, 0);
    return JZX_BEHAVIOR_STOP;
}

/* Spawns TASK_ACTORS actors with so many tasks each, and starts them. */
static inline void task_start(jzx_loop *loop, struct tasker *taskers, uint64_t tasks,
                              jzx_actor_id judge) {
    for (unsigned i = 0; i < TASK_ACTORS; i++) {
        taskers[i] = (struct tasker){.left = tasks, .judge = judge};
        bench_start(loop, bench_spawn(loop, task_work, &taskers[i]), 0, TASK_SEED);
    }
}

static inline void task_check(const struct tasker *taskers, uint64_t tasks) {
    uint64_t result = bench_compute(TASK_SEED, TASK_US);
    for (unsigned i = 0; i < TASK_ACTORS; i++)
        BENCH_CHECK_EQUAL(taskers[i].sum, tasks * result);
}

/* Runs them and nothing else. */
static inline void task_run(jzx_loop *loop, uint64_t tasks, struct bench_run *run) {
    static struct tasker taskers[TASK_ACTORS];
    struct bench_judge judge = {.missing = TASK_ACTORS};
    jzx_actor_id judge_id = bench_spawn(loop, bench_await, &judge);
    double start = bench_now();
    task_start(loop, taskers, tasks, judge_id);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = TASK_ACTORS * tasks;
    task_check(taskers, tasks);
}

#endif
