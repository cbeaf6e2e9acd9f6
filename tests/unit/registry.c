/* SPDX-License-Identifier: MIT */
/* Moving a name to a new actor, as those do who start actors again. */
#include "directory/registry.h"

#include "actor/loop.h"
#include "watch/watch.h"

#include "fixture.h"

#include <stdio.h>

#include <jzx/name.h>

static jzx_behavior_result stop(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static jzx_actor_id spawn(jzx_loop *loop) {
    return fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop));
}

static void end(jzx_loop *loop, jzx_actor_id id) {
    fixture_send(loop, id, 1);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

JZX_TEST(a_pinned_name_moves_to_a_new_actor_without_memory, "D+name", "C17") {
    jzx_loop *loop = fixture_loop();
    struct jzx__name *pin = NULL;
    jzx_actor_id first = spawn(loop);
    JZX_EXPECT_EQ(jzx__names_pin(loop, "child", first, &pin), JZX_OK);
    jzx_actor_id second = spawn(loop);
    JZX_EXPECT_EQ(jzx__names_move(loop, pin, second), JZX_ERR_EXISTS); /* the first one lives */
    end(loop, first);
    for (uint32_t i = 0; i < 1000; i++) { /* enough to sweep and to grow */
        char name[32];
        snprintf(name, sizeof name, "other %u", i);
        JZX_EXPECT_EQ(jzx_register(loop, name, second), JZX_OK);
    }
    fixture_fail_allocations(0, UINT64_MAX);
    JZX_EXPECT_EQ(jzx__names_move(loop, pin, second), JZX_OK);
    JZX_EXPECT_EQ(jzx__names_move(loop, pin, second), JZX_OK);
    fixture_fail_allocations(UINT64_MAX, 0);
    jzx_actor_id found = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_lookup(loop, "child", &found), JZX_OK);
    JZX_EXPECT_EQ(found, second);
    jzx__names_unpin(loop, pin, JZX_NOBODY);
    fixture_destroy(loop);
}

/* Somebody finds the name at once, and sends. */
static void name_and_send(void *arg, jzx_actor_id id) {
    jzx_loop *loop = arg;
    JZX_EXPECT_EQ(jzx_register(loop, "child", id), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_named(loop, "child", JZX_NOBODY, NULL, 0, 1), JZX_OK);
}

static void spawn_named(jzx_loop *loop) {
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = stop);
    const struct jzx__bonds bonds = {.before = name_and_send, .before_arg = loop};
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    JZX_EXPECT_EQ(jzx__spawn_bound(loop, me, &opts, &bonds, NULL), JZX_OK);
    jzx__visit_end(&visit);
}

static jzx_behavior_result spawn_inside(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    spawn_named(ctx->loop);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(who_finds_the_name_of_a_child_that_is_being_started_can_send_to_it, "D+name", "C17") {
    for (uint32_t inside = 0; inside < 2; inside++) { /* on the thread that will own it, too */
        jzx_loop *loop = fixture_loop();
        if (inside != 0)
            fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_inside)), 1);
        else
            spawn_named(loop);
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(fixture_stats(loop).handled, 1 + inside);
        fixture_destroy(loop);
    }
}

JZX_TEST(a_name_that_somebody_took_meanwhile_does_not_move, "D+name") {
    jzx_loop *loop = fixture_loop();
    struct jzx__name *pin = NULL;
    jzx_actor_id first = spawn(loop);
    jzx_actor_id thief = spawn(loop);
    JZX_EXPECT_EQ(jzx__names_pin(loop, "child", first, &pin), JZX_OK);
    end(loop, first);
    JZX_EXPECT_EQ(jzx_register(loop, "child", thief), JZX_OK);
    jzx_actor_id second = spawn(loop);
    JZX_EXPECT_EQ(jzx__names_move(loop, pin, second), JZX_ERR_EXISTS);
    end(loop, thief);
    JZX_EXPECT_EQ(jzx__names_move(loop, pin, second), JZX_OK); /* free again */
    jzx__names_unpin(loop, pin, JZX_NOBODY);
    fixture_destroy(loop);
}

JZX_TEST(a_name_is_neither_pinned_for_nor_moved_to_who_has_ended, "D+name") {
    jzx_loop *loop = fixture_loop();
    struct jzx__name *pin = NULL;
    struct jzx__name *none = NULL;
    jzx_actor_id first = spawn(loop);
    jzx_actor_id second = spawn(loop);
    JZX_EXPECT_EQ(jzx__names_pin(loop, "@child", first, &pin), JZX_OK); /* the runtime may */
    JZX_EXPECT_EQ(jzx__names_pin(loop, "@child", second, &none), JZX_ERR_EXISTS);
    JZX_EXPECT_EQ(jzx__names_pin(loop, "", second, &none), JZX_ERR_INVALID_ARG);
    end(loop, second);
    JZX_EXPECT_EQ(jzx__names_pin(loop, "x", second, &none), JZX_ERR_NO_SUCH_ACTOR);
    end(loop, first);
    JZX_EXPECT_EQ(jzx__names_move(loop, pin, second), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(none, NULL);
    jzx__names_unpin(loop, pin, JZX_NOBODY);
    fixture_destroy(loop);
}

/* An entry that nobody has and nobody has pinned is used again. */
JZX_TEST(a_pin_that_was_given_back_keeps_no_entry) {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = spawn(loop);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        char name[32];
        struct jzx__name *pin = NULL;
        snprintf(name, sizeof name, "child %u", i);
        assert_int_equal(jzx__names_pin(loop, name, id, &pin), JZX_OK);
        jzx__names_unpin(loop, pin, id);
        if (i == 1000)
            bytes = fixture_bytes();
    }
    JZX_EXPECT_EQ(fixture_bytes(), bytes);
    fixture_destroy(loop);
}
