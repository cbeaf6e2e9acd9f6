/* SPDX-License-Identifier: MIT */
/* 32 rooms of 8 clients. A client posts, the room sends the post to all eight, and the client goes
 * on when its own is back; before one post in ten it works a while. */
#include "bench.h"

#define ROOMS 32u
#define MEMBERS 8u
#define CLIENTS (ROOMS * MEMBERS)
#define WORK_STEPS 1000u
#define WORK_SHARE 10u /* one turn in so many */

enum { START, POST, DELIVERY };

struct client {
    BENCH_APART jzx_actor_id room;
    uint64_t turns_left;
    uint64_t deliveries_left;
    uint64_t random;
    uint64_t result;
};

struct room {
    BENCH_APART uint64_t posts_left;
    jzx_actor_id members[MEMBERS];
};

static struct client clients[CLIENTS];
static struct room rooms[ROOMS];

static void take_turn(jzx_context *ctx, struct client *self) {
    self->turns_left--;
    if (bench_random(&self->random) % WORK_SHARE == 0)
        self->result = bench_work(self->result, WORK_STEPS);
    bench_send(ctx, self->room, POST, 0);
}

static jzx_behavior_result live(jzx_context *ctx, const jzx_message *msg) {
    struct client *self = ctx->state;
    if (msg->tag == START) {
        take_turn(ctx, self);
        return JZX_BEHAVIOR_OK;
    }
    self->deliveries_left--;
    if (msg->sender == ctx->self && self->turns_left != 0)
        take_turn(ctx, self);
    return self->deliveries_left == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result deliver(jzx_context *ctx, const jzx_message *msg) {
    struct room *self = ctx->state;
    uint64_t post = bench_value(msg);
    for (unsigned i = 0; i < MEMBERS; i++) {
        /* In the name of the one who posted. */
        BENCH_CHECK(jzx_send(ctx->loop, self->members[i], msg->sender, &post, sizeof post,
                             DELIVERY) == JZX_OK);
    }
    return --self->posts_left == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* A client that is held up gets all posts of the others meanwhile: they wait for their own only. */
static jzx_actor_id spawn_client(jzx_loop *loop, struct client *client) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = live, .state = client,
                                         .mailbox_cap = (uint32_t)client->deliveries_left);
    BENCH_CHECK(jzx_spawn(loop, &opts, &id) == JZX_OK);
    return id;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    for (unsigned i = 0; i < ROOMS; i++) {
        rooms[i] = (struct room){.posts_left = MEMBERS * size};
        jzx_actor_id id = bench_spawn(loop, deliver, &rooms[i]);
        for (unsigned k = 0; k < MEMBERS; k++) {
            struct client *client = &clients[i * MEMBERS + k];
            *client = (struct client){.room = id,
                                      .turns_left = size,
                                      .deliveries_left = MEMBERS * size,
                                      .random = 88172645463325252u + (i * MEMBERS + k) * 7919u};
            rooms[i].members[k] = spawn_client(loop, client);
        }
    }
    double start = bench_now();
    for (unsigned i = 0; i < CLIENTS; i++)
        bench_start(loop, rooms[i / MEMBERS].members[i % MEMBERS], START, 0);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = CLIENTS * size * (1 + MEMBERS);
    for (unsigned i = 0; i < CLIENTS; i++) {
        BENCH_CHECK_EQUAL(clients[i].turns_left, 0);
        BENCH_CHECK_EQUAL(clients[i].deliveries_left, 0);
    }
    for (unsigned i = 0; i < ROOMS; i++)
        BENCH_CHECK_EQUAL(rooms[i].posts_left, 0);
}

const struct bench bench_chat = {
    .name = "chat",
    .op = "post or delivery",
    .checked = "posts and deliveries",
    .cap = "1024/8*size",
    .batch = "8",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 1500,
    .payload = 8,
    .aim = -1,
};
