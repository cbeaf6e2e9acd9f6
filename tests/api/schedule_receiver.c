/* SPDX-License-Identifier: MIT */
/* Jobs and the actors that they are for: mailboxes, order, cancelling what waits, taking, stashing,
 * fibers, and receivers that end. */
#include "scheduling.h"

#include <jzx/fiber.h>

static struct rig rig;

JZX_TEST(a_message_of_a_job_waits_behind_what_waits_already, "B5", "B72", "R3.AC4") {
    rig_open(&rig, NULL);
    rig_once(&rig, 2, TICK_NS);
    rig_step(&rig);
    fixture_send(rig.loop, rig.to, 1);
    JZX_EXPECT_EQ(jzx_clock_advance(rig.clock, (uint64_t)TICK_NS), JZX_OK);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig.notes.count, 2);
    JZX_EXPECT_EQ(rig.notes.list[0].tag, 1);
    JZX_EXPECT_EQ(rig.notes.list[1].tag, 2);
    rig_close(&rig);
}

JZX_TEST(ten_messages_of_jobs_keep_their_order_among_those_of_users, "B+tests", "B72") {
    rig_open(&rig, NULL);
    for (uint32_t i = 0; i < 10; i++)
        rig_once(&rig, 100 + i, TICKS(1 + i));
    for (uint32_t i = 0; i < 10; i++) {
        fixture_send(rig.loop, rig.to, i);
        rig_pass(&rig, 1);
    }
    JZX_EXPECT_EQ(rig.notes.count, 20);
    for (uint32_t i = 0; i < 10; i++) {
        JZX_EXPECT_EQ(rig.notes.list[2 * i].tag, i);
        JZX_EXPECT_EQ(rig.notes.list[2 * i + 1].tag, 100 + i);
    }
    rig_close(&rig);
}

JZX_TEST(no_mailbox_bound_refuses_the_message_of_a_job, "X15") {
    rig_open(&rig, NULL);
    jzx_actor_id small = fixture_spawn(
        rig.loop, &JZX_SPAWN_OPTS(.behavior = write_down, .state = &rig.notes, .mailbox_cap = 1));
    rig_step(&rig);
    for (uint32_t i = 0; i < 5; i++)
        JZX_EXPECT_EQ(jzx_schedule_once(rig.loop, TICK_NS, small, JZX_NOBODY, NULL, 0, i, NULL),
                      JZX_OK);
    fixture_send(rig.loop, small, 9);
    JZX_EXPECT_EQ(jzx_send(rig.loop, small, JZX_NOBODY, NULL, 0, 9), JZX_ERR_MAILBOX_FULL);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig.notes.count, 6);
    rig_close(&rig);
}

/* ---- cancelling a message that waits ---- */

static jzx_job_id to_cancel[2];
static bool was_cancelled[2];

static jzx_behavior_result cancel_others(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == 1) {
        JZX_EXPECT_EQ(jzx_job_state(ctx->loop, to_cancel[0]), JZX_JOB_EXECUTING);
        was_cancelled[0] = jzx_job_cancel(ctx->loop, to_cancel[0]);
        was_cancelled[1] = jzx_job_cancel(ctx->loop, to_cancel[1]);
    }
    return write_down(ctx, msg);
}

JZX_TEST(a_periodic_message_that_was_cancelled_in_the_mailbox_is_not_handled, "B73", "B81",
         "R4.AC2") {
    rig_open(&rig, NULL);
    jzx_actor_id to =
        fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = cancel_others, .state = &rig.notes));
    JZX_EXPECT_EQ(jzx_schedule_once(rig.loop, TICK_NS, to, JZX_NOBODY, NULL, 0, 1, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICK_NS, to, JZX_NOBODY, NULL, 0, 2,
                                             &to_cancel[0]),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_schedule_once(rig.loop, TICK_NS, to, JZX_NOBODY, NULL, 0, 3, &to_cancel[1]),
                  JZX_OK);
    uint64_t dropped = rig_metrics(&rig).dropped_total;
    rig_pass(&rig, 3);
    JZX_EXPECT(was_cancelled[0]);
    JZX_EXPECT(!was_cancelled[1]); /* a one-shot that was delivered */
    JZX_EXPECT_EQ(rig.notes.count, 2);
    JZX_EXPECT_EQ(rig.notes.list[0].tag, 1);
    JZX_EXPECT_EQ(rig.notes.list[1].tag, 3);
    JZX_EXPECT_EQ(rig_metrics(&rig).dropped_total, dropped + 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    rig_expect_state(&rig, to_cancel[0], JZX_JOB_CANCELLED);
    rig_close(&rig);
}

/* ---- taking and stashing ---- */

static void *taken;

static jzx_behavior_result take_it(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    taken = jzx_msg_take(ctx, msg);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_payload_of_a_one_shot_can_be_taken_and_that_of_a_periodic_job_cannot) {
    static const char text[] = "hello";
    rig_open(&rig, NULL);
    jzx_actor_id to = fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = take_it));
    jzx_job_id job;
    JZX_EXPECT_EQ(jzx_schedule_once(rig.loop, TICK_NS, to, JZX_NOBODY, text, sizeof text, 1, &job),
                  JZX_OK);
    rig_pass(&rig, 1);
    rig_expect_state(&rig, job, JZX_JOB_COMPLETED);
    if (JZX_EXPECT(taken != NULL)) {
        JZX_EXPECT(memcmp(taken, text, sizeof text) == 0);
        jzx_msg_free(rig.loop, taken);
    }
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICK_NS, to, JZX_NOBODY, text,
                                             sizeof text, 1, &job),
                  JZX_OK);
    rig_pass(&rig, 2);
    JZX_EXPECT(taken == NULL);
    JZX_EXPECT_EQ(jzx_test_runs(), 3);
    rig_close(&rig);
}

static jzx_behavior_result stash_first(jzx_context *ctx, const jzx_message *msg) {
    struct notes *notes = ctx->state;
    jzx_test_ran();
    if (msg->tag == 1 && notes->count == 0) {
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag == 9)
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
    return write_down(ctx, msg);
}

JZX_TEST(a_job_whose_message_was_stashed_goes_on_when_that_was_handled, "B69") {
    rig_open(&rig, NULL);
    jzx_actor_id to =
        fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = stash_first, .state = &rig.notes));
    jzx_job_id job;
    JZX_EXPECT_EQ(
        jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICK_NS, to, JZX_NOBODY, NULL, 0, 1, &job),
        JZX_OK);
    rig_pass(&rig, 4);
    JZX_EXPECT_EQ(rig.notes.count, 0);
    rig_expect_state(&rig, job, JZX_JOB_EXECUTING);
    fixture_send(rig.loop, to, 9);
    rig_step(&rig);
    JZX_EXPECT_EQ(rig.notes.count, 2); /* 9, and what was aside */
    rig_expect_batch(&rig, 1, 1, 0, JZX_JOB_FIXED_RATE);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig.notes.count, 3);
    rig_expect_batch(&rig, 2, 4, 3, JZX_JOB_FIXED_RATE);
    rig_close(&rig);
}

JZX_TEST(a_periodic_message_that_was_cancelled_in_the_stash_is_not_handled, "B73", "B81") {
    rig_open(&rig, NULL);
    jzx_actor_id to =
        fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = stash_first, .state = &rig.notes));
    jzx_job_id job;
    JZX_EXPECT_EQ(
        jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICK_NS, to, JZX_NOBODY, NULL, 0, 1, &job),
        JZX_OK);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT(jzx_job_cancel(rig.loop, job));
    fixture_send(rig.loop, to, 9);
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT_EQ(rig.notes.list[0].tag, 9);
    rig_expect_state(&rig, job, JZX_JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    JZX_EXPECT_EQ(rig_metrics(&rig).dropped_total, 1);
    rig_close(&rig);
}

/* ---- fibers ---- */

static void receive_twice(jzx_context *ctx) {
    jzx_message msg;
    struct notes *notes = ctx->state;
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK) {
        jzx_test_ran();
        (void)write_down(ctx, &msg);
        JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_loop_now(ctx->loop) + (uint64_t)TICKS(4)), JZX_OK);
        if (notes->count == 3)
            return;
    }
}

JZX_TEST(the_handler_of_a_fiber_ends_when_it_receives_again, "B64", "B69") {
    rig_open(&rig, NULL);
    jzx_actor_id to =
        fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.fiber = receive_twice, .state = &rig.notes));
    rig_step(&rig);
    JZX_EXPECT_EQ(jzx_schedule_with_fixed_delay(rig.loop, TICKS(1), TICKS(2), to, JZX_NOBODY, NULL,
                                                0, 1, NULL),
                  JZX_OK);
    rig_pass(&rig, 14);
    JZX_EXPECT_EQ(rig.notes.count, 3);
    rig_expect_note(&rig, 0, 1, 1);
    rig_expect_note(&rig, 1, 7, 1); /* 1 + 4 of sleep + 2 */
    rig_expect_note(&rig, 2, 13, 1);
    rig_expect_batch(&rig, 1, 1, 0, JZX_JOB_FIXED_DELAY);
    rig_close(&rig);
}

/* ---- receivers that end ---- */

JZX_TEST(a_job_ends_quietly_when_its_receiver_is_gone, "B+rules", "B5") {
    rig_open(&rig, NULL);
    jzx_job_id once = rig_once(&rig, 1, TICKS(2));
    jzx_job_id rate = rig_rate(&rig, 1, TICKS(3), TICKS(1));
    JZX_EXPECT_EQ(jzx_actor_stop(rig.loop, rig.to, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    rig_pass(&rig, 5);
    JZX_EXPECT_EQ(rig.notes.count, 0);
    rig_expect_state(&rig, once, JZX_JOB_CANCELLED);
    rig_expect_state(&rig, rate, JZX_JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    JZX_EXPECT_EQ(fixture_stats(rig.loop).dead, 0);
    rig_close(&rig);
}

static jzx_behavior_result stop_now(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_FAIL;
}

JZX_TEST(the_jobs_of_an_actor_that_fails_in_a_job_end, "R3.AC4") {
    rig_open(&rig, NULL);
    jzx_actor_id to = fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = stop_now));
    jzx_job_id jobs[3];
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate(rig.loop, TICK_NS, TICK_NS, to, JZX_NOBODY, NULL,
                                                 0, i, &jobs[i]),
                      JZX_OK);
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    for (uint32_t i = 0; i < 3; i++)
        rig_expect_state(&rig, jobs[i], JZX_JOB_CANCELLED);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    JZX_EXPECT_EQ(fixture_stats(rig.loop).dead, 2); /* those that waited */
    rig_close(&rig);
}

/* ---- schedulers of several loops ---- */

JZX_TEST(loops_in_one_process_have_schedulers_of_their_own, "B6", "B8") {
    static struct rig other;
    rig_open(&rig, NULL);
    rig_open(&other, &JZX_SCHEDULE_CONFIG(.resolution_ns = 20000000));
    rig_once(&rig, 1, TICKS(2));
    rig_once(&other, 2, TICKS(2));
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(rig.notes.count, 1);
    JZX_EXPECT_EQ(other.notes.count, 0);
    JZX_EXPECT_EQ(jzx_schedule_max_frequency(rig.loop), 100);
    JZX_EXPECT_EQ(jzx_schedule_max_frequency(other.loop), 50);
    JZX_EXPECT_EQ(jzx_schedule_now(rig.loop), 3);
    JZX_EXPECT_EQ(jzx_schedule_now(other.loop), 0);
    rig_leap(&other, TICKS(2));
    JZX_EXPECT_EQ(other.notes.count, 1);
    rig_close(&other);
    rig_close(&rig);
}

/* ---- the typed form ---- */

struct order {
    uint64_t price;
    uint32_t count;
};

static struct order order_seen;
static uint32_t orders;

static jzx_behavior_result see_order(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == 0) {
        const struct order order = {.price = 30, .count = 4};
        JZX_EXPECT_EQ(JZX_SCHEDULE_ONCE(ctx, struct order, TICK_NS, ctx->self, &order, 1, NULL),
                      JZX_OK);
        JZX_EXPECT_EQ(JZX_SCHEDULE_AT_FIXED_RATE(ctx, struct order, TICK_NS, TICK_NS, ctx->self,
                                                 &order, 2, NULL),
                      JZX_OK);
        JZX_EXPECT_EQ(JZX_SCHEDULE_WITH_FIXED_DELAY(ctx, struct order, TICK_NS, TICK_NS, ctx->self,
                                                    &order, 3, NULL),
                      JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT_EQ(msg->len, sizeof order_seen);
    JZX_EXPECT_EQ(msg->sender, ctx->self); /* an omitted sender is the caller */
    memcpy(&order_seen, msg->data, sizeof order_seen);
    orders++;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_typed_form_sends_a_value_of_the_type_from_the_caller, "B59") {
    rig_open(&rig, NULL);
    jzx_actor_id to = fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.behavior = see_order));
    orders = 0;
    fixture_send(rig.loop, to, 0);
    rig_step(&rig);
    rig_pass(&rig, 2);
    JZX_EXPECT_EQ(orders, 5);
    JZX_EXPECT_EQ(order_seen.price, 30);
    JZX_EXPECT_EQ(order_seen.count, 4);
    rig_close(&rig);
}
