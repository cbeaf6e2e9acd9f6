/* SPDX-License-Identifier: MIT */
/* Links and monitors: who hears of whose end, when, and how often. */
#include "fixture.h"

#include <string.h>

enum { GO = 1, DIE, WORK };

/* What an actor that watches others has seen. */
struct seen {
    jzx_actor_id target;
    jzx_monitor_ref ref;
    jzx_err err;
    uint32_t order[64]; /* tags, in order */
    uint32_t count;
    jzx_exit_notice last;
    bool traps;
    bool links;
};

static jzx_behavior_result watch(jzx_context *ctx, const jzx_message *msg) {
    struct seen *self = ctx->state;
    if (msg->tag == GO) {
        if (self->traps)
            JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
        self->err =
            self->links ? jzx_link(ctx, self->target) : jzx_monitor(ctx, self->target, &self->ref);
        return JZX_BEHAVIOR_OK;
    }
    self->order[self->count++] = msg->tag;
    if (msg->tag == JZX_TAG_DOWN || msg->tag == JZX_TAG_EXIT) {
        JZX_EXPECT_EQ(msg->len, sizeof self->last);
        memcpy(&self->last, msg->data, sizeof self->last);
        JZX_EXPECT_EQ(msg->sender, self->last.actor);
    }
    return JZX_BEHAVIOR_OK;
}

static int inner(jzx_context *ctx, int depth) {
    if (depth == 0)
        jzx_exit(ctx, JZX_EXIT_FAIL, "too deep");
    return depth == 11 ? 0 : inner(ctx, depth - 1) + 1;
}

/* Sends WORK to whoever its state names, then ends. */
static jzx_behavior_result die(jzx_context *ctx, const jzx_message *msg) {
    const jzx_actor_id *watcher = ctx->state;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, *watcher, ctx->self, NULL, 0, WORK), JZX_OK);
    if (msg->tag == DIE)
        return inner(ctx, 10) == 0 ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_FAIL;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_monitor_hears_once_and_after_what_was_sent, "D+top", "E19", "X15") {
    jzx_loop *loop = fixture_loop();
    struct seen seen = {0};
    jzx_actor_id watcher = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = watch, .state = &seen));
    seen.target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = die, .state = &watcher));
    fixture_send(loop, watcher, GO);
    fixture_send(loop, seen.target, DIE);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(seen.err, JZX_OK);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.order[0], WORK);
    assert_int_equal(seen.order[1], JZX_TAG_DOWN);
    assert_int_equal(seen.last.actor, seen.target);
    assert_int_equal(seen.last.monitor, seen.ref);
    assert_int_equal(seen.last.reason, JZX_EXIT_FAIL);
    assert_string_equal(seen.last.text, "too deep");
    fixture_destroy(loop);
}

JZX_TEST(a_link_takes_the_other_with_it_or_is_a_message, "D+top", "E19", "E10") {
    for (int traps = 0; traps < 2; traps++) {
        jzx_loop *loop = fixture_loop();
        struct seen seen = {.links = true, .traps = traps != 0};
        jzx_actor_id watcher =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = watch, .state = &seen));
        seen.target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = die, .state = &watcher));
        fixture_send(loop, watcher, GO);
        fixture_send(loop, seen.target, DIE);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(seen.count, traps ? 2 : 1);
        if (traps)
            assert_int_equal(seen.order[1], JZX_TAG_EXIT);
        assert_int_equal(fixture_stats(loop).exited, traps ? 1 : 2);
        fixture_destroy(loop);
    }
}
