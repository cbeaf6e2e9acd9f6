/* SPDX-License-Identifier: MIT */
/* The message in hand: a turn has its own or none, whatever ran before it on its worker. */
#include "processes.h"

#include <jzx/context.h>
#include <jzx/exit.h>
#include <jzx/schedule.h>
#include <jzx/typed.h>

enum { WORK = 5, SENDER = 77 };

static uint32_t released;

static void count_released(void *data, size_t len) {
    (void)data, (void)len;
    released++;
}

/* A message with a destructor to an actor that does nothing: it is handled right before the next
 * turn of the actor that sends it. */
static void let_other_work(jzx_context *ctx, jzx_actor_id other) {
    void *data = jzx_msg_alloc(ctx->loop, 100, count_released);
    JZX_EXPECT(data != NULL);
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, other, SENDER, data, WORK), JZX_OK);
}

static jzx_behavior_result do_nothing(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

static jzx_actor_id spawn_other(jzx_loop *loop) {
    released = 0;
    return fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = do_nothing));
}

/* Runs a process whose second step, in which `end` is called, has no events. */
static void run_steps(const jzx_config *config, plan_fn plan) {
    jzx_loop *loop = fixture_loop_with(config);
    struct journal journal = {.plan = plan, .other = spawn_other(loop)};
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &journal));
    while (jzx_loop_step(loop, 0) == JZX_OK && jzx_test_runs() == 0)
        continue;
    (void)jzx_loop_step(loop, 0);
    JZX_EXPECT_EQ(journal.steps, 2);
    JZX_EXPECT_EQ(journal.closes, 1);
    JZX_EXPECT_EQ(jzx_test_runs(), 1); /* of the other */
    JZX_EXPECT_EQ(released, 1);        /* its message, once */
    fixture_destroy(loop);
}

static jzx_err begin_bare(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    let_other_work(ctx, journal->other);
    jzx_out_continue(out);
    return JZX_OK;
}

/* ---- what reads the message in hand ---- */

static jzx_err look_at_hand(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    if (journal->steps == 1)
        return begin_bare(ctx, journal, out);
    jzx_message msg = {.tag = 9};
    JZX_EXPECT_EQ(jzx_type_message(ctx, &msg), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(msg.tag, 9);
    JZX_EXPECT_EQ(jzx_type_sender(ctx), JZX_NOBODY);
    JZX_EXPECT_EQ(jzx_type_defer(ctx).asker, JZX_NOBODY);
    JZX_EXPECT(jzx_schedule_batch(ctx) == NULL);
    JZX_EXPECT_EQ(jzx_schedule_metadata(ctx), 0);
    JZX_EXPECT_EQ(jzx_timer_missed(ctx), 0);
    return jzx_out_done(out, NULL, 0);
}

JZX_TEST(a_step_without_events_has_no_message_in_hand) {
    run_steps(NULL, look_at_hand);
}

/* ---- what leaves the turn ---- */

static jzx_err exit_bare(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    if (journal->steps == 1)
        return begin_bare(ctx, journal, out);
    jzx_exit(ctx, JZX_EXIT_NORMAL, NULL);
}

JZX_TEST(an_exit_in_a_step_without_events_releases_no_message_of_others) {
    run_steps(NULL, exit_bare);
}

static jzx_err check_bare(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    if (journal->steps == 1)
        return begin_bare(ctx, journal, out);
    JZX_CHECK(ctx, journal->steps == 1);
    return JZX_OK;
}

JZX_TEST(a_failed_check_in_a_step_without_events_releases_no_message_of_others) {
    run_steps(NULL, check_bare);
}

static jzx_err wait_bare(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    if (journal->steps == 1)
        return begin_bare(ctx, journal, out);
    (void)jzx_sleep(ctx, JZX_NEVER);
    JZX_EXPECT(!"the process has failed");
    return JZX_OK;
}

JZX_TEST(a_wait_that_fails_a_step_without_events_releases_no_message_of_others) {
    run_steps(&JZX_CONFIG(.on_wait = JZX_ON_WAIT_FAIL, .log = {.level = JZX_LOG_OFF}), wait_bare);
}

/* ---- while it is released ---- */

static struct {
    jzx_context *ctx;
    jzx_message msg;
    uint32_t released;
} last;

static void grasp_again(void *data, size_t len) {
    jzx_message msg;
    (void)len;
    last.released++;
    JZX_EXPECT(data == last.msg.data);
    JZX_EXPECT(jzx_msg_take(last.ctx, &last.msg) == NULL);
    JZX_EXPECT_EQ(jzx_stash(last.ctx, &last.msg), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_type_message(last.ctx, &msg), JZX_ERR_INVALID_ARG);
}

static jzx_behavior_result remember(jzx_context *ctx, const jzx_message *msg) {
    last.ctx = ctx;
    last.msg = *msg;
    return msg->tag == WORK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_destructor_cannot_take_back_the_message_that_it_releases) {
    for (uint32_t tag = WORK; tag <= WORK + 1; tag++) {
        jzx_loop *loop = fixture_loop();
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = remember));
        void *data = jzx_msg_alloc(loop, 100, grasp_again);
        last.released = 0;
        assert_int_equal(jzx_send_msg(loop, id, JZX_NOBODY, data, tag), JZX_OK);
        (void)jzx_loop_step(loop, 0);
        JZX_EXPECT_EQ(last.released, 1);
        fixture_destroy(loop);
    }
}

/* ---- a cleanup that runs where no turn ever ran ---- */

static uint32_t cleanups;

static void misuse_null(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    cleanups++;
    JZX_EXPECT_EQ(jzx_demonitor(NULL, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(jzx_msg_take(NULL, NULL) == NULL);
    JZX_EXPECT_EQ(jzx_become(NULL, do_nothing), JZX_ERR_INVALID_ARG);
    void *data = jzx_msg_alloc(ctx->loop, 100, NULL);
    JZX_EXPECT(data != NULL);
    jzx_msg_free(ctx->loop, data);
    jzx_msg_free(ctx->loop, data); /* is logged, with the caller's name */
}

JZX_TEST(a_null_context_is_refused_in_a_cleanup_at_the_end_of_a_loop) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.log = {.level = JZX_LOG_OFF}));
    cleanups = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = do_nothing, .cleanup = misuse_null));
    fixture_destroy(loop);
    JZX_EXPECT_EQ(cleanups, 1);
}
