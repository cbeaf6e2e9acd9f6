/* SPDX-License-Identifier: MIT */
/* The clock that a program moves itself, and the loops that go by it. */
#include "timing.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

/* ---- the clock alone ---- */

JZX_TEST(a_manual_clock_stands_still_until_it_is_moved, "X18") {
    jzx_clock *clock = jzx_clock_manual(500);
    assert_non_null(clock);
    JZX_EXPECT_EQ(jzx_clock_now(clock), 500);
    JZX_EXPECT_EQ(jzx_clock_now(clock), 500);
    JZX_EXPECT_EQ(jzx_clock_advance(clock, 0), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_now(clock), 500);
    JZX_EXPECT_EQ(jzx_clock_advance(clock, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_SECOND(1000)), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_now(clock), 501 + JZX_SECOND(1000));
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(a_clock_has_its_memory_from_its_allocator, "C17") {
    jzx_allocator allocator = fixture_allocator();
    jzx_clock *clock = NULL;
    uint64_t before = fixture_allocations();
    assert_int_equal(jzx_clock_create(500, &allocator, &clock), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_now(clock), 500);
    JZX_EXPECT_EQ(fixture_allocations(), before + 1);
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
    JZX_EXPECT_EQ(fixture_bytes(), 0);

    clock = NULL;
    fixture_fail_allocations(0, 1);
    JZX_EXPECT_EQ(jzx_clock_create(0, &allocator, &clock), JZX_ERR_NO_MEMORY);
    allocator.free = NULL;
    JZX_EXPECT_EQ(jzx_clock_create(0, &allocator, &clock), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_clock_create(0, NULL, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(clock == NULL);
}

JZX_TEST(a_manual_clock_ends_at_the_end_of_time, "X18") {
    jzx_clock *clock = jzx_clock_manual(UINT64_MAX - 5);
    assert_non_null(clock);
    JZX_EXPECT_EQ(jzx_clock_advance(clock, 3), JZX_OK);
    JZX_EXPECT(jzx_clock_now(clock) == UINT64_MAX - 2);
    JZX_EXPECT_EQ(jzx_clock_advance(clock, 3), JZX_OK);
    JZX_EXPECT(jzx_clock_now(clock) == UINT64_MAX);
    JZX_EXPECT_EQ(jzx_clock_advance(clock, UINT64_MAX), JZX_OK);
    JZX_EXPECT(jzx_clock_now(clock) == UINT64_MAX);
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
    clock = jzx_clock_manual(1);
    assert_non_null(clock);
    JZX_EXPECT_EQ(jzx_clock_advance(clock, UINT64_MAX), JZX_OK);
    JZX_EXPECT(jzx_clock_now(clock) == UINT64_MAX);
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(clocks_are_independent_and_null_is_no_clock, "X18") {
    jzx_clock *one = jzx_clock_manual(0);
    jzx_clock *two = jzx_clock_manual(7);
    assert_non_null(one);
    assert_non_null(two);
    JZX_EXPECT_EQ(jzx_clock_advance(one, 3), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_now(one), 3);
    JZX_EXPECT_EQ(jzx_clock_now(two), 7);
    JZX_EXPECT_EQ(jzx_clock_free(one), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_free(two), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_now(NULL), 0);
    JZX_EXPECT_EQ(jzx_clock_advance(NULL, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_clock_free(NULL), JZX_OK);
}

/* ---- loops ---- */

JZX_TEST(a_loop_goes_by_its_clock, "X18") {
    struct timing timing = timing_open_with(12345, NULL);
    JZX_EXPECT_EQ(jzx_loop_now(timing.loop), 12345);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, 55), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_now(timing.loop), 12400);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_loop_now(timing.loop), 12400);
    timing_close(&timing);
}

JZX_TEST(a_clock_that_a_loop_uses_cannot_be_freed, "X18") {
    struct timing one = timing_open();
    jzx_loop *two = fixture_loop_with(&JZX_CONFIG(.clock = one.clock, .workers = 2));
    assert_non_null(two);
    JZX_EXPECT_EQ(jzx_clock_free(one.clock), JZX_ERR_BUSY);
    fixture_destroy(two);
    JZX_EXPECT_EQ(jzx_clock_free(one.clock), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_clock_advance(one.clock, 1), JZX_OK); /* nothing happened to it */
    JZX_EXPECT_EQ(jzx_loop_now(one.loop), 1);
    two =
        fixture_loop_with(&JZX_CONFIG(.clock = one.clock)); /* another in the place of the first */
    assert_non_null(two);
    fixture_destroy(one.loop);
    JZX_EXPECT_EQ(jzx_clock_free(one.clock), JZX_ERR_BUSY);
    fixture_destroy(two);
    JZX_EXPECT_EQ(jzx_clock_free(one.clock), JZX_OK);
}

JZX_TEST(a_loop_that_could_not_be_made_does_not_hold_its_clock, "C17", "C16") {
    jzx_clock *clock = jzx_clock_manual(0);
    assert_non_null(clock);
    jzx_loop *loop = NULL;
    for (uint64_t n = 0; loop == NULL && n < 1000; n++) {
        fixture_fail_allocations(n, 1);
        loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
        fixture_fail_allocations(UINT64_MAX, 0);
        if (loop == NULL)
            JZX_EXPECT_EQ(fixture_bytes(), 0);
    }
    assert_non_null(loop);
    fixture_destroy(loop);
    loop =
        fixture_loop_with(&JZX_CONFIG(.clock = clock, .local_queue_size = 3)); /* no power of 2 */
    JZX_EXPECT(loop == NULL);
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(several_loops_go_by_one_clock, "X18", "C+inv") {
    enum { LOOPS = 5 };
    struct diary diaries[LOOPS] = {{.count = 0}};
    jzx_loop *loops[LOOPS];
    jzx_clock *clock = jzx_clock_manual(JZX_MS(3));
    assert_non_null(clock);
    for (uint32_t i = 0; i < LOOPS; i++) {
        loops[i] = fixture_loop_with(&JZX_CONFIG(.clock = clock));
        assert_non_null(loops[i]);
        jzx_actor_id id =
            fixture_spawn(loops[i], &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diaries[i]));
        timing_set(loops[i], id, i, JZX_MS(10 + i));
        JZX_EXPECT_EQ(jzx_loop_step(loops[i], JZX_NEVER), JZX_OK);
    }
    for (uint32_t ms = 1; ms <= 20; ms++) {
        JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_MS(1)), JZX_OK);
        for (uint32_t i = 0; i < LOOPS; i++) {
            JZX_EXPECT_EQ(jzx_loop_step(loops[i], JZX_NEVER), JZX_OK);
            JZX_EXPECT_EQ(diaries[i].count, ms >= 10 + i);
        }
    }
    for (uint32_t i = 0; i < LOOPS; i++)
        fixture_destroy(loops[i]);
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(a_loop_made_late_begins_at_the_clocks_time, "X18") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    timing_advance(&timing, JZX_SECOND(1000000));
    jzx_loop *late = fixture_loop_with(&JZX_CONFIG(.clock = timing.clock));
    assert_non_null(late);
    jzx_actor_id id = fixture_spawn(late, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary));
    timing_set(late, id, 1, JZX_MS(1));
    JZX_EXPECT_EQ(jzx_loop_step(late, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(diary.count, 0);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(1)), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(late, JZX_NEVER), JZX_OK);
    expect_last(&diary, 1, 1, JZX_SECOND(1000000) + JZX_MS(1));
    fixture_destroy(late);
    timing_close(&timing);
}

/* ---- other threads ---- */

#define THREADS 4
#define MOVES 20000

static void *move_often(void *clock) {
    for (uint32_t i = 0; i < MOVES; i++)
        JZX_EXPECT_EQ(jzx_clock_advance(clock, 3), JZX_OK);
    return NULL;
}

JZX_TEST(threads_may_move_one_clock_together, "X16") {
    struct timing timing = timing_open();
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, move_often, timing.clock), 0);
    uint64_t last = 0;
    while (last < (uint64_t)THREADS * MOVES * 3) {
        uint64_t now = jzx_clock_now(timing.clock);
        JZX_EXPECT(now >= last);
        last = now;
    }
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    JZX_EXPECT_EQ(jzx_clock_now(timing.clock), (uint64_t)THREADS * MOVES * 3);
    timing_close(&timing);
}

/* An actor that waits an hour at a time, in a loop that sleeps meanwhile. */
struct sleeper {
    jzx_clock *clock;
    jzx_loop *loop;
    sem_t is_set;
    uint32_t rounds;
    uint32_t round; /* of the actor */
    bool wait_for_park;
    atomic_bool fired_early;
};

static struct sleeper sleeper;

static jzx_behavior_result sleep_an_hour(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag > 0 && jzx_loop_now(ctx->loop) < JZX_SECOND(3600) * msg->tag)
        atomic_store(&sleeper.fired_early, true);
    if (msg->tag == sleeper.rounds)
        return JZX_BEHAVIOR_STOP;
    timing_set(ctx->loop, ctx->self, msg->tag + 1, JZX_SECOND(3600));
    sem_post(&sleeper.is_set);
    return JZX_BEHAVIOR_OK;
}

static uint64_t parked(void) {
    jzx_worker_stats stats = {.size = sizeof stats};
    uint64_t count = 0;
    for (uint32_t i = 0; i < jzx_loop_workers(sleeper.loop); i++) {
        JZX_EXPECT_EQ(jzx_loop_worker_stats(sleeper.loop, i, &stats), JZX_OK);
        count += stats.is_parked;
    }
    return count;
}

static void *let_hours_pass(void *arg) {
    (void)arg;
    for (uint32_t i = 0; i < sleeper.rounds; i++) {
        while (sem_wait(&sleeper.is_set) != 0)
            continue;
        while (sleeper.wait_for_park && parked() < jzx_loop_workers(sleeper.loop))
            sched_yield();
        JZX_EXPECT_EQ(jzx_clock_advance(sleeper.clock, JZX_SECOND(3600)), JZX_OK);
    }
    return NULL;
}

static void wake_by_moving(uint32_t workers, bool wait_for_park, uint32_t rounds) {
    pthread_t thread;
    sleeper = (struct sleeper){.rounds = rounds, .wait_for_park = wait_for_park};
    sem_init(&sleeper.is_set, 0, 0);
    sleeper.clock = jzx_clock_manual(0);
    assert_non_null(sleeper.clock);
    sleeper.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers, .clock = sleeper.clock));
    assert_non_null(sleeper.loop);
    fixture_send(sleeper.loop,
                 fixture_spawn(sleeper.loop, &JZX_SPAWN_OPTS(.behavior = sleep_an_hour)), 0);
    assert_int_equal(pthread_create(&thread, NULL, let_hours_pass, NULL), 0);
    assert_int_equal(jzx_loop_run(sleeper.loop), JZX_OK); /* only the clock ends it */
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT(!atomic_load(&sleeper.fired_early));
    JZX_EXPECT_EQ(fixture_stats(sleeper.loop).handled, rounds + 1);
    fixture_destroy(sleeper.loop);
    JZX_EXPECT_EQ(jzx_clock_free(sleeper.clock), JZX_OK);
    sem_destroy(&sleeper.is_set);
}

JZX_TEST(moving_the_clock_wakes_a_loop_that_sleeps, "X18", "C23") {
    for (uint32_t workers = 1; workers <= 3; workers++)
        wake_by_moving(workers, true, (uint32_t)jzx_test_rounds(200, 5000));
}

JZX_TEST(moving_the_clock_wakes_a_loop_that_falls_asleep, "X18", "C23") {
    for (uint32_t workers = 1; workers <= 3; workers++)
        wake_by_moving(workers, false, (uint32_t)jzx_test_rounds(2000, 50000));
}

/* Many small moves, of which one in the end brings the timer. */
static void *move_by_seconds(void *clock) {
    for (uint32_t i = 0; i < 3600; i++)
        JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_SECOND(1)), JZX_OK);
    return NULL;
}

JZX_TEST(many_small_moves_reach_a_timer_far_away, "X18") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct diary diary = {0};
        pthread_t thread;
        struct timing timing = timing_open_with(0, &JZX_CONFIG(.workers = workers));
        jzx_actor_id id = fixture_spawn(
            timing.loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary, .daemon = true));
        struct recorder stop = {.stop_at = 1};
        jzx_actor_id last =
            fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &stop));
        timing_set(timing.loop, id, 1, JZX_SECOND(1800));
        timing_set(timing.loop, last, 2, JZX_SECOND(3600));
        assert_int_equal(pthread_create(&thread, NULL, move_by_seconds, timing.clock), 0);
        assert_int_equal(jzx_loop_run(timing.loop), JZX_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        JZX_EXPECT_EQ(diary.count, 1);
        JZX_EXPECT(diary.arrivals[0].at_ns >= JZX_SECOND(1800));
        fixture_destroy(timing.loop);
        JZX_EXPECT_EQ(jzx_clock_free(timing.clock), JZX_OK);
    }
}

/* Clocks move while loops come and go. */
static atomic_bool movers_end;

static void *move_until_told(void *clock) {
    while (!atomic_load(&movers_end))
        JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_MS(1)), JZX_OK);
    return NULL;
}

JZX_TEST(a_clock_may_move_while_loops_are_made_and_destroyed, "X16") {
    uint64_t rounds = jzx_test_rounds(200, 5000);
    pthread_t threads[2];
    jzx_clock *clock = jzx_clock_manual(0);
    assert_non_null(clock);
    atomic_store(&movers_end, false);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, move_until_told, clock), 0);
    for (uint64_t i = 0; i < rounds; i++) {
        struct recorder log = {.stop_at = 1};
        jzx_loop *loop =
            fixture_loop_with(&JZX_CONFIG(.clock = clock, .workers = 1 + (uint32_t)(i % 3)));
        assert_non_null(loop);
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
        timing_set(loop, id, 1, JZX_MS(i % 5));
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(log.count, 1);
        fixture_destroy(loop);
    }
    atomic_store(&movers_end, true);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}
