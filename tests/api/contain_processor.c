/* SPDX-License-Identifier: MIT */
/* A handler that faults, under containment: its processor says so, and can be destroyed. */
#include "faults.h"
#include "processing.h"

enum { FALL = 1, ASYNC = 2, OTHER = 3 };

static jzx_processor *broken;
static jzx_processor_handle echoer;

static void send_back(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_action *msg;
    (void)state;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK)
        (void)jzx_actions_send(jzx_inbox_actions(inbox), JZX_PROCESSOR_INPUT, FALL, NULL, 0);
}

static const jzx_actor_factory echo_actor = JZX_ACTOR_FACTORY(.type = "echo", .run = send_back);

static void fall_init(void *state, jzx_actions *out) {
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &echo_actor, NULL, 0, &echoer), JZX_OK);
}

static AS_IT_IS void fall(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    jzx_test_ran();
    if (msg->tag == ASYNC)
        (void)jzx_actions_send(out, echoer, msg->tag, NULL, 0);
    if (msg->tag == FALL)
        do_fault(WRITE_NULL);
}

static const jzx_actor_factory fall_actor =
    JZX_ACTOR_FACTORY(.type = "fall", .init = fall_init, .handle = fall);

static jzx_behavior_result dispatch(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)jzx_processor_dispatch(broken, msg->tag, NULL, 0);
    return JZX_BEHAVIOR_OK;
}

/* The fault is in the turn of a behaviour, or in that of an async actor that brings something. */
static void check(uint32_t tag) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.contain = JZX_CONTAIN_OVERFLOW | JZX_CONTAIN_FAULTS));
    broken = make(loop, &JZX_PROCESSOR_OPTS(.root = &fall_actor, .record = true, .trace = true));
    jzx_actor_id actor = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = dispatch, .daemon = true));
    fixture_send(loop, actor, tag);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_processor_phase(broken), JZX_PHASE_BUSY);
    assert_int_equal(jzx_processor_dispatch(broken, OTHER, NULL, 0), JZX_ERR_FAILED);
    unmake(broken);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_destroy(loop);
}

JZX_TEST(a_processor_whose_handler_faulted_refuses_inputs_and_is_destroyed, "A12") {
    check(FALL);
    check(ASYNC);
    assert_int_equal(jzx_test_runs(), 3);
}
