/* SPDX-License-Identifier: MIT */
/* Names of actors: who has one, for how long, and what is refused. */
#include "fixture.h"

#include <string.h>

enum { STOP = 1, NOTE = 2, ASK = 3 };

static jzx_behavior_result obey(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *notes = ctx->state;
    if (msg->tag == NOTE)
        ++*notes;
    return msg->tag == STOP ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_actor_id spawn(jzx_loop *loop, uint32_t *notes) {
    return fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = obey, .state = notes));
}

static void expect_holder(jzx_loop *loop, const char *name, jzx_actor_id id) {
    jzx_actor_id found = 4711;
    if (id == JZX_NOBODY) {
        JZX_EXPECT_EQ(jzx_lookup(loop, name, &found), JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(found, 4711);
    } else {
        JZX_EXPECT_EQ(jzx_lookup(loop, name, &found), JZX_OK);
        JZX_EXPECT_EQ(found, id);
    }
}

JZX_TEST(a_name_is_registered_found_and_given_up, "D+name") {
    jzx_loop *loop = fixture_loop();
    uint32_t notes = 0;
    jzx_actor_id id = spawn(loop, &notes);
    expect_holder(loop, "printer", JZX_NOBODY);
    JZX_EXPECT_EQ(jzx_register(loop, "printer", id), JZX_OK);
    JZX_EXPECT_EQ(jzx_register(loop, "printer", id), JZX_OK); /* again: it has it */
    JZX_EXPECT_EQ(jzx_register(loop, "fax", id), JZX_OK);     /* and another one */
    expect_holder(loop, "printer", id);
    expect_holder(loop, "fax", id);
    JZX_EXPECT_EQ(jzx_unregister(loop, "printer"), JZX_OK);
    expect_holder(loop, "printer", JZX_NOBODY);
    expect_holder(loop, "fax", id);
    JZX_EXPECT_EQ(jzx_unregister(loop, "printer"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_unregister(loop, "never"), JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
}

JZX_TEST(a_name_belongs_to_one_living_actor, "D+name") {
    jzx_loop *loop = fixture_loop();
    uint32_t notes = 0;
    jzx_actor_id first = spawn(loop, &notes);
    jzx_actor_id second = spawn(loop, &notes);
    JZX_EXPECT_EQ(jzx_register(loop, "one", first), JZX_OK);
    JZX_EXPECT_EQ(jzx_register(loop, "one", second), JZX_ERR_EXISTS);
    expect_holder(loop, "one", first);
    JZX_EXPECT_EQ(jzx_unregister(loop, "one"), JZX_OK);
    JZX_EXPECT_EQ(jzx_register(loop, "one", second), JZX_OK);
    expect_holder(loop, "one", second);
    fixture_destroy(loop);
}

JZX_TEST(a_name_is_free_when_its_actor_ends, "D+name") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_actors = 2));
    uint32_t notes = 0;
    jzx_actor_id first = spawn(loop, &notes);
    jzx_actor_id second = spawn(loop, &notes);
    JZX_EXPECT_EQ(jzx_register(loop, "heir", first), JZX_OK);
    fixture_send(loop, first, STOP);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    expect_holder(loop, "heir", JZX_NOBODY);
    JZX_EXPECT_EQ(jzx_unregister(loop, "heir"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_register(loop, "heir", first), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_register(loop, "heir", second), JZX_OK);
    expect_holder(loop, "heir", second);
    jzx_actor_id third = spawn(loop, &notes); /* in the slot of the first */
    JZX_EXPECT_EQ(jzx_id_index(third), jzx_id_index(first));
    expect_holder(loop, "heir", second);
    fixture_destroy(loop);
}

struct last_words {
    jzx_err found;
    jzx_err registered;
};

static void look_for_myself(jzx_context *ctx, jzx_exit_reason reason) {
    struct last_words *words = ctx->state;
    jzx_actor_id id;
    (void)reason;
    words->found = jzx_lookup(ctx->loop, "gone", &id);
    words->registered = jzx_register(ctx->loop, "late", ctx->self);
}

static jzx_behavior_result stop(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(in_its_cleanup_an_actor_has_no_name_any_more, "D+name") {
    jzx_loop *loop = fixture_loop();
    struct last_words words = {JZX_OK, JZX_OK};
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = stop, .state = &words, .cleanup = look_for_myself));
    JZX_EXPECT_EQ(jzx_register(loop, "gone", id), JZX_OK);
    fixture_send(loop, id, STOP);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(words.found, JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(words.registered, JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
}

JZX_TEST(wrong_names_and_ids_are_refused, "D+name") {
    jzx_loop *loop = fixture_loop();
    uint32_t notes = 0;
    jzx_actor_id id = spawn(loop, &notes);
    jzx_actor_id found = 4711;
    char longest[JZX_NAME_MAX + 2];
    memset(longest, 'n', sizeof longest);
    longest[JZX_NAME_MAX + 1] = '\0';
    const char *const wrong[] = {NULL, "", longest, "@", "@mine"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        JZX_EXPECT_EQ(jzx_register(loop, wrong[i], id), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_unregister(loop, wrong[i]), JZX_ERR_INVALID_ARG);
    }
    for (size_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_lookup(loop, wrong[i], &found), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_send_named(loop, wrong[i], JZX_NOBODY, NULL, 0, NOTE),
                      JZX_ERR_INVALID_ARG);
    }
    expect_holder(loop, "@mine", JZX_NOBODY); /* the runtime might have it */
    longest[JZX_NAME_MAX] = '\0';
    JZX_EXPECT_EQ(jzx_register(loop, longest, id), JZX_OK);
    expect_holder(loop, longest, id);
    JZX_EXPECT_EQ(jzx_register(loop, "n@", id), JZX_OK);
    JZX_EXPECT_EQ(jzx_register(NULL, "name", id), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_unregister(NULL, "name"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_lookup(NULL, "name", &found), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_lookup(loop, "name", NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_named(NULL, "name", JZX_NOBODY, NULL, 0, NOTE), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_register(loop, "name", JZX_NOBODY), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_register(loop, "name", jzx_make_id(1, 1000000)), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(found, 4711);
    fixture_destroy(loop);
}

JZX_TEST(the_id_to_come_of_a_free_slot_gets_no_name) {
    jzx_loop *loop = fixture_loop();
    uint32_t notes = 0;
    jzx_actor_id id = spawn(loop, &notes);
    fixture_send(loop, id, STOP);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_actor_id guess = jzx_make_id(jzx_id_generation(id) + 1, jzx_id_index(id));
    JZX_EXPECT_EQ(jzx_register(loop, "guess", guess), JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
}

JZX_TEST(a_message_reaches_whoever_has_the_name, "D+name", "X14") {
    jzx_loop *loop = fixture_loop();
    uint32_t notes[2] = {0};
    jzx_actor_id first = spawn(loop, &notes[0]);
    jzx_actor_id second = spawn(loop, &notes[1]);
    JZX_EXPECT_EQ(jzx_send_named(loop, "desk", JZX_NOBODY, NULL, 0, NOTE), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_register(loop, "desk", first), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_named(loop, "desk", JZX_NOBODY, "x", 1, NOTE), JZX_OK);
    JZX_EXPECT_EQ(jzx_unregister(loop, "desk"), JZX_OK);
    JZX_EXPECT_EQ(jzx_register(loop, "desk", second), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_named(loop, "desk", JZX_NOBODY, "x", 1, NOTE), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_named(loop, "desk", JZX_NOBODY, NULL, 1, NOTE), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_named(loop, "", JZX_NOBODY, NULL, 0, NOTE), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(notes[0], 1);
    JZX_EXPECT_EQ(notes[1], 1);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.accepted, 2);
    JZX_EXPECT_EQ(stats.refused_no_actor, 1);
    JZX_EXPECT_EQ(stats.refused_invalid, 2);
    fixture_destroy(loop);
}

static jzx_behavior_result close_and_try(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id id = 4711;
    (void)msg;
    JZX_EXPECT_EQ(jzx_register(ctx->loop, "before", ctx->self), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_register(ctx->loop, "after", ctx->self), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_lookup(ctx->loop, "before", &id), JZX_OK); /* it lives */
    JZX_EXPECT_EQ(id, ctx->self);
    JZX_EXPECT_EQ(jzx_unregister(ctx->loop, "before"), JZX_ERR_LOOP_CLOSED);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_closed_loop_gives_no_names, "D+name") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = close_and_try));
    jzx_actor_id found = 4711;
    fixture_send(loop, id, ASK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_lookup(loop, "before", &found), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_send_named(loop, "before", JZX_NOBODY, NULL, 0, NOTE), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_register(loop, "before", id), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(found, 4711);
    fixture_destroy(loop);
}

JZX_TEST(names_of_actors_that_end_take_no_memory_for_ever, "D+name", "C17") {
    jzx_loop *loop = fixture_loop();
    uint32_t notes = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        char name[JZX_NAME_MAX + 1] = "job 0000";
        for (uint32_t n = i, at = 7; n != 0; n /= 10, at--)
            name[at] = (char)('0' + n % 10);
        jzx_actor_id id = spawn(loop, &notes);
        JZX_EXPECT_EQ(jzx_register(loop, name, id), JZX_OK);
        expect_holder(loop, name, id);
        fixture_send(loop, id, STOP);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        expect_holder(loop, name, JZX_NOBODY);
        if (i == 1000)
            bytes = fixture_bytes();
    }
    JZX_EXPECT_EQ(fixture_bytes(), bytes);
    fixture_destroy(loop);
}

JZX_TEST(without_memory_a_name_is_refused_and_the_next_time_given, "C17", "C+fail", "D+name") {
    jzx_loop *loop = fixture_loop();
    uint32_t notes = 0;
    jzx_actor_id id = spawn(loop, &notes);
    for (uint64_t n = 0; n < 2; n++) {
        fixture_fail_allocations(n, UINT64_MAX);
        JZX_EXPECT_EQ(jzx_register(loop, "poor", id), JZX_ERR_NO_MEMORY);
        expect_holder(loop, "poor", JZX_NOBODY);
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(jzx_register(loop, "poor", id), JZX_OK);
    fixture_fail_allocations(0, UINT64_MAX);
    expect_holder(loop, "poor", id);
    JZX_EXPECT_EQ(jzx_register(loop, "poor", id), JZX_OK);
    JZX_EXPECT_EQ(jzx_unregister(loop, "poor"), JZX_OK);
    fixture_fail_allocations(UINT64_MAX, 0);
    fixture_destroy(loop);
}
