/* SPDX-License-Identifier: MIT */
/* Promises and futures: settled once, read by fibers and threads, counted, cancelled. */
#include "fibering.h"

#include <jzx/combine.h>
#include <jzx/future.h>

#include <pthread.h>

struct pair {
    jzx_promise *promise;
    jzx_future *future;
};

static struct pair make_pair(jzx_loop *loop, size_t size) {
    struct pair pair = {NULL, NULL};
    assert_int_equal(jzx_promise_create(loop, size, &pair.promise, &pair.future), JZX_OK);
    return pair;
}

static jzx_err resolve_number(jzx_promise *promise, uint64_t number) {
    return jzx_promise_resolve(promise, &number);
}

/* ---- one at a time, without anybody who waits ---- */

JZX_TEST(a_future_runs_until_its_promise_is_kept, "E32") {
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop, sizeof(uint64_t));
    uint64_t number = 0;
    assert_int_equal(jzx_future_state(pair.future), JZX_FUTURE_RUNNING);
    assert_false(jzx_future_is_ready(pair.future));
    assert_int_equal(jzx_future_try(pair.future, &number), JZX_ERR_TIMEOUT);
    assert_int_equal(resolve_number(pair.promise, 42), JZX_OK);
    assert_int_equal(jzx_future_state(pair.future), JZX_FUTURE_RESOLVED);
    assert_int_equal(jzx_future_try(pair.future, &number), JZX_OK);
    assert_int_equal(number, 42);
    assert_int_equal(jzx_future_value_size(pair.future), sizeof number);
    jzx_future_release(pair.future);
    fixture_destroy(loop);
}

JZX_TEST(a_promise_is_broken_by_an_error_with_a_text, "E32") {
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop, 8);
    const char *text;
    assert_int_equal(jzx_promise_reject(pair.promise, JZX_ERR_CLOSED, "the disk is gone"), JZX_OK);
    assert_int_equal(jzx_future_state(pair.future), JZX_FUTURE_REJECTED);
    assert_int_equal(jzx_future_error(pair.future, &text), JZX_ERR_CLOSED);
    assert_string_equal(text, "the disk is gone");
    assert_int_equal(jzx_future_try(pair.future, NULL), JZX_ERR_CLOSED);
    jzx_future_release(pair.future);
    pair = make_pair(loop, 8);
    jzx_promise_drop(pair.promise);
    assert_int_equal(jzx_future_error(pair.future, &text), JZX_ERR_BROKEN_PROMISE);
    assert_string_equal(text, "");
    jzx_future_release(pair.future);
    fixture_destroy(loop);
}

JZX_TEST(values_of_all_sizes_are_copied) {
    static const size_t sizes[] = {0, 1, 8, 24, 25, 100, 3000, 5000, 100000};
    jzx_loop *loop = fixture_loop();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        static unsigned char in[100000];
        static unsigned char out[100000];
        struct pair pair = make_pair(loop, sizes[i]);
        memset(in, (int)i + 1, sizeof in);
        memset(out, 0, sizeof out);
        assert_int_equal(jzx_promise_resolve(pair.promise, in), JZX_OK);
        assert_int_equal(jzx_future_try(pair.future, out), JZX_OK);
        assert_memory_equal(in, out, sizes[i]);
        assert_int_equal(out[sizes[i] % sizeof out], sizes[i] == sizeof out ? out[0] : 0);
        jzx_future_release(pair.future);
    }
    fixture_destroy(loop);
}

static uint32_t dropped;

static void note_drop(void *object) {
    *(uint32_t *)object += 1;
    dropped++;
}

JZX_TEST(an_object_is_moved_and_dropped_once) {
    jzx_loop *loop = fixture_loop();
    uint32_t object = 0;
    uint32_t *seen = NULL;
    dropped = 0;
    struct pair pair = make_pair(loop, sizeof(void *));
    jzx_future *other = jzx_future_ref(pair.future);
    assert_int_equal(jzx_promise_resolve_moved(pair.promise, &object, note_drop), JZX_OK);
    assert_int_equal(jzx_future_try(pair.future, &seen), JZX_OK);
    assert_ptr_equal(seen, &object);
    jzx_future_release(pair.future);
    assert_int_equal(dropped, 0);
    jzx_future_release(other);
    assert_int_equal(dropped, 1);

    pair = make_pair(loop, sizeof(void *));
    assert_int_equal(jzx_promise_resolve_moved(pair.promise, &object, note_drop), JZX_OK);
    assert_ptr_equal(jzx_future_take(pair.future), &object);
    assert_null(jzx_future_take(pair.future));
    jzx_future_release(pair.future);
    assert_int_equal(dropped, 1); /* it was the taker's */

    pair = make_pair(loop, 1); /* no place for a pointer */
    assert_int_equal(jzx_promise_resolve_moved(pair.promise, &object, note_drop),
                     JZX_ERR_INVALID_ARG);
    assert_int_equal(dropped, 2);
    assert_int_equal(jzx_future_error(pair.future, NULL), JZX_ERR_INVALID_ARG);
    jzx_future_release(pair.future);

    pair = make_pair(loop, sizeof(void *));
    jzx_future_cancel(pair.future);
    assert_int_equal(jzx_promise_resolve_moved(pair.promise, &object, note_drop),
                     JZX_ERR_CANCELLED);
    assert_int_equal(dropped, 3);
    jzx_future_release(pair.future);
    fixture_destroy(loop);
}

JZX_TEST(who_cancels_is_first_or_too_late) {
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop, 8);
    assert_true(jzx_promise_is_wanted(pair.promise));
    jzx_future_cancel(pair.future);
    assert_false(jzx_promise_is_wanted(pair.promise));
    assert_int_equal(jzx_future_error(pair.future, NULL), JZX_ERR_CANCELLED);
    assert_int_equal(resolve_number(pair.promise, 1), JZX_ERR_CANCELLED);
    jzx_future_release(pair.future);
    pair = make_pair(loop, 8);
    assert_int_equal(resolve_number(pair.promise, 1), JZX_OK);
    jzx_future_cancel(pair.future);
    assert_int_equal(jzx_future_try(pair.future, NULL), JZX_OK);
    jzx_future_release(pair.future);
    pair = make_pair(loop, 8);
    jzx_future_release(pair.future);
    assert_false(jzx_promise_is_wanted(pair.promise));
    assert_int_equal(resolve_number(pair.promise, 1), JZX_OK);
    fixture_destroy(loop);
}

JZX_TEST(wrong_arguments_are_refused_and_consume_the_promise) {
    jzx_loop *loop = fixture_loop();
    struct pair pair;
    assert_int_equal(jzx_promise_create(NULL, 1, &pair.promise, &pair.future), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_promise_create(loop, 1, NULL, &pair.future), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_promise_create(loop, 1, &pair.promise, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(
        jzx_promise_create(loop, (size_t)JZX_FUTURE_VALUE_MAX + 1, &pair.promise, &pair.future),
        JZX_ERR_INVALID_ARG);
    pair = make_pair(loop, 4);
    assert_int_equal(jzx_promise_resolve(pair.promise, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_error(pair.future, NULL), JZX_ERR_INVALID_ARG);
    jzx_future_release(pair.future);
    pair = make_pair(loop, 4);
    assert_int_equal(jzx_promise_reject(pair.promise, JZX_OK, "no error"), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_error(pair.future, NULL), JZX_ERR_INVALID_ARG);
    jzx_future_release(pair.future);
    assert_int_equal(jzx_promise_resolve(NULL, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_wait(NULL, 0, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_try(NULL, NULL), JZX_ERR_INVALID_ARG);
    jzx_promise_drop(NULL);
    jzx_future_release(NULL);
    jzx_future_cancel(NULL);
    fixture_destroy(loop);
}

JZX_TEST(futures_can_be_born_settled, "E+mode") {
    jzx_loop *loop = fixture_loop();
    jzx_future *future;
    uint64_t number = 7;
    assert_int_equal(jzx_future_resolved(loop, &number, sizeof number, &future), JZX_OK);
    number = 0;
    assert_int_equal(jzx_future_try(future, &number), JZX_OK);
    assert_int_equal(number, 7);
    jzx_future_release(future);
    assert_int_equal(jzx_future_rejected(loop, JZX_ERR_FULL, "no room", &future), JZX_OK);
    assert_int_equal(jzx_future_wait(future, JZX_NEVER, NULL), JZX_ERR_FULL);
    jzx_future_release(future);
    assert_int_equal(jzx_future_rejected(loop, JZX_OK, "no error", &future), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_resolved(loop, NULL, 4, &future), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

JZX_TEST(without_memory_there_is_no_pair_and_settling_needs_none) {
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop, 8);
    struct pair broken = make_pair(loop, 8);
    struct pair large;
    const char *text;
    fixture_fail_allocations(0, UINT64_MAX);
    jzx_err err = jzx_promise_create(loop, 100000, &large.promise, &large.future);
    jzx_err resolved = resolve_number(pair.promise, 1);
    jzx_err rejected = jzx_promise_reject(broken.promise, JZX_ERR_FULL, "a text");
    fixture_fail_allocations(UINT64_MAX, 0);
    assert_int_equal(err, JZX_ERR_NO_MEMORY);
    assert_int_equal(resolved, JZX_OK);
    assert_int_equal(rejected, JZX_OK);
    assert_int_equal(jzx_future_error(broken.future, &text), JZX_ERR_FULL);
    assert_string_equal(text, ""); /* there was no memory for it */
    jzx_future_release(pair.future);
    jzx_future_release(broken.future);
    fixture_destroy(loop);
}

/* ---- fibers that wait ---- */

struct wish {
    struct life life;
    jzx_future *future;
    uint64_t deadline_ns; /* from now on; JZX_NEVER */
    uint64_t number;
};

static void await_it(jzx_context *ctx) {
    struct wish *wish = ctx->state;
    uint64_t deadline_ns =
        wish->deadline_ns == JZX_NEVER ? JZX_NEVER : jzx_in(ctx, wish->deadline_ns);
    wish->life.err = jzx_await(ctx, wish->future, deadline_ns, &wish->number);
    wish->life.woken_ns = jzx_loop_now(ctx->loop);
    wish->life.finished++;
}

static jzx_actor_id spawn_wish(const struct timing *timing, struct wish *wish, jzx_future *future,
                               uint64_t deadline_ns) {
    *wish = (struct wish){.future = future, .deadline_ns = deadline_ns};
    return timing_fiber(timing, await_it, &wish->life);
}

JZX_TEST(all_who_await_get_the_value, "E33", "E34") {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop, 8);
    struct wish wishes[5];
    jzx_actor_id id = JZX_NOBODY;
    for (uint32_t i = 0; i < 5; i++)
        id = spawn_wish(&timing, &wishes[i], pair.future, JZX_NEVER);
    assert_int_equal(info_of(timing.loop, id).wait, JZX_WAIT_FUTURE);
    assert_int_equal(resolve_number(pair.promise, 99), JZX_OK);
    assert_int_equal(wishes[0].life.finished, 0); /* nobody ran inside resolve */
    timing_step(&timing);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(wishes[i].life.finished, 1);
        assert_int_equal(wishes[i].life.err, JZX_OK);
        assert_int_equal(wishes[i].number, 99);
    }
    jzx_future_release(pair.future);
    timing_close(&timing);
}

JZX_TEST(an_await_ends_at_its_deadline_and_leaves_the_future_alone) {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop, 8);
    struct wish wish;
    spawn_wish(&timing, &wish, pair.future, JZX_MS(10));
    timing_advance(&timing, JZX_MS(9));
    assert_int_equal(wish.life.finished, 0);
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(wish.life.finished, 1);
    assert_int_equal(wish.life.err, JZX_ERR_TIMEOUT);
    assert_int_equal(jzx_future_state(pair.future), JZX_FUTURE_RUNNING);
    assert_int_equal(resolve_number(pair.promise, 3), JZX_OK);
    spawn_wish(&timing, &wish, pair.future, 0); /* what is there needs no time */
    assert_int_equal(wish.life.err, JZX_OK);
    assert_int_equal(wish.number, 3);
    jzx_future_release(pair.future);
    pair = make_pair(timing.loop, 8);
    spawn_wish(&timing, &wish, pair.future, 0);
    assert_int_equal(wish.life.err, JZX_ERR_TIMEOUT);
    jzx_promise_drop(pair.promise);
    assert_int_equal(jzx_future_error(pair.future, NULL), JZX_ERR_BROKEN_PROMISE);
    jzx_future_release(pair.future);
    timing_close(&timing);
}

JZX_TEST(an_await_is_cancelled_while_its_fiber_drains_and_dropped_with_it) {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop, 8);
    struct wish wishes[2];
    jzx_actor_id drains = spawn_wish(&timing, &wishes[0], pair.future, JZX_NEVER);
    jzx_actor_id killed = spawn_wish(&timing, &wishes[1], pair.future, JZX_MS(100));
    assert_int_equal(jzx_actor_stop(timing.loop, drains, JZX_STOP_AFTER_QUEUE), JZX_OK);
    assert_int_equal(jzx_actor_stop(timing.loop, killed, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    assert_int_equal(wishes[0].life.err, JZX_ERR_CANCELLED);
    assert_int_equal(wishes[0].life.finished, 1);
    assert_int_equal(wishes[1].life.finished, 0);
    expect_ended(&wishes[1].life, JZX_EXIT_KILLED);
    assert_int_equal(resolve_number(pair.promise, 1), JZX_OK);
    jzx_future_release(pair.future);
    timing_close(&timing);
}

struct keeper {
    jzx_future *future;
    jzx_err err;
    uint32_t returns;
};

static void keep_waiting(jzx_context *ctx) {
    struct keeper *self = ctx->state;
    jzx_test_ran();
    self->err = jzx_await(ctx, self->future, JZX_NEVER, NULL);
    self->returns++;
}

static void release_kept(jzx_context *ctx, jzx_exit_reason reason) {
    struct keeper *self = ctx->state;
    (void)reason;
    jzx_test_ran();
    jzx_future_release(self->future);
}

/* Killed, stopped after its message, and ended with its loop: the fiber has the only handle. */
JZX_TEST(a_fiber_that_ends_in_an_await_releases_its_handle_in_its_cleanup) {
    const jzx_stop_kind modes[] = {JZX_STOP_KILL, JZX_STOP_AFTER_MESSAGE};
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t bytes = fixture_bytes();
        struct timing timing = timing_open();
        struct pair pair = make_pair(timing.loop, 8);
        struct keeper keeper = {.future = pair.future};
        jzx_actor_id id =
            fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = keep_waiting, .state = &keeper,
                                                       .cleanup = release_kept));
        timing_step(&timing);
        assert_true(jzx_promise_is_wanted(pair.promise));
        if (i < 2) {
            assert_int_equal(jzx_actor_stop(timing.loop, id, modes[i]), JZX_OK);
            timing_step(&timing);
            assert_false(jzx_promise_is_wanted(pair.promise));
        }
        timing_close(&timing);
        jzx_promise_drop(pair.promise);
        assert_int_equal(keeper.returns, 0);
        assert_int_equal(jzx_test_runs(), 2 * (i + 1)); /* the fiber, and its cleanup */
        assert_int_equal(fixture_bytes(), bytes);
    }
}

static jzx_err err_in_behavior;

static jzx_behavior_result be_awaiting(jzx_context *ctx, const jzx_message *msg) {
    jzx_future *future = ctx->state;
    (void)msg;
    err_in_behavior = jzx_await(ctx, future, JZX_NEVER, NULL);
    JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, NULL), JZX_ERR_WOULD_SUSPEND);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_behaviour_cannot_await, "E29") {
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop, 8);
    fixture_send(
        loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_awaiting, .state = pair.future)),
        1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(err_in_behavior, JZX_ERR_WOULD_SUSPEND);
    jzx_promise_drop(pair.promise);
    assert_int_equal(jzx_future_error(pair.future, NULL), JZX_ERR_BROKEN_PROMISE);
    jzx_future_release(pair.future);
    fixture_destroy(loop);
}

/* ---- rejections that nobody reads ---- */

struct seen_events {
    uint32_t unhandled;
    char detail[200];
};

static void see_event(void *ctx, const jzx_event *event) {
    struct seen_events *seen = ctx;
    if (event->kind != JZX_EVENT_UNHANDLED_REJECTION)
        return;
    seen->unhandled++;
    snprintf(seen->detail, sizeof seen->detail, "%s", event->detail);
}

static jzx_behavior_result be_careless(jzx_context *ctx, const jzx_message *msg) {
    jzx_promise *promise;
    jzx_future *future;
    JZX_EXPECT_EQ(jzx_promise_create(ctx->loop, 8, &promise, &future), JZX_OK);
    switch (msg->tag) {
    case 1: jzx_promise_reject(promise, JZX_ERR_FULL, "no seat left"); break;
    case 2:
        jzx_promise_reject(promise, JZX_ERR_FULL, "read");
        jzx_future_try(future, NULL);
        break;
    case 3:
        jzx_future_cancel(future);
        jzx_promise_drop(promise);
        break;
    default: jzx_promise_resolve(promise, &(uint64_t){1}); break;
    }
    jzx_future_release(future);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_rejection_that_nobody_reads_is_reported) {
    struct seen_events seen = {0};
    jzx_loop *loop = fixture_loop();
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = see_event), &seen),
                     JZX_OK);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_careless, .daemon = true));
    for (uint32_t tag = 1; tag <= 4; tag++)
        fixture_send(loop, id, tag);
    assert_int_equal(jzx_loop_step(loop, 0), JZX_OK);
    assert_int_equal(seen.unhandled, 1);
    assert_string_equal(seen.detail, "JZX_ERR_FULL: no seat left");
    fixture_destroy(loop);
}

/* ---- threads ---- */

struct thread_wait {
    pthread_t thread;
    jzx_future *future;
    uint64_t deadline_ns;
    uint64_t number;
    jzx_err err;
};

static void *wait_for_it(void *arg) {
    struct thread_wait *wait = arg;
    wait->err = jzx_future_wait(wait->future, wait->deadline_ns, &wait->number);
    return NULL;
}

static void start_wait(struct thread_wait *wait, jzx_future *future, uint64_t deadline_ns) {
    *wait = (struct thread_wait){.future = future, .deadline_ns = deadline_ns};
    assert_int_equal(pthread_create(&wait->thread, NULL, wait_for_it, wait), 0);
}

JZX_TEST(threads_wait_for_a_future) {
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop, 8);
    struct thread_wait waits[3];
    for (uint32_t i = 0; i < 3; i++)
        start_wait(&waits[i], pair.future, JZX_NEVER);
    assert_int_equal(resolve_number(pair.promise, 5), JZX_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(waits[i].thread, NULL), 0);
        assert_int_equal(waits[i].err, JZX_OK);
        assert_int_equal(waits[i].number, 5);
    }
    jzx_future_release(pair.future);
    fixture_destroy(loop);
}

JZX_TEST(the_deadline_of_a_thread_follows_the_clock_of_the_loop) {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop, 8);
    struct thread_wait wait;
    start_wait(&wait, pair.future, jzx_loop_now(timing.loop) + JZX_SECOND(3600));
    timing_advance(&timing, JZX_SECOND(3600));
    assert_int_equal(pthread_join(wait.thread, NULL), 0);
    assert_int_equal(wait.err, JZX_ERR_TIMEOUT);
    assert_int_equal(resolve_number(pair.promise, 5), JZX_OK);
    jzx_future_release(pair.future);
    timing_close(&timing);
}

JZX_TEST(a_thread_that_waits_is_told_that_the_loop_is_destroyed) {
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop, 8);
    struct thread_wait wait;
    start_wait(&wait, pair.future, JZX_NEVER);
    fixture_destroy(loop);
    assert_int_equal(pthread_join(wait.thread, NULL), 0);
    assert_int_equal(wait.err, JZX_ERR_LOOP_CLOSED);
    assert_int_equal(resolve_number(pair.promise, 5), JZX_ERR_LOOP_CLOSED);
    jzx_future_release(pair.future);
}

JZX_TEST(a_promise_and_its_future_outlive_their_loop) {
    uint64_t bytes = fixture_bytes();
    uint32_t object = 0;
    uint64_t number = 0;
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop, 8);
    struct pair settled = make_pair(loop, 8);
    struct pair large = make_pair(loop, 100000);
    struct pair moved = make_pair(loop, sizeof(void *));
    dropped = 0;
    assert_int_equal(resolve_number(settled.promise, 11), JZX_OK);
    jzx_loop_destroy(loop);
    assert_int_equal(jzx_future_try(settled.future, &number), JZX_OK);
    assert_int_equal(number, 11);
    jzx_future_release(settled.future);
    assert_int_equal(jzx_future_wait(pair.future, JZX_NEVER, NULL), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(resolve_number(pair.promise, 1), JZX_ERR_LOOP_CLOSED);
    jzx_future_cancel(pair.future);
    jzx_future_release(pair.future);
    jzx_future_release(large.future);
    jzx_promise_drop(large.promise);
    jzx_future_release(moved.future);
    assert_int_equal(jzx_promise_resolve_moved(moved.promise, &object, note_drop),
                     JZX_ERR_LOOP_CLOSED);
    assert_int_equal(dropped, 1);
    assert_int_equal(fixture_bytes(), bytes);
}

static jzx_err do_nothing(jzx_context *ctx, const void *value, void *result, void *arg) {
    (void)ctx, (void)value, (void)result, (void)arg;
    return JZX_OK;
}

JZX_TEST(a_future_without_its_loop_cannot_be_continued) {
    uint64_t bytes = fixture_bytes();
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop, 8);
    jzx_future *result = NULL;
    jzx_loop_destroy(loop);
    assert_int_equal(jzx_future_then(pair.future, 0, do_nothing, NULL, &result),
                     JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_future_timeout(pair.future, 5, 0, &result), JZX_ERR_LOOP_CLOSED);
    assert_null(result);
    jzx_promise_drop(pair.promise);
    jzx_future_release(pair.future);
    assert_int_equal(fixture_bytes(), bytes);
}
