/* SPDX-License-Identifier: MIT */
/* A kill and a message come to a fiber of another worker at the same moment, while it goes idle:
 * taking the message in must not use up the nudge of the kill. */
#include "fixture.h"

#include <stdlib.h>

enum { NOISE = 1, WANTED = 2, NOISE_MAX = 4 };

static uint64_t rounds;

static void wait_for_wanted(jzx_context *ctx) {
    jzx_message msg;
    while (jzx_receive_tag(ctx, WANTED, JZX_NEVER, &msg) == JZX_OK)
        continue;
}

/* The join sends a watch right behind the kill. */
static void kill_many(jzx_context *ctx) {
    const jzx_spawn_opts victim =
        JZX_SPAWN_OPTS(.fiber = wait_for_wanted, .place = JZX_PLACE_WORKER(1));
    unsigned seed = 1;
    for (uint64_t i = 0; i < rounds; i++) {
        jzx_actor_id id = JZX_NOBODY;
        JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &victim, &id), JZX_OK);
        for (int k = rand_r(&seed) % NOISE_MAX; k > 0; k--)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, NULL, 0, NOISE), JZX_OK);
        for (int k = rand_r(&seed) % NOISE_MAX; k > 0; k--)
            (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL), JZX_OK);
        (void)jzx_join(ctx, id, JZX_NEVER, NULL);
    }
    jzx_test_ran();
}

JZX_TEST(a_fiber_that_is_killed_as_a_message_comes_ends) {
    rounds = (uint64_t)jzx_test_rounds(20000, 1000000);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = kill_many, .place = JZX_PLACE_WORKER(0)));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    assert_int_equal(jzx_test_runs(), 1);
}
