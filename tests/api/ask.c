/* SPDX-License-Identifier: MIT */
/* Questions: of each the asker hears the answer or the timeout, once; what comes second or late is
 * a dead letter. */
#include "asking.h"

/* ---- answers ---- */

static void ask_three(jzx_context *ctx) {
    for (uint32_t i = 0; i < 3; i++)
        ask(ctx, NOW, JZX_MS(10));
}

JZX_TEST(an_answer_comes_as_a_message_with_the_reference_of_its_question, "D4", "X22", "E+mode") {
    struct asking asking = asking_open();
    asking_do(&asking, ask_three);
    JZX_EXPECT_EQ(asking.asker->count, 3);
    for (uint32_t i = 0; i < 3; i++)
        expect_heard(&asking, i, ANSWER, i);
    JZX_EXPECT(asking.asker->refs[0] != asking.asker->refs[1]);
    JZX_EXPECT_EQ(timing_pending(asking.timing.loop), 0); /* the deadlines went with the answers */
    asking_advance(&asking, JZX_SECOND(1));
    JZX_EXPECT_EQ(asking.asker->count, 3);
    asking_close(&asking);
}

static void ask_and_send_in_turn(jzx_context *ctx) {
    const struct asker *self = ctx->state;
    for (uint32_t i = 0; i < 5; i++) {
        ask(ctx, KEEP, JZX_MS(10));
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->desk, ctx->self, NULL, 0, PLAIN), JZX_OK);
    }
}

static void answer_all_kept(const struct asking *asking) {
    for (uint32_t i = 0; i < asking->desk->kept_count; i++)
        JZX_EXPECT_EQ(jzx_reply_to(asking->timing.loop, asking->desk->kept[i], asking->desk_id, &i,
                                   sizeof i, ANSWER),
                      JZX_OK);
    timing_step(&asking->timing);
}

JZX_TEST(answers_of_one_sender_arrive_in_their_order_among_other_messages, "E+mode", "X15") {
    struct asking asking = asking_open();
    asking_do(&asking, ask_and_send_in_turn);
    JZX_EXPECT_EQ(asking.desk->kept_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        JZX_EXPECT_EQ(jzx_send(asking.timing.loop, asking.asker_id, asking.desk_id, NULL, 0, PLAIN),
                      JZX_OK);
        JZX_EXPECT_EQ(jzx_reply_to(asking.timing.loop, asking.desk->kept[i], asking.desk_id, &i,
                                   sizeof i, ANSWER),
                      JZX_OK);
    }
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 10);
    for (uint32_t i = 0; i < 5; i++) {
        JZX_EXPECT_EQ(asking.asker->heard[2 * i].tag, PLAIN);
        JZX_EXPECT_EQ(asking.asker->heard[2 * i].ref, 0); /* an ordinary message */
        expect_heard(&asking, 2 * i + 1, ANSWER, i);
    }
    asking_close(&asking);
}

static void ask_all_lengths(jzx_context *ctx) {
    static const size_t lens[] = {0, 1, 8, 23, 24, 25, 32, 33, 200, 4000, 4096, 5000, 70000};
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++)
        ask_with(ctx, i % 2 ? NOW : TWICE, lens[i], JZX_MS(10));
}

JZX_TEST(questions_and_answers_of_every_length_arrive_whole, "X22", "E+mode") {
    struct asking asking = asking_open();
    asking_do(&asking, ask_all_lengths);
    JZX_EXPECT_EQ(asking.asker->count, 13);
    for (uint32_t i = 0; i < 13; i++) {
        JZX_EXPECT_EQ(asking.asker->heard[i].ref, asking.asker->refs[i]);
        JZX_EXPECT_EQ(asking.asker->heard[i].number,
                      asking.asker->heard[i].len >= sizeof(uint32_t) ? i : 0);
    }
    JZX_EXPECT_EQ(asking.asker->heard[12].len, 70000);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 7); /* the second answers */
    asking_close(&asking);
}

/* ---- deadlines ---- */

static void ask_with_deadlines(jzx_context *ctx) {
    ask(ctx, KEEP, JZX_MS(10));
    ask(ctx, KEEP, JZX_MS(5));
    ask(ctx, KEEP, 0); /* at the next millisecond */
    ask(ctx, KEEP, JZX_NEVER);
    ask(ctx, NOW, JZX_NEVER);
}

JZX_TEST(at_the_deadline_the_timeout_comes_once, "E+mode", "X22") {
    struct asking asking = asking_open();
    asking_do(&asking, ask_with_deadlines);
    JZX_EXPECT_EQ(asking.asker->count, 1);
    expect_heard(&asking, 0, ANSWER, 4);
    asking_advance(&asking, JZX_MS(1));
    expect_heard(&asking, 1, JZX_TAG_ASK_TIMEOUT, 2);
    asking_advance(&asking, JZX_MS(4) - 1);
    JZX_EXPECT_EQ(asking.asker->count, 2);
    asking_advance(&asking, 1);
    expect_heard(&asking, 2, JZX_TAG_ASK_TIMEOUT, 1);
    asking_advance(&asking, JZX_MS(5));
    expect_heard(&asking, 3, JZX_TAG_ASK_TIMEOUT, 0);
    asking_advance(&asking, JZX_SECOND(100000));
    JZX_EXPECT_EQ(asking.asker->count, 4);
    JZX_EXPECT_EQ(timing_pending(asking.timing.loop), 0);
    answer_all_kept(&asking); /* three come too late, and one has time for ever */
    JZX_EXPECT_EQ(asking.asker->count, 5);
    expect_heard(&asking, 4, ANSWER, 3);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 3);
    asking_close(&asking);
}

/* Both wait in the mailbox: the one that is first is handled, the other is not. */
JZX_TEST(of_an_answer_and_a_timeout_that_wait_the_first_is_handled, "E+mode", "X15") {
    for (uint32_t i = 0; i < 2; i++) {
        struct asking asking = asking_open();
        asking_do(&asking, ask_with_deadlines);
        uint32_t zero = 0;
        if (i == 0) /* the answer waits, and then the clock moves past the deadline */
            JZX_EXPECT_EQ(jzx_reply_to(asking.timing.loop, asking.desk->kept[0], asking.desk_id,
                                       &zero, sizeof zero, ANSWER),
                          JZX_OK);
        JZX_EXPECT_EQ(jzx_clock_advance(asking.timing.clock, JZX_MS(20)), JZX_OK);
        timing_step(&asking.timing);
        if (i == 1)
            answer_all_kept(&asking);
        uint32_t answers = 0;
        uint32_t timeouts = 0;
        for (uint32_t k = 0; k < asking.asker->count; k++) {
            bool is_first = asking.asker->heard[k].ref == asking.asker->refs[0];
            answers += is_first && asking.asker->heard[k].tag == ANSWER;
            timeouts += is_first && asking.asker->heard[k].tag == JZX_TAG_ASK_TIMEOUT;
        }
        JZX_EXPECT_EQ(answers, i == 0);
        JZX_EXPECT_EQ(timeouts, i == 1);
        timing_close(&asking.timing);
    }
}

/* ---- more than one answer ---- */

static void ask_for_two(jzx_context *ctx) {
    ask(ctx, TWICE, JZX_MS(10));
    ask(ctx, NOW, JZX_MS(10));
}

struct letters {
    uint32_t count;
    jzx_actor_id actor;
    uint32_t tag;
    jzx_loop *loop;
    jzx_actor_id kill;
};

static void count_letters(void *ctx, const jzx_event *event) {
    struct letters *letters = ctx;
    if (event->kind != JZX_EVENT_DEAD_LETTER)
        return;
    letters->count++;
    letters->actor = event->actor;
    letters->tag = event->tag;
    if (letters->kill != JZX_NOBODY)
        JZX_EXPECT_EQ(jzx_actor_stop(letters->loop, letters->kill, JZX_STOP_KILL), JZX_OK);
    letters->kill = JZX_NOBODY;
}

static const jzx_observer letter_counter = {.size = sizeof letter_counter,
                                            .on_event = count_letters};

JZX_TEST(a_second_answer_is_a_dead_letter, "E+mode", "X14") {
    struct asking asking = asking_open();
    struct letters letters = {0};
    JZX_EXPECT_EQ(jzx_loop_set_observer(asking.timing.loop, &letter_counter, &letters), JZX_OK);
    asking_do(&asking, ask_for_two);
    JZX_EXPECT_EQ(asking.asker->count, 2);
    expect_heard(&asking, 0, ANSWER, 0);
    expect_heard(&asking, 1, ANSWER, 1);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 1);
    JZX_EXPECT_EQ(letters.count, 1);
    JZX_EXPECT_EQ(letters.actor, asking.asker_id);
    JZX_EXPECT_EQ(letters.tag, ANSWER);
    asking_close(&asking);
}

/* ---- a flood of answers to one question ---- */

#define FLOOD 1000u

static struct {
    size_t memory_bytes[2]; /* of the asker, before and after */
    bool is_over;           /* the question was cancelled */
    jzx_ask_handle handle;
} flood;

static size_t memory_of_self(const jzx_context *ctx) {
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
    return info.memory_bytes;
}

static void answer_on_and_on(jzx_loop *loop) {
    for (uint32_t i = 0; i < FLOOD; i++)
        JZX_EXPECT_EQ(jzx_reply_to(loop, flood.handle, JZX_NOBODY, NULL, 0, ANSWER), JZX_OK);
}

static void ask_to_be_kept(jzx_context *ctx) {
    uint64_t ref = ask(ctx, KEEP, JZX_NEVER);
    if (flood.is_over)
        JZX_EXPECT_EQ(jzx_ask_cancel(ctx, ref), JZX_OK);
    flood.handle = (jzx_ask_handle){ctx->self, ref};
    flood.memory_bytes[0] = memory_of_self(ctx);
}

static void note_memory(jzx_context *ctx) {
    flood.memory_bytes[1] = memory_of_self(ctx);
}

static void flood_self(jzx_context *ctx) {
    answer_on_and_on(ctx->loop);
    note_memory(ctx);
}

/* Behind what the asker does next: all is taken in by then. */
static void flood_from_outside(const struct asking *asking) {
    turn_fn fn = note_memory;
    jzx_loop *loop = asking->timing.loop;
    JZX_EXPECT_EQ(jzx_send(loop, asking->asker_id, JZX_NOBODY, &fn, sizeof fn, TAG_DO), JZX_OK);
    answer_on_and_on(loop);
    timing_step(&asking->timing);
}

JZX_TEST(answers_to_one_question_do_not_pile_up) {
    for (uint32_t way = 0; way < 4; way++) {
        struct asking asking = asking_open();
        flood.is_over = (way & 1) != 0;
        asking_do(&asking, ask_to_be_kept);
        if (way & 2)
            flood_from_outside(&asking);
        else
            asking_do(&asking, flood_self);
        JZX_EXPECT(flood.memory_bytes[1] <= flood.memory_bytes[0] + 2 * 64);
        JZX_EXPECT_EQ(asking.asker->count, flood.is_over ? 0 : 1);
        JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, FLOOD - asking.asker->count);
        asking_close(&asking);
    }
}

/* The observer that hears of a late answer may end the asker: before its next message. */
JZX_TEST(who_hears_of_a_late_answer_may_end_the_asker, "X15") {
    struct asking asking = asking_open();
    struct letters letters = {.loop = asking.timing.loop, .kill = asking.asker_id};
    asking_do(&asking, ask_with_deadlines);
    asking_advance(&asking, JZX_MS(10));
    uint32_t before = asking.asker->count;
    JZX_EXPECT_EQ(jzx_loop_set_observer(asking.timing.loop, &letter_counter, &letters), JZX_OK);
    JZX_EXPECT_EQ(jzx_reply_to(asking.timing.loop, asking.desk->kept[0], JZX_NOBODY, NULL, 0, 1),
                  JZX_OK);
    fixture_send(asking.timing.loop, asking.asker_id, PLAIN);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, before);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).exited, 1);
    JZX_EXPECT_EQ(jzx_loop_set_observer(asking.timing.loop, NULL, NULL), JZX_OK);
    timing_close(&asking.timing);
}

/* Places are used again; answers to who had them before are late. */
static void ask_again_and_again(jzx_context *ctx) {
    uint64_t first = ask(ctx, KEEP, JZX_MS(1));
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t ref = ask(ctx, KEEP, JZX_MS(1));
        JZX_EXPECT(ref != first);
        JZX_EXPECT_EQ(jzx_ask_cancel(ctx, ref), JZX_OK);
        JZX_EXPECT_EQ(jzx_ask_cancel(ctx, ref), JZX_ERR_INVALID_ARG);
    }
    ask(ctx, KEEP, JZX_MS(1));
}

JZX_TEST(an_answer_to_a_question_of_before_reaches_no_newer_one, "E+mode", "X22") {
    struct asking asking = asking_open_with(&JZX_CONFIG(.default_mailbox_cap = 2000));
    asking_do(&asking, ask_again_and_again);
    JZX_EXPECT_EQ(asking.desk->kept_count, 1002);
    answer_all_kept(&asking);
    JZX_EXPECT_EQ(asking.asker->count, 2);
    expect_heard(&asking, 0, ANSWER, 0);
    expect_heard(&asking, 1, ANSWER, 1001);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 1000);
    asking_close(&asking);
}

/* ---- cancelling ---- */

static void ask_to_cancel(jzx_context *ctx) {
    ask(ctx, KEEP, JZX_MS(5));
    ask(ctx, KEEP, JZX_MS(5));
}

static void cancel_first(jzx_context *ctx) {
    const struct asker *self = ctx->state;
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, self->refs[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, self->refs[0]), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, UINT64_MAX), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_cancel(ctx, self->refs[0] + ((uint64_t)1 << 32)), JZX_ERR_INVALID_ARG);
}

JZX_TEST(of_a_cancelled_question_nothing_is_heard, "E+mode") {
    struct asking asking = asking_open();
    asking_do(&asking, ask_to_cancel);
    asking_do(&asking, cancel_first);
    asking_advance(&asking, JZX_MS(4));
    answer_all_kept(&asking);
    asking_advance(&asking, JZX_MS(10));
    JZX_EXPECT_EQ(asking.asker->count, 1);
    expect_heard(&asking, 0, ANSWER, 1);
    asking_close(&asking);
}

/* In the timeout of one, the others whose timeouts or answers wait are cancelled. */
static jzx_behavior_result cancel_all_others(jzx_context *ctx, const jzx_message *msg) {
    struct asker *self = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < self->asked; i++)
        JZX_EXPECT_EQ(jzx_ask_cancel(ctx, self->refs[i]),
                      self->refs[i] == jzx_ask_ref(ctx) ? JZX_ERR_INVALID_ARG : JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(what_waits_in_the_mailbox_can_be_cancelled, "E+mode", "X15") {
    for (uint32_t i = 0; i < 2; i++) {
        struct asking asking = asking_open();
        asking.asker->then = cancel_all_others;
        asking_do(&asking, ask_to_cancel);
        if (i == 0)
            asking_advance(&asking, JZX_MS(5));
        else
            answer_all_kept(&asking);
        JZX_EXPECT_EQ(asking.asker->count, 1);
        JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, i);
        asking_close(&asking);
    }
}

/* ---- stash and take ---- */

static void ask_aside(jzx_context *ctx) {
    ask(ctx, ASIDE, JZX_MS(5));
    ask(ctx, TAKE, JZX_MS(5));
    ask_with(ctx, ASIDE, 100, JZX_MS(5));
    ask_with(ctx, TAKE, 70000, JZX_MS(5));
}

JZX_TEST(a_question_that_was_stashed_can_be_answered_afterwards, "E+mode") {
    struct asking asking = asking_open();
    asking_do(&asking, ask_aside);
    JZX_EXPECT_EQ(asking.asker->count, 0);
    fixture_send(asking.timing.loop, asking.desk_id, OPEN);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 2);
    expect_heard(&asking, 0, ANSWER, 0);
    expect_heard(&asking, 1, ANSWER, 2);
    /* A taken question is a buffer as any: sent on, it is no question any more. */
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t number = 1 + 2 * i;
        JZX_EXPECT_EQ(memcmp(asking.desk->taken[i], &number, sizeof number), 0);
        JZX_EXPECT_EQ(jzx_msg_len(asking.desk->taken[i]), i == 0 ? sizeof number : 70000);
        JZX_EXPECT_EQ(jzx_send_msg(asking.timing.loop, asking.desk_id, asking.asker_id,
                                   asking.desk->taken[i], PLAIN),
                      JZX_OK);
        JZX_EXPECT_EQ(jzx_reply_to(asking.timing.loop, asking.desk->kept[i], asking.desk_id,
                                   &number, sizeof number, ANSWER),
                      JZX_OK);
    }
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 4);
    expect_heard(&asking, 2, ANSWER, 1);
    expect_heard(&asking, 3, ANSWER, 3);
    asking_close(&asking);
}

/* An answer, and a timeout, that the asker puts aside come again with their reference. */
static jzx_behavior_result put_aside(jzx_context *ctx, const jzx_message *msg) {
    const struct asker *self = ctx->state;
    if (msg->tag == PLAIN) {
        JZX_EXPECT_EQ(jzx_unstash(ctx), 2);
    } else if (self->count <= 2) {
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        JZX_EXPECT_EQ(jzx_ask_ref(ctx), 0);
    } else {
        void *data = jzx_msg_take(ctx, msg);
        JZX_EXPECT(data != NULL);
        jzx_msg_free(ctx->loop, data);
    }
    return JZX_BEHAVIOR_OK;
}

static void ask_both_ways(jzx_context *ctx) {
    ask(ctx, NOW, JZX_MS(5));
    ask(ctx, KEEP, JZX_MS(5));
}

JZX_TEST(answers_and_timeouts_can_be_put_aside_and_taken, "E+mode") {
    struct asking asking = asking_open();
    asking.asker->then = put_aside;
    asking_do(&asking, ask_both_ways);
    asking_advance(&asking, JZX_MS(5));
    JZX_EXPECT_EQ(asking.asker->count, 2);
    answer_all_kept(&asking); /* late, though the timeout is aside */
    fixture_send(asking.timing.loop, asking.asker_id, PLAIN);
    timing_step(&asking.timing);
    JZX_EXPECT_EQ(asking.asker->count, 5);
    expect_heard(&asking, 3, ANSWER, 0);
    expect_heard(&asking, 4, JZX_TAG_ASK_TIMEOUT, 1);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, 1);
    asking_close(&asking);
}

/* ---- bounds ---- */

static void ask_two_more(jzx_context *ctx) {
    const struct asker *self = ctx->state;
    uint64_t ref = 4711;
    ask(ctx, NOW, JZX_MS(5));
    ask(ctx, NOW, JZX_MS(5));
    JZX_EXPECT_EQ(jzx_ask(ctx, self->desk, NULL, 0, NOW, JZX_MS(5), &ref), JZX_ERR_MAILBOX_FULL);
    JZX_EXPECT_EQ(ref, 4711);
}

JZX_TEST(a_full_mailbox_refuses_questions_but_no_answers, "X15", "C+fail") {
    struct asking asking = asking_open_with(&JZX_CONFIG(.default_mailbox_cap = 2));
    asking_do(&asking, ask_two_more);
    JZX_EXPECT_EQ(asking.asker->count, 2);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).refused_full, 1);
    asking_do(&asking, ask_to_cancel); /* two that are kept */
    fixture_send(asking.timing.loop, asking.asker_id, PLAIN);
    fixture_send(asking.timing.loop, asking.asker_id, PLAIN);
    JZX_EXPECT_EQ(jzx_send(asking.timing.loop, asking.asker_id, JZX_NOBODY, NULL, 0, PLAIN),
                  JZX_ERR_MAILBOX_FULL);
    answer_all_kept(&asking);
    JZX_EXPECT_EQ(asking.asker->count, 6);
    asking_close(&asking);
}

#define MANY 10000u

static void ask_many(jzx_context *ctx) {
    for (uint32_t i = 0; i < MANY; i++)
        ask(ctx, KEEP, JZX_MS(1 + i % 100));
}

JZX_TEST(ten_thousand_questions_at_once_get_each_its_own_answer, "E+mode", "X22") {
    struct asking asking = asking_open_with(&JZX_CONFIG(.default_mailbox_cap = MANY + 1));
    asking_do(&asking, ask_many);
    JZX_EXPECT_EQ(asking.desk->kept_count, MANY);
    asking_advance(&asking, JZX_MS(50)); /* half of them are too late */
    JZX_EXPECT_EQ(asking.asker->count, MANY / 2);
    answer_all_kept(&asking);
    JZX_EXPECT_EQ(asking.asker->count, MANY);
    JZX_EXPECT_EQ(fixture_stats(asking.timing.loop).dead, MANY / 2);
    for (uint32_t i = 0; i < MANY / 2; i++)
        JZX_EXPECT_EQ(asking.asker->heard[i].tag, JZX_TAG_ASK_TIMEOUT);
    for (uint32_t i = MANY / 2; i < asking.asker->count; i++) {
        const struct heard *heard = &asking.asker->heard[i];
        JZX_EXPECT_EQ(heard->ref, asking.asker->refs[heard->number]);
        JZX_EXPECT(heard->number % 100 >= 50);
    }
    asking_advance(&asking, JZX_SECOND(1));
    JZX_EXPECT_EQ(asking.asker->count, MANY);
    asking_close(&asking);
}
