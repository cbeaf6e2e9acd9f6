/* SPDX-License-Identifier: MIT */
/* What a kind of actor costs beside a behaviour: a typed actor, whose handlers are found by the
 * type of a message, and a manual one, which the program polls. */
#include "bench.h"

#include <jzx/manual.h>
#include <jzx/typed.h>

/* ---- a typed actor and a behaviour: each sends to the other until nothing is left ---- */

#define PLAYER(T, STATE, ON, ASK)                                                                  \
    STATE(T, uint64_t, received, 0)                                                                \
    STATE(T, jzx_actor_id, peer, JZX_NOBODY)                                                       \
    ON(T, ball, uint64_t, left)                                                                    \
    ON(T, meet, jzx_actor_id, peer, uint64_t, left)                                                \
    ON(T, tick, uint64_t, by)
JZX_ACTOR_TYPE(player, PLAYER);

static uint64_t received;

static jzx_behavior_result player_on_ball(jzx_context *ctx, struct player *self,
                                          const struct player_ball *msg) {
    self->received++;
    if (msg->left != 0)
        BENCH_CHECK(player_send_ball(ctx, self->peer, msg->left - 1) == JZX_OK);
    if (msg->left > 1)
        return JZX_BEHAVIOR_OK;
    received += self->received;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result player_on_meet(jzx_context *ctx, struct player *self,
                                          const struct player_meet *msg) {
    self->peer = msg->peer;
    if (msg->left != 0)
        BENCH_CHECK(player_send_ball(ctx, msg->peer, msg->left) == JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result player_on_tick(jzx_context *ctx, struct player *self,
                                          const struct player_tick *msg) {
    (void)ctx;
    self->received += msg->by;
    return JZX_BEHAVIOR_OK;
}

/* Each handles half of the balls; the one that has the last one, and the one before it, stop. */
static double typed_seconds(jzx_loop *loop, uint64_t balls, jzx_priority priority) {
    jzx_actor_id ids[2];
    received = 0;
    for (int i = 0; i < 2; i++)
        BENCH_CHECK(jzx_spawn(loop, &JZX_SPAWN_OPTS(.type = &player_type, .priority = priority),
                              &ids[i]) == JZX_OK);
    double start = bench_now();
    BENCH_CHECK(player_post_meet(loop, ids[1], ids[0], 0) == JZX_OK);
    BENCH_CHECK(player_post_meet(loop, ids[0], ids[1], balls - 1) == JZX_OK);
    bench_run_to_end(loop);
    double seconds = bench_now() - start;
    BENCH_CHECK_EQUAL(received, balls);
    return seconds;
}

struct plain {
    uint64_t received;
    jzx_actor_id peer;
};

enum { BALL = 1, MEET };

static jzx_behavior_result play(jzx_context *ctx, const jzx_message *msg) {
    struct plain *self = ctx->state;
    uint64_t left = *(const uint64_t *)msg->data;
    switch (msg->tag) {
    case BALL:
        self->received++;
        if (left != 0) {
            uint64_t next = left - 1;
            BENCH_CHECK(jzx_send(ctx->loop, self->peer, ctx->self, &next, sizeof next, BALL) ==
                        JZX_OK);
        }
        if (left > 1)
            return JZX_BEHAVIOR_OK;
        received += self->received;
        return JZX_BEHAVIOR_STOP;
    case MEET: {
        const struct player_meet *meet = msg->data;
        self->peer = meet->peer;
        if (meet->left != 0)
            BENCH_CHECK(jzx_send(ctx->loop, meet->peer, ctx->self, &meet->left, sizeof meet->left,
                                 BALL) == JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    default: return JZX_BEHAVIOR_FAIL;
    }
}

static double plain_seconds(jzx_loop *loop, uint64_t balls, jzx_priority priority) {
    static struct plain states[2];
    jzx_actor_id ids[2];
    received = 0;
    for (int i = 0; i < 2; i++) {
        states[i] = (struct plain){0};
        BENCH_CHECK(
            jzx_spawn(loop,
                      &JZX_SPAWN_OPTS(.behavior = play, .state = &states[i], .priority = priority),
                      &ids[i]) == JZX_OK);
    }
    const struct player_meet meets[2] = {{.peer = ids[1], .left = balls - 1}, {.peer = ids[0]}};
    double start = bench_now();
    for (int i = 1; i >= 0; i--)
        BENCH_CHECK(jzx_send(loop, ids[i], JZX_NOBODY, &meets[i], sizeof meets[i], MEET) == JZX_OK);
    bench_run_to_end(loop);
    double seconds = bench_now() - start;
    BENCH_CHECK_EQUAL(received, balls);
    return seconds;
}

static void run_typed(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run->ops = size;
    run->seconds = typed_seconds(loop, size, JZX_PRIORITY_NORMAL);
}

static void run_typed_high(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run->ops = size;
    run->seconds = typed_seconds(loop, size, JZX_PRIORITY_HIGH);
}

static void run_plain(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run->ops = size;
    run->seconds = plain_seconds(loop, size, JZX_PRIORITY_NORMAL);
}

static void run_plain_high(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    run->ops = size;
    run->seconds = plain_seconds(loop, size, JZX_PRIORITY_HIGH);
}

/* ---- a manual actor: frames of 16 messages ---- */

#define FRAME 16u

static void run_manual(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    jzx_manual *manual;
    uint64_t frames = size / FRAME;
    BENCH_CHECK(player_manual(loop, &manual) == JZX_OK);
    jzx_actor_id id = jzx_manual_id(manual);
    double start = bench_now();
    for (uint64_t i = 0; i < frames; i++) {
        size_t count;
        for (uint32_t n = 0; n < FRAME; n++)
            BENCH_CHECK(player_post_tick(loop, id, 1) == JZX_OK);
        BENCH_CHECK(jzx_manual_drain(manual, 0, &count) == JZX_OK);
        BENCH_CHECK_EQUAL(count, FRAME);
    }
    run->seconds = bench_now() - start;
    run->ops = frames * FRAME;
    BENCH_CHECK_EQUAL(((struct player *)jzx_manual_state(manual))->received, run->ops);
    jzx_manual_destroy(manual);
}

/* ---- the rows ---- */

const struct bench bench_kinds_typed = {
    .name = "kinds-typed",
    .op = "message between typed actors of priority normal; alone: between behaviours",
    .checked = "messages received",
    .batch = "1",
    .run = run_typed,
    .alone = run_plain,
    .size = 3000000,
    .size_min = 4,
    .payload = 8,
    .aim = -1,
    .ratio_limit = 1.15,
};

const struct bench bench_kinds_default = {
    .name = "kinds-default",
    .op = "message between typed actors as spawned, priority high; alone: behaviours as spawned",
    .checked = "messages received",
    .batch = "1",
    .run = run_typed_high,
    .alone = run_plain,
    .size = 3000000,
    .size_min = 4,
    .payload = 8,
    .aim = -1,
    .ratio_limit = 1.15,
};

const struct bench bench_kinds_high = {
    .name = "kinds-high",
    .op = "the same with priority high, the default of typed actors, on both sides",
    .checked = "messages received",
    .batch = "1",
    .run = run_typed_high,
    .alone = run_plain_high,
    .size = 3000000,
    .size_min = 4,
    .payload = 8,
    .aim = -1,
    .ratio_limit = 1.15,
};

const struct bench bench_kinds_manual = {
    .name = "kinds-manual",
    .op = "message to a manual actor that is drained once for 16 of them, in a loop at rest",
    .checked = "messages handled",
    .batch = "16",
    .run = run_manual,
    .size = 1000000,
    .size_min = FRAME,
    .payload = 8,
    .aim = -1,
};
