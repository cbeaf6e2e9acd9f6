/* SPDX-License-Identifier: MIT */
/* Actor ids: their layout, and that a stale one never reaches a newer actor. */
#include "fixture.h"

JZX_TEST(an_id_is_an_index_and_a_generation, "C1", "X17") {
    jzx_actor_id id = jzx_make_id(0x89ABCDEF, 0x01234567);
    assert_true(id == 0x89ABCDEF01234567u);
    assert_int_equal(jzx_id_index(id), 0x01234567);
    assert_int_equal(jzx_id_generation(id), 0x89ABCDEF);
    assert_true(jzx_make_id(0, 0) == JZX_NOBODY);
}

JZX_TEST(indices_start_at_0_and_generations_at_1, "C1", "C3", "X17") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    for (uint32_t i = 0; i < 100; i++) {
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
        JZX_EXPECT_EQ(jzx_id_index(id), i);
        JZX_EXPECT_EQ(jzx_id_generation(id), 1);
    }
    fixture_destroy(loop);
}

JZX_TEST(a_stale_id_fails_and_its_slot_gets_the_next_generation, "C5", "C6", "C+inv", "C+fail") {
    /* A bound this small keeps no slot aside for the loop's thread: the next spawn gets it. */
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_actors = 8));
    struct recorder first = {.stop_at = 1};
    struct recorder second = {0};
    jzx_actor_id old = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &first));
    fixture_send(loop, old, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);

    jzx_actor_id now = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &second));
    assert_int_equal(jzx_id_index(now), jzx_id_index(old));
    assert_int_equal(jzx_id_generation(now), jzx_id_generation(old) + 1);
    assert_int_equal(jzx_send(loop, old, JZX_NOBODY, NULL, 0, 2), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_actor_stop(loop, old, JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_actor_fail(loop, old), JZX_ERR_NO_SUCH_ACTOR);
    fixture_send(loop, now, 3);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(first.count, 1);
    assert_int_equal(second.count, 1);
    assert_int_equal(second.tags[0], 3);
    fixture_destroy(loop);
}

/* Sends inside the loop to ids that never were: the owner's fast path must refuse them as well. */
static jzx_behavior_result send_to_strangers(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_actor_id strangers[] = {
        JZX_NOBODY,
        jzx_make_id(0, jzx_id_index(ctx->self)),
        jzx_make_id(2, jzx_id_index(ctx->self)), /* the next generation of a living actor */
        jzx_make_id(1, 1),                       /* a slot that does not exist yet */
        jzx_make_id(1, UINT32_MAX),
        jzx_make_id(UINT32_MAX, UINT32_MAX),
    };
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        JZX_EXPECT_EQ(jzx_send(ctx->loop, strangers[i], ctx->self, NULL, 0, 1),
                      JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, strangers[i], JZX_STOP_AFTER_QUEUE),
                      JZX_ERR_NO_SUCH_ACTOR);
    }
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(ids_that_never_were_are_refused, "C5", "C+fail") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = send_to_strangers));
    assert_int_equal(jzx_send(loop, jzx_make_id(2, 0), JZX_NOBODY, NULL, 0, 1),
                     JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_actor_stop(loop, jzx_make_id(2, 0), JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(fixture_stats(loop).refused_no_actor, 7);
    fixture_destroy(loop);
}

/* A guessed id of the generation to come names a free slot: neither sends nor requests may
 * stick. */
JZX_TEST(a_guessed_id_of_a_free_slot_does_nothing_to_its_next_actor, "C5", "C6") {
    /* A bound this small keeps no slot aside for the loop's thread: the next spawn gets it. */
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_actors = 8));
    struct recorder log = {.stop_at = 1};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_actor_id guess = jzx_make_id(jzx_id_generation(id) + 1, jzx_id_index(id));
    assert_int_equal(jzx_send(loop, guess, JZX_NOBODY, NULL, 0, 9), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_actor_stop(loop, guess, JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
    log = (struct recorder){.stop_at = 1};
    jzx_actor_id next = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    assert_true(next == guess);
    fixture_send(loop, next, 2);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.tags[0], 2);
    fixture_destroy(loop);
}

JZX_TEST(max_actors_is_exact_and_slots_come_back, "C2", "C4", "C+fail") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_actors = 3));
    struct recorder logs[3] = {{.stop_at = 1}, {.stop_at = 1}, {.stop_at = 1}};
    jzx_actor_id ids[3];
    for (int i = 0; i < 3; i++)
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &logs[i]));
    jzx_actor_id untouched = 77;
    assert_int_equal(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record), &untouched),
                     JZX_ERR_MAX_ACTORS);
    assert_true(untouched == 77);
    fixture_send(loop, ids[1], 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    struct recorder last = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &last));
    assert_int_equal(jzx_id_index(id), 1);
    assert_int_equal(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record), NULL),
                     JZX_ERR_MAX_ACTORS);
    fixture_destroy(loop);
}

JZX_TEST(an_idle_bound_of_millions_costs_no_memory, "C2", "X21") {
    jzx_loop *small = fixture_loop_with(&JZX_CONFIG(.max_actors = 1));
    uint64_t bytes_small = fixture_bytes();
    fixture_destroy(small);
    jzx_loop *large = fixture_loop_with(&JZX_CONFIG(.max_actors = JZX_UNLIMITED));
    assert_int_equal(fixture_bytes(), bytes_small);
    fixture_destroy(large);
}

JZX_TEST(the_slot_that_was_freed_last_is_used_first) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_actors = 8)); /* no slot is set aside */
    struct recorder log = {0};
    jzx_actor_id ids[3];
    for (uint32_t i = 0; i < 3; i++) {
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
        assert_int_equal(jzx_id_index(ids[i]), i);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(jzx_actor_stop(loop, ids[i], JZX_STOP_AFTER_MESSAGE), JZX_OK);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    for (uint32_t i = 3; i-- > 0;) {
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
        assert_int_equal(id, jzx_make_id(jzx_id_generation(ids[i]) + 1, i));
    }
    fixture_destroy(loop);
}
