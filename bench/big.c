/* SPDX-License-Identifier: MIT */
/* 120 actors, each sends pings to random others, one at a time, and answers theirs. */
#include "bench.h"

#define ACTORS 120

enum { START, PING, PONG };

struct chatter {
    uint64_t left;
    uint64_t random;
};

static struct chatter chatters[ACTORS];
static jzx_actor_id ids[ACTORS];
static uint64_t answered;

/* The generator of the floor. */
static inline uint32_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

static jzx_behavior_result chat(jzx_context *ctx, const jzx_message *msg) {
    struct chatter *self = ctx->state;
    if (msg->tag == PING) {
        bench_send(ctx, msg->sender, PONG, 0);
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag == PONG)
        answered++;
    if (self->left != 0) {
        self->left--;
        bench_send(ctx, ids[next_random(&self->random) % ACTORS], PING, 0);
    }
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    for (unsigned i = 0; i < ACTORS; i++) {
        chatters[i] = (struct chatter){.left = size, .random = 88172645463325252u + i * 7919u};
        ids[i] = bench_spawn(loop, chat, &chatters[i]);
    }
    double start = bench_now();
    for (int i = 0; i < ACTORS; i++)
        bench_start(loop, ids[i], START, 0);
    bench_run_until_quiet(loop);
    run->seconds = bench_now() - start;
    run->ops = 2 * ACTORS * size;
    BENCH_CHECK_EQUAL(answered, ACTORS * size);
    for (int i = 0; i < ACTORS; i++)
        BENCH_CHECK_EQUAL(chatters[i].left, 0);
}

const struct bench bench_big = {
    .name = "big",
    .op = "message",
    .checked = "pings answered",
    .batch = "1",
    .run = run,
    .size = 20000,
    .payload = 8,
    .floor_row = "big",
    .aim = 24,
    .ratio_limit = 1.5,
};
