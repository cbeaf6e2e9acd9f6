/* SPDX-License-Identifier: MIT */
/* The receive timeout: a message to an actor that has heard of no user for too long. */
#include "timing.h"

static uint64_t idle_ns; /* for the turns below */

static void set_timeout(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, idle_ns), JZX_OK);
}

/* An actor with that timeout, set now. */
static jzx_actor_id spawn_with_timeout(const struct timing *timing, struct diary *diary,
                                       uint64_t idle) {
    jzx_actor_id id = timing_spawn(timing, diary);
    idle_ns = idle;
    timing_do(timing, id, set_timeout);
    return id;
}

static void nothing(jzx_context *ctx) {
    (void)ctx;
}

JZX_TEST(an_idle_actor_gets_a_timeout_again_and_again, "B+actor", "C23") {
    static const uint64_t idles_ms[] = {1, 10, 255, 256, 257, 16384, 1048576};
    for (size_t k = 0; k < sizeof idles_ms / sizeof idles_ms[0]; k++) {
        uint64_t idle = JZX_MS(idles_ms[k]);
        struct diary diary = {0};
        struct timing timing = timing_open();
        spawn_with_timeout(&timing, &diary, idle);
        for (uint32_t i = 1; i <= 20; i++) {
            timing_advance_to(&timing, i * idle - 1);
            JZX_EXPECT_EQ(diary.count, i - 1);
            timing_advance_to(&timing, i * idle);
            expect_last(&diary, i, JZX_TAG_RECEIVE_TIMEOUT, i * idle);
            JZX_EXPECT_EQ(diary.arrivals[i - 1].sender, JZX_NOBODY);
            JZX_EXPECT_EQ(diary.arrivals[i - 1].len, 0);
        }
        timing_close(&timing);
    }
}

static void start_two_and_stop_all(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, 1, JZX_MS(3)), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 2, NULL, 0, 2, JZX_MS(3), JZX_FIXED_RATE), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_stop_all(ctx), 2);
}

JZX_TEST(stopping_all_timers_leaves_the_receive_timeout) {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = spawn_with_timeout(&timing, &diary, JZX_MS(10));
    timing_do(&timing, id, start_two_and_stop_all); /* a message of a user, at the same time */
    timing_advance(&timing, JZX_MS(10));
    expect_last(&diary, 1, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(10));
    timing_advance(&timing, JZX_MS(10));
    expect_last(&diary, 2, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(20));
    timing_close(&timing);
}

JZX_TEST(a_timeout_of_zero_comes_at_the_next_millisecond, "B+actor", "X7") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    spawn_with_timeout(&timing, &diary, 0);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance(&timing, JZX_MS(1) - 1);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance(&timing, 1);
    expect_last(&diary, 1, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(1));
    timing_advance(&timing, JZX_MS(1));
    expect_last(&diary, 2, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(2));
    timing_close(&timing);
}

JZX_TEST(a_message_of_a_user_puts_the_timeout_off, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = spawn_with_timeout(&timing, &diary, JZX_MS(10));
    for (uint32_t i = 1; i <= 100; i++) {
        timing_advance(&timing, JZX_MS(9));
        fixture_send(timing.loop, id, 1);
        timing_step(&timing);
        expect_last(&diary, i, 1, JZX_MS(9 * i));
    }
    timing_advance(&timing, JZX_MS(10) - 1);
    JZX_EXPECT_EQ(diary.count, 100);
    timing_advance(&timing, 1);
    expect_last(&diary, 101, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(910));
    timing_advance(&timing, JZX_MS(5));
    fixture_send(timing.loop, id, 2); /* between two timeouts */
    timing_advance(&timing, JZX_MS(5));
    expect_last(&diary, 102, 2, JZX_MS(920));
    timing_close(&timing);
}

/* The message comes with the clock already further: what counts is when it is handled. */
JZX_TEST(the_time_counts_from_the_handling, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = spawn_with_timeout(&timing, &diary, JZX_MS(100));
    fixture_send(timing.loop, id, 1);
    timing_advance(&timing, JZX_MS(50)); /* handled now */
    JZX_EXPECT_EQ(diary.count, 1);
    timing_advance_to(&timing, JZX_MS(150) - 1);
    JZX_EXPECT_EQ(diary.count, 1);
    timing_advance_to(&timing, JZX_MS(150));
    expect_last(&diary, 2, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(150));
    timing_close(&timing);
}

JZX_TEST(messages_of_the_runtime_do_not_put_the_timeout_off, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = spawn_with_timeout(&timing, &diary, JZX_MS(10));
    timing_set(timing.loop, id, 1, JZX_MS(4));
    jzx_timer_id every = timing_repeat(timing.loop, id, 2, JZX_MS(3), JZX_FIXED_RATE);
    for (uint32_t i = 0; i < 9; i++)
        timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(jzx_send_when_room(timing.loop, id, id), JZX_OK);
    timing_step(&timing);
    expect_tags(&diary, 5, (const uint32_t[]){2, 1, 2, 2, JZX_TAG_ROOM});
    timing_advance(&timing, JZX_MS(1));
    expect_last(&diary, 6, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(10));
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, every), JZX_OK);
    timing_advance_to(&timing, JZX_MS(20) - 1);
    JZX_EXPECT_EQ(diary.count, 6);
    timing_advance_to(&timing, JZX_MS(20));
    expect_last(&diary, 7, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(20));
    timing_close(&timing);
}

/* ---- messages that shall not count ---- */

static jzx_behavior_result ignore_small_tags(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag < 100)
        jzx_receive_timeout_ignore(ctx);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_message_that_is_ignored_does_not_put_the_timeout_off, "B+actor") {
    struct diary diary = {.then = ignore_small_tags};
    struct timing timing = timing_open();
    jzx_actor_id id = spawn_with_timeout(&timing, &diary, JZX_MS(10));
    for (uint32_t i = 1; i <= 9; i++) {
        timing_advance(&timing, JZX_MS(1));
        fixture_send(timing.loop, id, i);
        timing_step(&timing);
    }
    timing_advance(&timing, JZX_MS(1));
    expect_last(&diary, 10, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(10));
    timing_advance(&timing, JZX_MS(5));
    fixture_send(timing.loop, id, 100); /* counts */
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(5));
    fixture_send(timing.loop, id, 1); /* does not */
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(5) - 1);
    JZX_EXPECT_EQ(diary.count, 12);
    timing_advance(&timing, 1);
    expect_last(&diary, 13, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(25));
    timing_close(&timing);
}

JZX_TEST(ignoring_without_a_timeout_does_nothing, "B+actor") {
    struct diary diary = {.then = ignore_small_tags};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    fixture_send(timing.loop, id, 1);
    timing_advance(&timing, JZX_SECOND(100));
    JZX_EXPECT_EQ(diary.count, 1);
    timing_close(&timing);
}

/* ---- setting it anew, and off ---- */

JZX_TEST(a_timeout_can_be_set_anew, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = spawn_with_timeout(&timing, &diary, JZX_MS(10));
    timing_advance(&timing, JZX_MS(5));
    idle_ns = JZX_MS(1000);
    timing_do(&timing, id, set_timeout); /* longer */
    timing_advance_to(&timing, JZX_MS(1005) - 1);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance_to(&timing, JZX_MS(1005));
    expect_last(&diary, 1, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(1005));
    idle_ns = JZX_MS(7);
    timing_do(&timing, id, set_timeout); /* shorter */
    timing_advance(&timing, JZX_MS(7));
    expect_last(&diary, 2, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(1012));
    timing_advance(&timing, JZX_MS(7));
    expect_last(&diary, 3, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(1019));
    timing_close(&timing);
}

JZX_TEST(a_timeout_can_be_turned_off_and_on, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = spawn_with_timeout(&timing, &diary, JZX_NEVER); /* off already */
    timing_advance(&timing, JZX_SECOND(100));
    idle_ns = JZX_MS(10);
    timing_do(&timing, id, set_timeout);
    timing_advance(&timing, JZX_MS(9));
    idle_ns = JZX_NEVER;
    timing_do(&timing, id, set_timeout);
    timing_advance(&timing, JZX_SECOND(1000000));
    JZX_EXPECT_EQ(diary.count, 0);
    JZX_EXPECT(jzx_loop_next_deadline(timing.loop) == JZX_NEVER);
    fixture_send(timing.loop, id, 1); /* does not turn it on */
    timing_advance(&timing, JZX_SECOND(1));
    JZX_EXPECT_EQ(diary.count, 1);
    idle_ns = JZX_MS(10);
    timing_do(&timing, id, set_timeout);
    timing_advance(&timing, JZX_MS(10));
    JZX_EXPECT_EQ(diary.count, 2);
    JZX_EXPECT_EQ(diary.arrivals[1].tag, JZX_TAG_RECEIVE_TIMEOUT);
    timing_close(&timing);
}

static jzx_behavior_result off_at_third_timeout(jzx_context *ctx, const jzx_message *msg) {
    const struct diary *self = ctx->state;
    if (msg->tag == JZX_TAG_RECEIVE_TIMEOUT && self->count == 3)
        JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_NEVER), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_timeout_can_be_turned_off_in_its_own_message, "B+actor") {
    struct diary diary = {.then = off_at_third_timeout};
    struct timing timing = timing_open();
    spawn_with_timeout(&timing, &diary, JZX_MS(10));
    for (uint32_t i = 0; i < 10; i++)
        timing_advance(&timing, JZX_MS(10));
    JZX_EXPECT_EQ(diary.count, 3);
    timing_close(&timing);
}

static jzx_behavior_result double_it(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == JZX_TAG_RECEIVE_TIMEOUT)
        JZX_EXPECT_EQ(jzx_receive_timeout(ctx, idle_ns *= 2), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_timeout_can_be_set_anew_in_its_own_message, "B+actor") {
    struct diary diary = {.then = double_it};
    struct timing timing = timing_open();
    spawn_with_timeout(&timing, &diary, JZX_MS(10));
    timing_advance_to(&timing, JZX_MS(10));
    JZX_EXPECT_EQ(diary.count, 1);
    timing_advance_to(&timing, JZX_MS(30) - 1);
    JZX_EXPECT_EQ(diary.count, 1);
    timing_advance_to(&timing, JZX_MS(30));
    expect_last(&diary, 2, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(30));
    timing_advance_to(&timing, JZX_MS(70) - 1);
    JZX_EXPECT_EQ(diary.count, 2);
    timing_advance_to(&timing, JZX_MS(70));
    expect_last(&diary, 3, JZX_TAG_RECEIVE_TIMEOUT, JZX_MS(70));
    timing_close(&timing);
}

/* The timeout's message waits behind this one. */
static jzx_behavior_result off_at_first(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == 1)
        JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_NEVER), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_timeout_that_waits_does_not_come_once_it_is_off, "B+actor", "X15") {
    struct diary diary = {.then = off_at_first};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, JZX_MS(10));
    idle_ns = JZX_MS(10);
    timing_do(&timing, id, set_timeout);
    timing_advance(&timing, JZX_MS(10));
    expect_tags(&diary, 1, (const uint32_t[]){1});
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    timing_close(&timing);
}

/* ---- the end ---- */

static jzx_behavior_result stop_at_timeout(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    return msg->tag == JZX_TAG_RECEIVE_TIMEOUT ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_may_end_at_its_timeout, "B+actor") {
    struct diary diary = {.then = stop_at_timeout};
    struct timing timing = timing_open();
    spawn_with_timeout(&timing, &diary, JZX_MS(10));
    timing_advance(&timing, JZX_MS(10));
    JZX_EXPECT_EQ(diary.count, 1);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).exited, 1);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    timing_advance(&timing, JZX_SECOND(1));
    JZX_EXPECT_EQ(diary.count, 1);
    JZX_EXPECT(jzx_loop_next_deadline(timing.loop) == JZX_NEVER);
    timing_close(&timing);
}

JZX_TEST(a_timeout_ends_with_its_actor, "B+actor") {
    struct diary diary = {0};
    struct diary heir = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = spawn_with_timeout(&timing, &diary, JZX_MS(10));
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    jzx_actor_id next = timing_spawn(&timing, &heir);
    timing_do(&timing, next, nothing);
    timing_advance(&timing, JZX_SECOND(1));
    JZX_EXPECT_EQ(diary.count + heir.count, 0);
    timing_close(&timing);
}

JZX_TEST(no_mailbox_bound_refuses_a_timeout, "X15") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = fixture_spawn(
        timing.loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary, .mailbox_cap = 1));
    idle_ns = JZX_MS(10);
    timing_do(&timing, id, set_timeout);
    for (uint32_t i = 0; i < 10; i++)
        timing_set(timing.loop, id, 1, JZX_MS(10));
    timing_advance(&timing, JZX_MS(10));
    JZX_EXPECT_EQ(diary.count, 11);
    timing_close(&timing);
}

JZX_TEST(timeouts_and_timers_of_many_actors_do_not_mix, "B+actor") {
    enum { ACTORS = 40 };
    static struct diary diaries[ACTORS];
    struct timing timing = timing_open();
    memset(diaries, 0, sizeof diaries);
    for (uint32_t i = 0; i < ACTORS; i++) {
        jzx_actor_id id = spawn_with_timeout(&timing, &diaries[i], JZX_MS(i + 1));
        timing_repeat(timing.loop, id, 1, JZX_MS(ACTORS - i), JZX_FIXED_RATE);
    }
    for (uint32_t ms = 1; ms <= 200; ms++)
        timing_advance(&timing, JZX_MS(1));
    for (uint32_t i = 0; i < ACTORS; i++) {
        uint32_t timeouts = 0;
        for (uint32_t k = 0; k < diaries[i].count; k++)
            timeouts += diaries[i].arrivals[k].tag == JZX_TAG_RECEIVE_TIMEOUT;
        JZX_EXPECT_EQ(timeouts, 200 / (i + 1));
        JZX_EXPECT_EQ(diaries[i].count - timeouts, 200 / (ACTORS - i));
    }
    timing_close(&timing);
}

/* ---- a message that takes long ---- */

static jzx_clock *slow_clock;
static uint32_t timeouts;

static jzx_behavior_result take_sixty(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == JZX_TAG_RECEIVE_TIMEOUT)
        timeouts++;
    else if (msg->tag == 1)
        JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(50)), JZX_OK);
    else
        JZX_EXPECT_EQ(jzx_clock_advance(slow_clock, JZX_MS(60)), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_idle_time_begins_when_a_message_was_handled, "B+actor") {
    struct timing timing = timing_open();
    slow_clock = timing.clock;
    timeouts = 0;
    jzx_actor_id id = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = take_sixty));
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(10));
    fixture_send(timing.loop, id, 2); /* handled from 10 to 70 ms */
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(49));
    JZX_EXPECT_EQ(timeouts, 0);
    timing_advance(&timing, JZX_MS(1)); /* 120 */
    JZX_EXPECT_EQ(timeouts, 1);
    timing_close(&timing);
}
