/* SPDX-License-Identifier: MIT */
/* Putting messages aside and bringing them back. */
#include "fixture.h"

enum { OPEN = 1000, CLOSE = 1001 };

struct door {
    struct recorder log;
    uint32_t stash_full;
};

static jzx_behavior_result closed(jzx_context *ctx, const jzx_message *msg);

static jzx_behavior_result opened(jzx_context *ctx, const jzx_message *msg) {
    struct door *self = ctx->state;
    if (msg->tag == CLOSE)
        return jzx_become(ctx, closed) == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_FAIL;
    self->log.tags[self->log.count++] = msg->tag;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result closed(jzx_context *ctx, const jzx_message *msg) {
    struct door *self = ctx->state;
    if (msg->tag == OPEN) {
        jzx_become(ctx, opened);
        jzx_unstash(ctx);
        return JZX_BEHAVIOR_OK;
    }
    jzx_err err = jzx_stash(ctx, msg);
    self->stash_full += err == JZX_ERR_MAILBOX_FULL;
    if (err == JZX_OK) {
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_ERR_INVALID_ARG); /* it is aside already */
        JZX_EXPECT_EQ(jzx_msg_take(ctx, msg), NULL);
    }
    return JZX_BEHAVIOR_OK;
}

static void expect_tags(const struct recorder *log, uint32_t count, const uint32_t *tags) {
    JZX_EXPECT_EQ(log->count, count);
    for (uint32_t i = 0; i < count && i < log->count; i++)
        JZX_EXPECT_EQ(log->tags[i], tags[i]);
}

JZX_TEST(unstash_brings_messages_back_in_order_and_before_the_rest) {
    jzx_loop *loop = fixture_loop();
    struct door door = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = closed, .state = &door));
    static const uint32_t sent[] = {1, 2, 3, OPEN, 4, CLOSE, 5, OPEN, 6};
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++)
        fixture_send(loop, id, sent[i]);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    expect_tags(&door.log, 6, (const uint32_t[]){1, 2, 3, 4, 5, 6});
    assert_int_equal(fixture_stats(loop).handled, 9);
    fixture_destroy(loop);
}

JZX_TEST(stashed_messages_count_as_waiting_and_die_with_their_actor, "X14") {
    jzx_loop *loop = fixture_loop();
    struct door door = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = closed, .state = &door));
    for (uint32_t tag = 1; tag <= 3; tag++)
        fixture_send(loop, id, tag);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_actor_info info = {.size = sizeof info};
    assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_OK);
    assert_int_equal(info.stashed, 3);
    assert_int_equal(info.depth, 0);
    assert_int_equal(fixture_stats(loop).waiting, 3);
    fixture_check_books(loop);
    assert_int_equal(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(fixture_stats(loop).dead, 3);
    fixture_destroy(loop);
}

JZX_TEST(the_stash_is_bounded, "X21") {
    static const struct {
        uint32_t stash_cap;
        uint32_t bound;
    } cases[] = {{3, 3}, {JZX_NONE, 0}, {0, JZX_DEFAULT_STASH_CAP}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        jzx_loop *loop = fixture_loop();
        struct door door = {0};
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = closed, .state = &door,
                                                              .stash_cap = cases[i].stash_cap));
        for (uint32_t tag = 0; tag < cases[i].bound + 2; tag++)
            fixture_send(loop, id, tag);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(door.stash_full, 2);
        assert_int_equal(fixture_stats(loop).waiting, cases[i].bound);
        fixture_destroy(loop);
    }
}

JZX_TEST(stash_refuses_what_is_not_the_message_of_the_call) {
    jzx_message stray = {0};
    assert_int_equal(jzx_stash(NULL, &stray), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_unstash(NULL), 0);
}

/* ---- contexts that are nobody's ---- */

static jzx_context *kept;
static jzx_message kept_message;

static jzx_behavior_result keep_context(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    jzx_context copy = *ctx;
    kept = ctx;
    kept_message = *msg;
    JZX_EXPECT_EQ(jzx_stash(&copy, msg), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(jzx_msg_take(&copy, msg) == NULL);
    JZX_EXPECT_EQ(jzx_become(&copy, keep_context), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_unstash(&copy), 0);
    return JZX_BEHAVIOR_OK;
}

static void use_context(jzx_loop *loop, void *arg) {
    jzx_test_ran();
    (void)loop;
    (void)arg;
    JZX_EXPECT_EQ(jzx_stash(kept, &kept_message), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(jzx_msg_take(kept, &kept_message) == NULL);
    JZX_EXPECT_EQ(jzx_become(kept, keep_context), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_unstash(kept), 0);
}

JZX_TEST(contexts_that_were_copied_or_kept_change_nothing) {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = keep_context));
    fixture_send(loop, id, 1);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_call(loop, use_context, NULL), JZX_OK); /* no turn runs then */
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    fixture_destroy(loop);
}
