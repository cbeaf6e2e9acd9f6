/* SPDX-License-Identifier: MIT */
/* Timers that repeat: at a fixed rate, with the firings that were missed, or with a fixed delay. */
#include "timing.h"

/* Firings that the messages from `first` on stand for. */
static uint64_t firings(const struct diary *diary, uint32_t first) {
    uint64_t sum = 0;
    for (uint32_t i = first; i < diary->count; i++)
        sum += 1 + diary->arrivals[i].missed;
    return sum;
}

/* ---- fixed rate ---- */

JZX_TEST(a_fixed_rate_fires_at_every_period, "B+actor", "C23") {
    static const uint64_t periods_ms[] = {1, 2, 7, 100, 255, 256, 257, 16384, 1048576};
    static struct diary diary;
    for (size_t p = 0; p < sizeof periods_ms / sizeof periods_ms[0]; p++) {
        uint64_t period = JZX_MS(periods_ms[p]);
        struct timing timing = timing_open();
        diary = (struct diary){0};
        jzx_actor_id id = timing_spawn(&timing, &diary);
        timing_repeat(timing.loop, id, 5, period, JZX_FIXED_RATE);
        for (uint32_t i = 1; i <= 300; i++) {
            timing_advance_to(&timing, i * period - 1);
            JZX_EXPECT_EQ(diary.count, i - 1); /* first after one period */
            timing_advance_to(&timing, i * period);
            expect_last(&diary, i, 5, i * period);
            JZX_EXPECT_EQ(diary.arrivals[i - 1].missed, 0);
        }
        timing_close(&timing);
    }
}

JZX_TEST(a_fixed_rate_counts_what_it_missed, "B+actor", "X15") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_repeat(timing.loop, id, 5, JZX_MS(10), JZX_FIXED_RATE);
    timing_advance_to(&timing, JZX_MS(35)); /* 10, and 20 and 30 missed */
    expect_last(&diary, 1, 5, JZX_MS(35));
    JZX_EXPECT_EQ(diary.arrivals[0].missed, 2);
    timing_advance_to(&timing, JZX_MS(40) - 1);
    JZX_EXPECT_EQ(diary.count, 1);
    timing_advance_to(&timing, JZX_MS(40)); /* the rate does not shift */
    expect_last(&diary, 2, 5, JZX_MS(40));
    JZX_EXPECT_EQ(diary.arrivals[1].missed, 0);
    timing_advance_to(&timing, JZX_MS(60));
    expect_last(&diary, 3, 5, JZX_MS(60));
    JZX_EXPECT_EQ(diary.arrivals[2].missed, 1);
    timing_advance_to(&timing, JZX_SECOND(3600));
    JZX_EXPECT_EQ(diary.count, 4);
    JZX_EXPECT_EQ(firings(&diary, 0), 360000);
    timing_close(&timing);
}

JZX_TEST(messages_and_missed_firings_add_up_to_the_periods_that_passed, "B+actor", "X15") {
    static const uint64_t periods_ns[] = {JZX_MS(1), JZX_MS(3), JZX_MS(256),
                                          2500000,   1333333,   100000};
    static struct diary diary;
    for (size_t p = 0; p < sizeof periods_ns / sizeof periods_ns[0]; p++) {
        struct timing timing = timing_open();
        uint64_t seed = p + 1;
        diary = (struct diary){0};
        jzx_actor_id id = timing_spawn(&timing, &diary);
        timing_repeat(timing.loop, id, 5, periods_ns[p], JZX_FIXED_RATE);
        uint64_t sum = 0;
        for (uint32_t i = 0; i < 2000; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            timing_advance(&timing, JZX_MS(1 + (seed >> 33) % (i % 100 == 0 ? 10000 : 12)));
            sum += firings(&diary, 0);
            JZX_EXPECT(diary.count <= 1); /* one at a time */
            diary.count = 0;
            /* At a whole millisecond all that were due have fired. */
            if (!JZX_EXPECT_EQ(sum, jzx_clock_now(timing.clock) / periods_ns[p]))
                break;
        }
        timing_close(&timing);
    }
}

static jzx_clock *moved_clock;
static uint64_t missed_sum;
static uint64_t sum_before;

/* Takes longer and longer: the clock moves on while the message is handled. */
static jzx_behavior_result take_long(jzx_context *ctx, const jzx_message *msg) {
    const struct diary *self = ctx->state;
    (void)msg;
    JZX_EXPECT_EQ(jzx_clock_advance(moved_clock, JZX_MS(3 * (self->count % 20))), JZX_OK);
    missed_sum += 1 + jzx_timer_missed(ctx);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(firings_while_a_message_is_handled_are_missed_and_counted, "B+actor", "X15") {
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){.then = take_long};
    moved_clock = timing.clock;
    missed_sum = 0;
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_repeat(timing.loop, id, 5, JZX_MS(10), JZX_FIXED_RATE);
    for (uint32_t i = 0; i < 100; i++)
        timing_advance(&timing, JZX_MS(10));
    diary.then = NULL;
    uint32_t count = diary.count;
    timing_advance_to(&timing, jzx_clock_now(timing.clock) / JZX_MS(10) * JZX_MS(10) + JZX_MS(10));
    JZX_EXPECT_EQ(missed_sum + firings(&diary, count), jzx_clock_now(timing.clock) / JZX_MS(10));
    timing_close(&timing);
}

/* Asked first, as a behaviour would: what passes while it works is told by the next message. */
static jzx_behavior_result work_after_asking(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    missed_sum += 1 + jzx_timer_missed(ctx);
    JZX_EXPECT_EQ(jzx_clock_advance(moved_clock, JZX_MS(23)), JZX_OK);
    JZX_EXPECT_EQ(1 + jzx_timer_missed(ctx), missed_sum - sum_before);
    sum_before = missed_sum;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(what_a_slow_behaviour_misses_is_told_by_the_next_message, "B+actor", "X15") {
    struct timing timing = timing_open();
    moved_clock = timing.clock;
    missed_sum = 0;
    sum_before = 0;
    jzx_actor_id id = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = work_after_asking));
    timing_repeat(timing.loop, id, 5, JZX_MS(5), JZX_FIXED_RATE);
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(5)); /* handled at 5, until 28 */
    JZX_EXPECT_EQ(missed_sum, 1);
    timing_advance(&timing, JZX_MS(2)); /* handled at 30: 10, 15, 20, 25, 30 */
    JZX_EXPECT_EQ(missed_sum, 6);
    timing_close(&timing);
}

JZX_TEST(a_fixed_rate_that_waits_in_the_mailbox_counts_what_it_missed, "X15") {
    struct diary diary = {0};
    struct timing timing = timing_open_with(0, &JZX_CONFIG(.max_msgs_per_actor = 1));
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, JZX_MS(10));
    timing_repeat(timing.loop, id, 5, JZX_MS(10), JZX_FIXED_RATE);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(10)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(timing.loop, 0), JZX_OK);
    expect_tags(&diary, 1, (const uint32_t[]){1}); /* the other waits */
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 1);
    timing_advance_to(&timing, JZX_MS(45));
    expect_last(&diary, 2, 5, JZX_MS(45));
    JZX_EXPECT_EQ(diary.arrivals[1].missed, 3); /* 20, 30, 40 */
    timing_advance_to(&timing, JZX_MS(50));
    expect_last(&diary, 3, 5, JZX_MS(50));
    JZX_EXPECT_EQ(diary.arrivals[2].missed, 0);
    timing_close(&timing);
}

/* A period that is no whole number of milliseconds does not drift. */
JZX_TEST(a_fixed_rate_does_not_drift, "B+actor") {
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_repeat(timing.loop, id, 5, 2333333, JZX_FIXED_RATE);
    for (uint32_t ms = 1; ms <= 1000; ms++)
        timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(diary.count, 1000000000 / 2333333);
    for (uint32_t i = 0; i < diary.count; i++) {
        uint64_t due = (i + 1) * (uint64_t)2333333;
        JZX_EXPECT_EQ(diary.arrivals[i].at_ns, (due + 999999) / 1000000 * 1000000);
        JZX_EXPECT_EQ(diary.arrivals[i].missed, 0);
    }
    timing_close(&timing);
}

/* ---- fixed delay ---- */

JZX_TEST(a_fixed_delay_begins_when_the_last_message_was_handled, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_repeat(timing.loop, id, 5, JZX_MS(10), JZX_FIXED_DELAY);
    timing_advance_to(&timing, JZX_MS(10) - 1);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance_to(&timing, JZX_MS(10));
    expect_last(&diary, 1, 5, JZX_MS(10));
    timing_advance_to(&timing, JZX_MS(55)); /* was due at 20 */
    expect_last(&diary, 2, 5, JZX_MS(55));
    timing_advance_to(&timing, JZX_MS(65) - 1);
    JZX_EXPECT_EQ(diary.count, 2);
    timing_advance_to(&timing, JZX_MS(65));
    expect_last(&diary, 3, 5, JZX_MS(65));
    timing_advance_to(&timing, JZX_SECOND(3600));
    JZX_EXPECT_EQ(diary.count, 4);
    JZX_EXPECT_EQ(firings(&diary, 0), 4); /* nothing is ever missed */
    timing_close(&timing);
}

static jzx_behavior_result take_25_ms(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    JZX_EXPECT_EQ(jzx_clock_advance(moved_clock, JZX_MS(25)), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_fixed_delay_does_not_begin_before_the_message_is_handled, "B+actor") {
    struct diary diary = {.then = take_25_ms};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    moved_clock = timing.clock;
    timing_repeat(timing.loop, id, 5, JZX_MS(10), JZX_FIXED_DELAY);
    timing_advance_to(&timing, JZX_MS(10));
    expect_last(&diary, 1, 5, JZX_MS(10)); /* until 35 */
    timing_step(&timing);
    timing_advance_to(&timing, JZX_MS(45) - 1);
    JZX_EXPECT_EQ(diary.count, 1);
    timing_advance_to(&timing, JZX_MS(45));
    expect_last(&diary, 2, 5, JZX_MS(45));
    timing_close(&timing);
}

/* ---- what they carry ---- */

static jzx_behavior_result check_and_spoil(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    JZX_EXPECT_EQ(msg->len, msg->tag);
    for (size_t i = 0; i < msg->len; i++)
        JZX_EXPECT_EQ(((const unsigned char *)msg->data)[i], 0x5A);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(every_message_of_a_timer_carries_the_payload, "C23") {
    static const size_t lens[] = {0, 8, 32, 33, 200, 5000, 100000};
    static unsigned char data[100000];
    static struct diary diary;
    struct timing timing = timing_open();
    diary = (struct diary){.then = check_and_spoil};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    memset(data, 0x5A, sizeof data);
    for (uint32_t i = 0; i < 7; i++)
        JZX_EXPECT_EQ(jzx_send_every(timing.loop, id, id, data, lens[i], (uint32_t)lens[i],
                                     JZX_MS(1), i % 2 ? JZX_FIXED_RATE : JZX_FIXED_DELAY, NULL),
                      JZX_OK);
    memset(data, 0, sizeof data);
    for (uint32_t ms = 1; ms <= 50; ms++)
        timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(diary.count, 50 * 7);
    for (uint32_t i = 0; i < diary.count; i++)
        JZX_EXPECT_EQ(diary.arrivals[i].sender, id);
    timing_close(&timing);
}

/* ---- cancelling ---- */

static void stops_when_cancelled(jzx_repeat repeat) {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    jzx_timer_id early = timing_repeat(timing.loop, id, 1, JZX_MS(10), repeat);
    jzx_timer_id late = timing_repeat(timing.loop, id, 2, JZX_MS(10), repeat);
    timing_advance(&timing, JZX_MS(9));
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, early), JZX_OK); /* before its first */
    for (uint32_t i = 0; i < 3; i++)
        timing_advance(&timing, JZX_MS(10));
    expect_tags(&diary, 3, (const uint32_t[]){2, 2, 2});
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, late), JZX_OK); /* between two */
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, late), JZX_ERR_TIMER_INVALID);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, early), JZX_ERR_TIMER_INVALID);
    timing_advance(&timing, JZX_SECOND(10));
    JZX_EXPECT_EQ(diary.count, 3);
    timing_close(&timing);
}

JZX_TEST(a_repeating_timer_stops_when_it_is_cancelled, "B+actor", "C23", "C27") {
    stops_when_cancelled(JZX_FIXED_RATE);
    stops_when_cancelled(JZX_FIXED_DELAY);
}

static jzx_timer_id own_timer;

static jzx_behavior_result cancel_at_third(jzx_context *ctx, const jzx_message *msg) {
    const struct diary *self = ctx->state;
    (void)msg;
    if (self->count == 3) {
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, own_timer), JZX_OK); /* it would repeat */
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, own_timer), JZX_ERR_TIMER_INVALID);
    }
    return JZX_BEHAVIOR_OK;
}

static void stops_in_its_own_handler(jzx_repeat repeat) {
    struct diary diary = {.then = cancel_at_third};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    own_timer = JZX_NO_TIMER;
    JZX_EXPECT_EQ(jzx_send_every(timing.loop, id, JZX_NOBODY, "0123456789012345678901234567890123",
                                 34, 1, JZX_MS(10), repeat, &own_timer),
                  JZX_OK);
    for (uint32_t i = 0; i < 100; i++)
        timing_advance(&timing, JZX_MS(5));
    JZX_EXPECT_EQ(diary.count, 3);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, own_timer), JZX_ERR_TIMER_INVALID);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    JZX_EXPECT(jzx_loop_next_deadline(timing.loop) == JZX_NEVER);
    timing_close(&timing);
}

JZX_TEST(a_repeating_timer_can_be_cancelled_by_its_own_message, "B+actor") {
    stops_in_its_own_handler(JZX_FIXED_RATE);
    stops_in_its_own_handler(JZX_FIXED_DELAY);
}

/* Its message waits behind another: neither it nor the next comes. */
static jzx_behavior_result cancel_the_other(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == 1)
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, own_timer), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void stops_while_its_message_waits(jzx_repeat repeat) {
    struct diary diary = {.then = cancel_the_other};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, JZX_MS(20));
    own_timer = timing_repeat(timing.loop, id, 2, JZX_MS(20), repeat);
    timing_advance(&timing, JZX_MS(20));
    expect_tags(&diary, 1, (const uint32_t[]){1});
    timing_advance(&timing, JZX_SECOND(10));
    JZX_EXPECT_EQ(diary.count, 1);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
    timing_close(&timing);
}

JZX_TEST(a_repeating_timer_can_be_cancelled_while_its_message_waits, "B+actor", "X15") {
    stops_while_its_message_waits(JZX_FIXED_RATE);
    stops_while_its_message_waits(JZX_FIXED_DELAY);
}

static jzx_behavior_result stop_at_third(jzx_context *ctx, const jzx_message *msg) {
    const struct diary *self = ctx->state;
    (void)msg;
    return self->count == 3 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_can_end_in_the_message_of_a_repeating_timer, "B+actor") {
    for (uint32_t i = 0; i < 2; i++) {
        struct diary diary = {.then = stop_at_third};
        struct timing timing = timing_open();
        jzx_actor_id id = timing_spawn(&timing, &diary);
        jzx_timer_id timer =
            timing_repeat(timing.loop, id, 1, JZX_MS(1), i == 0 ? JZX_FIXED_RATE : JZX_FIXED_DELAY);
        for (uint32_t ms = 1; ms <= 10; ms++)
            timing_advance(&timing, JZX_MS(1));
        JZX_EXPECT_EQ(diary.count, 3);
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timer), JZX_ERR_TIMER_INVALID);
        JZX_EXPECT_EQ(fixture_stats(timing.loop).exited, 1);
        JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
        timing_close(&timing);
    }
}

/* ---- many, and far away ---- */

JZX_TEST(very_long_periods_do_not_overflow, "E51") {
    static const uint64_t periods_ns[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2 + 1};
    for (uint32_t i = 0; i < 6; i++) {
        struct diary diary = {0};
        struct timing timing = timing_open_with(JZX_SECOND(1000), NULL);
        jzx_actor_id id = timing_spawn(&timing, &diary);
        jzx_timer_id timer = timing_repeat(timing.loop, id, 1, periods_ns[i / 2],
                                           i % 2 ? JZX_FIXED_RATE : JZX_FIXED_DELAY);
        timing_advance(&timing, UINT64_MAX / 2 - JZX_SECOND(1));
        JZX_EXPECT_EQ(diary.count, 0);
        timing_advance(&timing, UINT64_MAX); /* the end of time */
        JZX_EXPECT(diary.count <= 1);
        timing_step(&timing);
        JZX_EXPECT(diary.count <= 1);
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timer), JZX_OK);
        timing_close(&timing);
    }
}

JZX_TEST(no_message_but_those_of_fixed_rates_has_missed_anything, "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    JZX_EXPECT_EQ(jzx_timer_missed(NULL), 0);
    timing_repeat(timing.loop, id, 1, JZX_MS(1), JZX_FIXED_RATE);
    fixture_send(timing.loop, id, 2);
    timing_set(timing.loop, id, 3, JZX_MS(1));
    timing_repeat(timing.loop, id, 4, JZX_MS(1), JZX_FIXED_DELAY);
    timing_advance(&timing, JZX_MS(50));
    expect_tags(&diary, 4, (const uint32_t[]){2, 1, 3, 4});
    JZX_EXPECT_EQ(diary.arrivals[0].missed, 0);
    JZX_EXPECT_EQ(diary.arrivals[1].missed, 49);
    JZX_EXPECT_EQ(diary.arrivals[2].missed, 0);
    JZX_EXPECT_EQ(diary.arrivals[3].missed, 0);
    timing_close(&timing);
}
