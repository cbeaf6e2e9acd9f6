/* SPDX-License-Identifier: MIT */
/* Scopes that behaviours close: the outcome comes as one message, however the members and the
 * opener end. */
#include "fibering.h"

#include <jzx/async.h>
#include <jzx/op.h>
#include <jzx/scope.h>

enum { GO = 1, CLOSED, FAIL };

#define MEMBERS 4u

/* A member: sleeps so long, then succeeds or fails. */
struct nap {
    uint64_t for_ns;
    jzx_err outcome;
    jzx_err *slept;
    jzx_await_op op;
};

JZX_ASYNC(nap, struct nap, uint32_t) {
    JZX_TRY(*self->slept, jzx_op_sleep(&self->op, jzx_in(ctx, self->for_ns)), NULL);
    if (self->outcome != JZX_OK)
        JZX_FAIL(self->outcome, "a bad dream");
    if (*self->slept != JZX_OK)
        JZX_FAIL(*self->slept, NULL);
    JZX_RETURN(1);
}
JZX_END

struct opener {
    uint64_t deadline_ns; /* from now on; 0: never */
    uint32_t count;
    struct nap naps[MEMBERS];
    jzx_err slept[MEMBERS];
    jzx_op op;
    jzx_err begun; /* what jzx_scope_close_to returned */
    uint32_t heard;
    jzx_result head;
    jzx_scope_result result;
};

static void open_and_close(jzx_context *ctx, struct opener *self) {
    jzx_scope *scope = NULL;
    uint64_t deadline_ns = self->deadline_ns == 0 ? JZX_NEVER : jzx_in(ctx, self->deadline_ns);
    self->begun = jzx_scope_open(ctx, deadline_ns, &scope);
    if (self->begun != JZX_OK)
        return;
    for (uint32_t i = 0; i < self->count; i++) {
        self->slept[i] = JZX_ERR_UNKNOWN;
        self->naps[i].slept = &self->slept[i];
        (void)jzx_scope_async(scope, &nap_type, &self->naps[i], NULL);
    }
    self->begun = jzx_scope_close_to(ctx, scope, CLOSED, &self->op);
    if (self->begun == JZX_OK) /* it is not the opener's any more */
        JZX_EXPECT_EQ(jzx_scope_close_to(ctx, scope, CLOSED, NULL), JZX_ERR_INVALID_ARG);
}

static jzx_behavior_result be_opener(jzx_context *ctx, const jzx_message *msg) {
    struct opener *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == FAIL)
        return JZX_BEHAVIOR_FAIL;
    if (msg->tag == GO)
        open_and_close(ctx, self);
    if (msg->tag == CLOSED) {
        const jzx_result *head = msg->data;
        self->heard++;
        self->head = *head;
        if (JZX_EXPECT_EQ(head->len, sizeof self->result))
            memcpy(&self->result, jzx_result_data(head), sizeof self->result);
    }
    return JZX_BEHAVIOR_OK;
}

static jzx_actor_id start(const struct timing *timing, struct opener *opener) {
    jzx_actor_id id =
        fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.behavior = be_opener, .state = opener));
    fixture_send(timing->loop, id, GO);
    timing_step(timing);
    JZX_EXPECT_EQ(opener->begun, JZX_OK);
    return id;
}

/* All actors but the opener have ended. */
static void finish(struct timing *timing, uint32_t left) {
    JZX_EXPECT_EQ(fixture_stats(timing->loop).spawned, fixture_stats(timing->loop).exited + left);
    timing_close(timing);
}

JZX_TEST(the_outcome_of_a_scope_comes_when_all_members_have_ended, "E+sem") {
    struct timing timing = timing_open();
    struct opener opener = {.count = 2, .naps = {{.for_ns = JZX_MS(5)}, {.for_ns = JZX_MS(20)}}};
    start(&timing, &opener);
    timing_advance(&timing, JZX_MS(19));
    assert_int_equal(opener.heard, 0);
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(opener.heard, 1);
    assert_true(opener.head.op == opener.op);
    assert_int_equal(opener.head.err, JZX_OK);
    assert_int_equal(opener.result.size, sizeof opener.result);
    assert_int_equal(opener.result.err, JZX_OK);
    assert_int_equal(opener.result.ended, 2);
    assert_int_equal(jzx_op_cancel(timing.loop, opener.op), JZX_ERR_NO_SUCH_OP);
    finish(&timing, 1);
}

JZX_TEST(an_empty_scope_tells_its_opener_at_once) {
    struct timing timing = timing_open();
    struct opener opener = {.deadline_ns = JZX_MS(5)};
    start(&timing, &opener);
    assert_int_equal(opener.heard, 1);
    assert_int_equal(opener.head.err, JZX_OK);
    assert_int_equal(opener.result.ended, 0);
    finish(&timing, 1); /* its guard, too, has ended */
}

JZX_TEST(the_first_error_and_the_deadline_are_told_to_the_opener, "E+sem") {
    for (uint32_t by_time = 0; by_time < 2; by_time++) {
        struct timing timing = timing_open();
        struct opener opener = {
            .deadline_ns = by_time ? JZX_MS(10) : 0,
            .count = 2,
            .naps = {{.for_ns = JZX_SECOND(100)}, {.for_ns = JZX_MS(10), .outcome = JZX_ERR_FULL}}};
        if (by_time)
            opener.naps[1] = (struct nap){.for_ns = JZX_SECOND(200)};
        start(&timing, &opener);
        timing_advance(&timing, JZX_MS(9));
        assert_int_equal(opener.heard, 0);
        timing_advance(&timing, JZX_MS(1));
        assert_int_equal(opener.heard, 1);
        assert_int_equal(opener.head.err, by_time ? JZX_ERR_TIMEOUT : JZX_ERR_FULL);
        assert_int_equal(opener.result.err, opener.head.err);
        assert_string_equal(opener.result.text, by_time ? "" : "a bad dream");
        assert_int_equal(opener.result.ended, 2);
        assert_int_equal(opener.slept[0], JZX_ERR_CANCELLED);
        finish(&timing, 1);
    }
}

JZX_TEST(a_cancel_of_the_close_cancels_the_members) {
    struct timing timing = timing_open();
    struct opener opener = {.count = 2,
                            .naps = {{.for_ns = JZX_SECOND(1)}, {.for_ns = JZX_SECOND(2)}}};
    start(&timing, &opener);
    assert_int_equal(jzx_op_cancel(timing.loop, opener.op), JZX_OK);
    timing_step(&timing);
    assert_int_equal(opener.heard, 1);
    assert_int_equal(opener.head.err, JZX_ERR_CANCELLED);
    assert_int_equal(opener.result.ended, 2);
    assert_int_equal(opener.slept[0], JZX_ERR_CANCELLED);
    finish(&timing, 1);
}

JZX_TEST(members_of_a_closing_scope_are_cancelled_when_the_opener_ends) {
    for (uint32_t how = 0; how < 3; how++) {
        struct timing timing = timing_open();
        struct opener opener = {.deadline_ns = JZX_SECOND(100),
                                .count = 2,
                                .naps = {{.for_ns = JZX_SECOND(1)}, {.for_ns = JZX_SECOND(2)}}};
        jzx_actor_id id = start(&timing, &opener);
        if (how == 0)
            fixture_send(timing.loop, id, FAIL);
        else
            assert_int_equal(
                jzx_actor_stop(timing.loop, id, how == 1 ? JZX_STOP_KILL : JZX_STOP_AFTER_QUEUE),
                JZX_OK);
        timing_step(&timing);
        assert_int_equal(opener.heard, 0);
        assert_int_equal(opener.slept[0], JZX_ERR_CANCELLED);
        assert_int_equal(opener.slept[1], JZX_ERR_CANCELLED);
        finish(&timing, 0);
    }
}

JZX_TEST(a_loop_may_end_while_a_scope_closes) {
    struct timing timing = timing_open();
    struct opener opener = {.deadline_ns = JZX_SECOND(100),
                            .count = 2,
                            .naps = {{.for_ns = JZX_SECOND(1)}, {.for_ns = JZX_SECOND(2)}}};
    start(&timing, &opener);
    timing_close(&timing);
    assert_int_equal(opener.heard, 0);
    assert_int_equal(fixture_bytes(), 0);
}

/* ---- misuse ---- */

static jzx_scope *scope_of_another;

static jzx_behavior_result only_open(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == GO)
        JZX_EXPECT_EQ(jzx_scope_open(ctx, JZX_NEVER, &scope_of_another), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result misuse(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_scope_close_to(ctx, scope_of_another, CLOSED, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_scope_close_to(ctx, NULL, CLOSED, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_scope_close_to(NULL, scope_of_another, CLOSED, NULL), JZX_ERR_INVALID_ARG);
    jzx_scope *scope = NULL;
    JZX_EXPECT_EQ(jzx_scope_open(ctx, JZX_NEVER, &scope), JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_close_to(ctx, scope, JZX_TAG_RESERVED, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_scope_close_to(ctx, scope, CLOSED, NULL), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_scope_is_closed_by_its_opener_and_once) {
    struct timing timing = timing_open();
    jzx_actor_id first = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = only_open));
    jzx_actor_id second = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = misuse));
    fixture_send(timing.loop, first, GO);
    timing_step(&timing);
    fixture_send(timing.loop, second, GO);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    finish(&timing, 1);
}

/* ---- memory ---- */

static bool play(uint64_t after) {
    fixture_fail_allocations(after, 1);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    struct opener opener = {.deadline_ns = JZX_SECOND(100), .count = 1, .naps = {{.for_ns = 1}}};
    jzx_actor_id id;
    bool is_whole =
        loop != NULL &&
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_opener, .state = &opener), &id) == JZX_OK &&
        jzx_send(loop, id, JZX_NOBODY, NULL, 0, GO) == JZX_OK;
    while (is_whole && opener.heard == 0 && opener.begun == JZX_OK)
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    if (opener.begun != JZX_OK)
        JZX_EXPECT_EQ(opener.begun, JZX_ERR_NO_MEMORY);
    is_whole = is_whole && opener.begun == JZX_OK && opener.result.ended == 1;
    fixture_fail_allocations(UINT64_MAX, 0);
    if (loop != NULL)
        fixture_destroy(loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    return is_whole;
}

JZX_TEST(every_allocation_of_a_close_may_fail, "C+fail") {
    uint64_t after = 0;
    while (!play(after) || after < 20)
        after++;
    JZX_EXPECT(after < 1000);
    JZX_EXPECT(jzx_test_runs() != 0);
}
