/* SPDX-License-Identifier: MIT */
/* Behaviours that block or compute for a while beside actors with timers, pipes and fibers, on any
 * number of workers and with any number of spares. Every actor makes progress, and nothing is lost.
 */
#include "fixture.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define ACTORS 12u /* of each kind */

enum { GO = 1, TICK = 2, READY = 3 };

static struct {
    uint32_t steps;
    _Atomic uint32_t done;
    int pipes[ACTORS][2];
} all;

/* The last of a kind of actor ends, and does so once. */
static jzx_behavior_result step(jzx_context *ctx, uint32_t *steps) {
    jzx_test_ran();
    if (++*steps < all.steps) {
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, GO), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    all.done++;
    return JZX_BEHAVIOR_STOP;
}

/* It waits in the kernel: that is its work. */
static jzx_behavior_result block(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    poll(NULL, 0, 2);
    return step(ctx, ctx->state);
}

static jzx_behavior_result compute(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    fixture_compute(JZX_MS(2));
    return step(ctx, ctx->state);
}

static jzx_behavior_result chat(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    return step(ctx, ctx->state);
}

static jzx_behavior_result tick(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *steps = ctx->state;
    jzx_test_ran();
    (void)msg;
    if (++*steps < all.steps) {
        JZX_EXPECT_EQ(
            jzx_send_after(ctx->loop, ctx->self, ctx->self, NULL, 0, TICK, JZX_US(200), NULL),
            JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    all.done++;
    return JZX_BEHAVIOR_STOP;
}

/* A pipe that it writes to itself: its readiness comes from the system each time. */
static jzx_behavior_result listen(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *steps = ctx->state;
    const int *ends = all.pipes[steps[1]];
    char byte = 'x';
    jzx_test_ran();
    if (msg->tag == GO)
        JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, ends[0], ctx->self, JZX_IO_READ, READY), JZX_OK);
    else
        JZX_EXPECT_EQ(read(ends[0], &byte, 1), 1);
    if (++*steps <= all.steps) {
        JZX_EXPECT_EQ(write(ends[1], &byte, 1), 1);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT_EQ(jzx_unwatch_fd(ctx->loop, ends[0]), JZX_OK);
    all.done++;
    return JZX_BEHAVIOR_STOP;
}

static void sleep_and_yield(jzx_context *ctx) {
    for (uint32_t i = 0; i < all.steps; i++) {
        jzx_test_ran();
        JZX_EXPECT_EQ(jzx_sleep(ctx, JZX_US(200)), JZX_OK);
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    }
    all.done++;
}

#define BEHAVIORS 5u

static void run_with(uint32_t workers, uint32_t spares) {
    static const jzx_behavior_fn behaviors[BEHAVIORS] = {block, compute, chat, tick, listen};
    static uint32_t steps[BEHAVIORS][ACTORS][2];
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = workers, .spare_threads_max = spares, .stall_after_ns = JZX_MS(5),
                    .relieve_after_ns = JZX_US(300), .log.level = JZX_LOG_OFF));
    assert_non_null(loop);
    memset(steps, 0, sizeof steps);
    all.done = 0;
    for (uint32_t i = 0; i < ACTORS; i++) {
        assert_int_equal(pipe(all.pipes[i]), 0);
        for (uint32_t k = 0; k < BEHAVIORS; k++) {
            steps[k][i][1] = i;
            fixture_send(loop,
                         fixture_spawn(
                             loop, &JZX_SPAWN_OPTS(.behavior = behaviors[k], .state = steps[k][i])),
                         GO);
        }
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = sleep_and_yield));
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(all.done, (BEHAVIORS + 1) * ACTORS);
    fixture_destroy(loop);
    for (uint32_t i = 0; i < ACTORS; i++) {
        close(all.pipes[i][0]);
        close(all.pipes[i][1]);
    }
}

JZX_TEST(every_actor_gets_on_beside_behaviours_that_block_and_compute, "E6", "E8") {
    static const uint32_t workers[] = {1, 2, 4, 8};
    static const uint32_t spares[] = {0, 1, JZX_NONE};
    all.steps = (uint32_t)jzx_test_rounds(10, 300);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < 3; k++)
            run_with(workers[i], spares[k]);
    }
}
