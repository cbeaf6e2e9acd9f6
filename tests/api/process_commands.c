/* SPDX-License-Identifier: MIT */
/* Commands: yielded, dispatched, completed in any order, cancelled; the registry and what is
 * registered from the start. */
#include "processes.h"

#include <jzx/exit.h>

/* ---- several outstanding ---- */

static jzx_err yield_three(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    if (journal->steps == 1) {
        for (uint64_t tag = 1; tag <= 3; tag++)
            JZX_EXPECT_EQ(jzx_out_yield(out, tag, HELD, NULL, 0), JZX_OK);
    }
    return journal->count == 3 ? jzx_out_done(out, NULL, 0) : JZX_OK;
}

JZX_TEST(multi_yield_independent_completion, "D17", "D+hdl", "D+step", "D+tests") {
    static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const jzx_err errs[3] = {JZX_OK, JZX_ERR_FULL, JZX_OK}; /* with data, all of them */
    for (uint32_t together = 0; together < 2; together++) {
        for (uint32_t k = 0; k < 6; k++) {
            struct timing timing = timing_open();
            struct journal journal = {.plan = yield_three};
            register_held(timing.loop);
            journal_spawn(&timing, &journal);
            JZX_EXPECT_EQ(held_count, 3);
            for (uint32_t i = 0; i < 3; i++) {
                uint32_t at = orders[k][i];
                JZX_EXPECT_EQ(complete_held(timing.loop, at, 70 + at, errs[at]), JZX_OK);
                if (!together)
                    timing_step(&timing);
            }
            timing_step(&timing);
            for (uint32_t i = 0; i < 3; i++) {
                expect_completion(&journal, i, orders[k][i] + 1, errs[orders[k][i]]);
                JZX_EXPECT_EQ(journal.notes[i].value, 70 + orders[k][i]);
            }
            JZX_EXPECT_EQ(journal.steps, together ? 2 : 4);
            JZX_EXPECT_EQ(journal.closes, 1);
            JZX_EXPECT_EQ(held_cancelled, 0);
            timing_close(&timing);
        }
    }
}

/* Each completion yields the next, while an older one is outstanding. */
static jzx_err yield_staggered(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    if (journal->steps == 1)
        JZX_EXPECT_EQ(jzx_out_yield(out, 100, HELD, NULL, 0), JZX_OK);
    if (journal->steps <= 3)
        JZX_EXPECT_EQ(jzx_out_yield(out, journal->steps, HELD, NULL, 0), JZX_OK);
    return JZX_OK;
}

JZX_TEST(staggered_yields, "D17", "D+tests") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = yield_staggered};
    register_held(timing.loop);
    journal_spawn(&timing, &journal);
    for (uint32_t i = 1; i <= 3; i++) {
        JZX_EXPECT_EQ(held_count, i + 1);
        JZX_EXPECT_EQ(complete_held(timing.loop, i, i, JZX_OK), JZX_OK);
        timing_step(&timing);
    }
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 0, JZX_OK), JZX_OK);
    timing_step(&timing);
    for (uint32_t i = 0; i < 3; i++)
        expect_completion(&journal, i, i + 1, JZX_OK);
    expect_completion(&journal, 3, 100, JZX_OK);
    timing_close(&timing);
}

/* The tag of each command is made of the answer to the one before. */
static jzx_err yield_in_sequence(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    uint64_t tag =
        journal->count == 0 ? UINT64_C(1) << 40 : journal->notes[journal->count - 1].value;
    (void)ctx;
    if (journal->count == 5)
        return jzx_out_done(out, NULL, 0);
    return jzx_out_yield(out, tag, HELD, NULL, 0);
}

JZX_TEST(sequential_yield_tag_correlation, "D4", "D17", "D+tests") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = yield_in_sequence};
    register_held(timing.loop);
    journal_spawn(&timing, &journal);
    for (uint32_t i = 0; i < 5; i++) {
        if (!JZX_EXPECT_EQ(held_count, i + 1))
            break;
        JZX_EXPECT_EQ(complete_held(timing.loop, i, held[i].tag + 3, JZX_OK), JZX_OK);
        timing_step(&timing);
        expect_completion(&journal, i, (UINT64_C(1) << 40) + 3 * i, JZX_OK);
    }
    JZX_EXPECT_EQ(journal.closes, 1);
    timing_close(&timing);
}

/* More than the inline two, with short and long arguments. */
static jzx_err yield_many(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    char arg[200];
    (void)ctx;
    if (journal->steps != 1)
        return JZX_OK;
    for (uint64_t i = 0; i < 20; i++) {
        memset(arg, (int)i, sizeof arg);
        JZX_EXPECT_EQ(jzx_out_yield(out, i, 301, arg, i * 10), JZX_OK);
    }
    return JZX_OK;
}

static jzx_err check_arg(jzx_context *ctx, const jzx_command *command, void *data) {
    uint32_t *seen = data;
    JZX_EXPECT_EQ(command->id, 301);
    JZX_EXPECT_EQ(command->len, command->tag * 10);
    JZX_EXPECT_EQ((uintptr_t)command->arg % 16, 0);
    for (size_t i = 0; i < command->len; i++)
        JZX_EXPECT_EQ(((const char *)command->arg)[i], (char)command->tag);
    ++*seen;
    static const char answer[500] = {7};
    return jzx_command_complete(ctx->loop, command->process, command->ref, answer,
                                command->tag * 25, JZX_OK);
}

JZX_TEST(arguments_and_answers_of_any_length_are_copied, "D17", "D+step") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = yield_many};
    uint32_t seen = 0;
    JZX_EXPECT_EQ(jzx_command_register(timing.loop, 301,
                                       &(jzx_command_handler){.handle = check_arg, .data = &seen}),
                  JZX_OK);
    journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(seen, 20);
    JZX_EXPECT_EQ(journal.count, 20);
    for (uint32_t i = 0; i < journal.count; i++) {
        expect_completion(&journal, i, i, JZX_OK);
        JZX_EXPECT_EQ(journal.notes[i].len, 25 * i);
    }
    timing_close(&timing);
}

/* ---- errors ---- */

static jzx_err yield_once(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    return journal->steps == 1 ? jzx_out_yield(out, 5, (uint16_t)journal->numbers[0], NULL, 0)
                               : JZX_OK;
}

/* ---- commands come from pools ---- */

#define STREAM 301u

struct stream {
    uint32_t yields; /* in each step */
    size_t arg_len;  /* of each */
    size_t answer_len;
    uint32_t left; /* completions still to come */
    uint32_t completed;
};

static jzx_err answer_at_once(jzx_context *ctx, const jzx_command *command, void *data) {
    static const char answer[JZX_MSG_INLINE * 32];
    const struct stream *stream = data;
    JZX_EXPECT_EQ(command->len, stream->arg_len);
    return jzx_command_complete(ctx->loop, command->process, command->ref, answer,
                                stream->answer_len, JZX_OK);
}

/* Each completion is followed by a command. */
static jzx_err stream_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                           jzx_step_out *out) {
    static const char arg[1024];
    struct stream *stream = ctx->state;
    uint32_t wanted = 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != JZX_PROCESS_YIELD_COMPLETE) {
            wanted = stream->yields;
            continue;
        }
        JZX_EXPECT_EQ(events[i].error, JZX_OK);
        JZX_EXPECT_EQ(events[i].len, stream->answer_len);
        stream->completed++;
        wanted += stream->left != 0;
        stream->left -= stream->left != 0;
    }
    for (uint32_t i = 0; i < wanted; i++)
        JZX_EXPECT_EQ(jzx_out_yield(out, i, STREAM, arg, stream->arg_len), JZX_OK);
    return JZX_OK;
}

static const jzx_process_ops stream_ops = JZX_PROCESS_OPS(.step = stream_step);

JZX_TEST(a_steady_stream_of_commands_allocates_nothing_and_leaks_nothing, "D+hdl") {
    static const struct stream kinds[] = {
        {.yields = 1},
        {.yields = 2, .arg_len = 32, .answer_len = 32},
        {.yields = 12, .arg_len = 8, .answer_len = 8},
        {.yields = 12, .arg_len = 200, .answer_len = 200},
        {.yields = 3, .arg_len = 512, .answer_len = 512},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct timing timing = timing_open();
        struct stream stream = kinds[k];
        JZX_EXPECT_EQ(
            jzx_command_register(timing.loop, STREAM,
                                 &(jzx_command_handler){.handle = answer_at_once, .data = &stream}),
            JZX_OK);
        jzx_actor_id id =
            fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = &stream_ops, .state = &stream));
        uint64_t allocations = 0;
        uint64_t bytes = 0;
        for (uint32_t round = 0; round < 3; round++) {
            stream.left = 2000;
            stream.completed = 0;
            fixture_send(timing.loop, id, 1);
            timing_step(&timing);
            JZX_EXPECT_EQ(stream.completed, 2000 + stream.yields);
            if (round == 0) { /* the pools are filled */
                allocations = fixture_allocations();
                bytes = fixture_bytes();
            }
        }
        JZX_EXPECT_EQ(fixture_allocations(), allocations);
        JZX_EXPECT_EQ(fixture_bytes(), bytes);
        timing_close(&timing);
        JZX_EXPECT_EQ(fixture_bytes(), 0);
    }
}

JZX_TEST(unknown_command_handler, "D+hdl", "D+tests") {
    static const uint16_t unknown[] = {0, 12, 29, 39, 49, 255, 256, 999, 65535};
    for (uint32_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        struct timing timing = timing_open();
        struct journal journal = {.plan = yield_once, .numbers = {unknown[i]}};
        journal_spawn(&timing, &journal);
        JZX_EXPECT_EQ(journal.count, 1);
        expect_completion(&journal, 0, 5, JZX_ERR_UNKNOWN_COMMAND);
        JZX_EXPECT_EQ(journal.closes, 0);
        timing_close(&timing);
    }
}

static jzx_err refuse(jzx_context *ctx, const jzx_command *command, void *data) {
    (void)ctx, (void)command, (void)data;
    return JZX_ERR_BUSY;
}

static jzx_err complete_and_refuse(jzx_context *ctx, const jzx_command *command, void *data) {
    (void)data;
    JZX_EXPECT_EQ(
        jzx_command_complete(ctx->loop, command->process, command->ref, NULL, 0, JZX_ERR_FULL),
        JZX_OK);
    return JZX_ERR_BUSY;
}

JZX_TEST(handler_error, "D+hdl", "D+tests") {
    struct timing timing = timing_open();
    struct journal first = {.plan = yield_once, .numbers = {300}};
    struct journal second = {.plan = yield_once, .numbers = {301}};
    JZX_EXPECT_EQ(jzx_command_register(timing.loop, 300, &(jzx_command_handler){.handle = refuse}),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_command_register(timing.loop, 301,
                                       &(jzx_command_handler){.handle = complete_and_refuse}),
                  JZX_OK);
    journal_spawn(&timing, &first);
    journal_spawn(&timing, &second);
    JZX_EXPECT_EQ(first.count, 1);
    expect_completion(&first, 0, 5, JZX_ERR_BUSY);
    JZX_EXPECT_EQ(second.count, 1); /* completed once, by what came first */
    expect_completion(&second, 0, 5, JZX_ERR_FULL);
    timing_close(&timing);
}

JZX_TEST(a_command_completes_once_and_wrong_completions_are_refused, "D17", "D+hdl") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = yield_once, .numbers = {HELD}};
    register_held(timing.loop);
    jzx_actor_id id = journal_spawn(&timing, &journal);
    jzx_op ref = held[0].ref;
    JZX_EXPECT_EQ(jzx_command_complete(NULL, id, ref, NULL, 0, JZX_OK), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_command_complete(timing.loop, JZX_NOBODY, ref, NULL, 0, JZX_OK),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_command_complete(timing.loop, id, ref, NULL, 3, JZX_OK), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_command_complete(timing.loop, id, 0, NULL, 0, JZX_OK), JZX_ERR_NO_SUCH_OP);
    JZX_EXPECT_EQ(jzx_command_complete(timing.loop, id, ref + 1, NULL, 0, JZX_OK),
                  JZX_ERR_NO_SUCH_OP);
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 1, JZX_OK), JZX_OK);
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 2, JZX_OK), JZX_ERR_NO_SUCH_OP);
    timing_step(&timing);
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 2, JZX_OK), JZX_ERR_NO_SUCH_OP);
    JZX_EXPECT_EQ(journal.count, 1);
    JZX_EXPECT_EQ(journal.notes[0].value, 1);
    timing_close(&timing);
}

/* ---- the end of the process ---- */

static jzx_err done_with_one_outstanding(jzx_context *ctx, struct journal *journal,
                                         jzx_step_out *out) {
    (void)ctx;
    if (journal->steps == 1)
        return jzx_out_yield(out, 1, HELD, NULL, 0);
    JZX_EXPECT_EQ(jzx_out_yield(out, 2, HELD, NULL, 0), JZX_OK); /* never dispatched */
    return jzx_out_done(out, NULL, 0);
}

JZX_TEST(context_cancelled_on_completion, "D19", "D+step", "D+tests") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = done_with_one_outstanding};
    register_held(timing.loop);
    jzx_actor_id id = journal_spawn(&timing, &journal);
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.closes, 1);
    JZX_EXPECT_EQ(held_count, 1);
    JZX_EXPECT_EQ(held_cancelled, 1);
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 1, JZX_OK), JZX_ERR_NO_SUCH_OP);
    timing_close(&timing);
}

JZX_TEST(wake_processor_stale_generation, "D+q", "D+tests", "X6") {
    struct timing timing = timing_open_with(0, &JZX_CONFIG(.max_actors = 1));
    struct journal first = {.plan = yield_once, .numbers = {HELD}};
    struct journal second = {.plan = yield_once, .numbers = {HELD}};
    register_held(timing.loop);
    jzx_actor_id id = journal_spawn(&timing, &first);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    jzx_actor_id next = journal_spawn(&timing, &second);
    JZX_EXPECT_EQ(jzx_id_index(next), jzx_id_index(id)); /* the slot is used again */
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 1, JZX_OK), JZX_ERR_NO_SUCH_OP);
    timing_step(&timing);
    JZX_EXPECT_EQ(second.count, 0);
    JZX_EXPECT_EQ(second.steps, 1);
    JZX_EXPECT_EQ(complete_held(timing.loop, 1, 1, JZX_OK), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(second.count, 1);
    timing_close(&timing);
}

JZX_TEST(a_command_that_is_cancelled_completes_with_that) {
    struct timing timing = timing_open();
    struct journal journal = {.plan = yield_once, .numbers = {HELD}};
    register_held(timing.loop);
    journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(jzx_op_cancel(timing.loop, held[0].ref), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(held_cancelled, 1);
    expect_completion(&journal, 0, 5, JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 1, JZX_OK), JZX_ERR_NO_SUCH_OP);
    timing_close(&timing);
}

/* ---- upgrade ---- */

static jzx_err second_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                           jzx_step_out *out);
static jzx_err second_init(jzx_context *ctx, const char *method, const void *input, size_t len) {
    struct journal *journal = ctx->state;
    JZX_EXPECT_EQ(journal->closes, 1); /* the old code is closed before */
    return journal_init(ctx, method, input, len);
}
static const jzx_process_ops second_ops = {
    .size = sizeof second_ops, .init = second_init, .step = second_step, .close = journal_close};

static jzx_err second_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                           jzx_step_out *out) {
    struct journal *journal = ctx->state;
    journal->numbers[0]++;
    journal->plan = NULL;
    return journal_step(ctx, events, count, out);
}

static jzx_err upgrade_at_message(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    uint64_t input = 55;
    (void)ctx;
    if (journal->steps == 1)
        return jzx_out_yield(out, 1, HELD, NULL, 0);
    if (journal->count == 0)
        return JZX_OK;
    JZX_EXPECT_EQ(jzx_out_yield(out, 2, HELD, NULL, 0), JZX_OK);
    return jzx_out_upgrade(out, &second_ops, "two", &input, sizeof input);
}

static void watch_it(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_exit_notice how;
    life->err = jzx_join(ctx, life->other, JZX_NEVER, &how);
    life->reason = how.reason;
    life->finished++;
}

JZX_TEST(an_upgrade_keeps_id_mailbox_and_monitors_and_drops_old_completions, "D+step", "D+top",
         "D19") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = upgrade_at_message};
    register_held(timing.loop);
    jzx_actor_id id = journal_spawn(&timing, &journal);
    struct life life = {.other = id};
    timing_fiber(&timing, watch_it, &life);
    fixture_send(timing.loop, id, 8);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.inits, 2);
    JZX_EXPECT_EQ(journal.closes, 1);
    assert_string_equal(journal.method, "two");
    JZX_EXPECT_EQ(journal.input, 55);
    JZX_EXPECT_EQ(journal.numbers[0], 1); /* the first step of the new code */
    JZX_EXPECT_EQ(held_count, 2);
    JZX_EXPECT_EQ(held_cancelled, 1);
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 1, JZX_OK), JZX_ERR_NO_SUCH_OP);
    JZX_EXPECT_EQ(complete_held(timing.loop, 1, 2, JZX_OK), JZX_OK);
    fixture_send(timing.loop, id, 9);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.count, 3);
    expect_note(&journal, 0, JZX_PROCESS_MESSAGE, 8, JZX_OK);
    expect_completion(&journal, 1, 2, JZX_OK);
    expect_note(&journal, 2, JZX_PROCESS_MESSAGE, 9, JZX_OK);
    JZX_EXPECT_EQ(life.finished, 0);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(life.finished, 1);
    JZX_EXPECT_EQ(journal.closes, 2);
    timing_close(&timing);
}

static jzx_err upgrade_second_step(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    if (journal->steps == 1) {
        for (uint64_t i = 0; i < 3; i++)
            JZX_EXPECT_EQ(jzx_out_yield(out, i, HELD, NULL, 0), JZX_OK);
        return JZX_OK;
    }
    if (journal->numbers[0] != 0)
        JZX_EXPECT_EQ(jzx_out_yield(out, 3, HELD, NULL, 0), JZX_OK);
    return jzx_out_upgrade(out, &second_ops, "two", NULL, 0);
}

/* What the old code has yielded holds the new code up no more; what it yields itself does. */
JZX_TEST(an_upgraded_process_waits_for_its_new_commands_alone, "D+top", "D12") {
    for (uint64_t yields = 0; yields < 2; yields++) {
        struct timing timing = timing_open();
        struct journal journal = {.plan = upgrade_second_step, .numbers = {yields}};
        register_held(timing.loop);
        jzx_actor_id id = journal_spawn(&timing, &journal);
        JZX_EXPECT_EQ(held_count, 3);
        JZX_EXPECT_EQ(listed_state_of(timing.loop, id), JZX_PROCESS_BLOCKED);
        fixture_send(timing.loop, id, 8);
        timing_step(&timing);
        JZX_EXPECT_EQ(journal.inits, 2);
        JZX_EXPECT_EQ(held_cancelled, 3);
        JZX_EXPECT_EQ(listed_state_of(timing.loop, id),
                      yields ? JZX_PROCESS_BLOCKED : JZX_PROCESS_IDLE);
        if (yields) {
            JZX_EXPECT_EQ(complete_held(timing.loop, 3, 1, JZX_OK), JZX_OK);
            timing_step(&timing);
            expect_completion(&journal, 1, 3, JZX_OK);
            JZX_EXPECT_EQ(listed_state_of(timing.loop, id), JZX_PROCESS_IDLE);
        }
        timing_close(&timing);
    }
}

/* The completion of the old code is in the mailbox when the upgrade comes. */
JZX_TEST(a_completion_that_waits_when_the_upgrade_comes_is_dropped, "D+q", "D+top") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = upgrade_at_message};
    register_held(timing.loop);
    jzx_actor_id id = journal_spawn(&timing, &journal);
    for (uint32_t i = 0; i < JZX_PROCESS_EVENTS_MAX; i++)
        fixture_send(timing.loop, id, 8); /* a whole step */
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 1, JZX_OK), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.inits, 2);
    JZX_EXPECT_EQ(journal.count, JZX_PROCESS_EVENTS_MAX);
    for (uint32_t i = 0; i < journal.count; i++)
        expect_note(&journal, i, JZX_PROCESS_MESSAGE, 8, JZX_OK);
    timing_close(&timing);
}

static jzx_err upgrade_in_vain(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    journal->init_err = JZX_ERR_BUSY;
    JZX_EXPECT_EQ(jzx_out_upgrade(out, NULL, NULL, NULL, 0), JZX_ERR_INVALID_ARG);
    return jzx_out_upgrade(out, &journal_ops, NULL, NULL, 0);
}

JZX_TEST(a_failed_upgrade_crashes_the_process, "D+top", "D19") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = upgrade_in_vain};
    struct life life = {.other = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = &journal_ops,
                                                                            .state = &journal))};
    spawn_fiber(timing.loop, watch_it, &life);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.inits, 2);
    JZX_EXPECT_EQ(journal.closes, 2); /* each code once */
    JZX_EXPECT_EQ(journal.steps, 1);
    JZX_EXPECT_EQ(life.finished, 1);
    timing_close(&timing);
}

/* ---- the registry ---- */

JZX_TEST(the_registry_takes_each_number_once_and_freezes, "D+reg") {
    struct timing timing = timing_open();
    const jzx_command_handler handler = {.handle = refuse, .data = &timing};
    static const uint16_t own[] = {39, 49, 255, 256, 257, 5000, 65535};
    jzx_command_handler got = {.handle = NULL};
    for (uint16_t id = JZX_COMMAND_SEND; id <= JZX_COMMAND_NOW; id++) {
        JZX_EXPECT(jzx_command_get(timing.loop, id, NULL));
        JZX_EXPECT_EQ(jzx_command_register(timing.loop, id, &handler), JZX_ERR_EXISTS);
    }
    for (uint16_t i = 0; i <= 8; i++) {
        JZX_EXPECT(jzx_command_get(timing.loop, (uint16_t)(JZX_COMMAND_SOCKET_FIRST + i), NULL));
        JZX_EXPECT(jzx_command_get(timing.loop, (uint16_t)(JZX_COMMAND_FILE_FIRST + i), NULL));
    }
    for (uint32_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        JZX_EXPECT(!jzx_command_get(timing.loop, own[i], &got));
        JZX_EXPECT_EQ(jzx_command_register(timing.loop, own[i], &handler), JZX_OK);
        JZX_EXPECT_EQ(jzx_command_register(timing.loop, own[i], &handler), JZX_ERR_EXISTS);
        JZX_EXPECT(jzx_command_get(timing.loop, own[i], &got));
        JZX_EXPECT(got.handle == refuse && got.data == &timing);
    }
    JZX_EXPECT_EQ(jzx_command_register(timing.loop, 300, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_command_register(timing.loop, 0, &handler), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_command_register(NULL, 300, &handler), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_command_register(timing.loop, 300, &(jzx_command_handler){.data = &got}),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_commands_freeze(timing.loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_commands_freeze(timing.loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_command_register(timing.loop, 300, &handler), JZX_ERR_INVALID_STATE);
    JZX_EXPECT(jzx_command_get(timing.loop, 5000, &got));
    JZX_EXPECT(!jzx_command_get(timing.loop, 5001, &got));
    JZX_EXPECT(!jzx_command_get(NULL, 5000, &got));
    struct journal journal = {.plan = yield_once, .numbers = {5000}};
    journal_spawn(&timing, &journal);
    expect_completion(&journal, 0, 5, JZX_ERR_BUSY);
    timing_close(&timing);
}

/* ---- those that every loop has ---- */

/* Runs one command after another: numbers[0] of them were yielded. */
struct script {
    struct journal journal; /* first */
    jzx_actor_id target;
    jzx_spawn_opts opts;
    jzx_command_spawn spawn;
};

static jzx_err talk(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    struct script *script = (void *)journal;
    const uint16_t by_id[] = {JZX_COMMAND_MONITOR,   JZX_COMMAND_MONITOR, JZX_COMMAND_UNMONITOR,
                              JZX_COMMAND_UNMONITOR, JZX_COMMAND_LINK,    JZX_COMMAND_LINK,
                              JZX_COMMAND_UNLINK,    JZX_COMMAND_UNLINK,  JZX_COMMAND_TERMINATE};
    uint64_t number = 77;
    (void)ctx;
    if (journal->steps != 1)
        return JZX_OK;
    JZX_EXPECT_EQ(jzx_out_send(out, 0, script->target, &number, sizeof number, 6), JZX_OK);
    for (uint32_t i = 0; i < sizeof by_id / sizeof by_id[0]; i++)
        JZX_EXPECT_EQ(jzx_out_yield(out, i + 1, by_id[i], &script->target, sizeof(jzx_actor_id)),
                      JZX_OK);
    JZX_EXPECT_EQ(jzx_out_yield(out, 10, JZX_COMMAND_NOW, NULL, 0), JZX_OK);
    return JZX_OK;
}

JZX_TEST(a_process_sends_watches_links_and_terminates_by_commands, "D17", "D20", "D+top", "D+reg") {
    struct timing timing = timing_open_with(JZX_MS(3), NULL);
    struct journal target = {.steps = 0};
    struct script script = {.journal = {.plan = talk}};
    script.target = journal_spawn(&timing, &target);
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &script.journal));
    timing_step(&timing);
    static const jzx_err errors[] = {JZX_OK, JZX_OK, JZX_ERR_EXISTS, JZX_OK, JZX_OK, JZX_OK,
                                     JZX_OK, JZX_OK, JZX_OK,         JZX_OK, JZX_OK};
    JZX_EXPECT_EQ(script.journal.count, 11); /* and no DOWN, no EXIT: both were undone */
    for (uint32_t i = 0; i < script.journal.count && i < 11; i++)
        expect_completion(&script.journal, i, i, errors[i]);
    JZX_EXPECT_EQ(script.journal.notes[10].value, JZX_MS(3));
    JZX_EXPECT_EQ(target.closes, 1);
    timing_close(&timing);
}

static jzx_err talk_to_nobody(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    struct script *script = (void *)journal;
    const uint16_t by_id[] = {JZX_COMMAND_MONITOR, JZX_COMMAND_LINK, JZX_COMMAND_TERMINATE};
    jzx_command_cancel cancel = {.id = script->target};
    (void)ctx;
    if (journal->steps != 1)
        return JZX_OK;
    JZX_EXPECT_EQ(jzx_out_send(out, 0, script->target, NULL, 0, 6), JZX_OK);
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_out_yield(out, i + 1, by_id[i], &script->target, sizeof(jzx_actor_id)),
                      JZX_OK);
    JZX_EXPECT_EQ(jzx_out_yield(out, 4, JZX_COMMAND_CANCEL, &cancel, sizeof cancel), JZX_OK);
    for (uint16_t i = JZX_COMMAND_SEND; i <= JZX_COMMAND_SLEEP; i++)
        JZX_EXPECT_EQ(jzx_out_yield(out, 10u + i, i, "abc", 3), JZX_OK); /* no argument of theirs */
    return JZX_OK;
}

JZX_TEST(commands_about_nobody_and_wrong_arguments_complete_with_errors, "D16", "D+err", "D+top") {
    struct timing timing = timing_open();
    struct journal target = {.steps = 0};
    struct script script = {.journal = {.plan = talk_to_nobody}};
    script.target = journal_spawn(&timing, &target);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, script.target, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &script.journal));
    timing_step(&timing);
    JZX_EXPECT_EQ(script.journal.count, 15);
    for (uint32_t i = 0; i < script.journal.count && i < 15; i++)
        JZX_EXPECT_EQ(script.journal.notes[i].error,
                      i < 5 ? JZX_ERR_NO_SUCH_ACTOR : JZX_ERR_INVALID_ARG);
    timing_close(&timing);
}

static jzx_err spawn_and_cancel(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    struct script *script = (void *)journal;
    if (journal->steps == 1)
        return jzx_out_yield(out, 1, JZX_COMMAND_SPAWN, &script->spawn, sizeof script->spawn);
    if (journal->count == 1) {
        jzx_command_cancel cancel = {
            .id = journal->notes[0].value, .deadline_ns = JZX_MS(9), .text = "why"};
        JZX_EXPECT_EQ(journal->notes[0].len, sizeof(jzx_spawned));
        script->target = cancel.id;
        (void)ctx;
        return jzx_out_yield(out, 2, JZX_COMMAND_CANCEL, &cancel, sizeof cancel);
    }
    return JZX_OK;
}

static char cancel_text[JZX_EXIT_TEXT_MAX + 1];

static jzx_err note_cancel(jzx_context *ctx, const jzx_process_event *events, size_t count,
                           jzx_step_out *out) {
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == JZX_PROCESS_CANCEL)
            memcpy(cancel_text, ((const jzx_stop_notice *)events[i].data)->text,
                   sizeof cancel_text);
    return journal_step(ctx, events, count, out);
}

JZX_TEST(a_process_spawns_a_monitored_one_and_cancels_it, "D18", "D+top") {
    static const jzx_process_ops cancelled =
        JZX_PROCESS_OPS(.init = journal_init, .step = note_cancel, .close = journal_close);
    struct timing timing = timing_open();
    struct journal child = {.steps = 0};
    struct script script = {.journal = {.plan = spawn_and_cancel}};
    script.opts = JZX_SPAWN_OPTS(.process = &cancelled, .state = &child);
    script.spawn = (jzx_command_spawn){.opts = &script.opts, .monitored = true};
    cancel_text[0] = '\0';
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &script.journal));
    timing_step(&timing);
    expect_completion(&script.journal, 0, 1, JZX_OK);
    expect_completion(&script.journal, 1, 2, JZX_OK);
    expect_note(&child, 0, JZX_PROCESS_CANCEL, JZX_TAG_STOP, JZX_OK);
    JZX_EXPECT_EQ(child.notes[0].value, JZX_MS(9));
    assert_string_equal(cancel_text, "why");
    timing_advance(&timing, JZX_MS(9));
    JZX_EXPECT_EQ(child.closes, 1);
    expect_note(&script.journal, 2, JZX_PROCESS_MESSAGE, JZX_TAG_DOWN, JZX_OK);
    JZX_EXPECT_EQ(script.journal.notes[2].value, script.target);
    timing_close(&timing);
}

static jzx_err sleep_twice(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    uint64_t first = JZX_MS(30);
    uint64_t second = JZX_MS(10);
    uint64_t past = 0;
    (void)ctx;
    if (journal->steps != 1)
        return JZX_OK;
    JZX_EXPECT_EQ(jzx_out_yield(out, 1, JZX_COMMAND_SLEEP, &first, sizeof first), JZX_OK);
    JZX_EXPECT_EQ(jzx_out_yield(out, 2, JZX_COMMAND_SLEEP, &second, sizeof second), JZX_OK);
    return jzx_out_yield(out, 3, JZX_COMMAND_SLEEP, &past, sizeof past);
}

JZX_TEST(a_process_sleeps_for_several_times_at_once, "D17", "D+reg") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = sleep_twice};
    journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(journal.count, 1);
    expect_completion(&journal, 0, 3, JZX_OK);
    timing_advance(&timing, JZX_MS(9));
    JZX_EXPECT_EQ(journal.count, 1);
    timing_advance(&timing, JZX_MS(1));
    expect_completion(&journal, 1, 2, JZX_OK);
    timing_advance(&timing, JZX_MS(20));
    expect_completion(&journal, 2, 1, JZX_OK);
    JZX_EXPECT_EQ(journal.count, 3);
    timing_close(&timing);
}

/* ---- links ---- */

static jzx_err link_and_fail_later(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    if (journal->steps == 1)
        return jzx_out_yield(out, 1, JZX_COMMAND_LINK, &journal->other, sizeof journal->other);
    return journal->count == 2 ? JZX_ERR_BUSY : JZX_OK;
}

static jzx_err trap_init(jzx_context *ctx, const char *method, const void *input, size_t len) {
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
    return journal_init(ctx, method, input, len);
}

JZX_TEST(a_link_takes_the_other_down_or_is_an_event, "D+top") {
    static const jzx_process_ops trapping = {
        .size = sizeof trapping, .init = trap_init, .step = journal_step, .close = journal_close};
    for (uint32_t traps = 0; traps < 2; traps++) {
        struct timing timing = timing_open();
        struct journal other = {.steps = 0};
        struct journal journal = {.plan = link_and_fail_later};
        journal.other =
            fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = traps ? &trapping : &journal_ops,
                                                       .state = &other));
        timing_step(&timing);
        jzx_actor_id id = journal_spawn(&timing, &journal);
        fixture_send(timing.loop, id, 1);
        timing_step(&timing);
        JZX_EXPECT_EQ(journal.closes, 1);
        JZX_EXPECT_EQ(other.closes, traps ? 0 : 1);
        JZX_EXPECT_EQ(other.count, traps);
        if (traps)
            expect_note(&other, 0, JZX_PROCESS_MESSAGE, JZX_TAG_EXIT, JZX_OK);
        timing_close(&timing);
    }
}
