/* SPDX-License-Identifier: MIT */
/* Two actors, one message that goes back and forth: the cost of a send and a turn with one
 * message. And many such pairs that know nothing of each other, for several workers. */
#include "bench.h"

JZX_BENCH_SHOWS("E62");

#define PAIRS 50u
#define PAIRS_FEW 4u

enum { START, PING, PONG };

struct player {
    BENCH_APART jzx_actor_id peer;
    uint64_t left;
    uint64_t received;
};

static struct player firsts[PAIRS];
static struct player seconds[PAIRS];

static jzx_behavior_result ping(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    if (msg->tag == PONG)
        self->received++;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    self->left--;
    bench_send(ctx, self->peer, PING, 0);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result pong(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    self->received++;
    bench_send(ctx, msg->sender, PONG, 0);
    return --self->left == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_actor_id ids[PAIRS]; /* of those that begin */

static void spawn_pairs(jzx_loop *loop, unsigned from, unsigned to, uint64_t each) {
    for (unsigned i = from; i < to; i++) {
        seconds[i] = (struct player){.left = each};
        firsts[i] = (struct player){.peer = bench_spawn(loop, pong, &seconds[i]), .left = each};
        ids[i] = bench_spawn(loop, ping, &firsts[i]);
    }
}

static void start_pairs(jzx_loop *loop, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++)
        bench_start(loop, ids[i], START, 0);
}

static void check(unsigned pairs, uint64_t each) {
    for (unsigned i = 0; i < pairs; i++) {
        BENCH_CHECK_EQUAL(seconds[i].received, each);
        BENCH_CHECK_EQUAL(firsts[i].received, each);
    }
}

/* size is of all pairs together. */
static void run_pairs(jzx_loop *loop, unsigned pairs, uint64_t size, struct bench_run *run) {
    uint64_t each = size / pairs;
    BENCH_CHECK(each > 0);
    spawn_pairs(loop, 0, pairs, each);
    double start = bench_now();
    start_pairs(loop, 0, pairs);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = 2 * pairs * each;
    check(pairs, each);
}

static void run_one(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_pairs(loop, 1, size, run);
}

static void run_many(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_pairs(loop, PAIRS, size, run);
}

static void run_few(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_pairs(loop, PAIRS_FEW, size, run);
}

/* ---- the same pairs in loops that share nothing ---- */

/* Loops with one worker, and the pairs among which each has its part. */
static struct {
    jzx_loop *loops[BENCH_APART_MAX];
    unsigned count;
    uint64_t each;
} apart;

static unsigned part_begin(unsigned index) {
    return PAIRS * index / apart.count;
}

static uint64_t run_part(unsigned index) {
    unsigned from = part_begin(index);
    unsigned to = part_begin(index + 1);
    start_pairs(apart.loops[index], from, to);
    bench_run_to_end(apart.loops[index]);
    return 2 * (to - from) * apart.each;
}

static void run_apart(jzx_loop *unused, uint64_t size, struct bench_run *run) {
    jzx_config config;
    jzx_config_init(&config, sizeof config);
    config.workers = 1;
    config.log.level = JZX_LOG_ERROR;
    apart.count = jzx_loop_workers(unused);
    apart.each = size / PAIRS;
    BENCH_CHECK(apart.count <= BENCH_APART_MAX && apart.each > 0);
    for (unsigned i = 0; i < apart.count; i++) {
        apart.loops[i] = jzx_loop_create(&config);
        BENCH_CHECK(apart.loops[i] != NULL);
        spawn_pairs(apart.loops[i], part_begin(i), part_begin(i + 1), apart.each);
    }
    bench_run_apart(apart.count, run_part, run);
    for (unsigned i = 0; i < apart.count; i++)
        BENCH_CHECK(jzx_loop_destroy(apart.loops[i]) == JZX_OK);
    check(PAIRS, apart.each);
}

const struct bench bench_pingpong = {
    .name = "pingpong",
    .op = "message",
    .checked = "pings and pongs received",
    .batch = "1",
    .shows = shows,
    .kind = BENCH_BOTH,
    .run = run_one,
    .size = 5000000,
    .payload = 8,
    .floor_row = "pingpong",
    .aim = 15,
    .aim_2 = 15,
    .ratio_limit = 2,
};

const struct bench bench_pairs = {
    .name = "pairs",
    .op = "message, 50 pairs",
    .checked = "pings and pongs received",
    .batch = "1",
    .kind = BENCH_WORKERS,
    .run = run_many,
    .apart = run_apart,
    .size = 15000000,
    .payload = 8,
    .aim = -1,
    .speedup_min = 1.9,
};

const struct bench bench_pairs4 = {
    .name = "pairs4",
    .op = "message, 4 pairs",
    .checked = "pings and pongs received",
    .batch = "1",
    .kind = BENCH_HELD,
    .run = run_few,
    .size = 5000000,
    .payload = 8,
    .aim = -1,
};
