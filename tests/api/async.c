/* SPDX-License-Identifier: MIT */
/* Async functions: what they await, what they come to, how they are cancelled and killed. */
#include "fibering.h"

#include <jzx/async.h>
#include <jzx/context.h>

struct promises {
    jzx_promise *promise;
    jzx_future *future;
};

static struct promises make_promise(jzx_loop *loop) {
    struct promises made = {NULL, NULL};
    assert_int_equal(jzx_promise_create(loop, sizeof(uint64_t), &made.promise, &made.future),
                     JZX_OK);
    return made;
}

static void keep(jzx_promise *promise, uint64_t number) {
    JZX_EXPECT_EQ(jzx_promise_resolve(promise, &number), JZX_OK);
}

/* ---- functions ---- */

/* Returns the sum of two futures, after a pause. */
struct sum {
    jzx_future *first, *second;
    uint64_t a, b;
    uint64_t pause_ns;
    jzx_await_op op;
};

JZX_ASYNC(sum, struct sum, uint64_t) {
    JZX_AWAIT(jzx_op_await(&self->op, self->first, JZX_NEVER), &self->a);
    JZX_AWAIT(jzx_op_await(&self->op, self->second, JZX_NEVER), &self->b);
    if (self->pause_ns != 0)
        JZX_AWAIT(jzx_op_sleep(&self->op, jzx_in(ctx, self->pause_ns)), NULL);
    JZX_RETURN(self->a + self->b);
}
JZX_END

static uint64_t value_of(jzx_future *future) {
    uint64_t value = 0;
    JZX_EXPECT_EQ(jzx_future_try(future, &value), JZX_OK);
    return value;
}

JZX_TEST(an_async_function_awaits_futures_and_times, "E35", "E43") {
    struct timing timing = timing_open();
    struct promises first = make_promise(timing.loop);
    struct promises second = make_promise(timing.loop);
    jzx_future *future;
    assert_int_equal(
        sum_spawn(
            timing.loop,
            (struct sum){.first = first.future, .second = second.future, .pause_ns = JZX_MS(10)},
            &future),
        JZX_OK);
    timing_step(&timing);
    assert_int_equal(info_of(timing.loop, jzx_async_actor(future)).wait, JZX_WAIT_FUTURE);
    keep(second.promise, 2);
    timing_step(&timing);
    assert_int_equal(jzx_future_state(future), JZX_FUTURE_RUNNING);
    keep(first.promise, 40);
    assert_int_equal(jzx_future_state(future), JZX_FUTURE_RUNNING); /* nothing ran inside */
    timing_step(&timing);
    assert_int_equal(info_of(timing.loop, jzx_async_actor(future)).wait, JZX_WAIT_TIME);
    timing_advance(&timing, JZX_MS(9));
    assert_false(jzx_future_is_ready(future));
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(value_of(future), 42);
    jzx_future_release(future);
    jzx_future_release(first.future);
    jzx_future_release(second.future);
    timing_close(&timing);
}

/* ---- calls inside ---- */

struct twice {
    struct sum_call call;
    jzx_future *future;
    uint64_t once, again;
};

JZX_ASYNC(twice, struct twice, uint64_t) {
    JZX_AWAIT(sum_call(&self->call, (struct sum){.first = self->future, .second = self->future}),
              &self->once);
    JZX_AWAIT(sum_call(&self->call, (struct sum){.first = self->future,
                                                 .second = self->future,
                                                 .pause_ns = JZX_MS(1)}),
              &self->again);
    JZX_RETURN(self->once + self->again);
}
JZX_END

JZX_TEST(an_async_function_calls_another_without_an_actor) {
    struct timing timing = timing_open();
    struct promises number = make_promise(timing.loop);
    jzx_future *future;
    assert_int_equal(twice_spawn(timing.loop, (struct twice){.future = number.future}, &future),
                     JZX_OK);
    timing_step(&timing);
    assert_int_equal(fixture_stats(timing.loop).spawned, 1);
    keep(number.promise, 5);
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(value_of(future), 20);
    assert_int_equal(fixture_stats(timing.loop).spawned, 1);
    jzx_future_release(future);
    jzx_future_release(number.future);
    timing_close(&timing);
}

/* ---- errors ---- */

struct caller {
    struct sum_call call;
    jzx_future *future;
    jzx_err err;
    uint64_t value;
    bool catches;
};

JZX_ASYNC(caller, struct caller, uint64_t) {
    if (self->catches)
        JZX_TRY(self->err,
                sum_call(&self->call, (struct sum){.first = self->future, .second = self->future}),
                &self->value);
    else
        JZX_AWAIT(
            sum_call(&self->call, (struct sum){.first = self->future, .second = self->future}),
            &self->value);
    if (self->err == JZX_ERR_FULL)
        JZX_FAIL(JZX_ERR_BUSY, "and so is this");
    JZX_RETURN(self->value);
}
JZX_END

JZX_TEST(an_error_ends_the_function_unless_it_is_caught) {
    struct timing timing = timing_open();
    for (uint32_t catches = 0; catches < 2; catches++) {
        struct promises number = make_promise(timing.loop);
        const char *text;
        jzx_future *future;
        assert_int_equal(
            caller_spawn(timing.loop,
                         (struct caller){.future = number.future, .catches = catches != 0},
                         &future),
            JZX_OK);
        timing_step(&timing);
        assert_int_equal(jzx_promise_reject(number.promise, JZX_ERR_FULL, "the hall is full"),
                         JZX_OK);
        timing_step(&timing);
        assert_int_equal(jzx_future_error(future, &text), catches ? JZX_ERR_BUSY : JZX_ERR_FULL);
        assert_string_equal(text, catches ? "and so is this" : "the hall is full");
        jzx_future_release(future);
        jzx_future_release(number.future);
    }
    timing_close(&timing);
}

struct nothing {
    int how;
};

JZX_ASYNC(faulty, struct nothing, int) {
    if (self->how == 1)
        jzx_exit(ctx, JZX_EXIT_FAIL, "by itself");
}
JZX_END

JZX_TEST(a_function_that_fails_or_forgets_its_result_is_rejected) {
    struct timing timing = timing_open();
    for (int how = 0; how < 2; how++) {
        const char *text;
        jzx_future *future;
        assert_int_equal(faulty_spawn(timing.loop, (struct nothing){how}, &future), JZX_OK);
        timing_step(&timing);
        assert_int_equal(jzx_future_error(future, &text),
                         how ? JZX_ERR_FAILED : JZX_ERR_INVALID_STATE);
        assert_string_equal(text, how ? "by itself" : "it ended without JZX_RETURN");
        jzx_future_release(future);
    }
    timing_close(&timing);
}

/* ---- pending, running ---- */

JZX_TEST(a_function_that_was_not_started_is_pending, "X28", "E34") {
    struct timing timing = timing_open();
    jzx_future *future;
    const struct sum state = {.pause_ns = 0};
    assert_int_equal(jzx_async_create(timing.loop, &sum_type, &state, NULL, &future), JZX_OK);
    assert_int_equal(jzx_future_state(future), JZX_FUTURE_PENDING);
    assert_int_equal(jzx_async_actor(future), JZX_NOBODY);
    assert_int_equal(jzx_future_try(future, NULL), JZX_ERR_INVALID_STATE);
    assert_int_equal(jzx_future_wait(future, JZX_NEVER, NULL), JZX_ERR_INVALID_STATE);
    assert_int_equal(jzx_async_start(future), JZX_OK);
    assert_int_equal(jzx_async_start(future), JZX_ERR_INVALID_STATE);
    assert_int_equal(jzx_future_state(future), JZX_FUTURE_RUNNING);
    timing_step(&timing);
    assert_int_equal(jzx_future_error(future, NULL), JZX_ERR_INVALID_ARG); /* there is no future */
    jzx_future_release(future);
    assert_int_equal(jzx_async_create(timing.loop, &sum_type, &state, NULL, &future), JZX_OK);
    jzx_future_release(future); /* never started */
    assert_int_equal(jzx_async_create(timing.loop, &sum_type, &state, NULL, &future), JZX_OK);
    jzx_future_cancel(future);
    assert_int_equal(jzx_future_error(future, NULL), JZX_ERR_CANCELLED);
    assert_int_equal(jzx_async_start(future), JZX_ERR_INVALID_STATE);
    jzx_future_release(future);
    timing_close(&timing);
}

/* ---- turns ---- */

struct counter {
    uint32_t *log;
    uint32_t *count;
    uint32_t mark;
    uint32_t i;
};

JZX_ASYNC(count_up, struct counter, uint32_t) {
    for (self->i = 0; self->i < 3; self->i++) {
        self->log[(*self->count)++] = self->mark;
        JZX_YIELD();
    }
    JZX_RETURN(self->i);
}
JZX_END

JZX_TEST(functions_that_yield_take_turns) {
    static const uint32_t expected[] = {1, 2, 1, 2, 1, 2};
    struct timing timing = timing_open();
    uint32_t log[6] = {0};
    uint32_t count = 0;
    jzx_future *futures[2];
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(
            count_up_spawn(timing.loop,
                           (struct counter){.log = log, .count = &count, .mark = i + 1},
                           &futures[i]),
            JZX_OK);
    timing_step(&timing);
    assert_memory_equal(log, expected, sizeof log);
    for (uint32_t i = 0; i < 2; i++)
        jzx_future_release(futures[i]);
    timing_close(&timing);
}

/* ---- ends ---- */

struct watched {
    jzx_future *future;
    jzx_await_op op;
    jzx_err *err;
    uint32_t *cleaned;
    bool consumes;
};

static void note_async_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct watched *watched = ctx->state;
    (void)reason;
    (*watched->cleaned)++;
}

JZX_ASYNC(watched, struct watched, int) {
    if (self->consumes)
        JZX_TRY(*self->err, jzx_op_consume(&self->op, self->future, JZX_NEVER), NULL);
    else
        JZX_TRY(*self->err, jzx_op_await(&self->op, self->future, JZX_NEVER), NULL);
    JZX_RETURN(7);
}
JZX_END

static jzx_future *spawn_watched(const struct timing *timing, struct watched state) {
    jzx_future *future = NULL;
    JZX_EXPECT_EQ(jzx_async_spawn(timing->loop, &watched_type, &state,
                                  &JZX_ASYNC_OPTS(.cleanup = note_async_cleanup), &future),
                  JZX_OK);
    timing_step(timing);
    return future;
}

JZX_TEST(a_cancelled_function_ends_by_itself) {
    struct timing timing = timing_open();
    struct promises never = make_promise(timing.loop);
    jzx_err err = JZX_OK;
    uint32_t cleaned = 0;
    int value = 0;
    jzx_future *future = spawn_watched(
        &timing, (struct watched){.future = never.future, .err = &err, .cleaned = &cleaned});
    jzx_future_cancel(future);
    timing_step(&timing);
    assert_int_equal(err, JZX_ERR_CANCELLED);
    assert_int_equal(jzx_future_try(future, &value), JZX_OK); /* it had a result all the same */
    assert_int_equal(value, 7);
    assert_int_equal(cleaned, 1);
    jzx_future_release(future);
    err = JZX_OK;
    future = spawn_watched(
        &timing, (struct watched){.future = never.future, .err = &err, .cleaned = &cleaned});
    jzx_future_release(future); /* nobody wants it */
    timing_step(&timing);
    assert_int_equal(err, JZX_ERR_CANCELLED);
    err = JZX_OK;
    future = spawn_watched(
        &timing, (struct watched){.future = never.future, .err = &err, .cleaned = &cleaned});
    jzx_future_detach(future);
    timing_step(&timing);
    assert_int_equal(cleaned, 2);
    keep(never.promise, 1);
    timing_step(&timing);
    assert_int_equal(err, JZX_OK);
    assert_int_equal(cleaned, 3);
    jzx_future_release(never.future);
    timing_close(&timing);
}

JZX_TEST(a_killed_function_ends_where_it_is) {
    struct timing timing = timing_open();
    struct promises never = make_promise(timing.loop);
    jzx_err err = JZX_OK;
    uint32_t cleaned = 0;
    jzx_future *future = spawn_watched(
        &timing, (struct watched){
                     .future = never.future, .err = &err, .cleaned = &cleaned, .consumes = true});
    assert_int_equal(jzx_actor_stop(timing.loop, jzx_async_actor(future), JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    assert_int_equal(err, JZX_OK);
    assert_int_equal(cleaned, 1);
    assert_int_equal(jzx_future_error(future, NULL), JZX_ERR_CANCELLED);
    assert_false(jzx_promise_is_wanted(never.promise)); /* the handle was consumed */
    jzx_promise_drop(never.promise);
    jzx_future_release(future);
    timing_close(&timing);
}

JZX_TEST(a_message_to_a_function_is_a_dead_letter) {
    struct timing timing = timing_open();
    struct promises number = make_promise(timing.loop);
    jzx_err err = JZX_OK;
    uint32_t cleaned = 0;
    jzx_future *future = spawn_watched(
        &timing, (struct watched){.future = number.future, .err = &err, .cleaned = &cleaned});
    fixture_send(timing.loop, jzx_async_actor(future), 1);
    timing_step(&timing);
    assert_int_equal(fixture_stats(timing.loop).dead, 1);
    assert_int_equal(cleaned, 0);
    keep(number.promise, 1);
    timing_step(&timing);
    assert_int_equal(cleaned, 1);
    jzx_future_release(future);
    jzx_future_release(number.future);
    timing_close(&timing);
}

JZX_TEST(wrong_arguments_of_async_functions_are_refused) {
    jzx_loop *loop = fixture_loop();
    jzx_future *future;
    struct nothing state = {0};
    jzx_async_type wrong = faulty_type;
    wrong.step = NULL;
    assert_int_equal(jzx_async_spawn(NULL, &faulty_type, &state, NULL, &future),
                     JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_async_spawn(loop, NULL, &state, NULL, &future), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_async_spawn(loop, &wrong, &state, NULL, &future), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_async_spawn(loop, &faulty_type, NULL, NULL, &future), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_async_spawn(loop, &faulty_type, &state, NULL, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_async_start(NULL), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

JZX_TEST(a_spawn_without_memory_leaves_nothing) {
    jzx_loop *loop = fixture_loop();
    struct nothing state = {0};
    jzx_err err = JZX_ERR_NO_MEMORY;
    jzx_future *future = NULL;
    for (uint64_t after = 0; err == JZX_ERR_NO_MEMORY; after++) {
        fixture_fail_allocations(after, UINT64_MAX);
        err = faulty_spawn(loop, state, &future);
        fixture_fail_allocations(UINT64_MAX, 0);
    }
    assert_int_equal(err, JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(jzx_future_error(future, NULL), JZX_ERR_INVALID_STATE);
    jzx_future_release(future);
    fixture_destroy(loop);
}

/* A caller that does not want the result of what it calls. */
struct careless {
    struct count_up_call call;
    struct counter counter;
};

JZX_ASYNC(careless, struct careless, uint32_t) {
    JZX_AWAIT(count_up_call(&self->call, self->counter), NULL);
    JZX_RETURN(*self->counter.count);
}
JZX_END

JZX_TEST(a_call_may_be_awaited_without_its_result) {
    uint32_t log[3];
    uint32_t count = 0;
    uint32_t result = 0;
    const struct careless state = {.counter = {.log = log, .count = &count, .mark = 9}};
    assert_int_equal(jzx_async_run(NULL, &careless_type, &state, &result), JZX_OK);
    assert_int_equal(result, 3);
}

JZX_TEST(a_program_can_be_one_async_function) {
    struct counter state;
    uint32_t log[3];
    uint32_t count = 0;
    uint32_t result = 0;
    state = (struct counter){.log = log, .count = &count, .mark = 9};
    assert_int_equal(jzx_async_run(NULL, &count_up_type, &state, &result), JZX_OK);
    assert_int_equal(result, 3);
    assert_int_equal(count, 3);
}

JZX_TEST(a_function_that_was_never_started_leaves_nothing) {
    uint64_t bytes = fixture_bytes();
    jzx_loop *loop = fixture_loop();
    const struct nothing state = {0};
    jzx_future *late;
    jzx_future *future;
    assert_int_equal(jzx_async_create(loop, &faulty_type, &state, NULL, &future), JZX_OK);
    assert_int_equal(jzx_async_create(loop, &faulty_type, &state, NULL, &late), JZX_OK);
    jzx_future_detach(future);
    jzx_loop_destroy(loop);
    assert_int_equal(jzx_async_start(late), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_future_error(late, NULL), JZX_ERR_LOOP_CLOSED);
    jzx_future_release(late);
    assert_int_equal(fixture_bytes(), bytes);
}
