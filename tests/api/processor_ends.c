/* SPDX-License-Identifier: MIT */
/* Ends inside a command processor: of stages, of actors that cannot have memory, of actors that
 * still have something to say, and of reservations. The trace, the counts and the recording agree
 * about each end. */
#include "processing.h"
#include "timing.h"

/* More than a chunk of the queue has: it needs an allocation. */
#define MUCH 100000u

static void echo(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    jzx_test_ran();
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag, msg->data, msg->len);
}

static const jzx_actor_factory echo_actor = JZX_ACTOR_FACTORY(.type = "echo", .handle = echo);

static jzx_processor_stats stats_of(jzx_processor *processor) {
    jzx_processor_stats stats = {.size = sizeof stats};
    assert_int_equal(jzx_processor_stats_get(processor, &stats), JZX_OK);
    return stats;
}

static jzx_trace_step last_step(jzx_processor *processor) {
    const jzx_trace trace = trace_of(processor);
    assert_true(trace.count != 0);
    return trace.steps[trace.count - 1];
}

/* The recording of a processor, given to another one, leads to the same trace. */
static void check_replay(jzx_loop *loop, jzx_processor *live, const jzx_processor_opts *opts) {
    jzx_recording recording;
    jzx_processor_opts again = *opts;
    again.replay = true;
    assert_int_equal(jzx_processor_recording(live, &recording), JZX_OK);
    jzx_processor *second = make(loop, &again);
    assert_int_equal(jzx_processor_replay(second, &recording), JZX_OK);
    const jzx_trace a = trace_of(live);
    const jzx_trace b = trace_of(second);
    char line[128] = "";
    size_t at = jzx_trace_difference(&a, &b);
    if (at != SIZE_MAX && at < b.count)
        (void)jzx_trace_step_print(&b.steps[at], line, sizeof line);
    if (at != SIZE_MAX)
        print_error("step %zu of %zu and %zu: %s\n", at, a.count, b.count, line);
    assert_true(at == SIZE_MAX);
    assert_int_equal(stats_of(live).dropped, stats_of(second).dropped);
    assert_int_equal(stats_of(live).commands, stats_of(second).commands);
    assert_int_equal(stats_of(live).ticks, stats_of(second).ticks);
    assert_int_equal(stats_of(live).actors, stats_of(second).actors);
    unmake(second);
}

/* ---- the end of a stage ---- */

struct sum {
    uint32_t number;
};

static jzx_err sum_create(void *state, jzx_processor_handle self, const void *config, size_t len) {
    (void)self;
    memcpy(state, config, len);
    return JZX_OK;
}

/* Adds its number to the tag of output. */
static void sum_up(void *state, const jzx_action *msg, jzx_actions *out) {
    const struct sum *sum = state;
    jzx_action command;
    memcpy(&command, msg->data, sizeof command);
    if (command.kind == JZX_ACTION_SEND && command.target == JZX_PROCESSOR_OUTPUT)
        command.tag += sum->number;
    JZX_EXPECT_EQ(jzx_actions_pass(out, &command), JZX_OK);
}

static const jzx_actor_factory sum_stage =
    JZX_ACTOR_FACTORY(.type = "sum", .state_size = sizeof(struct sum), .create = sum_create,
                      .handle = sum_up);

#define SUM(number)                                                                                \
    { &sum_stage, &(const struct sum){number}, sizeof(struct sum) }

JZX_TEST(commands_go_past_a_stage_that_was_killed, "A+mw", "A+kill") {
    const jzx_stage stages[] = {SUM(10), SUM(100), SUM(1000)};
    const jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true, .record = true, .middleware = stages,
                           .middleware_count = 3, .middleware_size = sizeof stages[0]);
    for (uint32_t killed = 1; killed < 8; killed++) { /* a set of stages */
        jzx_loop *loop = fixture_loop();
        jzx_processor *processor = make(loop, &opts);
        uint32_t tag = 1110;
        for (uint32_t i = 0, factor = 10; i < 3; i++, factor *= 10) {
            if ((killed & 1u << i) == 0)
                continue;
            assert_int_equal(jzx_processor_dispatch(processor, 1, "x", 1), JZX_OK);
            check_output(processor, tag + 1, "x", 1);
            const jzx_processor_handle handle = JZX_PROCESSOR_FIRST_HANDLE + i;
            assert_int_equal(jzx_processor_kill(processor, handle), JZX_OK);
            check_step(&(const jzx_trace_step){.action = last_step(processor).action},
                       JZX_ACTION_KILL, JZX_PROCESSOR_INTERNAL, handle);
            assert_int_equal(last_step(processor).outcome, JZX_OUTCOME_DONE);
            assert_int_equal(jzx_processor_lookup(processor, handle), JZX_REGISTERED_NONE);
            tag -= factor;
        }
        assert_int_equal(jzx_processor_dispatch(processor, 1, "x", 1), JZX_OK);
        check_output(processor, tag + 1, "x", 1);
        assert_int_equal(last_step(processor).outcome, JZX_OUTCOME_DONE);
        assert_int_equal(stats_of(processor).actors, 1); /* stages were not counted */
        assert_int_equal(stats_of(processor).dropped, 0);
        assert_int_equal(jzx_processor_output_state(processor), JZX_OUTPUT_AWAITS_READERS);
        check_replay(loop, processor, &opts);
        unmake(processor);
        fixture_destroy(loop);
    }
}

/* It takes two commands, passes the first, and ends. */
static void take_two(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_action *msg;
    (void)state;
    JZX_EXPECT_EQ(jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_actions_pass(jzx_inbox_actions(inbox), msg->data), JZX_OK);
    JZX_EXPECT_EQ(jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg), JZX_OK);
    jzx_test_ran();
}

static const jzx_actor_factory two_stage = JZX_ACTOR_FACTORY(.type = "two", .run = take_two);

JZX_TEST(commands_that_an_async_stage_held_at_its_end_are_gone, "A+mw", "A+kill") {
    const jzx_stage stages[] = {SUM(10), {.factory = &two_stage}, SUM(1000)};
    const jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true, .record = true, .middleware = stages,
                           .middleware_count = 3, .middleware_size = sizeof stages[0]);
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &opts); /* the Spawn of the root is deferred */
    assert_int_equal(stats_of(processor).actors, 0);
    assert_int_equal(last_step(processor).outcome, JZX_OUTCOME_DEFERRED);
    for (uint32_t tag = 1; tag <= 3; tag++)
        assert_int_equal(jzx_processor_dispatch(processor, tag, NULL, 0), JZX_OK);
    assert_int_equal(last_step(processor).outcome, JZX_OUTCOME_DEFERRED);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(jzx_processor_lookup(processor, JZX_PROCESSOR_FIRST_HANDLE + 1),
                     JZX_REGISTERED_NONE);
    check_no_output(processor); /* the three dispatches were held */
    assert_int_equal(stats_of(processor).actors, 1);
    assert_int_equal(jzx_processor_dispatch(processor, 4, NULL, 0), JZX_OK);
    check_output(processor, 1014, NULL, 0);
    check_no_output(processor);
    check_replay(loop, processor, &opts);
    assert_int_equal(jzx_test_runs(), 3); /* the stage, and the root here and in the replay */
    unmake(processor);
    fixture_destroy(loop);
}

/* Holds what input sends to output until a tag of 9 comes, then passes it first. */
struct holder {
    jzx_action held;
    bool has;
};

static void hold(void *state, const jzx_action *msg, jzx_actions *out) {
    struct holder *holder = state;
    const jzx_action *command = msg->data;
    if (command->kind == JZX_ACTION_SEND && command->source == JZX_PROCESSOR_FIRST_HANDLE + 1) {
        holder->held = *command; /* without data */
        holder->has = true;
        return;
    }
    if (command->tag == 9 && holder->has)
        JZX_EXPECT_EQ(jzx_actions_pass(out, &holder->held), JZX_OK);
    JZX_EXPECT_EQ(jzx_actions_pass(out, command), JZX_OK);
}

static const jzx_actor_factory hold_stage =
    JZX_ACTOR_FACTORY(.type = "hold", .state_size = sizeof(struct holder), .handle = hold);

static jzx_processor_handle child;

static void spawn_echo(void *state, jzx_actions *out) {
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &echo_actor, NULL, 0, &child), JZX_OK);
}

/* 1 goes to the child, 2 kills it; 9 is echoed. */
static void rule_child(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    if (msg->tag == 1)
        (void)jzx_actions_send(out, child, 1, NULL, 0);
    else if (msg->tag == 2)
        (void)jzx_actions_kill(out, child);
    else
        (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag, NULL, 0);
}

static const jzx_actor_factory ruler_actor =
    JZX_ACTOR_FACTORY(.type = "ruler", .init = spawn_echo, .handle = rule_child);

JZX_TEST(a_send_that_was_held_back_beyond_the_end_of_its_source_is_dropped, "A+mw", "A+kill") {
    const jzx_stage stages[] = {{.factory = &hold_stage}};
    const jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &ruler_actor, .trace = true, .record = true,
                           .middleware = stages, .middleware_count = 1,
                           .middleware_size = sizeof stages[0]);
    for (int killed = 0; killed < 2; killed++) {
        jzx_loop *loop = fixture_loop();
        jzx_processor *processor = make(loop, &opts);
        assert_int_equal(child, JZX_PROCESSOR_FIRST_HANDLE + 1);
        assert_int_equal(jzx_processor_dispatch(processor, 1, NULL, 0), JZX_OK);
        assert_int_equal(last_step(processor).outcome, JZX_OUTCOME_BLOCKED);
        if (killed)
            assert_int_equal(jzx_processor_dispatch(processor, 2, NULL, 0), JZX_OK);
        assert_int_equal(jzx_processor_dispatch(processor, 9, NULL, 0), JZX_OK);
        if (!killed) {
            check_output(processor, 1, NULL, 0); /* passed with the dispatch */
            check_output(processor, 1, NULL, 0); /* and with what that has led to */
        }
        check_output(processor, 9, NULL, 0);
        check_no_output(processor);
        assert_int_equal(stats_of(processor).dropped, killed ? 2 : 0);
        check_replay(loop, processor, &opts);
        unmake(processor);
        fixture_destroy(loop);
    }
}

/* ---- actors that cannot have memory ---- */

enum { SMALL = 1, LARGE, AGAIN };

static int weak_destroyed;

static void destroy_weak(void *state) {
    (void)state;
    weak_destroyed++;
}

/* Half of what it wants, then more than it can have, then the rest. */
static void want_much(jzx_actions *out) {
    static const char much[MUCH];
    jzx_processor_handle made = 0;
    JZX_EXPECT_EQ(jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, SMALL, "half", 4), JZX_OK);
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &echo_actor, NULL, 0, &made), JZX_OK);
    JZX_EXPECT_EQ(jzx_actions_send(out, made, SMALL, "half", 4), JZX_OK);
    fixture_fail_allocations(0, 1);
    JZX_EXPECT_EQ(jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, LARGE, much, MUCH),
                  JZX_ERR_NO_MEMORY);
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, SMALL, "rest", 4), JZX_OK);
}

static void want_in_init(void *state, jzx_actions *out) {
    (void)state;
    want_much(out);
}

static void want_if_large(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_test_ran();
    if (msg->tag == LARGE)
        want_much(out);
    else
        echo(state, msg, out);
}

static const jzx_actor_factory weak_actor =
    JZX_ACTOR_FACTORY(.type = "weak", .handle = want_if_large, .destroy = destroy_weak);
static const jzx_actor_factory stillborn_actor =
    JZX_ACTOR_FACTORY(.type = "stillborn", .init = want_in_init, .handle = echo,
                      .destroy = destroy_weak);

static void spawn_weak(void *state, jzx_actions *out) {
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &weak_actor, NULL, 0, &child), JZX_OK);
}

static void pass_down(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    if (msg->tag == AGAIN)
        (void)jzx_actions_spawn_new(out, &stillborn_actor, NULL, 0, &child);
    else
        (void)jzx_actions_send(out, child, msg->tag, NULL, 0);
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, 77, NULL, 0);
}

static const jzx_actor_factory house_actor =
    JZX_ACTOR_FACTORY(.type = "house", .init = spawn_weak, .handle = pass_down);

/* The Fail of an actor for which there was no memory is in the trace, and it is gone. */
static void check_failed(jzx_processor *processor, jzx_processor_handle handle) {
    const jzx_trace trace = trace_of(processor);
    uint32_t fails = 0;
    for (size_t i = 0; i < trace.count; i++) {
        const jzx_trace_step *step = &trace.steps[i];
        JZX_EXPECT(step->action.source != handle || step->action.kind != JZX_ACTION_SPAWN);
        if (step->action.kind != JZX_ACTION_FAIL || step->action.target != handle)
            continue;
        fails++;
        JZX_EXPECT_EQ(step->action.error, JZX_ERR_NO_MEMORY);
        JZX_EXPECT_EQ(step->action.source, JZX_PROCESSOR_NO_HANDLE);
        JZX_EXPECT_EQ(step->outcome, JZX_OUTCOME_DONE);
    }
    assert_int_equal(fails, 1);
    assert_int_equal(jzx_processor_lookup(processor, handle), JZX_REGISTERED_NONE);
}

JZX_TEST(a_handler_without_memory_has_wanted_nothing_and_its_actor_fails, "A+kill", "A+act") {
    jzx_loop *loop = fixture_loop();
    weak_destroyed = 0;
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &house_actor, .trace = true));
    const jzx_processor_handle weak = child;
    assert_int_equal(jzx_processor_dispatch(processor, SMALL, NULL, 0), JZX_OK);
    check_output(processor, 77, NULL, 0);
    check_output(processor, SMALL, NULL, 0);
    assert_int_equal(jzx_processor_dispatch(processor, LARGE, NULL, 0), JZX_ERR_NO_MEMORY);
    check_output(processor, 77, NULL, 0); /* what others want in that tick goes on */
    check_no_output(processor);
    check_failed(processor, weak);
    assert_int_equal(weak_destroyed, 1);
    assert_int_equal(stats_of(processor).lost, 1);
    assert_int_equal(stats_of(processor).actors, 1);
    assert_int_equal(jzx_processor_lookup(processor, weak + 1), JZX_REGISTERED_NONE);
    assert_int_equal(jzx_processor_dispatch(processor, SMALL, NULL, 0), JZX_OK);
    check_output(processor, 77, NULL, 0);
    check_no_output(processor); /* there is nobody to echo it */
    assert_int_equal(stats_of(processor).lost, 1);
    unmake(processor);
    assert_int_equal(weak_destroyed, 1);
    fixture_destroy(loop);
}

JZX_TEST(an_init_without_memory_has_wanted_nothing_and_its_actor_fails, "A+kill", "A+spawn") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor;
    weak_destroyed = 0;
    assert_int_equal(
        jzx_processor_create(loop, &JZX_PROCESSOR_OPTS(.root = &stillborn_actor), &processor),
        JZX_ERR_NO_MEMORY);
    assert_int_equal(weak_destroyed, 1);
    processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &house_actor, .trace = true));
    assert_int_equal(jzx_processor_dispatch(processor, AGAIN, NULL, 0), JZX_ERR_NO_MEMORY);
    check_output(processor, 77, NULL, 0);
    check_no_output(processor);
    check_failed(processor, child);
    assert_int_equal(weak_destroyed, 2);
    assert_int_equal(stats_of(processor).actors, 2);
    unmake(processor);
    fixture_destroy(loop);
}

static void want_and_pass(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_action *command = msg->data;
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_pass(out, command), JZX_OK);
    if (command->tag == LARGE)
        want_much(out);
}

static const jzx_actor_factory greedy_stage =
    JZX_ACTOR_FACTORY(.type = "greedy", .handle = want_and_pass, .destroy = destroy_weak);

JZX_TEST(a_stage_without_memory_passes_nothing_and_the_others_go_on, "A+mw", "A+kill") {
    const jzx_stage stages[] = {SUM(10), {.factory = &greedy_stage}, SUM(1000)};
    jzx_loop *loop = fixture_loop();
    weak_destroyed = 0;
    jzx_processor *processor =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor, .trace = true, .middleware = stages,
                                       .middleware_count = 3, .middleware_size = sizeof stages[0]));
    assert_int_equal(jzx_processor_dispatch(processor, LARGE, NULL, 0), JZX_ERR_NO_MEMORY);
    check_no_output(processor);
    assert_int_equal(jzx_test_runs(), 0); /* the root has not seen it */
    check_failed(processor, JZX_PROCESSOR_FIRST_HANDLE + 1);
    check_step(&(const jzx_trace_step){.action = last_step(processor).action}, JZX_ACTION_SEND,
               JZX_PROCESSOR_INTERNAL, JZX_PROCESSOR_INPUT);
    assert_int_equal(last_step(processor).outcome, JZX_OUTCOME_FAILED);
    assert_int_equal(last_step(processor).action.error, JZX_ERR_NO_MEMORY);
    assert_int_equal(weak_destroyed, 1);
    assert_int_equal(jzx_processor_dispatch(processor, LARGE, NULL, 0), JZX_OK);
    check_output(processor, LARGE + 1010, NULL, 0);
    assert_int_equal(jzx_test_runs(), 1);
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- the same in a fiber ---- */

static void want_in_fiber(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    static const char much[MUCH];
    jzx_actions *out = jzx_inbox_actions(inbox);
    const jzx_action *msg;
    (void)state;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        jzx_test_ran();
        JZX_EXPECT_EQ(jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, SMALL, "half", 4), JZX_OK);
        if (msg->tag == SMALL)
            continue;
        fixture_fail_allocations(0, 1);
        JZX_EXPECT_EQ(jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, LARGE, much, MUCH),
                      JZX_ERR_NO_MEMORY);
        fixture_fail_allocations(UINT64_MAX, 0);
        if (msg->tag == LARGE)
            return; /* with a list that has failed */
        JZX_EXPECT_EQ(jzx_inbox_flush(inbox), JZX_ERR_NO_MEMORY);
        JZX_EXPECT_EQ(jzx_inbox_flush(inbox), JZX_OK); /* the list is empty */
        JZX_EXPECT_EQ(jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, AGAIN, NULL, 0), JZX_OK);
    }
}

static const jzx_actor_factory fiber_actor =
    JZX_ACTOR_FACTORY(.type = "fiber", .run = want_in_fiber);

static void run_until_idle(jzx_loop *loop) {
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

JZX_TEST(a_list_of_a_fiber_that_could_not_take_something_is_refused_whole, "A+act", "A+kill") {
    const jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &fiber_actor, .trace = true, .record = true);
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &opts);
    assert_int_equal(jzx_processor_dispatch(processor, SMALL, NULL, 0), JZX_OK);
    run_until_idle(loop);
    check_output(processor, SMALL, "half", 4);
    assert_int_equal(jzx_processor_dispatch(processor, AGAIN, NULL, 0), JZX_OK);
    run_until_idle(loop);
    check_output(processor, AGAIN, NULL, 0);
    check_no_output(processor);
    assert_int_equal(jzx_processor_dispatch(processor, LARGE, NULL, 0), JZX_OK);
    run_until_idle(loop);
    jzx_output *output;
    assert_int_equal(jzx_processor_try_next(processor, &output), JZX_ERR_CLOSED);
    const jzx_trace trace = trace_of(processor);
    const jzx_trace_step *fail = &trace.steps[trace.count - 2];
    check_step(fail, JZX_ACTION_FAIL, JZX_PROCESSOR_INPUT, JZX_PROCESSOR_INPUT);
    assert_int_equal(fail->action.error, JZX_ERR_NO_MEMORY);
    check_replay(loop, processor, &opts);
    assert_int_equal(jzx_test_runs(), 3);
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- what comes late ---- */

enum { WORK = 10, KILL };

/* More than one chunk of a list has. */
static void speak_late(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    static const char data[3000];
    const jzx_action *msg;
    (void)state;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        jzx_test_ran();
        JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(5))), JZX_OK);
        for (uint32_t i = 0; i < 5; i++)
            JZX_EXPECT_EQ(jzx_actions_send(jzx_inbox_actions(inbox), JZX_PROCESSOR_OUTPUT, i, data,
                                           sizeof data),
                          JZX_OK);
        JZX_EXPECT_EQ(jzx_inbox_flush(inbox), JZX_OK); /* it was accepted */
        JZX_EXPECT_EQ(jzx_actions_send(jzx_inbox_actions(inbox), JZX_PROCESSOR_OUTPUT, 9, NULL, 0),
                      JZX_OK);
        JZX_EXPECT_EQ(jzx_inbox_flush(inbox), JZX_ERR_CLOSED);
        jzx_test_ran();
    }
}

static const jzx_actor_factory late_actor = JZX_ACTOR_FACTORY(.type = "late", .run = speak_late);

static void spawn_late(void *state, jzx_actions *out) {
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &late_actor, NULL, 0, &child), JZX_OK);
}

static void rule_late(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    if (msg->tag == WORK)
        (void)jzx_actions_send(out, child, WORK, NULL, 0);
    else
        (void)jzx_actions_kill(out, child);
}

static const jzx_actor_factory chief_actor =
    JZX_ACTOR_FACTORY(.type = "chief", .init = spawn_late, .handle = rule_late);

JZX_TEST(an_input_whose_actor_was_removed_before_its_tick_is_dropped_whole, "A+kill", "A+act") {
    const jzx_processor_opts opts = JZX_PROCESSOR_OPTS(.root = &chief_actor, .trace = true,
                                                       .record = true, .tick_per_input = true);
    struct timing timing = timing_open();
    jzx_processor *processor = make(timing.loop, &opts);
    assert_int_equal(jzx_processor_dispatch(processor, WORK, NULL, 0), JZX_OK);
    timing_step(&timing);
    const jzx_processor_stats before = stats_of(processor);
    assert_int_equal(jzx_processor_enqueue(processor, KILL, NULL, 0), JZX_OK);
    timing_advance(&timing, JZX_MS(6)); /* the fiber runs the Kill, and then its own input */
    assert_int_equal(jzx_test_runs(), 2);
    check_no_output(processor);
    const jzx_processor_stats after = stats_of(processor);
    assert_int_equal(after.ticks, before.ticks + 2);
    assert_int_equal(after.commands, before.commands + 7);
    assert_int_equal(after.dropped, before.dropped + 5);
    const jzx_trace trace = trace_of(processor);
    for (size_t i = 1; i <= 5; i++) {
        assert_int_equal(trace.steps[trace.count - i].outcome, JZX_OUTCOME_DROPPED);
        assert_int_equal(trace.steps[trace.count - i].action.source, child);
    }
    check_replay(timing.loop, processor, &opts);
    unmake(processor);
    timing_step(&timing);
    timing_close(&timing);
}

/* ---- reservations ---- */

static const jzx_actor_factory large_actor =
    JZX_ACTOR_FACTORY(.type = "large", .state_size = MUCH, .handle = echo);

static jzx_processor_handle reserved;

/* The child reserves a handle, which its parent spawns or not. */
static void reserve_one(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state, (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_actions_reserve(out, &large_actor, NULL, 0, &reserved), JZX_OK);
}

static const jzx_actor_factory clerk_actor =
    JZX_ACTOR_FACTORY(.type = "clerk", .handle = reserve_one);

static void spawn_clerk(void *state, jzx_actions *out) {
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &clerk_actor, NULL, 0, &child), JZX_OK);
}

enum { RESERVE = 1, KILL_CLERK, SPAWN_IT, KILL_IT, SEND_IT, SPAWN_AND_KILL };

static void rule_clerk(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    switch (msg->tag) {
    case RESERVE: (void)jzx_actions_send(out, child, RESERVE, NULL, 0); break;
    case KILL_CLERK: (void)jzx_actions_kill(out, child); break;
    case SPAWN_IT: (void)jzx_actions_spawn(out, reserved); break;
    case KILL_IT: (void)jzx_actions_kill(out, reserved); break;
    case SEND_IT: (void)jzx_actions_send(out, reserved, SEND_IT, NULL, 0); break;
    default: /* in the tick in which its maker ends it is still reserved */
        (void)jzx_actions_kill(out, child);
        (void)jzx_actions_spawn(out, reserved);
        break;
    }
}

static const jzx_actor_factory boss_actor =
    JZX_ACTOR_FACTORY(.type = "boss", .init = spawn_clerk, .handle = rule_clerk);

static jzx_outcome do_and_look(jzx_processor *processor, uint32_t tag) {
    assert_int_equal(jzx_processor_dispatch(processor, tag, NULL, 0), JZX_OK);
    return last_step(processor).outcome;
}

JZX_TEST(a_reservation_ends_with_the_actor_that_made_it, "A+spawn", "A+handle", "A+kill") {
    const jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &boss_actor, .trace = true, .record = true);
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &opts);
    const uint64_t bytes = fixture_bytes();
    assert_int_equal(do_and_look(processor, RESERVE), JZX_OUTCOME_DONE);
    assert_true(fixture_bytes() >= bytes + MUCH);
    assert_int_equal(jzx_processor_lookup(processor, reserved), JZX_REGISTERED_RESERVED);
    assert_int_equal(do_and_look(processor, KILL_IT), JZX_OUTCOME_DROPPED); /* it is no actor */
    assert_int_equal(do_and_look(processor, SEND_IT), JZX_OUTCOME_DROPPED);
    assert_int_equal(jzx_processor_lookup(processor, reserved), JZX_REGISTERED_RESERVED);
    assert_int_equal(do_and_look(processor, KILL_CLERK), JZX_OUTCOME_DONE);
    assert_int_equal(jzx_processor_lookup(processor, reserved), JZX_REGISTERED_NONE);
    assert_true(fixture_bytes() < bytes + MUCH); /* its memory is free */
    assert_int_equal(do_and_look(processor, SPAWN_IT), JZX_OUTCOME_DROPPED);
    assert_int_equal(stats_of(processor).actors, 1);
    assert_int_equal(jzx_test_runs(), 1);
    check_replay(loop, processor, &opts);
    unmake(processor);
    fixture_destroy(loop);
}

JZX_TEST(a_reserved_actor_outlives_the_actor_that_made_it, "A+spawn", "A+handle", "A+kill") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &boss_actor, .trace = true));
    assert_int_equal(do_and_look(processor, RESERVE), JZX_OUTCOME_DONE);
    const jzx_processor_handle first = reserved;
    assert_int_equal(do_and_look(processor, RESERVE), JZX_OUTCOME_DONE);
    assert_int_equal(do_and_look(processor, SPAWN_AND_KILL), JZX_OUTCOME_DONE);
    assert_int_equal(jzx_processor_lookup(processor, reserved), JZX_REGISTERED_SYNC);
    assert_int_equal(jzx_processor_lookup(processor, first), JZX_REGISTERED_NONE);
    assert_int_equal(stats_of(processor).actors, 2);
    assert_int_equal(jzx_processor_dispatch(processor, SEND_IT, NULL, 0), JZX_OK);
    check_output(processor, SEND_IT, NULL, 0);
    assert_int_equal(jzx_test_runs(), 3);
    unmake(processor);
    fixture_destroy(loop);
}

/* Others keep what they have reserved. */
static void reserve_and_end(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_processor_handle *own = state;
    if (msg->tag == RESERVE) {
        JZX_EXPECT_EQ(jzx_actions_reserve(out, &large_actor, NULL, 0, own), JZX_OK);
        (void)jzx_actions_spawn_new(out, &clerk_actor, NULL, 0, &child);
    } else if (msg->tag == KILL_CLERK) {
        (void)jzx_actions_kill(out, child);
    } else {
        (void)jzx_actions_spawn(out, *own);
        (void)jzx_actions_send(out, *own, msg->tag, NULL, 0);
    }
}

static const jzx_actor_factory keeper_actor =
    JZX_ACTOR_FACTORY(.type = "keeper", .state_size = sizeof(jzx_processor_handle),
                      .handle = reserve_and_end);

JZX_TEST(the_end_of_an_actor_leaves_the_reservations_of_others, "A+spawn", "A+handle") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &keeper_actor));
    assert_int_equal(jzx_processor_dispatch(processor, RESERVE, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_dispatch(processor, KILL_CLERK, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_lookup(processor, child), JZX_REGISTERED_NONE);
    assert_int_equal(jzx_processor_dispatch(processor, 9, NULL, 0), JZX_OK);
    check_output(processor, 9, NULL, 0);
    assert_int_equal(jzx_test_runs(), 1);
    unmake(processor);
    fixture_destroy(loop);
}
