/* SPDX-License-Identifier: MIT */
/* Priorities of actors, as programs see them. */
#include "fixture.h"

#include <string.h>

static struct recorder turns;

static jzx_behavior_result note_priority(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    turns.tags[turns.count++] = (uint32_t)(uintptr_t)ctx->state;
    return JZX_BEHAVIOR_STOP;
}

static jzx_actor_id spawn_with(jzx_loop *loop, jzx_priority priority) {
    return fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_priority,
                                               .state = (void *)(uintptr_t)priority,
                                               .priority = (uint8_t)priority));
}

/* Sends to all of them in one turn, in the order given. */
static jzx_behavior_result send_to_all(jzx_context *ctx, const jzx_message *msg) {
    const jzx_actor_id *ids = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < 8; i++)
        fixture_send(ctx->loop, ids[i], 1);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(actors_run_in_the_order_of_their_priorities, "E6") {
    static const jzx_priority orders[][4] = {
        {JZX_PRIORITY_LOW, JZX_PRIORITY_NORMAL, JZX_PRIORITY_HIGH, JZX_PRIORITY_CRITICAL},
        {JZX_PRIORITY_CRITICAL, JZX_PRIORITY_HIGH, JZX_PRIORITY_NORMAL, JZX_PRIORITY_LOW},
        {JZX_PRIORITY_NORMAL, JZX_PRIORITY_LOW, JZX_PRIORITY_CRITICAL, JZX_PRIORITY_HIGH}};
    for (size_t order = 0; order < 3; order++) {
        for (int inside = 0; inside < 2; inside++) { /* of a behaviour, or from outside */
            jzx_actor_id ids[8];
            jzx_loop *loop = fixture_loop();
            turns.count = 0;
            for (uint32_t i = 0; i < 8; i++)
                ids[i] = spawn_with(loop, orders[order][i % 4]);
            if (inside) {
                assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK); /* all are idle */
                jzx_actor_id sender =
                    fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = send_to_all, .state = ids));
                fixture_send(loop, sender, 1);
            }
            for (uint32_t i = 0; !inside && i < 8; i++)
                fixture_send(loop, ids[i], 1);
            assert_int_equal(jzx_loop_run(loop), JZX_OK);
            assert_int_equal(turns.count, 8);
            for (uint32_t i = 0; i < 8; i++)
                JZX_EXPECT_EQ(turns.tags[i], JZX_PRIORITY_CRITICAL + i / 2);
            fixture_destroy(loop);
        }
    }
}

JZX_TEST(a_priority_that_does_not_exist_is_refused, "E6") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = 42;
    JZX_EXPECT_EQ(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_priority, .priority = 5), &id),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_priority, .priority = 255), &id),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(id, 42);
    fixture_destroy(loop);
}

JZX_TEST(the_priority_of_an_actor_can_be_seen, "E6") {
    jzx_loop *loop = fixture_loop();
    for (int priority = JZX_PRIORITY_DEFAULT; priority <= JZX_PRIORITY_LOW; priority++) {
        jzx_actor_info info = {.size = sizeof info};
        jzx_actor_id id = spawn_with(loop, (jzx_priority)priority);
        JZX_EXPECT_EQ(jzx_actor_info_get(loop, id, &info), JZX_OK);
        JZX_EXPECT_EQ(info.priority, priority == JZX_PRIORITY_DEFAULT ? JZX_PRIORITY_NORMAL
                                                                      : (jzx_priority)priority);
    }
    fixture_destroy(loop);
}

/* Goes on for ever until the low one has run. */
static bool low_has_run;

static jzx_behavior_result be_greedy(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    if (low_has_run)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, 1);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result be_low(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    low_has_run = true;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(an_actor_of_low_priority_runs_beside_critical_ones_that_are_always_ready, "E6") {
    jzx_loop *loop = fixture_loop();
    for (uint32_t i = 0; i < 3; i++) {
        jzx_actor_id id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = be_greedy, .priority = JZX_PRIORITY_CRITICAL));
        fixture_send(loop, id, 1);
    }
    jzx_actor_id low =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_low, .priority = JZX_PRIORITY_LOW));
    fixture_send(loop, low, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK); /* does not end if the low one starves */
    JZX_EXPECT(low_has_run);
    fixture_destroy(loop);
}
