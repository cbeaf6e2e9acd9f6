/* SPDX-License-Identifier: MIT */
/* Fibers that wait for a time, an answer or an end; who may not wait; and turns among fibers. */
#include "fibering.h"

#include <jzx/ask.h>
#include <jzx/context.h>

static void run(jzx_loop *loop) {
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
}

/* ---- questions ---- */

/* Tags of questions: what the desk does with them. */
enum { NOW = 1, LATE, TWICE, DIE, DROP, ANSWER = 100 };

struct desk {
    jzx_ask_handle kept;
    uint32_t asked;
};

static jzx_behavior_result be_desk(jzx_context *ctx, const jzx_message *msg) {
    struct desk *desk = ctx->state;
    jzx_ask_handle handle = jzx_ask_from(ctx, msg);
    desk->asked++;
    switch (msg->tag) {
    case NOW: JZX_EXPECT_EQ(jzx_reply(ctx, msg, msg->data, msg->len, ANSWER), JZX_OK); break;
    case LATE: desk->kept = handle; break;
    case TWICE:
        JZX_EXPECT_EQ(jzx_reply(ctx, msg, msg->data, msg->len, ANSWER), JZX_OK);
        JZX_EXPECT_EQ(jzx_reply_to(ctx->loop, handle, ctx->self, NULL, 0, ANSWER), JZX_OK);
        break;
    case DIE: return JZX_BEHAVIOR_FAIL;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}

/* A desk, and a fiber that has it as its other. */
struct office {
    struct timing timing;
    struct desk desk;
    struct life life;
    jzx_actor_id id;
};

static void office_open(struct office *office, jzx_fiber_fn fn) {
    *office = (struct office){.timing = timing_open()};
    office->life.other = fixture_spawn(
        office->timing.loop,
        &JZX_SPAWN_OPTS(.behavior = be_desk, .state = &office->desk, .mailbox_cap = 4));
    timing_step(&office->timing);
    office->id = timing_fiber(&office->timing, fn, &office->life);
}

static void office_close(struct office *office) {
    assert_int_equal(office->life.finished, 1);
    assert_int_equal(timing_pending(office->timing.loop), 0);
    timing_close(&office->timing);
}

static jzx_err call(jzx_context *ctx, uint64_t number, uint32_t tag, uint64_t deadline_ns,
                    jzx_message *answer) {
    const struct life *life = ctx->state;
    return jzx_call(ctx, life->other, &number, sizeof number, tag, deadline_ns, answer);
}

static void call_often(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message answer;
    jzx_message msg;
    fixture_send(ctx->loop, ctx->self, 50);
    for (uint64_t i = 0; i < 200; i++) {
        JZX_EXPECT_EQ(call(ctx, i, i % 2 ? NOW : TWICE, JZX_NEVER, &answer), JZX_OK);
        JZX_EXPECT_EQ(answer.tag, ANSWER);
        JZX_EXPECT_EQ(answer.sender, life->other);
        JZX_EXPECT_EQ(number_of(&answer), i);
    }
    expect_next(ctx, 50);                   /* what else has come stays */
    JZX_EXPECT_EQ(number_of(&answer), 199); /* until the next call */
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(number_of(&answer), 199);
    life->finished++;
}

JZX_TEST(a_call_returns_the_answer) {
    struct office office;
    office_open(&office, call_often);
    assert_int_equal(office.desk.asked, 200);
    assert_int_equal(fixture_stats(office.timing.loop).dead, 100); /* the second answers */
    office_close(&office);
}

static void take_answer(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message answer;
    jzx_message msg;
    fixture_send(ctx->loop, ctx->self, 50);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(call(ctx, 7, NOW, JZX_NEVER, &answer), JZX_OK);
    uint64_t *data = jzx_msg_take(ctx, &answer);
    JZX_EXPECT_EQ(jzx_msg_take(ctx, &answer), NULL);
    JZX_EXPECT_EQ(jzx_stash(ctx, &msg), JZX_OK); /* the message in hand is that of the receive */
    JZX_EXPECT_EQ(call(ctx, 8, NOW, JZX_NEVER, &answer), JZX_OK);
    JZX_EXPECT_EQ(*data, 7);
    JZX_EXPECT_EQ(number_of(&answer), 8);
    jzx_msg_free(ctx->loop, data);
    JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
    expect_next(ctx, 50);
    life->finished++;
}

JZX_TEST(the_answer_to_a_call_can_be_taken) {
    struct office office;
    office_open(&office, take_answer);
    office_close(&office);
}

static void call_in_vain(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message answer = {.tag = 99};
    jzx_message msg;
    JZX_EXPECT_EQ(call(ctx, 1, LATE, JZX_MS(10), &answer), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), JZX_MS(10));
    JZX_EXPECT_EQ(answer.tag, 99);
    expect_next(ctx, 50); /* the late answer is not before it */
    JZX_EXPECT_EQ(call(ctx, 2, NOW, JZX_NEVER, &answer), JZX_OK);
    JZX_EXPECT_EQ(number_of(&answer), 2);
    JZX_EXPECT_EQ(call(ctx, 3, NOW, 0, &answer), JZX_ERR_TIMEOUT); /* it was asked all the same */
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT);
    life->finished++;
}

JZX_TEST(an_answer_after_the_deadline_is_a_dead_letter) {
    struct office office;
    office_open(&office, call_in_vain);
    timing_advance(&office.timing, JZX_MS(10) - 1);
    assert_int_equal(office.desk.asked, 1);
    timing_advance(&office.timing, 1);
    assert_int_equal(
        jzx_reply_to(office.timing.loop, office.desk.kept, JZX_NOBODY, NULL, 0, ANSWER), JZX_OK);
    fixture_send(office.timing.loop, office.id, 50);
    timing_step(&office.timing);
    assert_int_equal(office.desk.asked, 3);
    assert_int_equal(fixture_stats(office.timing.loop).dead, 2);
    office_close(&office);
}

static void call_who_dies(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message answer;
    jzx_message msg;
    JZX_EXPECT_EQ(call(ctx, 1, DIE, JZX_SECOND(1), &answer), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), 0); /* at once */
    JZX_EXPECT_EQ(call(ctx, 1, NOW, JZX_SECOND(1), &answer), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT); /* no DOWN is left */
    life->finished++;
}

JZX_TEST(a_call_returns_at_once_when_the_asked_actor_ends) {
    struct office office;
    office_open(&office, call_who_dies);
    office_close(&office);
}

static void call_who_is_killed(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message answer;
    life->err = call(ctx, 1, LATE, JZX_NEVER, &answer);
    life->finished++;
}

JZX_TEST(a_call_returns_when_the_asked_actor_is_killed_or_stopped) {
    for (jzx_stop_kind kind = JZX_STOP_AFTER_MESSAGE; kind <= JZX_STOP_KILL; kind++) {
        struct office office;
        office_open(&office, call_who_is_killed);
        assert_int_equal(office.life.finished, 0);
        assert_int_equal(jzx_actor_stop(office.timing.loop, office.life.other, kind), JZX_OK);
        timing_step(&office.timing);
        assert_int_equal(office.life.err, JZX_ERR_NO_SUCH_ACTOR);
        office_close(&office);
    }
}

static void call_who_is_full(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message answer;
    for (int i = 0; i < 4; i++)
        fixture_send(ctx->loop, life->other, DROP);
    JZX_EXPECT_EQ(call(ctx, 1, NOW, JZX_NEVER, &answer), JZX_ERR_MAILBOX_FULL);
    JZX_EXPECT_EQ(jzx_call(ctx, life->other, NULL, 1, NOW, JZX_NEVER, &answer),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(call(ctx, 1, JZX_TAG_RESERVED, JZX_NEVER, &answer), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    JZX_EXPECT_EQ(call(ctx, 1, NOW, JZX_NEVER, &answer), JZX_OK);
    life->finished++;
}

JZX_TEST(a_call_has_the_errors_of_a_send, "C+fail") {
    struct office office;
    office_open(&office, call_who_is_full);
    office_close(&office);
}

/* Each asks the next, and the last answers. */
static void pass_question_on(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    jzx_message answer;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, NOW, JZX_NEVER, &msg), JZX_OK);
    uint64_t number = number_of(&msg) + 1;
    if (life->other != JZX_NOBODY) {
        JZX_EXPECT_EQ(call(ctx, number, NOW, JZX_NEVER, &answer), JZX_OK);
        number = number_of(&answer);
    }
    JZX_EXPECT_EQ(jzx_reply(ctx, &msg, &number, sizeof number, ANSWER), JZX_OK);
    life->finished++;
}

static void ask_the_first(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message answer;
    JZX_EXPECT_EQ(call(ctx, 0, NOW, JZX_NEVER, &answer), JZX_OK);
    JZX_EXPECT_EQ(number_of(&answer), 100);
    life->finished++;
}

JZX_TEST(fibers_that_are_asked_may_ask_others) {
    static struct life lives[100];
    jzx_loop *loop = fixture_loop();
    struct life asker = {0};
    for (uint32_t i = 0; i < 100; i++) {
        lives[i] = (struct life){.other = asker.other};
        asker.other = spawn_fiber(loop, pass_question_on, &lives[i]);
    }
    spawn_fiber(loop, ask_the_first, &asker);
    run(loop);
    assert_int_equal(asker.finished, 1);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(lives[i].finished, 1);
    fixture_destroy(loop);
}

/* ---- ends ---- */

static void join_other(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_exit_notice how = {.reason = JZX_EXIT_PANIC};
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_join(ctx, ctx->self, JZX_NEVER, &how), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_join(ctx, life->other, 0, &how), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_join(ctx, life->other, JZX_MS(5), &how), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), JZX_MS(5));
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_PANIC);
    life->begun++;
    JZX_EXPECT_EQ(jzx_join(ctx, life->other, JZX_NEVER, &how), JZX_OK);
    JZX_EXPECT_EQ(how.actor, life->other);
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(strcmp(how.text, "as agreed"), 0);
    /* What it has sent is here, and nothing of the joins. */
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, 60);
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_join(ctx, life->other, JZX_NEVER, &how), JZX_OK);
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_NO_ACTOR);
    JZX_EXPECT_EQ(how.actor, life->other);
    JZX_EXPECT_EQ(jzx_join(ctx, life->other, JZX_NEVER, NULL), JZX_OK);
    life->finished++;
}

static void send_and_exit(jzx_context *ctx) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    uint64_t number;
    memcpy(&number, msg.data, sizeof number);
    fixture_send(ctx->loop, (jzx_actor_id)number, 60);
    jzx_exit(ctx, JZX_EXIT_FAIL, "as agreed");
}

JZX_TEST(a_join_waits_for_an_end_and_says_how) {
    struct timing timing = timing_open();
    struct life other = {0};
    struct life life = {.other = timing_fiber(&timing, send_and_exit, &other)};
    jzx_actor_id id = timing_fiber(&timing, join_other, &life);
    timing_advance(&timing, JZX_MS(5));
    assert_int_equal(life.begun, 1);
    assert_int_equal(life.finished, 0);
    send_number(timing.loop, life.other, JZX_NOBODY, id, 1);
    timing_step(&timing);
    assert_int_equal(life.finished, 1);
    expect_ended(&other, JZX_EXIT_FAIL);
    timing_close(&timing);
}

/* ---- time ---- */

static void sleep_thrice(jzx_context *ctx) {
    struct life *life = ctx->state;
    for (uint32_t i = 1; i <= 3; i++) {
        JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(10))), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), JZX_MS(10) * i);
        life->count++;
    }
    expect_next(ctx, 5);
    life->finished++;
}

JZX_TEST(a_sleep_ends_at_its_time_and_by_nothing_else) {
    struct timing timing = timing_open();
    struct life life = {0};
    jzx_actor_id id = timing_fiber(&timing, sleep_thrice, &life);
    fixture_send(timing.loop, id, 5);
    for (uint32_t i = 0; i < 3; i++) {
        timing_advance(&timing, JZX_MS(10) - 1);
        assert_int_equal(life.count, i);
        timing_advance(&timing, 1);
        assert_int_equal(life.count, i + 1);
    }
    assert_int_equal(life.finished, 1);
    timing_close(&timing);
}

/* ---- turns ---- */

static char order[4096];
static uint32_t order_count;

static void note_turn(char who) {
    if (order_count < sizeof order)
        order[order_count++] = who;
}

struct runner {
    char name;
    bool sleeps; /* until a time that has passed, instead of a yield */
};

static void yield_often(jzx_context *ctx) {
    const struct runner *self = ctx->state;
    for (int i = 0; i < 100; i++) {
        note_turn(self->name);
        JZX_EXPECT_EQ(self->sleeps ? jzx_sleep(ctx, 0) : jzx_yield(ctx), JZX_OK);
    }
}

/* One message a turn would be too kind: it sends itself the next one at once. */
static jzx_behavior_result go_on(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *left = ctx->state;
    (void)msg;
    note_turn('c');
    if (--*left == 0)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, 1);
    return JZX_BEHAVIOR_OK;
}

/* Between two of one there is one of each other, as long as they live. */
static void expect_turns_of_others(const char *names) {
    for (const char *a = names; *a != 0; a++) {
        for (const char *b = names; *b != 0; b++) {
            int32_t last = -1;
            bool seen = true;
            const char *end = memrchr(order, *b, order_count);
            const char *start = memchr(order, *b, order_count);
            if (!JZX_EXPECT(start != NULL))
                return;
            for (const char *at = start; *a != *b && at < end; at++) {
                seen = seen || *at == *b;
                if (*at != *a || *a == 'c')
                    continue;
                JZX_EXPECT(last < 0 || seen);
                last = (int32_t)(at - order);
                seen = false;
            }
        }
    }
}

JZX_TEST(a_yield_lets_others_run_first) {
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        struct timing timing = timing_open();
        struct runner a = {'a', sleeps == 1};
        struct runner b = {'b', false};
        uint32_t left = 2000;
        order_count = 0;
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = yield_often, .state = &a));
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = yield_often, .state = &b));
        fixture_send(timing.loop,
                     fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = go_on, .state = &left)),
                     1);
        timing_step(&timing);
        assert_int_equal(order_count, 2200);
        expect_turns_of_others("abc");
        timing_close(&timing);
    }
}

static bool flag;

static void poll_for_flag(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    while (!flag)
        JZX_EXPECT(jzx_receive_tag(ctx, 9, 0, &msg) == JZX_ERR_TIMEOUT);
    life->finished++;
}

static void flood_itself(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    do
        fixture_send(ctx->loop, ctx->self, 1);
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK && !flag);
    life->finished++;
}

static void raise_flag(jzx_context *ctx) {
    struct life *life = ctx->state;
    for (int i = 0; i < 20; i++)
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    flag = true;
    life->finished++;
}

JZX_TEST(fibers_that_find_what_they_want_at_once_let_others_run) {
    static jzx_fiber_fn const fns[] = {poll_for_flag, flood_itself};
    for (uint32_t i = 0; i < 2; i++) {
        jzx_loop *loop = fixture_loop();
        struct life lives[2] = {0};
        flag = false;
        spawn_fiber(loop, fns[i], &lives[0]);
        spawn_fiber(loop, raise_flag, &lives[1]);
        run(loop);
        assert_int_equal(lives[0].finished, 1);
        assert_int_equal(lives[1].finished, 1);
        fixture_destroy(loop);
    }
}

/* ---- a message and a deadline at the same time ---- */

static void receive_until_5ms(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->err = jzx_receive_tag(ctx, 7, JZX_MS(5), &msg);
    life->finished++;
}

JZX_TEST(a_message_wins_against_a_deadline_of_the_same_millisecond, "E16") {
    for (int first = 0; first < 2; first++) { /* whichever was set first */
        struct timing timing = timing_open();
        struct life life = {0};
        jzx_actor_id id = spawn_fiber(timing.loop, receive_until_5ms, &life);
        if (first == 0)
            timing_step(&timing);
        timing_set(timing.loop, id, 7, JZX_MS(5));
        timing_step(&timing);
        assert_int_equal(life.finished, 0);
        timing_advance(&timing, JZX_MS(5));
        assert_int_equal(life.finished, 1);
        assert_int_equal(life.err, JZX_OK);
        timing_close(&timing);
    }
}

JZX_TEST(a_message_that_is_there_wins_against_a_deadline_that_has_passed, "E16") {
    for (uint32_t tag = 7; tag <= 8; tag++) { /* the one, and another */
        struct timing timing = timing_open();
        struct life life = {0};
        jzx_actor_id id = timing_fiber(&timing, receive_until_5ms, &life);
        assert_int_equal(jzx_clock_advance(timing.clock, JZX_MS(9)), JZX_OK);
        fixture_send(timing.loop, id, tag);
        timing_step(&timing);
        assert_int_equal(life.finished, 1);
        assert_int_equal(life.err, tag == 7 ? JZX_OK : JZX_ERR_TIMEOUT);
        timing_close(&timing);
    }
}

static void call_until_5ms(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message answer;
    life->err = jzx_call(ctx, life->other, NULL, 0, LATE, JZX_MS(5), &answer);
    life->finished++;
}

JZX_TEST(an_answer_that_is_there_wins_against_a_deadline_that_has_passed, "E16") {
    struct office office;
    office_open(&office, call_until_5ms);
    assert_int_equal(office.desk.asked, 1);
    assert_int_equal(jzx_clock_advance(office.timing.clock, JZX_MS(5)), JZX_OK);
    assert_int_equal(
        jzx_reply_to(office.timing.loop, office.desk.kept, office.life.other, NULL, 0, ANSWER),
        JZX_OK);
    timing_step(&office.timing);
    assert_int_equal(office.life.err, JZX_OK);
    office_close(&office);
}

/* ---- the message that was received last ---- */

static void look_at_last_message(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    uint64_t ref = 0;
    JZX_EXPECT_EQ(jzx_ask(ctx, life->other, NULL, 0, NOW, JZX_NEVER, &ref), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), 0); /* nothing was received yet */
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, ANSWER, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), ref);
    JZX_EXPECT_EQ(jzx_call(ctx, life->other, NULL, 0, NOW, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), ref);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, ANSWER, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), 0);
    jzx_timer_id timer;
    JZX_EXPECT_EQ(jzx_send_every(ctx->loop, ctx->self, JZX_NOBODY, NULL, 0, 3, JZX_MS(1),
                                 JZX_FIXED_RATE, &timer),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 3, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_missed(ctx), 2);
    JZX_EXPECT_EQ(jzx_call(ctx, life->other, NULL, 0, NOW, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_missed(ctx), 2);
    JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, timer), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 3, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_timer_missed(ctx), 0);
    life->finished++;
}

JZX_TEST(references_and_missed_firings_are_those_of_the_message_received_last) {
    struct office office;
    office_open(&office, look_at_last_message);
    timing_advance(&office.timing, JZX_MS(3));
    office_close(&office);
}

/* ---- turns of those who send to a fiber that wants something else ---- */

enum { MUCH = 300, MORE = 50 };

static bool take_nothing(void *arg, const jzx_message *msg) {
    (void)arg;
    (void)msg;
    return false;
}

static void want_tag(jzx_context *ctx) {
    jzx_message msg;
    jzx_receive_tag(ctx, 99, JZX_NEVER, &msg);
}

static void want_sender(jzx_context *ctx) {
    jzx_message msg;
    jzx_receive_from(ctx, 99, JZX_NEVER, &msg);
}

static void want_match(jzx_context *ctx) {
    jzx_message msg;
    jzx_receive_match(ctx, take_nothing, NULL, JZX_NEVER, &msg);
}

static void want_time(jzx_context *ctx) {
    jzx_sleep(ctx, JZX_NEVER);
}

static jzx_behavior_result pass_on(jzx_context *ctx, const jzx_message *msg) {
    const struct life *life = ctx->state;
    fixture_send(ctx->loop, life->other, msg->tag);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_sender_keeps_its_turn_beside_a_fiber_that_passes_over_what_it_sends) {
    static jzx_fiber_fn const fns[] = {want_tag, want_sender, want_match, want_time};
    for (uint32_t i = 0; i < sizeof fns / sizeof fns[0]; i++) {
        struct timing timing = timing_open();
        struct life life = {0};
        life.other = timing_fiber(&timing, fns[i], &life);
        jzx_actor_id sender =
            fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = pass_on, .state = &life));
        for (uint32_t n = 0; n < MUCH; n++)
            fixture_send(timing.loop, life.other, 1);
        timing_step(&timing);
        assert_int_equal(info_of(timing.loop, life.other).depth, MUCH);
        uint64_t turns = fixture_stats(timing.loop).turns;
        for (uint32_t n = 0; n < MORE; n++)
            fixture_send(timing.loop, sender, 1);
        timing_step(&timing);
        assert_int_equal(info_of(timing.loop, life.other).depth, MUCH + MORE);
        assert_in_range(fixture_stats(timing.loop).turns - turns, 2, 4); /* not one a message */
        timing_close(&timing);
    }
}

/* ---- who may not wait ---- */

static jzx_actor_id bystander; /* lives */

static bool never(void *arg, const jzx_message *msg) {
    (void)arg;
    (void)msg;
    return true;
}

/* Nothing happens: no message is consumed, no question asked. */
static void expect_refused(jzx_context *ctx) {
    jzx_message msg = {.tag = 99};
    jzx_exit_notice how = {.reason = JZX_EXIT_PANIC};
    uint64_t now = jzx_loop_now(ctx->loop);
    JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_WAITLESS);
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 1, JZX_NEVER, &msg), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_receive_from(ctx, 1, JZX_NEVER, &msg), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_receive_match(ctx, never, NULL, JZX_NEVER, &msg), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_sleep(ctx, now + JZX_MS(1)), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_sleep(ctx, 0), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_call(ctx, bystander, NULL, 0, 1, JZX_NEVER, &msg), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_join(ctx, bystander, JZX_NEVER, &how), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(msg.tag, 99);
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_PANIC);
    JZX_EXPECT_EQ(jzx_in(ctx, 5), now + 5);
    jzx_test_ran();
}

static jzx_err refused_init(jzx_context *ctx) {
    expect_refused(ctx);
    return JZX_OK;
}

static void refused_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    expect_refused(ctx);
}

static jzx_behavior_result refused_behavior(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    expect_refused(ctx);
    return JZX_BEHAVIOR_STOP;
}

static jzx_context *waiting_fiber; /* the context of the fiber whose code is below a callback */

static bool refused_predicate(void *arg, const jzx_message *msg) {
    (void)arg;
    (void)msg;
    expect_refused(waiting_fiber);
    return true;
}

static void refused_destructor(void *data, size_t len) {
    (void)data;
    (void)len;
    expect_refused(waiting_fiber);
}

static void refused_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_DEAD_LETTER)
        expect_refused(waiting_fiber);
}

static void refused_call(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
    expect_refused(waiting_fiber);
}

static void call_back_everywhere(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    waiting_fiber = ctx;
    JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_FIBER);
    fixture_send(ctx->loop, ctx->self, 1);
    JZX_EXPECT_EQ(jzx_receive_match(ctx, refused_predicate, NULL, JZX_NEVER, &msg), JZX_OK);
    jzx_msg_free(ctx->loop, jzx_msg_alloc(ctx->loop, 8, refused_destructor));
    for (int i = 0; i < 3; i++) /* the third is a dead letter, for the observer */
        fixture_send(ctx->loop, ctx->self, 1);
    JZX_EXPECT_EQ(jzx_loop_call(ctx->loop, refused_call, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_FIBER);
    JZX_EXPECT_EQ(jzx_sleep(ctx, JZX_MS(5)), JZX_OK);
    expect_next(ctx, 1);
    expect_next(ctx, 1);
    life->finished++;
}

JZX_TEST(only_the_code_of_a_fiber_may_wait, "E29") {
    struct timing timing = timing_open();
    struct recorder idle = {0};
    struct life life = {0};
    bystander = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &idle));
    assert_int_equal(
        jzx_loop_set_observer(timing.loop, &JZX_OBSERVER(.on_event = refused_event), NULL), JZX_OK);
    fixture_send(timing.loop,
                 fixture_spawn(timing.loop,
                               &JZX_SPAWN_OPTS(.behavior = refused_behavior, .init = refused_init,
                                               .cleanup = refused_cleanup)),
                 1);
    timing_step(&timing);
    assert_int_equal(jzx_test_runs(), 3);
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = call_back_everywhere, .state = &life,
                                               .init = refused_init, .cleanup = refused_cleanup,
                                               .mailbox_cap = 2, .on_full = JZX_FULL_DROP_NEW));
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(5));
    assert_int_equal(life.finished, 1);
    assert_int_equal(jzx_test_runs(), 3 + 6);
    assert_int_equal(idle.count, 0);
    timing_close(&timing);
}
