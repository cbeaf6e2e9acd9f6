/* SPDX-License-Identifier: MIT */
/* Timers without memory: a call that finds none sets nothing and says so, what was set before goes
 * on, and nothing that fires needs any.
 *
 * One scenario uses everything that allocates. It is run again and again, with the n-th allocation
 * failing, and then with all from the n-th on failing, until n is past the last. */
#include "timing.h"

enum { ONCE = 1, FIRST = 2, SECOND = 3, AGAIN = 4, IN_TURN = 5, KINDS = 6 };

#define KEYS 40u
#define LEN_MAX 100000u

struct scenario {
    jzx_actor_id id;
    uint32_t refused;         /* calls that answered JZX_ERR_NO_MEMORY */
    uint32_t set[KINDS];      /* that were accepted */
    uint32_t received[KINDS]; /* messages */
    uint32_t expected_first;  /* keys whose first timer was not replaced */
    bool has_timeout;
    uint32_t timeouts;
};

static struct scenario *current;

/* Only success and lack of memory are right answers here. */
static bool worked(jzx_err err) {
    if (err == JZX_ERR_NO_MEMORY)
        current->refused++;
    else
        JZX_EXPECT_EQ(err, JZX_OK);
    return err == JZX_OK;
}

static const char payload[LEN_MAX];

static void set_sizes(jzx_loop *loop, uint32_t tag, uint32_t rounds) {
    static const size_t lens[] = {0, 8, 32, 33, 200, 5000, LEN_MAX};
    for (uint32_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
            jzx_timer_id timer = 4711;
            bool is_set = worked(jzx_send_after(loop, current->id, JZX_NOBODY, payload, lens[i],
                                                tag, JZX_MS(1 + round * 100), &timer));
            current->set[tag] += is_set;
            JZX_EXPECT(is_set == (timer != 4711));
        }
}

static void start_keys(jzx_context *ctx) {
    for (uint32_t key = 0; key < KEYS; key++) {
        bool is_first =
            worked(jzx_timer_start(ctx, key, payload, key * 10, FIRST, JZX_MS(1 + key)));
        JZX_EXPECT_EQ(jzx_timer_is_active(ctx, key), is_first);
        bool is_second =
            worked(jzx_timer_start(ctx, key, payload, key * 20, SECOND, JZX_MS(2 + key)));
        JZX_EXPECT_EQ(jzx_timer_is_active(ctx, key), is_first || is_second);
        current->expected_first += is_first && !is_second;
        current->set[SECOND] += is_second;
    }
}

static void set_in_turn(jzx_context *ctx) {
    set_sizes(ctx->loop, IN_TURN, 20);
    start_keys(ctx);
    current->has_timeout = worked(jzx_receive_timeout(ctx, JZX_SECOND(100)));
    if (!worked(jzx_receive_timeout(ctx, JZX_SECOND(200))))
        JZX_EXPECT(current->refused > 0); /* then it is as it was */
    else
        current->has_timeout = true;
    for (uint32_t i = 0; i < 10; i++)
        current->set[AGAIN] +=
            worked(jzx_timer_start_every(ctx, 1000 + i, payload, i * 30, AGAIN, JZX_SECOND(50),
                                         i % 2 ? JZX_FIXED_RATE : JZX_FIXED_DELAY));
}

static jzx_behavior_result count_kinds(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == TAG_DO)
        set_in_turn(ctx);
    else if (msg->tag == JZX_TAG_RECEIVE_TIMEOUT)
        current->timeouts++;
    else if (JZX_EXPECT(msg->tag < KINDS))
        current->received[msg->tag]++;
    return JZX_BEHAVIOR_OK;
}

/* Returns the number of calls that were refused. */
static uint32_t play(jzx_clock *clock) {
    struct scenario scenario = {0};
    current = &scenario;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    if (loop == NULL)
        return 1;
    if (worked(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count_kinds), &scenario.id))) {
        set_sizes(loop, ONCE, 20);
        worked(jzx_send(loop, scenario.id, JZX_NOBODY, NULL, 0, TAG_DO));
    }
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_fail_allocations(0, UINT64_MAX); /* nothing that fires needs memory */
    for (uint32_t i = 0; i < 50; i++) {
        JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_SECOND(1)), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(scenario.received[ONCE], scenario.set[ONCE]);
    JZX_EXPECT_EQ(scenario.received[IN_TURN], scenario.set[IN_TURN]);
    JZX_EXPECT_EQ(scenario.received[FIRST], scenario.expected_first);
    JZX_EXPECT_EQ(scenario.received[SECOND], scenario.set[SECOND]);
    JZX_EXPECT_EQ(scenario.received[AGAIN], scenario.set[AGAIN]); /* once each */
    JZX_EXPECT_EQ(scenario.timeouts, 0);
    JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_SECOND(150)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(scenario.timeouts > 0, scenario.has_timeout);
    JZX_EXPECT_EQ(fixture_stats(loop).waiting, 0);
    fixture_destroy(loop);
    return scenario.refused;
}

static void fail_each(uint64_t failures) {
    jzx_clock *clock = jzx_clock_manual(0);
    assert_non_null(clock);
    uint64_t before = fixture_allocations();
    JZX_EXPECT_EQ(play(clock), 0);
    uint64_t total = fixture_allocations() - before;
    JZX_EXPECT(total > 10);
    for (uint64_t n = 0; n < total; n++) {
        fixture_fail_allocations(n, failures);
        play(clock);
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT_EQ(fixture_bytes(), 0);
    }
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(the_nth_allocation_fails_for_every_n, "C17", "C+fail", "X15") {
    fail_each(1);
}

JZX_TEST(all_allocations_from_the_nth_on_fail_for_every_n, "C17", "C+fail", "X15") {
    fail_each(UINT64_MAX);
}

JZX_TEST(a_timer_without_memory_is_refused_and_the_next_one_is_not, "C17", "C+fail") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    fixture_fail_allocations(0, UINT64_MAX);
    jzx_timer_id timer = 4711;
    jzx_err err =
        jzx_send_after(timing.loop, id, JZX_NOBODY, payload, LEN_MAX, 1, JZX_MS(1), &timer);
    JZX_EXPECT_EQ(err, JZX_ERR_NO_MEMORY);
    JZX_EXPECT_EQ(timer, 4711);
    err = jzx_send_every(timing.loop, id, JZX_NOBODY, payload, LEN_MAX, 1, JZX_MS(1),
                         JZX_FIXED_RATE, &timer);
    JZX_EXPECT_EQ(err, JZX_ERR_NO_MEMORY);
    JZX_EXPECT_EQ(timer, 4711);
    fixture_fail_allocations(UINT64_MAX, 0);
    timing_check_books(timing.loop);
    timing_set(timing.loop, id, 2, JZX_MS(2));
    timing_advance(&timing, JZX_MS(2));
    expect_last(&diary, 1, 2, JZX_MS(2));
    timing_close(&timing);
}

/* ---- more than a list has room for ---- */

#define MANY 40u

struct crowd {
    struct timing timing;
    struct diary diary;
    jzx_actor_id id;
    jzx_timer_id timers[MANY];
};

/* An actor for which other threads have set more timers than it has memory to list. */
static void crowd_open(struct crowd *crowd) {
    *crowd = (struct crowd){.timing = timing_open_with(0, &JZX_CONFIG(.max_actors = 1))};
    crowd->id = timing_spawn(&crowd->timing, &crowd->diary);
    for (uint32_t i = 0; i < MANY; i++)
        crowd->timers[i] = i % 2 == 0 ? timing_set(crowd->timing.loop, crowd->id, 1, JZX_SECOND(1))
                                      : timing_repeat(crowd->timing.loop, crowd->id, 1,
                                                      JZX_SECOND(1), JZX_FIXED_DELAY);
    fixture_fail_allocations(0, UINT64_MAX);
    timing_step(&crowd->timing);
    fixture_fail_allocations(UINT64_MAX, 0);
}

JZX_TEST(timers_beyond_the_list_fire_repeat_and_are_cancelled, "C+fail") {
    struct crowd crowd;
    crowd_open(&crowd);
    timing_advance(&crowd.timing, JZX_SECOND(1));
    JZX_EXPECT_EQ(crowd.diary.count, MANY);
    timing_advance(&crowd.timing, JZX_SECOND(1));
    JZX_EXPECT_EQ(crowd.diary.count, MANY + MANY / 2);
    for (uint32_t i = 0; i < MANY; i++)
        JZX_EXPECT_EQ(jzx_timer_cancel(crowd.timing.loop, crowd.timers[i]),
                      i % 2 == 0 ? JZX_ERR_TIMER_INVALID : JZX_OK);
    timing_advance(&crowd.timing, JZX_SECOND(5));
    JZX_EXPECT_EQ(crowd.diary.count, MANY + MANY / 2);
    JZX_EXPECT_EQ(timing_pending(crowd.timing.loop), 0);
    timing_close(&crowd.timing);
}

/* The next timer brings them into the list. */
JZX_TEST(timers_beyond_the_list_are_listed_when_there_is_memory, "C+fail") {
    struct crowd crowd;
    crowd_open(&crowd);
    jzx_timer_id last = timing_set(crowd.timing.loop, crowd.id, 1, JZX_SECOND(1));
    timing_step(&crowd.timing);
    JZX_EXPECT_EQ(jzx_timer_cancel(crowd.timing.loop, last), JZX_OK);
    for (uint32_t i = 0; i < MANY; i += 4)
        JZX_EXPECT_EQ(jzx_timer_cancel(crowd.timing.loop, crowd.timers[i]), JZX_OK);
    timing_advance(&crowd.timing, JZX_SECOND(1));
    JZX_EXPECT_EQ(crowd.diary.count, MANY - MANY / 4);
    JZX_EXPECT_EQ(jzx_actor_stop(crowd.timing.loop, crowd.id, JZX_STOP_KILL), JZX_OK);
    timing_step(&crowd.timing);
    JZX_EXPECT_EQ(timing_pending(crowd.timing.loop), 0);
    timing_close(&crowd.timing);
}

JZX_TEST(timers_beyond_the_list_end_with_their_actor, "C+fail", "X15") {
    struct crowd crowd;
    struct diary next = {0};
    crowd_open(&crowd);
    JZX_EXPECT_EQ(jzx_actor_stop(crowd.timing.loop, crowd.id, JZX_STOP_KILL), JZX_OK);
    timing_step(&crowd.timing);
    JZX_EXPECT_EQ(timing_pending(crowd.timing.loop), 0);
    JZX_EXPECT_EQ(jzx_timer_cancel(crowd.timing.loop, crowd.timers[MANY - 1]),
                  JZX_ERR_TIMER_INVALID);
    timing_spawn(&crowd.timing, &next); /* in the same slot */
    timing_advance(&crowd.timing, JZX_SECOND(5));
    JZX_EXPECT_EQ(crowd.diary.count + next.count, 0);
    timing_close(&crowd.timing);
    crowd_open(&crowd);
    timing_close(&crowd.timing); /* with all of them */
}

static void set_in_gaps(jzx_context *ctx) {
    enum { ROUNDS = 20, FEW = 8 };
    jzx_timer_id timers[FEW];
    for (uint32_t i = 0; i < FEW; i++)
        timers[i] = timing_set(ctx->loop, ctx->self, 1, JZX_SECOND(1));
    fixture_fail_allocations(0, UINT64_MAX);
    for (uint32_t i = 0; i < ROUNDS * FEW; i++) {
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, timers[i % FEW]), JZX_OK);
        timers[i % FEW] = timing_set(ctx->loop, ctx->self, 1, JZX_SECOND(1));
    }
    fixture_fail_allocations(UINT64_MAX, 0);
}

JZX_TEST(places_in_a_list_that_were_left_need_no_memory, "C+fail") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_do(&timing, id, set_in_gaps);
    timing_advance(&timing, JZX_SECOND(1));
    JZX_EXPECT_EQ(diary.count, 8);
    timing_close(&timing);
}

/* ---- far away ---- */

/* A wheel on which nothing is due for a month is a month behind. */
JZX_TEST(a_wheel_that_is_far_behind_fires_nothing_early, "C+fail", "E51") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, JZX_SECOND(100 * 24 * 3600)); /* in the heap */
    timing_advance(&timing, JZX_SECOND(1000));
    fixture_fail_allocations(0, UINT64_MAX);
    for (uint32_t i = 0; i < 40; i++) /* until it would have to grow */
        timing_set(timing.loop, id, 2, JZX_SECOND(200 * 24 * 3600));
    timing_step(&timing);
    timing_advance(&timing, JZX_SECOND(30 * 24 * 3600));
    timing_set(timing.loop, id, 3, JZX_SECOND(3600));
    timing_set(timing.loop, id, 4, JZX_SECOND(10));
    timing_step(&timing);
    JZX_EXPECT_EQ(diary.count, 0);
    timing_advance(&timing, JZX_SECOND(10));
    expect_last(&diary, 1, 4, JZX_SECOND(1000 + 30 * 24 * 3600 + 10));
    timing_advance(&timing, JZX_SECOND(3600));
    JZX_EXPECT_EQ(diary.count, 2);
    fixture_fail_allocations(UINT64_MAX, 0);
    timing_close(&timing);
}

/* The same when something was due on the way and still waits. */
JZX_TEST(a_wheel_that_is_far_behind_what_is_due_fires_nothing_early, "C+fail", "E51") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, JZX_SECOND(5));
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_SECOND(30 * 24 * 3600)), JZX_OK);
    timing_set(timing.loop, id, 2, JZX_SECOND(3600));
    fixture_fail_allocations(0, UINT64_MAX);
    timing_step(&timing);
    expect_last(&diary, 1, 1, JZX_SECOND(30 * 24 * 3600));
    timing_advance(&timing, JZX_SECOND(3600) - JZX_MS(1));
    JZX_EXPECT_EQ(diary.count, 1);
    timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(diary.count, 2);
    fixture_fail_allocations(UINT64_MAX, 0);
    timing_close(&timing);
}

/* Without memory for it a timer that is far away, or that meets a wheel which has stood still for
 * long, fires at its time all the same. */
JZX_TEST(a_far_timer_needs_no_more_memory_than_a_near_one, "C+fail", "E51") {
    static const uint64_t delays_s[] = {100, 1048, 1049, 2100, 100000, 2147483, 2147484, 10000000};
    for (uint32_t i = 0; i < sizeof delays_s / sizeof delays_s[0]; i++) {
        struct diary diary = {0};
        struct timing timing = timing_open();
        jzx_actor_id id = timing_spawn(&timing, &diary);
        timing_set(timing.loop, id, 1, JZX_MS(1)); /* it has what it needs */
        timing_advance(&timing, JZX_MS(1));
        timing_advance(&timing, JZX_SECOND(2000)); /* without timers: the wheel lags */
        fixture_fail_allocations(0, UINT64_MAX);
        timing_set(timing.loop, id, 2, JZX_SECOND(delays_s[i]));
        timing_step(&timing);
        timing_advance(&timing, JZX_SECOND(delays_s[i]) - JZX_MS(1));
        JZX_EXPECT_EQ(diary.count, 1);
        timing_advance(&timing, JZX_MS(1));
        JZX_EXPECT_EQ(diary.count, 2);
        fixture_fail_allocations(UINT64_MAX, 0);
        timing_close(&timing);
    }
}

/* The same for one that repeats: 30 days are more than an entry of the wheel can say. */
JZX_TEST(a_far_timer_repeats_without_more_memory, "C+fail", "E51") {
    static const jzx_repeat repeats[] = {JZX_FIXED_RATE, JZX_FIXED_DELAY};
    const uint64_t period_ns = JZX_SECOND(30 * 24 * 3600);
    for (uint32_t i = 0; i < 2; i++) {
        struct diary diary = {0};
        struct timing timing = timing_open();
        jzx_actor_id id = timing_spawn(&timing, &diary);
        timing_set(timing.loop, id, 1, JZX_MS(1)); /* it has what it needs */
        timing_advance(&timing, JZX_MS(1));
        fixture_fail_allocations(0, UINT64_MAX);
        jzx_timer_id timer;
        jzx_err err =
            jzx_send_every(timing.loop, id, JZX_NOBODY, NULL, 0, 2, period_ns, repeats[i], &timer);
        JZX_EXPECT_EQ(err, JZX_OK);
        timing_step(&timing);
        for (uint32_t fired = 1; fired <= 3; fired++) {
            timing_advance(&timing, period_ns - JZX_MS(1));
            JZX_EXPECT_EQ(diary.count, fired);
            timing_advance(&timing, JZX_MS(1));
            JZX_EXPECT_EQ(diary.count, fired + 1);
        }
        JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, timer), JZX_OK);
        fixture_fail_allocations(UINT64_MAX, 0);
        timing_close(&timing);
    }
}
