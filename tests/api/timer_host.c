/* SPDX-License-Identifier: MIT */
/* Timers and what surrounds them: the host's loop, run, destroy, and memory, also without it. */
#include "timing.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WAVES 4u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WAVES 4u
#endif
#endif
#ifndef WAVES
#define WAVES 10u /* a million timers; fewer where each takes longer */
#endif

static bool is_readable(int fd) {
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    return poll(&pollfd, 1, 0) == 1;
}

/* ---- the host's loop ---- */

/* Leaps from deadline to deadline: no timer may be passed, and the way must be short. */
static void leap_to(uint64_t start_ms, uint64_t delay_ms) {
    struct diary diary = {0};
    struct timing timing = timing_open_with(JZX_MS(start_ms), NULL);
    jzx_actor_id id = timing_spawn(&timing, &diary);
    JZX_EXPECT(jzx_loop_next_deadline(timing.loop) == JZX_NEVER);
    timing_set(timing.loop, id, 1, JZX_MS(delay_ms));
    uint64_t due = JZX_MS(start_ms + delay_ms);
    for (uint32_t leaps = 0; diary.count == 0; leaps++) {
        uint64_t now = jzx_clock_now(timing.clock);
        uint64_t deadline = jzx_loop_next_deadline(timing.loop);
        if (deadline == 0) { /* something to take in: no time passes */
            timing_step(&timing);
            deadline = jzx_loop_next_deadline(timing.loop);
        }
        if (!JZX_EXPECT(deadline > now) || !JZX_EXPECT(deadline <= due) || !JZX_EXPECT(leaps < 10))
            break;
        timing_advance_to(&timing, deadline);
    }
    expect_last(&diary, 1, 1, due);
    JZX_EXPECT(jzx_loop_next_deadline(timing.loop) == JZX_NEVER);
    timing_close(&timing);
}

/* ---- what one look does ---- */

#define FIRES_MAX 128u /* FIRE_MAX of timer.c */

/* Then a turn is taken, here all of a step, before the next look. */
JZX_TEST(a_look_fires_so_many_timers_and_no_more) {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    for (uint32_t i = 0; i < 3 * FIRES_MAX - 1; i++)
        timing_set(timing.loop, id, 1 + i, JZX_MS(1));
    timing_step(&timing);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).timers_fired, 0);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(1)), JZX_OK);
    for (uint32_t look = 1; look <= 3; look++) {
        JZX_EXPECT_EQ(jzx_loop_step(timing.loop, 0), JZX_OK);
        uint32_t fired = look < 3 ? look * FIRES_MAX : 3 * FIRES_MAX - 1;
        JZX_EXPECT_EQ(fixture_stats(timing.loop).timers_fired, fired);
        JZX_EXPECT(diary.count <= fired);
    }
    timing_step(&timing);
    JZX_EXPECT_EQ(diary.count, 3 * FIRES_MAX - 1);
    timing_close(&timing);
}

static void end_at_once(jzx_context *ctx) {
    jzx_exit(ctx, JZX_EXIT_NORMAL, NULL);
}

/* A message that came to a mailbox; one that was cancelled or found nobody did not. */
JZX_TEST(timers_that_fired_are_counted) {
    struct diary diaries[2];
    memset(diaries, 0, sizeof diaries);
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diaries[0]);
    jzx_actor_id other = timing_spawn(&timing, &diaries[1]);
    jzx_timer_id cancelled = timing_set(timing.loop, id, 1, JZX_MS(1));
    timing_set(timing.loop, id, 2, JZX_MS(1));
    timing_set(timing.loop, id, 3, JZX_MS(2));
    timing_set(timing.loop, id, 4, JZX_MS(9));
    timing_set(timing.loop, other, 5, JZX_MS(1));
    timing_do(&timing, other, end_at_once);
    JZX_EXPECT_EQ(jzx_timer_cancel(timing.loop, cancelled), JZX_OK);
    timing_advance(&timing, JZX_MS(3));
    jzx_stats stats = fixture_stats(timing.loop);
    JZX_EXPECT_EQ(stats.timers_set, 5);
    JZX_EXPECT_EQ(stats.timers_fired, 2);
    JZX_EXPECT_EQ(diaries[0].count, 2);
    timing_close(&timing);
}

JZX_TEST(the_next_deadline_leads_to_the_next_timer, "C+loop", "E51") {
    static const uint64_t starts_ms[] = {0, 255, 16383, 1048575, 123456789};
    static const uint64_t delays_ms[] = {1,     2,       255,     256,     257,      16383,
                                         16384, 1048575, 1048576, 1048577, 67108864, 31536000000};
    for (size_t i = 0; i < sizeof starts_ms / sizeof starts_ms[0]; i++)
        for (size_t k = 0; k < sizeof delays_ms / sizeof delays_ms[0]; k++)
            leap_to(starts_ms[i], delays_ms[k]);
}

JZX_TEST(the_next_deadline_is_never_past_a_timer_and_zero_when_one_is_due, "C+loop") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, JZX_SECOND(100));
    timing_set(timing.loop, id, 2, JZX_MS(30));
    timing_step(&timing);
    uint64_t deadline = jzx_loop_next_deadline(timing.loop);
    JZX_EXPECT(deadline > 0 && deadline <= JZX_MS(30));
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(29)), JZX_OK);
    timing_step(&timing);
    deadline = jzx_loop_next_deadline(timing.loop);
    JZX_EXPECT_EQ(deadline, JZX_MS(30)); /* there is no other left in between */
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(1)), JZX_OK);
    deadline = jzx_loop_next_deadline(timing.loop);
    JZX_EXPECT(deadline <= JZX_MS(30)); /* now, in either way of saying it */
    timing_step(&timing);
    expect_last(&diary, 1, 2, JZX_MS(30));
    deadline = jzx_loop_next_deadline(timing.loop);
    JZX_EXPECT(deadline > JZX_MS(30) && deadline <= JZX_SECOND(100));
    timing_close(&timing);
}

JZX_TEST(the_descriptor_is_readable_when_a_timer_is_due, "C+loop") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    int fd = jzx_loop_fd(timing.loop);
    assert_true(fd >= 0);
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_set(timing.loop, id, 1, JZX_MS(10));
    timing_step(&timing);
    JZX_EXPECT(!is_readable(fd));
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(10)), JZX_OK);
    JZX_EXPECT(is_readable(fd));
    timing_step(&timing);
    JZX_EXPECT_EQ(diary.count, 1);
    JZX_EXPECT(!is_readable(fd));
    timing_close(&timing);
}

/* On the machine's clock, as a host would do it. */
JZX_TEST(a_host_that_polls_until_the_next_deadline_gets_its_timers, "C+loop", "C23") {
    struct diary diary = {0};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary));
    uint64_t start = jzx_loop_now(loop);
    for (uint32_t i = 1; i <= 5; i++)
        timing_set(loop, id, i, JZX_MS(i * 2));
    int fd = jzx_loop_fd(loop);
    while (diary.count < 5) {
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        uint64_t deadline = jzx_loop_next_deadline(loop);
        uint64_t now = jzx_loop_now(loop);
        if (deadline > now && deadline != JZX_NEVER) {
            struct pollfd pollfd = {.fd = fd, .events = POLLIN};
            poll(&pollfd, 1, (int)((deadline - now) / 1000000 + 1));
        }
    }
    for (uint32_t i = 0; i < 5; i++) {
        JZX_EXPECT_EQ(diary.arrivals[i].tag, i + 1);
        JZX_EXPECT(diary.arrivals[i].at_ns >= start + JZX_MS(2 * (i + 1))); /* never early */
    }
    fixture_destroy(loop);
}

/* ---- run ---- */

static jzx_behavior_result stop_at_32(jzx_context *ctx, const jzx_message *msg) {
    const struct diary *self = ctx->state;
    (void)msg;
    return self->count == 32 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(thirty_two_timers_come_in_order_and_never_early, "C+tool", "C23", "C27") {
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct diary diary = {.then = stop_at_32};
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        assert_non_null(loop);
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary));
        uint64_t start = jzx_loop_now(loop);
        for (uint32_t i = 1; i <= 32; i++) /* in order, however slow this thread is */
            timing_set(loop, id, i, JZX_MS(i * 2));
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(diary.count, 32);
        for (uint32_t i = 0; i < diary.count; i++) {
            JZX_EXPECT_EQ(diary.arrivals[i].tag, i + 1);
            JZX_EXPECT(diary.arrivals[i].at_ns >= start + JZX_MS((i + 1) * 2));
        }
        fixture_destroy(loop);
    }
}

static jzx_behavior_result stop_at_timeout(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == JZX_TAG_RECEIVE_TIMEOUT)
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(3)), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(run_sleeps_until_the_next_timer_and_ends_with_the_last_actor, "C+loop", "B+actor") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        assert_non_null(loop);
        for (uint32_t i = 0; i < 10; i++)
            fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_at_timeout)),
                         1);
        uint64_t start = jzx_loop_now(loop);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT(jzx_loop_now(loop) >= start + JZX_MS(3));
        fixture_destroy(loop);
    }
    JZX_EXPECT_EQ(jzx_test_runs(), 2 * 2 * 10); /* each actor twice, in both loops */
}

JZX_TEST(the_timers_of_a_daemon_do_not_keep_the_loop_alive, "C+loop") {
    struct diary diary = {0};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = keep_diary, .state = &diary, .daemon = true));
    timing_set(loop, id, 1, JZX_SECOND(3600));
    timing_repeat(loop, id, 1, JZX_SECOND(3600), JZX_FIXED_RATE);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

struct late_setter {
    jzx_loop *loop;
    jzx_actor_id id;
    sem_t handled;
    uint32_t rounds;
};

static struct late_setter setter;

static jzx_behavior_result tell(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    sem_post(&setter.handled);
    return msg->tag == setter.rounds ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* The loop sleeps until a timer an hour away; this one must not wait for that. */
static void *set_from_outside(void *arg) {
    (void)arg;
    for (uint32_t i = 1; i <= setter.rounds; i++) {
        timing_set(setter.loop, setter.id, i, i % 2 ? 0 : JZX_MS(1));
        while (sem_wait(&setter.handled) != 0)
            continue;
    }
    return NULL;
}

JZX_TEST(a_timer_set_by_another_thread_wakes_a_loop_that_sleeps, "X16", "C23") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        pthread_t thread;
        setter = (struct late_setter){.rounds = 100};
        sem_init(&setter.handled, 0, 0);
        setter.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        assert_non_null(setter.loop);
        setter.id = fixture_spawn(setter.loop, &JZX_SPAWN_OPTS(.behavior = tell));
        timing_set(setter.loop, setter.id, 0, JZX_SECOND(3600));
        assert_int_equal(pthread_create(&thread, NULL, set_from_outside, NULL), 0);
        assert_int_equal(jzx_loop_run(setter.loop), JZX_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        fixture_destroy(setter.loop);
        sem_destroy(&setter.handled);
    }
}

/* ---- the end of the loop ---- */

static void start_every_kind(jzx_context *ctx) {
    static const char data[5000];
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, data, 8, 1, JZX_MS(2)), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 2, data, 5000, 1, JZX_SECOND(2000)), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 3, data, 200, 1, JZX_MS(3), JZX_FIXED_RATE), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start_every(ctx, 4, data, 33, 1, JZX_MS(300), JZX_FIXED_DELAY), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_MS(4)), JZX_OK);
}

/* Destroyed with timers that are pending, due, waiting in mailboxes, and set but never seen. */
static void destroy_amid(uint32_t stage) {
    static struct diary diaries[20];
    struct timing timing = timing_open_with(0, &JZX_CONFIG(.max_msgs_per_actor = 1));
    jzx_actor_id id = JZX_NOBODY;
    memset(diaries, 0, sizeof diaries);
    for (uint32_t i = 0; i < 20; i++) {
        id = timing_spawn(&timing, &diaries[i]);
        timing_do(&timing, id, start_every_kind);
        for (uint32_t k = 0; k < 10; k++)
            timing_set(timing.loop, id, 1, JZX_MS(k * k * k * k));
    }
    if (stage >= 1)
        timing_advance(&timing, JZX_MS(1));
    if (stage >= 2)
        JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(500)), JZX_OK);
    if (stage >= 3)
        JZX_EXPECT_EQ(jzx_loop_step(timing.loop, 0), JZX_OK);
    if (stage >= 4)
        timing_set(timing.loop, id, 1, JZX_MS(1));
    if (stage >= 5)
        JZX_EXPECT_EQ(jzx_loop_request_stop(timing.loop), JZX_OK);
    timing_check_books(timing.loop);
    JZX_EXPECT_EQ(jzx_loop_destroy(timing.loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_free(timing.clock), JZX_OK);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(a_loop_can_be_destroyed_with_timers_in_every_state, "C16", "C17", "X14") {
    for (uint32_t stage = 0; stage <= 5; stage++)
        destroy_amid(stage);
}

JZX_TEST(the_gentle_stop_does_not_wait_for_timers, "C+loop", "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_do(&timing, id, start_every_kind);
    timing_set(timing.loop, id, 1, JZX_SECOND(1));
    fixture_send(timing.loop, id, 2);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_SECOND(10)), JZX_OK);
    assert_int_equal(jzx_loop_run(timing.loop), JZX_OK);
    expect_tags(&diary, 1, (const uint32_t[]){2});
    JZX_EXPECT_EQ(jzx_clock_now(timing.clock), 0);
    timing_close(&timing);
}

/* ---- memory ---- */

static void grow_old(jzx_context *ctx) {
    for (uint32_t i = 0; i < 1000; i++)
        timing_set(ctx->loop, ctx->self, 1, JZX_MS(1000 + i * 4000));
    JZX_EXPECT_EQ(jzx_receive_timeout(ctx, JZX_SECOND(3600)), JZX_OK);
}

/* Waves of actors that die with all their timers set. */
JZX_TEST(a_million_timers_of_dying_actors_leave_nothing_behind, "C28", "C+tool", "B+actor") {
    enum { ACTORS = 100 };
    static struct diary diary;
    struct timing timing = timing_open();
    uint64_t bytes = 0;
    diary = (struct diary){0};
    for (uint32_t wave = 0; wave < WAVES; wave++) {
        for (uint32_t i = 0; i < ACTORS; i++) {
            jzx_actor_id id = timing_spawn(&timing, &diary);
            timing_do(&timing, id, grow_old);
            if (i % 2)
                timing_advance(&timing, JZX_MS(3));
        }
        uint64_t cursor = 0;
        jzx_actor_info info = {.size = sizeof info};
        while (jzx_actor_next(timing.loop, &cursor, &info) == JZX_OK)
            JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, info.id, JZX_STOP_KILL), JZX_OK);
        timing_step(&timing);
        JZX_EXPECT_EQ(fixture_stats(timing.loop).exited, (wave + 1) * ACTORS);
        JZX_EXPECT_EQ(timing_pending(timing.loop), 0);
        if (wave == 1)
            bytes = fixture_bytes();
    }
    JZX_EXPECT(fixture_bytes() <= bytes + bytes / 8); /* the second wave's memory was enough */
    timing_advance(&timing, JZX_SECOND(86400));
    JZX_EXPECT_EQ(diary.count, 0);
    JZX_EXPECT(jzx_loop_next_deadline(timing.loop) == JZX_NEVER);
    JZX_EXPECT_EQ(fixture_stats(timing.loop).waiting, 0);
    timing_close(&timing);
}

static void set_and_cancel_many(jzx_context *ctx) {
    for (uint32_t i = 0; i < 10000; i++) {
        jzx_timer_id timer = timing_set(ctx->loop, ctx->self, 1, JZX_SECOND(3600 + i));
        JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, timer), JZX_OK);
        JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, 1, JZX_SECOND(3600)), JZX_OK);
    }
}

/* Timeouts of requests are mostly cancelled, long before their time. */
JZX_TEST(timers_that_are_cancelled_do_not_pile_up, "C28", "E50", "B+actor") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_do(&timing, id, set_and_cancel_many);
    uint64_t bytes = fixture_bytes();
    for (uint32_t i = 0; i < 20; i++) {
        timing_do(&timing, id, set_and_cancel_many);
        timing_advance(&timing, JZX_MS(1));
    }
    JZX_EXPECT(fixture_bytes() <= bytes + bytes / 8);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 1);
    timing_close(&timing);
}

/* CANCELLED_MAX of timer.c: the cancelled timers that wake their home. */
#define CANCELLED_MAX 256u

static jzx_timer_id long_timers[3 * CANCELLED_MAX];

static void set_long_timers(jzx_context *ctx) {
    for (uint32_t i = 0; i < 3 * CANCELLED_MAX; i++)
        long_timers[i] = timing_set(ctx->loop, ctx->self, 1, JZX_SECOND(3600));
}

struct canceller {
    jzx_loop *loop;
    uint32_t first;
    uint32_t count;
};

static void *cancel_long_timers(void *arg) {
    const struct canceller *self = arg;
    for (uint32_t i = 0; i < self->count; i++)
        JZX_EXPECT_EQ(jzx_timer_cancel(self->loop, long_timers[self->first + i]), JZX_OK);
    return NULL;
}

static void cancel_elsewhere(jzx_loop *loop, uint32_t first, uint32_t count) {
    struct canceller canceller = {loop, first, count};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_long_timers, &canceller), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Only a wake ends the sleep of an idle loop: its descriptor says whether there was one. */
JZX_TEST(a_loop_that_sleeps_is_woken_to_free_many_cancelled_timers_and_not_for_few, "C28", "E50") {
    struct diary diary = {0};
    struct timing timing = timing_open();
    int fd = jzx_loop_fd(timing.loop);
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_do(&timing, id, set_long_timers);
    timing_step(&timing);
    JZX_EXPECT(!is_readable(fd));
    cancel_elsewhere(timing.loop, 0, CANCELLED_MAX - 1);
    JZX_EXPECT(!is_readable(fd));
    cancel_elsewhere(timing.loop, CANCELLED_MAX - 1, 1);
    JZX_EXPECT(is_readable(fd));
    JZX_EXPECT_EQ(timing_pending(timing.loop), 3 * CANCELLED_MAX);
    timing_step(&timing);
    JZX_EXPECT_EQ(timing_pending(timing.loop), 2 * CANCELLED_MAX);
    JZX_EXPECT(!is_readable(fd));
    cancel_elsewhere(timing.loop, CANCELLED_MAX, CANCELLED_MAX);
    JZX_EXPECT(is_readable(fd)); /* again */
    timing_step(&timing);
    JZX_EXPECT_EQ(timing_pending(timing.loop), CANCELLED_MAX);
    timing_close(&timing);
}

JZX_TEST(timers_allocate_nothing_once_warm, "C17", "C+goal") {
    static struct diary diary;
    struct timing timing = timing_open();
    uint64_t warm = 0;
    diary = (struct diary){0};
    jzx_actor_id id = timing_spawn(&timing, &diary);
    timing_repeat(timing.loop, id, 2, JZX_MS(7), JZX_FIXED_RATE);
    for (uint32_t round = 0; round < 1000; round++) {
        for (uint32_t i = 0; i < 20; i++)
            timing_set(timing.loop, id, 1, JZX_MS(i));
        timing_advance(&timing, JZX_MS(20));
        JZX_EXPECT(diary.count >= 20);
        diary.count = 0;
        if (round == 200)
            warm = fixture_allocations();
    }
    JZX_EXPECT_EQ(fixture_allocations(), warm);
    timing_close(&timing);
}

/* ---- signals ---- */

static void do_nothing(int number) {
    (void)number;
}

/* They come more often than a sleep lasts: it must not begin anew each time. */
JZX_TEST(signals_do_not_put_a_timer_off, "C23") {
    struct sigaction before;
    struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 3000}, {0, 3000}};
    struct itimerval never = {{0, 0}, {0, 0}};
    struct recorder recorder = {.stop_at = 1};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder));
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    timing_set(loop, id, 1, JZX_MS(40));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(recorder.count, 1);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    fixture_destroy(loop);
}
