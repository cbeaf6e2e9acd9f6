/* SPDX-License-Identifier: MIT */
/* The promises about timers, attacked: odd times on a clock that a test moves, messages that are
 * stashed while their timer goes on, cancels in odd places, and loops without memory. */
#include "fixture.h"

#include <pthread.h>
#include <string.h>

static uint64_t seed;

static uint32_t dice(uint32_t sides) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % sides;
}

/* The first whole millisecond at or after a time; with no delay, strictly after. */
static uint64_t fires_at(uint64_t call_ns, uint64_t delay_ns) {
    uint64_t due = call_ns + delay_ns + (delay_ns == 0);
    return (due + 999999u) / 1000000u * 1000000u;
}

/* ---- when ---- */

#define SHOTS 500u

static struct {
    jzx_clock *clock;
    uint64_t due[SHOTS];
    jzx_timer_id ids[SHOTS];
    uint32_t got[SHOTS];
    uint32_t order[SHOTS]; /* as they came */
    uint32_t count;
} shots;

static jzx_behavior_result note_shot(jzx_context *ctx, const jzx_message *msg) {
    uint32_t i = msg->tag;
    uint64_t now = jzx_loop_now(ctx->loop);
    jzx_test_ran();
    JZX_EXPECT(now >= shots.due[i]);
    JZX_EXPECT_EQ(shots.got[i]++, 0);
    shots.order[shots.count++] = i;
    return JZX_BEHAVIOR_OK;
}

static uint64_t odd_delay(void) {
    static const uint64_t odd[] = {0,           1,           999999,         1000000,
                                   1000001,     255999999,   256000000,      256000001,
                                   65535999999, 65536000000, 16777216000000, 4095999999};
    return dice(3) == 0 ? odd[dice(12)] : (uint64_t)dice(1000) * (1 + dice(3000000));
}

static void shoot_from(uint64_t start, uint64_t with_seed) {
    jzx_clock *clock = jzx_clock_manual(start);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_shot, .mailbox_cap = 1));
    memset(&shots, 0, sizeof shots);
    seed = with_seed;
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    uint32_t set = 0;
    while (shots.count < SHOTS) {
        for (uint32_t i = dice(20); i > 0 && set < SHOTS; i--) {
            uint64_t delay = odd_delay();
            shots.due[set] = fires_at(jzx_clock_now(clock), delay);
            assert_int_equal(
                jzx_send_after(loop, id, 0, "12345678901", dice(3) * 4u, set, delay, NULL), JZX_OK);
            set++;
        }
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        uint64_t next = UINT64_MAX;
        for (uint32_t i = 0; i < set; i++) { /* what is due has come, and nothing else */
            JZX_EXPECT_EQ(shots.got[i], shots.due[i] <= jzx_clock_now(clock));
            if (!shots.got[i] && shots.due[i] < next)
                next = shots.due[i];
        }
        JZX_EXPECT(jzx_loop_next_deadline(loop) <= next);
        uint64_t step = next == UINT64_MAX ? 1 : next - jzx_clock_now(clock);
        jzx_clock_advance(clock, dice(3) == 0 ? step - 1 : dice(2) == 0 ? step : step + dice(9999));
    }
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(a_timer_comes_at_its_millisecond_and_not_a_nanosecond_before) {
    shoot_from(0, 1);
    shoot_from(999999, 2);
    shoot_from(JZX_SECOND(86400) * 365 + 1, 3);
    shoot_from(UINT64_MAX / 4 + 12345, 4);
    assert_int_equal(jzx_test_runs(), 4 * SHOTS);
}

/* Time passes inside the message, before and after the call. */
static jzx_behavior_result set_slowly(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == 1000) {
        for (uint32_t i = 0; i < 4; i++) {
            jzx_clock_advance(shots.clock, JZX_MS(3) + 7);
            shots.due[i] = fires_at(jzx_loop_now(ctx->loop), JZX_MS(10));
            JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, 0, NULL, 0, i, JZX_MS(10), NULL),
                          JZX_OK);
        }
        jzx_clock_advance(shots.clock, JZX_MS(1));
        return JZX_BEHAVIOR_OK;
    }
    return note_shot(ctx, msg);
}

JZX_TEST(a_delay_counts_from_the_call_however_long_the_message_takes) {
    jzx_clock *clock = jzx_clock_manual(12345);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    memset(&shots, 0, sizeof shots);
    shots.clock = clock;
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = set_slowly));
    fixture_send(loop, id, 1000);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(shots.count, i);
        jzx_clock_advance(clock, shots.due[i] - 1 - jzx_clock_now(clock));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(shots.count, i);
        jzx_clock_advance(clock, 1);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(shots.order[i], i);
    }
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

/* ---- handled or cancelled ---- */

static struct {
    jzx_timer_id ids[64];
    uint32_t handled[64];
    bool cancelled[64];
} either;

/* Each message cancels itself, in vain, and two others. */
static jzx_behavior_result cancel_others(jzx_context *ctx, const jzx_message *msg) {
    uint32_t i = msg->tag;
    jzx_test_ran();
    if (i == 100)
        return JZX_BEHAVIOR_OK;
    JZX_EXPECT(!either.cancelled[i]);
    JZX_EXPECT_EQ(either.handled[i]++, 0);
    JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, either.ids[i]), JZX_ERR_TIMER_INVALID);
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t other = dice(64);
        jzx_err err = jzx_timer_cancel(ctx->loop, either.ids[other]);
        bool gone = either.handled[other] != 0 || either.cancelled[other];
        JZX_EXPECT_EQ(err, gone ? JZX_ERR_TIMER_INVALID : JZX_OK);
        either.cancelled[other] = either.cancelled[other] || err == JZX_OK;
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_timer_is_handled_or_cancelled_also_while_its_message_waits) {
    for (uint64_t round = 0; round < 20; round++) {
        jzx_clock *clock = jzx_clock_manual(round * 333333);
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
        memset(&either, 0, sizeof either);
        seed = round;
        jzx_actor_id ids[3];
        for (uint32_t i = 0; i < 3; i++)
            ids[i] =
                fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = cancel_others, .mailbox_cap = 1));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(jzx_send_after(loop, ids[i % 3], 0, &i, i % 4, i, JZX_MS(1 + i % 3),
                                            &either.ids[i]),
                             JZX_OK);
        jzx_clock_advance(clock, JZX_MS(round % 2 == 0 ? 10 : 2));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        jzx_clock_advance(clock, JZX_MS(10));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        for (uint32_t i = 0; i < 64; i++) {
            JZX_EXPECT_EQ(either.handled[i] + either.cancelled[i], 1);
            JZX_EXPECT_EQ(jzx_timer_cancel(loop, either.ids[i]), JZX_ERR_TIMER_INVALID);
        }
        jzx_stats stats = fixture_stats(loop);
        JZX_EXPECT_EQ(stats.timers_set, 64);
        JZX_EXPECT_EQ(stats.timers_ended, 64);
        fixture_destroy(loop);
        assert_int_equal(jzx_clock_free(clock), JZX_OK);
    }
    assert_true(jzx_test_runs() > 200);
}

/* Threads cancel what a loop on the real clock fires. */
#define RACED 600u

static struct {
    jzx_loop *loop;
    jzx_timer_id ids[RACED];
    uint32_t handled[RACED];
    uint32_t cancelled[2][RACED];
} race;

static jzx_behavior_result count_raced(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    jzx_test_ran();
    race.handled[msg->tag]++;
    return JZX_BEHAVIOR_OK;
}

static void *cancel_all(void *arg) {
    uint32_t *cancelled = arg;
    for (uint32_t i = 0; i < RACED; i++)
        cancelled[i] = jzx_timer_cancel(race.loop, race.ids[(i * 7) % RACED]) == JZX_OK;
    JZX_EXPECT_EQ(jzx_loop_release(race.loop), JZX_OK);
    return NULL;
}

static jzx_behavior_result stop_later(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(of_two_threads_that_cancel_and_a_loop_that_fires_one_wins) {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        memset(&race, 0, sizeof race);
        race.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        jzx_actor_id ids[4];
        pthread_t threads[2];
        for (uint32_t i = 0; i < 4; i++)
            ids[i] =
                fixture_spawn(race.loop, &JZX_SPAWN_OPTS(.behavior = count_raced, .daemon = true));
        jzx_actor_id last = fixture_spawn(race.loop, &JZX_SPAWN_OPTS(.behavior = stop_later));
        for (uint32_t i = 0; i < RACED; i++)
            assert_int_equal(jzx_send_after(race.loop, ids[i % 4], 0, NULL, 0, i,
                                            JZX_US(10) * (i % 400), &race.ids[i]),
                             JZX_OK);
        assert_int_equal(jzx_send_after(race.loop, last, 0, NULL, 0, 0, JZX_MS(8), NULL), JZX_OK);
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(jzx_loop_hold(race.loop), JZX_OK);
            assert_int_equal(pthread_create(&threads[i], NULL, cancel_all, race.cancelled[i]), 0);
        }
        assert_int_equal(jzx_loop_run(race.loop), JZX_OK);
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        uint32_t in_all[RACED] = {0};
        for (uint32_t i = 0; i < RACED; i++)
            in_all[(i * 7) % RACED] += race.cancelled[0][i] + race.cancelled[1][i];
        uint64_t pending = 0;
        for (uint32_t i = 0; i < RACED; i++) {
            JZX_EXPECT(race.handled[i] + in_all[i] <= 1);
            pending += race.handled[i] + in_all[i] == 0;
        }
        jzx_stats stats = fixture_stats(race.loop); /* run may end before the last have come */
        JZX_EXPECT_EQ(stats.timers_set - stats.timers_ended + stats.waiting >= pending, true);
        JZX_EXPECT_EQ(jzx_loop_destroy(race.loop), JZX_OK);
    }
    assert_true(jzx_test_runs() >= 2); /* at least the last ones came */
}

/* ---- a message that is stashed ---- */

static struct {
    uint32_t comes;
    uint32_t back; /* after unstash */
    bool unstashed;
} aside;

static jzx_behavior_result put_aside(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == 2) {
        aside.unstashed = true;
        jzx_unstash(ctx);
        return JZX_BEHAVIOR_OK;
    }
    if (aside.unstashed) {
        aside.back++;
        return JZX_BEHAVIOR_OK;
    }
    aside.comes++;
    (void)jzx_stash(ctx, msg);
    return JZX_BEHAVIOR_OK;
}

/* A message that was begun and put aside: a cancel that says OK takes it back, one that says that
 * it is too late does not. */
static void cancel_stashed(bool repeats) {
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    memset(&aside, 0, sizeof aside);
    jzx_timer_id timer = JZX_NO_TIMER;
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = put_aside));
    jzx_err err = repeats
                      ? jzx_send_every(loop, id, 0, "x", 1, 1, JZX_MS(1), JZX_FIXED_RATE, &timer)
                      : jzx_send_after(loop, id, 0, "x", 1, 1, JZX_MS(1), &timer);
    assert_int_equal(err, JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_clock_advance(clock, JZX_MS(1));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(aside.comes, 1);
    err = jzx_timer_cancel(loop, timer);
    fixture_send(loop, id, 2);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_clock_advance(clock, JZX_MS(5));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    if (repeats)
        JZX_EXPECT_EQ(err, JZX_OK);
    JZX_EXPECT(err != JZX_OK || aside.back == 0);
    JZX_EXPECT(err == JZX_OK || aside.back == 1);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(a_stashed_message_of_a_timer_is_handled_or_cancelled) {
    cancel_stashed(false);
    cancel_stashed(true);
}

/* ---- without memory and without room ---- */

static struct {
    uint32_t messages;
    uint64_t periods;
    uint32_t once;
} beat;

static jzx_behavior_result count_beat(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == 1) {
        beat.messages++;
        beat.periods += 1 + jzx_timer_missed(ctx);
    } else {
        JZX_EXPECT_EQ(jzx_timer_missed(ctx), 0);
        beat.once += msg->tag == 2;
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(timers_fire_into_a_full_mailbox_of_a_loop_without_memory) {
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    memset(&beat, 0, sizeof beat);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count_beat, .mailbox_cap = 1,
                                                          .on_full = JZX_FULL_DROP_NEW));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    for (uint32_t i = 0; i < 500; i++)
        assert_int_equal(jzx_send_after(loop, id, 0, "some bytes", i % 11, 2, JZX_MS(i % 50), NULL),
                         JZX_OK);
    assert_int_equal(jzx_send_every(loop, id, 0, NULL, 0, 1, JZX_MS(1), JZX_FIXED_RATE, NULL),
                     JZX_OK);
    fixture_send(loop, id, 3);
    fixture_fail_allocations(0, UINT64_MAX);
    jzx_clock_advance(clock, JZX_MS(30));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(beat.messages, 1); /* of 30 periods */
    jzx_clock_advance(clock, JZX_MS(70));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_fail_allocations(UINT64_MAX, 0);
    assert_int_equal(beat.messages, 2);
    assert_int_equal(beat.periods, 100);
    assert_int_equal(beat.once, 500);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

static void beat_with(uint64_t start, uint64_t period, uint64_t with_seed) {
    jzx_clock *clock = jzx_clock_manual(start);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    jzx_timer_id timer;
    memset(&beat, 0, sizeof beat);
    seed = with_seed;
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count_beat));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_send_every(loop, id, 0, "abc", 3, 1, period, JZX_FIXED_RATE, &timer),
                     JZX_OK);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t before = beat.messages;
        jzx_clock_advance(clock, dice(4) == 0 ? dice(1000) : (uint64_t)dice(5000) * dice(2000));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        JZX_EXPECT(beat.messages - before <= 1);
        uint64_t passed = (jzx_clock_now(clock) - start) / period;
        if (beat.messages != before)
            JZX_EXPECT_EQ(beat.periods, passed);
        JZX_EXPECT(beat.periods <= passed);
        /* What has not come by now is due at a millisecond that has not come, either. */
        JZX_EXPECT(fires_at(start, period * (beat.periods + 1)) > jzx_clock_now(clock));
    }
    assert_true(beat.messages > 2);
    assert_int_equal(jzx_timer_cancel(loop, timer), JZX_OK);
    uint32_t before = beat.messages;
    jzx_clock_advance(clock, period * 5);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(beat.messages, before);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(at_a_fixed_rate_no_period_is_lost_however_odd_it_is) {
    beat_with(0, JZX_MS(1), 1);
    beat_with(1, 1, 2);
    beat_with(999999, 333333, 3);
    beat_with(7, JZX_MS(1) + 1, 4);
    beat_with(JZX_SECOND(1000) + 5, JZX_MS(3) - 1, 5);
}

/* ---- the end ---- */

static jzx_behavior_result set_many(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag != 1)
        return JZX_BEHAVIOR_OK;
    for (uint32_t i = 0; i < 20; i++) {
        JZX_EXPECT_EQ(
            jzx_send_after(ctx->loop, ctx->self, 0, "0123456789", i % 11, 2, JZX_SECOND(i), NULL),
            JZX_OK);
        JZX_EXPECT_EQ(jzx_timer_start(ctx, i % 7, NULL, 0, 3, JZX_MS(i)), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 99, NULL, 0, 4, 1, JZX_FIXED_DELAY), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(2)), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void set_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    JZX_EXPECT(jzx_send_after(ctx->loop, ctx->self, 0, NULL, 0, 2, 0, NULL) != JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, 2, 0), JZX_ERR_INVALID_ARG);
}

static void *kill_on_thread(void *arg) {
    jzx_loop *loop = ((void **)arg)[0];
    const jzx_actor_id *id = ((void **)arg)[1];
    for (uint32_t i = 0; i < 20; i++)
        JZX_EXPECT_EQ(jzx_send_after(loop, *id, 0, NULL, 0, 2, JZX_MS(i), NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, *id, JZX_STOP_KILL), JZX_OK);
    return NULL;
}

JZX_TEST(an_actor_takes_all_its_timers_along_wherever_they_are) {
    for (uint64_t fired_ms = 0; fired_ms < 4; fired_ms++) {
        jzx_clock *clock = jzx_clock_manual(0);
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = set_many, .cleanup = set_in_cleanup));
        void *args[2] = {loop, &id};
        pthread_t thread;
        fixture_send(loop, id, 1);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        jzx_clock_advance(clock, JZX_MS(fired_ms));
        assert_int_equal(pthread_create(&thread, NULL, kill_on_thread, args), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        jzx_stats stats = fixture_stats(loop);
        JZX_EXPECT_EQ(stats.exited, 1);
        JZX_EXPECT_EQ(stats.timers_set, stats.timers_ended);
        JZX_EXPECT_EQ(stats.waiting, 0);
        JZX_EXPECT_EQ(jzx_loop_next_deadline(loop), JZX_NEVER);
        uint64_t runs = jzx_test_runs();
        assert_true(runs > fired_ms);
        jzx_clock_advance(clock, JZX_SECOND(100));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(jzx_test_runs(), runs);
        fixture_destroy(loop);
        assert_int_equal(jzx_clock_free(clock), JZX_OK);
    }
}
