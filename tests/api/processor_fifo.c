/* SPDX-License-Identifier: MIT */
/* The queue of the command processor: where inputs stand in it, with and without a tick for each,
 * and replays that put them into the same places. */
#include "processing.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    DISPATCHES = 4,
    THREAD = 7,
    OUTSIDE = 8,
    SENDS_THREAD = 9,
    WORK = 30,
    WAIT,
    DONE,
    HEAR,
    LATE,
    SPAWN
};

static struct {
    jzx_processor *processor;
    jzx_processor_handle helper;
    atomic_int flushed; /* inputs of the helper that were accepted */
    atomic_bool is_let; /* the helper may go on */
    bool is_unasked;    /* the helper waits for no message */
    uint32_t threads;   /* that were started; few, unless runners are nested without end */
    bool is_replay;     /* the others do nothing: what they did is in the recording */
} s;

/* ---- a root whose messages are its program ---- */

static void *dispatch_from_outside(void *arg) {
    JZX_EXPECT_EQ(jzx_processor_dispatch(arg, OUTSIDE, NULL, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_processor_process(arg), JZX_OK); /* the runner has it to do: returns */
    return NULL;
}

/* Returns when the input of another thread was accepted. */
static void have_a_thread_dispatch(jzx_processor *processor) {
    pthread_t thread;
    if (s.is_replay || !JZX_EXPECT(s.threads++ < 8))
        return;
    JZX_EXPECT_EQ(pthread_create(&thread, NULL, dispatch_from_outside, processor), 0);
    JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
}

static void wait_for_flush(int count) {
    while (!s.is_replay && atomic_load(&s.flushed) < count)
        (void)sched_yield();
}

static void send(jzx_actions *out, uint32_t tag) {
    JZX_EXPECT_EQ(jzx_actions_send(out, JZX_PROCESSOR_INPUT, tag, NULL, 0), JZX_OK);
}

static const jzx_actor_factory helper_actor;

static void handle(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_processor *processor = jzx_actions_processor(out);
    (void)state;
    jzx_test_ran();
    switch (msg->tag) {
    case 1: send(out, 10), send(out, 11); break;
    case 2: send(out, 20); break;
    case DISPATCHES:
        JZX_EXPECT_EQ(jzx_processor_dispatch(processor, 5, NULL, 0), JZX_OK);
        send(out, 6);
        break;
    case THREAD:
        send(out, 10);
        have_a_thread_dispatch(processor);
        send(out, 11);
        break;
    case SENDS_THREAD: send(out, THREAD); break;
    case WORK:
        JZX_EXPECT_EQ(jzx_actions_send(out, s.helper, WORK, NULL, 0), JZX_OK);
        send(out, WAIT);
        break;
    case WAIT: /* in the tick that has sent to the helper */
        wait_for_flush(1);
        have_a_thread_dispatch(processor);
        send(out, 12);
        break;
    case SPAWN:
        JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &helper_actor, NULL, 0, &s.helper), JZX_OK);
        send(out, WAIT);
        break;
    case HEAR: /* in another one */
        atomic_store(&s.is_let, true);
        wait_for_flush(2);
        send(out, 13);
        break;
    default: break;
    }
}

static const jzx_actor_factory root_actor = JZX_ACTOR_FACTORY(.type = "root", .handle = handle);

static void ignore(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state, (void)msg, (void)out;
    jzx_test_ran();
}

static const jzx_actor_factory silent_actor = JZX_ACTOR_FACTORY(.type = "root", .handle = ignore);

/* ---- what is compared ---- */

/* The messages of the root, as "tick:tag ". */
static const char *order_of(jzx_processor *processor) {
    static char text[512];
    const jzx_trace trace = trace_of(processor);
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < trace.count; i++) {
        const jzx_action *action = &trace.steps[i].action;
        if (action->kind == JZX_ACTION_SEND && action->target == JZX_PROCESSOR_INPUT &&
            trace.steps[i].outcome == JZX_OUTCOME_DONE)
            len += (size_t)snprintf(text + len, sizeof text - len, "%llu:%u ",
                                    (unsigned long long)trace.steps[i].tick, action->tag);
    }
    return text;
}

/* An entry is u32 length, u64 source, u64 place, ...; the first one follows 8 bytes. */
static uint64_t place_of(const jzx_recording *recording, size_t index) {
    const unsigned char *at = (const unsigned char *)recording->data + 8;
    uint64_t place = 0;
    for (; index != 0; index--)
        at += 4 + (at[0] | (uint32_t)at[1] << 8);
    for (unsigned i = 0; i < 8; i++)
        place |= (uint64_t)at[12 + i] << (8 * i);
    return place;
}

static jzx_recording recording_of(jzx_processor *processor) {
    jzx_recording recording;
    assert_int_equal(jzx_processor_recording(processor, &recording), JZX_OK);
    return recording;
}

/* The same trace and the same recording, whatever the mode of the second one is. */
static void check_replay(jzx_loop *loop, jzx_processor *live, const jzx_processor_opts *opts) {
    const jzx_recording recording = recording_of(live);
    const jzx_trace a = trace_of(live);
    for (int mode = 0; mode < 2; mode++) {
        jzx_processor_opts again = *opts;
        again.replay = true;
        again.tick_per_input = mode == 1;
        s.is_replay = true;
        jzx_processor *second = make(loop, &again);
        assert_int_equal(jzx_processor_replay(second, &recording), JZX_OK);
        s.is_replay = false;
        const jzx_trace b = trace_of(second);
        assert_true(jzx_trace_difference(&a, &b) == SIZE_MAX);
        const jzx_recording copy = recording_of(second);
        assert_int_equal(copy.len, recording.len);
        assert_memory_equal(copy.data, recording.data, copy.len);
        unmake(second);
    }
}

/* Enqueues the tags, processes them, and compares the order. */
static void check_order(bool tick_per_input, const uint32_t *tags, size_t count,
                        const char *expected, const uint64_t *places, size_t inputs) {
    const jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &root_actor, .trace = true, .record = true,
                           .tick_per_input = tick_per_input);
    jzx_loop *loop = fixture_loop();
    memset(&s, 0, sizeof s);
    jzx_processor *processor = make(loop, &opts);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(jzx_processor_enqueue(processor, tags[i], NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_process(processor), JZX_OK);
    assert_string_equal(order_of(processor), expected);
    const jzx_recording recording = recording_of(processor);
    assert_int_equal(jzx_recording_count(&recording), inputs);
    for (size_t i = 0; i < inputs; i++)
        assert_true(place_of(&recording, i) == places[i]);
    check_replay(loop, processor, &opts);
    unmake(processor);
    fixture_destroy(loop);
}

#define FIRST UINT64_MAX
#define TAGS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4
#define PLACES(...) (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8

/* ---- one queue ---- */

JZX_TEST(what_inputs_lead_to_stands_behind_the_inputs_that_wait, "A5", "A10", "A15", "X32") {
    check_order(false, TAGS(1, 2, 3), "1:1 1:2 1:3 1:10 1:11 1:20 ", PLACES(FIRST, 0, 0));
    assert_true(jzx_test_runs() >= 6);
}

JZX_TEST(with_a_tick_for_each_what_an_input_leads_to_comes_before_the_next_input, "X32") {
    check_order(true, TAGS(1, 2, 3), "1:1 1:10 1:11 2:2 2:20 3:3 ", PLACES(FIRST, FIRST, FIRST));
    assert_true(jzx_test_runs() >= 6);
}

JZX_TEST(a_dispatch_by_a_handler_stands_behind_what_is_queued, "A4", "A10", "X32") {
    check_order(false, TAGS(DISPATCHES, 3), "1:4 1:3 1:5 1:6 ", PLACES(FIRST, 0));
    check_order(true, TAGS(DISPATCHES, 3), "1:4 1:5 1:6 2:3 ", PLACES(FIRST, FIRST));
    assert_true(jzx_test_runs() >= 8);
}

JZX_TEST(an_input_that_comes_during_a_handler_stands_behind_what_is_queued, "A1", "A5", "A10",
         "A12", "X32") {
    check_order(false, TAGS(THREAD, 3), "1:7 1:3 1:10 1:11 1:8 ", PLACES(FIRST, 0, 1));
    check_order(false, TAGS(SENDS_THREAD), "1:9 1:7 1:10 1:11 1:8 ", PLACES(FIRST, 2));
    assert_true(jzx_test_runs() >= 10);
}

JZX_TEST(with_a_tick_for_each_an_input_that_comes_during_a_handler_waits, "X32") {
    check_order(true, TAGS(THREAD, 3), "1:7 1:10 1:11 2:3 3:8 ", PLACES(FIRST, FIRST, FIRST));
    assert_true(jzx_test_runs() >= 5);
}

static void dispatch_in_init(void *state, jzx_actions *out) {
    (void)state;
    have_a_thread_dispatch(jzx_actions_processor(out));
    send(out, 1);
}

static const jzx_actor_factory eager_actor =
    JZX_ACTOR_FACTORY(.type = "eager", .init = dispatch_in_init, .handle = handle);

JZX_TEST(an_input_that_comes_while_the_root_is_spawned_begins_the_next_tick, "A1", "X32") {
    const jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &eager_actor, .trace = true, .record = true);
    jzx_loop *loop = fixture_loop();
    memset(&s, 0, sizeof s);
    jzx_processor *processor = make(loop, &opts);
    assert_string_equal(order_of(processor), "0:1 0:10 0:11 1:8 ");
    check_replay(loop, processor, &opts);
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- async actors ---- */

/* Answers at once, unasked if it was spawned for that, and once more when it is let. */
static void help(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_action *msg;
    (void)state;
    jzx_test_ran();
    if (!s.is_unasked)
        JZX_EXPECT_EQ(jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg), JZX_OK);
    send(jzx_inbox_actions(inbox), DONE);
    JZX_EXPECT_EQ(jzx_inbox_flush(inbox), JZX_OK);
    atomic_fetch_add(&s.flushed, 1);
    while (!atomic_load(&s.is_let))
        (void)jzx_yield(ctx);
    send(jzx_inbox_actions(inbox), LATE);
    JZX_EXPECT_EQ(jzx_inbox_flush(inbox), JZX_OK);
    atomic_fetch_add(&s.flushed, 1);
    (void)jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg); /* until it is killed */
}

static const jzx_actor_factory helper_actor = JZX_ACTOR_FACTORY(.type = "helper", .run = help);

static void spawn_helper(void *state, jzx_actions *out) {
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &helper_actor, NULL, 0, &s.helper), JZX_OK);
}

static const jzx_actor_factory chief_actor =
    JZX_ACTOR_FACTORY(.type = "chief", .init = spawn_helper, .handle = handle);

static void keep_alive(jzx_context *ctx) {
    (void)jzx_sleep(ctx, JZX_NEVER);
}

static void *run_loop(void *arg) {
    JZX_EXPECT_EQ(jzx_loop_run(arg), JZX_OK);
    return NULL;
}

/* The handlers wait until the answers were accepted, so that both come while the tick goes on. */
static void check_helper(bool tick_per_input, const char *expected, const uint64_t *places,
                         size_t inputs) {
    const jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &chief_actor, .trace = true, .record = true,
                           .tick_per_input = tick_per_input);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    pthread_t thread;
    memset(&s, 0, sizeof s);
    jzx_processor *processor = make(loop, &opts);
    assert_int_equal(pthread_create(&thread, NULL, run_loop, loop), 0);
    assert_int_equal(jzx_processor_dispatch(processor, WORK, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_dispatch(processor, HEAR, NULL, 0), JZX_OK);
    assert_string_equal(order_of(processor), expected);
    const jzx_recording recording = recording_of(processor);
    assert_int_equal(jzx_recording_count(&recording), inputs);
    for (size_t i = 0; i < inputs; i++)
        assert_true(place_of(&recording, i) == places[i]);
    check_replay(loop, processor, &opts);
    unmake(processor);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_destroy(loop);
}

/* 31 waits for the answer 32 of the helper. The answer is heard in the next tick, and so is the
 * input 8 behind it. The answer 34 to a message of an earlier tick comes into the tick that goes
 * on. */
JZX_TEST(an_async_actor_is_never_heard_in_the_tick_that_has_sent_to_it, "A19", "A20", "X32") {
    check_helper(false, "1:30 1:31 1:12 2:32 2:8 3:33 3:13 3:34 ",
                 PLACES(FIRST, FIRST, 0, FIRST, 1));
    assert_true(jzx_test_runs() >= 9);
}

JZX_TEST(with_a_tick_for_each_every_answer_of_an_async_actor_has_its_own, "A20", "X32") {
    check_helper(true, "1:30 1:31 1:12 2:32 3:8 4:33 4:13 5:34 ",
                 PLACES(FIRST, FIRST, FIRST, FIRST, FIRST));
    assert_true(jzx_test_runs() >= 9);
}

JZX_TEST(an_async_actor_is_never_heard_in_the_tick_that_has_spawned_it, "A20") {
    const jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &root_actor, .trace = true, .record = true);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    pthread_t thread;
    memset(&s, 0, sizeof s);
    s.is_unasked = true;
    s.is_let = false;
    jzx_processor *processor = make(loop, &opts);
    jzx_actor_id keeper = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = keep_alive));
    assert_int_equal(pthread_create(&thread, NULL, run_loop, loop), 0);
    assert_int_equal(jzx_processor_dispatch(processor, SPAWN, NULL, 0), JZX_OK);
    assert_string_equal(order_of(processor), "1:35 1:31 1:12 2:32 2:8 ");
    check_replay(loop, processor, &opts);
    unmake(processor);
    assert_int_equal(jzx_actor_stop(loop, keeper, JZX_STOP_KILL), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_destroy(loop);
}

/* ---- async stages ---- */

static void pass_all(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_action *msg;
    (void)state;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        JZX_EXPECT_EQ(jzx_actions_pass(jzx_inbox_actions(inbox), msg->data), JZX_OK);
        JZX_EXPECT_EQ(jzx_inbox_flush(inbox), JZX_OK);
        atomic_fetch_add(&s.flushed, 1);
    }
}

/* Holds the second message up until the first one was passed: after the Spawn of the root. */
static void pass_slowly(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_action *command = msg->data;
    (void)state;
    jzx_test_ran();
    if (command->kind == JZX_ACTION_SEND && command->tag == 15)
        wait_for_flush(2);
    JZX_EXPECT_EQ(jzx_actions_pass(out, command), JZX_OK);
}

static const jzx_actor_factory slow_stage =
    JZX_ACTOR_FACTORY(.type = "slow", .handle = pass_slowly);
static const jzx_actor_factory async_stage = JZX_ACTOR_FACTORY(.type = "async", .run = pass_all);

JZX_TEST(an_async_stage_is_never_heard_in_the_tick_in_which_it_got_the_command, "A20", "A+mw") {
    const jzx_stage stages[] = {{.factory = &slow_stage}, {.factory = &async_stage}};
    const jzx_processor_opts opts =
        JZX_PROCESSOR_OPTS(.root = &silent_actor, .trace = true, .record = true,
                           .middleware = stages, .middleware_count = 2,
                           .middleware_size = sizeof stages[0]);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    pthread_t thread;
    memset(&s, 0, sizeof s);
    jzx_processor *processor = make(loop, &opts);
    assert_int_equal(pthread_create(&thread, NULL, run_loop, loop), 0);
    while (jzx_processor_lookup(processor, JZX_PROCESSOR_INPUT) != JZX_REGISTERED_SYNC)
        (void)sched_yield(); /* the stage passes the Spawn */
    assert_int_equal(jzx_processor_enqueue(processor, 14, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_enqueue(processor, 15, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_process(processor), JZX_OK); /* this is tick 2 */
    wait_for_flush(3);
    while (jzx_processor_phase(processor) != JZX_PHASE_IDLE)
        (void)sched_yield();
    assert_memory_equal(order_of(processor), "3:14 ", 5);
    check_replay(loop, processor, &opts);
    unmake(processor);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_destroy(loop);
}

/* ---- replays that go otherwise ---- */

static jzx_processor *live_of(jzx_loop *loop) {
    memset(&s, 0, sizeof s);
    jzx_processor *live =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &root_actor, .trace = true, .record = true));
    assert_int_equal(jzx_processor_dispatch(live, SENDS_THREAD, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_dispatch(live, 3, NULL, 0), JZX_OK);
    s.is_replay = true;
    return live;
}

JZX_TEST(an_input_whose_place_is_not_reached_begins_a_tick, "X32") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *live = live_of(loop);
    assert_string_equal(order_of(live), "1:9 1:7 1:10 1:11 1:8 2:3 ");
    const jzx_recording recording = recording_of(live);
    jzx_processor *silent = make(loop, &JZX_PROCESSOR_OPTS(.root = &silent_actor, .trace = true));
    assert_int_equal(jzx_processor_replay(silent, &recording), JZX_OK);
    assert_string_equal(order_of(silent), "1:9 2:8 3:3 ");
    assert_true(jzx_test_runs() >= 9);
    unmake(silent);
    unmake(live);
    fixture_destroy(loop);
}

JZX_TEST(inputs_that_wait_come_before_those_of_a_replay, "X32", "A5") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *live = live_of(loop);
    const jzx_recording recording = recording_of(live);
    jzx_processor *other = make(loop, &JZX_PROCESSOR_OPTS(.root = &root_actor, .trace = true));
    assert_int_equal(jzx_processor_enqueue(other, 1, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_enqueue(other, 2, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_replay(other, &recording), JZX_OK);
    assert_string_equal(order_of(other), "1:1 1:2 1:10 1:11 1:20 2:9 2:7 2:10 2:11 2:8 3:3 ");
    assert_true(jzx_test_runs() >= 15);
    unmake(other);
    unmake(live);
    fixture_destroy(loop);
}

static jzx_recording recording_to_replay;

static void replay_in_handler(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state, (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_processor_replay(jzx_actions_processor(out), &recording_to_replay),
                  JZX_ERR_BUSY);
}

static const jzx_actor_factory replaying_actor =
    JZX_ACTOR_FACTORY(.type = "replaying", .handle = replay_in_handler);

JZX_TEST(a_processor_that_is_busy_takes_no_replay, "X32", "A11") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *live = live_of(loop);
    recording_to_replay = recording_of(live);
    jzx_processor *other = make(loop, &JZX_PROCESSOR_OPTS(.root = &replaying_actor, .trace = true));
    assert_int_equal(jzx_processor_dispatch(other, 1, NULL, 0), JZX_OK);
    assert_string_equal(order_of(other), "1:1 ");
    unmake(other);
    unmake(live);
    fixture_destroy(loop);
}

/* Each replay whose memory fails once says so, or the trace is the same. */
JZX_TEST(a_replay_without_memory_says_so_and_leaves_a_processor_that_works, "X32") {
    uint64_t failed = 0;
    bool is_ok = false;
    for (uint64_t after = 0; !is_ok && after < 100; after++) {
        jzx_loop *loop = fixture_loop();
        jzx_processor *live = live_of(loop);
        const jzx_recording recording = recording_of(live);
        jzx_processor *again =
            make(loop, &JZX_PROCESSOR_OPTS(.root = &root_actor, .trace = true, .record = true));
        fixture_fail_allocations(after, 1);
        jzx_err err = jzx_processor_replay(again, &recording);
        fixture_fail_allocations(UINT64_MAX, 0);
        const jzx_recording taken = recording_of(again);
        assert_true(taken.len <= recording.len);
        jzx_trace a = trace_of(live);
        jzx_trace b;
        assert_int_equal(jzx_processor_trace(again, &b), JZX_OK);
        is_ok = err == JZX_OK && !b.is_cut;
        if (is_ok)
            assert_true(jzx_trace_difference(&a, &b) == SIZE_MAX);
        else
            assert_true(err == JZX_ERR_NO_MEMORY || b.is_cut);
        failed += err == JZX_ERR_NO_MEMORY;
        size_t inputs = jzx_recording_count(&taken);
        assert_int_equal(jzx_processor_phase(again), JZX_PHASE_IDLE);
        jzx_err later = jzx_processor_dispatch(again, 3, NULL, 0);
        assert_true(later == JZX_OK || later == JZX_ERR_CLOSED); /* closed: its root was failed */
        const jzx_recording more = recording_of(again);
        assert_int_equal(jzx_recording_count(&more), inputs + (later == JZX_OK));
        unmake(again);
        unmake(live);
        fixture_destroy(loop);
    }
    assert_true(is_ok);
    assert_true(failed > 3);
}
