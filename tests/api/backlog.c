/* SPDX-License-Identifier: MIT */
/* Actors that never ran: the backlog of an actor that spawns on and on stays bounded. */
#include "fibering.h"

#include <jzx/fiber.h>

enum { EACH_ROUND = 10, ROUNDS = 10000 };

/* A message counts for 100 ns on a clock that stands still, and a round takes two or more. In 80 us
 * the spawner makes 4,000 actors; they go first then, and meanwhile it does not run. */
#define BACKLOG_MAX 8000u

struct spawner {
    jzx_spawn_opts child;
    uint64_t alive_max;
    uint32_t rounds;
};

static jzx_behavior_result end_at_once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_STOP;
}

static void yield_once(jzx_context *ctx) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
}

static void spawn_and_join_newest(jzx_context *ctx) {
    struct spawner *spawner = ctx->state;
    for (; spawner->rounds < ROUNDS; spawner->rounds++) {
        jzx_actor_id id = JZX_NOBODY;
        for (int i = 0; i < EACH_ROUND; i++) {
            id = fixture_spawn(ctx->loop, &spawner->child);
            if (spawner->child.behavior != NULL)
                fixture_send(ctx->loop, id, 1);
        }
        jzx_stats stats = fixture_stats(ctx->loop);
        if (stats.spawned - stats.exited > spawner->alive_max)
            spawner->alive_max = stats.spawned - stats.exited;
        (void)jzx_join(ctx, id, JZX_NEVER, NULL); /* it may have ended already */
    }
}

static void expect_bounded_backlog(jzx_spawn_opts child) {
    struct timing timing = timing_open();
    struct spawner spawner = {.child = child};
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = spawn_and_join_newest, .state = &spawner));
    while (spawner.rounds < ROUNDS)
        timing_step(&timing);
    JZX_EXPECT_EQ(jzx_test_runs(), EACH_ROUND * ROUNDS);
    JZX_EXPECT(spawner.alive_max <= BACKLOG_MAX);
    timing_close(&timing);
}

JZX_TEST(behaviours_do_not_pile_up_behind_newer_ones) {
    expect_bounded_backlog(JZX_SPAWN_OPTS(.behavior = end_at_once));
}

JZX_TEST(fibers_do_not_pile_up_behind_newer_ones) {
    expect_bounded_backlog(JZX_SPAWN_OPTS(.fiber = yield_once));
}
