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

/* A replay follows the recording, and not the mode of its processor. */
static void check_program(uint64_t seed) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 4));
    jzx_processor *live =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &machine_actor, .trace = true, .record = true,
                                       .tick_per_input = seed % 2 != 0));
    struct feeder feeder = {.processor = live, .seed = seed};
    (void)fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = feed, .state = &feeder));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    jzx_recording recording;
    assert_int_equal(jzx_processor_recording(live, &recording), JZX_OK);
    size_t inputs = jzx_recording_count(&recording);
    assert_true(inputs >= 1);
    replayed_async += inputs - (inputs < 13 ? inputs : 13);
    jzx_processor *again =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &machine_actor, .trace = true, .record = true,
                                       .replay = true, .tick_per_input = seed / 2 % 2 != 0));
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
        bool is_whole = len >= 8 && (len - 8) % 59 == 0; /* an entry has 24 + 32 + 3 bytes */
        assert_int_equal(jzx_processor_replay(other, &cut),
                         is_whole ? JZX_OK : JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_recording_count(&cut), is_whole ? (len - 8) / 59 : 0);
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

/* ---- entries made by hand ---- */

struct tape {
    unsigned char bytes[512];
    size_t len;
};

static void put(struct tape *tape, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        tape->bytes[tape->len++] = (unsigned char)(value >> (8 * i));
}

/* The bytes of a Send to the root, with `more` behind it inside its entry; count says how many
 * actions the entry claims to have. */
static void put_entry(struct tape *tape, uint8_t kind, uint32_t tag, uint32_t count,
                      uint32_t more) {
    put(tape, 8 + 8 + 4 + 32 + 3 + more, 4);
    put(tape, JZX_PROCESSOR_NO_HANDLE, 8);
    put(tape, UINT64_MAX, 8); /* it begins a tick */
    put(tape, count, 4);
    put(tape, kind, 1);
    put(tape, 0, 3); /* stage, internal, frozen */
    put(tape, 0, 4); /* no error */
    put(tape, JZX_PROCESSOR_INTERNAL, 8);
    put(tape, JZX_PROCESSOR_INPUT, 8);
    put(tape, tag, 4);
    put(tape, 3, 4);
    put(tape, 0x636261, 3); /* abc */
    put(tape, 0, more);
}

static struct tape tape_of(uint8_t kind, uint32_t tag, uint32_t count, uint32_t more) {
    struct tape tape = {.len = 0};
    put(&tape, 0x0000000252585A4A, 8); /* JZXR, version 2 */
    put_entry(&tape, JZX_ACTION_SEND, 1, 1, 0);
    put_entry(&tape, kind, tag, count, more);
    return tape;
}

/* How many inputs it has; a replay carries all of them out, or nothing. */
static size_t replay_tape(const struct tape *tape) {
    jzx_loop *loop = fixture_loop();
    const jzx_recording recording = {.data = tape->bytes, .len = tape->len};
    jzx_processor *processor = make(loop, &JZX_PROCESSOR_OPTS(.root = &counter_actor));
    size_t count = jzx_recording_count(&recording);
    jzx_processor_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_processor_replay(processor, &recording),
                  count != 0 ? JZX_OK : JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_processor_stats_get(processor, &stats), JZX_OK);
    JZX_EXPECT_EQ(stats.ticks, 1 + count);
    unmake(processor);
    fixture_destroy(loop);
    return count;
}

JZX_TEST(a_recording_with_bytes_too_many_or_of_a_wrong_kind_is_refused, "X32") {
    struct tape tape = tape_of(JZX_ACTION_SEND, 1, 1, 0);
    assert_int_equal(replay_tape(&tape), 2);
    for (size_t i = 0; i < 8; i++) { /* another version, another head */
        tape.bytes[i] ^= 3;          /* version 1 as well */
        assert_int_equal(replay_tape(&tape), 0);
        tape.bytes[i] ^= 3;
    }
    for (uint32_t more = 1; more < 8; more++) { /* behind the last entry */
        struct tape longer = tape;
        put(&longer, 0, more);
        assert_int_equal(replay_tape(&longer), 0);
    }
    for (uint32_t more = 1; more < 8; more++) { /* in it, behind its actions */
        tape = tape_of(JZX_ACTION_SEND, 1, 1, more);
        assert_int_equal(replay_tape(&tape), 0);
    }
    tape = tape_of(JZX_ACTION_SEND, 1, 0, 0); /* none of its bytes is an action */
    assert_int_equal(replay_tape(&tape), 0);
    tape = tape_of(JZX_ACTION_SEND, 1, 2, 0); /* there is one */
    assert_int_equal(replay_tape(&tape), 0);
    for (uint32_t kind = 0; kind < 256; kind++) {
        tape = tape_of((uint8_t)kind, 1, 1, 0);
        bool is_known = kind >= JZX_ACTION_SEND && kind <= JZX_ACTION_TERMINATE;
        assert_int_equal(jzx_recording_count(&(jzx_recording){tape.bytes, tape.len}),
                         is_known ? 2 : 0);
        if (!is_known)
            assert_int_equal(replay_tape(&tape), 0);
    }
    /* Tags of the runtime: no program can send them, and a stage trusts what it gets with one. */
    tape = tape_of(JZX_ACTION_SEND, JZX_TAG_COMMAND, 1, 0);
    assert_int_equal(replay_tape(&tape), 0);
    tape = tape_of(JZX_ACTION_SEND, JZX_TAG_RESERVED - 1, 1, 0);
    assert_int_equal(replay_tape(&tape), 2);
}

/* ---- what async stages have passed ---- */

/* Counts each command that it sees, by a message of its own, and passes it. It tries to replace the
 * factory of a Spawn. */
static void pass_later(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    jzx_actions *out = jzx_inbox_actions(inbox);
    const jzx_action *msg;
    (void)state;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        jzx_action command = *(const jzx_action *)msg->data;
        if (command.kind == JZX_ACTION_SPAWN)
            command.factory = &machine_actor;
        JZX_EXPECT_EQ(jzx_actions_pass(out, &command), JZX_OK);
        JZX_EXPECT_EQ(jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, 1000, NULL, 0), JZX_OK);
    }
}

static const jzx_actor_factory later_stage = JZX_ACTOR_FACTORY(.type = "later", .run = pass_later);

static char types_seen[256];

/* A stage may look at the type of each Spawn of a handle that is reserved. */
static void note_type(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_action *command = msg->data;
    (void)state;
    if (command->kind == JZX_ACTION_SPAWN && JZX_EXPECT(command->factory != NULL)) {
        strncat(types_seen, command->factory->type, sizeof types_seen - strlen(types_seen) - 1);
        strncat(types_seen, " ", sizeof types_seen - strlen(types_seen) - 1);
    }
    JZX_EXPECT_EQ(jzx_actions_pass(out, command), JZX_OK);
}

static const jzx_actor_factory type_stage = JZX_ACTOR_FACTORY(.type = "types", .handle = note_type);

static void spawn_counter(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_processor_handle made;
    (void)state;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &counter_actor, NULL, 0, &made), JZX_OK);
    (void)jzx_actions_send(out, made, msg->tag, NULL, 0);
}

static const jzx_actor_factory maker_actor =
    JZX_ACTOR_FACTORY(.type = "maker", .handle = spawn_counter);

JZX_TEST(a_replay_goes_on_behind_each_async_stage_as_the_live_one_did, "X32", "A+mw") {
    const jzx_stage chains[][3] = {
        {{.factory = &later_stage}, {.factory = &type_stage}, {.factory = &type_stage}},
        {{.factory = &type_stage}, {.factory = &later_stage}, {.factory = &type_stage}},
        {{.factory = &later_stage}, {.factory = &type_stage}, {.factory = &later_stage}},
        {{.factory = &type_stage}, {.factory = &type_stage}, {.factory = &later_stage}}};
    for (size_t i = 0; i < 4; i++) {
        jzx_loop *loop = fixture_loop();
        char seen[sizeof types_seen];
        jzx_processor_opts opts =
            JZX_PROCESSOR_OPTS(.root = &maker_actor, .trace = true, .record = true,
                               .middleware = chains[i], .middleware_count = 3,
                               .middleware_size = sizeof chains[i][0]);
        types_seen[0] = '\0';
        jzx_processor *live = make(loop, &opts);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        for (uint32_t tag = 1; tag <= 3; tag++) {
            assert_int_equal(jzx_processor_dispatch(live, tag, NULL, 0), JZX_OK);
            assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        }
        memcpy(seen, types_seen, sizeof seen);
        jzx_recording recording;
        assert_int_equal(jzx_processor_recording(live, &recording), JZX_OK);
        opts.replay = true;
        types_seen[0] = '\0';
        jzx_processor *again = make(loop, &opts);
        assert_int_equal(jzx_processor_replay(again, &recording), JZX_OK);
        assert_string_equal(types_seen, seen);
        assert_true(strstr(seen, "maker counter ") != NULL ||
                    strstr(seen, "maker maker counter ") != NULL);
        assert_null(strstr(seen, "machine"));
        const jzx_trace a = trace_of(live);
        const jzx_trace b = trace_of(again);
        assert_true(jzx_trace_difference(&a, &b) == SIZE_MAX);
        jzx_recording second;
        assert_int_equal(jzx_processor_recording(again, &second), JZX_OK);
        assert_int_equal(second.len, recording.len);
        assert_memory_equal(second.data, recording.data, second.len);
        uint32_t outputs = 0;
        jzx_output *output;
        while (jzx_processor_try_next(live, &output) == JZX_OK) {
            outputs += output->tag != 1000;
            jzx_output_free(output);
        }
        assert_int_equal(outputs, 3); /* each counter was one */
        unmake(live);
        unmake(again);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        fixture_destroy(loop);
    }
    assert_true(jzx_test_runs() >= 24);
}

/* ---- room for ends ---- */

static void end_when_told(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_action *msg;
    (void)state;
    jzx_test_ran();
    (void)jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg);
}

static const jzx_actor_factory brief_actor =
    JZX_ACTOR_FACTORY(.type = "brief", .run = end_when_told);

enum { BRIEF = 3, CROWD = 200, ROUNDS = 20 };

static jzx_processor_handle brief[BRIEF];

/* 1 spawns the fibers, 2 ends them, 3 spawns and kills a crowd. */
static void rule_brief(void *state, const jzx_action *msg, jzx_actions *out) {
    jzx_processor_handle made;
    (void)state;
    for (uint32_t i = 0; msg->tag == 1 && i < BRIEF; i++)
        JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &brief_actor, NULL, 0, &brief[i]), JZX_OK);
    for (uint32_t i = 0; msg->tag == 2 && i < BRIEF; i++)
        (void)jzx_actions_send(out, brief[i], 2, NULL, 0);
    for (uint32_t i = 0; msg->tag == 3 && i < CROWD; i++) {
        JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &brief_actor, NULL, 0, &made), JZX_OK);
        (void)jzx_actions_kill(out, made);
    }
}

static const jzx_actor_factory brief_ruler =
    JZX_ACTOR_FACTORY(.type = "brief ruler", .handle = rule_brief);

/* However full the recording is by then: the ends of the fibers find their room. */
JZX_TEST(the_end_of_a_fiber_is_recorded_though_there_is_no_memory, "X32") {
    static const char data[200];
    for (size_t len = 0; len < sizeof data; len += 5) {
        jzx_loop *loop = fixture_loop();
        jzx_processor_opts opts =
            JZX_PROCESSOR_OPTS(.root = &brief_ruler, .trace = true, .record = true);
        jzx_processor *live = make(loop, &opts);
        for (uint32_t i = 0; i < 9; i++) /* the first 1024 bytes are used, or not quite */
            assert_int_equal(jzx_processor_dispatch(live, 0, data, len / 2), JZX_OK);
        assert_int_equal(jzx_processor_dispatch(live, 1, NULL, 0), JZX_OK);
        assert_int_equal(jzx_processor_dispatch(live, 0, data, len), JZX_OK);
        assert_int_equal(jzx_processor_dispatch(live, 2, NULL, 0), JZX_OK);
        fixture_fail_allocations(0, UINT64_MAX);
        (void)jzx_loop_step(loop, JZX_NEVER);
        fixture_fail_allocations(UINT64_MAX, 0);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        jzx_recording recording;
        assert_int_equal(jzx_processor_recording(live, &recording), JZX_OK);
        assert_int_equal(jzx_recording_count(&recording), 12 + BRIEF);
        for (uint32_t i = 0; i < BRIEF; i++)
            assert_int_equal(jzx_processor_lookup(live, brief[i]), JZX_REGISTERED_NONE);
        opts.replay = true;
        jzx_processor *again = make(loop, &opts);
        assert_int_equal(jzx_processor_replay(again, &recording), JZX_OK);
        for (uint32_t i = 0; i < BRIEF; i++)
            assert_int_equal(jzx_processor_lookup(again, brief[i]), JZX_REGISTERED_NONE);
        unmake(live);
        unmake(again);
        fixture_destroy(loop);
    }
    assert_int_equal(jzx_test_runs(), 40 * BRIEF);
}

/* Without fibers, whose stacks would be more: what an async actor has reserved is given back. */
JZX_TEST(async_actors_that_were_killed_leave_no_room_behind, "X32") {
    jzx_loop *loop = fixture_loop();
    jzx_processor *processor =
        make(loop, &JZX_PROCESSOR_OPTS(.root = &brief_ruler, .record = true, .replay = true));
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        assert_int_equal(jzx_processor_dispatch(processor, 3, NULL, 0), JZX_OK);
        if (i == 1)
            bytes = fixture_bytes();
    }
    assert_true(fixture_bytes() < bytes + ROUNDS * CROWD * 48 / 4);
    jzx_recording recording;
    assert_int_equal(jzx_processor_recording(processor, &recording), JZX_OK);
    assert_int_equal(jzx_recording_count(&recording), ROUNDS);
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
