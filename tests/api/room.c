/* SPDX-License-Identifier: MIT */
/* jzx_send_when_room: one answer for every request that was accepted. */
#include "fixture.h"

struct producer {
    jzx_actor_id target;
    uint32_t to_send;
    uint32_t sent;
    uint32_t answers;
    uint32_t refused;
};

/* Sends until the mailbox is full, then waits for room: nothing is lost and nothing spins. */
static jzx_behavior_result produce(jzx_context *ctx, const jzx_message *msg) {
    struct producer *self = ctx->state;
    if (msg->tag == JZX_TAG_ROOM) {
        JZX_EXPECT_EQ(msg->sender, self->target);
        JZX_EXPECT_EQ(msg->len, 0);
        self->answers++;
    }
    while (self->sent < self->to_send) {
        jzx_err err = jzx_send(ctx->loop, self->target, ctx->self, NULL, 0, self->sent);
        if (err == JZX_ERR_MAILBOX_FULL) {
            self->refused++;
            JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, self->target, ctx->self), JZX_OK);
            return JZX_BEHAVIOR_OK;
        }
        if (!JZX_EXPECT_EQ(err, JZX_OK))
            return JZX_BEHAVIOR_FAIL;
        self->sent++;
    }
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_producer_that_waits_for_room_loses_nothing, "C12", "X15", "X14") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {.stop_at = 2000};
    struct producer producer = {.to_send = 2000};
    producer.target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 16));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = produce, .state = &producer));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 2000);
    for (uint32_t i = 0; i < 2000; i++)
        assert_int_equal(log.tags[i], i);
    assert_int_equal(producer.answers, producer.refused);
    assert_true(producer.answers > 100);
    fixture_destroy(loop);
}

/* With the default allocator, whose blocks AddressSanitizer and memcheck see. */
JZX_TEST(requests_for_room_touch_no_memory_but_their_own) {
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1));
    assert_non_null(loop);
    struct recorder log = {.stop_at = 200};
    struct producer producer = {.to_send = 200};
    producer.target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 16));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = produce, .state = &producer));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 200);
    assert_true(producer.answers > 0);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
}

/* ---- when the answer comes ---- */

struct slow {
    jzx_loop *loop;
    uint32_t handled;
    uint32_t handled_at_answer;
};

static struct slow slow;

static jzx_behavior_result handle_slowly(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    slow.handled++;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result note_answer(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    if (msg->tag == JZX_TAG_ROOM)
        slow.handled_at_answer = slow.handled;
    return JZX_BEHAVIOR_OK;
}

/* With one message a turn, the waiter runs between two turns of the slow one. */
static void answer_comes_after(uint32_t cap, uint32_t waiting, uint32_t handled) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_msgs_per_actor = 1));
    slow = (struct slow){.handled_at_answer = UINT32_MAX};
    jzx_actor_id target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = handle_slowly, .mailbox_cap = cap));
    jzx_actor_id who = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_answer));
    for (uint32_t i = 0; i < waiting; i++)
        fixture_send(loop, target, i);
    assert_int_equal(jzx_send_when_room(loop, target, who), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(slow.handled, waiting);
    assert_true(slow.handled_at_answer >= handled && slow.handled_at_answer <= handled + 1);
    fixture_destroy(loop);
}

JZX_TEST(room_is_told_when_less_than_half_is_used, "C12", "X15") {
    answer_comes_after(8, 8, 5); /* 3 of 8 wait */
    answer_comes_after(100, 90, 41);
    answer_comes_after(1, 1, 1);
    answer_comes_after(8, 2, 0);
}

JZX_TEST(who_waits_for_an_actor_that_ends_is_told, "C12", "X15") {
    jzx_loop *loop = fixture_loop();
    struct recorder busy = {.stop_at = 1};
    struct recorder waiter = {.stop_at = 1};
    jzx_actor_id target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &busy, .mailbox_cap = 4));
    jzx_actor_id who = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &waiter));
    for (uint32_t i = 0; i < 4; i++)
        fixture_send(loop, target, i);
    for (int i = 0; i < 3; i++) /* they are one */
        assert_int_equal(jzx_send_when_room(loop, target, who), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(waiter.count, 1);
    assert_int_equal(waiter.tags[0], JZX_TAG_ROOM);
    fixture_destroy(loop);
}

/* ---- requests that wait together ---- */

#define ASKERS 1000u

static jzx_actor_id askers[ASKERS];
static uint32_t answered[ASKERS];
static uint32_t answers_in_all;

static jzx_behavior_result count_answer(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *number = ctx->state;
    if (msg->tag == JZX_TAG_ROOM && JZX_EXPECT_EQ(*number, 0))
        *number = ++answers_in_all;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result ask_for_all(jzx_context *ctx, const jzx_message *msg) {
    const jzx_actor_id *target = ctx->state;
    (void)msg;
    while (jzx_send(ctx->loop, *target, ctx->self, NULL, 0, 1) == JZX_OK)
        continue;
    for (uint32_t round = 0; round < 100; round++) {
        for (uint32_t i = 0; i < ASKERS; i++)
            JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, *target, askers[i]), JZX_OK);
    }
    JZX_EXPECT(fixture_bytes() < 4u << 20); /* 100,000 would take more than 6 MB */
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(requests_of_one_actor_that_wait_at_one_target_have_one_answer, "C12", "X15") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 8));
    for (uint32_t i = 0; i < ASKERS; i++)
        askers[i] =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count_answer, .state = &answered[i]));
    jzx_actor_id source =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ask_for_all, .state = &target));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_send(loop, source, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, 8);
    assert_int_equal(answers_in_all, ASKERS); /* each once, all of them */
    fixture_destroy(loop);
}

JZX_TEST(requests_from_another_thread_join_the_one_that_waits, "C12", "X15", "X16") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    struct recorder waiter = {0};
    jzx_actor_id target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 4));
    jzx_actor_id who = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &waiter));
    for (uint32_t round = 1; round <= 2; round++) { /* the second is answered again */
        for (uint32_t i = 0; i < 4; i++)
            fixture_send(loop, target, i);
        for (int i = 0; i < 100; i++)
            assert_int_equal(jzx_send_when_room(loop, target, who), JZX_OK);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(waiter.count, round);
        assert_int_equal(log.count, 4 * round);
    }
    fixture_destroy(loop);
}

JZX_TEST(an_answer_to_a_dead_waiter_is_a_dead_letter, "X14", "X15") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_msgs_per_actor = 1));
    struct recorder busy = {0};
    struct recorder waiter = {.stop_at = 1};
    jzx_actor_id target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &busy, .mailbox_cap = 8));
    jzx_actor_id who = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &waiter));
    for (uint32_t i = 0; i < 8; i++)
        fixture_send(loop, target, i);
    assert_int_equal(jzx_send_when_room(loop, target, who), JZX_OK);
    fixture_send(loop, who, 1); /* ends it before there is room */
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(waiter.count, 1);
    assert_int_equal(fixture_stats(loop).dead, 1);
    fixture_destroy(loop);
}

JZX_TEST(send_when_room_refuses_unknown_actors, "C+fail") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    assert_int_equal(jzx_send_when_room(NULL, id, id), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send_when_room(loop, 99, id), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_send_when_room(loop, id, 99), JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
}

/* A runtime message enters a full mailbox, in its order of arrival. */
JZX_TEST(a_full_mailbox_does_not_refuse_runtime_messages, "X15") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    struct recorder idle = {0};
    jzx_actor_id who =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 2));
    jzx_actor_id free_one =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &idle));
    fixture_send(loop, who, 1);
    fixture_send(loop, who, 2);
    assert_int_equal(jzx_send(loop, who, JZX_NOBODY, NULL, 0, 3), JZX_ERR_MAILBOX_FULL);
    assert_int_equal(jzx_send_when_room(loop, free_one, who), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, 3);
    assert_int_equal(log.tags[2], JZX_TAG_ROOM);
    fixture_destroy(loop);
}
