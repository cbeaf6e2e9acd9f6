/* SPDX-License-Identifier: MIT */
/* What a fiber receives: by tag, sender and predicate, with deadlines; messages of the runtime
 * among others; how long a payload lasts; and mailboxes full of what was passed over. */
#include "fibering.h"

#include <jzx/ask.h>

#define FROM 0x55u

static void run(jzx_loop *loop) {
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
}

/* Plays fn with so many messages, whose tags and numbers are 1, 2, ... */
static void play(jzx_fiber_fn fn, uint32_t count) {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    jzx_actor_id id = spawn_fiber(loop, fn, &life);
    for (uint32_t i = 1; i <= count; i++)
        send_number(loop, id, FROM + i % 2, i, i);
    run(loop);
    assert_int_equal(life.finished, 1);
    expect_ended(&life, JZX_EXIT_NORMAL);
    fixture_destroy(loop);
}

static void expect_tag(jzx_context *ctx, uint32_t tag) {
    jzx_message msg = {0};
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, tag, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, tag);
}

/* ---- Erlang's first example ---- */

enum { PING = 1, PONG = 2, DONE = 3 };

struct game {
    jzx_actor_id pong;
    uint32_t rounds;
    uint32_t pings;
    uint32_t pongs;
    uint32_t dones;
};

static void play_ping(jzx_context *ctx) {
    struct game *game = ctx->state;
    jzx_message msg;
    for (uint32_t i = 0; i < game->rounds; i++) {
        send_number(ctx->loop, game->pong, ctx->self, i, PING);
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(msg.tag, PONG);
        JZX_EXPECT_EQ(msg.sender, game->pong);
        JZX_EXPECT_EQ(number_of(&msg), i);
        game->pongs++;
    }
    fixture_send(ctx->loop, game->pong, DONE);
}

static void play_pong(jzx_context *ctx) {
    struct game *game = ctx->state;
    jzx_message msg;
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK && msg.tag == PING) {
        JZX_EXPECT_EQ(number_of(&msg), game->pings);
        send_number(ctx->loop, msg.sender, ctx->self, game->pings, PONG);
        game->pings++;
    }
    game->dones += msg.tag == DONE;
}

JZX_TEST(ping_waits_for_each_pong_and_then_says_done, "E20") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct game game = {.rounds = 1000};
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        game.pong = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = play_pong, .state = &game,
                                                        .place = JZX_PLACE_WORKER(0)));
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = play_ping, .state = &game,
                                            .place = JZX_PLACE_WORKER(workers - 1)));
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        assert_int_equal(game.pings, game.rounds);
        assert_int_equal(game.pongs, game.rounds);
        assert_int_equal(game.dones, 1);
        fixture_destroy(loop);
    }
}

/* ---- which ---- */

static void take_all(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    for (uint32_t i = 1; i <= 300; i++) {
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(msg.tag, i);
        JZX_EXPECT_EQ(msg.sender, FROM + i % 2);
        JZX_EXPECT_EQ(number_of(&msg), i);
    }
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT);
    life->finished++;
}

JZX_TEST(messages_come_in_their_order, "E14") {
    play(take_all, 300);
}

static void take_by_tag(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    expect_tag(ctx, 5);
    expect_tag(ctx, 3);
    expect_tag(ctx, 10);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 5, 0, &msg), JZX_ERR_TIMEOUT);
    static const uint32_t rest[] = {1, 2, 4, 6, 7, 8, 9};
    for (uint32_t i = 0; i < 7; i++)
        expect_next(ctx, rest[i]);
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT);
    life->finished++;
}

JZX_TEST(a_receive_by_tag_leaves_the_others_in_their_order, "E15") {
    play(take_by_tag, 10);
}

static void take_by_sender(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    for (uint32_t i = 2; i <= 10; i += 2) {
        JZX_EXPECT_EQ(jzx_receive_from(ctx, FROM, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(msg.tag, i);
    }
    JZX_EXPECT_EQ(jzx_receive_from(ctx, FROM, 0, &msg), JZX_ERR_TIMEOUT);
    for (uint32_t i = 1; i <= 9; i += 2)
        expect_next(ctx, i);
    life->finished++;
}

JZX_TEST(a_receive_by_sender_leaves_the_others_in_their_order, "E15") {
    play(take_by_sender, 10);
}

struct asked {
    uint32_t divisor;
    uint32_t calls;
    uint32_t last; /* tag of the last one shown */
};

static bool divides(void *arg, const jzx_message *msg) {
    struct asked *asked = arg;
    asked->calls++;
    JZX_EXPECT_EQ(number_of(msg), msg->tag);
    JZX_EXPECT_EQ(msg->sender, FROM + msg->tag % 2);
    asked->last = msg->tag;
    return msg->tag % asked->divisor == 0;
}

static void take_by_predicate(jzx_context *ctx) {
    struct life *life = ctx->state;
    struct asked asked = {.divisor = 4};
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive_match(ctx, divides, &asked, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, 4);
    JZX_EXPECT_EQ(asked.calls, 4);
    asked = (struct asked){.divisor = 3};
    JZX_EXPECT_EQ(jzx_receive_match(ctx, divides, &asked, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, 3); /* one that the other predicate had refused */
    asked = (struct asked){.divisor = 100};
    JZX_EXPECT_EQ(jzx_receive_match(ctx, divides, &asked, 0, &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(asked.calls, 8);
    static const uint32_t rest[] = {1, 2, 5, 6, 7, 8, 9, 10};
    for (uint32_t i = 0; i < 8; i++)
        expect_next(ctx, rest[i]);
    life->finished++;
}

JZX_TEST(a_receive_by_predicate_leaves_the_others_in_their_order, "E15") {
    play(take_by_predicate, 10);
}

/* Each message is shown once per call, though the fiber waits and wakes in between. */
static void wait_by_predicate(jzx_context *ctx) {
    struct life *life = ctx->state;
    struct asked asked = {.divisor = 9};
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive_match(ctx, divides, &asked, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, 9);
    JZX_EXPECT_EQ(asked.calls, 9);
    life->finished++;
}

JZX_TEST(a_predicate_sees_each_message_once_a_call, "E15") {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    jzx_actor_id id = spawn_fiber(loop, wait_by_predicate, &life);
    for (uint32_t i = 1; i <= 9; i++) {
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(life.finished, 0);
        send_number(loop, id, FROM + i % 2, i, i);
    }
    run(loop);
    assert_int_equal(life.finished, 1);
    assert_int_equal(fixture_stats(loop).dead, 8);
    fixture_destroy(loop);
}

/* A send to a full mailbox ends the turn of the sender. */
static void end_turn(jzx_context *ctx) {
    const struct life *life = ctx->state;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, life->other, ctx->self, NULL, 0, 1), JZX_ERR_MAILBOX_FULL);
}

/* Its mailbox stays full. */
static void keep_full(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_sleep(ctx, JZX_NEVER), JZX_OK);
}

static jzx_context *matching;
static bool ends_turn_itself;
static uint32_t asked_count;

static bool count_and_take(void *arg, const jzx_message *msg) {
    (void)arg;
    asked_count++;
    if (ends_turn_itself)
        end_turn(matching);
    return msg->tag == 2;
}

static void match_at_the_end_of_a_turn(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    matching = ctx;
    while (jzx_send(ctx->loop, life->other, ctx->self, NULL, 0, 1) == JZX_OK)
        continue;
    for (uint32_t i = 0; i < 2; i++) {
        asked_count = 0;
        ends_turn_itself = i == 1;
        send_number(ctx->loop, ctx->self, FROM, i, 1);
        send_number(ctx->loop, ctx->self, FROM, i, 2);
        end_turn(ctx);
        JZX_EXPECT_EQ(jzx_receive_match(ctx, count_and_take, NULL, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(number_of(&msg), i);
        JZX_EXPECT_EQ(asked_count, 2 + i); /* those of the first round are still there */
    }
    life->finished++;
}

JZX_TEST(a_predicate_sees_each_message_once_though_the_turn_ends, "E15") {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    life.other = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = keep_full, .mailbox_cap = 2));
    spawn_fiber(loop, match_at_the_end_of_a_turn, &life);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(life.finished, 1);
    fixture_destroy(loop);
}

/* Behind many that it has passed over, again and again, with other forms in between. */
static void answer_behind_many(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    for (uint32_t i = 0; i < 500; i++)
        send_number(ctx->loop, ctx->self, FROM, i, 1);
    for (uint32_t i = 0; i < 300; i++) {
        send_number(ctx->loop, ctx->self, FROM + 1, i, 2);
        if (i % 10 == 0)
            JZX_EXPECT_EQ(jzx_receive_from(ctx, FROM + 2, 0, &msg), JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(i % 3 == 0 ? jzx_receive_from(ctx, FROM + 1, JZX_NEVER, &msg)
                                 : jzx_receive_tag(ctx, 2, JZX_NEVER, &msg),
                      JZX_OK);
        JZX_EXPECT_EQ(msg.tag, 2);
        JZX_EXPECT_EQ(number_of(&msg), i);
    }
    for (uint32_t i = 0; i < 500; i++) {
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, 1, 0, &msg), JZX_OK);
        JZX_EXPECT_EQ(number_of(&msg), i);
    }
    life->finished++;
}

JZX_TEST(an_answer_is_found_behind_what_was_passed_over, "E15") {
    play(answer_behind_many, 0);
}

/* ---- deadlines ---- */

static void look_once(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg = {.tag = 99};
    uint64_t now = jzx_loop_now(ctx->loop);
    const uint64_t past[] = {0, 1, now - 1, now};
    JZX_EXPECT_EQ(jzx_in(ctx, 0), now);
    JZX_EXPECT_EQ(jzx_in(ctx, JZX_MS(3)), now + JZX_MS(3));
    JZX_EXPECT_EQ(jzx_in(ctx, JZX_NEVER), JZX_NEVER);
    for (uint32_t i = 0; i < 4; i++) {
        struct asked asked = {.divisor = 100};
        JZX_EXPECT_EQ(jzx_receive(ctx, past[i], &msg), JZX_ERR_TIMEOUT);
        send_number(ctx->loop, ctx->self, FROM + 1, 1, 1);
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, 2, past[i], &msg), JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(jzx_receive_from(ctx, FROM, past[i], &msg), JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(jzx_receive_match(ctx, divides, &asked, past[i], &msg), JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(asked.calls, 1);
        JZX_EXPECT_EQ(msg.tag, 99);                             /* untouched */
        JZX_EXPECT_EQ(jzx_receive(ctx, past[i], &msg), JZX_OK); /* nothing was consumed */
        JZX_EXPECT_EQ(msg.tag, 1);
        msg.tag = 99;
    }
    JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), now);
    life->finished++;
}

JZX_TEST(a_deadline_that_has_passed_looks_once, "E16") {
    struct timing timing = timing_open_with(JZX_MS(100), NULL);
    struct life life = {0};
    timing_fiber(&timing, look_once, &life);
    assert_int_equal(life.finished, 1);
    timing_close(&timing);
}

enum form { BY_ANY, BY_TAG, BY_SENDER, BY_PREDICATE, BY_COUNT };

static struct {
    enum form form;
    uint64_t deadline_ns;
    struct asked asked;
} wanted;

static void receive_wanted(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    life->begun++;
    switch (wanted.form) {
    case BY_ANY: life->err = jzx_receive(ctx, wanted.deadline_ns, &msg); break;
    case BY_TAG: life->err = jzx_receive_tag(ctx, 7, wanted.deadline_ns, &msg); break;
    case BY_SENDER: life->err = jzx_receive_from(ctx, FROM + 1, wanted.deadline_ns, &msg); break;
    default:
        life->err = jzx_receive_match(ctx, divides, &wanted.asked, wanted.deadline_ns, &msg);
        break;
    }
    life->woken_ns = jzx_loop_now(ctx->loop);
    life->finished++;
    if (life->err == JZX_OK)
        JZX_EXPECT_EQ(msg.tag, 7);
    while (jzx_receive(ctx, 0, &msg) == JZX_OK)
        note_tag(life, msg.tag);
}

static struct life want(enum form form, uint64_t deadline_ns) {
    wanted.form = form;
    wanted.deadline_ns = deadline_ns;
    wanted.asked = (struct asked){.divisor = 7};
    return (struct life){.err = 1};
}

JZX_TEST(a_wait_ends_exactly_at_its_deadline, "E16") {
    for (enum form form = BY_ANY; form < BY_COUNT; form++) {
        struct timing timing = timing_open();
        struct life life = want(form, JZX_MS(10));
        jzx_actor_id id = timing_fiber(&timing, receive_wanted, &life);
        if (form != BY_ANY) {
            send_number(timing.loop, id, FROM, 2, 2);
            send_number(timing.loop, id, FROM, 4, 4);
        }
        timing_advance(&timing, JZX_MS(9));
        timing_advance(&timing, JZX_MS(1) - 1);
        assert_int_equal(life.finished, 0);
        timing_advance(&timing, 1);
        assert_int_equal(life.err, JZX_ERR_TIMEOUT);
        assert_int_equal(life.woken_ns, JZX_MS(10));
        static const uint32_t rest[] = {2, 4};
        expect_life_tags(&life, form == BY_ANY ? 0 : 2, rest);
        assert_int_equal(timing_pending(timing.loop), 0);
        timing_close(&timing);
    }
}

JZX_TEST(a_wait_between_two_milliseconds_does_not_end_early, "E16") {
    struct timing timing = timing_open();
    struct life life = want(BY_TAG, JZX_MS(10) + 300);
    timing_fiber(&timing, receive_wanted, &life);
    timing_advance(&timing, JZX_MS(10));
    assert_int_equal(life.finished, 0);
    timing_advance(&timing, 299);
    assert_int_equal(life.finished, 0);
    timing_advance(&timing, JZX_MS(1) - 299);
    assert_int_equal(life.err, JZX_ERR_TIMEOUT);
    timing_close(&timing);
}

/* The deadline is forgotten: it does not end a later wait. */
JZX_TEST(a_message_before_the_deadline_ends_the_wait, "E16") {
    for (enum form form = BY_ANY; form < BY_COUNT; form++) {
        struct timing timing = timing_open();
        struct life life = want(form, JZX_MS(10));
        jzx_actor_id id = timing_fiber(&timing, receive_wanted, &life);
        timing_advance(&timing, JZX_MS(9));
        if (form != BY_ANY)
            send_number(timing.loop, id, FROM, 2, 2);
        send_number(timing.loop, id, FROM + 1, 7, 7);
        timing_step(&timing);
        assert_int_equal(life.err, JZX_OK);
        assert_int_equal(life.woken_ns, JZX_MS(9));
        expect_life_tags(&life, form == BY_ANY ? 0 : 1, (uint32_t[]){2});
        expect_ended(&life, JZX_EXIT_NORMAL);
        assert_int_equal(jzx_loop_next_deadline(timing.loop), JZX_NEVER);
        timing_close(&timing);
    }
}

static void wait_again_and_again(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    for (uint32_t i = 1; i <= 20; i++) {
        jzx_err err = jzx_receive_tag(ctx, 1, jzx_in(ctx, JZX_MS(10)), &msg);
        JZX_EXPECT_EQ(err, i % 2 ? JZX_OK : JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), JZX_MS(5) * i + JZX_MS(5) * (i / 2));
    }
    life->finished++;
}

JZX_TEST(deadlines_of_earlier_waits_do_not_end_later_ones, "E16") {
    struct timing timing = timing_open();
    struct life life = {0};
    jzx_actor_id id = timing_fiber(&timing, wait_again_and_again, &life);
    for (int i = 0; i < 10; i++) {
        timing_advance(&timing, JZX_MS(5));
        fixture_send(timing.loop, id, 1);
        timing_step(&timing);
        timing_advance(&timing, JZX_MS(5));
        timing_advance(&timing, JZX_MS(5));
    }
    assert_int_equal(life.finished, 1);
    timing_close(&timing);
}

/* ---- messages of the runtime ---- */

static void hear_of_ends(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    jzx_exit_notice notice;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, life->other), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, life->other, &ref), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, JZX_TAG_DOWN, JZX_NEVER, &msg), JZX_OK);
    memcpy(&notice, msg.data, sizeof notice);
    JZX_EXPECT_EQ(notice.monitor, ref);
    JZX_EXPECT_EQ(notice.reason, JZX_EXIT_KILLED);
    JZX_EXPECT_EQ(msg.sender, life->other);
    JZX_EXPECT_EQ(jzx_receive_from(ctx, life->other, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, JZX_TAG_EXIT);
    for (uint32_t i = 1; i <= 3; i++)
        expect_next(ctx, i);
    life->finished++;
}

JZX_TEST(ends_of_others_are_found_behind_what_is_passed_over, "E15", "E19") {
    jzx_loop *loop = fixture_loop();
    struct life victim = {0};
    struct life life = {.other = spawn_fiber(loop, keep_life, &victim)};
    jzx_actor_id id = spawn_fiber(loop, hear_of_ends, &life);
    for (uint32_t i = 1; i <= 3; i++)
        fixture_send(loop, id, i);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_actor_stop(loop, life.other, JZX_STOP_KILL), JZX_OK);
    run(loop);
    assert_int_equal(life.finished, 1);
    expect_ended(&victim, JZX_EXIT_KILLED);
    fixture_destroy(loop);
}

static void end_by_link(jzx_context *ctx) {
    struct life *life = ctx->state;
    JZX_EXPECT_EQ(jzx_link(ctx, life->other), JZX_OK);
    receive_wanted(ctx);
}

/* Whatever it has passed over, and whatever came behind the end: it ends where it waits. */
JZX_TEST(a_linked_end_ends_a_fiber_that_has_passed_messages_over, "E15", "E19") {
    for (enum form form = BY_TAG; form < BY_COUNT; form++) {
        struct timing timing = timing_open();
        struct life life = want(form, form == BY_TAG ? JZX_NEVER : JZX_SECOND(5));
        struct life victim = {0};
        life.other = timing_fiber(&timing, keep_life, &victim);
        jzx_actor_id id = spawn_fiber(timing.loop, end_by_link, &life);
        for (uint32_t i = 1; i <= 3; i++)
            send_number(timing.loop, id, FROM, 2 * i, 2 * i);
        timing_step(&timing);
        assert_int_equal(jzx_actor_fail(timing.loop, life.other), JZX_OK);
        timing_step(&timing);
        assert_int_equal(life.begun, 1);
        assert_int_equal(life.finished, 0);
        expect_ended(&life, JZX_EXIT_FAIL);
        assert_int_equal(fixture_stats(timing.loop).dead, 3);
        assert_int_equal(timing_pending(timing.loop), 0);
        timing_close(&timing);
    }
}

static void cancel_what_waits(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_timer_id timer;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, JZX_NOBODY, NULL, 0, 5, JZX_MS(1), &timer),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 6, JZX_MS(4), &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, timer), JZX_OK); /* it was passed over */
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 5, 0, &msg), JZX_ERR_TIMEOUT);
    fixture_send(ctx->loop, ctx->self, 6);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 6, 0, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT);
    life->finished++;
}

JZX_TEST(a_timer_that_was_passed_over_can_be_cancelled) {
    struct timing timing = timing_open();
    struct life life = {0};
    timing_fiber(&timing, cancel_what_waits, &life);
    timing_advance(&timing, JZX_MS(2));
    timing_advance(&timing, JZX_MS(2));
    assert_int_equal(life.finished, 1);
    timing_close(&timing);
}

static void take_monitor_back(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_monitor_ref ref;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_monitor(ctx, life->other, &ref), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, life->other, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 6, JZX_MS(4), &msg), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_demonitor(ctx, ref), JZX_OK); /* its message waits */
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, JZX_TAG_DOWN, 0, &msg), JZX_ERR_TIMEOUT);
    fixture_send(ctx->loop, ctx->self, 6);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 6, 0, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_ERR_TIMEOUT);
    life->finished++;
}

JZX_TEST(a_monitor_whose_message_was_passed_over_can_be_taken_back, "E19") {
    struct timing timing = timing_open();
    struct life victim = {0};
    struct life life = {.other = timing_fiber(&timing, keep_life, &victim)};
    timing_fiber(&timing, take_monitor_back, &life);
    timing_advance(&timing, JZX_MS(4));
    assert_int_equal(life.finished, 1);
    timing_close(&timing);
}

static void ask_and_receive(jzx_context *ctx) {
    struct life *life = ctx->state;
    uint64_t refs[2];
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_ask(ctx, life->other, NULL, 0, 1, JZX_MS(5), &refs[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask(ctx, life->other, NULL, 0, 2, JZX_MS(5), &refs[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 100, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), refs[0]);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, JZX_TAG_ASK_TIMEOUT, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), refs[1]);
    JZX_EXPECT_EQ(jzx_loop_now(ctx->loop), JZX_MS(5));
    expect_next(ctx, 50);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), 0);
    life->finished++;
}

static jzx_behavior_result answer_the_first(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == 1)
        JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, 100), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(answers_to_questions_are_received_as_messages) {
    struct timing timing = timing_open();
    struct life life = {
        .other = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = answer_the_first))};
    jzx_actor_id id = spawn_fiber(timing.loop, ask_and_receive, &life);
    fixture_send(timing.loop, id, 50);
    timing_step(&timing);
    for (int i = 0; i < 5; i++)
        timing_advance(&timing, JZX_MS(1));
    assert_int_equal(life.finished, 1);
    timing_close(&timing);
}

/* ---- the payload ---- */

static uint32_t destroyed;

static void count_destroyed(void *data, size_t len) {
    (void)data;
    (void)len;
    destroyed++;
}

static void send_buffer(jzx_context *ctx, uint32_t tag) {
    unsigned char *data = jzx_msg_alloc(ctx->loop, 200, count_destroyed);
    memset(data, (int)tag, 200);
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, ctx->self, ctx->self, data, tag), JZX_OK);
}

static void hold_payloads(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    jzx_message other;
    for (uint32_t i = 1; i <= 4; i++)
        send_buffer(ctx, i);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 3, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK);
    JZX_EXPECT_EQ(jzx_sleep(ctx, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, 0x7777, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(destroyed, 0);
    JZX_EXPECT_EQ(((unsigned char *)msg.data)[199], 3);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 9, 0, &other), JZX_ERR_TIMEOUT); /* the next receive */
    JZX_EXPECT_EQ(destroyed, 1);
    JZX_EXPECT_EQ(jzx_msg_take(ctx, &msg), NULL);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    unsigned char *data = jzx_msg_take(ctx, &msg);
    JZX_EXPECT_EQ(jzx_msg_take(ctx, &msg), NULL);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &other), JZX_OK);
    JZX_EXPECT_EQ(other.tag, 2);
    JZX_EXPECT_EQ(data[199], 1); /* its own */
    JZX_EXPECT_EQ(destroyed, 1);
    jzx_msg_free(ctx->loop, data);
    JZX_EXPECT_EQ(destroyed, 2);
    life->finished++;
    if (life->other == 1)
        jzx_exit(ctx, JZX_EXIT_FAIL, NULL);
    if (life->other == 2)
        JZX_EXPECT_EQ(jzx_sleep(ctx, JZX_NEVER), JZX_OK); /* never returns */
}

JZX_TEST(a_payload_lasts_until_the_next_receive_or_the_end) {
    for (uint32_t end = 0; end < 3; end++) {
        jzx_loop *loop = fixture_loop();
        struct life life = {.other = end};
        destroyed = 0;
        jzx_actor_id id = spawn_fiber(loop, hold_payloads, &life);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(life.finished, 1);
        assert_int_equal(destroyed, end == 2 ? 2 : 4);
        if (end == 2)
            assert_int_equal(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
        run(loop);
        assert_int_equal(destroyed, 4);
        static const jzx_exit_reason reasons[] = {JZX_EXIT_NORMAL, JZX_EXIT_FAIL, JZX_EXIT_KILLED};
        expect_ended(&life, reasons[end]);
        fixture_destroy(loop);
    }
}

/* ---- mailboxes that are full ---- */

static jzx_on_full policy;

/* Sends to life->other, whose mailbox holds four: on its worker the bound is exact. */
static void fill(jzx_context *ctx) {
    struct life *life = ctx->state;
    uint32_t accepted = 0;
    for (uint32_t i = 1; i <= 6; i++) {
        JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK); /* each is passed over before the next is sent */
        jzx_err err = jzx_send(ctx->loop, life->other, ctx->self, NULL, 0, i);
        JZX_EXPECT_EQ(err, policy == JZX_FULL_REFUSE && i > 4 ? JZX_ERR_MAILBOX_FULL : JZX_OK);
        accepted += err == JZX_OK;
    }
    JZX_EXPECT_EQ(accepted, policy == JZX_FULL_REFUSE ? 4 : 6);
    JZX_EXPECT_EQ(info_of(ctx->loop, life->other).depth, 4);
    /* No bound refuses a message of a timer. */
    JZX_EXPECT_EQ(jzx_send_after(ctx->loop, life->other, ctx->self, NULL, 0, 7, JZX_MS(1), NULL),
                  JZX_OK);
    life->finished++;
}

static void be_filled(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    expect_tag(ctx, 7);
    while (jzx_receive(ctx, 0, &msg) == JZX_OK)
        note_tag(life, msg.tag);
    for (uint32_t i = 0; i < 4; i++) /* all places are free again */
        fixture_send(ctx->loop, ctx->self, 1);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, JZX_NOBODY, NULL, 0, 1),
                  policy == JZX_FULL_REFUSE ? JZX_ERR_MAILBOX_FULL : JZX_OK);
    life->finished++;
}

JZX_TEST(what_is_passed_over_counts_for_the_bound, "C11", "E15") {
    static const uint32_t kept[3][4] = {{1, 2, 3, 4}, {3, 4, 5, 6}, {1, 2, 3, 4}};
    for (policy = JZX_FULL_REFUSE; policy <= JZX_FULL_DROP_NEW; policy++) {
        struct timing timing = timing_open();
        struct life target = {0};
        struct life source = {0};
        source.other =
            fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = be_filled, .state = &target,
                                                       .mailbox_cap = 4, .on_full = policy));
        timing_step(&timing);
        spawn_fiber(timing.loop, fill, &source);
        timing_step(&timing);
        assert_int_equal(source.finished, 1);
        assert_int_equal(target.finished, 0);
        timing_advance(&timing, JZX_MS(1));
        assert_int_equal(target.finished, 1);
        expect_life_tags(&target, 4, kept[policy]);
        timing_close(&timing);
    }
}

/* ---- misuse ---- */

static void misuse(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_context copy = *ctx;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 1, 0, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_receive_from(ctx, 1, 0, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_receive_match(ctx, NULL, NULL, 0, &msg), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_receive(NULL, 0, &msg), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_receive(&copy, 0, &msg), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_receive(ctx, 0, &msg), JZX_OK); /* nothing has happened */
    life->finished++;
}

JZX_TEST(a_receive_needs_its_own_context_and_a_place_for_the_message, "C+fail") {
    play(misuse, 1);
}

/* ---- a predicate, and senders that want something of the mailbox ---- */

static bool is_two(void *arg, const jzx_message *msg) {
    ++*(uint32_t *)arg;
    return msg->tag == 2;
}

static void take_two(jzx_context *ctx) {
    struct life *life = ctx->state;
    uint32_t calls = 0;
    jzx_message msg;
    (void)jzx_yield(ctx); /* the others are in line now */
    JZX_EXPECT_EQ(jzx_receive_match(ctx, is_two, &calls, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(calls, 1);
    life->finished++;
}

JZX_TEST(a_predicate_is_asked_in_a_mailbox_that_drops_the_oldest, "E15") {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.fiber = take_two, .state = &life, .on_full = JZX_FULL_DROP_OLDEST));
    fixture_send(loop, id, 2);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(life.finished, 1);
    fixture_destroy(loop);
}

static jzx_actor_id full;

static void send_when_there_is_room(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_err err = jzx_send_until(ctx, full, NULL, 0, 3, JZX_NEVER);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR); /* there is room, then it ends */
    life->finished++;
}

static void wait_for_room(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, full, ctx->self), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, JZX_TAG_ROOM, JZX_NEVER, &msg), JZX_OK);
    life->finished++;
}

static void ask_in_a_full_mailbox(jzx_fiber_fn other) {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    full =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = take_two, .state = &life, .mailbox_cap = 1));
    fixture_send(loop, full, 2);
    (void)spawn_fiber(loop, other, &life);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(life.finished, 2);
    fixture_destroy(loop);
}

JZX_TEST(a_predicate_is_asked_while_a_sender_waits_for_room, "E15") {
    ask_in_a_full_mailbox(send_when_there_is_room);
}

JZX_TEST(a_predicate_is_asked_while_an_actor_is_to_hear_of_room, "E15") {
    ask_in_a_full_mailbox(wait_for_room);
}
