/* SPDX-License-Identifier: MIT */
/* The command processor with sync actors: phases, order, handles, life, middleware, traces. */
#include "processing.h"

/* ---- the exact trace ---- */

static void echo(void *state, const jzx_action *msg, jzx_actions *out) {
    const struct relay *self = state;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_actions_send(out, self->to, msg->tag, msg->data, msg->len), JZX_OK);
}

static const jzx_actor_factory echo_actor = RELAY("echo", echo);

JZX_TEST(a_dispatch_to_an_echo_has_the_exact_trace, "A+exact", "A1", "A23", "A8", "A6",
         "A+handle") {
    static struct log log;
    jzx_loop *loop = fixture_loop();
    const jzx_stage stages[] = {log_stage(&log)};
    jzx_processor *processor =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true, .middleware = stages,
                                       .middleware_count = 1, .middleware_size = sizeof stages[0]));
    assert_int_equal(jzx_processor_dispatch(processor, 7, "ab", 2), JZX_OK);
    const jzx_trace trace = trace_of(processor);
    assert_int_equal(trace.count, 3);
    const jzx_processor_handle output = JZX_PROCESSOR_OUTPUT;
    check_step(&trace.steps[0], JZX_ACTION_SPAWN, JZX_PROCESSOR_NO_HANDLE, JZX_PROCESSOR_INPUT);
    assert_int_equal(trace.steps[0].action.len, sizeof output);
    assert_memory_equal(trace.steps[0].action.data, &output, sizeof output);
    check_step(&trace.steps[1], JZX_ACTION_SEND, JZX_PROCESSOR_INTERNAL, JZX_PROCESSOR_INPUT);
    check_step(&trace.steps[2], JZX_ACTION_SEND, JZX_PROCESSOR_INPUT, JZX_PROCESSOR_OUTPUT);
    assert_int_equal(trace.steps[1].action.tag, 7);
    assert_memory_equal(trace.steps[2].action.data, "ab", 2);
    /* What the logging stage saw is the same. */
    assert_string_equal(log.text, "Spawn none->input\nSend internal->input\nSend input->output\n");
    char text[512];
    assert_true(jzx_trace_print(&trace, text, sizeof text) < sizeof text);
    assert_string_equal(text, "0: Spawn none -> input echo [01 00 00 00 00 00 00 00]\n"
                              "1: Send internal -> input tag 7 [61 62]\n"
                              "1: Send input -> output tag 7 [61 62]\n");
    assert_int_equal(JZX_PROCESSOR_INPUT, 0);
    assert_int_equal(JZX_PROCESSOR_OUTPUT, 1);
    assert_int_equal(JZX_PROCESSOR_INTERNAL, 2);
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- phases and nesting ---- */

static struct {
    jzx_processor *processor;
    int depth;
    int depth_max;
    int calls;
    jzx_phase inside;
} nest;

static void dispatch_again(void *state, const jzx_action *msg, jzx_actions *out) {
    const struct relay *self = state;
    nest.depth++;
    nest.calls++;
    nest.depth_max = nest.depth > nest.depth_max ? nest.depth : nest.depth_max;
    nest.inside = jzx_processor_phase(jzx_actions_processor(out));
    JZX_EXPECT_EQ(jzx_processor_process(jzx_actions_processor(out)), JZX_OK); /* returns at once */
    if (msg->tag > 0)
        JZX_EXPECT_EQ(jzx_processor_dispatch(jzx_actions_processor(out), msg->tag - 1, NULL, 0),
                      JZX_OK);
    (void)jzx_actions_send(out, self->to, msg->tag, NULL, 0);
    nest.depth--;
}

static const jzx_actor_factory nesting_actor = RELAY("nesting", dispatch_again);

JZX_TEST(a_handler_that_dispatches_is_never_nested, "A3", "A4", "A10", "A11", "A12") {
    jzx_loop *loop = fixture_loop();
    memset(&nest, 0, sizeof nest);
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &nesting_actor));
    assert_int_equal(jzx_processor_phase(processor), JZX_PHASE_IDLE);
    assert_int_equal(jzx_processor_dispatch(processor, 5, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_phase(processor), JZX_PHASE_IDLE);
    assert_int_equal(nest.inside, JZX_PHASE_BUSY);
    assert_int_equal(nest.calls, 6);
    assert_int_equal(nest.depth_max, 1);
    for (uint32_t tag = 6; tag-- > 0;)
        check_output(processor, tag, NULL, 0);
    unmake(processor);
    fixture_destroy(loop);
}

JZX_TEST(what_is_enqueued_waits_until_it_is_processed, "A3", "A5", "A10", "A11") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor));
    jzx_processor_stats stats = {.size = sizeof stats};
    assert_int_equal(jzx_processor_process(processor), JZX_OK); /* idle: at once */
    assert_int_equal(jzx_processor_phase(processor), JZX_PHASE_IDLE);
    for (uint32_t tag = 1; tag <= 3; tag++) {
        assert_int_equal(jzx_processor_enqueue(processor, tag, NULL, 0), JZX_OK);
        assert_int_equal(jzx_processor_phase(processor), JZX_PHASE_QUEUED);
    }
    assert_int_equal(jzx_processor_stats_get(processor, &stats), JZX_OK);
    assert_int_equal(stats.waiting, 3);
    jzx_output *output;
    assert_int_equal(jzx_processor_try_next(processor, &output), JZX_ERR_TIMEOUT);
    assert_int_equal(jzx_processor_process(processor), JZX_OK);
    assert_int_equal(jzx_processor_phase(processor), JZX_PHASE_IDLE);
    assert_int_equal(jzx_processor_stats_get(processor, &stats), JZX_OK);
    assert_int_equal(stats.waiting, 0);
    for (uint32_t tag = 1; tag <= 3; tag++)
        check_output(processor, tag, NULL, 0);
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- breadth first ---- */

enum { FAN = 3, DEPTH = 4 };

static const jzx_actor_factory fan_actor;

/* Sends its number, and has FAN children do the same one level below: number * FAN + 1 ... */
static void fan_out(void *state, const jzx_action *msg, jzx_actions *out) {
    const struct relay *self = state;
    uint32_t number = msg->tag;
    uint8_t level;
    memcpy(&level, msg->data, 1);
    jzx_test_ran();
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, number, NULL, 0);
    if (++level == DEPTH)
        return;
    for (uint32_t i = 1; i <= FAN; i++) {
        jzx_processor_handle child;
        JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &fan_actor, &self->to, sizeof self->to, &child),
                      JZX_OK);
        (void)jzx_actions_send(out, child, number * FAN + i, &level, 1);
    }
}

static const jzx_actor_factory fan_actor = RELAY("fan", fan_out);

JZX_TEST(a_fan_out_tree_runs_breadth_first, "A9", "A14", "A15", "A5") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &fan_actor, .trace = true));
    assert_int_equal(jzx_processor_dispatch(processor, 0, "", 1), JZX_OK);
    const uint32_t nodes = 1 + FAN + FAN * FAN + FAN * FAN * FAN;
    for (uint32_t number = 0; number < nodes; number++)
        check_output(processor, number, NULL, 0); /* numbers are counted level by level */
    const jzx_trace trace = trace_of(processor);
    for (size_t i = 1; i < trace.count; i++)
        JZX_EXPECT_EQ(trace.steps[i].tick, 1); /* in one loop */
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- spawning ---- */

static struct {
    jzx_processor_handle handles[8];
    jzx_registered seen[8];
    int created;
    int destroyed;
    jzx_processor_handle self;
} spawning;

static jzx_err create_child(void *state, jzx_processor_handle self, const void *config,
                            size_t len) {
    spawning.created++;
    spawning.self = self;
    if (len == 1 && *(const char *)config == 'x')
        return JZX_ERR_FAILED;
    *(char *)state = len == 0 ? '-' : *(const char *)config;
    return JZX_OK;
}

static void destroy_child(void *state) {
    (void)state;
    spawning.destroyed++;
}

static void init_child(void *state, jzx_actions *out) {
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, 100, state, 1);
}

static void handle_child(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    jzx_test_ran();
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag, msg->data, msg->len);
}

static const jzx_actor_factory child_actor =
    JZX_ACTOR_FACTORY(.type = "child", .state_size = 1, .create = create_child, .init = init_child,
                      .handle = handle_child, .destroy = destroy_child);

static void spawn_children(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_processor *processor = jzx_actions_processor(out);
    (void)state;
    jzx_test_ran();
    if (msg->tag == 1) {
        JZX_EXPECT_EQ(jzx_actions_reserve(out, &child_actor, "a", 1, &spawning.handles[0]), JZX_OK);
        JZX_EXPECT_EQ(jzx_actions_reserve(out, &child_actor, "b", 1, &spawning.handles[1]), JZX_OK);
        spawning.seen[0] = jzx_processor_lookup(processor, spawning.handles[0]);
        (void)jzx_actions_send(out, spawning.handles[0], 10, NULL, 0); /* too early: dropped */
        JZX_EXPECT_EQ(jzx_actions_spawn(out, spawning.handles[0]), JZX_OK);
        (void)jzx_actions_send(out, spawning.handles[0], 11, NULL, 0);
    } else if (msg->tag == 2) {
        spawning.seen[1] = jzx_processor_lookup(processor, spawning.handles[0]);
        JZX_EXPECT_EQ(jzx_actions_spawn(out, spawning.handles[0]), JZX_OK); /* exists: dropped */
        JZX_EXPECT_EQ(jzx_actions_spawn(out, 999), JZX_OK);                 /* not reserved */
        JZX_EXPECT_EQ(jzx_actions_spawn(out, spawning.handles[1]), JZX_OK); /* in a later tick */
    } else if (msg->tag == 3) {
        JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &child_actor, "x", 1, &spawning.handles[2]),
                      JZX_OK); /* its create fails */
        (void)jzx_actions_send(out, spawning.handles[2], 12, NULL, 0);
    }
}

static const jzx_actor_factory spawner_actor =
    JZX_ACTOR_FACTORY(.type = "spawner", .handle = spawn_children);

JZX_TEST(a_reserved_handle_is_an_actor_when_its_spawn_was_carried_out, "A+spawn", "A13", "A2",
         "A+handle", "A+act") {
    jzx_loop *loop = fixture_loop();
    memset(&spawning, 0, sizeof spawning);
    jzx_processor *processor =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &spawner_actor, .trace = true));
    assert_int_equal(jzx_processor_dispatch(processor, 1, NULL, 0), JZX_OK);
    assert_int_equal(spawning.handles[0], JZX_PROCESSOR_FIRST_HANDLE);
    assert_int_equal(spawning.handles[1], JZX_PROCESSOR_FIRST_HANDLE + 1);
    assert_int_equal(spawning.self, JZX_PROCESSOR_FIRST_HANDLE);
    assert_int_equal(spawning.seen[0], JZX_REGISTERED_RESERVED);
    check_output(processor, 100, "a", 1); /* init's actions are queued when it is spawned */
    check_output(processor, 11, NULL, 0);
    assert_int_equal(jzx_processor_dispatch(processor, 2, NULL, 0), JZX_OK);
    assert_int_equal(spawning.seen[1], JZX_REGISTERED_SYNC);
    check_output(processor, 100, "b", 1);
    assert_int_equal(spawning.created, 2);
    assert_int_equal(jzx_processor_dispatch(processor, 3, NULL, 0), JZX_OK);
    assert_int_equal(spawning.created, 3);
    check_no_output(processor);
    jzx_processor_stats stats = {.size = sizeof stats};
    assert_int_equal(jzx_processor_stats_get(processor, &stats), JZX_OK);
    assert_int_equal(stats.actors, 3);
    assert_int_equal(stats.dropped, 4); /* 10, two spawns, 12 */
    const jzx_trace trace = trace_of(processor);
    const jzx_trace_step *failed = &trace.steps[trace.count - 2];
    assert_int_equal(failed->outcome, JZX_OUTCOME_FAILED);
    assert_int_equal(failed->action.error, JZX_ERR_FAILED);
    unmake(processor);
    assert_int_equal(spawning.destroyed, 2); /* not that whose create failed */
    fixture_destroy(loop);
}

/* ---- killing ---- */

static void kill_children(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_processor_handle *child = state;
    jzx_test_ran();
    switch (msg->tag) {
    case 1: (void)jzx_actions_spawn_new(out, &child_actor, "k", 1, child); break;
    case 2: /* all after the kill is dropped */
        (void)jzx_actions_send(out, *child, 20, NULL, 0);
        (void)jzx_actions_kill(out, *child);
        (void)jzx_actions_send(out, *child, 21, NULL, 0);
        (void)jzx_actions_fail(out, *child, JZX_ERR_TIMEOUT);
        (void)jzx_actions_kill(out, *child);
        break;
    case 3: /* a fail, and a kill behind it */
        (void)jzx_actions_fail(out, *child, JZX_ERR_TIMEOUT);
        (void)jzx_actions_kill(out, *child);
        break;
    case 4: /* its own Sends are dropped behind its end */
        (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, 40, NULL, 0);
        (void)jzx_actions_kill(out, jzx_actions_self(out));
        (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, 41, NULL, 0);
        break;
    default: break;
    }
}

static const jzx_actor_factory killer_actor =
    JZX_ACTOR_FACTORY(.type = "killer", .state_size = sizeof(jzx_processor_handle),
                      .handle = kill_children);

JZX_TEST(after_a_kill_in_the_same_tick_all_is_dropped, "A+kill", "A13", "A+act") {
    jzx_loop *loop = fixture_loop();
    memset(&spawning, 0, sizeof spawning);
    jzx_processor *processor =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &killer_actor, .trace = true));
    assert_int_equal(jzx_processor_dispatch(processor, 1, NULL, 0), JZX_OK);
    check_output(processor, 100, "k", 1);
    assert_int_equal(jzx_processor_dispatch(processor, 2, NULL, 0), JZX_OK);
    assert_int_equal(spawning.destroyed, 1);
    check_no_output(processor); /* 20 was handled, but its answer comes behind the kill */
    assert_int_equal(jzx_processor_dispatch(processor, 1, NULL, 0), JZX_OK);
    check_output(processor, 100, "k", 1);
    size_t before = trace_of(processor).count;
    assert_int_equal(jzx_processor_dispatch(processor, 3, NULL, 0), JZX_OK);
    const jzx_trace trace = trace_of(processor);
    assert_int_equal(trace.count, before + 3);
    const jzx_trace_step *fail = &trace.steps[before + 1];
    check_step(fail, JZX_ACTION_FAIL, JZX_PROCESSOR_INPUT, JZX_PROCESSOR_FIRST_HANDLE + 1);
    assert_int_equal(fail->action.error, JZX_ERR_TIMEOUT);
    assert_int_equal(fail->outcome, JZX_OUTCOME_DONE);
    assert_int_equal(trace.steps[before + 2].outcome, JZX_OUTCOME_DROPPED);
    assert_int_equal(spawning.destroyed, 2);
    assert_int_equal(jzx_processor_kill(processor, 12345), JZX_OK); /* unknown: ignored */
    assert_int_equal(jzx_processor_dispatch(processor, 4, NULL, 0), JZX_OK);
    check_output(processor, 40, NULL, 0);
    jzx_output *output;
    assert_int_equal(jzx_processor_try_next(processor, &output), JZX_ERR_CLOSED);
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- termination ---- */

JZX_TEST(the_end_of_the_last_actor_closes_the_output_behind_what_is_in_it, "A+term", "A+queue",
         "A22", "A7") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true));
    assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_AWAITS_READERS);
    for (uint32_t tag = 1; tag <= 4; tag++)
        assert_int_equal(jzx_processor_dispatch(processor, tag, &tag, sizeof tag), JZX_OK);
    assert_int_equal(jzx_processor_kill(processor, JZX_PROCESSOR_INPUT), JZX_OK);
    const jzx_trace trace = trace_of(processor);
    check_step(&trace.steps[trace.count - 1], JZX_ACTION_TERMINATE, JZX_PROCESSOR_NO_HANDLE,
               JZX_PROCESSOR_NO_HANDLE);
    assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_DRAINING);
    assert_int_equal(jzx_processor_dispatch(processor, 5, NULL, 0), JZX_ERR_CLOSED);
    assert_int_equal(trace_of(processor).count, trace.count); /* nothing happened */
    for (uint32_t tag = 1; tag <= 4; tag++)
        check_output(processor, tag, &tag, sizeof tag);
    assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_COMPLETED);
    jzx_output *output;
    assert_int_equal(jzx_processor_try_next(processor, &output), JZX_ERR_CLOSED);
    unmake(processor);
    fixture_destroy(loop);
}

static void say_and_end(void *state, jzx_actions *out) {
    (void)state;
    jzx_test_ran();
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, 1, "bye", 3);
    (void)jzx_actions_kill(out, jzx_actions_self(out));
}

static const jzx_actor_factory short_actor =
    JZX_ACTOR_FACTORY(.type = "short", .init = say_and_end, .handle = echo);

JZX_TEST(an_app_that_starts_and_ends_in_one_tick_terminates, "A+term") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &short_actor));
    check_output(processor, 1, "bye", 3);
    jzx_output *output;
    assert_int_equal(jzx_processor_try_next(processor, &output), JZX_ERR_CLOSED);
    assert_int_equal(jzx_processor_dispatch(processor, 1, NULL, 0), JZX_ERR_CLOSED);
    assert_int_equal(jzx_test_runs(), 1);
    unmake(processor);
    fixture_destroy(loop);
}

JZX_TEST(a_terminate_from_outside_removes_all_actors, "A+term") {
    jzx_loop *loop = fixture_loop();
    memset(&spawning, 0, sizeof spawning);
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &spawner_actor));
    assert_int_equal(jzx_processor_dispatch(processor, 1, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_terminate(processor), JZX_OK);
    assert_int_equal(spawning.destroyed, 1);
    assert_int_equal(jzx_processor_lookup(processor, JZX_PROCESSOR_INPUT), JZX_REGISTERED_NONE);
    assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_DRAINING);
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- wrong calls ---- */

JZX_TEST(wrong_arguments_of_a_processor_are_refused) {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor;
    static const jzx_actor_factory none = JZX_ACTOR_FACTORY(.type = "none");
    static const jzx_actor_factory nameless = JZX_ACTOR_FACTORY(.handle = echo);
    assert_int_equal(
        jzx_processor_create(NULL, &JZX_PROCESSOR_OPTS(.root = &echo_actor), &processor),
        JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_processor_create(loop, &JZX_PROCESSOR_OPTS(.root = NULL), &processor),
                     JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_processor_create(loop, &JZX_PROCESSOR_OPTS(.root = &none), &processor),
                     JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_processor_create(loop, &JZX_PROCESSOR_OPTS(.root = &nameless), &processor),
                     JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_processor_create(
                         loop,
                         &JZX_PROCESSOR_OPTS(.root = &child_actor, .config = "x", .config_len = 1),
                         &processor),
                     JZX_ERR_FAILED); /* its create says so */
    processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor));
    assert_int_equal(jzx_processor_dispatch(processor, 1, NULL, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_processor_dispatch(processor, JZX_TAG_RESERVED, NULL, 0),
                     JZX_ERR_INVALID_ARG);
    jzx_trace trace;
    jzx_recording recording;
    assert_int_equal(jzx_processor_trace(processor, &trace), JZX_ERR_INVALID_STATE);
    assert_int_equal(jzx_processor_recording(processor, &recording), JZX_ERR_INVALID_STATE);
    assert_int_equal(jzx_actions_send(NULL, 0, 0, NULL, 0), JZX_ERR_INVALID_ARG);
    unmake(processor);
    fixture_destroy(loop);
}
