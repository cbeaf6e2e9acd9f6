/* SPDX-License-Identifier: MIT */
/* Supervisors: what becomes of the mail of a child that is restarted, with the books right. */
#include "supervising.h"

#include <jzx/ask.h>

enum { FIRST = 100, STASH_ME = 500 };

static uint32_t heard[64];
static uint32_t heard_count;

/* Stashes what is to be stashed, fails or stops when told, and writes down the rest. */
static jzx_behavior_result listen_to(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag >= STASH_ME && jzx_id_generation(ctx->self) == 1) {
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag < FIRST)
        return toy(ctx, msg);
    if (JZX_EXPECT(heard_count < 64))
        heard[heard_count++] = msg->tag;
    return JZX_BEHAVIOR_OK;
}

static jzx_actor_id listener(const struct timing *timing, jzx_child_spec more) {
    more.name = "l";
    more.behavior = listen_to;
    jzx_child_spec specs[] = {more};
    heard_count = 0;
    return nursery_tree(timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
}

static void expect_heard(uint32_t count, const uint32_t *tags) {
    JZX_EXPECT_EQ(heard_count, count);
    for (uint32_t i = 0; i < count && i < heard_count; i++)
        JZX_EXPECT_EQ(heard[i], tags[i]);
}

/* Two are stashed, one is handled, then it fails on the next, and three wait behind that. */
static jzx_actor_id send_all(const struct timing *timing, jzx_actor_id root, uint32_t end) {
    static const uint32_t tags[] = {STASH_ME, FIRST, STASH_ME + 1};
    jzx_actor_id id = child_of(timing, root, "l");
    for (uint32_t i = 0; i < 3; i++)
        fixture_send(timing->loop, id, tags[i]);
    fixture_send(timing->loop, id, end);
    for (uint32_t i = 1; i <= 3; i++)
        fixture_send(timing->loop, id, FIRST + i);
    return id;
}

JZX_TEST(a_kept_mailbox_goes_on_with_the_stash_first_and_without_the_failing_message, "C21",
         "E+sem", "X14") {
    struct timing timing = nursery_open();
    jzx_actor_id root = listener(&timing, (jzx_child_spec){.keep_mailbox = true});
    jzx_actor_id id = send_all(&timing, root, TOY_FAIL);
    timing_step(&timing);
    expect_heard(6, (uint32_t[]){FIRST, STASH_ME, STASH_ME + 1, FIRST + 1, FIRST + 2, FIRST + 3});
    JZX_EXPECT_EQ(jzx_send(timing.loop, id, JZX_NOBODY, NULL, 0, FIRST), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    nursery_close(&timing, root);
}

static void send_urgent(const struct timing *timing, jzx_actor_id to, uint32_t tag) {
    JZX_EXPECT_EQ(jzx_send_urgent(timing->loop, to, JZX_NOBODY, NULL, 0, tag), JZX_OK);
}

/* The child fails on an urgent message: one that waits behind it is in the mailbox by then. Sends
 * another as it fails, which is in the queue of the child still. */
static jzx_behavior_result send_and_fail(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag != TOY_FAIL)
        return listen_to(ctx, msg);
    JZX_EXPECT_EQ(jzx_send_urgent(ctx->loop, ctx->self, ctx->self, NULL, 0, FIRST + 12), JZX_OK);
    return JZX_BEHAVIOR_FAIL;
}

JZX_TEST(a_kept_mailbox_begins_with_the_urgent_messages, "C21", "X14", "X15") {
    struct timing timing = nursery_open();
    jzx_child_spec specs[] = {
        {.name = "l", .behavior = send_and_fail, .keep_mailbox = true, .mailbox_cap = 2}};
    heard_count = 0;
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    jzx_actor_id id = child_of(&timing, root, "l");
    fixture_send(timing.loop, id, STASH_ME);
    timing_step(&timing);
    fixture_send(timing.loop, id, FIRST + 1);
    fixture_send(timing.loop, id, FIRST + 2); /* it is full */
    send_urgent(&timing, id, FIRST + 10);
    send_urgent(&timing, id, TOY_FAIL);
    send_urgent(&timing, id, FIRST + 11);
    timing_step(&timing);
    expect_heard(6,
                 (uint32_t[]){FIRST + 10, FIRST + 11, FIRST + 12, STASH_ME, FIRST + 1, FIRST + 2});
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    timing_check_books(timing.loop);
    nursery_close(&timing, root);
}

JZX_TEST(an_urgent_message_alone_is_kept_and_one_that_nobody_will_handle_is_dead, "C21", "X14",
         "X15") {
    for (int again = 0; again < 2; again++) {
        struct timing timing = nursery_open();
        jzx_actor_id root =
            listener(&timing, (jzx_child_spec){.keep_mailbox = true,
                                               .backoff.initial_delay_ns = JZX_MS(100)});
        jzx_actor_id id = child_of(&timing, root, "l");
        send_urgent(&timing, id, TOY_FAIL);
        send_urgent(&timing, id, FIRST + 10);
        timing_step(&timing);
        JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 1);
        timing_check_books(timing.loop);
        if (again == 0)
            JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "l"), JZX_OK);
        timing_advance(&timing, JZX_MS(100));
        expect_heard((uint32_t)again, (uint32_t[]){FIRST + 10});
        JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 1 - again);
        JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
        nursery_close(&timing, root);
    }
}

JZX_TEST(a_mailbox_that_is_not_kept_becomes_dead_letters, "C21", "X14") {
    struct timing timing = nursery_open();
    jzx_actor_id root = listener(&timing, (jzx_child_spec){0});
    send_all(&timing, root, TOY_FAIL);
    timing_step(&timing);
    expect_heard(1, (uint32_t[]){FIRST});
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 5);
    nursery_close(&timing, root);
}

JZX_TEST(kept_mail_waits_for_the_backoff_and_is_in_the_books, "C21", "C+sup", "X14") {
    struct timing timing = nursery_open();
    jzx_actor_id root = listener(
        &timing, (jzx_child_spec){.keep_mailbox = true, .backoff.initial_delay_ns = JZX_MS(100)});
    jzx_actor_id id = send_all(&timing, root, TOY_EXIT_FAIL);
    timing_step(&timing);
    jzx_stats stats = fixture_stats(timing.loop);
    JZX_EXPECT_EQ(stats.waiting, 5);
    JZX_EXPECT_EQ(stats.dead, 0);
    timing_check_books(timing.loop);
    JZX_EXPECT_EQ(jzx_send(timing.loop, id, JZX_NOBODY, NULL, 0, FIRST), JZX_ERR_NO_SUCH_ACTOR);
    timing_advance(&timing, JZX_MS(100));
    JZX_EXPECT_EQ(heard_count, 6);
    nursery_close(&timing, root);
}

/* Kept, but never used: by a mode that does not restart, a remove, a stop, a kill, a loop that is
 * stopped or destroyed. */
static void never_restarted(int how) {
    struct timing timing = nursery_open();
    jzx_actor_id root =
        listener(&timing, (jzx_child_spec){.keep_mailbox = true,
                                           .mode = how == 0 ? JZX_TRANSIENT : JZX_PERMANENT,
                                           .backoff.initial_delay_ns = JZX_MS(100)});
    send_all(&timing, root, how == 0 ? TOY_STOP : TOY_FAIL);
    timing_step(&timing);
    if (how == 1)
        JZX_EXPECT_EQ(jzx_supervisor_remove(timing.loop, root, "l"), JZX_OK);
    if (how == 2)
        JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    if (how == 3)
        JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_KILL), JZX_OK);
    if (how == 4)
        JZX_EXPECT_EQ(jzx_loop_request_stop(timing.loop), JZX_OK);
    if (how < 5) {
        timing_step(&timing);
        JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 5);
        JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
        expect_heard(1, (uint32_t[]){FIRST});
    }
    if (how < 2)
        stop_supervisor(&timing, root);
    timing_check_books(timing.loop);
    JZX_EXPECT_EQ(jzx_loop_destroy(timing.loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_free(timing.clock), JZX_OK);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(kept_mail_that_nobody_will_handle_becomes_dead_letters, "C21", "X14", "D+sup") {
    for (int how = 0; how < 6; how++)
        never_restarted(how);
}

JZX_TEST(mail_is_kept_when_the_child_is_killed_stopped_by_a_plan_or_restarted_by_hand, "C21") {
    for (int how = 0; how < 3; how++) {
        const jzx_child_spec specs[] = {{TOY("a")},
                                        {.name = "l", .behavior = listen_to, .keep_mailbox = true}};
        struct timing timing = nursery_open();
        heard_count = 0;
        jzx_actor_id root = nursery_tree(
            &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL, JZX_CHILDREN(specs)));
        jzx_actor_id id = child_of(&timing, root, "l");
        fixture_send(timing.loop, id, STASH_ME);
        timing_step(&timing);
        if (how == 0)
            JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
        if (how == 1)
            JZX_EXPECT_EQ(jzx_actor_fail(timing.loop, child_of(&timing, root, "a")), JZX_OK);
        if (how == 2)
            JZX_EXPECT_EQ(jzx_supervisor_restart(timing.loop, root, "l"), JZX_OK);
        timing_step(&timing);
        JZX_EXPECT(child_of(&timing, root, "l") != id);
        expect_heard(1, (uint32_t[]){STASH_ME});
        nursery_close(&timing, root);
    }
}

/* ---- questions and answers ---- */

enum { ASK = 200, QUESTION, ANSWER };

static jzx_actor_id asked;
static uint64_t answered_ref;
static uint32_t answers;

static jzx_behavior_result answer_at_once(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, ANSWER), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* The first incarnation puts questions and answers aside; the others answer and listen. */
static jzx_behavior_result ask_and_answer(jzx_context *ctx, const jzx_message *msg) {
    bool is_first = heard_count == 0;
    jzx_test_ran();
    switch (msg->tag) {
    case ASK:
        JZX_EXPECT_EQ(jzx_ask(ctx, asked, NULL, 0, QUESTION, JZX_NEVER, NULL), JZX_OK);
        return JZX_BEHAVIOR_OK;
    case QUESTION:
    case ANSWER:
        if (is_first) {
            JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        } else if (msg->tag == QUESTION) {
            JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, ANSWER), JZX_OK);
        } else {
            answers++;
        }
        return JZX_BEHAVIOR_OK;
    default: heard_count++; return JZX_BEHAVIOR_FAIL;
    }
}

static jzx_behavior_result ask_child(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == ANSWER) {
        answered_ref = jzx_ask_ref(ctx);
        return JZX_BEHAVIOR_STOP;
    }
    jzx_actor_id child;
    memcpy(&child, msg->data, sizeof child);
    JZX_EXPECT_EQ(jzx_ask(ctx, child, NULL, 0, QUESTION, JZX_NEVER, NULL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_successor_answers_the_questions_it_inherits_and_gets_no_answer_of_its_predecessor, "C21",
         "X14") {
    struct timing timing = nursery_open();
    const jzx_child_spec specs[] = {
        {.name = "l", .behavior = ask_and_answer, .keep_mailbox = true}};
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    jzx_actor_id child = child_of(&timing, root, "l");
    jzx_actor_id asker = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = ask_child));
    asked = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = answer_at_once));
    heard_count = 0;
    answers = 0;
    answered_ref = 0;
    JZX_EXPECT_EQ(jzx_send(timing.loop, asker, JZX_NOBODY, &child, sizeof child, ASK), JZX_OK);
    tell(&timing, root, "l", ASK);
    tell(&timing, root, "l", TOY_FAIL);
    JZX_EXPECT(answered_ref != 0);
    JZX_EXPECT_EQ(answers, 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 1);
    tell(&timing, root, "l", ASK); /* its first question has the reference of that other one */
    JZX_EXPECT_EQ(answers, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, asked, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    nursery_close(&timing, root);
}
