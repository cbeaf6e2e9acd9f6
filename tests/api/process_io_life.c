/* SPDX-License-Identifier: MIT */
/* Commands of sockets and files: several at once, the end and the upgrade of their process, and
 * allocations that fail. */
#include "filing.h"
#include "scripting.h"

#include <jzx/loop.h>

#include <sched.h>

static void yield_read(jzx_step_out *out, uint64_t tag, jzx_stream stream, size_t len) {
    const jzx_command_socket_read arg = {.stream = stream, .len = len};
    JZX_EXPECT_EQ(jzx_out_yield(out, tag, JZX_COMMAND_SOCKET_READ, &arg, sizeof arg), JZX_OK);
}

static void yield_write(jzx_step_out *out, uint64_t tag, jzx_stream stream, const char *text) {
    const jzx_command_socket_write arg = {stream, text, strlen(text)};
    JZX_EXPECT_EQ(jzx_out_yield(out, tag, JZX_COMMAND_SOCKET_WRITE, &arg, sizeof arg), JZX_OK);
}

static void make_pairs(jzx_context *ctx, struct script *script, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        JZX_EXPECT_EQ(jzx_unix_pair(ctx, NULL, script->pairs[i]), JZX_OK);
}

/* ---- several at once ---- */

/* Reads from three streams, and then writes to one after the other, in the order of the test. */
static jzx_err read_three(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    static const char *const texts[] = {"one", "two", "three"};
    uint32_t *reads = &script->numbers[3];
    if (script->steps == 1) {
        make_pairs(ctx, script, 3);
        for (uint32_t i = 0; i < 3; i++)
            yield_read(out, i, script->pairs[i][0], 40);
        jzx_out_continue(out);
        return JZX_OK;
    }
    *reads = 0;
    for (uint32_t i = 0; i < script->count; i++)
        *reads += script->seen[i].tag < 3;
    if (*reads == 3)
        return script->count == 6 ? jzx_out_done(out, NULL, 0) : JZX_OK;
    uint32_t next = script->numbers[*reads];
    if (script->count == 2 * *reads) /* the write before is through as well */
        yield_write(out, 10 + next, script->pairs[next][1], texts[next]);
    return JZX_OK;
}

JZX_TEST(commands_under_way_complete_by_their_tags_in_any_order, "D+reg", "D17") {
    static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const texts[] = {"one", "two", "three"};
    for (uint32_t k = 0; k < 6; k++) {
        struct script script = {.plan = read_three};
        memcpy(script.numbers, orders[k], sizeof orders[k]);
        run_script(&script);
        uint32_t reads = 0;
        for (uint32_t i = 0; i < script.count; i++) {
            if (script.seen[i].tag < 3) {
                uint32_t wanted = orders[k][reads++];
                expect_seen(&script, i, wanted, JZX_OK, texts[wanted]);
            }
        }
        JZX_EXPECT_EQ(reads, 3);
        JZX_EXPECT_EQ(script.count, 6);
    }
}

/* More at once than the first table has room for, closed by the last of them. */
static jzx_err read_many(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    if (script->steps == 1) {
        const jzx_command_socket_listen at = {.address = "127.0.0.1:0"};
        return jzx_out_yield(out, 0, JZX_COMMAND_SOCKET_LISTEN, &at, sizeof at);
    }
    if (script->steps == 2) {
        script->listener = handle_of(&script->seen[0]);
        for (uint64_t tag = 1; tag <= 40; tag++)
            JZX_EXPECT_EQ(jzx_out_yield(out, tag, JZX_COMMAND_SOCKET_ACCEPT, &script->listener,
                                        sizeof script->listener),
                          JZX_OK);
        return jzx_out_yield(out, 41, JZX_COMMAND_SOCKET_CLOSE, &script->listener,
                             sizeof script->listener);
    }
    (void)ctx;
    return script->count == 42 ? jzx_out_done(out, NULL, 0) : JZX_OK;
}

JZX_TEST(a_close_completes_all_commands_that_wait_for_its_socket, "D+reg") {
    struct script script = {.plan = read_many};
    uint64_t tags = 0;
    run_script(&script);
    JZX_EXPECT_EQ(script.count, 42);
    for (uint32_t i = 1; i < script.count; i++) {
        bool is_close = script.seen[i].tag == 41;
        JZX_EXPECT_EQ(script.seen[i].error, is_close ? JZX_OK : JZX_ERR_CLOSED);
        tags |= UINT64_C(1) << script.seen[i].tag;
    }
    JZX_EXPECT_EQ(tags, (UINT64_C(1) << 42) - 2);
}

/* ---- operations of its own, and handlers that use those of the library ---- */

/* The second and third tag are those that the library uses for the first two commands. */
static jzx_err begin_own_reads(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    if (script->steps == 1) {
        make_pairs(ctx, script, 3);
        yield_read(out, 7, script->pairs[0][0], 40);
        JZX_EXPECT_EQ(jzx_stream_read_to(ctx, script->pairs[1][0], 40, 1, NULL), JZX_OK);
        JZX_EXPECT_EQ(jzx_stream_read_to(ctx, script->pairs[2][0], 40, 2, NULL), JZX_OK);
        for (uint32_t i = 0; i < 3; i++)
            JZX_EXPECT_EQ(jzx_stream_send(ctx, script->pairs[i][1], "text", 4), JZX_OK);
    }
    return script->count + script->messages == 3 ? jzx_out_done(out, NULL, 0) : JZX_OK;
}

JZX_TEST(operations_that_a_process_begins_itself_are_messages, "D+reg", "D4") {
    struct script script = {.plan = begin_own_reads};
    run_script(&script);
    JZX_EXPECT_EQ(script.count, 1);
    JZX_EXPECT_EQ(script.messages, 2);
    expect_seen(&script, 0, 7, JZX_OK, "text");
}

static jzx_op wrapped;

/* Hands the command on, and cancels it before, if it is to. */
static jzx_err wrap_read(jzx_context *ctx, const jzx_command *command, void *data) {
    const struct script *script = ctx->state;
    jzx_command_handler handler;
    (void)data;
    if (!JZX_EXPECT(jzx_command_get(ctx->loop, JZX_COMMAND_SOCKET_READ, &handler)))
        return JZX_ERR_FAILED;
    wrapped = command->ref;
    if (script->numbers[0] != 0)
        JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, command->ref), JZX_OK);
    return handler.handle(ctx, command, handler.data);
}

static jzx_err read_wrapped(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    bool is_cancelled = script->numbers[0] != 0;
    if (script->steps == 1) {
        make_pairs(ctx, script, 1);
        const jzx_command_socket_read arg = {.stream = script->pairs[0][0], .len = 40};
        JZX_EXPECT_EQ(jzx_out_yield(out, 3, 301, &arg, sizeof arg), JZX_OK);
        jzx_out_continue(out);
        return JZX_OK;
    }
    if (script->count == 0) {
        JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, wrapped), JZX_ERR_NO_SUCH_OP); /* replaced */
        return jzx_stream_send(ctx, script->pairs[0][1], "text", 4);
    }
    if (script->count == 1 && is_cancelled) { /* the read has gone with its command */
        JZX_EXPECT_EQ(jzx_stream_send(ctx, script->pairs[0][1], "rest", 4), JZX_OK);
        yield_read(out, 4, script->pairs[0][0], 40);
        return JZX_OK;
    }
    return jzx_out_done(out, NULL, 0);
}

JZX_TEST(a_handler_may_hand_its_command_on_to_that_of_the_library, "D+reg", "D+hdl") {
    for (uint32_t is_cancelled = 0; is_cancelled < 2; is_cancelled++) {
        struct script script = {.plan = read_wrapped, .numbers = {is_cancelled}};
        jzx_loop *loop = fixture_loop();
        JZX_EXPECT_EQ(jzx_command_register(loop, 301, &(jzx_command_handler){.handle = wrap_read}),
                      JZX_OK);
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &script_ops, .state = &script));
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(script.count, is_cancelled ? 2 : 1);
        if (is_cancelled) {
            expect_seen(&script, 0, 3, JZX_ERR_CANCELLED, "");
            expect_seen(&script, 1, 4, JZX_OK, "rest");
        } else {
            expect_seen(&script, 0, 3, JZX_OK, "text");
        }
        fixture_destroy(loop);
    }
}

/* ---- ends ---- */

static char much[4 << 20];

enum end { END_DONE, END_FAIL, END_KILL, END_STOP, END_LOOP, ENDS };

/* Has an accept, a read, a write, and commands of files under way, and ends somehow. */
static jzx_err hold_everything(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    if (script->steps == 1) {
        const jzx_command_socket_listen at = {.address = "127.0.0.1:0"};
        make_pairs(ctx, script, 2);
        return jzx_out_yield(out, 0, JZX_COMMAND_SOCKET_LISTEN, &at, sizeof at);
    }
    if (script->steps == 2) {
        static const jzx_command_file_open how = {"/proc/self/stat", JZX_FILE_READ, 0};
        const jzx_command_socket_write write = {script->pairs[1][0], much, sizeof much};
        script->listener = handle_of(&script->seen[0]);
        JZX_EXPECT_EQ(jzx_out_yield(out, 1, JZX_COMMAND_SOCKET_ACCEPT, &script->listener,
                                    sizeof script->listener),
                      JZX_OK);
        yield_read(out, 2, script->pairs[0][0], 1000);
        JZX_EXPECT_EQ(jzx_out_yield(out, 3, JZX_COMMAND_SOCKET_WRITE, &write, sizeof write),
                      JZX_OK);
        for (uint64_t tag = 4; tag < 12; tag++)
            JZX_EXPECT_EQ(jzx_out_yield(out, tag, JZX_COMMAND_FILE_OPEN, &how, sizeof how), JZX_OK);
        jzx_out_continue(out);
        return JZX_OK;
    }
    switch (script->numbers[0]) {
    case END_DONE: return jzx_out_done(out, NULL, 0);
    case END_FAIL: return JZX_ERR_FAILED;
    case END_KILL: return jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL);
    case END_STOP:
        if (script->messages != 0)
            return jzx_out_done(out, NULL, 0);
        return jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_QUEUE);
    default: return jzx_loop_request_stop(ctx->loop);
    }
}

JZX_TEST(a_process_that_ends_with_commands_under_way_leaves_nothing, "D+reg", "D19") {
    for (uint32_t end = 0; end < ENDS; end++) {
        struct script script = {.plan = hold_everything, .numbers = {end}};
        run_script(&script);
        JZX_EXPECT(script.steps >= 3);
        for (uint32_t i = 1; i < script.count; i++) /* what was fast, and nothing that waits */
            JZX_EXPECT(script.seen[i].tag >= 4);
    }
}

/* Another actor kills it while it waits. */
static jzx_err wait_for_all(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    if (script->steps <= 2)
        return hold_everything(ctx, script, out);
    return JZX_OK;
}

static jzx_behavior_result kill_it(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, *(const jzx_actor_id *)msg->data, JZX_STOP_KILL),
                  JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_process_that_is_killed_while_it_is_blocked_leaves_nothing, "D+reg", "D19") {
    int before = descriptors_open();
    struct script script = {.plan = wait_for_all};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &script_ops, .state = &script));
    while (script.steps < 3)
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_actor_id killer = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = kill_it));
    JZX_EXPECT_EQ(jzx_send(loop, killer, JZX_NOBODY, &id, sizeof id, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(script.closes, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

/* ---- upgrades ---- */

/* The new code: reads what the stream has, up to the end that follows the write of the old one. */
static jzx_err read_rest(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    const jzx_command_socket_read exact = {.stream = script->pairs[0][0], .len = 6};
    if (script->numbers[1]++ == 0) {
        jzx_err err = jzx_stream_send(ctx, script->pairs[0][1], "ef", 2);
        JZX_EXPECT(err == JZX_OK || (err == JZX_ERR_RESET && script->numbers[2] != 0));
        return jzx_out_yield(out, 1, JZX_COMMAND_SOCKET_READ_EXACT, &exact, sizeof exact);
    }
    return script->count == 0 ? JZX_OK : jzx_out_done(out, NULL, 0);
}

static jzx_err rest_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                         jzx_step_out *out) {
    struct script *script = ctx->state;
    script->plan = read_rest;
    return script_step(ctx, events, count, out);
}

static const jzx_process_ops rest_ops = {
    .size = sizeof rest_ops, .step = rest_step, .close = script_close};

/* A read is pending when the code changes. */
static jzx_err upgrade_with_read(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    if (script->steps == 1) {
        make_pairs(ctx, script, 1);
        yield_read(out, 1, script->pairs[0][0], 40);
        jzx_out_continue(out);
        return JZX_OK;
    }
    JZX_EXPECT_EQ(script->count, 0);
    JZX_EXPECT_EQ(jzx_stream_send(ctx, script->pairs[0][1], "abcd", 4), JZX_OK);
    return jzx_out_upgrade(out, &rest_ops, NULL, NULL, 0);
}

static void run_upgrade(struct script *script) {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop();
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &script_ops, .state = script));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(script->closes, 2);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

JZX_TEST(an_upgrade_with_a_read_pending_keeps_the_stream_and_its_bytes, "D+reg", "D+top") {
    struct script script = {.plan = upgrade_with_read};
    run_upgrade(&script);
    JZX_EXPECT_EQ(script.count, 1); /* nothing of the old read */
    expect_seen(&script, 0, 1, JZX_OK, "abcdef");
}

/* Two reads are complete, behind so many messages that the step that upgrades does not see them. */
static jzx_err upgrade_behind(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    if (script->steps == 1) {
        make_pairs(ctx, script, 1);
        JZX_EXPECT_EQ(jzx_stream_send(ctx, script->pairs[0][1], "abcd", 4), JZX_OK);
        for (uint32_t i = 0; i < JZX_PROCESS_EVENTS_MAX; i++)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 5), JZX_OK);
        yield_read(out, 1, script->pairs[0][0], 3);
        yield_read(out, 2, script->pairs[0][0], 1);
        return JZX_OK;
    }
    JZX_EXPECT_EQ(script->messages, JZX_PROCESS_EVENTS_MAX);
    JZX_EXPECT_EQ(script->count, 0);
    if (script->numbers[2] != 0)
        fixture_fail_allocations(script->numbers[2] - 1, 1);
    return jzx_out_upgrade(out, &rest_ops, NULL, NULL, 0);
}

JZX_TEST(reads_that_are_complete_and_not_seen_are_taken_back_by_an_upgrade, "D+reg", "D+top") {
    struct script script = {.plan = upgrade_behind};
    run_upgrade(&script);
    JZX_EXPECT_EQ(script.count, 1);
    expect_seen(&script, 0, 1, JZX_OK, "abcdef");
}

/* The step that upgrades loses its worker, which completes the read on another thread. */
static jzx_err upgrade_after_a_stall(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    if (script->steps == 1) {
        make_pairs(ctx, script, 1);
        yield_read(out, 0, script->pairs[0][0], 40);
        jzx_out_continue(out);
        return JZX_OK;
    }
    jzx_stream_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_stream_send(ctx, script->pairs[0][1], "abcd", 4), JZX_OK);
    do
        sched_yield();
    while (jzx_stream_info_get(ctx->loop, script->pairs[0][0], &info) == JZX_OK && info.is_reading);
    return jzx_out_upgrade(out, &rest_ops, NULL, NULL, 0);
}

JZX_TEST(an_upgrade_in_a_step_that_has_lost_its_worker_takes_reads_back, "D+reg", "D+top") {
    struct script script = {.plan = upgrade_after_a_stall};
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(2)));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &script_ops, .state = &script));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(script.closes, 2);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
    JZX_EXPECT_EQ(script.count, 1);
    expect_seen(&script, 0, 1, JZX_OK, "abcdef");
}

/* Another actor has begun to read meanwhile: it gets what goes back. */
static char overheard[8];

static void overhear(jzx_context *ctx) {
    const jzx_stream *stream = ctx->state;
    size_t len = 0;
    JZX_EXPECT_EQ(jzx_stream_read(ctx, *stream, overheard, sizeof overheard - 1, JZX_NEVER, &len),
                  JZX_OK);
    overheard[len] = '\0';
}

static jzx_err done_at_down(jzx_context *ctx, const jzx_process_event *events, size_t count,
                            jzx_step_out *out) {
    (void)ctx;
    return count == 0 || events[0].tag != JZX_TAG_DOWN ? JZX_OK : jzx_out_done(out, NULL, 0);
}

static const jzx_process_ops done_at_down_ops = {
    .size = sizeof done_at_down_ops, .step = done_at_down, .close = script_close};

static jzx_err upgrade_beside_a_reader(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    if (script->steps == 1) {
        (void)upgrade_behind(ctx, script, out);
        jzx_actor_id id = fixture_spawn(
            ctx->loop, &JZX_SPAWN_OPTS(.fiber = overhear, .state = &script->pairs[0][0]));
        JZX_EXPECT_EQ(jzx_monitor(ctx, id, NULL), JZX_OK);
        jzx_out_continue(out); /* it runs before the next step */
        return JZX_OK;
    }
    JZX_EXPECT_EQ(script->count, 0);
    return jzx_out_upgrade(out, &done_at_down_ops, NULL, NULL, 0);
}

JZX_TEST(bytes_that_are_taken_back_go_to_an_actor_that_waits_for_some, "D+reg", "D+top") {
    struct script script = {.plan = upgrade_beside_a_reader};
    overheard[0] = '\0';
    run_upgrade(&script);
    assert_string_equal(overheard, "abcd");
}

static void overhear_by_message(jzx_context *ctx) {
    const jzx_stream *stream = ctx->state;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_stream_read_to(ctx, *stream, sizeof overheard - 1, 7, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    const jzx_result *result = msg.data;
    memcpy(overheard, jzx_result_data(result), result->len);
    overheard[result->len] = 0;
}

static jzx_err upgrade_beside_an_operation(jzx_context *ctx, struct script *script,
                                           jzx_step_out *out) {
    if (script->steps == 1) {
        (void)upgrade_behind(ctx, script, out);
        jzx_actor_id id = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = overhear_by_message,
                                                                   .state = &script->pairs[0][0]));
        JZX_EXPECT_EQ(jzx_monitor(ctx, id, NULL), JZX_OK);
        jzx_out_continue(out);
        return JZX_OK;
    }
    return jzx_out_upgrade(out, &done_at_down_ops, NULL, NULL, 0);
}

JZX_TEST(bytes_that_are_taken_back_go_to_an_operation_in_order, "D+reg", "D+top") {
    struct script script = {.plan = upgrade_beside_an_operation};
    overheard[0] = '\0';
    run_upgrade(&script);
    assert_string_equal(overheard, "abcd");
}

/* A connection was accepted and nobody has seen it: the other end hears that it is closed. */
static jzx_err see_the_end(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    (void)ctx;
    if (script->numbers[1]++ == 0)
        yield_read(out, 1, script->pairs[0][0], 1);
    return script->count == 0 ? JZX_OK : jzx_out_done(out, NULL, 0);
}

static jzx_err end_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                        jzx_step_out *out) {
    struct script *script = ctx->state;
    if (script->plan != see_the_end)
        script->count = 0; /* those of the code before */
    script->plan = see_the_end;
    return script_step(ctx, events, count, out);
}

static const jzx_process_ops end_ops = {
    .size = sizeof end_ops, .step = end_step, .close = script_close};

static jzx_err upgrade_after_accept(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    static char at[JZX_ADDRESS_MAX];
    const jzx_command_socket_listen listen = {.address = "127.0.0.1:0"};
    const jzx_command_socket_connect connect = {.address = at};
    switch (script->count) {
    case 0:
        return script->steps != 1
                   ? JZX_OK
                   : jzx_out_yield(out, 0, JZX_COMMAND_SOCKET_LISTEN, &listen, sizeof listen);
    case 1:
        script->listener = handle_of(&script->seen[0]);
        JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, script->listener, at, sizeof at), JZX_OK);
        return jzx_out_yield(out, 1, JZX_COMMAND_SOCKET_CONNECT, &connect, sizeof connect);
    default: break;
    }
    if (script->messages == 0) {
        script->pairs[0][0] = handle_of(&script->seen[1]);
        for (uint32_t i = 0; i < JZX_PROCESS_EVENTS_MAX; i++)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 5), JZX_OK);
        return jzx_out_yield(out, 2, JZX_COMMAND_SOCKET_ACCEPT, &script->listener,
                             sizeof script->listener);
    }
    JZX_EXPECT_EQ(script->messages, JZX_PROCESS_EVENTS_MAX);
    JZX_EXPECT_EQ(script->count, 2);
    return jzx_out_upgrade(out, &end_ops, NULL, NULL, 0);
}

JZX_TEST(a_connection_that_an_upgrade_hides_is_closed, "D+reg", "D+top") {
    struct script script = {.plan = upgrade_after_accept};
    run_upgrade(&script);
    JZX_EXPECT_EQ(script.count, 1);
    expect_seen(&script, 0, 1, JZX_ERR_END, "");
}

/* A write goes on whatever the code is: its peer, a fiber, reads all of it. */
static uint64_t drained;

static void drain(jzx_context *ctx) {
    static char buf[1 << 16];
    const jzx_stream *stream = ctx->state;
    size_t len;
    while (drained < sizeof much &&
           jzx_stream_read(ctx, *stream, buf, sizeof buf, JZX_NEVER, &len) == JZX_OK)
        drained += len;
}

static jzx_err idle_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                         jzx_step_out *out) {
    (void)ctx, (void)events;
    JZX_EXPECT(count == 0 || events[0].kind != JZX_PROCESS_YIELD_COMPLETE);
    return drained == sizeof much && count != 0 ? jzx_out_done(out, NULL, 0) : JZX_OK;
}

static const jzx_process_ops idle_ops = {
    .size = sizeof idle_ops, .step = idle_step, .close = script_close};

static jzx_err upgrade_with_write(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    if (script->steps == 1) {
        make_pairs(ctx, script, 1);
        const jzx_command_socket_write write = {script->pairs[0][0], much, sizeof much};
        jzx_out_continue(out);
        return jzx_out_yield(out, 1, JZX_COMMAND_SOCKET_WRITE, &write, sizeof write);
    }
    jzx_monitor_ref ref;
    jzx_actor_id reader =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = drain, .state = &script->pairs[0][1]));
    JZX_EXPECT_EQ(script->count, 0); /* the queue of the system is shorter */
    JZX_EXPECT_EQ(jzx_monitor(ctx, reader, &ref), JZX_OK);
    return jzx_out_upgrade(out, &idle_ops, NULL, NULL, 0);
}

JZX_TEST(a_write_goes_on_after_an_upgrade, "D+reg", "D+top") {
    struct script script = {.plan = upgrade_with_write};
    drained = 0;
    run_upgrade(&script);
    JZX_EXPECT_EQ(drained, sizeof much);
}

/* ---- without memory ---- */

static uint32_t no_memory;
static uint32_t yields;

static bool worked(jzx_err err) {
    no_memory += err == JZX_ERR_NO_MEMORY;
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
    return err == JZX_OK;
}

/* Yields what it can: each gives one event. */
static jzx_err use_memory(jzx_context *ctx, struct script *script, jzx_step_out *out) {
    static const jzx_command_socket_listen at = {.address = "127.0.0.1:0"};
    static const jzx_command_file_open how = {"/proc/self/stat", JZX_FILE_READ, 0};
    if (script->steps == 1) {
        if (!worked(jzx_unix_pair(ctx, NULL, script->pairs[0])))
            return jzx_out_done(out, NULL, 0);
        const jzx_command_socket_write write = {script->pairs[0][0], "text", 4};
        const jzx_command_socket_read read = {.stream = script->pairs[0][1], .len = 1000};
        yields += worked(jzx_out_yield(out, 0, JZX_COMMAND_SOCKET_LISTEN, &at, sizeof at));
        yields += worked(jzx_out_yield(out, 1, JZX_COMMAND_FILE_OPEN, &how, sizeof how));
        yields += worked(jzx_out_yield(out, 2, JZX_COMMAND_SOCKET_WRITE, &write, sizeof write));
        if (worked(jzx_out_yield(out, 3, JZX_COMMAND_SOCKET_READ, &read, sizeof read)))
            yields++;
        for (uint64_t tag = 4; tag < 8; tag++) /* BUSY, if the other one waits */
            yields += worked(jzx_out_yield(out, tag, JZX_COMMAND_SOCKET_READ, &read, sizeof read));
        jzx_out_continue(out);
        return JZX_OK;
    }
    if (script->numbers[0]++ == 0) /* what is still pending completes */
        JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, script->pairs[0][1]), JZX_OK);
    if (script->count < yields)
        return JZX_OK;
    return jzx_out_done(out, NULL, 0);
}

static void live_without(uint64_t n, uint64_t count) {
    int before = descriptors_open();
    struct script script = {.plan = use_memory};
    jzx_loop *loop = fixture_loop();
    yields = 0;
    jzx_actor_id id;
    fixture_fail_allocations(n, count);
    bool spawned =
        worked(jzx_spawn(loop, &JZX_SPAWN_OPTS(.process = &script_ops, .state = &script), &id));
    if (spawned) {
        for (uint32_t i = 0; i < 3; i++)
            JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(script.count, yields);
    JZX_EXPECT_EQ(script.closes, spawned);
    for (uint32_t i = 0; i < script.count; i++)
        no_memory += script.seen[i].error == JZX_ERR_NO_MEMORY;
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

JZX_TEST(each_allocation_of_a_socket_or_file_command_may_fail_and_each_completes, "D+reg",
         "D+err") {
    uint32_t unharmed = 0; /* lives in a row that no failure has reached */
    no_memory = 0;
    for (uint64_t n = 0; n < 300 && unharmed < 5; n++) {
        uint32_t before = no_memory;
        live_without(n, 1);
        unharmed = no_memory == before ? unharmed + 1 : 0;
        live_without(n, UINT64_MAX / 2);
    }
    JZX_EXPECT_EQ(unharmed, 5);
    JZX_EXPECT(no_memory > 30);
}

/* Without memory to take the bytes back the stream is closed: it never has a gap. */
JZX_TEST(a_stream_whose_bytes_cannot_be_taken_back_is_closed, "D+reg", "D+err") {
    uint32_t closed = 0;
    uint32_t whole = 0;
    for (uint32_t n = 1; n <= 12; n++) {
        struct script script = {.plan = upgrade_behind, .numbers = {0, 0, n}};
        int before = descriptors_open();
        jzx_loop *loop = fixture_loop();
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &script_ops, .state = &script));
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        fixture_fail_allocations(UINT64_MAX, 0);
        if (script.closes == 2 && script.count == 1 && script.seen[0].error == JZX_OK) {
            expect_seen(&script, 0, 1, JZX_OK, "abcdef");
            whole++;
        } else if (script.count == 1) {
            closed += script.seen[0].error == JZX_ERR_CLOSED;
        }
        fixture_destroy(loop);
        JZX_EXPECT_EQ(descriptors_open(), before);
    }
    JZX_EXPECT(closed > 0);
    JZX_EXPECT(whole > 0);
}
