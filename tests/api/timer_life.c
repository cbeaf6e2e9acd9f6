/* SPDX-License-Identifier: MIT */
/* Timers and the actors they are for: ends, mailboxes, other messages, taking and putting aside. */
#include "timing.h"

#include <pthread.h>

/* ---- the end of the actor ---- */

enum { TAG_STOP = 1000, TAG_FAIL, TAG_PANIC, TAG_HOLD };

static jzx_behavior_result end_as_told(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    if (msg->tag == TAG_STOP)
        return JZX_BEHAVIOR_STOP;
    if (msg->tag == TAG_FAIL)
        return JZX_BEHAVIOR_FAIL;
    return msg->tag == TAG_PANIC ? (jzx_behavior_result)99 : JZX_BEHAVIOR_OK;
}

static void end_actor(const struct timing *timing, jzx_actor_id id, uint32_t way) {
    if (way < 3)
        fixture_send(timing->loop, id, TAG_STOP + way);
    else if (way < 6)
        JZX_EXPECT_EQ(jzx_actor_stop(timing->loop, id, (jzx_stop_kind)(way - 3)), JZX_OK);
    else
        JZX_EXPECT_EQ(jzx_actor_fail(timing->loop, id), JZX_OK);
    timing_step(timing);
}

static void set_all_kinds(jzx_context *ctx) {
    for (uint32_t key = 0; key < 20; key++)
        JZX_EXPECT_EQ(jzx_timer_start(ctx, key, "0123456789", key % 11, 1, JZX_MS(key * key + 1)),
                      JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 99, NULL, 0, 1, JZX_MS(7), JZX_FIXED_RATE), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 98, NULL, 0, 1, JZX_MS(7), JZX_FIXED_DELAY), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(5)), JZX_OK);
}

static void ended_this_way(uint32_t way) {
    enum { TIMERS = 8 };
    static const uint64_t delays_ms[TIMERS] = {0, 1, 200, 256, 20000, 1048576, 90000000, 5};
    struct diary diary = {.then = end_as_told};
    struct diary next = {0};
    struct timing timing = timing_open_with(0, &JZX_CONFIG(.max_actors = 1)); /* one slot */
    jzx_timer_id timers[TIMERS + 2];
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t i = 0; i < TIMERS; i++)
        timers[i] = timing_set(timing.loop, id, 1, JZX_MS(delays_ms[i]));
    timers[TIMERS] = timing_repeat(timing.loop, id, 1, JZX_MS(3), JZX_FIXED_RATE);
    timers[TIMERS + 1] = timing_repeat(timing.loop, id, 1, JZX_MS(4), JZX_FIXED_DELAY);
    timing_do(&timing, id, set_all_kinds);
    end_actor(&timing, id, way);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).exited, 1);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    uint32_t count = diary.count; /* what ended it, perhaps */
    jzx_actor_id heir = timing_spawn(&timing, &next);
    JZX_EXPECT_EQ(jzx_id_index(heir), jzx_id_index(id));
    for (uint32_t i = 0; i < TIMERS + 2; i++)
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[i]), JZX_ERR_TIMER_INVALID);
    for (uint32_t i = 0; i < 400; i++)
        timing_advance(&timing, JZX_MS(1));
    timing_advance(&timing, JZX_SECOND(86400 * 30));
    JZX_EXPECT_EQ(diary.count, count);
    JZX_EXPECT_EQ(next.count, 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    JZX_EXPECT(jzx_loop_next_deadline(timing.loop) == JZX_NEVER);
    timing_close(&timing);
}

JZX_TEST(timers_are_gone_when_their_actor_ends, "C+tool", "B+actor", "C23") {
    for (uint32_t way = 0; way <= 6; way++)
        ended_this_way(way);
}

/* The first of several that are due ends the actor; the others wait in its mailbox. */
JZX_TEST(timer_messages_that_wait_die_with_their_actor, "X14", "X15", "C+tool") {
    struct diary diary = {.then = end_as_told};
    struct timing timing = timing_open();
    jzx_timer_id timers[5];
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timers[0] = timing_set(timing.loop, id, TAG_STOP, JZX_MS(1));
    JZX_EXPECT_EQ(
        jzx_send_after(timing.loop, id, JZX_NOBODY, "0123456789", 10, 1, JZX_MS(1), &timers[1]),
        JZX_OK);
    timers[2] = timing_repeat(timing.loop, id, 1, JZX_MS(1), JZX_FIXED_RATE);
    timers[3] = timing_repeat(timing.loop, id, 1, JZX_MS(1), JZX_FIXED_DELAY);
    timers[4] = timing_set(timing.loop, id, 1, JZX_MS(2));
    timing_advance(&timing, JZX_MS(1));
    expect_tags(&diary, 1, (const uint32_t[]){TAG_STOP});
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).exited, 1);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    timing_advance(&timing, JZX_MS(100));
    JZX_EXPECT_EQ(diary.count, 1);
    for (uint32_t i = 0; i < 5; i++)
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[i]), JZX_ERR_TIMER_INVALID);
    timing_close(&timing);
}

JZX_TEST(an_actor_that_works_off_its_queue_gets_no_timer_that_is_not_due, "B+actor", "C23") {
    struct diary diary = {0};
    struct timing timing = timing_open_with(0, &JZX_CONFIG(.max_msgs_per_actor = 1));
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_timer_id timer = timing_set(timing.loop, id, 9, JZX_MS(1));
    for (uint32_t tag = 1; tag <= 3; tag++)
        fixture_send(timing.loop, id, tag);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, 0), JZX_OK);
    jzx_err err = jzx_send_after(timing.loop, id, JZX_NOBODY, NULL, 0, 8, JZX_MS(1), NULL);
    JZX_EXPECT_EQ(err, JZX_ERR_NO_SUCH_ACTOR); /* it has seen the request */
    timing_step(&timing);
    expect_tags(&diary, 3, (const uint32_t[]){1, 2, 3});
    timing_advance(&timing, JZX_MS(10));
    JZX_EXPECT_EQ(diary.count, 3);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timer), JZX_ERR_TIMER_INVALID);
    timing_close(&timing);
}

static uint32_t cleanups;

static void set_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    cleanups++;
    JZX_EXPECT(jzx_send_after(ctx->loop, ctx->self, ctx->self, NULL, 0, 1, JZX_MS(1), NULL) !=
               JZX_OK);
    JZX_EXPECT(jzx_timer_start(ctx, 1, NULL, 0, 1, JZX_MS(1)) != JZX_OK);
    JZX_EXPECT(jzx_timer_start_every(ctx, 1, NULL, 0, 1, 1, JZX_FIXED_RATE) != JZX_OK);
    JZX_EXPECT(jzx_receive_timeout(ctx, JZX_MS(1)) != JZX_OK);
    JZX_EXPECT(!jzx_timer_is_active(ctx, 0)); /* it was, before */
    JZX_EXPECT(jzx_timer_stop(ctx, 0) != JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_stop_all(ctx), 0);
}

JZX_TEST(no_timer_can_be_set_in_a_cleanup, "B+actor") {
    struct diary diary = {.then = end_as_told};
    struct timing timing = timing_open();
    cleanups = 0;
    for (uint32_t way = 0; way <= 6; way++) {
        jzx_actor_id id =
            fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary,
                                                       .cleanup = set_in_cleanup));
        timing_do(&timing, id, set_all_kinds);
        end_actor(&timing, id, way);
        JZX_EXPECT_EQ(cleanups, way + 1);
    }
    uint32_t count = diary.count;
    timing_advance(&timing, JZX_SECOND(10));
    JZX_EXPECT_EQ(diary.count, count);
    timing_close(&timing);
}

static jzx_err set_in_init(jzx_context *ctx) {
    set_all_kinds(ctx);
    timing_set(ctx->loop, ctx->self, 5, JZX_MS(2));
    return JZX_OK;
}

static jzx_err set_in_init_and_fail(jzx_context *ctx) {
    set_in_init(ctx);
    return JZX_ERR_UNKNOWN;
}

JZX_TEST(timers_set_in_init_live_and_die_with_the_actor, "B+actor") {
    static struct diary diary;
    struct diary failed = {0};
    struct timing timing = timing_open();
    diary = (struct diary){0};
    fixture_spawn(timing.loop,
                  &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary, .init = set_in_init));
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &failed,
                                               .init = set_in_init_and_fail));
    timing_step(&timing);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).failed, 1);
    timing_advance(&timing, JZX_MS(6));
    JZX_EXPECT_EQ(diary.count, 3 + 1 + 1); /* keys 0, 1, 2, the timer of init, and the timeout */
    JZX_EXPECT_EQ(failed.count, 0);
    timing_close(&timing);
}

/* Set before the actor's first turn, and due before it. */
JZX_TEST(a_timer_may_be_set_for_an_actor_that_has_not_begun, "C23") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary));
    timing_set(timing.loop, id, 1, JZX_MS(1));
    jzx_timer_id dropped = timing_set(timing.loop, id, 2, JZX_MS(1));
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, dropped), JZX_OK);
    timing_advance(&timing, JZX_MS(1));
    expect_last(&diary, 1, 1, JZX_MS(1));
    timing_close(&timing);
}

JZX_TEST(an_actor_killed_before_its_first_turn_leaves_no_timer, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary));
    jzx_timer_id timer = timing_set(timing.loop, id, 1, JZX_MS(1));
    timing_repeat(timing.loop, id, 1, JZX_MS(1), JZX_FIXED_RATE);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timer), JZX_ERR_TIMER_INVALID);
    timing_advance(&timing, JZX_MS(10));
    JZX_EXPECT_EQ(diary.count, 0);
    timing_close(&timing);
}

/* ---- mailboxes and other messages ---- */

JZX_TEST(no_mailbox_bound_refuses_a_timer, "X15") {
    enum { TIMERS = 300 };
    static const jzx_on_full policies[] = {JZX_FULL_REFUSE, JZX_FULL_DROP_OLDEST,
                                           JZX_FULL_DROP_NEW};
    static struct diary diary;
    for (uint32_t policy = 0; policy < 3; policy++) {
        struct timing timing = timing_open();
        diary = (struct diary){0};
        jzx_actor_id id = fixture_spawn(
            timing.loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary, .mailbox_cap = 1,
                                         .on_full = policies[policy]));
        timing_step(&timing);
        for (uint32_t i = 0; i < TIMERS; i++)
            timing_set(timing.loop, id, 10 + i, JZX_MS(1));
        fixture_send(timing.loop, id, 1); /* the mailbox is full */
        timing_advance(&timing, JZX_MS(1));
        JZX_EXPECT_EQ(diary.count, TIMERS + 1);
        JZX_EXPECT_EQ(diary.arrivals[0].tag, 1);
        for (uint32_t i = 1; i < diary.count; i++)
            JZX_EXPECT_EQ(diary.arrivals[i].tag, 10 + i - 1);
        JZX_EXPECT_EQ(fixture_stats(timing.loop).dead, 0);
        timing_close(&timing);
    }
}

/* Timer messages wait, and do not count: there is room for one message of a user. */
JZX_TEST(timer_messages_take_no_room_from_users, "X15") {
    static const struct {
        jzx_on_full policy;
        jzx_err second;
        uint32_t survivor;
    } cases[] = {{JZX_FULL_REFUSE, JZX_ERR_MAILBOX_FULL, 11},
                 {JZX_FULL_DROP_OLDEST, JZX_OK, 12},
                 {JZX_FULL_DROP_NEW, JZX_OK, 11}};
    for (uint32_t i = 0; i < 3; i++) {
        struct diary diary = {0};
        struct timing timing = timing_open_with(0, &JZX_CONFIG(.max_msgs_per_actor = 1));
        jzx_actor_id id = fixture_spawn(
            timing.loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary, .mailbox_cap = 1,
                                         .on_full = cases[i].policy));
        timing_step(&timing);
        for (uint32_t tag = 1; tag <= 3; tag++)
            timing_set(timing.loop, id, tag, JZX_MS(1));
        timing_step(&timing);
        JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(1)), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_step(timing.loop, 0), JZX_OK);
        JZX_EXPECT_EQ(diary.count, 1); /* two wait */
        JZX_EXPECT_EQ(jzx_send(timing.loop, id, JZX_NOBODY, NULL, 0, 11), JZX_OK);
        JZX_EXPECT_EQ(jzx_send(timing.loop, id, JZX_NOBODY, NULL, 0, 12), cases[i].second);
        timing_check_books(timing.loop);
        timing_step(&timing);
        expect_tags(&diary, 4, (const uint32_t[]){1, 2, 3, cases[i].survivor});
        timing_close(&timing);
    }
}

static struct timing *shared_timing;
static jzx_actor_id shared_target;

static void *send_three(void *arg) {
    (void)arg;
    for (uint32_t tag = 1; tag <= 3; tag++)
        fixture_send(shared_timing->loop, shared_target, tag);
    return NULL;
}

static void send_three_in_turn(jzx_context *ctx) {
    (void)ctx;
    send_three(NULL);
    /* Due while they wait. */
    JZX_EXPECT_EQ(jzx_clock_advance(shared_timing->clock, JZX_MS(1)), JZX_OK);
}

/* way 0: sent by the thread that drives the loop, 1: by another, 2: by an actor in its turn */
static void comes_behind(uint32_t way) {
    struct diary diary = {0};
    struct diary other = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_actor_id sender = timing_spawn(&timing, &other);
    shared_timing = &timing;
    shared_target = id;
    timing_set(timing.loop, id, 9, JZX_MS(1));
    if (way == 0)
        send_three(NULL);
    if (way == 1) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, send_three, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    if (way == 2)
        timing_do(&timing, sender, send_three_in_turn);
    else
        timing_advance(&timing, JZX_MS(1));
    expect_tags(&diary, 4, (const uint32_t[]){1, 2, 3, 9});
    timing_close(&timing);
}

JZX_TEST(a_timer_message_comes_behind_what_waits_already, "X15") {
    for (uint32_t way = 0; way < 3; way++)
        comes_behind(way);
}

JZX_TEST(a_timer_message_comes_before_what_is_sent_later, "X15") {
    struct diary diary = {0};
    struct timing timing = timing_open_with(0, &JZX_CONFIG(.max_msgs_per_actor = 1));
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t tag = 1; tag <= 3; tag++)
        timing_set(timing.loop, id, tag, JZX_MS(1));
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(1)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, 0), JZX_OK); /* all have fired, one was handled */
    fixture_send(timing.loop, id, 4);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(1)), JZX_OK);
    timing_set(timing.loop, id, 5, 0);
    timing_advance(&timing, JZX_MS(1));
    expect_tags(&diary, 5, (const uint32_t[]){1, 2, 3, 4, 5});
    timing_close(&timing);
}

/* ---- taking ---- */

#define LEN_MAX 5000u

static void *taken;
static jzx_actor_id next_hop;

static jzx_behavior_result take_it(jzx_context *ctx, const jzx_message *msg) {
    taken = jzx_msg_take(ctx, msg);
    JZX_EXPECT(taken != NULL);
    JZX_EXPECT_EQ(taken, msg->data);
    JZX_EXPECT_EQ(jzx_msg_take(ctx, msg), NULL); /* once */
    JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_ERR_INVALID_ARG);
    if (next_hop != JZX_NOBODY)
        JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, next_hop, ctx->self, taken, msg->tag), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static const size_t lens[] = {0, 1, 8, 32, 33, 200, LEN_MAX};
#define LENS (sizeof lens / sizeof lens[0])

JZX_TEST(the_message_of_a_timer_can_be_taken_and_freed, "C+msg") {
    static unsigned char data[LEN_MAX];
    struct diary diary = {.then = take_it};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    next_hop = JZX_NOBODY;
    for (uint32_t i = 0; i < LENS; i++) {
        jzx_timer_id timer = JZX_NO_TIMER;
        memset(data, (int)i + 1, sizeof data);
        taken = NULL;
        JZX_EXPECT_EQ(jzx_send_after(timing.loop, id, JZX_NOBODY, data, lens[i], i, 0, &timer),
                      JZX_OK);
        timing_advance(&timing, JZX_MS(1));
        if (!JZX_EXPECT(taken != NULL))
            continue;
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timer), JZX_ERR_TIMER_INVALID);
        JZX_EXPECT_EQ(timing_pending(timing.loop), i);
        timing_set(timing.loop, id, 1, JZX_SECOND(1000)); /* does not use what is ours */
        JZX_EXPECT_EQ(jzx_msg_len(taken), lens[i]);
        JZX_EXPECT(memcmp(taken, data, lens[i]) == 0);
        jzx_msg_free(timing.loop, taken);
    }
    JZX_EXPECT_EQ(diary.count, LENS);
    timing_close(&timing);
}

static jzx_behavior_result check_hop(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    JZX_EXPECT_EQ(msg->len, lens[msg->tag]);
    for (size_t i = 0; i < msg->len; i++)
        JZX_EXPECT_EQ(((const unsigned char *)msg->data)[i], msg->tag + 1);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_message_of_a_timer_can_be_taken_and_sent_on, "C+msg") {
    static unsigned char data[LEN_MAX];
    struct diary diary = {.then = take_it};
    struct diary second = {.then = check_hop};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    next_hop = timing_spawn(&timing, &second);
    for (uint32_t i = 0; i < LENS; i++) {
        memset(data, (int)i + 1, sizeof data);
        JZX_EXPECT_EQ(
            jzx_send_after(timing.loop, id, JZX_NOBODY, data, lens[i], i, JZX_MS(i), NULL), JZX_OK);
    }
    timing_advance(&timing, JZX_MS(LENS));
    JZX_EXPECT_EQ(diary.count, LENS);
    JZX_EXPECT_EQ(second.count, LENS);
    for (uint32_t i = 0; i < second.count; i++)
        JZX_EXPECT_EQ(second.arrivals[i].sender, id);
    timing_close(&timing);
}

static jzx_behavior_result try_to_take(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(jzx_msg_take(ctx, msg), NULL);
    JZX_EXPECT_EQ(msg->len, lens[msg->tag]);
    for (size_t i = 0; i < msg->len; i++)
        JZX_EXPECT_EQ(((const unsigned char *)msg->data)[i], msg->tag + 1);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_message_of_a_repeating_timer_cannot_be_taken, "C+msg") {
    static unsigned char data[LEN_MAX];
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){.then = try_to_take};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t i = 0; i < LENS; i++) {
        memset(data, (int)i + 1, sizeof data);
        JZX_EXPECT_EQ(jzx_send_every(timing.loop, id, JZX_NOBODY, data, lens[i], i, JZX_MS(1),
                                     i % 2 ? JZX_FIXED_RATE : JZX_FIXED_DELAY, NULL),
                      JZX_OK);
    }
    for (uint32_t i = 0; i < 10; i++)
        timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(diary.count, 10 * LENS);
    timing_close(&timing);
}

/* ---- putting aside ---- */

enum { TAG_OPEN = 2000 };

static bool is_open;

static jzx_behavior_result stash_until_open(jzx_context *ctx, const jzx_message *msg) {
    struct diary *self = ctx->state;
    if (msg->tag == TAG_OPEN) {
        self->count--;
        is_open = true;
        jzx_unstash(ctx);
        return JZX_BEHAVIOR_OK;
    }
    if (!is_open) {
        self->count--;
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_msg_take(ctx, msg), NULL);
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_message_of_a_timer_can_be_put_aside, "X15") {
    struct diary diary = {.then = stash_until_open};
    struct timing timing = timing_open();
    is_open = false;
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, JZX_MS(1));
    timing_set(timing.loop, id, 2, JZX_MS(2));
    timing_advance(&timing, JZX_MS(1));
    fixture_send(timing.loop, id, 3);
    timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(diary.count, 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 3);
    timing_check_books(timing.loop);
    fixture_send(timing.loop, id, TAG_OPEN);
    timing_step(&timing);
    expect_tags(&diary, 3, (const uint32_t[]){1, 3, 2});
    timing_close(&timing);
}

JZX_TEST(a_timer_cancelled_while_its_message_is_aside_is_not_handled, "X15", "B+actor") {
    struct diary diary = {.then = stash_until_open};
    struct timing timing = timing_open();
    jzx_timer_id timers[4];
    is_open = false;
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(jzx_send_after(timing.loop, id, JZX_NOBODY,
                                     "0123456789012345678901234567890123", i * 11, i + 1, JZX_MS(1),
                                     &timers[i]),
                      JZX_OK);
    timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(diary.count, 0);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[2]), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[2]), JZX_ERR_TIMER_INVALID);
    timing_check_books(timing.loop);
    fixture_send(timing.loop, id, TAG_OPEN);
    timing_step(&timing);
    expect_tags(&diary, 2, (const uint32_t[]){2, 4});
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    for (uint32_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[i]), JZX_ERR_TIMER_INVALID);
    timing_close(&timing);
}

JZX_TEST(a_repeating_timer_waits_while_its_message_is_aside, "X15") {
    struct diary diary = {.then = stash_until_open};
    struct timing timing = timing_open();
    is_open = false;
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_repeat(timing.loop, id, 1, JZX_MS(10), JZX_FIXED_RATE);
    timing_repeat(timing.loop, id, 2, JZX_MS(10), JZX_FIXED_DELAY);
    jzx_timer_id dropped = timing_repeat(timing.loop, id, 3, JZX_MS(10), JZX_FIXED_RATE);
    for (uint32_t i = 0; i < 45; i++)
        timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(diary.count, 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 3); /* one each */
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, dropped), JZX_OK);
    fixture_send(timing.loop, id, TAG_OPEN);
    timing_step(&timing);
    expect_tags(&diary, 2, (const uint32_t[]){1, 2});
    JZX_EXPECT_EQ(diary.arrivals[0].missed, 3); /* 20, 30, 40 */
    JZX_EXPECT_EQ(diary.arrivals[1].missed, 0);
    timing_advance_to(&timing, JZX_MS(50));
    expect_last(&diary, 3, 1, JZX_MS(50));
    timing_advance_to(&timing, JZX_MS(55));
    expect_last(&diary, 4, 2, JZX_MS(55));
    timing_close(&timing);
}

JZX_TEST(messages_that_are_aside_die_with_their_actor, "X14", "X15") {
    struct diary diary = {.then = stash_until_open};
    struct timing timing = timing_open();
    is_open = false;
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_timer_id once = timing_set(timing.loop, id, 1, JZX_MS(10));
    jzx_timer_id again = timing_repeat(timing.loop, id, 2, JZX_MS(10), JZX_FIXED_RATE);
    jzx_timer_id dropped = timing_set(timing.loop, id, 1, JZX_MS(10));
    timing_advance(&timing, JZX_MS(10));
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, dropped), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, once), JZX_ERR_TIMER_INVALID);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, again), JZX_ERR_TIMER_INVALID);
    timing_advance(&timing, JZX_MS(1000));
    JZX_EXPECT_EQ(diary.count, 0);
    timing_close(&timing);
}
