/* SPDX-License-Identifier: MIT */
/* What a fiber costs beside a behaviour: to let another run, to send and wait for the answer, to
 * begin and end. Two parts of it are rows of their own: the bare switch of stacks to a fiber and
 * back, and a turn of a behaviour, with the send that a turn needs. */
#include "bench.h"

#include "base/switch.h"

JZX_BENCH_SHOWS("E65");

/* ---- two bare switches ---- */

static _Alignas(64) unsigned char bare_stack[JZX__SWITCH_STACK_MIN];
static void *main_point;
static void *bare_point;

static void switch_back(void *arg) {
    uint64_t *count = arg;
    for (;;) {
        ++*count;
        jzx__switch(&bare_point, main_point, NULL);
    }
}

static double bare_seconds(uint64_t pairs) {
    uint64_t count = 0;
    bare_point = jzx__switch_prepare(bare_stack, sizeof bare_stack, switch_back);
    double start = bench_now();
    for (uint64_t i = 0; i < pairs; i++)
        jzx__switch(&main_point, bare_point, &count);
    double seconds = bench_now() - start;
    BENCH_CHECK_EQUAL(count, pairs);
    return seconds;
}

static void run_switch(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    (void)loop;
    run->seconds = bare_seconds(size);
    run->ops = size;
}

/* ---- two behaviours ---- */

struct player {
    jzx_actor_id peer;
    uint64_t left; /* messages to send */
    uint64_t received;
};

static struct player players[2];

/* One that begins has an answer to wait for when it has sent its last. */
static jzx_behavior_result play(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    self->received += msg->sender != JZX_NOBODY;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    bench_send(ctx, msg->sender == JZX_NOBODY ? self->peer : msg->sender, 0, 0);
    return --self->left == 0 && self->peer == JZX_NOBODY ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void set_players(jzx_actor_id second, uint64_t each) {
    players[0] = (struct player){.peer = second, .left = each};
    players[1] = (struct player){.left = each};
}

static void check_players(uint64_t each) {
    BENCH_CHECK_EQUAL(players[0].received, each);
    BENCH_CHECK_EQUAL(players[1].received, each);
}

/* Of so many messages, each with its turn; an even number. */
static double turn_seconds(jzx_loop *loop, uint64_t turns) {
    set_players(bench_spawn(loop, play, &players[1]), turns / 2);
    jzx_actor_id first = bench_spawn(loop, play, &players[0]);
    double start = bench_now();
    bench_start(loop, first, 0, 0);
    bench_run_to_end(loop);
    double seconds = bench_now() - start;
    check_players(turns / 2);
    return seconds;
}

static void run_turn(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run->ops = size / 2 * 2;
    run->seconds = turn_seconds(loop, run->ops);
}

/* ---- fibers that yield ---- */

static void yield_on(jzx_context *ctx) {
    struct player *self = ctx->state;
    for (; self->left != 0; self->left--)
        BENCH_CHECK(jzx_yield(ctx) == JZX_OK);
}

static void spawn_fiber(jzx_loop *loop, jzx_fiber_fn fn, void *state, jzx_actor_id *id) {
    BENCH_CHECK(jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn, .state = state), id) == JZX_OK);
}

static void run_yield(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_actor_id id;
    set_players(JZX_NOBODY, size / 2);
    for (unsigned i = 0; i < 2; i++)
        spawn_fiber(loop, yield_on, &players[i], &id);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size / 2 * 2;
    BENCH_CHECK_EQUAL(players[0].left + players[1].left, 0);
}

/* What a yield is made of: two switches, and a turn. */
static void run_parts(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run->ops = size / 2 * 2;
    run->seconds = bare_seconds(run->ops) + turn_seconds(loop, run->ops);
}

/* ---- fibers that talk ---- */

static void begin_trips(jzx_context *ctx) {
    struct player *self = ctx->state;
    jzx_message msg;
    for (; self->left != 0; self->left--) {
        bench_send(ctx, self->peer, 0, 0);
        BENCH_CHECK(jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK);
        self->received++;
    }
}

static void answer_trips(jzx_context *ctx) {
    struct player *self = ctx->state;
    jzx_message msg;
    for (; self->left != 0; self->left--) {
        BENCH_CHECK(jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK);
        self->received++;
        bench_send(ctx, msg.sender, 0, 0);
    }
}

static void run_trips(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_actor_id id;
    spawn_fiber(loop, answer_trips, &players[1], &id);
    set_players(id, size);
    spawn_fiber(loop, begin_trips, &players[0], &id);
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = 2 * size;
    check_players(size);
}

static void run_trips_of_behaviours(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run->ops = 2 * size;
    run->seconds = turn_seconds(loop, run->ops);
}

/* ---- short lives ---- */

static uint64_t lives;

static void live(jzx_context *ctx) {
    (void)ctx;
    lives++;
}

static jzx_behavior_result live_once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    lives++;
    return JZX_BEHAVIOR_STOP;
}

static void make_fiber(jzx_context *ctx) {
    jzx_actor_id id;
    spawn_fiber(ctx->loop, live, NULL, &id);
}

/* Only a message makes a behaviour run. */
static void make_behaviour(jzx_context *ctx) {
    bench_send(ctx, bench_spawn(ctx->loop, live_once, NULL), 0, 0);
}

struct maker {
    uint64_t left;
    void (*make)(jzx_context *ctx);
};

static void make_all(jzx_context *ctx) {
    struct maker *self = ctx->state;
    while (self->left != 0) {
        for (uint32_t i = 0; i < BENCH_BATCH && self->left != 0; i++, self->left--)
            self->make(ctx);
        BENCH_CHECK(jzx_yield(ctx) == JZX_OK);
    }
}

static void run_lives(jzx_loop *loop, void (*make)(jzx_context *ctx), uint64_t size,
                      struct bench_run *run) {
    struct maker maker = {.left = size, .make = make};
    jzx_actor_id id;
    spawn_fiber(loop, make_all, &maker, &id);
    lives = 0;
    double start = bench_now();
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(lives, size);
    BENCH_CHECK_EQUAL(bench_stats(loop).exited, size + 1);
}

static void run_spawn(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_lives(loop, make_fiber, size, run);
}

static void run_spawn_of_behaviours(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run_lives(loop, make_behaviour, size, run);
}

/* ---- the rows ---- */

const struct bench bench_fiber_switch = {
    .name = "fiber-switch",
    .op = "two bare switches, to a stack and back",
    .checked = "switches",
    .batch = "1",
    .run = run_switch,
    .size = 10000000,
    .aim = -1,
};

const struct bench bench_fiber_turn = {
    .name = "fiber-turn",
    .op = "turn of a behaviour, with the send of its message",
    .checked = "messages received",
    .batch = "1",
    .run = run_turn,
    .size = 5000000,
    .size_min = 2,
    .payload = 8,
    .aim = -1,
};

const struct bench bench_fiber_yield = {
    .name = "fiber-yield",
    .op = "yield to another fiber; alone: fiber-switch and fiber-turn",
    .checked = "yields",
    .batch = "1",
    .shows = shows,
    .run = run_yield,
    .alone = run_parts,
    .size = 3000000,
    .size_min = 2,
    .aim = 200,
    .ratio_limit = 1,
};

const struct bench bench_fiber_trip = {
    .name = "fiber-trip",
    .op = "message of a round trip between two fibers; alone: between two behaviours",
    .checked = "messages received",
    .batch = "1",
    .run = run_trips,
    .alone = run_trips_of_behaviours,
    .peer_row = "pingpong",
    .size = 1000000,
    .payload = 8,
    .aim = -1,
    .ratio_limit = 3,
};

const struct bench bench_fiber_spawn = {
    .name = "fiber-spawn",
    .op = "spawn + exit of a fiber on a pooled stack; alone: spawn + message + exit of a behaviour",
    .checked = "lives, exits",
    .batch = "64",
    .run = run_spawn,
    .alone = run_spawn_of_behaviours,
    .size = 1000000,
    .aim = -1,
    .ratio_limit = 4,
};
