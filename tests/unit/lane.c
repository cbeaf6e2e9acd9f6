/* SPDX-License-Identifier: MIT */
/* L2 of actor/lane.h: nodes that are to be looked at are looked at behind others, too, as a
 * receiver does that has skipped those. */
#include "actor/lane.h"

#include "actor/mailbox.h"

#include "fixture.h"

enum { GO = 1, FIRST, LAST, ANSWER };

static struct {
    jzx_loop *loop;
    jzx_actor_id receiver;
    jzx_actor_id partner;
    jzx_actor_id looker;
    enum jzx__look look;
    uint32_t heard[8];
    unsigned count;
    bool ended;
} world;

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

static enum jzx__look look_behind(struct jzx__worker *me, struct jzx__actor *actor,
                                  struct jzx__node *before) {
    const struct jzx__spot at = {actor, before, before->next};
    JZX_EXPECT(jzx__lane_is_special(at.node->lane));
    return jzx__lane_of(at.node)->begin(me, &at);
}

static void reply(jzx_context *ctx, uint64_t ref) {
    const jzx_ask_handle handle = {ctx->self, ref};
    JZX_EXPECT_EQ(jzx_reply_to(ctx->loop, handle, world.partner, NULL, 0, ANSWER), JZX_OK);
}

/* ---- answers ---- */

/* Two answers wait behind a message: the first is good, the second in vain. */
static jzx_behavior_result answer_twice(jzx_context *ctx, const jzx_message *msg) {
    world.heard[world.count++] = msg->tag;
    if (msg->tag != GO)
        return msg->tag == LAST ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    uint64_t refs[2];
    for (int i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx_ask(ctx, world.partner, NULL, 0, GO, JZX_NEVER, &refs[i]), JZX_OK);
    fixture_send(ctx->loop, ctx->self, FIRST);
    reply(ctx, refs[0]);
    reply(ctx, refs[1]);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, refs[1]), JZX_OK);
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__visit_begin(&visit);
    struct jzx__actor *actor = jzx__table_lookup(&ctx->loop->table, ctx->self);
    JZX_ASSERT(actor != NULL);
    struct jzx__node *first = actor->task.head;
    JZX_EXPECT_EQ(look_behind(me, actor, first), JZX__LOOK_HANDLE);
    JZX_EXPECT_EQ(look_behind(me, actor, first->next), JZX__LOOK_AGAIN);
    JZX_EXPECT(actor->task.last == first->next && first->next->next == NULL);
    JZX_EXPECT_EQ(actor->task.pending, 1); /* answers do not count */
    jzx__visit_end(&visit);
    fixture_send(ctx->loop, ctx->self, LAST);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_answer_is_judged_behind_messages_that_wait) {
    memset(&world, 0, sizeof world);
    world.loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    assert_non_null(world.loop);
    world.partner = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = ignore, .daemon = true));
    jzx_actor_id id = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = answer_twice));
    fixture_send(world.loop, id, GO);
    assert_int_equal(jzx_loop_run(world.loop), JZX_OK);
    const uint32_t expected[] = {GO, FIRST, ANSWER, LAST};
    JZX_EXPECT_EQ(world.count, 4);
    JZX_EXPECT_EQ(memcmp(world.heard, expected, sizeof expected), 0);
    JZX_EXPECT_EQ(fixture_stats(world.loop).dead, 1);
    fixture_destroy(world.loop);
}

/* ---- ends of linked actors ---- */

static void note_end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    JZX_EXPECT_EQ(reason, JZX_EXIT_FAIL);
    world.ended = true;
}

static jzx_behavior_result fail_now(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_FAIL;
}

/* The exit of the partner waits behind FIRST, which the receiver has no turn for yet. */
static jzx_behavior_result look_at_exit(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__visit_begin(&visit);
    struct jzx__actor *actor = jzx__table_lookup(&ctx->loop->table, world.receiver);
    JZX_ASSERT(actor != NULL);
    struct jzx__node *first = actor->task.head;
    if (JZX_EXPECT(first != NULL && first->next != NULL)) {
        jzx__worker_unqueue(me, &actor->task);
        actor->task.place = JZX__RUNNING;
        world.look = look_behind(me, actor, first);
    }
    jzx__visit_end(&visit);
    return JZX_BEHAVIOR_STOP;
}

/* With a turn of one message the partner has its turn before FIRST is handled, then the looker. */
static jzx_behavior_result link_and_wait(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(msg->tag, GO);
    JZX_EXPECT_EQ(jzx_link(ctx, world.partner), JZX_OK);
    fixture_send(ctx->loop, world.partner, GO);
    fixture_send(ctx->loop, world.looker, GO);
    fixture_send(ctx->loop, ctx->self, FIRST);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_exit_of_a_linked_actor_is_obeyed_behind_messages_that_wait) {
    memset(&world, 0, sizeof world);
    world.loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .max_msgs_per_actor = 1));
    assert_non_null(world.loop);
    world.receiver =
        fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = link_and_wait, .cleanup = note_end));
    world.partner = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = fail_now));
    world.looker = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = look_at_exit));
    fixture_send(world.loop, world.receiver, GO);
    assert_int_equal(jzx_loop_run(world.loop), JZX_OK);
    JZX_EXPECT_EQ(world.look, JZX__LOOK_ENDED);
    JZX_EXPECT(world.ended);
    JZX_EXPECT_EQ(fixture_stats(world.loop).dead, 1); /* FIRST */
    fixture_destroy(world.loop);
}
