/* SPDX-License-Identifier: MIT */
/* Recording the inputs of a processor and replaying them; memory that cannot be had. */
#include "processing.h"

/* ---- random programs ----
 *
 * Each actor is a machine whose next actions are a function of its state and the message: it sends
 * to actors that it knows, spawns sync and async ones, kills, fails, and dispatches. Async ones do
 * the same but for spawning, on their own fibers, after a few yields. */

enum { KNOWN = 6, LIFE = 24 };

struct machine {
    uint64_t seed;
    uint32_t left; /* messages that it still acts on */
    uint32_t known_count;
    jzx_processor_handle known[KNOWN];
};

static const jzx_actor_factory machine_actor;
static const jzx_actor_factory async_machine_actor;

static uint64_t next_random(uint64_t *seed) {
    uint64_t z = (*seed += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static jzx_err machine_create(void *state, jzx_processor_handle self, const void *config,
                              size_t len) {
    struct machine *machine = state;
    machine->seed = self * 77 + 1;
    machine->left = LIFE;
    machine->known[0] = JZX_PROCESSOR_OUTPUT;
    machine->known_count = 1;
    if (len == sizeof(jzx_processor_handle))
        memcpy(&machine->known[machine->known_count++], config, len);
    return JZX_OK;
}

static void machine_send(struct machine *machine, uint64_t draw, jzx_actions *out) {
    jzx_processor_handle to = machine->known[draw % machine->known_count];
    (void)jzx_actions_send(out, to, (uint32_t)(draw >> 8) % 1000, &draw, (draw >> 20) % 9);
}

static void machine_spawn(struct machine *machine, uint64_t draw, jzx_actions *out) {
    const jzx_processor_handle self = jzx_actions_self(out);
    jzx_processor_handle child;
    const jzx_actor_factory *factory = draw % 3 == 0 ? &async_machine_actor : &machine_actor;
    if (jzx_actions_spawn_new(out, factory, &self, sizeof self, &child) != JZX_OK)
        return;
    machine->known[machine->known_count % KNOWN] = child;
    machine->known_count += machine->known_count < KNOWN;
    (void)jzx_actions_send(out, child, (uint32_t)draw % 100, &draw, 8);
}

static void machine_act(struct machine *machine, const jzx_action *msg, jzx_actions *out,
                        bool is_sync) {
    if (machine->left == 0)
        return;
    machine->left--;
    machine->seed ^= msg->tag * 31u + msg->len;
    for (uint64_t count = next_random(&machine->seed) % 4; count != 0; count--) {
        uint64_t draw = next_random(&machine->seed);
        uint64_t what = (draw >> 40) % 20;
        if (what < 3 && is_sync)
            machine_spawn(machine, draw, out);
        else if (what == 3)
            (void)jzx_actions_kill(out, machine->known[draw % machine->known_count]);
        else if (what == 4)
            (void)jzx_actions_fail(out, machine->known[draw % machine->known_count],
                                   JZX_ERR_TIMEOUT);
        else if (what == 5 && is_sync)
            (void)jzx_processor_dispatch(jzx_actions_processor(out), (uint32_t)draw % 50, NULL, 0);
        else
            machine_send(machine, draw, out);
    }
}

static void machine_handle(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_test_ran();
    machine_act(state, msg, out, true);
}

static void machine_run(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    struct machine *machine = state;
    const jzx_action *msg;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        for (uint64_t i = msg->tag % 3; i != 0; i--)
            (void)jzx_yield(ctx);
        machine_act(machine, msg, jzx_inbox_actions(inbox), false);
        if (machine->left == LIFE / 2)
            (void)jzx_inbox_flush(inbox);
        if (msg->tag % 16 == 0)
            return; /* its end is an input, too */
    }
}

static const jzx_actor_factory machine_actor =
    JZX_ACTOR_FACTORY(.type = "machine", .state_size = sizeof(struct machine),
                      .create = machine_create, .handle = machine_handle);
static const jzx_actor_factory async_machine_actor =
    JZX_ACTOR_FACTORY(.type = "async", .state_size = sizeof(struct machine),
                      .create = machine_create, .run = machine_run,
                      .stack_size_bytes = JZX_STACK_SIZE_MIN * 2);

/* ---- record and replay ---- */

struct feeder {
    jzx_processor *processor;
    uint64_t seed;
};

/* Dispatches from inside the loop, between the turns of the async actors; then the end. */
static void feed(jzx_context *ctx) {
    struct feeder *feeder = ctx->state;
    for (int i = 0; i < 12; i++) {
        uint64_t draw = next_random(&feeder->seed);
        (void)jzx_processor_dispatch(feeder->processor, (uint32_t)draw % 100, &draw, draw % 9);
        (void)jzx_yield(ctx);
    }
    (void)jzx_processor_terminate(feeder->processor);
}

static uint64_t replayed_async; /* inputs of async actors that were replayed */

static void check_program(uint64_t seed) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 4));
    jzx_processor *live =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &machine_actor, .trace = true, .record = true));
    struct feeder feeder = {.processor = live, .seed = seed};
    (void)fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = feed, .state = &feeder));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_recording recording;
    assert_int_equal(jzx_processor_recording(live, &recording), JZX_OK);
    size_t inputs = jzx_recording_count(&recording);
    assert_true(inputs >= 1);
    replayed_async += inputs - (inputs < 13 ? inputs : 13);
    jzx_processor *again = make(loop, &JZX_PROCESSOR_OPTS(.root = &machine_actor, .trace = true,
                                                          .record = true, .replay = true));
    assert_int_equal(jzx_processor_replay(again, &recording), JZX_OK);
    const jzx_trace a = trace_of(live);
    const jzx_trace b = trace_of(again);
    size_t difference = jzx_trace_difference(&a, &b);
    if (difference != SIZE_MAX)
        print_error("seed %llu: step %zu of %zu and %zu\n", (unsigned long long)seed, difference,
                    a.count, b.count);
    assert_true(difference == SIZE_MAX);
    unmake(live);
    unmake(again);
    fixture_destroy(loop);
}

JZX_TEST(a_replay_of_random_programs_has_the_same_trace, "X32", "A1", "A23") {
    const uint64_t rounds = jzx_test_rounds(1000, 5000);
    for (uint64_t seed = 1; seed <= rounds; seed++)
        check_program(seed);
    assert_true(replayed_async > rounds); /* else it has shown little */
}

JZX_TEST(two_traces_print_the_same_bytes, "X32") {
    jzx_loop *loop = fixture_loop();
    char texts[2][4096];
    jzx_recording recording;
    jzx_processor *live =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &machine_actor, .trace = true, .record = true));
    for (uint32_t tag = 0; tag < 6; tag++)
        assert_int_equal(jzx_processor_dispatch(live, tag, "12345678", tag), JZX_OK);
    assert_int_equal(jzx_processor_recording(live, &recording), JZX_OK);
    assert_int_equal(jzx_recording_count(&recording), 6);
    jzx_processor *again =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &machine_actor, .trace = true, .replay = true));
    assert_int_equal(jzx_processor_replay(again, &recording), JZX_OK);
    const jzx_trace a = trace_of(live);
    const jzx_trace b = trace_of(again);
    size_t len = jzx_trace_print(&a, texts[0], sizeof texts[0]);
    assert_int_equal(jzx_trace_print(&b, texts[1], sizeof texts[1]), len);
    assert_string_equal(texts[0], texts[1]);
    assert_true(jzx_test_runs() >= 12);
    unmake(live);
    unmake(again);
    while (jzx_loop_alive(loop))
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_destroy(loop);
}

static void count_messages(void *state, const jzx_action *msg, jzx_actions *out) {
    uint64_t *count = state;
    ++*count;
    jzx_test_ran();
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag, count, sizeof *count);
}

static const jzx_actor_factory counter_actor =
    JZX_ACTOR_FACTORY(.type = "counter", .state_size = sizeof(uint64_t), .handle = count_messages);

JZX_TEST(a_cut_recording_undoes_the_last_inputs, "X32") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *live = make(loop, &JZX_PROCESSOR_OPTS(.root = &counter_actor, .record = true));
    for (uint32_t tag = 1; tag <= 5; tag++)
        assert_int_equal(jzx_processor_dispatch(live, tag, NULL, 0), JZX_OK);
    jzx_recording all;
    assert_int_equal(jzx_processor_recording(live, &all), JZX_OK);
    const jzx_recording some = jzx_recording_cut(&all, 3);
    assert_int_equal(jzx_recording_count(&some), 3);
    jzx_processor *undone = make(loop, &JZX_PROCESSOR_OPTS(.root = &counter_actor, .record = true));
    assert_int_equal(jzx_processor_replay(undone, &some), JZX_OK);
    for (uint32_t tag = 1; tag <= 3; tag++)
        check_output(undone, tag, &(uint64_t){tag}, sizeof(uint64_t));
    check_no_output(undone);
    assert_int_equal(jzx_processor_dispatch(undone, 9, NULL, 0), JZX_OK); /* it goes on */
    check_output(undone, 9, &(uint64_t){4}, sizeof(uint64_t));
    jzx_recording second;
    assert_int_equal(jzx_processor_recording(undone, &second), JZX_OK);
    assert_int_equal(jzx_recording_count(&second), 4);
    assert_memory_equal(second.data, all.data, some.len);
    unmake(live);
    unmake(undone);
    fixture_destroy(loop);
}

JZX_TEST(a_recording_that_is_not_well_formed_is_refused, "X32") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &counter_actor, .record = true));
    unsigned char bytes[512];
    jzx_recording recording;
    for (uint32_t tag = 1; tag <= 3; tag++)
        assert_int_equal(jzx_processor_dispatch(processor, tag, "abc", 3), JZX_OK);
    assert_int_equal(jzx_processor_recording(processor, &recording), JZX_OK);
    assert_true(recording.len <= sizeof bytes);
    memcpy(bytes, recording.data, recording.len);
    for (size_t len = 0; len < recording.len; len++) {
        const jzx_recording cut = {.data = bytes, .len = len};
        jzx_processor *other = make(loop, &JZX_PROCESSOR_OPTS(.root = &counter_actor));
        bool is_whole = len >= 8 && (len - 8) % 51 == 0; /* an entry has 16 + 32 + 3 bytes */
        assert_int_equal(jzx_processor_replay(other, &cut),
                         is_whole ? JZX_OK : JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_recording_count(&cut), is_whole ? (len - 8) / 51 : 0);
        unmake(other);
    }
    for (size_t i = 0; i < recording.len; i++) { /* whatever it says, it breaks nothing */
        const jzx_recording changed = {.data = bytes, .len = recording.len};
        jzx_processor *other = make(loop, &JZX_PROCESSOR_OPTS(.root = &counter_actor));
        bytes[i] ^= 0xFF;
        (void)jzx_processor_replay(other, &changed);
        bytes[i] ^= 0xFF;
        unmake(other);
    }
    unmake(processor);
    fixture_destroy(loop);
}

/* ---- memory ---- */

/* Everything once; true if all of it succeeded. */
static bool try_all(jzx_loop *loop) {
    jzx_processor *processor;
    jzx_future *future = NULL;
    jzx_err err = jzx_processor_create(
        loop, &JZX_PROCESSOR_OPTS(.root = &machine_actor, .trace = true, .record = true),
        &processor);
    if (err != JZX_OK) {
        JZX_EXPECT_EQ(err, JZX_ERR_NO_MEMORY);
        return false;
    }
    bool is_ok = true;
    for (uint32_t tag = 0; tag < 30; tag++) {
        err = jzx_processor_dispatch(processor, tag, &tag, sizeof tag);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY || err == JZX_ERR_CLOSED);
        is_ok = is_ok && err != JZX_ERR_NO_MEMORY;
        (void)jzx_loop_step(loop, JZX_NEVER);
    }
    err = jzx_processor_next_async(processor, &future);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
    is_ok = is_ok && err == JZX_OK;
    jzx_future_release(future);
    jzx_trace trace;
    JZX_EXPECT_EQ(jzx_processor_trace(processor, &trace), JZX_OK);
    is_ok = is_ok && !trace.is_cut;
    jzx_processor_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_processor_stats_get(processor, &stats), JZX_OK);
    is_ok = is_ok && stats.lost == 0;
    JZX_EXPECT_EQ(jzx_processor_destroy(processor), JZX_OK);
    while (jzx_loop_alive(loop))
        (void)jzx_loop_step(loop, JZX_NEVER);
    return is_ok;
}

JZX_TEST(a_processor_without_memory_leaks_nothing_and_says_so) {
    uint64_t failed = 0;
    bool is_ok = false;
    for (uint64_t after = 0; !is_ok && after < 4000; after++) {
        jzx_loop *loop = fixture_loop();
        fixture_fail_allocations(after, 1);
        is_ok = try_all(loop);
        fixture_fail_allocations(UINT64_MAX, 0);
        failed += !is_ok;
        fixture_destroy(loop);
    }
    assert_true(is_ok);
    assert_true(failed > 20);
}
