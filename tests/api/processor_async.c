/* SPDX-License-Identifier: MIT */
/* Async actors of the command processor, the ways to wait for output, and actors that come with
 * the library. */
#include "processing.h"
#include "timing.h"

#include <pthread.h>

enum { WORK = 1, DONE = 2, SYNC = 3, FAILED = 4, KILL = 5 };

/* ---- an async actor, beside a sync one ---- */

static void work(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const struct relay *self = state;
    const jzx_action *msg;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        uint64_t ns;
        jzx_test_ran();
        memcpy(&ns, msg->data, sizeof ns);
        JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, ns)), JZX_OK);
        jzx_actions *out = jzx_inbox_actions(inbox);
        jzx_processor_handle handle;
        JZX_EXPECT_EQ(jzx_actions_reserve(out, NULL, NULL, 0, &handle), JZX_ERR_INVALID_STATE);
        JZX_EXPECT_EQ(jzx_actions_spawn(out, 5), JZX_ERR_INVALID_STATE);
        JZX_EXPECT_EQ(jzx_actions_send(out, self->to, DONE, &ns, sizeof ns), JZX_OK);
    }
}

static const jzx_actor_factory worker_actor =
    JZX_ACTOR_FACTORY(.type = "worker", .state_size = sizeof(struct relay), .create = relay_create,
                      .run = work);

static jzx_processor_handle worker_handle;

static void office_init(void *state, jzx_actions *out) {
    const jzx_processor_handle self = jzx_actions_self(out);
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &worker_actor, &self, sizeof self, &worker_handle),
                  JZX_OK);
}

static void office(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    jzx_test_ran();
    if (msg->tag == WORK)
        (void)jzx_actions_send(out, worker_handle, WORK, msg->data, msg->len);
    else if (msg->tag == KILL)
        (void)jzx_actions_kill(out, worker_handle);
    else
        (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag, msg->data, msg->len);
}

static const jzx_actor_factory office_actor =
    JZX_ACTOR_FACTORY(.type = "office", .init = office_init, .handle = office);

JZX_TEST(an_async_actor_is_heard_in_a_later_tick_and_delays_nobody, "A16", "A17", "A18", "A19",
         "A20", "A21", "A2", "A+act") {
    struct timing timing = timing_open();
    jzx_processor *processor =
        make(timing.loop, &JZX_PROCESSOR_OPTS(.root = &office_actor, .trace = true));
    assert_int_equal(jzx_processor_lookup(processor, worker_handle), JZX_REGISTERED_ASYNC);
    assert_int_equal(jzx_processor_lookup(processor, JZX_PROCESSOR_INPUT), JZX_REGISTERED_SYNC);
    const uint64_t second = JZX_SECOND(1);
    assert_int_equal(jzx_processor_dispatch(processor, WORK, &second, sizeof second), JZX_OK);
    timing_step(&timing); /* the fiber sleeps for a second */
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(jzx_processor_dispatch(processor, SYNC, &i, sizeof i), JZX_OK);
        check_output(processor, SYNC, &i, sizeof i);
    }
    timing_advance(&timing, JZX_MS(999));
    timing_step(&timing);
    check_no_output(processor);
    timing_advance(&timing, JZX_MS(10));
    timing_step(&timing);
    check_output(processor, DONE, &second, sizeof second);
    /* Two ticks: the one that has sent, and the one of what came back. */
    const jzx_trace trace = trace_of(processor);
    uint64_t sent = 0;
    uint64_t heard = 0;
    for (size_t i = 0; i < trace.count; i++) {
        if (trace.steps[i].action.target == worker_handle && trace.steps[i].action.tag == WORK)
            sent = trace.steps[i].tick;
        if (trace.steps[i].action.source == worker_handle)
            heard = trace.steps[i].tick;
    }
    assert_int_equal(sent, 1);
    assert_int_equal(heard, 12);
    unmake(processor);
    timing_step(&timing);
    timing_close(&timing);
}

JZX_TEST(a_killed_async_actor_is_heard_no_more, "A+kill") {
    struct timing timing = timing_open();
    jzx_processor *processor = make(timing.loop, &JZX_PROCESSOR_OPTS(.root = &office_actor));
    const uint64_t second = JZX_SECOND(1);
    assert_int_equal(jzx_processor_dispatch(processor, WORK, &second, sizeof second), JZX_OK);
    timing_step(&timing);
    assert_int_equal(jzx_processor_dispatch(processor, KILL, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_lookup(processor, worker_handle), JZX_REGISTERED_NONE);
    assert_int_equal(jzx_processor_dispatch(processor, WORK, &second, sizeof second), JZX_OK);
    timing_step(&timing);
    timing_advance(&timing, JZX_SECOND(3));
    timing_step(&timing);
    check_no_output(processor);
    assert_int_equal(jzx_test_runs(), 4);      /* the office three times, the worker once */
    assert_false(jzx_loop_alive(timing.loop)); /* its fiber has ended */
    unmake(processor);
    timing_close(&timing);
}

/* ---- ends of a fiber ---- */

static void stop_at_once(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const struct relay *self = state;
    (void)ctx;
    jzx_test_ran();
    (void)jzx_actions_send(jzx_inbox_actions(inbox), self->to, DONE, NULL, 0);
}

static const jzx_actor_factory brief_actor =
    JZX_ACTOR_FACTORY(.type = "brief", .state_size = sizeof(struct relay), .create = relay_create,
                      .run = stop_at_once);

JZX_TEST(the_end_of_a_fiber_is_the_end_of_its_actor, "A17", "A+term") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &brief_actor, .trace = true));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    check_output(processor, DONE, NULL, 0);
    jzx_output *output;
    assert_int_equal(jzx_processor_try_next(processor, &output), JZX_ERR_CLOSED);
    const jzx_trace trace = trace_of(processor);
    assert_int_equal(trace.count, 4);
    check_step(&trace.steps[2], JZX_ACTION_KILL, JZX_PROCESSOR_INPUT, JZX_PROCESSOR_INPUT);
    unmake(processor);
    fixture_destroy(loop);
}

static void exit_badly(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    (void)state;
    (void)inbox;
    jzx_test_ran();
    jzx_exit(ctx, JZX_EXIT_FAIL, "no luck");
}

static const jzx_actor_factory bad_actor = JZX_ACTOR_FACTORY(.type = "bad", .run = exit_badly);

JZX_TEST(a_fiber_that_fails_is_a_fail_of_its_actor, "A+kill", "A+act") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &bad_actor, .trace = true));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    const jzx_trace trace = trace_of(processor);
    assert_int_equal(trace.count, 3);
    check_step(&trace.steps[1], JZX_ACTION_FAIL, JZX_PROCESSOR_INPUT, JZX_PROCESSOR_INPUT);
    assert_int_equal(trace.steps[1].action.error, JZX_ERR_FAILED);
    check_step(&trace.steps[2], JZX_ACTION_TERMINATE, JZX_PROCESSOR_NO_HANDLE,
               JZX_PROCESSOR_NO_HANDLE);
    unmake(processor);
    fixture_destroy(loop);
}

JZX_TEST(the_end_of_a_loop_ends_its_async_actors, "A+kill") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &office_actor, .trace = true));
    const uint64_t hour = JZX_SECOND(3600);
    assert_int_equal(jzx_processor_dispatch(processor, WORK, &hour, sizeof hour), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_test_runs(), 2); /* the worker sleeps */
    fixture_destroy(loop);
    assert_int_equal(jzx_processor_lookup(processor, worker_handle), JZX_REGISTERED_NONE);
    assert_int_equal(jzx_processor_dispatch(processor, SYNC, NULL, 0), JZX_OK); /* sync goes on */
    check_output(processor, SYNC, NULL, 0);
    unmake(processor);
}

/* ---- the ways to wait ---- */

static void echo(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag, msg->data, msg->len);
}

static const jzx_actor_factory echo_actor = JZX_ACTOR_FACTORY(.type = "echo", .handle = echo);

static struct {
    jzx_processor *processor;
    uint32_t tags[16];
    jzx_err errs[16];
    uint32_t count;
    jzx_op op;
} waits;

static void read_in_fiber(jzx_context *ctx) {
    jzx_output *output;
    jzx_err err = JZX_OK;
    while (err == JZX_OK && waits.count < 16) {
        output = NULL;
        err = jzx_processor_next(ctx, waits.processor, JZX_NEVER, &output);
        waits.errs[waits.count] = err;
        waits.tags[waits.count++] = output == NULL ? 0 : output->tag;
        jzx_output_free(output);
    }
}

JZX_TEST(a_fiber_waits_for_output_in_the_order_it_was_sent, "A7", "A22", "A+queue") {
    jzx_loop *loop = fixture_loop();
    memset(&waits, 0, sizeof waits);
    waits.processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor));
    (void)fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = read_in_fiber));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_processor_output_state(waits.processor), JZX_OUTPUT_AWAITS_VALUES);
    assert_int_equal(jzx_processor_destroy(waits.processor), JZX_ERR_BUSY);
    for (uint32_t tag = 1; tag <= 5; tag++)
        assert_int_equal(jzx_processor_dispatch(waits.processor, tag, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_terminate(waits.processor), JZX_OK);
    assert_int_equal(jzx_processor_dispatch(waits.processor, 9, NULL, 0), JZX_ERR_CLOSED);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(waits.count, 6);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(waits.tags[i], i + 1);
    assert_int_equal(waits.errs[5], JZX_ERR_CLOSED);
    unmake(waits.processor);
    fixture_destroy(loop);
}

enum { ASK = 1, OUTPUT = 2, CANCEL = 3 };

static jzx_behavior_result read_as_messages(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == ASK) {
        JZX_EXPECT_EQ(jzx_processor_next_to(ctx, waits.processor, OUTPUT, &waits.op), JZX_OK);
    } else if (msg->tag == CANCEL) {
        JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, waits.op), JZX_OK);
    } else if (msg->tag == OUTPUT) {
        const jzx_result *result = msg->data;
        jzx_output *output = jzx_processor_output_of(msg);
        JZX_EXPECT_EQ(result->op, waits.op);
        JZX_EXPECT(jzx_processor_output_of(msg) == NULL);
        waits.errs[waits.count] = (jzx_err)result->err;
        waits.tags[waits.count++] = output == NULL ? 0 : output->tag;
        jzx_output_free(output);
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_gets_output_as_messages, "A7", "A22") {
    jzx_loop *loop = fixture_loop();
    memset(&waits, 0, sizeof waits);
    waits.processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor));
    jzx_actor_id reader =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = read_as_messages, .daemon = true));
    fixture_send(loop, reader, ASK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(waits.count, 0);
    assert_int_equal(jzx_processor_dispatch(waits.processor, 11, "x", 1), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(waits.count, 1);
    assert_int_equal(waits.tags[0], 11);
    /* One that is cancelled has taken nothing. */
    fixture_send(loop, reader, ASK);
    fixture_send(loop, reader, CANCEL);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(waits.errs[1], JZX_ERR_CANCELLED);
    assert_int_equal(jzx_processor_dispatch(waits.processor, 12, NULL, 0), JZX_OK);
    fixture_send(loop, reader, ASK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(waits.tags[2], 12);
    /* One whose actor ends has taken nothing, or frees what it has. */
    fixture_send(loop, reader, ASK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_processor_dispatch(waits.processor, 13, "leak", 4), JZX_OK);
    assert_int_equal(jzx_actor_stop(loop, reader, JZX_STOP_KILL), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(waits.count, 3);
    reader = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = read_as_messages, .daemon = true));
    fixture_send(loop, reader, ASK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_processor_terminate(waits.processor), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(waits.errs[3], JZX_ERR_CLOSED);
    unmake(waits.processor);
    fixture_destroy(loop);
}

JZX_TEST(a_future_has_the_next_output, "A7", "A22") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor));
    jzx_future *futures[4];
    for (int i = 0; i < 3; i++)
        assert_int_equal(jzx_processor_next_async(processor, &futures[i]), JZX_OK);
    jzx_future_release(futures[1]); /* it has taken nothing */
    assert_int_equal(jzx_processor_dispatch(processor, 1, "a", 1), JZX_OK);
    assert_int_equal(jzx_processor_dispatch(processor, 2, "b", 1), JZX_OK);
    assert_int_equal(jzx_future_state(futures[0]), JZX_FUTURE_RESOLVED);
    assert_int_equal(jzx_future_state(futures[2]), JZX_FUTURE_RESOLVED);
    jzx_output *output = jzx_future_take(futures[2]);
    assert_non_null(output);
    assert_int_equal(output->tag, 2);
    jzx_output_free(output);
    jzx_future_release(futures[0]); /* unread: freed with it */
    jzx_future_release(futures[2]);
    assert_int_equal(jzx_processor_dispatch(processor, 3, NULL, 0), JZX_OK);
    assert_int_equal(jzx_processor_next_async(processor, &futures[0]), JZX_OK); /* there already */
    output = jzx_future_take(futures[0]);
    assert_int_equal(output->tag, 3);
    jzx_output_free(output);
    jzx_future_release(futures[0]);
    assert_int_equal(jzx_processor_next_async(processor, &futures[0]), JZX_OK);
    assert_int_equal(jzx_processor_next_async(processor, &futures[1]), JZX_OK);
    jzx_future_cancel(futures[1]);
    assert_int_equal(jzx_future_error(futures[1], NULL), JZX_ERR_CANCELLED);
    assert_int_equal(jzx_processor_terminate(processor), JZX_OK);
    assert_int_equal(jzx_future_error(futures[0], NULL), JZX_ERR_CLOSED);
    jzx_future_release(futures[0]);
    jzx_future_release(futures[1]);
    unmake(processor);
    fixture_destroy(loop);
}

static void *dispatch_from_thread(void *arg) {
    for (uint32_t tag = 1; tag <= 3; tag++)
        JZX_EXPECT_EQ(jzx_processor_dispatch(arg, tag, NULL, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_processor_terminate(arg), JZX_OK);
    return NULL;
}

JZX_TEST(a_thread_blocks_for_output, "A7", "A22") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &echo_actor));
    pthread_t thread;
    jzx_output *output;
    assert_int_equal(jzx_processor_next_wait(processor, 0, &output), JZX_ERR_TIMEOUT);
    assert_int_equal(pthread_create(&thread, NULL, dispatch_from_thread, processor), 0);
    for (uint32_t tag = 1; tag <= 3; tag++) {
        assert_int_equal(jzx_processor_next_wait(processor, JZX_NEVER, &output), JZX_OK);
        assert_int_equal(output->tag, tag);
        jzx_output_free(output);
    }
    assert_int_equal(jzx_processor_next_wait(processor, JZX_NEVER, &output), JZX_ERR_CLOSED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- the actors of the library ---- */

static jzx_message twice(void *arg, const jzx_message *msg) {
    static uint32_t made;
    (void)arg;
    jzx_test_ran();
    memcpy(&made, msg->data, sizeof made);
    made *= 2;
    return (jzx_message){.data = &made, .len = sizeof made, .tag = msg->tag};
}

static bool is_even(void *arg, const jzx_message *msg) {
    uint32_t number;
    (void)arg;
    memcpy(&number, msg->data, sizeof number);
    return number % 2 == 0;
}

static void count_up(void *arg, const jzx_message *msg, jzx_processor_handle to, jzx_actions *out) {
    uint32_t number;
    (void)arg;
    memcpy(&number, msg->data, sizeof number);
    for (uint32_t i = 0; i < number; i++)
        (void)jzx_actions_send(out, to, msg->tag, &i, sizeof i);
}

static jzx_message sum_up(void *arg, void *total, const jzx_message *msg) {
    uint32_t number;
    uint32_t sum;
    (void)arg;
    memcpy(&number, msg->data, sizeof number);
    memcpy(&sum, total, sizeof sum);
    sum += number;
    memcpy(total, &sum, sizeof sum);
    return (jzx_message){.data = total, .len = sizeof sum, .tag = msg->tag};
}

static jzx_processor_handle flow_head;

static void flow_init(void *state, jzx_actions *out) {
    const jzx_processor_handle both[] = {JZX_PROCESSOR_OUTPUT, JZX_PROCESSOR_OUTPUT};
    jzx_processor_handle broadcast;
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &jzx_broadcast_actor, both, sizeof both, &broadcast),
                  JZX_OK);
    const jzx_flat_map_config flat_map = {.fn = count_up};
    const jzx_filter_config filter = {.fn = is_even};
    const jzx_map_config map = {.fn = twice};
    const jzx_scan_config scan = {.fn = sum_up};
    const jzx_stage stages[] = {{&jzx_flat_map_actor, &flat_map, sizeof flat_map},
                                {&jzx_filter_actor, &filter, sizeof filter},
                                {&jzx_map_actor, &map, sizeof map},
                                {&jzx_scan_actor, &scan, sizeof scan}};
    JZX_EXPECT_EQ(jzx_actions_flow(out, JZX_STAGES(stages), broadcast, &flow_head), JZX_OK);
    jzx_processor_handle none;
    JZX_EXPECT_EQ(jzx_actions_flow(out, stages, 0, sizeof stages[0], broadcast, &none), JZX_OK);
    JZX_EXPECT_EQ(none, broadcast);
}

static void flow_in(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    (void)jzx_actions_send(out, flow_head, msg->tag, msg->data, msg->len);
}

static const jzx_actor_factory flow_actor =
    JZX_ACTOR_FACTORY(.type = "flow", .init = flow_init, .handle = flow_in);

JZX_TEST(a_flow_maps_filters_flattens_scans_and_broadcasts, "A+util") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &flow_actor));
    const uint32_t six = 6;
    assert_int_equal(jzx_processor_dispatch(processor, 1, &six, sizeof six), JZX_OK);
    const uint32_t sums[] = {0, 0, 4, 4, 12, 12}; /* 0 2 4, times 2, added up, twice */
    for (int i = 0; i < 6; i++)
        check_output(processor, 1, &sums[i], sizeof sums[i]);
    check_no_output(processor);
    assert_int_equal(jzx_test_runs(), 3);
    unmake(processor);
    fixture_destroy(loop);
}

struct add_up {
    uint32_t number;
    jzx_await_op wait;
};

JZX_ASYNC(add_up, struct add_up, uint32_t) {
    JZX_AWAIT(jzx_op_sleep(&self->wait, jzx_in(ctx, JZX_MS(5))), NULL);
    if (self->number == 0)
        JZX_FAIL(JZX_ERR_TIMEOUT, "nothing to add");
    JZX_RETURN(self->number + 1);
}
JZX_END

static jzx_future *start_add_up(void *arg, jzx_loop *loop, const jzx_message *msg) {
    struct add_up state = {.number = 0};
    jzx_future *future = NULL;
    (void)arg;
    jzx_test_ran();
    memcpy(&state.number, msg->data, sizeof state.number);
    return add_up_spawn(loop, state, &future) == JZX_OK ? future : NULL;
}

static void ask_future(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_future_config config = {
        .to = JZX_PROCESSOR_OUTPUT, .start = start_add_up, .tag = DONE, .error_tag = FAILED};
    jzx_processor_handle child;
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &jzx_future_actor, &config, sizeof config, &child),
                  JZX_OK);
    (void)jzx_actions_send(out, child, 0, msg->data, msg->len);
}

static const jzx_actor_factory asker_actor =
    JZX_ACTOR_FACTORY(.type = "asker", .handle = ask_future);

JZX_TEST(an_async_function_is_an_actor_that_kills_itself, "A+util", "A17") {
    struct timing timing = timing_open();
    jzx_processor *processor =
        make(timing.loop, &JZX_PROCESSOR_OPTS(.root = &asker_actor, .trace = true));
    const uint32_t numbers[] = {41, 0};
    for (int i = 0; i < 2; i++)
        assert_int_equal(jzx_processor_dispatch(processor, 1, &numbers[i], sizeof numbers[i]),
                         JZX_OK);
    for (int i = 0; i < 10; i++) {
        timing_step(&timing);
        timing_advance(&timing, JZX_MS(1));
    }
    timing_step(&timing);
    jzx_processor_stats stats = {.size = sizeof stats};
    assert_int_equal(jzx_processor_stats_get(processor, &stats), JZX_OK);
    assert_int_equal(stats.actors, 1); /* the root is left */
    const uint32_t sum = 42;
    const jzx_err err = JZX_ERR_TIMEOUT;
    jzx_output *output;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(jzx_processor_try_next(processor, &output), JZX_OK);
        if (output->tag == DONE)
            assert_memory_equal(output->data, &sum, sizeof sum);
        else
            assert_memory_equal(output->data, &err, sizeof err);
        jzx_output_free(output);
    }
    const jzx_trace trace = trace_of(processor);
    assert_int_equal(trace.steps[trace.count - 1].action.kind, JZX_ACTION_KILL);
    unmake(processor);
    timing_close(&timing);
}

/* Makes 10 * number + index, one every 10 ms, three in all. */
static jzx_err iterate(jzx_context *ctx, void *arg, void *scratch, const jzx_message *msg,
                       uint64_t index, jzx_message *item) {
    uint32_t number;
    (void)arg;
    if (index == 3)
        return JZX_ERR_CLOSED;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(10))), JZX_OK);
    memcpy(&number, msg->data, sizeof number);
    number = 10 * number + (uint32_t)index;
    memcpy(scratch, &number, sizeof number);
    *item = (jzx_message){.data = scratch, .len = sizeof number, .tag = DONE};
    return JZX_OK;
}

static jzx_processor_handle iterator_handle;

static void switch_init(void *state, jzx_actions *out) {
    const jzx_iterator_config config = {.to = JZX_PROCESSOR_OUTPUT, .fn = iterate};
    (void)state;
    JZX_EXPECT_EQ(
        jzx_actions_spawn_new(out, &jzx_iterator_actor, &config, sizeof config, &iterator_handle),
        JZX_OK);
}

static void switch_in(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    (void)jzx_actions_send(out, iterator_handle, msg->tag, msg->data, msg->len);
}

static const jzx_actor_factory switch_actor =
    JZX_ACTOR_FACTORY(.type = "switch", .init = switch_init, .handle = switch_in);

static void advance_by_ms(struct timing *timing, int ms) {
    for (int i = 0; i < ms; i++) {
        timing_advance(timing, JZX_MS(1));
        timing_step(timing);
    }
}

JZX_TEST(a_new_input_of_an_iterator_abandons_the_old_work, "A+util") {
    struct timing timing = timing_open();
    jzx_processor *processor = make(timing.loop, &JZX_PROCESSOR_OPTS(.root = &switch_actor));
    const uint32_t numbers[] = {1, 2};
    const uint32_t items[] = {10, 20, 21, 22};
    assert_int_equal(jzx_processor_dispatch(processor, 1, &numbers[0], 4), JZX_OK);
    timing_step(&timing);
    advance_by_ms(&timing, 15);
    assert_int_equal(jzx_processor_dispatch(processor, 1, &numbers[1], 4), JZX_OK);
    timing_step(&timing);
    advance_by_ms(&timing, 50);
    for (int i = 0; i < 4; i++)
        check_output(processor, DONE, &items[i], sizeof items[i]);
    check_no_output(processor);
    assert_int_equal(jzx_test_runs(), 5); /* 1 twice, 2 three times */
    assert_int_equal(jzx_processor_dispatch(processor, 1, &numbers[0], 4), JZX_OK);
    timing_step(&timing);
    assert_int_equal(jzx_processor_terminate(processor), JZX_OK); /* with its worker */
    timing_step(&timing);
    assert_false(jzx_loop_alive(timing.loop));
    unmake(processor);
    timing_close(&timing);
}
