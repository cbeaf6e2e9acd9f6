/* SPDX-License-Identifier: MIT */
/* Processes: init, steps, messages, ends, and what is refused. */
#include "processes.h"

#include <pthread.h>

#include <jzx/ask.h>
#include <jzx/group.h>
#include <jzx/name.h>
#include <jzx/schedule.h>
#include <jzx/supervisor.h>

/* ---- init ---- */

JZX_TEST(init_gets_the_method_and_a_copy_of_the_input, "D1", "D2") {
    struct timing timing = timing_open();
    struct journal journal = {.steps = 0};
    uint64_t input = 42;
    char method[] = "count";
    fixture_spawn(timing.loop,
                  &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &journal, .method = method,
                                  .input = &input, .input_len = sizeof input));
    input = 7;
    method[0] = 'x';
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.inits, 1);
    assert_string_equal(journal.method, "count");
    JZX_EXPECT_EQ(journal.input, 42);
    JZX_EXPECT_EQ(journal.input_len, sizeof input);
    JZX_EXPECT_EQ(journal.steps, 1); /* the first step has no events */
    JZX_EXPECT_EQ(journal.count, 0);
    JZX_EXPECT_EQ(journal.closes, 0);
    timing_close(&timing);
    JZX_EXPECT_EQ(journal.closes, 1);
}

static jzx_err choose_method(jzx_context *ctx, const char *method, const void *input, size_t len) {
    (void)ctx, (void)input, (void)len;
    return strcmp(method, "known") == 0 ? JZX_OK : JZX_ERR_UNKNOWN_METHOD;
}

static const jzx_process_ops choosy = {
    .size = sizeof choosy, .init = choose_method, .step = journal_step, .close = journal_close};

static void *submit_wrong(void *arg) {
    jzx_loop *loop = arg;
    struct journal journal = {.steps = 0};
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(
        jzx_spawn_wait(loop,
                       &JZX_SPAWN_OPTS(.process = &choosy, .state = &journal, .method = "unknown"),
                       JZX_NEVER, &id),
        JZX_ERR_UNKNOWN_METHOD);
    JZX_EXPECT_EQ(id, JZX_NOBODY);
    JZX_EXPECT_EQ(journal.steps, 0);
    JZX_EXPECT_EQ(journal.closes, 1);
    JZX_EXPECT_EQ(jzx_loop_release(loop), JZX_OK);
    return NULL;
}

JZX_TEST(an_unknown_method_fails_the_init_and_nothing_is_left, "D2", "D19", "D+err") {
    jzx_loop *loop = fixture_loop();
    pthread_t thread;
    assert_int_equal(jzx_loop_hold(loop), JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, submit_wrong, loop), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    pthread_join(thread, NULL);
    fixture_destroy(loop);
}

JZX_TEST(wrong_processes_are_refused, "D+err") {
    jzx_loop *loop = fixture_loop();
    struct journal journal = {.steps = 0};
    const jzx_process_ops no_step = {.size = sizeof no_step, .init = journal_init};
    const jzx_process_ops no_size = {.step = journal_step};
    const jzx_spawn_opts wrong[] = {
        JZX_SPAWN_OPTS(.process = &no_step),
        JZX_SPAWN_OPTS(.process = &no_size),
        JZX_SPAWN_OPTS(.process = &journal_ops, .behavior = record),
        JZX_SPAWN_OPTS(.process = &journal_ops, .input_len = 1),
        JZX_SPAWN_OPTS(.process = &journal_ops, .stack_size_bytes = 65536),
        JZX_SPAWN_OPTS(.behavior = record, .method = "m"),
        JZX_SPAWN_OPTS(.behavior = record, .input = &journal),
        JZX_SPAWN_OPTS(.behavior = record, .input_len = 3),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        JZX_EXPECT_EQ(jzx_spawn(loop, &wrong[i], NULL), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

/* ---- messages ---- */

JZX_TEST(messages_are_events_in_their_order_and_several_come_in_one_step, "D3", "D4", "D15",
         "D16") {
    struct timing timing = timing_open();
    struct journal journal = {.steps = 0};
    jzx_actor_id id = journal_spawn(&timing, &journal);
    for (uint64_t i = 0; i < 20; i++)
        send_number(timing.loop, id, JZX_NOBODY, 100 + i, (uint32_t)i);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.count, 20);
    for (uint32_t i = 0; i < journal.count; i++) {
        expect_note(&journal, i, JZX_PROCESS_MESSAGE, i, JZX_OK);
        JZX_EXPECT_EQ(journal.notes[i].value, 100 + i);
        JZX_EXPECT_EQ(journal.notes[i].step, i < JZX_PROCESS_EVENTS_MAX ? 2 : 3);
    }
    timing_close(&timing);
}

static jzx_err answer_all(jzx_context *ctx, const jzx_process_event *events, size_t count,
                          jzx_step_out *out) {
    uint32_t *answered = ctx->state;
    (void)out;
    for (size_t i = 0; i < count; i++) {
        if (!JZX_EXPECT_EQ(jzx_event_open(ctx, &events[i]), JZX_OK))
            continue;
        JZX_EXPECT_EQ(jzx_reply(ctx, &events[i].message, events[i].data, events[i].len, 9), JZX_OK);
        ++*answered;
    }
    return JZX_OK;
}

static void ask_three(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    for (uint64_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_ask(ctx, life->other, &i, sizeof i, 1, JZX_NEVER, NULL), JZX_OK);
    for (uint64_t i = 0; i < 3; i++) {
        if (JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK)) {
            JZX_EXPECT_EQ(msg.tag, 9);
            JZX_EXPECT_EQ(number_of(&msg), i);
        }
    }
    life->finished++;
}

JZX_TEST(a_process_answers_each_of_the_questions_of_one_step, "D4") {
    struct timing timing = timing_open();
    uint32_t answered = 0;
    static const jzx_process_ops ops = {.size = sizeof ops, .step = answer_all};
    struct life life = {
        .other = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = &ops, .state = &answered))};
    timing_fiber(&timing, ask_three, &life);
    JZX_EXPECT_EQ(life.finished, 1);
    JZX_EXPECT_EQ(answered, 3);
    timing_close(&timing);
}

static jzx_err take_second(jzx_context *ctx, const jzx_process_event *events, size_t count,
                           jzx_step_out *out) {
    void **kept = ctx->state;
    (void)out;
    if (count < 2)
        return JZX_OK;
    JZX_EXPECT(jzx_msg_take(ctx, &events[1].message) == NULL); /* it is not open */
    JZX_EXPECT_EQ(jzx_event_open(ctx, &events[1]), JZX_OK);
    *kept = jzx_msg_take(ctx, &events[1].message);
    JZX_EXPECT_EQ(jzx_event_open(ctx, &events[1]), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_event_open(ctx, &events[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_event_open(ctx, events + count), JZX_ERR_INVALID_ARG);
    return JZX_OK;
}

JZX_TEST(a_process_takes_the_payload_of_one_event, "D4") {
    struct timing timing = timing_open();
    void *kept = NULL;
    static const jzx_process_ops ops = {.size = sizeof ops, .step = take_second};
    jzx_actor_id id = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = &ops, .state = &kept));
    timing_step(&timing);
    for (uint64_t i = 0; i < 3; i++)
        send_number(timing.loop, id, JZX_NOBODY, i, 1);
    timing_step(&timing);
    if (JZX_EXPECT(kept != NULL)) {
        uint64_t number;
        memcpy(&number, kept, sizeof number);
        JZX_EXPECT_EQ(number, 1);
        jzx_msg_free(timing.loop, kept);
    }
    timing_close(&timing);
}

/* ---- statuses ---- */

static struct journal bystander;

static jzx_err continue_five_times(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    if (journal->steps < 5)
        jzx_out_continue(out);
    else if (journal->steps == 5)
        journal->numbers[0] = bystander.count;
    if (journal->steps == 2)
        fixture_send(ctx->loop, journal->other, 1);
    return JZX_OK;
}

JZX_TEST(a_process_that_continues_is_stepped_again_and_lets_others_run, "D3", "D+step") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = continue_five_times};
    journal.other = journal_spawn(&timing, &bystander);
    journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(journal.steps, 5);
    JZX_EXPECT_EQ(journal.numbers[0], 1); /* the other had its turn before the last step */
    JZX_EXPECT_EQ(bystander.count, 1);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.steps, 5);
    timing_close(&timing);
}

static jzx_err fail_at_two(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx, (void)out;
    return journal->count == 2 && journal->closes == 0 ? JZX_ERR_BUSY : JZX_OK;
}

static void expect_end_of(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_exit_notice how;
    life->err = jzx_join(ctx, life->other, JZX_NEVER, &how);
    life->reason = how.reason;
    JZX_EXPECT(strstr(how.text, "JZX_ERR_BUSY") != NULL);
    life->finished++;
}

JZX_TEST(a_step_that_fails_ends_the_process_with_its_error_in_the_text, "D1", "D19") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = fail_at_two};
    struct life life = {.other = journal_spawn(&timing, &journal)};
    timing_fiber(&timing, expect_end_of, &life);
    fixture_send(timing.loop, life.other, 1);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.closes, 0);
    fixture_send(timing.loop, life.other, 2);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.closes, 1);
    JZX_EXPECT_EQ(life.finished, 1);
    timing_close(&timing);
}

/* ---- ends ---- */

static jzx_err yield_held(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    if (journal->steps == 1)
        JZX_EXPECT_EQ(jzx_out_yield(out, 1, HELD, NULL, 0), JZX_OK);
    return JZX_OK;
}

JZX_TEST(terminate_idle, "D12", "D19", "D+tests") {
    struct timing timing = timing_open();
    struct journal journal = {.steps = 0};
    jzx_actor_id id = journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.closes, 1);
    JZX_EXPECT_EQ(journal.steps, 1);
    timing_close(&timing);
    JZX_EXPECT_EQ(journal.closes, 1);
}

JZX_TEST(terminate_blocked, "D12", "D19", "D+tests") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = yield_held};
    register_held(timing.loop);
    jzx_actor_id id = journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(held_count, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.closes, 1);
    JZX_EXPECT_EQ(held_cancelled, 1);
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 1, JZX_OK), JZX_ERR_NO_SUCH_OP);
    timing_close(&timing);
}

JZX_TEST(send_to_terminated, "D16", "D+err", "D+q", "D+tests") {
    struct timing timing = timing_open();
    struct journal journal = {.steps = 0};
    jzx_actor_id id = journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_send(timing.loop, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(journal.count, 0);
    timing_close(&timing);
}

JZX_TEST(submit_before_start, "D+tests", "D+err") {
    jzx_loop *loop = fixture_loop();
    struct journal journal = {.steps = 0};
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &journal));
    fixture_send(loop, id, 5);
    JZX_EXPECT_EQ(journal.inits, 0);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(journal.inits, 1);
    JZX_EXPECT_EQ(journal.count, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(journal.closes, 1);
}

JZX_TEST(a_process_that_never_ran_is_closed_once, "D19") {
    jzx_loop *loop = fixture_loop();
    struct journal journal = {.steps = 0};
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &journal));
    fixture_destroy(loop);
    JZX_EXPECT_EQ(journal.inits, 0);
    JZX_EXPECT_EQ(journal.closes, 1);
}

JZX_TEST(submit_after_stopping, "D18", "D+err", "D+tests") {
    struct timing timing = timing_open();
    struct journal stubborn = {.steps = 0};
    struct journal late = {.steps = 0};
    journal_spawn(&timing, &stubborn);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_MS(100)), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(
        jzx_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &late), NULL),
        JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(late.inits + late.closes, 0);
    timing_close(&timing);
    JZX_EXPECT_EQ(stubborn.closes, 1);
}

static jzx_err exit_at_once(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)out;
    if (journal->count != 0)
        jzx_exit(ctx, JZX_EXIT_PANIC, "enough");
    return JZX_OK;
}

JZX_TEST(jzx_exit_leaves_a_step_and_all_its_events_are_released, "D19") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = exit_at_once};
    jzx_actor_id id = journal_spawn(&timing, &journal);
    for (uint64_t i = 0; i < 5; i++)
        send_number(timing.loop, id, JZX_NOBODY, i, 1);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.closes, 1);
    timing_close(&timing);
}

/* ---- cancel ---- */

static jzx_err done_when_cancelled(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    if (journal->count != 0 && journal->notes[journal->count - 1].kind == JZX_PROCESS_CANCEL)
        return jzx_out_done(out, NULL, 0);
    return JZX_OK;
}

JZX_TEST(ten_of_ten_processes_end_by_themselves_when_the_loop_stops, "D18", "D+stop") {
    struct timing timing = timing_open();
    static struct journal journals[10];
    memset(journals, 0, sizeof journals);
    for (uint32_t i = 0; i < 10; i++) {
        journals[i].plan = done_when_cancelled;
        journal_spawn(&timing, &journals[i]);
    }
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_MS(200)), JZX_OK);
    timing_step(&timing);
    for (uint32_t i = 0; i < 10; i++) {
        JZX_EXPECT_EQ(journals[i].closes, 1);
        expect_note(&journals[i], 0, JZX_PROCESS_CANCEL, JZX_TAG_STOP, JZX_OK);
        JZX_EXPECT_EQ(journals[i].notes[0].value, JZX_MS(200)); /* the deadline */
    }
    timing_close(&timing);
}

JZX_TEST(a_stubborn_process_is_ended_at_the_deadline_of_the_stop, "D18", "D+stop") {
    struct timing timing = timing_open();
    struct journal journal = {.steps = 0};
    journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_MS(200)), JZX_OK);
    timing_advance(&timing, JZX_MS(199));
    JZX_EXPECT_EQ(journal.count, 1);
    JZX_EXPECT_EQ(journal.closes, 0);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(1)), JZX_OK);
    (void)jzx_loop_step(timing.loop, JZX_NEVER);
    JZX_EXPECT_EQ(journal.closes, 1);
    timing_close(&timing);
}

JZX_TEST(a_cancel_is_an_event_before_waiting_messages_and_then_the_process_is_killed, "D18",
         "D+top") {
    struct timing timing = timing_open();
    struct journal journal = {.steps = 0};
    jzx_actor_id id = journal_spawn(&timing, &journal);
    fixture_send(timing.loop, id, 1);
    JZX_EXPECT_EQ(jzx_actor_cancel(timing.loop, id, JZX_MS(30), "why"), JZX_OK);
    timing_step(&timing);
    expect_note(&journal, 0, JZX_PROCESS_CANCEL, JZX_TAG_STOP, JZX_OK);
    expect_note(&journal, 1, JZX_PROCESS_MESSAGE, 1, JZX_OK);
    timing_advance(&timing, JZX_MS(30));
    JZX_EXPECT_EQ(journal.closes, 1);
    timing_close(&timing);
}

/* ---- children, jobs ---- */

JZX_TEST(a_supervised_process_is_started_again_with_its_method_and_input, "D1", "D2") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = fail_at_two};
    uint64_t input = 17;
    jzx_child_spec children[] = {{.name = "p",
                                  .process = &journal_ops,
                                  .state = &journal,
                                  .registered = "p",
                                  .method = "again",
                                  .input = &input,
                                  .input_len = sizeof input}};
    JZX_EXPECT_EQ(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), NULL),
        JZX_OK);
    input = 0;
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.inits, 1);
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_lookup(timing.loop, "p", &id), JZX_OK);
    fixture_send(timing.loop, id, 1);
    fixture_send(timing.loop, id, 2);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.inits, 2);
    JZX_EXPECT_EQ(journal.closes, 1);
    JZX_EXPECT_EQ(journal.input, 17);
    assert_string_equal(journal.method, "again");
    const char *field = NULL;
    children[0].behavior = record;
    JZX_EXPECT_EQ(jzx_supervisor_check(&JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), &field),
                  JZX_ERR_INVALID_ARG);
    assert_string_equal(field, "process");
    timing_close(&timing);
    JZX_EXPECT_EQ(journal.closes, 2);
}

/* The methods of the inits that have run. */
static char begun[8];

static jzx_err note_begin(jzx_context *ctx, const char *method, const void *input, size_t len) {
    (void)ctx, (void)input, (void)len;
    strncat(begun, method, sizeof begun - strlen(begun) - 1);
    jzx_test_ran();
    return JZX_OK;
}

static jzx_err end_when_cancelled(jzx_context *ctx, const jzx_process_event *events, size_t count,
                                  jzx_step_out *out) {
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == JZX_PROCESS_CANCEL)
            return jzx_out_done(out, NULL, 0);
    }
    return JZX_OK;
}

JZX_TEST(processes_of_a_supervisor_start_one_after_another, "D1") {
    static const jzx_process_ops ops = {
        .size = sizeof ops, .init = note_begin, .step = end_when_cancelled};
    struct timing timing = timing_open();
    jzx_child_spec children[] = {{.name = "a", .process = &ops, .method = "a"},
                                 {.name = "b", .process = &ops, .method = "b"},
                                 {.name = "c", .process = &ops, .method = "c"}};
    begun[0] = '\0';
    JZX_EXPECT_EQ(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), NULL),
        JZX_OK);
    for (int i = 0; i < 4; i++)
        timing_step(&timing);
    assert_string_equal(begun, "abc");
    timing_close(&timing);
}

/* Moves the clock in its step: a long one. */
static jzx_err take_time(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)out;
    if (journal->count < 3 && journal->count == journal->numbers[0] + 1) {
        journal->numbers[journal->count] = jzx_loop_now(ctx->loop);
        journal->numbers[0]++;
        JZX_EXPECT_EQ(jzx_clock_advance((jzx_clock *)(uintptr_t)journal->other, JZX_MS(30)),
                      JZX_OK);
    }
    return JZX_OK;
}

JZX_TEST(a_job_with_fixed_delay_counts_from_the_end_of_the_step, "B69") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = take_time, .other = (uintptr_t)timing.clock};
    jzx_actor_id id = journal_spawn(&timing, &journal);
    jzx_job_id job;
    JZX_EXPECT_EQ(jzx_schedule_with_fixed_delay(timing.loop, (int64_t)JZX_MS(50),
                                                (int64_t)JZX_MS(100), id, JZX_NOBODY, NULL, 0, 7,
                                                &job),
                  JZX_OK);
    for (uint32_t i = 0; i < 40; i++)
        timing_advance(&timing, JZX_MS(10));
    JZX_EXPECT(journal.count >= 2);
    /* The step took 30 ms, and the delay of 100 ms began after it. */
    JZX_EXPECT(journal.numbers[2] - journal.numbers[1] >= JZX_MS(130));
    JZX_EXPECT(journal.numbers[2] - journal.numbers[1] <= JZX_MS(150));
    timing_close(&timing);
}

/* ---- states ---- */

static jzx_err look_at_itself(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    JZX_EXPECT_EQ(listed_state_of(ctx->loop, ctx->self), JZX_PROCESS_RUNNING);
    if (journal->count == 1)
        JZX_EXPECT_EQ(jzx_out_yield(out, 1, HELD, NULL, 0), JZX_OK);
    return JZX_OK;
}

JZX_TEST(the_states_of_a_process_are_listed, "D12", "D+def", "D+st", "X30") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = look_at_itself};
    struct recorder recorder = {.count = 0};
    register_held(timing.loop);
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder));
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &journal,
                                                   .name = "p", .account = true));
    JZX_EXPECT_EQ(listed_state_of(timing.loop, id), JZX_PROCESS_READY);
    timing_step(&timing);
    JZX_EXPECT_EQ(listed_state_of(timing.loop, id), JZX_PROCESS_IDLE);
    fixture_send(timing.loop, id, 1);
    JZX_EXPECT_EQ(listed_state_of(timing.loop, id), JZX_PROCESS_READY);
    timing_step(&timing);
    JZX_EXPECT_EQ(listed_state_of(timing.loop, id), JZX_PROCESS_BLOCKED);
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 1, JZX_OK), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(listed_state_of(timing.loop, id), JZX_PROCESS_IDLE);
    jzx_process_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    JZX_EXPECT_EQ(jzx_process_next(timing.loop, &cursor, &info), JZX_OK);
    JZX_EXPECT_EQ(info.id, id);
    JZX_EXPECT_EQ(info.actor.steps, 3);
    assert_string_equal(info.actor.name, "p");
    JZX_EXPECT_EQ(jzx_process_next(timing.loop, &cursor, &info), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_process_next(timing.loop, NULL, &info), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_process_next(timing.loop, &cursor, NULL), JZX_ERR_INVALID_ARG);
    assert_string_equal(jzx_process_state_name(JZX_PROCESS_BLOCKED), "blocked");
    timing_close(&timing);
}

JZX_TEST(a_queue_that_is_filled_and_emptied_many_times_keeps_its_order, "D15", "D+q", "D+tests") {
    struct timing timing = timing_open(); /* QueueWrapAround */
    struct journal journal = {.steps = 0};
    jzx_actor_id id = journal_spawn(&timing, &journal);
    uint64_t sent = 0;
    for (uint32_t round = 1; round <= 50; round++) {
        journal.count = 0;
        for (uint32_t i = 0; i < round; i++)
            send_number(timing.loop, id, JZX_NOBODY, sent + i, 1);
        timing_step(&timing);
        JZX_EXPECT_EQ(journal.count, round);
        for (uint32_t i = 0; i < journal.count; i++)
            JZX_EXPECT_EQ(journal.notes[i].value, sent + i);
        sent += round;
    }
    timing_close(&timing);
}

JZX_TEST(zero_alloc_push_pop, "D+q", "D+tests") {
    struct timing timing = timing_open();
    struct journal journal = {.steps = 0};
    jzx_actor_id id = journal_spawn(&timing, &journal);
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    uint64_t before = fixture_allocations();
    for (uint32_t round = 0; round < 100; round++) {
        journal.count = 0;
        fixture_send(timing.loop, id, 1);
        timing_step(&timing);
        JZX_EXPECT_EQ(journal.count, 1);
    }
    JZX_EXPECT_EQ(fixture_allocations(), before);
    timing_close(&timing);
}

/* ---- capacity ---- */

struct tally {
    uint32_t steps;
    uint32_t most; /* events in one step */
    uint32_t next; /* tag of the message that comes next */
};

static jzx_err tally_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                          jzx_step_out *out) {
    struct tally *tally = ctx->state;
    (void)out;
    tally->steps++;
    tally->most = count > tally->most ? (uint32_t)count : tally->most;
    for (size_t i = 0; i < count; i++)
        JZX_EXPECT_EQ(events[i].tag, tally->next++);
    return JZX_OK;
}

JZX_TEST(a_step_has_room_for_16_events_and_the_queue_grows_beyond, "D+q", "C11") {
    static const jzx_process_ops ops = JZX_PROCESS_OPS(.step = tally_step);
    jzx_loop *loop = fixture_loop();
    struct tally tally = {.steps = 0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &ops, .state = &tally));
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(JZX_PROCESS_EVENTS_MAX, 16);
    for (uint32_t i = 0; i < JZX_DEFAULT_MAILBOX_CAP; i++)
        fixture_send(loop, id, i);
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_MAILBOX_FULL);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(tally.next, JZX_DEFAULT_MAILBOX_CAP);
    JZX_EXPECT_EQ(tally.most, 16);
    JZX_EXPECT_EQ(tally.steps, 1 + JZX_DEFAULT_MAILBOX_CAP / 16);
    fixture_destroy(loop);
}

/* ---- a process that is not idle ---- */

static jzx_err send_to_itself(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    jzx_process_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    (void)out;
    JZX_EXPECT_EQ(jzx_process_next(ctx->loop, &cursor, &info), JZX_OK);
    JZX_EXPECT_EQ(info.state, JZX_PROCESS_RUNNING);
    if (journal->steps <= 3)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, journal->steps), JZX_OK);
    return JZX_OK;
}

JZX_TEST(a_process_that_is_not_idle_is_sent_to_and_stepped_once_more, "D+err", "D13") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = send_to_itself};
    journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(journal.steps, 4);
    JZX_EXPECT_EQ(journal.count, 3);
    for (uint32_t i = 0; i < journal.count; i++) {
        expect_note(&journal, i, JZX_PROCESS_MESSAGE, i + 1, JZX_OK);
        JZX_EXPECT_EQ(journal.notes[i].step, i + 2); /* after the step, not inside it */
    }
    timing_close(&timing);
}

/* ---- a start that fails ---- */

static jzx_actor_id neighbour;

static jzx_err begin_and_fail(jzx_context *ctx, const char *method, const void *input, size_t len) {
    jzx_actor_id child = JZX_NOBODY;
    jzx_monitor_ref ref;
    (void)method, (void)input, (void)len;
    JZX_EXPECT_EQ(jzx_register(ctx->loop, "starter", ctx->self), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_join(ctx, "starters"), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_monitor(ctx, "others", NULL, 0, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, neighbour, &ref), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, 9, JZX_SECOND(1)), JZX_OK);
    JZX_EXPECT(jzx_alloc(ctx, 10000) != NULL);
    JZX_EXPECT_EQ(jzx_spawn_watched(ctx, &JZX_SPAWN_OPTS(.behavior = record), true, &child, NULL),
                  JZX_OK);
    jzx_test_ran();
    return JZX_ERR_UNKNOWN_METHOD;
}

JZX_TEST(a_start_that_fails_is_rolled_back, "D+err", "D19") {
    static const jzx_process_ops ops =
        JZX_PROCESS_OPS(.init = begin_and_fail, .step = journal_step, .close = journal_close);
    struct timing timing = timing_open();
    struct journal journal = {.steps = 0};
    jzx_actor_id found = JZX_NOBODY;
    size_t count = 77;
    neighbour = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = record, .daemon = true));
    timing_step(&timing);
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.process = &ops, .state = &journal));
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(journal.steps, 0);
    JZX_EXPECT_EQ(journal.closes, 1);
    JZX_EXPECT_EQ(jzx_lookup(timing.loop, "starter", &found), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_group_members(timing.loop, "starters", NULL, 0, &count), JZX_OK);
    JZX_EXPECT_EQ(count, 0);
    JZX_EXPECT(!jzx_loop_alive(timing.loop)); /* its linked child has ended with it */
    JZX_EXPECT_EQ(jzx_loop_next_deadline(timing.loop), JZX_NEVER);
    timing_close(&timing);
}
