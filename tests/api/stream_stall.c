/* SPDX-License-Identifier: MIT */
/* Streams of an actor whose worker has gone on without it: what is pending completes on the spare
 * thread, and the stalled behaviour can still use, make, give and close streams. */
#include "fixture.h"

#include <jzx/unix.h>

#include <errno.h>
#include <semaphore.h>
#include <string.h>

enum { GO = 1, READ, DATA, WAKE, MADE };

#define PAIRS 64u

static struct {
    sem_t go;
    jzx_actor_id id;
    jzx_actor_id waker;
    jzx_actor_id heir;
    jzx_stream pairs[PAIRS][2];
    jzx_stream given;
    uint32_t completed;
    uint32_t data;
    bool has_made; /* what was read from a stream that was made in the stall */
} world;

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

/* Runs only when a spare thread drives the worker: each reads arrives while its owner stalls. */
static jzx_behavior_result let_go(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)msg;
    for (uint32_t i = 0; i < PAIRS; i++)
        JZX_EXPECT_EQ(jzx_stream_send(ctx, world.pairs[i][1], "x", 1), JZX_OK);
    sem_post(&world.go);
    return JZX_BEHAVIOR_STOP;
}

/* The new owner of a stream that was given away in the stall. */
static jzx_behavior_result inherit(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == GO) {
        JZX_EXPECT_EQ(jzx_stream_active(ctx, world.given, DATA, JZX_STREAM_ALWAYS), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_stream_event *event = msg->data;
    JZX_EXPECT_EQ(event->kind, JZX_STREAM_DATA);
    JZX_EXPECT_EQ(event->stream, world.given);
    return JZX_BEHAVIOR_STOP; /* and closes it */
}

static void use_in_stall(jzx_context *ctx) {
    jzx_stream made[2];
    jzx_stream_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, made), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, made[0], 4, MADE, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, made[1], "made", 4), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, world.pairs[0][1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, world.pairs[1][1], "given", 5), JZX_OK);
    world.given = world.pairs[1][0];
    JZX_EXPECT_EQ(jzx_stream_give(ctx, world.given, world.heir), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_info_get(ctx->loop, world.given, &info), JZX_OK);
    JZX_EXPECT_EQ(info.owner, world.heir);
    fixture_send(ctx->loop, world.heir, GO);
}

static void begin(jzx_context *ctx) {
    for (uint32_t i = 0; i < PAIRS; i++) {
        JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, world.pairs[i]), JZX_OK);
        if (i % 2 == 0)
            JZX_EXPECT_EQ(jzx_stream_read_to(ctx, world.pairs[i][0], 8, READ, NULL), JZX_OK);
        else if (i != 1)
            JZX_EXPECT_EQ(jzx_stream_active(ctx, world.pairs[i][0], DATA, 1), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_send_after(ctx->loop, world.waker, ctx->self, NULL, 0, WAKE, JZX_MS(3), NULL),
                  JZX_OK);
    wait_for(&world.go);
    use_in_stall(ctx);
}

static jzx_behavior_result stall(jzx_context *ctx, const jzx_message *msg) {
    const jzx_result *result = msg->data;
    const jzx_stream_event *event = msg->data;
    jzx_test_ran();
    switch (msg->tag) {
    case GO: begin(ctx); break;
    case READ: world.completed += result->err == JZX_OK && result->len == 1; break;
    case MADE: world.has_made = result->err == JZX_OK && result->len == 4; break;
    case DATA: world.data += event->kind == JZX_STREAM_DATA && event->len == 1; break;
    default: break;
    }
    bool is_over = world.completed == PAIRS / 2 && world.data == PAIRS / 2 - 1 && world.has_made;
    return is_over ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(a_worker_is_handed_over_with_pending_reads_and_nothing_is_lost) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(1)));
    memset(&world, 0, sizeof world);
    assert_int_equal(sem_init(&world.go, 0, 0), 0);
    world.id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stall, .place = JZX_PLACE_WORKER(1)));
    world.waker =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = let_go, .place = JZX_PLACE_WORKER(1)));
    world.heir =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = inherit, .place = JZX_PLACE_WORKER(0)));
    fixture_send(loop, world.id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(world.completed, PAIRS / 2);
    JZX_EXPECT_EQ(world.data, PAIRS / 2 - 1);
    JZX_EXPECT(world.has_made);
    fixture_destroy(loop);
    sem_destroy(&world.go);
}
