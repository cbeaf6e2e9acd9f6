/* SPDX-License-Identifier: MIT */
/* The loop: when run returns, step for a host, holding, daemons, calls, stopping, destroying. */
#include "fixture.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

static bool is_readable(int fd) {
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    return poll(&pollfd, 1, 0) == 1;
}

JZX_TEST(run_returns_when_no_actor_is_left_and_can_be_called_again, "C+loop", "C16") {
    jzx_loop *loop = fixture_loop();
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    for (int round = 0; round < 3; round++) {
        struct recorder log = {.stop_at = 1};
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
        assert_true(jzx_loop_alive(loop));
        fixture_send(loop, id, 1);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        assert_int_equal(log.count, 1);
        assert_false(jzx_loop_alive(loop));
    }
    fixture_destroy(loop);
}

JZX_TEST(a_daemon_does_not_keep_the_loop_alive, "C+loop") {
    jzx_loop *loop = fixture_loop();
    struct recorder daemon_log = {0};
    struct recorder log = {.stop_at = 1};
    jzx_actor_id daemon = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &daemon_log, .daemon = true));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    fixture_send(loop, daemon, 1);
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 1);
    jzx_actor_info info = {.size = sizeof info};
    assert_int_equal(jzx_actor_info_get(loop, daemon, &info), JZX_OK); /* it lives on */
    assert_true(info.daemon);
    fixture_destroy(loop);
}

/* A daemon that never rests must not keep run from returning either. */
static jzx_behavior_result chatter(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 1), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_busy_daemon_does_not_keep_the_loop_alive, "C+loop") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id daemon = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = chatter, .daemon = true));
    fixture_send(loop, daemon, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

/* ---- step ---- */

struct ticker {
    uint32_t left;
    uint32_t turns;
};

static jzx_behavior_result tick(jzx_context *ctx, const jzx_message *msg) {
    struct ticker *self = ctx->state;
    (void)msg;
    self->turns++;
    if (--self->left == 0)
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 1), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(step_past_its_deadline_takes_one_turn, "C+loop") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_msgs_per_actor = 3));
    struct ticker ticker = {.left = 7};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = tick, .state = &ticker));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_next_deadline(loop), 0);
    for (uint32_t round = 1; round <= 2; round++) {
        uint32_t before = ticker.turns;
        assert_int_equal(jzx_loop_step(loop, 0), JZX_OK);
        assert_in_range(ticker.turns - before, 1, 3); /* a turn is at most three messages here */
        assert_true(jzx_loop_next_deadline(loop) == 0);
    }
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK); /* all that is ready */
    assert_int_equal(ticker.turns, 7);
    assert_true(jzx_loop_next_deadline(loop) == JZX_NEVER);
    assert_false(jzx_loop_alive(loop));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK); /* nothing to do is fine */
    fixture_destroy(loop);
}

JZX_TEST(the_descriptor_is_readable_exactly_when_step_has_work, "C+loop") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_msgs_per_actor = 1));
    struct recorder log = {0};
    int fd = jzx_loop_fd(loop);
    assert_true(fd >= 0);
    assert_int_equal(jzx_loop_fd(loop), fd); /* there is one */
    assert_false(is_readable(fd));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    assert_true(is_readable(fd)); /* an actor to take in */
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_false(is_readable(fd));
    for (int round = 0; round < 3; round++) {
        fixture_send(loop, id, 1);
        fixture_send(loop, id, 2);
        assert_true(is_readable(fd));
        assert_int_equal(jzx_loop_step(loop, 0), JZX_OK); /* one of the two */
        assert_true(is_readable(fd));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_false(is_readable(fd));
    }
    assert_int_equal(log.count, 6);
    assert_int_equal(jzx_loop_request_stop(loop), JZX_OK);
    assert_true(is_readable(fd));
    assert_int_equal(jzx_loop_fd(NULL), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

JZX_TEST(the_descriptor_is_quiet_once_a_stopped_loop_has_ended_everything, "C+loop") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    int fd = jzx_loop_fd(loop);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_loop_request_stop(loop), JZX_OK);
    assert_true(is_readable(fd)); /* step has to end the actor */
    assert_true(jzx_loop_alive(loop));
    assert_true(jzx_loop_next_deadline(loop) == 0);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_false(is_readable(fd)); /* or a host would spin for ever */
    assert_false(jzx_loop_alive(loop));
    assert_true(jzx_loop_next_deadline(loop) == JZX_NEVER);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_ERR_LOOP_CLOSED);
    assert_false(is_readable(fd));
    fixture_destroy(loop);
}

JZX_TEST(a_descriptor_asked_for_late_shows_work_that_waits, "C+loop") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    assert_true(is_readable(jzx_loop_fd(loop)));
    fixture_destroy(loop);
}

/* ---- hold and release ---- */

static jzx_loop *held_loop;

static void *release_it(void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(jzx_loop_release(held_loop), JZX_OK);
    return NULL;
}

JZX_TEST(run_goes_on_while_the_loop_is_held, "C+loop") {
    for (int round = 0; round < 200; round++) {
        held_loop = fixture_loop();
        pthread_t thread;
        assert_int_equal(jzx_loop_hold(held_loop), JZX_OK);
        assert_true(jzx_loop_alive(held_loop));
        assert_int_equal(pthread_create(&thread, NULL, release_it, NULL), 0);
        assert_int_equal(jzx_loop_run(held_loop), JZX_OK); /* only the release ends it */
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_false(jzx_loop_alive(held_loop));
        fixture_destroy(held_loop);
    }
}

JZX_TEST(a_release_without_a_hold_is_refused, "C+loop") {
    jzx_loop *loop = fixture_loop();
    assert_int_equal(jzx_loop_release(loop), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_hold(NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_release(NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_hold(loop), JZX_OK);
    assert_int_equal(jzx_loop_hold(loop), JZX_OK);
    assert_int_equal(jzx_loop_release(loop), JZX_OK);
    assert_true(jzx_loop_alive(loop));
    assert_int_equal(jzx_loop_release(loop), JZX_OK);
    assert_int_equal(jzx_loop_release(loop), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

/* ---- calls ---- */

struct calls {
    jzx_loop *loop;
    pthread_t thread;
    uint32_t order[8];
    uint32_t count;
};

static struct calls calls;

static void note_call(jzx_loop *loop, void *ctx) {
    JZX_EXPECT_EQ(loop, calls.loop);
    JZX_EXPECT(pthread_equal(pthread_self(), calls.thread));
    calls.order[calls.count++] = (uint32_t)(uintptr_t)ctx;
}

static void call_again(jzx_loop *loop, void *ctx) {
    note_call(loop, ctx);
    jzx_err expected = (uintptr_t)ctx == 3 ? JZX_OK : JZX_ERR_LOOP_CLOSED;
    JZX_EXPECT_EQ(jzx_loop_call(loop, note_call, (void *)7), expected);
}

JZX_TEST(calls_run_on_the_loops_thread_in_order_and_before_run_returns, "C+loop", "X16") {
    calls = (struct calls){.loop = fixture_loop(), .thread = pthread_self()};
    assert_int_equal(jzx_loop_call(calls.loop, NULL, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_call(NULL, note_call, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_call(calls.loop, note_call, (void *)1), JZX_OK);
    assert_int_equal(jzx_loop_call(calls.loop, note_call, (void *)2), JZX_OK);
    assert_int_equal(jzx_loop_call(calls.loop, call_again, (void *)3), JZX_OK);
    assert_true(jzx_loop_alive(calls.loop));
    assert_int_equal(jzx_loop_run(calls.loop), JZX_OK);
    assert_int_equal(calls.count, 4);
    static const uint32_t expected[] = {1, 2, 3, 7};
    assert_memory_equal(calls.order, expected, sizeof expected);
    assert_int_equal(fixture_stats(calls.loop).calls, 4);
    fixture_destroy(calls.loop);
}

/* One that runs does not wait any more: it may ask for another. */
static void call_until_full(jzx_loop *loop, void *ctx) {
    note_call(loop, ctx);
    if (calls.count == 1) {
        JZX_EXPECT_EQ(jzx_loop_call(loop, note_call, (void *)8), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_call(loop, note_call, (void *)9), JZX_ERR_FULL);
    }
}

JZX_TEST(so_many_calls_wait_as_the_configuration_allows) {
    calls = (struct calls){.loop = fixture_loop_with(&JZX_CONFIG(.max_calls = 3)),
                           .thread = pthread_self()};
    assert_non_null(calls.loop);
    for (uintptr_t i = 1; i <= 3; i++)
        assert_int_equal(jzx_loop_call(calls.loop, call_until_full, (void *)i), JZX_OK);
    assert_int_equal(jzx_loop_call(calls.loop, note_call, (void *)4), JZX_ERR_FULL);
    assert_int_equal(jzx_loop_run(calls.loop), JZX_OK);
    static const uint32_t expected[] = {1, 2, 3, 8};
    assert_int_equal(calls.count, 4);
    assert_memory_equal(calls.order, expected, sizeof expected);
    for (uintptr_t i = 1; i <= 3; i++) /* all places are free again */
        assert_int_equal(jzx_loop_call(calls.loop, note_call, (void *)i), JZX_OK);
    assert_int_equal(jzx_loop_call(calls.loop, note_call, (void *)4), JZX_ERR_FULL);
    fixture_destroy(calls.loop);
}

JZX_TEST(calls_that_wait_at_destroy_are_still_made, "C+loop") {
    calls = (struct calls){.loop = fixture_loop(), .thread = pthread_self()};
    assert_int_equal(jzx_loop_call(calls.loop, note_call, (void *)1), JZX_OK);
    assert_int_equal(jzx_loop_call(calls.loop, call_again, (void *)2), JZX_OK);
    fixture_destroy(calls.loop);
    assert_int_equal(calls.count, 2);
}

/* ---- stop ---- */

static jzx_behavior_result stop_the_loop(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void note_reason(jzx_context *ctx, jzx_exit_reason reason) {
    struct recorder *log = ctx->state;
    log->tags[log->count++] = reason;
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = record), NULL),
                  JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 1), JZX_ERR_LOOP_CLOSED);
}

JZX_TEST(request_stop_ends_every_actor_and_closes_the_loop, "C+loop", "C+fail", "X14", "C+inv") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    struct recorder quiet = {0};
    jzx_actor_id stopper = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = stop_the_loop, .state = &log, .cleanup = note_reason));
    jzx_actor_id other = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &quiet, .cleanup = note_reason));
    fixture_send(loop, stopper, 1);
    fixture_send(loop, other, 1); /* behind the stop: never handled */
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.tags[0], JZX_EXIT_SHUTDOWN);
    assert_int_equal(quiet.count, 1);
    assert_int_equal(quiet.tags[0], JZX_EXIT_SHUTDOWN);
    jzx_stats stats = fixture_stats(loop);
    assert_int_equal(stats.handled + stats.dead, 2);

    assert_int_equal(jzx_loop_run(loop), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_send(loop, other, JZX_NOBODY, NULL, 0, 1), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record), NULL),
                     JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_actor_stop(loop, other, JZX_STOP_KILL), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_actor_fail(loop, other), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_loop_call(loop, note_call, NULL), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_loop_hold(loop), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_send_when_room(loop, other, other), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_loop_request_stop(loop), JZX_OK); /* idempotent */
    assert_int_equal(jzx_loop_request_stop(NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(fixture_stats(loop).refused_closed, 1 + 2); /* the two in cleanup as well */
    assert_false(jzx_loop_alive(loop));
    fixture_destroy(loop);
}

static void stop_from_a_call(jzx_loop *loop, void *ctx) {
    (void)ctx;
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
}

JZX_TEST(turns_are_counted_whoever_stops_the_loop, "C+loop") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    for (int i = 0; i < 3; i++)
        fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log)),
                     1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(fixture_stats(loop).turns, 3);
    assert_int_equal(log.count, 3);
    assert_int_equal(jzx_loop_call(loop, stop_from_a_call, NULL), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(fixture_stats(loop).turns, 3);
    fixture_destroy(loop);
}

JZX_TEST(a_stop_before_run_ends_everything_in_run, "C+loop", "C+fail") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_request_stop(loop), JZX_OK);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 0); /* no turn was taken */
    assert_int_equal(fixture_stats(loop).dead, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_ERR_LOOP_CLOSED);
    fixture_destroy(loop);
}

/* ---- stopping where no message is handled ---- */

#define INITS 100u

static uint32_t inits;

static jzx_err stop_in_the_tenth_init(jzx_context *ctx) {
    if (++inits == 10)
        JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    return JZX_OK;
}

JZX_TEST(a_stop_in_an_init_comes_before_the_next_actor, "C+loop") {
    struct recorder log = {0};
    jzx_loop *loop = fixture_loop();
    inits = 0;
    for (uint32_t i = 0; i < INITS; i++)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log,
                                            .init = stop_in_the_tenth_init));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(inits, 10);
    fixture_destroy(loop);
}

static void stop_in_the_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    jzx_loop_request_stop(ctx->loop); /* again at the loop's end, for those that are left */
}

JZX_TEST(a_stop_in_a_cleanup_hook_comes_before_the_next_actor, "C+loop") {
    struct recorder first = {.stop_at = 1};
    struct recorder others = {0};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id ids[3];
    for (uint32_t i = 0; i < 3; i++)
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record,
                                                     .state = i == 0 ? &first : &others,
                                                     .cleanup = stop_in_the_cleanup));
    for (uint32_t i = 0; i < 30; i++)
        fixture_send(loop, ids[i % 3], i);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(first.count, 1); /* the first to run */
    JZX_EXPECT_EQ(others.count, 0);
    fixture_destroy(loop);
}

static uint32_t inits_before_the_call;

static void note_inits(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
    inits_before_the_call = inits;
}

/* A tenth of the time that a pass has. */
static jzx_err take_a_while(jzx_context *ctx) {
    uint64_t begin = jzx_loop_now(ctx->loop);
    if (inits++ == 0)
        JZX_EXPECT_EQ(jzx_loop_call(ctx->loop, note_inits, NULL), JZX_OK);
    while (jzx_loop_now(ctx->loop) - begin < 100000)
        continue;
    return JZX_OK;
}

/* From inside, so that one pass has them all. */
static jzx_behavior_result spawn_many(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    for (uint32_t i = 0; i < INITS; i++)
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = record, .state = ctx->state,
                                                 .init = take_a_while));
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(calls_are_made_between_inits_that_take_long, "C+loop") {
    struct recorder log = {0};
    jzx_loop *loop = fixture_loop();
    inits = 0;
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_many, .state = &log)),
                 0);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(inits, INITS);
    JZX_EXPECT(inits_before_the_call < INITS);
    fixture_destroy(loop);
}

static jzx_loop *signalled_loop;

static void on_signal(int number) {
    (void)number;
    jzx_loop_request_stop(signalled_loop);
}

static jzx_behavior_result raise_signal(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    raise(SIGUSR1);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(request_stop_works_from_a_signal_handler, "C+loop") {
    signalled_loop = fixture_loop();
    signal(SIGUSR1, on_signal);
    jzx_actor_id id = fixture_spawn(signalled_loop, &JZX_SPAWN_OPTS(.behavior = raise_signal));
    fixture_send(signalled_loop, id, 1);
    assert_int_equal(jzx_loop_run(signalled_loop), JZX_OK);
    assert_int_equal(jzx_loop_run(signalled_loop), JZX_ERR_LOOP_CLOSED);
    fixture_destroy(signalled_loop);
}

/* ---- misuse ---- */

static jzx_behavior_result run_inside(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)msg;
    JZX_EXPECT_EQ(jzx_loop_run(ctx->loop), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_step(ctx->loop, 0), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_destroy(ctx->loop), JZX_ERR_BUSY);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(run_inside_run_is_refused, "C7", "C+fail") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = run_inside));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(fixture_stats(loop).handled, 1);
    assert_int_equal(jzx_loop_run(NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_step(NULL, 0), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

/* ---- several loops ---- */

struct nested {
    jzx_loop *inner;
    jzx_actor_id inner_actor;
    struct recorder *log;
};

static jzx_behavior_result run_other_loop(jzx_context *ctx, const jzx_message *msg) {
    struct nested *self = ctx->state;
    (void)msg;
    /* For the inner loop this thread is a foreign one, until it runs it. */
    JZX_EXPECT_EQ(jzx_send(self->inner, self->inner_actor, JZX_NOBODY, NULL, 0, 5), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(self->inner), JZX_OK);
    JZX_EXPECT_EQ(self->log->count, 1);
    /* And afterwards it drives the outer one again. */
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
    JZX_EXPECT_EQ(info.current_tag, msg->tag);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(loops_are_independent_and_may_be_nested, "C+inv", "C+goal") {
    struct recorder log = {.stop_at = 1};
    struct nested nested = {.inner = fixture_loop(), .log = &log};
    jzx_loop *outer = fixture_loop();
    nested.inner_actor =
        fixture_spawn(nested.inner, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    jzx_actor_id id =
        fixture_spawn(outer, &JZX_SPAWN_OPTS(.behavior = run_other_loop, .state = &nested));
    fixture_send(outer, id, 3);
    assert_int_equal(jzx_loop_run(outer), JZX_OK);
    assert_int_equal(log.count, 1);
    fixture_destroy(nested.inner);
    fixture_destroy(outer);
}

JZX_TEST(now_does_not_go_backwards, "C+loop") {
    jzx_loop *loop = fixture_loop();
    uint64_t last = jzx_loop_now(loop);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = jzx_loop_now(loop);
        assert_true(now >= last);
        last = now;
    }
    assert_int_equal(jzx_loop_now(NULL), 0);
    fixture_destroy(loop);
}

/* ---- the events of a loop ---- */

static struct {
    uint32_t starts;
    uint32_t stops;
} loop_events;

static void count_loop_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    loop_events.starts += event->kind == JZX_EVENT_LOOP_START;
    loop_events.stops += event->kind == JZX_EVENT_LOOP_STOP;
}

/* However often it is run, and whether run or destroy ends it. */
JZX_TEST(a_loop_starts_once_and_stops_once) {
    for (int stopped = 0; stopped < 2; stopped++) {
        jzx_loop *loop = fixture_loop();
        memset(&loop_events, 0, sizeof loop_events);
        assert_int_equal(
            jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = count_loop_event), NULL), JZX_OK);
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(jzx_loop_run(loop), JZX_OK);
        assert_int_equal(loop_events.starts, 1);
        assert_int_equal(loop_events.stops, 0);
        if (stopped) {
            assert_int_equal(jzx_loop_request_stop(loop), JZX_OK);
            assert_int_equal(jzx_loop_run(loop), JZX_OK);
            assert_int_equal(loop_events.stops, 1);
        }
        fixture_destroy(loop);
        assert_int_equal(loop_events.starts, 1);
        assert_int_equal(loop_events.stops, 1);
    }
}
