/* SPDX-License-Identifier: MIT */
/* Items that go through 8 stages of 2 us each, 64 of them on the way at any time. */
#include "bench.h"

#define STAGES 8u
#define STAGE_US 2u
#define WINDOW 64u
#define SEED 0x9E3779B97F4A7C15u

struct stage {
    BENCH_APART jzx_actor_id next;
};

/* Where items come in and go out. */
struct gate {
    BENCH_APART jzx_actor_id first;
    uint64_t to_send;
    uint64_t to_come;
    uint64_t expected; /* of each item */
};

enum { START, ITEM };

static jzx_behavior_result process(jzx_context *ctx, const jzx_message *msg) {
    struct stage *self = ctx->state;
    bench_send(ctx, self->next, ITEM, bench_compute(bench_value(msg), STAGE_US));
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result pass(jzx_context *ctx, const jzx_message *msg) {
    struct gate *self = ctx->state;
    uint64_t count = msg->tag == START ? WINDOW : 1;
    if (msg->tag == ITEM) {
        BENCH_CHECK_EQUAL(bench_value(msg), self->expected);
        if (--self->to_come == 0)
            bench_finish(ctx);
    }
    for (; count != 0 && self->to_send != 0; count--, self->to_send--)
        bench_send(ctx, self->first, ITEM, SEED);
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static struct stage stages[STAGES];
    struct gate gate = {.to_send = size, .to_come = size, .expected = SEED};
    jzx_actor_id gate_id = bench_spawn(loop, pass, &gate);
    gate.first = gate_id;
    for (unsigned i = STAGES; i-- > 0;) {
        stages[i].next = gate.first;
        gate.first = bench_spawn(loop, process, &stages[i]);
        gate.expected = bench_compute(gate.expected, STAGE_US);
    }
    double start = bench_now();
    bench_start(loop, gate_id, START, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(gate.to_send, 0);
    BENCH_CHECK_EQUAL(gate.to_come, 0);
}

const struct bench bench_pipeline = {
    .name = "pipeline",
    .op = "item, 8 stages of 2 us, window 64",
    .checked = "the value of each item",
    .batch = "1",
    .kind = BENCH_WORKERS,
    .run = run,
    .size = 6000,
    .payload = 8,
    .aim = -1,
    .speedup_min = 1.7,
};
