/* SPDX-License-Identifier: MIT */
/* Questions whose asked actor ends: the asker hears of it at once, once, and last. */
#include "asking.h"

#include <jzx/exit.h>
#include <jzx/fiber.h>
#include <jzx/supervisor.h>

static struct {
    jzx_ask_down down[64];
    uint32_t count;
} seen;

/* Writes down what a notice says. */
static jzx_behavior_result read_notice(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag != JZX_TAG_ASK_DOWN)
        return JZX_BEHAVIOR_OK;
    JZX_EXPECT_EQ(msg->len, sizeof(jzx_ask_down));
    if (JZX_EXPECT(seen.count < 64)) {
        jzx_ask_down *down = &seen.down[seen.count++];
        memcpy(down, msg->data, sizeof *down);
        JZX_EXPECT_EQ(down->ref, jzx_ask_ref(ctx));
        JZX_EXPECT_EQ(down->actor, msg->sender);
    }
    return JZX_BEHAVIOR_OK;
}

static struct asking open_with_reader(void) {
    struct asking asking = asking_open();
    seen.count = 0;
    asking.asker->then = read_notice;
    return asking;
}

static void end_desk(const struct asking *asking, jzx_stop_kind kind) {
    JZX_EXPECT_EQ(jzx_actor_stop(asking->timing.loop, asking->desk_id, kind), JZX_OK);
    timing_step(&asking->timing);
}

static void reply_kept(const struct asking *asking, uint32_t index, jzx_err expected) {
    uint32_t number = index;
    JZX_EXPECT_EQ(jzx_reply_to(asking->timing.loop, asking->desk->kept[index], asking->desk_id,
                               &number, sizeof number, ANSWER),
                  expected);
}

/* ---- at once ---- */

static void ask_who_dies(jzx_context *ctx) {
    ask(ctx, KEEP, JZX_MS(5));
    ask(ctx, DIE, JZX_NEVER);
    ask(ctx, NOW, JZX_MS(7)); /* waits behind it */
}

JZX_TEST(the_end_of_who_was_asked_is_heard_at_once, "E+mode") {
    struct asking asking = open_with_reader();
    asking_do(&asking, ask_who_dies);
    JZX_EXPECT_EQ(asking.asker->count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        expect_heard(&asking, i, JZX_TAG_ASK_DOWN, i);
        JZX_EXPECT_EQ(asking.asker->heard[i].at_ns, 0);
        JZX_EXPECT_EQ(seen.down[i].reason, JZX_EXIT_NORMAL);
        JZX_EXPECT_EQ(seen.down[i].text[0], '\0');
    }
    JZX_EXPECT_EQ(timing_pending(asking.timing.loop), 0);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 1); /* the question that waited */
    asking_advance(&asking, JZX_MS(10));
    JZX_EXPECT_EQ(asking.asker->count, 3);
    reply_kept(&asking, 0, JZX_OK);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 3);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 2);
    asking_close(&asking);
}

static void ask_and_keep(jzx_context *ctx) {
    ask(ctx, KEEP, JZX_MS(5));
    ask(ctx, KEEP, JZX_NEVER);
}

JZX_TEST(a_notice_says_how_the_asked_actor_ended, "E+mode") {
    static const jzx_exit_reason reasons[] = {JZX_EXIT_NORMAL, JZX_EXIT_NORMAL, JZX_EXIT_KILLED};
    for (jzx_stop_kind kind = JZX_STOP_AFTER_MESSAGE; kind <= JZX_STOP_KILL; kind++) {
        struct asking asking = open_with_reader();
        asking_do(&asking, ask_and_keep);
        end_desk(&asking, kind);
        JZX_EXPECT_EQ(asking.asker->count, 2);
        JZX_EXPECT_EQ(seen.count, 2);
        JZX_EXPECT_EQ(seen.down[0].reason, reasons[kind]);
        JZX_EXPECT_EQ(seen.down[1].reason, reasons[kind]);
        asking_close(&asking);
    }
}

static jzx_behavior_result exit_with_text(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_exit(ctx, JZX_EXIT_FAIL, "no more tea");
}

static void ask_what_fails(jzx_context *ctx) {
    struct asker *self = ctx->state;
    self->desk = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = exit_with_text));
    ask(ctx, NOW, JZX_NEVER);
}

JZX_TEST(a_notice_has_the_text_of_the_end, "E+mode") {
    struct asking asking = open_with_reader();
    asking_do(&asking, ask_what_fails);
    JZX_EXPECT_EQ(seen.count, 1);
    JZX_EXPECT_EQ(seen.down[0].reason, JZX_EXIT_FAIL);
    assert_string_equal(seen.down[0].text, "no more tea");
    asking_close(&asking);
}

/* ---- exactly one ---- */

JZX_TEST(an_answer_before_the_end_is_the_only_one, "E+mode") {
    struct asking asking = open_with_reader();
    asking_do(&asking, ask_and_keep);
    reply_kept(&asking, 0, JZX_OK); /* waits in the asker's mailbox when the desk ends */
    end_desk(&asking, JZX_STOP_KILL);
    JZX_EXPECT_EQ(asking.asker->count, 2);
    expect_heard(&asking, 0, ANSWER, 0);
    expect_heard(&asking, 1, JZX_TAG_ASK_DOWN, 1);
    asking_close(&asking);
}

static void ask_now(jzx_context *ctx) {
    ask(ctx, NOW, JZX_MS(5));
}

JZX_TEST(the_end_after_an_answer_or_a_timeout_is_not_heard, "E+mode") {
    struct asking asking = open_with_reader();
    asking_do(&asking, ask_now);
    asking_do(&asking, ask_and_keep);
    asking_advance(&asking, JZX_MS(5));
    reply_kept(&asking, 1, JZX_OK);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 3);
    end_desk(&asking, JZX_STOP_KILL);
    JZX_EXPECT_EQ(asking.asker->count, 3);
    JZX_EXPECT_EQ(seen.count, 0);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 0);
    asking_close(&asking);
}

static void cancel_all(jzx_context *ctx) {
    const struct asker *self = ctx->state;
    for (uint32_t i = 0; i < self->asked; i++) {
        JZX_EXPECT_EQ(jzx_ask_cancel(ctx, self->refs[i]), JZX_OK);
        JZX_EXPECT_EQ(jzx_ask_cancel(ctx, self->refs[i]), JZX_ERR_INVALID_ARG);
    }
}

JZX_TEST(the_end_after_a_cancel_is_not_heard, "E+mode") {
    struct asking asking = open_with_reader();
    asking_do(&asking, ask_and_keep);
    asking_do(&asking, cancel_all);
    end_desk(&asking, JZX_STOP_KILL);
    JZX_EXPECT_EQ(asking.asker->count, 0);
    asking_close(&asking);
}

static jzx_behavior_result cancel_other(jzx_context *ctx, const jzx_message *msg) {
    const struct asker *self = ctx->state;
    uint64_t mine = jzx_ask_ref(ctx);
    JZX_EXPECT_EQ(msg->tag, JZX_TAG_ASK_DOWN);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, mine), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, self->refs[mine == self->refs[0]]), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_cancel_holds_for_a_notice_that_waits, "E+mode", "X14") {
    struct asking asking = asking_open();
    asking.asker->then = cancel_other;
    asking_do(&asking, ask_and_keep);
    end_desk(&asking, JZX_STOP_KILL);
    JZX_EXPECT_EQ(asking.asker->count, 1);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 0);
    asking_close(&asking);
}

JZX_TEST(a_notice_for_an_asker_that_has_ended_is_no_dead_letter, "E+mode", "X14") {
    struct asking asking = open_with_reader();
    asking_do(&asking, ask_and_keep);
    JZX_EXPECT_EQ(jzx_actor_stop(asking.timing.loop, asking.asker_id, JZX_STOP_KILL), JZX_OK);
    end_desk(&asking, JZX_STOP_KILL);
    JZX_EXPECT_EQ(asking.asker->count, 0);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 0);
    asking_close(&asking);
}

/* Ends with the first notice, while the second one waits. */
static jzx_behavior_result end_at_once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    return msg->tag == JZX_TAG_ASK_DOWN ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(a_notice_that_waits_goes_with_its_asker, "E+mode", "X14") {
    struct asking asking = asking_open();
    asking.asker->then = end_at_once;
    asking_do(&asking, ask_and_keep);
    end_desk(&asking, JZX_STOP_KILL);
    JZX_EXPECT_EQ(asking.asker->count, 1);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 0);
    asking_close(&asking);
}

/* ---- what a notice is ---- */

static void *taken;

static jzx_behavior_result stash_then_take(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == PLAIN) {
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
    } else if (seen.count == 0) {
        seen.count++;
        JZX_EXPECT(jzx_ask_ref(ctx) != 0);
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    } else {
        JZX_EXPECT(jzx_ask_ref(ctx) != 0);
        taken = jzx_msg_take(ctx, msg);
        JZX_EXPECT(taken != NULL);
        JZX_EXPECT_EQ(jzx_ask_ref(ctx), 0);
    }
    return JZX_BEHAVIOR_OK;
}

static void ask_one(jzx_context *ctx) {
    ask(ctx, KEEP, JZX_NEVER);
}

JZX_TEST(a_notice_can_be_put_aside_and_taken, "E+mode") {
    struct asking asking = asking_open();
    jzx_ask_down down;
    seen.count = 0;
    taken = NULL;
    asking.asker->then = stash_then_take;
    asking_do(&asking, ask_one);
    end_desk(&asking, JZX_STOP_KILL);
    fixture_send(asking.timing.loop, asking.asker_id, PLAIN);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 3);
    assert_non_null(taken);
    JZX_EXPECT_EQ(jzx_msg_len(taken), sizeof down);
    memcpy(&down, taken, sizeof down);
    JZX_EXPECT_EQ(down.ref, asking.asker->refs[0]);
    JZX_EXPECT_EQ(down.reason, JZX_EXIT_KILLED);
    jzx_msg_free(asking.timing.loop, taken);
    asking_close(&asking);
}

JZX_TEST(a_notice_that_is_put_aside_dies_with_its_asker, "X14") {
    struct asking asking = asking_open();
    seen.count = 0;
    asking.asker->then = stash_then_take;
    asking_do(&asking, ask_one);
    end_desk(&asking, JZX_STOP_KILL);
    JZX_EXPECT_EQ(jzx_actor_stop(asking.timing.loop, asking.asker_id, JZX_STOP_KILL), JZX_OK);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 1);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 1); /* it was a message by then */
    asking_close(&asking);
}

JZX_TEST(notices_need_no_memory_and_no_room, "C17", "E+mode") {
    struct asking asking = open_with_reader();
    asking_do(&asking, ask_and_keep);
    JZX_EXPECT_EQ(jzx_actor_fail(asking.timing.loop, asking.desk_id), JZX_OK);
    fixture_fail_allocations(0, UINT64_MAX);
    timing_step(&asking.timing);
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(asking.asker->count, 2);
    JZX_EXPECT_EQ(seen.down[1].reason, JZX_EXIT_FAIL);
    asking_close(&asking);
}

static void ask_myself(jzx_context *ctx) {
    uint64_t ref = 0;
    JZX_EXPECT_EQ(jzx_ask(ctx, ctx->self, NULL, 0, PLAIN, JZX_NEVER, &ref), JZX_OK);
    JZX_EXPECT(ref != 0);
}

JZX_TEST(who_asks_itself_hears_nothing_of_its_end, "E+mode") {
    struct asking asking = open_with_reader();
    asking_do(&asking, ask_myself);
    JZX_EXPECT_EQ(asking.asker->count, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(asking.timing.loop, asking.asker_id, JZX_STOP_KILL), JZX_OK);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 1);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 0);
    asking_close(&asking);
}

JZX_TEST(an_actor_that_was_asked_a_lot_keeps_no_memory_of_it, "E+mode") {
    struct asking asking = open_with_reader();
    for (uint32_t i = 0; i < 20; i++)
        asking_do(&asking, ask_now);
    uint64_t before = fixture_bytes();
    for (uint32_t i = 0; i < 2000; i++)
        asking_do(&asking, ask_now);
    JZX_EXPECT_EQ(fixture_bytes(), before);
    asking_close(&asking);
}

/* ---- questions that a successor inherits ---- */

enum { QUESTION = 200, FAIL };

static struct {
    jzx_actor_id root;
    uint32_t lives;
} nursery;

static jzx_err be_born(jzx_context *ctx) {
    (void)ctx;
    nursery.lives++;
    return JZX_OK;
}

/* The first incarnation keeps questions back, the second one drops them. */
static jzx_behavior_result inherit(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == FAIL)
        return JZX_BEHAVIOR_FAIL;
    if (nursery.lives == 1)
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void ask_twice(jzx_context *ctx) {
    struct asker *self = ctx->state;
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(
            jzx_ask(ctx, self->desk, NULL, 0, QUESTION, JZX_NEVER, &self->refs[self->asked++]),
            JZX_OK);
}

static jzx_actor_id heir_of(const struct asking *asking) {
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_supervisor_child(asking->timing.loop, nursery.root, "heir", &id), JZX_OK);
    return id;
}

static struct asking open_nursery(jzx_child_mode mode) {
    struct asking asking = open_with_reader();
    const jzx_child_spec specs[] = {
        {.name = "heir", .behavior = inherit, .init = be_born, .keep_mailbox = true, .mode = mode}};
    nursery.lives = 0;
    JZX_EXPECT_EQ(
        jzx_spawn_supervisor(asking.timing.loop,
                             &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs), .intensity = JZX_UNLIMITED),
                             &nursery.root),
        JZX_OK);
    timing_step(&asking.timing);
    asking.asker->desk = heir_of(&asking);
    asking_do(&asking, ask_twice);
    return asking;
}

static void fail_child(const struct asking *asking) {
    fixture_send(asking->timing.loop, heir_of(asking), FAIL);
    timing_step(&asking->timing);
}

JZX_TEST(questions_that_a_successor_inherits_end_with_it, "C21", "E+mode") {
    struct asking asking = open_nursery(JZX_PERMANENT);
    fail_child(&asking);
    asking_advance(&asking, JZX_SECOND(1));
    JZX_EXPECT_EQ(nursery.lives, 2);
    JZX_EXPECT_EQ(asking.asker->count, 0); /* the successor has them, and may answer */
    fail_child(&asking);
    JZX_EXPECT_EQ(asking.asker->count, 2);
    for (uint32_t i = 0; i < 2 && i < seen.count; i++) {
        JZX_EXPECT_EQ(seen.down[i].ref, asking.asker->refs[i]);
        JZX_EXPECT_EQ(seen.down[i].actor, asking.asker->desk);
        JZX_EXPECT_EQ(seen.down[i].reason, JZX_EXIT_FAIL);
    }
    fixture_destroy(asking.timing.loop);
    JZX_EXPECT_EQ(jzx_clock_free(asking.timing.clock), JZX_OK);
}

JZX_TEST(questions_whose_actor_gets_no_successor_are_told, "C21", "E+mode") {
    struct asking asking = open_nursery(JZX_TEMPORARY);
    fail_child(&asking);
    JZX_EXPECT_EQ(nursery.lives, 1);
    JZX_EXPECT_EQ(asking.asker->count, 2);
    JZX_EXPECT_EQ(seen.count, 2);
    JZX_EXPECT_EQ(seen.down[0].reason, JZX_EXIT_NO_ACTOR);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 2);
    fixture_destroy(asking.timing.loop);
    JZX_EXPECT_EQ(jzx_clock_free(asking.timing.clock), JZX_OK);
}

JZX_TEST(what_is_inherited_can_be_cancelled_meanwhile, "C21", "E+mode") {
    for (uint32_t i = 0; i < 2; i++) {
        struct asking asking = open_nursery(JZX_PERMANENT);
        if (i == 0)
            asking_do(&asking, cancel_all);
        fail_child(&asking);
        asking_advance(&asking, JZX_SECOND(1));
        if (i == 1)
            asking_do(&asking, cancel_all);
        fail_child(&asking);
        JZX_EXPECT_EQ(asking.asker->count, 0);
        fixture_destroy(asking.timing.loop);
        JZX_EXPECT_EQ(jzx_clock_free(asking.timing.clock), JZX_OK);
    }
}

/* ---- fibers ---- */

static jzx_actor_id fiber_desk;
static jzx_err call_err;

/* Hears of the end of its own question only by a receive. */
static void ask_and_receive(jzx_context *ctx) {
    jzx_message msg;
    uint64_t refs[2];
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx_ask(ctx, fiber_desk, NULL, 0, KEEP, JZX_NEVER, &refs[i]), JZX_OK);
    call_err = jzx_call(ctx, fiber_desk, NULL, 0, KEEP, JZX_NEVER, &msg);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, refs[0]), JZX_OK); /* though the notice waits */
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, JZX_TAG_ASK_DOWN, 0, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), refs[1]);
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT);
    jzx_test_ran();
}

JZX_TEST(a_call_of_a_fiber_and_its_questions_end_with_who_was_asked, "E+mode") {
    struct asking asking = asking_open();
    call_err = JZX_OK;
    fiber_desk = asking.desk_id;
    fixture_spawn(asking.timing.loop, &JZX_SPAWN_OPTS(.fiber = ask_and_receive));
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.desk->kept_count, 3);
    JZX_EXPECT_EQ(jzx_test_runs(), 0);
    end_desk(&asking, JZX_STOP_KILL);
    JZX_EXPECT_EQ(call_err, JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 0);
    asking_close(&asking);
}

static void call_in_time(jzx_context *ctx) {
    jzx_message msg;
    uint32_t number = 0;
    JZX_EXPECT_EQ(jzx_call(ctx, fiber_desk, &number, sizeof number, NOW, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_call(ctx, ctx->self, NULL, 0, NOW, JZX_NEVER, &msg), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, fiber_desk, JZX_STOP_KILL), JZX_OK);
    jzx_yield(ctx);
    jzx_test_ran();
}

JZX_TEST(a_call_that_was_answered_leaves_nothing_behind, "E+mode", "X14") {
    struct asking asking = asking_open();
    fiber_desk = asking.desk_id;
    fixture_spawn(asking.timing.loop, &JZX_SPAWN_OPTS(.fiber = call_in_time));
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 0);
    asking_close(&asking);
}
