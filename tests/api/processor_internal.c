/* SPDX-License-Identifier: MIT */
/* Internal actors of the command processor: the children of a stage of the middleware. */
#include "processing.h"

enum { SAY = 1, END_CHILD = 2, ENDS = 3 };

static jzx_processor_handle children[ENDS];
static uint32_t ended;

static void echo(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    jzx_test_ran();
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag, msg->data, msg->len);
}

static const jzx_actor_factory echo_actor = JZX_ACTOR_FACTORY(.type = "echo", .handle = echo);

static void end_itself(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    (void)msg;
    (void)jzx_actions_kill(out, jzx_actions_self(out));
}

static const jzx_actor_factory mortal_actor =
    JZX_ACTOR_FACTORY(.type = "mortal", .handle = end_itself);

static void have_children(void *state, jzx_actions *out) {
    (void)state;
    for (uint32_t i = 0; i < ENDS; i++)
        JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &mortal_actor, NULL, 0, &children[i]), JZX_OK);
}

/* For each output that says so, one of its children ends. */
static void end_children(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_action *command = msg->data;
    (void)state;
    if (command->kind == JZX_ACTION_SEND && command->target == JZX_PROCESSOR_OUTPUT &&
        command->tag == END_CHILD && JZX_EXPECT(ended < ENDS))
        (void)jzx_actions_send(out, children[ended++], END_CHILD, NULL, 0);
    JZX_EXPECT_EQ(jzx_actions_pass(out, command), JZX_OK);
}

static const jzx_actor_factory parent_stage =
    JZX_ACTOR_FACTORY(.type = "parent", .init = have_children, .handle = end_children);

JZX_TEST(the_end_of_internal_actors_terminates_nothing, "A+term", "A+mw") {
    const jzx_stage stages[] = {{.factory = &parent_stage}};
    jzx_loop *loop = fixture_loop();
    ended = 0;
    jzx_processor *processor =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, .middleware = stages,
                                       .middleware_count = 1, .middleware_size = sizeof stages[0]));
    for (uint32_t i = 0; i < ENDS; i++) {
        assert_int_equal(jzx_processor_dispatch(processor, END_CHILD, NULL, 0), JZX_OK);
        check_output(processor, END_CHILD, NULL, 0);
        assert_int_equal(jzx_processor_lookup(processor, children[i]), JZX_REGISTERED_NONE);
        assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_AWAITS_READERS);
        assert_int_equal(jzx_processor_dispatch(processor, SAY, "x", 1), JZX_OK);
        check_output(processor, SAY, "x", 1);
    }
    assert_int_equal(ended, ENDS);
    assert_int_equal(jzx_processor_kill(processor, JZX_PROCESSOR_INPUT), JZX_OK);
    assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_COMPLETED);
    unmake(processor);
    fixture_destroy(loop);
}
