/* SPDX-License-Identifier: MIT */
/* The table of questions from inside: places are used again, but no reference ever (Q2 of
 * ask/ask.h). */
#include "ask/ask.h"
#include "actor/part.h"

#include "fixture.h"

enum { GO = 1, QUESTION = 2, ANSWER = 3 };

static jzx_actor_id desk;
static jzx_ask_handle kept[8];
static uint32_t kept_count;
static uint32_t heard;

static jzx_behavior_result keep(jzx_context *ctx, const jzx_message *msg) {
    kept[kept_count++] = jzx_ask_from(ctx, msg);
    return JZX_BEHAVIOR_OK;
}

static struct jzx__asks *table_of(const jzx_context *ctx) {
    return jzx__actor_part(jzx__table_lookup(&ctx->loop->table, ctx->self), JZX__PART_ASK);
}

static uint64_t ask(jzx_context *ctx) {
    uint64_t ref = 0;
    JZX_EXPECT_EQ(jzx_ask(ctx, desk, NULL, 0, QUESTION, JZX_NEVER, &ref), JZX_OK);
    return ref;
}

static jzx_behavior_result use_up_a_place(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == ANSWER) {
        heard++;
        return JZX_BEHAVIOR_OK;
    }
    uint64_t first = ask(ctx);
    JZX_EXPECT_EQ(first, (uint64_t)1 << 32);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, first), JZX_OK);
    JZX_EXPECT_EQ(ask(ctx), (uint64_t)2 << 32); /* the same place */
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, (uint64_t)2 << 32), JZX_OK);
    table_of(ctx)->places[0].generation = UINT32_MAX;
    uint64_t last = ask(ctx);
    JZX_EXPECT_EQ(last, (uint64_t)UINT32_MAX << 32);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, last), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, 0), JZX_ERR_INVALID_ARG); /* generation 0 of that place */
    JZX_EXPECT_EQ(ask(ctx), ((uint64_t)1 << 32) + 1);           /* another place */
    JZX_EXPECT_EQ(ask(ctx), ((uint64_t)1 << 32) + 2);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_place_that_has_used_its_last_generation_is_not_used_again, "X22") {
    jzx_loop *loop = fixture_loop();
    desk = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = keep));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = use_up_a_place));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(kept_count, 5);
    for (uint32_t i = 0; i < kept_count; i++)
        JZX_EXPECT_EQ(jzx_reply_to(loop, kept[i], desk, NULL, 0, ANSWER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(heard, 2);
    JZX_EXPECT_EQ(fixture_stats(loop).dead, 3);
    fixture_destroy(loop);
}

static jzx_behavior_result fill_and_empty(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    uint64_t refs[100];
    (void)msg;
    for (uint32_t round = 0; round < 50; round++) {
        for (uint32_t i = 0; i < 100; i++)
            refs[i] = ask(ctx);
        for (uint32_t i = 0; i < 100; i++)
            JZX_EXPECT_EQ(jzx_ask_cancel(ctx, refs[(i * 37) % 100]), JZX_OK);
        JZX_EXPECT_EQ(table_of(ctx)->count, 100);
        JZX_EXPECT_EQ(table_of(ctx)->cap, 128);
    }
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_table_grows_to_what_is_open_at_once_and_no_further, "X22") {
    jzx_loop *loop = fixture_loop();
    desk = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore, .mailbox_cap = 10000));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fill_and_empty));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
}
