/* SPDX-License-Identifier: MIT */
/* Parts that meet each other: kinds of actors, and what was built beside them. */
#include "descriptors.h"
#include "processes.h"

#include <jzx/async.h>
#include <jzx/manual.h>
#include <jzx/unix.h>

/* ---- manual actors ---- */

JZX_TEST(a_process_is_no_manual_actor, "E24") {
    jzx_loop *loop = fixture_loop();
    struct journal journal = {.count = 0};
    jzx_manual *manual = NULL;
    assert_int_equal(jzx_manual_create(loop,
                                       &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &journal),
                                       &manual),
                     JZX_ERR_INVALID_ARG);
    assert_true(manual == NULL);
    assert_int_equal(journal.closes, 0);
    fixture_destroy(loop);
}

static jzx_behavior_result second(jzx_context *ctx, const jzx_message *msg) {
    struct life *life = ctx->state;
    note_tag(life, msg->tag + 100);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result first(jzx_context *ctx, const jzx_message *msg) {
    struct life *life = ctx->state;
    note_tag(life, msg->tag);
    if (msg->tag == 2)
        JZX_EXPECT_EQ(jzx_become(ctx, second), JZX_OK);
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_manual_actor_becomes_another, "E24") {
    jzx_loop *loop = fixture_loop();
    struct life life = {.count = 0};
    jzx_manual *manual = NULL;
    assert_int_equal(
        jzx_manual_create(loop, &JZX_SPAWN_OPTS(.behavior = first, .state = &life), &manual),
        JZX_OK);
    for (uint32_t tag = 1; tag <= 4; tag++)
        fixture_send(loop, jzx_manual_id(manual), tag);
    assert_int_equal(jzx_manual_drain(manual, 0, NULL), JZX_OK);
    fixture_send(loop, jzx_manual_id(manual), 5);
    assert_int_equal(jzx_manual_drain(manual, 0, NULL), JZX_OK);
    assert_int_equal(life.count, 5);
    assert_int_equal(life.tags[1], 2);
    assert_int_equal(life.tags[2], 103);
    assert_int_equal(life.tags[4], 105);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

JZX_TEST(a_manual_actor_that_traps_stops_ends_with_its_handle, "E24") {
    struct timing timing = timing_open();
    struct life life = {.count = 0};
    jzx_manual *manual = NULL;
    assert_int_equal(jzx_manual_create(timing.loop,
                                       &JZX_SPAWN_OPTS(.behavior = first, .state = &life,
                                                       .cleanup = note_cleanup, .trap_stop = true),
                                       &manual),
                     JZX_OK);
    fixture_send(timing.loop, jzx_manual_id(manual), 1);
    assert_int_equal(jzx_manual_drain(manual, 0, NULL), JZX_OK);
    jzx_manual_destroy(manual);
    assert_int_equal(life.cleaned, 1);
    assert_int_equal(life.reason, JZX_EXIT_NORMAL);
    timing_close(&timing);
    assert_true(jzx_test_runs() != 0);
}

JZX_TEST(urgent_messages_overtake_in_manual_actors, "E24") {
    jzx_loop *loop = fixture_loop();
    struct life life = {.count = 0};
    jzx_manual *manual = NULL;
    assert_int_equal(
        jzx_manual_create(loop, &JZX_SPAWN_OPTS(.behavior = first, .state = &life), &manual),
        JZX_OK);
    jzx_actor_id id = jzx_manual_id(manual);
    for (uint32_t tag = 11; tag <= 14; tag++)
        fixture_send(loop, id, tag);
    assert_int_equal(jzx_manual_poll_one(manual, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_urgent(loop, id, JZX_NOBODY, NULL, 0, 21), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_urgent(loop, id, JZX_NOBODY, NULL, 0, 22), JZX_OK);
    assert_int_equal(jzx_manual_poll_one(manual, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_urgent(loop, id, JZX_NOBODY, NULL, 0, 23), JZX_OK);
    size_t count = 0;
    assert_int_equal(jzx_manual_drain(manual, 0, &count), JZX_OK);
    assert_int_equal(count, 5);
    static const uint32_t wanted[] = {11, 21, 22, 23, 12, 13, 14};
    assert_int_equal(life.count, 7);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(life.tags[i], wanted[i]);
    fixture_check_books(loop);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

JZX_TEST(exit_signals_reach_manual_actors, "E24") {
    jzx_loop *loop = fixture_loop();
    struct life life = {.count = 0};
    jzx_manual *manual = NULL;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(jzx_manual_create(loop,
                                           &JZX_SPAWN_OPTS(.behavior = first, .state = &life,
                                                           .cleanup = note_cleanup),
                                           &manual),
                         JZX_OK);
        jzx_actor_id id = jzx_manual_id(manual);
        fixture_send(loop, id, 1);
        fixture_send(loop, id, 3);
        assert_int_equal(jzx_manual_poll_one(manual, NULL), JZX_OK);
        if (i == 0)
            JZX_EXPECT_EQ(jzx_actor_exit(loop, id, JZX_EXIT_PANIC, "x"), JZX_OK);
        else
            JZX_EXPECT_EQ(jzx_actor_cancel(loop, id, 0, "x"), JZX_OK);
        assert_int_equal(jzx_manual_drain(manual, 0, NULL), JZX_ERR_NO_SUCH_ACTOR);
        assert_int_equal(life.cleaned, i + 1);
        assert_int_equal(life.reason, i == 0 ? JZX_EXIT_PANIC : JZX_EXIT_NORMAL);
        jzx_manual_destroy(manual);
    }
    fixture_destroy(loop);
    assert_true(jzx_test_runs() != 0);
}

static void set_timers(jzx_context *ctx) {
    for (uint32_t tag = 1; tag <= 5; tag++)
        JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, ctx->self, NULL, 0, tag, 1, NULL),
                      JZX_OK);
}

static jzx_behavior_result note_and_set(jzx_context *ctx, const jzx_message *msg) {
    note_tag(ctx->state, msg->tag);
    if (msg->tag == 100)
        set_timers(ctx);
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_drain_handles_messages_that_no_bound_counts, "E24") {
    struct timing timing = timing_open();
    struct life life = {.count = 0};
    jzx_manual *manual = NULL;
    size_t count = 0;
    assert_int_equal(jzx_manual_create(timing.loop,
                                       &JZX_SPAWN_OPTS(.behavior = note_and_set, .state = &life),
                                       &manual),
                     JZX_OK);
    fixture_send(timing.loop, jzx_manual_id(manual), 100);
    assert_int_equal(jzx_manual_drain(manual, 0, &count), JZX_OK);
    assert_int_equal(count, 1);
    assert_int_equal(jzx_manual_drain(manual, 0, &count), JZX_OK); /* the timers are set */
    timing_advance(&timing, JZX_MS(10));
    assert_int_equal(jzx_manual_drain(manual, 0, &count), JZX_OK);
    assert_int_equal(count, 5);
    assert_int_equal(life.count, 6);
    jzx_manual_destroy(manual);
    timing_close(&timing);
}

static jzx_manual *own_handle;

static jzx_behavior_result give_itself_up(jzx_context *ctx, const jzx_message *msg) {
    note_tag(ctx->state, msg->tag);
    jzx_manual_destroy(own_handle);
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_manual_actor_whose_handler_gives_it_up_ends_soon, "E24") {
    for (int i = 0; i < 2; i++) {
        struct timing timing = timing_open();
        struct life life = {.count = 0};
        assert_int_equal(
            jzx_manual_create(timing.loop,
                              &JZX_SPAWN_OPTS(.behavior = give_itself_up, .state = &life,
                                              .cleanup = note_cleanup, .trap_stop = i == 1),
                              &own_handle),
            JZX_OK);
        fixture_send(timing.loop, jzx_manual_id(own_handle), 1);
        fixture_send(timing.loop, jzx_manual_id(own_handle), 2);
        assert_int_equal(jzx_manual_poll_one(own_handle, NULL), JZX_OK);
        timing_step(&timing);
        timing_step(&timing);
        assert_int_equal(life.count, 1);
        assert_int_equal(life.cleaned, 1);
        assert_int_equal(life.reason, JZX_EXIT_NORMAL);
        timing_close(&timing);
    }
}

/* ---- async functions ---- */

struct streams {
    jzx_await_op op;
    jzx_stream pair[2];
    jzx_future *read;
    char value[sizeof(jzx_result) + 8];
};

JZX_ASYNC(streams, struct streams, int) {
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, self->pair), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_active(ctx, self->pair[0], 1, JZX_STREAM_ALWAYS), JZX_ERR_UNSUPPORTED);
    JZX_EXPECT_EQ(jzx_stream_read_async(ctx->loop, self->pair[0], 8, &self->read), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, self->pair[1], "hello", 5), JZX_OK);
    JZX_AWAIT(jzx_op_consume(&self->op, self->read, JZX_NEVER), self->value);
    JZX_EXPECT_EQ(memcmp(self->value + sizeof(jzx_result), "hello", 5), 0);
    jzx_test_ran();
    JZX_RETURN(0);
}
JZX_END

JZX_TEST(a_stream_of_an_async_function_cannot_be_active) {
    jzx_loop *loop = fixture_loop();
    jzx_future *future;
    assert_int_equal(streams_spawn(loop, (struct streams){.read = NULL}, &future), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_future_release(future);
    fixture_destroy(loop);
    assert_true(jzx_test_runs() != 0);
}

/* ---- a loop that ends while a turn is away ---- */

static jzx_behavior_result begin_much(jzx_context *ctx, const jzx_message *msg) {
    jzx_stream pair[2];
    (void)msg;
    set_timers(ctx);
    JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, pair), JZX_OK);
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(what_a_manual_actor_has_begun_ends_with_the_loop, "E24") {
    for (int i = 0; i < 3; i++) {
        int before = descriptors_open();
        struct timing timing = timing_open();
        struct life life = {.count = 0};
        jzx_manual *manual = NULL;
        assert_int_equal(jzx_manual_create(timing.loop,
                                           &JZX_SPAWN_OPTS(.behavior = begin_much, .state = &life,
                                                           .cleanup = note_cleanup),
                                           &manual),
                         JZX_OK);
        fixture_send(timing.loop, jzx_manual_id(manual), 1);
        assert_int_equal(jzx_manual_poll_one(manual, NULL), JZX_OK);
        if (i == 1) /* with the poller */
            timing_step(&timing);
        if (i == 2) /* to be taken in later */
            JZX_EXPECT_EQ(jzx_send_after(timing.loop, jzx_manual_id(manual), JZX_NOBODY, NULL, 0, 1,
                                         JZX_MS(1), NULL),
                          JZX_OK);
        timing_close(&timing);
        assert_int_equal(life.cleaned, 1);
        assert_int_equal(descriptors_open(), before);
        jzx_manual_destroy(manual);
    }
    assert_true(jzx_test_runs() != 0);
}
