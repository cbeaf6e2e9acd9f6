/* SPDX-License-Identifier: MIT */
/* One client and servers that compute: prodn keeps every server busy by credits, scatter asks all
 * and waits for all before it asks again. Held out. */
#include "bench.h"

#define SERVERS_MAX 32u
#define SEED 0x9E3779B97F4A7C15u

enum { START, REQUEST, REPLY };

struct client {
    BENCH_APART jzx_actor_id servers[SERVERS_MAX];
    uint32_t count;    /* of servers */
    uint32_t credits;  /* requests that a server may have */
    bool in_rounds;    /* all replies before the next requests */
    uint32_t awaited;  /* replies, in rounds */
    uint64_t to_send;  /* requests */
    uint64_t to_come;  /* replies */
    uint64_t expected; /* of each reply */
};

struct server {
    BENCH_APART uint32_t us; /* a request */
};

static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    struct server *self = ctx->state;
    bench_send(ctx, msg->sender, REPLY, bench_compute(bench_value(msg), self->us));
    return JZX_BEHAVIOR_OK;
}

static void ask(jzx_context *ctx, struct client *self, jzx_actor_id server) {
    if (self->to_send != 0) {
        self->to_send--;
        self->awaited++;
        bench_send(ctx, server, REQUEST, SEED);
    }
}

static void ask_all(jzx_context *ctx, struct client *self) {
    for (uint32_t i = 0; i < self->count * self->credits; i++)
        ask(ctx, self, self->servers[i % self->count]);
}

static jzx_behavior_result request(jzx_context *ctx, const jzx_message *msg) {
    struct client *self = ctx->state;
    if (msg->tag == START) {
        ask_all(ctx, self);
        return JZX_BEHAVIOR_OK;
    }
    BENCH_CHECK_EQUAL(bench_value(msg), self->expected);
    self->awaited--;
    if (--self->to_come == 0)
        bench_finish(ctx);
    else if (!self->in_rounds)
        ask(ctx, self, msg->sender);
    else if (self->awaited == 0)
        ask_all(ctx, self);
    return JZX_BEHAVIOR_OK;
}

static void run_client(jzx_loop *loop, struct client *client, uint32_t us, uint64_t size,
                       struct bench_run *run) {
    static struct server servers[SERVERS_MAX];
    for (uint32_t i = 0; i < client->count; i++) {
        servers[i].us = us;
        client->servers[i] = bench_spawn(loop, serve, &servers[i]);
    }
    client->to_send = client->to_come = size;
    client->expected = bench_compute(SEED, us);
    jzx_actor_id id = bench_spawn(loop, request, client);
    double start = bench_now();
    bench_start(loop, id, START, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(client->to_send, 0);
    BENCH_CHECK_EQUAL(client->to_come, 0);
}

static void run_prodn(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct client client = {.count = 32, .credits = 4};
    run_client(loop, &client, 10, size, run);
}

static void run_scatter(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct client client = {.count = 16, .credits = 1, .in_rounds = true};
    run_client(loop, &client, 20, size, run);
}

const struct bench bench_prodn = {
    .name = "prodn",
    .op = "request of 10 us, 32 servers",
    .checked = "the value of each reply",
    .batch = "4 credits",
    .kind = BENCH_HELD,
    .run = run_prodn,
    .size = 10000,
    .payload = 8,
    .aim = -1,
    .speedup_min = 1.7,
};

const struct bench bench_scatter = {
    .name = "scatter",
    .op = "request of 20 us, rounds of 16",
    .checked = "the value of each reply",
    .batch = "16",
    .kind = BENCH_HELD,
    .run = run_scatter,
    .size = 4800,
    .payload = 8,
    .aim = -1,
    .speedup_min = 1.5,
};
