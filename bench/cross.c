/* SPDX-License-Identifier: MIT */
/* Messages from one worker to another, which two actors that stay where they are put make sure of:
 * a stream, one message at a time, and a round trip that finds each worker asleep. */
#include "bench.h"

JZX_BENCH_SHOWS("E63");

/* A thread that the machine holds up keeps its worker, as the floor's do. */
static const jzx_config pinned = {
    .size = sizeof(jzx_config), .pin_threads = true, .stall_after_ns = JZX_NEVER};

/* ---- cross: a stream ---- */

#define WINDOW 256u
#define ACK_EVERY 64u

struct source {
    BENCH_APART jzx_actor_id to;
    uint64_t left;
    uint64_t in_flight;
};

struct sink {
    BENCH_APART uint64_t received;
    uint64_t expected;
    jzx_actor_id from;
};

enum { START, ITEM, ACK };

static jzx_behavior_result stream(jzx_context *ctx, const jzx_message *msg) {
    struct source *self = ctx->state;
    BENCH_CHECK_EQUAL(jzx_current_worker(), 0);
    if (msg->tag == ACK)
        self->in_flight -= bench_value(msg);
    for (; self->left != 0 && self->in_flight < WINDOW; self->left--, self->in_flight++)
        bench_send(ctx, self->to, ITEM, self->left);
    return self->in_flight == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* Items come in order: each is one less than the one before. */
static jzx_behavior_result receive(jzx_context *ctx, const jzx_message *msg) {
    struct sink *self = ctx->state;
    BENCH_CHECK_EQUAL(bench_value(msg), self->expected - self->received);
    self->received++;
    if (self->received % ACK_EVERY == 0) {
        BENCH_CHECK_EQUAL(jzx_current_worker(), 1);
        bench_send(ctx, self->from, ACK, ACK_EVERY);
    }
    return self->received == self->expected ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void run_stream(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    uint64_t items = size / ACK_EVERY * ACK_EVERY;
    struct sink sink = {.expected = items};
    struct source source = {.left = items};
    sink.from = bench_spawn_at(loop, stream, &source, JZX_PLACE_WORKER(0));
    source.to = bench_spawn_at(loop, receive, &sink, JZX_PLACE_WORKER(1));
    double start = bench_now();
    bench_start(loop, sink.from, START, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = items;
    BENCH_CHECK_EQUAL(sink.received, items);
    BENCH_CHECK(bench_stats(loop).crossed >= items);
}

const struct bench bench_cross = {
    .name = "cross",
    .op = "message to another worker, window 256",
    .checked = "order, messages crossed",
    .batch = "256",
    .kind = BENCH_SEVERAL,
    .run = run_stream,
    .size = 1000000,
    .size_min = ACK_EVERY,
    .config = &pinned,
    .payload = 8,
    .aim = 100,
};

/* ---- wake: round trips ---- */

/* As in the floor: how long a thread is left asleep. */
#define DWELL_NS 50000u

/* A worker that is awake for so long will not sleep. */
#define AWAKE_NS_MAX 1000000000u

#define WAYS_MAX 4096u

struct player {
    BENCH_APART jzx_actor_id peer;
    uint32_t peer_worker;
    uint64_t left;         /* messages to send */
    uint32_t got;          /* messages that carried the time, */
    double ways[WAYS_MAX]; /* and how long each was on its way, in ns */
};

static jzx_behavior_result volley(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    (void)msg;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, self->peer, ITEM, 0);
    return --self->left == 0 && self->peer_worker == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* Lets the other worker fall asleep, and leaves it so for a while: who was asleep for a moment only
 * wakes sooner. */
static void await_sleep(jzx_loop *loop, uint32_t worker) {
    uint64_t start = bench_now_ns();
    jzx_worker_stats stats = {.size = sizeof stats};
    do {
        if (bench_now_ns() - start > AWAKE_NS_MAX)
            bench_fail("worker %u does not sleep", (unsigned)worker);
        BENCH_CHECK(jzx_loop_worker_stats(loop, worker, &stats) == JZX_OK);
    } while (!stats.is_parked);
    bench_spin_until(bench_now_ns() + DWELL_NS);
}

static jzx_behavior_result volley_slowly(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    if (msg->tag == ITEM)
        self->ways[self->got++] = (double)(bench_now_ns() - bench_value(msg));
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    await_sleep(ctx->loop, self->peer_worker);
    bench_send(ctx, self->peer, ITEM, bench_now_ns());
    return --self->left == 0 && self->peer_worker == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static struct player first;
static struct player second;

/* Returns the seconds of the whole. */
static double run_volleys(jzx_loop *loop, jzx_behavior_fn behavior, uint64_t size) {
    first = (struct player){.peer_worker = 1, .left = size};
    second = (struct player){.peer_worker = 0, .left = size};
    second.peer = bench_spawn_at(loop, behavior, &first, JZX_PLACE_WORKER(0));
    first.peer = bench_spawn_at(loop, behavior, &second, JZX_PLACE_WORKER(1));
    double start = bench_now();
    bench_start(loop, second.peer, START, 0);
    bench_run_to_end(loop);
    double seconds = bench_now() - start;
    BENCH_CHECK_EQUAL(first.left, 0);
    BENCH_CHECK_EQUAL(second.left, 0);
    BENCH_CHECK(bench_stats(loop).crossed >= 2 * size);
    return seconds;
}

/* The latency of a message: each is sent by the receiver of the one before it. */
static void run_one(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run->seconds = run_volleys(loop, volley, size);
    run->ops = 2 * size;
}

static void run_wake(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run->seconds = run_volleys(loop, volley, size);
    run->ops = size;
}

/* The median, as in the floor: a host that takes a CPU away for milliseconds would be most of the
 * mean. */
static double usual_way(struct player *player) {
    bench_sort(player->ways, player->got);
    return player->ways[player->got / 2];
}

static void run_wake_slept(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    BENCH_CHECK(size <= WAYS_MAX);
    run_volleys(loop, volley_slowly, size);
    run->seconds = (usual_way(&first) + usual_way(&second)) * 1e-9 * (double)size;
    run->ops = size;
}

const struct bench bench_cross_one = {
    .name = "cross-one",
    .op = "message to another worker, one at a time",
    .checked = "messages sent and crossed",
    .batch = "1",
    .shows = shows,
    .kind = BENCH_SEVERAL,
    .run = run_one,
    .size = 100000,
    .config = &pinned,
    .payload = 8,
    .aim = 500,
};

const struct bench bench_wake = {
    .name = "wake",
    .op = "round trip to another worker",
    .checked = "messages sent and crossed",
    .batch = "1",
    .kind = BENCH_SEVERAL,
    .run = run_wake,
    .size = 5000,
    .config = &pinned,
    .payload = 8,
    .floor_row = "futex",
    .aim = -1,
    .ratio_limit = 1.1,
};

const struct bench bench_wake_slept = {
    .name = "wake-slept",
    .op = "round trip, each asleep for 50 us; median",
    .checked = "messages sent and crossed",
    .batch = "1",
    .kind = BENCH_SEVERAL,
    .run = run_wake_slept,
    .size = 500,
    .config = &pinned,
    .payload = 8,
    .floor_row = "futex-slept",
    .aim = -1,
    .ratio_limit = 1.1,
};
