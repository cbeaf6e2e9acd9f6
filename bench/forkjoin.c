/* SPDX-License-Identifier: MIT */
/* One driver that sends to 60 actors in turn. */
#include "bench.h"

#define ACTORS 60

struct driver {
    uint64_t left;
    uint64_t next;
};

static jzx_actor_id ids[ACTORS];
static struct bench_counter counters[ACTORS];

static jzx_behavior_result fork_out(jzx_context *ctx, const jzx_message *msg) {
    struct driver *self = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < BENCH_BATCH && self->left != 0; i++, self->left--) {
        if (!bench_offer(ctx, ids[self->next], 0, 1))
            return JZX_BEHAVIOR_OK;
        if (++self->next == ACTORS)
            self->next = 0;
    }
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, ctx->self, 0, 0);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    for (int i = 0; i < ACTORS; i++) {
        counters[i] = (struct bench_counter){.expected = size};
        ids[i] = bench_spawn(loop, bench_count, &counters[i]);
    }
    struct driver driver = {.left = ACTORS * size};
    jzx_actor_id id = bench_spawn(loop, fork_out, &driver);
    double start = bench_now();
    bench_start(loop, id, 0, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = ACTORS * size;
    for (int i = 0; i < ACTORS; i++)
        BENCH_CHECK_EQUAL(counters[i].sum, size);
}

const struct bench bench_forkjoin = {
    .name = "forkjoin",
    .op = "message",
    .checked = "sum at each actor",
    .batch = "64",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 100000,
    .payload = 8,
    .floor_row = "forkjoin",
    .aim = 14,
    .aim_2 = 14,
    .ratio_limit = 2,
};
