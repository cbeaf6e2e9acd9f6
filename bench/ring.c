/* SPDX-License-Identifier: MIT */
/* A ring of 503 actors and one message that runs around it: as pingpong, with actors that are not
 * in the nearest cache. */
#include "bench.h"

#define ACTORS 503

struct member {
    jzx_actor_id peer;
    uint64_t hops;
};

static struct member members[ACTORS];

static jzx_behavior_result hop(jzx_context *ctx, const jzx_message *msg) {
    struct member *self = ctx->state;
    uint64_t left = bench_value(msg);
    if (left != 0) {
        self->hops++;
        bench_send(ctx, self->peer, 0, left - 1);
    } else {
        bench_finish(ctx);
    }
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_actor_id ids[ACTORS];
    for (int i = 0; i < ACTORS; i++)
        ids[i] = bench_spawn(loop, hop, &members[i]);
    for (int i = 0; i < ACTORS; i++)
        members[i].peer = ids[(i + 1) % ACTORS];
    double start = bench_now();
    bench_start(loop, ids[0], 0, size);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    for (uint64_t i = 0; i < ACTORS; i++)
        BENCH_CHECK_EQUAL(members[i].hops, size / ACTORS + (i < size % ACTORS));
}

const struct bench bench_ring = {
    .name = "ring",
    .op = "hop",
    .checked = "hops of each actor",
    .batch = "1",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 8000000,
    .payload = 8,
    .floor_row = "ring",
    .aim = 15,
    .aim_2 = 15,
    .ratio_limit = 2,
};
