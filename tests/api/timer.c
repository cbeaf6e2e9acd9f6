/* SPDX-License-Identifier: MIT */
/* Timers that fire once, on a clock that the test moves: when, in which order, with what. */
#include "timing.h"

#include <pthread.h>
#include <stdlib.h>

#define YEAR_MS (365u * 86400000ull)

/* Around every border of a wheel of 256, 64 and 64 places, and far beyond it. */
static const uint64_t delays_ms[] = {
    0,       1,        2,        63,       64,      127,           128,     254,
    255,     256,      257,      511,      512,     513,           16127,   16128,
    16383,   16384,    16385,    16639,    16640,   32767,         32768,   1048319,
    1048320, 1048575,  1048576,  1048577,  1048832, 1064959,       1064960, 2097151,
    2097152, 67108863, 67108864, 86400000, YEAR_MS, 292 * YEAR_MS,
};
#define DELAYS (sizeof delays_ms / sizeof delays_ms[0])

static const uint64_t starts_ms[] = {0,     1,     254,     255,     256,
                                     16383, 16384, 1048575, 1048576, 999999937};
#define STARTS (sizeof starts_ms / sizeof starts_ms[0])

/* Zero means at the next millisecond. */
static uint64_t due_after(uint64_t now_ns, uint64_t delay_ms) {
    return now_ns + JZX_MS(delay_ms == 0 ? 1 : delay_ms);
}

/* ---- when ---- */

static void fires_at(uint64_t start_ns, uint64_t delay_ms) {
    struct diary diary = {0};
    struct timing timing = timing_open_with(start_ns, NULL);
    jzx_actor_id id = timing_spawn(&timing, &diary);
    uint64_t due = due_after(start_ns, delay_ms);
    timing_set(timing.loop, id, 7, JZX_MS(delay_ms));
    timing_step(&timing);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance_to(&timing, due - 1);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance_to(&timing, due);
    expect_last(&diary, 1, 7, due);
    timing_advance(&timing, JZX_MS(2 * YEAR_MS));
    JZX_EXPECT_EQ(diary.count, 1);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    timing_close(&timing);
}

JZX_TEST(a_timer_fires_at_its_exact_millisecond, "E48", "E51", "X7", "C23") {
    for (size_t start = 0; start < STARTS; start++)
        for (size_t i = 0; i < DELAYS; i++)
            fires_at(JZX_MS(starts_ms[start]), delays_ms[i]);
}

/* The clock moves on by stride; each timer must come with the first step at or after its time. */
static void walk(uint64_t start_ms, uint64_t stride_ns, uint64_t until_ms) {
    static struct diary diary;
    uint64_t start_ns = JZX_MS(start_ms);
    struct timing timing = timing_open_with(start_ns, NULL);
    diary = (struct diary){0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    uint32_t count = 0;
    for (; count < DELAYS && delays_ms[count] <= until_ms; count++)
        timing_set(timing.loop, id, count, JZX_MS(delays_ms[count]));
    for (uint64_t now = 0; now < JZX_MS(until_ms) + stride_ns; now += stride_ns)
        timing_advance(&timing, stride_ns);
    JZX_EXPECT_EQ(diary.count, count);
    for (uint32_t i = 0; i < diary.count; i++) {
        uint64_t due = due_after(0, delays_ms[diary.arrivals[i].tag]);
        uint64_t expected = (due + stride_ns - 1) / stride_ns * stride_ns;
        JZX_EXPECT_EQ(diary.arrivals[i].at_ns - start_ns, expected);
    }
    timing_close(&timing);
}

JZX_TEST(timers_fire_at_their_time_whatever_the_stride, "E48", "E51", "X7") {
    for (size_t start = 0; start < STARTS; start++) {
        walk(starts_ms[start], JZX_MS(1), 17000);
        walk(starts_ms[start], JZX_US(777), 600);
        walk(starts_ms[start], JZX_MS(255), 1100000);
        walk(starts_ms[start], JZX_MS(256), 1100000);
        walk(starts_ms[start], JZX_MS(16384), 70000000);
        walk(starts_ms[start], JZX_MS(1048577), 70000000);
    }
}

JZX_TEST(a_timer_between_two_milliseconds_fires_at_the_second, "C23", "X12") {
    static const struct {
        uint64_t set_at_ns;
        uint64_t delay_ns;
        uint64_t due_ms;
    } cases[] = {
        {0, 1, 1},           {0, 999999, 1},          {0, 1000001, 2}, {500000, 1000000, 2},
        {500000, 500000, 1}, {500000, 500001, 2},     {999999, 1, 1},  {999999, 0, 1},
        {500000, 0, 1},      {1000000, 0, 2},         {1000000, 1, 2}, {1, 255999999, 256},
        {1, 256000000, 257}, {1, 16384000000, 16385},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct diary diary = {0};
        struct timing timing = timing_open();
        jzx_actor_id id = timing_spawn(&timing, &diary);
        timing_advance(&timing, cases[i].set_at_ns);
        timing_set(timing.loop, id, 1, cases[i].delay_ns);
        timing_advance_to(&timing, JZX_MS(cases[i].due_ms) - 1);
        JZX_EXPECT_EQ(diary.count, 0);
        timing_advance_to(&timing, JZX_MS(cases[i].due_ms));
        expect_last(&diary, 1, 1, JZX_MS(cases[i].due_ms));
        timing_close(&timing);
    }
}

JZX_TEST(whole_milliseconds_are_those_of_the_clock, "X12") {
    struct diary diary = {0};
    struct timing timing = timing_open_with(JZX_MS(10) + 300000, NULL);
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, JZX_MS(2)); /* 12.3 */
    timing_advance_to(&timing, JZX_MS(13) - 1);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance_to(&timing, JZX_MS(13));
    expect_last(&diary, 1, 1, JZX_MS(13));
    timing_close(&timing);
}

/* A loop that looked at its clock some time ago must not take that for now. */
JZX_TEST(a_delay_begins_when_the_timer_is_set, "C23") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(500)), JZX_OK); /* and no step */
    timing_set(timing.loop, id, 1, JZX_MS(10));
    timing_step(&timing);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance_to(&timing, JZX_MS(510) - 1);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance_to(&timing, JZX_MS(510));
    expect_last(&diary, 1, 1, JZX_MS(510));
    timing_close(&timing);
}

static jzx_clock *moved_clock;

static void move_on_and_set(jzx_context *ctx) {
    timing_set(ctx->loop, ctx->self, 1, JZX_MS(10));
    JZX_EXPECT_EQ(jzx_clock_advance(moved_clock, JZX_MS(300)), JZX_OK);
    timing_set(ctx->loop, ctx->self, 2, JZX_MS(10));
    timing_set(ctx->loop, ctx->self, 3, 0);
}

JZX_TEST(a_delay_begins_when_the_timer_is_set_also_late_in_a_turn, "C23") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    moved_clock = timing.clock;
    timing_do(&timing, id, move_on_and_set);
    expect_last(&diary, 1, 1, JZX_MS(300));
    timing_advance(&timing, JZX_MS(1));
    expect_last(&diary, 2, 3, JZX_MS(301));
    timing_advance(&timing, JZX_MS(9) - 1);
    JZX_EXPECT_EQ(diary.count, 2);
    timing_advance(&timing, 1);
    expect_last(&diary, 3, 2, JZX_MS(310));
    timing_close(&timing);
}

JZX_TEST(timers_at_the_end_of_time, "E51") {
    const uint64_t last_ms = UINT64_MAX / 1000000u;
    struct diary diary = {0};
    struct timing timing = timing_open_with(JZX_MS(5), NULL);
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_timer_id never = timing_set(timing.loop, id, 1, UINT64_MAX);
    jzx_timer_id dropped = timing_set(timing.loop, id, 2, UINT64_MAX - 1);
    timing_set(timing.loop, id, 3, JZX_MS(last_ms - 5));
    timing_set(timing.loop, id, 4, JZX_MS(last_ms - 6));
    timing_advance_to(&timing, UINT64_MAX / 2);
    JZX_EXPECT_EQ(diary.count, 0);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, dropped), JZX_OK);
    timing_advance_to(&timing, JZX_MS(last_ms - 1) - 1);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance_to(&timing, JZX_MS(last_ms - 1));
    expect_last(&diary, 1, 4, JZX_MS(last_ms - 1));
    timing_advance_to(&timing, JZX_MS(last_ms) - 1);
    JZX_EXPECT_EQ(diary.count, 1);
    timing_advance_to(&timing, JZX_MS(last_ms));
    expect_last(&diary, 2, 3, JZX_MS(last_ms));
    timing_advance(&timing, UINT64_MAX); /* whether the first comes now is nobody's business */
    jzx_err err = jzx_timer_cancel(timing.loop, never);
    JZX_EXPECT_EQ(err, diary.count == 2 ? JZX_OK : JZX_ERR_TIMER_INVALID);
    timing_close(&timing);
}

/* ---- order ---- */

JZX_TEST(timers_due_on_the_way_fire_in_the_order_of_their_times, "C+tool", "C23", "E51") {
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t i = 0; i < DELAYS;
         i++) { /* not in their order: 7 and the count share no factor */
        uint32_t at = i * 7 % DELAYS;
        timing_set(timing.loop, id, at, JZX_MS(delays_ms[at]));
    }
    timing_advance(&timing, JZX_MS(400 * YEAR_MS));
    JZX_EXPECT_EQ(diary.count, DELAYS);
    uint64_t last = 0;
    for (uint32_t i = 0; i < diary.count; i++) {
        uint64_t due = due_after(0, delays_ms[diary.arrivals[i].tag]);
        JZX_EXPECT(due >= last);
        last = due;
        JZX_EXPECT_EQ(diary.arrivals[i].at_ns, JZX_MS(400 * YEAR_MS));
    }
    timing_close(&timing);
}

/* The second was set before the clock moved, though the loop has not looked since. */
JZX_TEST(a_timer_that_the_loop_has_not_seen_keeps_its_place, "C+tool", "X15") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, JZX_MS(20));
    timing_step(&timing);
    timing_set(timing.loop, id, 2, JZX_MS(10));
    timing_advance(&timing, JZX_MS(30));
    expect_tags(&diary, 2, (const uint32_t[]){2, 1});
    timing_close(&timing);
}

static uint64_t last_due_ns;

static jzx_behavior_result check_due(jzx_context *ctx, const jzx_message *msg) {
    struct diary *self = ctx->state;
    uint64_t due;
    memcpy(&due, msg->data, sizeof due);
    JZX_EXPECT(due >= last_due_ns);
    JZX_EXPECT(due <= jzx_loop_now(ctx->loop) && due + JZX_MS(50) > jzx_loop_now(ctx->loop));
    last_due_ns = due;
    self->count = 0; /* there are more than it can hold */
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

/* seen: the loop takes them in before the clock moves. */
static void many_come_in_order(bool seen) {
    enum { COUNT = 20000 };
    static struct diary diary;
    struct timing timing = timing_open();
    uint64_t seed = 1;
    diary = (struct diary){.then = check_due};
    last_due_ns = 0;
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t i = 0; i < COUNT; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t due = JZX_MS(1 + (seed >> 33) % 100000);
        JZX_EXPECT_EQ(jzx_send_after(timing.loop, id, JZX_NOBODY, &due, sizeof due, 1, due, NULL),
                      JZX_OK);
    }
    if (seen)
        timing_step(&timing);
    for (uint32_t i = 0; i < 2000; i++)
        timing_advance(&timing, JZX_MS(50));
    JZX_EXPECT_EQ(jzx_test_runs(), COUNT);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).handled, COUNT);
    timing_close(&timing);
}

JZX_TEST(twenty_thousand_timers_come_in_order, "C28", "C+tool") {
    many_come_in_order(true);
}

JZX_TEST(many_timers_that_the_loop_has_not_seen_come_in_order, "C28", "C+tool") {
    many_come_in_order(false);
}

/* Set at these times for the same millisecond: from every level of the wheel, and onto each. */
JZX_TEST(timers_of_one_millisecond_fire_in_the_order_they_were_set, "C+tool", "E48") {
    static const uint64_t set_at_ms[] = {
        0,       1,       900000,  1048575, 1048576, 1048577, 1090000, 1095000, 1099000,
        1099700, 1099744, 1099745, 1099776, 1099777, 1099900, 1099998, 1099999,
    };
    const uint64_t due_ms = 1100000;
    const uint32_t count = sizeof set_at_ms / sizeof set_at_ms[0];
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t i = 0; i < count; i++) {
        timing_advance_to(&timing, JZX_MS(set_at_ms[i]));
        for (uint32_t k = 0; k < 3; k++)
            timing_set(timing.loop, id, 3 * i + k, JZX_MS(due_ms - set_at_ms[i]));
    }
    timing_advance_to(&timing, JZX_MS(due_ms) - 1);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance_to(&timing, JZX_MS(due_ms));
    JZX_EXPECT_EQ(diary.count, 3 * count);
    for (uint32_t i = 0; i < diary.count; i++)
        JZX_EXPECT_EQ(diary.arrivals[i].tag, i);
    timing_close(&timing);
}

static uint32_t next_tag;

static void set_one_in_turn(jzx_context *ctx) {
    timing_set(ctx->loop, ctx->self, next_tag++, JZX_MS(20));
}

static void *set_one_on_a_thread(void *arg) {
    const jzx_context *ctx = arg;
    timing_set(ctx->loop, ctx->self, next_tag++, JZX_MS(20));
    return NULL;
}

JZX_TEST(the_order_holds_whoever_sets_them, "C+tool") {
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_context where = {.self = id, .loop = timing.loop};
    next_tag = 0;
    for (uint32_t i = 0; i < 60; i++) {
        if (i % 3 == 0)
            timing_do(&timing, id, set_one_in_turn);
        if (i % 3 == 1)
            timing_set(timing.loop, id, next_tag++, JZX_MS(20));
        if (i % 3 == 2) {
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, set_one_on_a_thread, &where), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
        }
    }
    timing_advance(&timing, JZX_MS(20));
    JZX_EXPECT_EQ(diary.count, 60);
    for (uint32_t i = 0; i < diary.count; i++)
        JZX_EXPECT_EQ(diary.arrivals[i].tag, i);
    timing_close(&timing);
}

/* ---- what they carry ---- */

#define LEN_MAX 100000u

static const size_t lens[] = {0, 1, 8, 31, 32, 33, 200, 4000, 5000, LEN_MAX};
#define LENS (sizeof lens / sizeof lens[0])

static void fill(unsigned char *data, size_t len, uint32_t number) {
    for (size_t i = 0; i < len; i++)
        data[i] = (unsigned char)(i * 31 + number * 7 + i / 251);
}

static jzx_behavior_result check_payload(jzx_context *ctx, const jzx_message *msg) {
    static unsigned char expected[LEN_MAX];
    (void)ctx;
    JZX_EXPECT_EQ(msg->len, lens[msg->tag % LENS]);
    JZX_EXPECT_EQ((uintptr_t)msg->data % _Alignof(max_align_t), 0);
    fill(expected, msg->len, msg->tag);
    JZX_EXPECT(memcmp(expected, msg->data, msg->len) == 0);
    memset(msg->data, 0xEE, msg->len); /* it may be written to */
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(payloads_of_every_size_arrive_whole, "C23") {
    static unsigned char data[LEN_MAX];
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){.then = check_payload};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < LENS; i++) {
            uint32_t tag = round * (uint32_t)LENS + i;
            fill(data, lens[i], tag);
            JZX_EXPECT_EQ(jzx_send_after(timing.loop, id, JZX_NOBODY, data, lens[i], tag,
                                         JZX_MS(1 + 300 * (i % 3)), NULL),
                          JZX_OK);
            memset(data, 0x55, sizeof data); /* a copy was made */
        }
        timing_advance(&timing, JZX_MS(1000));
        JZX_EXPECT_EQ(diary.count, (round + 1) * LENS);
    }
    timing_close(&timing);
}

JZX_TEST(sender_and_tag_arrive_as_given, "C23") {
    static const uint32_t tags[] = {0, 1, 0x80000000u, JZX_TAG_RESERVED - 1};
    struct diary diary = {0};
    struct diary other = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_actor_id from = timing_spawn(&timing, &other);
    for (uint32_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(jzx_send_after(timing.loop, id, i % 2 ? from : JZX_NOBODY, "abc", 3, tags[i],
                                     JZX_MS(1), NULL),
                      JZX_OK);
    timing_advance(&timing, JZX_MS(1));
    expect_tags(&diary, 4, tags);
    for (uint32_t i = 0; i < diary.count; i++) {
        JZX_EXPECT_EQ(diary.arrivals[i].sender, i % 2 ? from : JZX_NOBODY);
        JZX_EXPECT_EQ(diary.arrivals[i].len, 3);
        JZX_EXPECT_EQ(diary.arrivals[i].missed, 0);
    }
    JZX_EXPECT_EQ(other.count, 0);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).handled, 4); /* they are in the books */
    timing_close(&timing);
}

static jzx_behavior_result set_again(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag < 100)
        timing_set(ctx->loop, ctx->self, msg->tag + 1, 0);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_timer_set_when_one_fires_comes_a_millisecond_later, "X7") {
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){.then = set_again};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, 0);
    for (uint32_t i = 1; i <= 100; i++) {
        timing_advance(&timing, JZX_MS(1));
        expect_last(&diary, i, i, JZX_MS(i));
    }
    timing_advance(&timing, JZX_MS(1000));
    JZX_EXPECT_EQ(diary.count, 100);
    timing_close(&timing);
}

/* ---- cancelling ---- */

JZX_TEST(a_cancelled_timer_does_not_fire, "C23", "C27", "E50", "B+actor") {
    static struct diary diary;
    struct timing timing = timing_open();
    jzx_timer_id timers[DELAYS];
    diary = (struct diary){0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t i = 0; i < DELAYS; i++)
        timers[i] = timing_set(timing.loop, id, i, JZX_MS(delays_ms[i]));
    for (uint32_t i = 0; i < DELAYS; i += 2)
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[i]), JZX_OK);
    for (uint32_t i = 0; i < DELAYS; i += 2)
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[i]), JZX_ERR_TIMER_INVALID);
    timing_check_books(timing.loop);
    timing_advance(&timing, JZX_MS(400 * YEAR_MS));
    JZX_EXPECT_EQ(diary.count, DELAYS / 2);
    for (uint32_t i = 0; i < diary.count; i++)
        JZX_EXPECT_EQ(diary.arrivals[i].tag % 2, 1);
    for (uint32_t i = 0; i < DELAYS; i++) /* all are over */
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[i]), JZX_ERR_TIMER_INVALID);
    timing_close(&timing);
}

/* Timers of one millisecond: the second waits in the mailbox while the first is handled. */
static jzx_timer_id pair[2];

static jzx_behavior_result cancel_both(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == 1) {
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, pair[0]), JZX_ERR_TIMER_INVALID); /* in hand */
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, pair[1]), JZX_OK);
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, pair[1]), JZX_ERR_TIMER_INVALID);
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_message_that_waits_is_not_handled_once_it_is_cancelled, "C23", "B+actor", "X15") {
    static const size_t payloads[] = {0, 32, 200, LEN_MAX};
    static const unsigned char data[LEN_MAX];
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        struct diary diary = {.then = cancel_both};
        struct timing timing = timing_open();
        jzx_actor_id id = timing_spawn(&timing, &diary);
        for (uint32_t k = 0; k < 2; k++)
            JZX_EXPECT_EQ(jzx_send_after(timing.loop, id, JZX_NOBODY, data, payloads[i], k + 1,
                                         JZX_MS(3), &pair[k]),
                          JZX_OK);
        timing_set(timing.loop, id, 3, JZX_MS(3));
        timing_advance(&timing, JZX_MS(3));
        expect_tags(&diary, 2, (const uint32_t[]){1, 3});
        JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
        timing_close(&timing);
    }
}

JZX_TEST(a_message_that_waits_can_be_cancelled_from_outside, "C23", "B+actor", "X15") {
    struct diary diary = {0};
    struct timing timing = timing_open_with(0, &JZX_CONFIG(.max_msgs_per_actor = 1));
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_timer_id timers[4];
    for (uint32_t i = 0; i < 4; i++)
        timers[i] = timing_set(timing.loop, id, i, JZX_MS(1));
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(1)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, 0), JZX_OK); /* one turn, one message */
    JZX_EXPECT_EQ(diary.count, 1);
    timing_check_books(timing.loop);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[0]), JZX_ERR_TIMER_INVALID);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[3]), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[3]), JZX_ERR_TIMER_INVALID);
    timing_check_books(timing.loop);
    timing_step(&timing);
    expect_tags(&diary, 2, (const uint32_t[]){0, 2});
    for (uint32_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timers[i]), JZX_ERR_TIMER_INVALID);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    timing_close(&timing);
}

/* Due, but no step has looked: it must not be handled later. */
JZX_TEST(a_timer_that_is_due_and_was_not_seen_can_be_cancelled, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_timer_id timer = timing_set(timing.loop, id, 1, JZX_MS(1));
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(5)), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timer), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_close(&timing);
}

JZX_TEST(unknown_timers_cannot_be_cancelled, "C23", "E50") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, JZX_NO_TIMER), JZX_ERR_TIMER_INVALID);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, UINT64_MAX), JZX_ERR_TIMER_INVALID);
    jzx_timer_id timer = timing_set(timing.loop, id, 1, JZX_MS(1));
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, JZX_NO_TIMER), JZX_ERR_TIMER_INVALID);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, UINT64_MAX), JZX_ERR_TIMER_INVALID);
    for (uint32_t bit = 0; bit < 64; bit++) {
        jzx_timer_id wrong = timer ^ (jzx_timer_id)1 << bit;
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, wrong), JZX_ERR_TIMER_INVALID);
    }
    uint64_t seed = 88172645463325252u;
    for (uint32_t i = 0; i < 10000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        if (seed != timer)
            JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, seed), JZX_ERR_TIMER_INVALID);
        if ((uint32_t)seed != timer)
            JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, (uint32_t)seed), JZX_ERR_TIMER_INVALID);
    }
    JZX_EXPECT_EQ(jzx_timer_cancel(NULL, timer), JZX_ERR_INVALID_ARG);
    timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(diary.count, 1);
    timing_close(&timing);
}

static int compare_ids(const void *a, const void *b) {
    const jzx_timer_id *one = a;
    const jzx_timer_id *two = b;
    return (*one > *two) - (*one < *two);
}

JZX_TEST(ids_of_timers_are_not_used_again, "E50") {
    enum { COUNT = 20000 };
    static jzx_timer_id ids[COUNT];
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t i = 0; i < COUNT; i++) {
        ids[i] = timing_set(timing.loop, id, 1, JZX_MS(1 + i % 3 * 1000));
        if (i % 100 != 0)
            JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, ids[i]), JZX_OK);
        if (i % 50 == 0)
            timing_advance(&timing, JZX_MS(1));
    }
    timing_advance(&timing, JZX_MS(3000));
    JZX_EXPECT_EQ(diary.count, COUNT / 100);
    for (uint32_t i = 0; i < COUNT; i++)
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, ids[i]), JZX_ERR_TIMER_INVALID);
    qsort(ids, COUNT, sizeof ids[0], compare_ids);
    for (uint32_t i = 1; i < COUNT; i++)
        JZX_EXPECT(ids[i] != ids[i - 1]);
    timing_close(&timing);
}

/* ---- errors ---- */

static jzx_err try_after(jzx_loop *loop, jzx_actor_id to, const void *data, size_t len,
                         uint32_t tag) {
    jzx_timer_id timer = 4711;
    jzx_err err = jzx_send_after(loop, to, JZX_NOBODY, data, len, tag, JZX_MS(1), &timer);
    if (err != JZX_OK)
        JZX_EXPECT_EQ(timer, 4711); /* untouched */
    return err;
}

static jzx_err try_every(jzx_loop *loop, jzx_actor_id to, const void *data, size_t len,
                         uint32_t tag) {
    jzx_timer_id timer = 4711;
    jzx_err err =
        jzx_send_every(loop, to, JZX_NOBODY, data, len, tag, JZX_MS(1), JZX_FIXED_RATE, &timer);
    if (err != JZX_OK)
        JZX_EXPECT_EQ(timer, 4711);
    return err;
}

static void check_errors(jzx_err (*attempt)(jzx_loop *loop, jzx_actor_id to, const void *data,
                                            size_t len, uint32_t tag)) {
    struct diary diary = {0};
    struct diary dead = {0};
    struct timing timing = timing_open();
    jzx_loop *loop = timing.loop;
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_actor_id gone = timing_spawn(&timing, &dead);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, gone, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(attempt(NULL, id, NULL, 0, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(attempt(loop, id, NULL, 1, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(attempt(loop, id, "x", (size_t)JZX_MSG_LEN_MAX + 1, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(attempt(loop, id, "x", SIZE_MAX, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(attempt(loop, id, NULL, 0, JZX_TAG_RESERVED), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(attempt(loop, id, NULL, 0, JZX_TAG_RECEIVE_TIMEOUT), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(attempt(loop, id, NULL, 0, UINT32_MAX), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(attempt(loop, gone, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(attempt(loop, JZX_NOBODY, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(attempt(loop, jzx_make_id(1, 1000000), NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    timing_advance(&timing, JZX_MS(1000));
    JZX_EXPECT_EQ(diary.count + dead.count, 0);
    timing_check_books(loop);
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    JZX_EXPECT_EQ(attempt(loop, id, NULL, 0, 1), JZX_ERR_LOOP_CLOSED);
    timing_step(&timing);
    JZX_EXPECT_EQ(attempt(loop, id, NULL, 0, 1), JZX_ERR_LOOP_CLOSED);
    timing_close(&timing);
}

JZX_TEST(wrong_use_is_refused_and_sets_nothing, "C23") {
    check_errors(try_after);
    check_errors(try_every);
}

JZX_TEST(a_period_of_zero_and_an_unknown_repeat_are_refused, "C23") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    JZX_EXPECT_EQ(jzx_send_every(timing.loop, id, JZX_NOBODY, NULL, 0, 1, 0, JZX_FIXED_RATE, NULL),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_every(timing.loop, id, JZX_NOBODY, NULL, 0, 1, 0, JZX_FIXED_DELAY, NULL),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(
        jzx_send_every(timing.loop, id, JZX_NOBODY, NULL, 0, 1, JZX_MS(1), (jzx_repeat)7, NULL),
        JZX_ERR_INVALID_ARG);
    timing_advance(&timing, JZX_MS(100));
    JZX_EXPECT_EQ(diary.count, 0);
    timing_close(&timing);
}

JZX_TEST(timers_of_a_stopped_loop_cannot_be_cancelled, "C23") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_timer_id timer = timing_set(timing.loop, id, 1, JZX_MS(1));
    JZX_EXPECT_EQ(jzx_loop_request_stop(timing.loop), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timer), JZX_ERR_TIMER_INVALID);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(10)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, JZX_NEVER), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_close(&timing);
}
