/* SPDX-License-Identifier: MIT */
/* Work on all cores. A boss spawns an actor per job and adds their answers up; the runtime spreads
 * the jobs over its workers. At the end the program says what each of them did. */
#include <inttypes.h>
#include <jzx/jzx.h>
#include <stdio.h>
#include <string.h>

enum { JOBS = 64 };
enum { START = 1, JOB = 2, RESULT = 3 };

/* How many steps a number takes to reach 1: a few hundred microseconds a job. */
static uint64_t count_steps(uint64_t from, uint64_t to) {
    uint64_t steps = 0;
    for (uint64_t start = from; start < to; start++) {
        for (uint64_t n = start; n > 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1)
            steps++;
    }
    return steps;
}

/* One job, one answer, and then it is gone. */
static jzx_behavior_result work(jzx_context *ctx, const jzx_message *msg) {
    uint64_t job;
    memcpy(&job, msg->data, sizeof job);
    uint64_t steps = count_steps(job * 2000 + 1, (job + 1) * 2000 + 1);
    jzx_send(ctx->loop, msg->sender, ctx->self, &steps, sizeof steps, RESULT);
    return JZX_BEHAVIOR_STOP;
}

struct boss {
    uint64_t sum;
    uint32_t missing;
};

/* The state is the boss's alone: no lock, whatever worker it runs on. */
static jzx_behavior_result lead(jzx_context *ctx, const jzx_message *msg) {
    struct boss *self = ctx->state;
    if (msg->tag == RESULT) {
        uint64_t steps;
        memcpy(&steps, msg->data, sizeof steps);
        self->sum += steps;
        return --self->missing == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    }
    for (uint64_t job = 0; job < JOBS; job++) {
        jzx_actor_id worker;
        if (jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = work), &worker) != JZX_OK)
            return JZX_BEHAVIOR_FAIL;
        jzx_send(ctx->loop, worker, ctx->self, &job, sizeof job, JOB);
        self->missing++;
    }
    return JZX_BEHAVIOR_OK;
}

int main(void) {
    struct boss boss = {0};
    jzx_actor_id id;
    jzx_loop *loop = jzx_loop_create(NULL); /* a worker per CPU; see config.workers */
    if (loop == NULL)
        return 1;
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = lead, .state = &boss, .name = "boss"), &id);
    jzx_send(loop, id, JZX_NOBODY, NULL, 0, START);
    jzx_err err = jzx_loop_run(loop);
    printf("%" PRIu64 " steps\n", boss.sum);
    for (uint32_t i = 0; i < jzx_loop_workers(loop); i++) {
        jzx_worker_stats stats = {.size = sizeof stats};
        jzx_loop_worker_stats(loop, i, &stats);
        printf("worker %u: %" PRIu64 " messages, %" PRIu64 " actors taken from others\n", i,
               stats.handled, stats.stolen);
    }
    jzx_loop_destroy(loop);
    return err != JZX_OK || boss.missing != 0 || boss.sum != 14089287;
}
