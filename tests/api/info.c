/* SPDX-License-Identifier: MIT */
/* Looking at actors: one by id, all by a cursor. */
#include "fixture.h"

#include <string.h>

JZX_TEST(info_shows_name_depth_and_memory) {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log,
                                                          .name = "shown", .mailbox_cap = 9));
    jzx_actor_id plain = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    jzx_actor_info info = {.size = sizeof info};
    assert_int_equal(jzx_actor_info_get(loop, plain, &info), JZX_OK);
    assert_int_equal(info.memory_bytes, 128);
    assert_string_equal(info.name, "");
    assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_OK);
    size_t memory_empty = info.memory_bytes;
    char payload[300] = {0};
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, payload, sizeof payload, 2), JZX_OK);
    assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_OK);
    assert_true(info.id == id);
    assert_string_equal(info.name, "shown");
    assert_int_equal(info.depth, 2);
    assert_int_equal(info.stashed, 0);
    assert_int_equal(info.mailbox_cap, 9);
    assert_int_equal(info.current_tag, 0);
    assert_false(info.daemon);
    assert_true(info.memory_bytes >= memory_empty + 2 * 64);
    fixture_destroy(loop);
}

struct family {
    jzx_actor_id children[2];
    struct recorder logs[2];
};

/* One child with an account, and one without. */
static jzx_behavior_result have_children(jzx_context *ctx, const jzx_message *msg) {
    struct family *family = ctx->state;
    (void)msg;
    jzx_test_ran();
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx_spawn(ctx->loop,
                                &JZX_SPAWN_OPTS(.behavior = record, .state = &family->logs[i],
                                                .account = i == 0),
                                &family->children[i]),
                      JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(steps_start_and_parent_are_kept_for_who_has_asked_for_an_account, "D+def") {
    struct family family = {.children = {JZX_NOBODY}};
    jzx_clock *clock = jzx_clock_manual(JZX_MS(7));
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .clock = clock));
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_id parent =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = have_children, .state = &family));
    assert_int_equal(jzx_clock_advance(clock, JZX_MS(5)), JZX_OK);
    fixture_send(loop, parent, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_clock_advance(clock, JZX_MS(5)), JZX_OK);
    for (uint32_t i = 0; i < 4; i++)
        fixture_send(loop, family.children[i % 2], 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_actor_info_get(loop, family.children[0], &info), JZX_OK);
    assert_int_equal(info.steps, 2);
    assert_int_equal(info.started_ns, JZX_MS(12));
    assert_true(info.parent == parent);
    assert_int_equal(jzx_actor_info_get(loop, family.children[1], &info), JZX_OK);
    assert_int_equal(info.steps + info.started_ns + info.parent, 0);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(info_checks_its_arguments, "C+fail") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_info wrong = {.size = 1};
    uint64_t cursor = 0;
    assert_int_equal(jzx_actor_info_get(NULL, id, &info), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_actor_info_get(loop, id, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_actor_info_get(loop, id, &wrong), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_actor_info_get(loop, 99, &info), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_actor_next(loop, NULL, &info), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_actor_next(loop, &cursor, &wrong), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_actor_next(NULL, &cursor, &info), JZX_ERR_INVALID_ARG);
    jzx_stats stats = {.size = 1};
    assert_int_equal(jzx_loop_stats(loop, &stats), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_stats(loop, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_stats(NULL, &stats), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

JZX_TEST(a_walk_shows_every_living_actor_once) {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id ids[300];
    bool seen[300] = {false};
    for (int i = 0; i < 300; i++)
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    for (int i = 0; i < 300; i += 3)
        assert_int_equal(jzx_actor_stop(loop, ids[i], JZX_STOP_KILL), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_actor_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    while (jzx_actor_next(loop, &cursor, &info) == JZX_OK) {
        uint32_t index = jzx_id_index(info.id);
        assert_true(index < 300 && !seen[index] && ids[index] == info.id);
        seen[index] = true;
    }
    for (int i = 0; i < 300; i++)
        assert_true(seen[i] == (i % 3 != 0));
    fixture_destroy(loop);
}
