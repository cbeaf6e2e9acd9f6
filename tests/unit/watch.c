/* SPDX-License-Identifier: MIT */
/* A monitor that reaches the slot of its target too late. */
#include "watch/watch.h"

#include "actor/loop.h"
#include "actor/own.h"

#include "fixture.h"

enum { WATCH = 1 };

static struct {
    jzx_actor_id target; /* has ended */
    struct jzx__actor *slot;
    jzx_exit_notice notice;
    uint32_t downs;
} world;

static jzx_behavior_result stop(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

/* What jzx_monitor does on another worker whose look-up came in time, and whose push did not: the
 * slot has its next actor by then. */
static void monitor_late(jzx_context *ctx) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return; /* no DOWN comes then */
    JZX_EXPECT(jzx__own_ensure_part(&own, JZX__PART_WATCH));
    struct jzx__watch *watch =
        jzx__watch_create(ctx->loop, own.me, JZX__WATCH_MONITOR, ctx->self, world.target);
    JZX_ASSERT(watch != NULL);
    struct jzx__node *node = &jzx__watch_message(watch)->node;
    jzx__watch_notice(watch)->monitor = 4711;
    jzx__watch_hold(own.cold, watch);
    node->generation = jzx_id_generation(world.target);
    if (jzx__task_push(&world.slot->task, node, 0) == JZX__PUSH_OK_INJECT)
        jzx__task_inject(&world.slot->task, own.me);
    jzx__own_end(&own);
}

static jzx_behavior_result watch(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == WATCH)
        monitor_late(ctx);
    if (msg->tag == JZX_TAG_DOWN) {
        world.downs++;
        memcpy(&world.notice, msg->data, sizeof world.notice);
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_monitor_that_comes_too_late_says_that_there_is_no_actor) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.max_actors = 2)); /* the next one has its slot */
    assert_non_null(loop);
    memset(&world, 0, sizeof world);
    jzx_actor_id holder = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = watch));
    world.target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop));
    fixture_send(loop, world.target, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_actor_id next = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    world.slot = jzx__table_lookup(&loop->table, next);
    assert_int_equal(jzx_id_index(next), jzx_id_index(world.target));
    fixture_send(loop, holder, WATCH);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(world.downs, 1);
    JZX_EXPECT_EQ(world.notice.actor, world.target);
    JZX_EXPECT_EQ(world.notice.monitor, 4711);
    JZX_EXPECT_EQ(world.notice.reason, JZX_EXIT_NO_ACTOR);
    JZX_EXPECT_EQ(world.notice.text[0], '\0');
    fixture_destroy(loop);
}
