/* SPDX-License-Identifier: MIT */
/* Middleware of the command processor: what a stage may do with a command. */
#include "processing.h"
#include "timing.h"

static void echo(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    jzx_test_ran();
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag, msg->data, msg->len);
}

static const jzx_actor_factory echo_actor = JZX_ACTOR_FACTORY(.type = "echo", .handle = echo);

#define STAGE(name, fn) JZX_ACTOR_FACTORY(.type = (name), .state_size = 128, .handle = (fn))
#define WITH(stages)                                                                               \
    .middleware = (stages), .middleware_count = sizeof(stages) / sizeof((stages)[0]),              \
    .middleware_size = sizeof((stages)[0])

static bool is_output(const jzx_action *command) {
    return command->kind == JZX_ACTION_SEND && command->target == JZX_PROCESSOR_OUTPUT;
}

/* ---- transform and block ---- */

/* Adds 100 to the tag of output. */
static void add_hundred(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_action command;
    (void)state;
    memcpy(&command, msg->data, sizeof command);
    if (is_output(&command))
        command.tag += 100;
    JZX_EXPECT_EQ(jzx_actions_pass(out, &command), JZX_OK);
}

/* Doubles the tag of output. */
static void double_tag(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_action command;
    (void)state;
    memcpy(&command, msg->data, sizeof command);
    if (is_output(&command))
        command.tag *= 2;
    JZX_EXPECT_EQ(jzx_actions_pass(out, &command), JZX_OK);
}

/* Blocks output with odd tags. */
static void block_odd(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_action *command = msg->data;
    (void)state;
    if (!is_output(command) || command->tag % 2 == 0)
        JZX_EXPECT_EQ(jzx_actions_pass(out, command), JZX_OK);
}

static const jzx_actor_factory add_stage = STAGE("add", add_hundred);
static const jzx_actor_factory double_stage = STAGE("double", double_tag);
static const jzx_actor_factory block_stage = STAGE("block", block_odd);

JZX_TEST(stages_are_a_chain_from_left_to_right, "A+mw") {
    jzx_loop *loop = fixture_loop();
    const jzx_stage add_first[] = {{.factory = &add_stage}, {.factory = &double_stage}};
    const jzx_stage double_first[] = {{.factory = &double_stage}, {.factory = &add_stage}};
    jzx_processor *a = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, WITH(add_first)));
    jzx_processor *b = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, WITH(double_first)));
    jzx_processor *none = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor));
    assert_int_equal(jzx_processor_dispatch(a, 1, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_dispatch(b, 1, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_dispatch(none, 1, NULL, 0), JZX_OK);
    check_output(a, 202, NULL, 0);
    check_output(b, 102, NULL, 0);
    check_output(none, 1, NULL, 0); /* of no stages: as it is */
    unmake(a);
    unmake(b);
    unmake(none);
    fixture_destroy(loop);
}

JZX_TEST(a_stage_blocks_what_it_does_not_pass, "A+mw") {
    static struct log log;
    jzx_loop *loop = fixture_loop();
    const jzx_stage stages[] = {{.factory = &block_stage}, log_stage(&log)};
    jzx_processor *processor =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true, WITH(stages)));
    for (uint32_t tag = 1; tag <= 4; tag++)
        assert_int_equal(jzx_processor_dispatch(processor, tag, NULL, 0), JZX_OK);
    check_output(processor, 2, NULL, 0);
    check_output(processor, 4, NULL, 0);
    check_no_output(processor);
    const jzx_trace trace = trace_of(processor);
    assert_int_equal(trace.steps[2].outcome, JZX_OUTCOME_BLOCKED);
    assert_int_equal(trace.steps[4].outcome, JZX_OUTCOME_DONE);
    assert_null(strstr(log.text + strlen("Spawn none->input\nSend internal->input\n"), "Spawn"));
    assert_int_equal(jzx_test_runs(), 4);
    unmake(processor);
    fixture_destroy(loop);
}

JZX_TEST(stages_that_only_pass_change_no_trace, "A+mw", "A1") {
    static struct log logs[3];
    jzx_loop *loop = fixture_loop();
    const jzx_stage stages[] = {log_stage(&logs[0]), log_stage(&logs[1]), log_stage(&logs[2])};
    jzx_processor *plain = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true));
    jzx_processor *logged =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true, WITH(stages)));
    for (uint32_t tag = 1; tag <= 4; tag++) {
        assert_int_equal(jzx_processor_dispatch(plain, tag, &tag, 4), JZX_OK);
        assert_int_equal(jzx_processor_dispatch(logged, tag, &tag, 4), JZX_OK);
    }
    const jzx_trace a = trace_of(plain);
    const jzx_trace b = trace_of(logged);
    assert_true(jzx_trace_difference(&a, &b) == SIZE_MAX);
    assert_int_equal(a.count, 9);
    assert_string_equal(logs[0].text, logs[2].text);
    unmake(plain);
    unmake(logged);
    fixture_destroy(loop);
}

/* ---- inject, and internal origin ---- */

static struct {
    jzx_processor_handle child;
    int seen_from_inside; /* commands of internal actors that a stage saw */
} inside;

static void internal_child(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    jzx_test_ran();
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag + 1, NULL, 0);
}

static const jzx_actor_factory internal_actor =
    JZX_ACTOR_FACTORY(.type = "inside", .handle = internal_child);

static void inject_init(void *state, jzx_actions *out) {
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &internal_actor, NULL, 0, &inside.child), JZX_OK);
}

/* For each output, one more through an actor of its own. */
static void inject(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_action *command = msg->data;
    (void)state;
    inside.seen_from_inside +=
        command->source >= JZX_PROCESSOR_FIRST_HANDLE && command->source != JZX_PROCESSOR_NO_HANDLE;
    if (is_output(command))
        (void)jzx_actions_send(out, inside.child, command->tag, NULL, 0);
    JZX_EXPECT_EQ(jzx_actions_pass(out, command), JZX_OK);
}

static const jzx_actor_factory inject_stage =
    JZX_ACTOR_FACTORY(.type = "inject", .init = inject_init, .handle = inject);

JZX_TEST(commands_of_internal_actors_go_past_the_chain, "A+mw") {
    static struct log log;
    jzx_loop *loop = fixture_loop();
    memset(&inside, 0, sizeof inside);
    const jzx_stage stages[] = {{.factory = &inject_stage}, log_stage(&log)};
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, WITH(stages)));
    assert_int_equal(jzx_processor_dispatch(processor, 5, NULL, 0), JZX_OK);
    check_output(processor, 5, NULL, 0);
    check_output(processor, 6, NULL, 0); /* the internal child's */
    assert_int_equal(inside.seen_from_inside, 0);
    assert_string_equal(log.text, "Spawn none->input\nSend internal->input\nSend input->output\n");
    /* Internal actors keep no processor alive. */
    assert_int_equal(jzx_processor_kill(processor, JZX_PROCESSOR_INPUT), JZX_OK);
    assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_COMPLETED);
    assert_int_equal(jzx_test_runs(), 2);
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- mock ---- */

static void mocked(void *state, const jzx_action *msg, jzx_actions *out) {
    char *text = state;
    jzx_test_ran();
    memcpy(text, "mock", 5);
    (void)msg;
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, 99, text, 5);
}

static const jzx_actor_factory mock_actor =
    JZX_ACTOR_FACTORY(.type = "mock", .state_size = 64, .handle = mocked);

static void mock_echo(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_action command;
    (void)state;
    memcpy(&command, msg->data, sizeof command);
    if (command.kind == JZX_ACTION_SPAWN && strcmp(command.factory->type, "echo") == 0)
        command.factory = &mock_actor;
    JZX_EXPECT_EQ(jzx_actions_pass(out, &command), JZX_OK);
}

static const jzx_actor_factory mock_stage = STAGE("mocks", mock_echo);

JZX_TEST(a_stage_replaces_the_factory_of_a_type, "A+mw", "A+spawn") {
    jzx_loop *loop = fixture_loop();
    const jzx_stage stages[] = {{.factory = &mock_stage}};
    jzx_processor *processor =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true, WITH(stages)));
    assert_int_equal(jzx_processor_dispatch(processor, 1, NULL, 0), JZX_OK);
    check_output(processor, 99, "mock", 5);
    assert_string_equal(trace_of(processor).steps[0].action.factory->type, "mock");
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- delay a Terminate ---- */

/* Holds the Terminate back until the next command. */
static void hold_terminate(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_action *command = msg->data;
    bool *holds = state;
    const jzx_action terminate = {.kind = JZX_ACTION_TERMINATE,
                                  .source = JZX_PROCESSOR_NO_HANDLE,
                                  .target = JZX_PROCESSOR_NO_HANDLE};
    if (command->kind == JZX_ACTION_TERMINATE) {
        *holds = true;
        return;
    }
    JZX_EXPECT_EQ(jzx_actions_pass(out, command), JZX_OK);
    if (*holds)
        JZX_EXPECT_EQ(jzx_actions_pass(out, &terminate), JZX_OK);
}

static const jzx_actor_factory hold_stage = STAGE("hold", hold_terminate);

JZX_TEST(a_stage_delays_the_terminate, "A+mw", "A+term") {
    jzx_loop *loop = fixture_loop();
    const jzx_stage stages[] = {{.factory = &hold_stage}};
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, WITH(stages)));
    assert_int_equal(jzx_processor_kill(processor, JZX_PROCESSOR_INPUT), JZX_OK);
    assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_AWAITS_READERS);
    assert_int_equal(jzx_processor_dispatch(processor, 1, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_COMPLETED);
    assert_int_equal(jzx_processor_dispatch(processor, 1, NULL, 0), JZX_ERR_CLOSED);
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- an async stage between sync ones ---- */

static void approve(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_action *msg;
    (void)state;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        jzx_test_ran();
        JZX_EXPECT_EQ(msg->tag, JZX_TAG_COMMAND);
        JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(5))), JZX_OK);
        JZX_EXPECT_EQ(jzx_actions_pass(jzx_inbox_actions(inbox), msg->data), JZX_OK);
    }
}

static const jzx_actor_factory approve_stage = JZX_ACTOR_FACTORY(.type = "approve", .run = approve);

JZX_TEST(sync_and_async_stages_mix_in_order, "A+mw") {
    static struct log before;
    static struct log after;
    struct timing timing = timing_open();
    const jzx_stage stages[] = {log_stage(&before), {.factory = &approve_stage}, log_stage(&after)};
    jzx_processor *processor =
        make(timing.loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true, WITH(stages)));
    for (uint32_t tag = 1; tag <= 3; tag++)
        assert_int_equal(jzx_processor_dispatch(processor, tag, &tag, 4), JZX_OK);
    assert_int_equal(trace_of(processor).steps[1].outcome, JZX_OUTCOME_DEFERRED);
    check_no_output(processor);
    for (int i = 0; i < 80; i++) {
        timing_step(&timing);
        timing_advance(&timing, JZX_MS(1));
    }
    for (uint32_t tag = 1; tag <= 3; tag++)
        check_output(processor, tag, &tag, 4);
    assert_string_equal(before.text, after.text); /* the same commands in the same order */
    assert_int_equal(jzx_processor_kill(processor, JZX_PROCESSOR_INPUT), JZX_OK);
    for (int i = 0; i < 20; i++) { /* the Kill, and the Terminate, are approved as well */
        timing_step(&timing);
        timing_advance(&timing, JZX_MS(1));
    }
    assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_COMPLETED);
    unmake(processor);
    timing_step(&timing);
    timing_close(&timing);
}

static char type_seen[16];

static void note_type(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_action *command = msg->data;
    (void)state;
    if (command->kind == JZX_ACTION_SPAWN && JZX_EXPECT(command->factory != NULL))
        (void)snprintf(type_seen, sizeof type_seen, "%s", command->factory->type);
    JZX_EXPECT_EQ(jzx_actions_pass(out, command), JZX_OK);
}

static const jzx_actor_factory type_stage = STAGE("types", note_type);

/* Live, and replayed. */
JZX_TEST(a_factory_that_a_stage_has_set_stays_behind_an_async_one, "A+mw", "A+spawn") {
    struct timing timing = timing_open();
    const jzx_stage stages[] = {
        {.factory = &mock_stage}, {.factory = &approve_stage}, {.factory = &type_stage}};
    jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true, .record = true, WITH(stages));
    jzx_processor *live = make(timing.loop, &opts);
    assert_int_equal(jzx_processor_dispatch(live, 1, NULL, 0), JZX_OK);
    type_seen[0] = '\0';
    for (int i = 0; i < 40; i++) {
        timing_step(&timing);
        timing_advance(&timing, JZX_MS(1));
    }
    assert_string_equal(type_seen, "mock");
    check_output(live, 99, "mock", 5);
    jzx_recording recording;
    assert_int_equal(jzx_processor_recording(live, &recording), JZX_OK);
    opts.replay = true;
    type_seen[0] = '\0';
    jzx_processor *again = make(timing.loop, &opts);
    assert_int_equal(jzx_processor_replay(again, &recording), JZX_OK);
    assert_string_equal(type_seen, "mock");
    check_output(again, 99, "mock", 5);
    const jzx_trace a = trace_of(live);
    const jzx_trace b = trace_of(again);
    assert_true(jzx_trace_difference(&a, &b) == SIZE_MAX);
    unmake(again);
    unmake(live);
    timing_step(&timing);
    timing_close(&timing);
}

static const jzx_actor_factory no_factory = JZX_ACTOR_FACTORY(.type = "neither handle nor run");

static void spoil_spawn(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_action command;
    (void)state;
    memcpy(&command, msg->data, sizeof command);
    if (command.kind == JZX_ACTION_SPAWN)
        command.factory = &no_factory;
    JZX_EXPECT_EQ(jzx_actions_pass(out, &command), JZX_OK);
}

static const jzx_actor_factory spoil_stage = STAGE("spoils", spoil_spawn);

JZX_TEST(a_spawn_with_a_wrong_factory_fails_at_an_async_stage, "A+mw", "A+spawn") {
    jzx_loop *loop = fixture_loop();
    const jzx_stage stages[] = {{.factory = &spoil_stage}, {.factory = &approve_stage}};
    jzx_processor *processor;
    assert_int_equal(jzx_processor_create(
                         loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, WITH(stages)), &processor),
                     JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_test_runs(), 0);
    fixture_destroy(loop);
}

JZX_TEST(only_a_stage_may_pass_commands, "A+mw") {
    jzx_loop *loop = fixture_loop();
    const jzx_stage too_many[JZX_MIDDLEWARE_MAX + 1] = {{.factory = &add_stage}};
    jzx_processor *processor;
    assert_int_equal(jzx_processor_create(loop,
                                          &JZX_PROCESSOR_OPTS(.root = &echo_actor, WITH(too_many)),
                                          &processor),
                     JZX_ERR_INVALID_ARG);
    const jzx_stage stages[] = {{.factory = &add_stage}};
    assert_int_equal(
        jzx_processor_create(
            loop,
            &JZX_PROCESSOR_OPTS(.root = &echo_actor, .middleware = stages, .middleware_count = 1),
            &processor),
        JZX_ERR_INVALID_ARG); /* without its size */
    fixture_destroy(loop);
}
