/* SPDX-License-Identifier: MIT */
/* Two actors, one message that goes back and forth: the cost of a send and a turn with one
 * message. And many such pairs that know nothing of each other, for several workers. */
#include "bench.h"

#include <pthread.h>

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

struct apart {
    BENCH_APART jzx_loop *loop;
    pthread_t thread;
    int cpu;
    unsigned from; /* its pairs, */
    unsigned to;   /* up to this one */
    double seconds;
};

static void *run_apart_one(void *arg) {
    struct apart *apart = arg;
    bench_pin(apart->cpu);
    double start = bench_now();
    start_pairs(apart->loop, apart->from, apart->to);
    bench_run_to_end(apart->loop);
    apart->seconds = bench_now() - start;
    return NULL;
}

/* A loop with one worker, a thread and a CPU for each worker of the loop that is not used. What
 * counts is the sum of their speeds: they do not help each other when one is done, and the CPUs of
 * a shared machine are not equally fast. */
static void run_apart(jzx_loop *unused, uint64_t size, struct bench_run *run) {
    static struct apart aparts[PAIRS];
    unsigned count = jzx_loop_workers(unused) < PAIRS ? jzx_loop_workers(unused) : PAIRS;
    uint64_t each = size / PAIRS;
    BENCH_CHECK(each > 0);
    jzx_config config;
    jzx_config_init(&config);
    config.workers = 1;
    config.log.level = JZX_LOG_ERROR;
    for (unsigned i = 0; i < count; i++) {
        aparts[i] = (struct apart){.loop = jzx_loop_create(&config),
                                   .cpu = bench_cpu_at(i % bench_cpus()),
                                   .from = PAIRS * i / count,
                                   .to = PAIRS * (i + 1) / count};
        BENCH_CHECK(aparts[i].loop != NULL);
        spawn_pairs(aparts[i].loop, aparts[i].from, aparts[i].to, each);
    }
    for (unsigned i = 0; i < count; i++)
        BENCH_CHECK(pthread_create(&aparts[i].thread, NULL, run_apart_one, &aparts[i]) == 0);
    double pairs_a_second = 0;
    for (unsigned i = 0; i < count; i++) {
        BENCH_CHECK(pthread_join(aparts[i].thread, NULL) == 0);
        BENCH_CHECK(jzx_loop_destroy(aparts[i].loop) == JZX_OK);
        pairs_a_second += (aparts[i].to - aparts[i].from) / aparts[i].seconds;
    }
    run->seconds = PAIRS / pairs_a_second;
    run->ops = 2 * PAIRS * each;
    check(PAIRS, each);
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

const struct bench bench_pairs_apart = {
    .name = "pairs-apart",
    .op = "the same in a loop for each worker: what the machine can gain now",
    .checked = "pings and pongs received",
    .batch = "1",
    .kind = BENCH_WORKERS,
    .run = run_apart,
    .size = 15000000,
    .payload = 8,
    .aim = -1,
    .speedup_min = 1, /* so that both sides run where those of `pairs` do */
};
