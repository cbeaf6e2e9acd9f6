/* SPDX-License-Identifier: MIT */
/* Attacks on what docs/guarantees.md promises about loops and, on a clock that a test moves, about
 * fairness: stops at odd moments, run after run, callers with older headers. */
#include "fixture.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { NUDGE = 1, GO_ON, FAIL, LAST };

static void step(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

/* ---- wake-ups ---- */

enum wake { WAKE_SEND, WAKE_CALL, WAKE_SPAWN, WAKE_STOP, WAKE_GENTLE, WAKE_RELEASE, WAKE_COUNT };

static struct {
    jzx_loop *loop;
    enum wake kind;
    jzx_actor_id id;
    jzx_clock *clock;
} sleeper;

static jzx_behavior_result stop_now(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_STOP;
}

static void stop_by_call(jzx_loop *loop, void *ctx) {
    (void)ctx;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
}

/* Until all its workers sleep: nothing but this thread can bring work then. */
static void wait_for_sleep(jzx_loop *loop) {
    for (uint32_t i = 0; i < jzx_loop_workers(loop);) {
        jzx_worker_stats stats = {.size = sizeof stats};
        JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, i, &stats), JZX_OK);
        if (stats.is_parked)
            i++;
        else
            sched_yield();
    }
}

static void *wake(void *arg) {
    jzx_loop *loop = sleeper.loop;
    (void)arg;
    wait_for_sleep(loop);
    switch (sleeper.kind) {
    case WAKE_SEND: fixture_send(loop, sleeper.id, NUDGE); break;
    case WAKE_CALL: JZX_EXPECT_EQ(jzx_loop_call(loop, stop_by_call, NULL), JZX_OK); break;
    case WAKE_SPAWN: {
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_now));
        fixture_send(loop, id, NUDGE);
        wait_for_sleep(loop);
        JZX_EXPECT_EQ(jzx_actor_stop(loop, sleeper.id, JZX_STOP_KILL), JZX_OK);
        break;
    }
    case WAKE_STOP: JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK); break;
    case WAKE_GENTLE: JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK); break;
    default:
        JZX_EXPECT_EQ(jzx_actor_stop(loop, sleeper.id, JZX_STOP_AFTER_QUEUE), JZX_OK);
        wait_for_sleep(loop);
        JZX_EXPECT_EQ(jzx_loop_release(loop), JZX_OK);
    }
    return NULL;
}

static void sleep_and_wake(uint32_t workers, enum wake kind) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    pthread_t thread;
    assert_non_null(loop);
    sleeper.loop = loop;
    sleeper.kind = kind;
    sleeper.id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_now));
    if (kind == WAKE_RELEASE)
        assert_int_equal(jzx_loop_hold(loop), JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, wake, NULL), 0);
    jzx_err err = jzx_loop_run(loop);
    pthread_join(thread, NULL);
    assert_int_equal(err, JZX_OK);
    JZX_EXPECT_EQ(fixture_stats(loop).exited, fixture_stats(loop).spawned);
    fixture_destroy(loop);
}

JZX_TEST(a_loop_that_sleeps_is_woken_by_each_call_of_another_thread) {
    for (uint32_t workers = 1; workers <= 3; workers += 2)
        for (enum wake kind = 0; kind < WAKE_COUNT; kind++)
            sleep_and_wake(workers, kind);
    JZX_EXPECT_EQ(jzx_test_runs(), 6);
}

/* ---- the descriptor ---- */

static bool is_readable(jzx_loop *loop) {
    struct pollfd entry = {.fd = jzx_loop_fd(loop), .events = POLLIN};
    return poll(&entry, 1, 0) == 1;
}

static void expect_work(jzx_loop *loop, bool has_work) {
    JZX_EXPECT_EQ(is_readable(loop), has_work);
    JZX_EXPECT_EQ(jzx_loop_next_deadline(loop) == 0, has_work);
}

static void nothing(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
}

static jzx_behavior_result go_on(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *left = ctx->state;
    jzx_test_ran();
    if (msg->tag == GO_ON && *left > 0) {
        --*left;
        fixture_send(ctx->loop, ctx->self, GO_ON);
    }
    return JZX_BEHAVIOR_OK;
}

static void *send_there(void *arg) {
    (void)arg;
    fixture_send(sleeper.loop, sleeper.id, NUDGE);
    return NULL;
}

JZX_TEST(the_descriptor_tells_of_work_whatever_brought_it_and_of_nothing_else) {
    jzx_clock *clock = jzx_clock_manual(JZX_SECOND(1));
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    uint32_t left = 0;
    pthread_t thread;
    assert_non_null(loop);
    expect_work(loop, false);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = go_on, .state = &left));
    expect_work(loop, true);
    step(loop);
    expect_work(loop, false);
    sleeper.loop = loop;
    sleeper.id = id;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(pthread_create(&thread, NULL, send_there, NULL), 0);
        pthread_join(thread, NULL);
        expect_work(loop, true);
        expect_work(loop, true); /* looking changes nothing */
        step(loop);
        expect_work(loop, false);
    }
    assert_int_equal(jzx_loop_call(loop, nothing, NULL), JZX_OK);
    expect_work(loop, true);
    step(loop);
    expect_work(loop, false);
    left = 5000;
    fixture_send(loop, id, GO_ON);
    assert_int_equal(jzx_loop_step(loop, 0), JZX_OK); /* one turn, and more to do */
    JZX_EXPECT(left > 0);
    expect_work(loop, true);
    step(loop);
    JZX_EXPECT_EQ(left, 0);
    expect_work(loop, false);
    assert_int_equal(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
    expect_work(loop, true);
    step(loop);
    expect_work(loop, false);
    assert_int_equal(jzx_loop_request_stop(loop), JZX_OK);
    expect_work(loop, true);
    step(loop);
    JZX_EXPECT(!is_readable(loop));
    JZX_EXPECT(!jzx_loop_alive(loop));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT(!is_readable(loop));
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

/* ---- stops at odd moments ---- */

enum moment {
    IN_INIT,
    IN_BEHAVIOR,
    IN_CLEANUP,
    IN_CALL,
    IN_DESTRUCTOR,
    IN_HOOK,
    IN_SIGNAL,
    BEFORE_RUN,
    ON_EVENT /* and one for each kind of event */
};

static struct {
    jzx_loop *loop;
    unsigned moment;
    bool is_gentle;
    atomic_uint stops;
    atomic_uint cleanups;
} odd;

static void odd_stop(unsigned moment) {
    if (odd.moment != moment)
        return;
    atomic_fetch_add(&odd.stops, 1);
    JZX_EXPECT_EQ(odd.is_gentle ? jzx_loop_stop(odd.loop, JZX_NEVER)
                                : jzx_loop_request_stop(odd.loop),
                  JZX_OK);
}

static jzx_err odd_init(jzx_context *ctx) {
    (void)ctx;
    odd_stop(IN_INIT);
    return JZX_OK;
}

static void odd_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    atomic_fetch_add(&odd.cleanups, 1);
    odd_stop(IN_CLEANUP);
}

static void odd_call(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
    odd_stop(IN_CALL);
}

static void odd_destructor(void *data, size_t len) {
    (void)data;
    (void)len;
    odd_stop(IN_DESTRUCTOR);
}

static void odd_hook(void *ctx, uint32_t worker) {
    (void)ctx;
    (void)worker;
    if (odd.loop != NULL)
        odd_stop(IN_HOOK);
}

static void odd_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    odd_stop(ON_EVENT + (unsigned)event->kind);
}

static void odd_handler(int number) {
    (void)number;
    odd_stop(IN_SIGNAL);
}

static jzx_behavior_result odd_behavior(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    odd_stop(IN_BEHAVIOR);
    if (odd.moment == IN_SIGNAL)
        raise(SIGUSR1);
    if (msg->tag == FAIL)
        return JZX_BEHAVIOR_FAIL;
    (void)jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, GO_ON); /* full, or closed */
    (void)jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, GO_ON);
    return msg->tag == LAST ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void odd_round(uint32_t workers, unsigned moment, bool is_gentle) {
    const jzx_child_spec specs[] = {
        {.name = "c", .behavior = odd_behavior, .init = odd_init, .cleanup = odd_cleanup}};
    jzx_actor_id root = JZX_NOBODY;
    memset(&odd, 0, sizeof odd);
    odd.moment = moment;
    odd.is_gentle = is_gentle;
    odd.loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .default_mailbox_cap = 4,
                                      .on_thread_start = odd_hook, .on_thread_stop = odd_hook));
    assert_non_null(odd.loop);
    assert_int_equal(jzx_loop_set_observer(odd.loop, &JZX_OBSERVER(.on_event = odd_event), NULL),
                     JZX_OK);
    assert_int_equal(
        jzx_spawn_supervisor(
            odd.loop, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)), &root),
        JZX_OK);
    for (uint32_t i = 0; i < 3; i++) {
        jzx_actor_id id =
            fixture_spawn(odd.loop, &JZX_SPAWN_OPTS(.behavior = odd_behavior, .init = odd_init,
                                                    .cleanup = odd_cleanup));
        void *data = jzx_msg_alloc(odd.loop, 100, odd_destructor);
        assert_non_null(data);
        assert_int_equal(jzx_send_msg(odd.loop, id, JZX_NOBODY, data, NUDGE), JZX_OK);
        fixture_send(odd.loop, id, i == 0 ? FAIL : LAST);
        fixture_send(odd.loop, id, NUDGE);
    }
    assert_int_equal(jzx_loop_call(odd.loop, odd_call, NULL), JZX_OK);
    odd_stop(BEFORE_RUN);
    if (moment == ON_EVENT + JZX_EVENT_LOOP_STOP) /* which needs a stop of its own */
        assert_int_equal(jzx_loop_request_stop(odd.loop), JZX_OK);
    jzx_err err = jzx_loop_run(odd.loop);
    JZX_EXPECT(err == JZX_OK || (moment == BEFORE_RUN && err == JZX_ERR_LOOP_CLOSED));
    JZX_EXPECT(atomic_load(&odd.stops) > 0);
    JZX_EXPECT_EQ(jzx_send(odd.loop, root, JZX_NOBODY, NULL, 0, NUDGE), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_loop_run(odd.loop), JZX_ERR_LOOP_CLOSED);
    jzx_stats stats = fixture_stats(odd.loop);
    JZX_EXPECT_EQ(stats.spawned, stats.exited);
    JZX_EXPECT(atomic_load(&odd.cleanups) >= 3);
    fixture_destroy(odd.loop);
}

static void stop_at_all_moments(bool is_gentle) {
    static const jzx_event_kind kinds[] = {JZX_EVENT_LOOP_START,  JZX_EVENT_LOOP_STOP,
                                           JZX_EVENT_ACTOR_START, JZX_EVENT_ACTOR_STOP,
                                           JZX_EVENT_ACTOR_FAIL,  JZX_EVENT_DEAD_LETTER};
    signal(SIGUSR1, odd_handler);
    for (uint32_t workers = 1; workers <= 3; workers += 2) {
        for (unsigned moment = IN_INIT; moment < ON_EVENT; moment++)
            odd_round(workers, moment, is_gentle);
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            odd_round(workers, ON_EVENT + (unsigned)kinds[i], is_gentle);
    }
    signal(SIGUSR1, SIG_DFL);
    JZX_EXPECT(jzx_test_runs() > 0);
}

JZX_TEST(request_stop_may_come_from_every_callback_and_ends_everything) {
    stop_at_all_moments(false);
}

JZX_TEST(a_gentle_stop_may_come_from_every_callback_and_ends_everything) {
    stop_at_all_moments(true);
}

/* ---- the deadline of a gentle stop ---- */

static struct {
    jzx_clock *clock;
    uint32_t handled;
    uint32_t late;
    uint64_t cut;
} gentle;

static jzx_behavior_result takes_ten_ms(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    gentle.handled++;
    JZX_EXPECT_EQ(jzx_clock_advance(gentle.clock, JZX_MS(10)), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void see_late(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_STOP_LATE) {
        gentle.late++;
        JZX_EXPECT(event->name != NULL && strcmp(event->name, "slow") == 0);
        JZX_EXPECT(event->detail != NULL && event->detail[0] != '\0');
    }
    if (event->kind == JZX_EVENT_DRAIN_CUT)
        gentle.cut += event->count;
}

static void stop_gently(uint64_t first_ms, uint64_t second_ms, bool by_step) {
    memset(&gentle, 0, sizeof gentle);
    gentle.clock = jzx_clock_manual(JZX_SECOND(1));
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = gentle.clock));
    assert_non_null(loop);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = see_late), NULL),
                     JZX_OK);
    assert_int_equal(jzx_loop_hold(loop), JZX_OK); /* does not keep it */
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = takes_ten_ms, .name = "slow"));
    for (int i = 0; i < 50; i++)
        fixture_send(loop, id, NUDGE);
    assert_int_equal(jzx_loop_stop(loop, JZX_SECOND(1) + JZX_MS(first_ms)), JZX_OK);
    assert_int_equal(jzx_loop_stop(loop, JZX_SECOND(1) + JZX_MS(second_ms)), JZX_OK);
    JZX_EXPECT_EQ(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_now), NULL),
                  JZX_ERR_LOOP_CLOSED);
    if (by_step)
        step(loop);
    else
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(!jzx_loop_alive(loop));
    JZX_EXPECT_EQ(gentle.handled + gentle.cut, 50);
    JZX_EXPECT_EQ(fixture_stats(loop).dead, gentle.cut);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(gentle.clock), JZX_OK);
}

JZX_TEST(a_gentle_stop_counts_what_its_earliest_deadline_leaves) {
    for (int by_step = 0; by_step < 2; by_step++) {
        stop_gently(1000, 2000, by_step);
        JZX_EXPECT(gentle.cut == 0 && gentle.late == 0);
        stop_gently(1000, 100, by_step);
        JZX_EXPECT(gentle.handled >= 10 && gentle.handled <= 11 && gentle.late == 1);
        stop_gently(100, 1000, by_step);
        JZX_EXPECT(gentle.handled >= 10 && gentle.handled <= 11 && gentle.late == 1);
    }
}

/* ---- run after run, and loops inside loops ---- */

static atomic_uint hooks[2];

static void count_start(void *ctx, uint32_t worker) {
    (void)ctx;
    (void)worker;
    atomic_fetch_add(&hooks[0], 1);
}

static void count_stop(void *ctx, uint32_t worker) {
    (void)ctx;
    (void)worker;
    atomic_fetch_add(&hooks[1], 1);
}

static jzx_behavior_result runs_a_loop(jzx_context *ctx, const jzx_message *msg) {
    jzx_loop *inner = jzx_loop_create(
        &JZX_CONFIG(.workers = 2, .allocator = fixture_allocator(), .stall_after_ns = JZX_NEVER));
    (void)msg;
    if (!JZX_EXPECT(inner != NULL))
        return JZX_BEHAVIOR_FAIL;
    for (int i = 0; i < 10; i++) {
        jzx_actor_id id = fixture_spawn(inner, &JZX_SPAWN_OPTS(.behavior = stop_now));
        fixture_send(inner, id, NUDGE);
    }
    JZX_EXPECT_EQ(jzx_loop_run(inner), JZX_OK);
    fixture_destroy(inner);
    JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
    JZX_EXPECT_EQ(jzx_loop_run(ctx->loop), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_destroy(ctx->loop), JZX_ERR_BUSY);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(runs_and_loops_inside_behaviours_leave_no_thread_and_no_actor) {
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 3, .on_thread_start = count_start, .on_thread_stop = count_stop));
    assert_non_null(loop);
    for (uint32_t round = 1; round <= 20; round++) {
        for (int i = 0; i < 3; i++) {
            jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = runs_a_loop));
            fixture_send(loop, id, NUDGE);
        }
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(atomic_load(&hooks[0]), 3 * round);
        JZX_EXPECT_EQ(atomic_load(&hooks[1]), 3 * round);
        JZX_EXPECT_EQ(jzx_test_runs(), 30 * round);
        JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
        jzx_stats stats = fixture_stats(loop);
        JZX_EXPECT(stats.spawned == stats.exited && stats.waiting == 0);
    }
    fixture_destroy(loop);
}

/* ---- what an observer changes: nothing; and nobody starves on a clock that stands ---- */

#define PLAYERS 8u

static struct {
    jzx_actor_id ids[PLAYERS];
    uint32_t handled[PLAYERS];
    uint32_t last[PLAYERS]; /* message number at which it ran last */
    uint32_t gap[PLAYERS];  /* longest wait, in messages */
    uint32_t total;
    uint32_t end;
    uint64_t hash;
    uint64_t advance_ns;
    jzx_clock *clock;
} game;

static jzx_behavior_result player(jzx_context *ctx, const jzx_message *msg) {
    uint32_t self = (uint32_t)(uintptr_t)ctx->state;
    (void)msg;
    uint32_t now = game.total++;
    if (game.handled[self]++ > 0 && now - game.last[self] > game.gap[self])
        game.gap[self] = now - game.last[self];
    game.last[self] = now;
    game.hash = (game.hash ^ self) * UINT64_C(1099511628211);
    if (game.advance_ns != 0)
        JZX_EXPECT_EQ(jzx_clock_advance(game.clock, game.advance_ns), JZX_OK);
    if (game.total < game.end) {
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, GO_ON), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    return JZX_BEHAVIOR_STOP;
}

static void watch_nothing(void *ctx, const jzx_event *event) {
    ++*(uint64_t *)ctx;
    (void)event;
}

static uint64_t play(uint32_t end, uint64_t advance_ns, bool observed) {
    static const jzx_priority priorities[] = {JZX_PRIORITY_CRITICAL, JZX_PRIORITY_HIGH,
                                              JZX_PRIORITY_NORMAL, JZX_PRIORITY_LOW};
    uint64_t events = 0;
    memset(&game, 0, sizeof game);
    game.end = end;
    game.advance_ns = advance_ns;
    game.clock = jzx_clock_manual(JZX_SECOND(1));
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = game.clock));
    assert_non_null(loop);
    if (observed)
        assert_int_equal(
            jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = watch_nothing), &events), JZX_OK);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        game.ids[i] =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = player, .state = (void *)(uintptr_t)i,
                                                .priority = (uint8_t)priorities[i % 4]));
        fixture_send(loop, game.ids[i], GO_ON);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(events > 0, observed);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(game.clock), JZX_OK);
    return game.hash;
}

JZX_TEST(an_observer_does_not_change_a_single_turn_and_the_order_is_the_programs) {
    uint64_t plain = play(60000, 0, false);
    JZX_EXPECT_EQ(game.total, 60000 + PLAYERS - 1);
    JZX_EXPECT_EQ(play(60000, 0, true), plain);
    JZX_EXPECT_EQ(play(60000, 0, false), plain);
    plain = play(5000, 700, false);
    JZX_EXPECT_EQ(play(5000, 700, true), plain);
}

/* 5 ms, and four turns of each of eight and of two more: in messages of 100 ns, 128 a turn. */
JZX_TEST(on_a_clock_that_stands_every_priority_runs_within_the_stated_wait) {
    play(250000, 0, false);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        JZX_EXPECT(game.handled[i] > 0);
        JZX_EXPECT(game.gap[i] <= 50000 + 4 * 128 * (PLAYERS + 2));
    }
}

/* The same where each message takes 100 us, and so is a turn. */
JZX_TEST(on_a_clock_that_moves_every_priority_runs_within_the_stated_wait) {
    play(4000, 100000, false);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        JZX_EXPECT(game.handled[i] > 0);
        JZX_EXPECT(game.gap[i] <= 50 + 4 * (PLAYERS + 2));
    }
}

static jzx_behavior_result take_turns(jzx_context *ctx, const jzx_message *msg) {
    uint32_t self = (uint32_t)(uintptr_t)ctx->state;
    (void)msg;
    game.handled[self]++;
    game.last[self]++;
    uint32_t other = 1 - self;
    if (game.handled[other] < 100)
        JZX_EXPECT(game.last[self] <= 7);
    game.last[other] = 0;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(no_turn_is_longer_than_max_msgs_per_actor_while_another_waits) {
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock, .max_msgs_per_actor = 7));
    jzx_actor_id ids[2];
    assert_non_null(loop);
    for (uint32_t i = 0; i < 2; i++)
        ids[i] = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = take_turns, .state = (void *)(uintptr_t)i));
    step(loop);
    for (int i = 0; i < 100; i++)
        for (uint32_t k = 0; k < 2; k++)
            fixture_send(loop, ids[k], NUDGE);
    step(loop);
    JZX_EXPECT_EQ(game.handled[0] + game.handled[1], 200);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

/* ---- callers with older headers ---- */

#define GUARD 0xABu

/* Calls with a struct of which the caller knows `size` bytes, and looks at the rest. */
#define EXPECT_FILLED_NO_FURTHER(type, last, call)                                                 \
    do {                                                                                           \
        type it;                                                                                   \
        memset(&it, GUARD, sizeof it);                                                             \
        it.size = offsetof(type, last);                                                            \
        JZX_EXPECT_EQ(call, JZX_OK);                                                               \
        const unsigned char *bytes = (const unsigned char *)&it;                                   \
        for (size_t i = offsetof(type, last); i < sizeof it; i++)                                  \
            JZX_EXPECT_EQ(bytes[i], GUARD);                                                        \
    } while (0)

JZX_TEST(old_callers_get_defaults_and_no_byte_more_than_they_know) {
    jzx_config config;
    memset(&config, 0xFF, sizeof config);
    memset(&config, 0, offsetof(jzx_config, workers));
    config.workers = 1;
    config.size = offsetof(jzx_config, balance);
    jzx_loop *loop = jzx_loop_create(&config);
    assert_non_null(loop);
    jzx_spawn_opts opts;
    memset(&opts, 0xFF, sizeof opts);
    memset(&opts, 0, offsetof(jzx_spawn_opts, stash_cap));
    opts.size = offsetof(jzx_spawn_opts, stash_cap);
    opts.behavior = stop_now;
    jzx_actor_id id = JZX_NOBODY;
    jzx_actor_id root = JZX_NOBODY;
    assert_int_equal(jzx_spawn(loop, &opts, &id), JZX_OK);
    fixture_send(loop, id, NUDGE);
    unsigned char specs[2][offsetof(jzx_child_spec, shutdown_ns)];
    jzx_child_spec spec = {.name = "first", .behavior = stop_now};
    memcpy(specs[0], &spec, sizeof specs[0]);
    spec.name = "second";
    memcpy(specs[1], &spec, sizeof specs[1]);
    jzx_supervisor_opts tree =
        JZX_SUPERVISOR_OPTS(.children = (const jzx_child_spec *)(const void *)specs,
                            .child_count = 2, .child_size = sizeof specs[0]);
    assert_int_equal(jzx_spawn_supervisor(loop, &tree, &root), JZX_OK);
    EXPECT_FILLED_NO_FURTHER(jzx_actor_info, depth, jzx_actor_info_get(loop, id, &it));
    step(loop);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    assert_int_equal(jzx_supervisor_child(loop, root, "second", &id), JZX_OK);
    EXPECT_FILLED_NO_FURTHER(jzx_stats, refused_full, jzx_loop_stats(loop, &it));
    EXPECT_FILLED_NO_FURTHER(jzx_worker_stats, parked, jzx_loop_worker_stats(loop, 0, &it));
    EXPECT_FILLED_NO_FURTHER(jzx_supervisor_info, restarts,
                             jzx_supervisor_info_get(loop, root, &it));
    EXPECT_FILLED_NO_FURTHER(jzx_child_info, delay_ns,
                             jzx_supervisor_child_info(loop, root, 1, &it));
    jzx_stats none = {.size = 0};
    JZX_EXPECT_EQ(jzx_loop_stats(loop, &none), JZX_ERR_INVALID_ARG);
    opts.size = 0;
    JZX_EXPECT_EQ(jzx_spawn(loop, &opts, &id), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
}
