/* SPDX-License-Identifier: MIT */
/* Combinators with an actor: then, catch, finally, delayed, timeout, map. Futures as messages. */
#include "fibering.h"

#include <jzx/combine.h>

struct pair {
    jzx_promise *promise;
    jzx_future *future;
};

static struct pair make_pair(jzx_loop *loop) {
    struct pair pair = {NULL, NULL};
    assert_int_equal(jzx_promise_create(loop, sizeof(uint64_t), &pair.promise, &pair.future),
                     JZX_OK);
    return pair;
}

static jzx_err give(jzx_promise *promise, uint64_t number) {
    return jzx_promise_resolve(promise, &number);
}

static uint64_t value_of(jzx_future *future) {
    uint64_t value = 0;
    JZX_EXPECT_EQ(jzx_future_try(future, &value), JZX_OK);
    return value;
}

static jzx_err err_of(jzx_future *future) {
    return jzx_future_error(future, NULL);
}

static uint64_t alive(jzx_loop *loop) {
    jzx_stats stats = fixture_stats(loop);
    return stats.spawned - stats.exited;
}

/* ---- functions; arg is a struct calls ---- */

struct calls {
    uint32_t count;
    jzx_err err;       /* the last that was given */
    jzx_err to_return; /* by then and catch */
    char text[32];
};

static jzx_err times_two(jzx_context *ctx, const void *value, void *result, void *arg) {
    struct calls *calls = arg;
    uint64_t number;
    (void)ctx;
    memcpy(&number, value, sizeof number);
    number *= 2;
    memcpy(result, &number, sizeof number);
    calls->count++;
    jzx_test_ran();
    return calls->to_return;
}

static jzx_err mend(jzx_context *ctx, jzx_err err, const char *text, void *result, void *arg) {
    struct calls *calls = arg;
    const uint64_t number = 99;
    (void)ctx;
    memcpy(result, &number, sizeof number);
    calls->count++;
    calls->err = err;
    snprintf(calls->text, sizeof calls->text, "%s", text);
    jzx_test_ran();
    return calls->to_return;
}

static void note(jzx_context *ctx, jzx_err err, void *arg) {
    struct calls *calls = arg;
    (void)ctx;
    calls->count++;
    calls->err = err;
    jzx_test_ran();
}

static jzx_err break_down(jzx_context *ctx, const void *value, void *result, void *arg) {
    (void)ctx, (void)value, (void)result, (void)arg;
    jzx_test_ran();
    jzx_exit(ctx, JZX_EXIT_FAIL, "broken");
}

/* ---- then ---- */

JZX_TEST(then_makes_another_value_after_the_resolve, "E36") {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop);
    struct calls calls = {0};
    jzx_future *then;
    assert_int_equal(jzx_future_then(pair.future, 8, times_two, &calls, &then), JZX_OK);
    timing_step(&timing);
    give(pair.promise, 21);
    assert_int_equal(calls.count, 0); /* not inside */
    timing_step(&timing);
    assert_int_equal(value_of(then), 42);
    assert_int_equal(calls.count, 1);
    jzx_future_release(then);
    jzx_future_release(pair.future);
    timing_close(&timing);
}

JZX_TEST(errors_pass_a_then_and_its_own_errors_reject, "E36") {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop);
    struct calls calls = {.to_return = JZX_ERR_FULL};
    jzx_future *then;
    const char *text;
    assert_int_equal(jzx_future_then(pair.future, 8, times_two, &calls, &then), JZX_OK);
    jzx_promise_reject(pair.promise, JZX_ERR_CLOSED, "shut");
    jzx_future_release(pair.future);
    timing_step(&timing);
    assert_int_equal(jzx_future_error(then, &text), JZX_ERR_CLOSED);
    assert_string_equal(text, "shut");
    assert_int_equal(calls.count, 0);
    jzx_future_release(then);
    pair = make_pair(timing.loop);
    assert_int_equal(jzx_future_then(pair.future, 8, times_two, &calls, &then), JZX_OK);
    give(pair.promise, 1);
    timing_step(&timing);
    assert_int_equal(err_of(then), JZX_ERR_FULL);
    assert_int_equal(jzx_test_runs(), 1);
    jzx_future_release(then);
    jzx_future_release(pair.future);
    timing_close(&timing);
}

JZX_TEST(a_failure_inside_a_then_rejects_its_result_alone) {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop);
    struct calls calls = {0};
    jzx_future *broken;
    jzx_future *sound;
    assert_int_equal(jzx_future_then(pair.future, 8, break_down, NULL, &broken), JZX_OK);
    assert_int_equal(jzx_future_then(pair.future, 8, times_two, &calls, &sound), JZX_OK);
    give(pair.promise, 4);
    timing_step(&timing);
    assert_int_equal(err_of(broken), JZX_ERR_FAILED);
    assert_int_equal(value_of(sound), 8);
    assert_int_equal(jzx_test_runs(), 2);
    jzx_future_release(broken);
    jzx_future_release(sound);
    jzx_future_release(pair.future);
    timing_close(&timing);
}

JZX_TEST(a_then_that_is_cancelled_or_released_lets_go_of_its_input) {
    struct timing timing = timing_open();
    for (uint32_t cancels = 0; cancels < 2; cancels++) {
        for (uint32_t begun = 0; begun < 2; begun++) {
            struct pair pair = make_pair(timing.loop);
            struct calls calls = {0};
            jzx_future *then;
            assert_int_equal(jzx_future_then(pair.future, 8, times_two, &calls, &then), JZX_OK);
            jzx_future_release(pair.future);
            if (begun)
                timing_step(&timing);
            assert_true(jzx_promise_is_wanted(pair.promise));
            if (cancels)
                jzx_future_cancel(then);
            else
                jzx_future_release(then);
            timing_step(&timing);
            assert_false(jzx_promise_is_wanted(pair.promise));
            assert_int_equal(calls.count, 0);
            if (cancels) {
                assert_int_equal(err_of(then), JZX_ERR_CANCELLED);
                jzx_future_release(then);
            }
            jzx_promise_drop(pair.promise);
        }
    }
    timing_close(&timing);
}

/* ---- catch, finally ---- */

JZX_TEST(catch_makes_a_value_of_an_error_and_passes_values, "E37") {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop);
    struct calls calls = {0};
    jzx_future *caught;
    assert_int_equal(jzx_future_catch(pair.future, mend, &calls, &caught), JZX_OK);
    jzx_promise_reject(pair.promise, JZX_ERR_FULL, "no room");
    timing_step(&timing);
    assert_int_equal(value_of(caught), 99);
    assert_int_equal(calls.err, JZX_ERR_FULL);
    assert_string_equal(calls.text, "no room");
    jzx_future_release(caught);
    jzx_future_release(pair.future);
    pair = make_pair(timing.loop);
    assert_int_equal(jzx_future_catch(pair.future, mend, &calls, &caught), JZX_OK);
    give(pair.promise, 5);
    timing_step(&timing);
    assert_int_equal(value_of(caught), 5);
    assert_int_equal(calls.count, 1);
    jzx_future_release(caught);
    jzx_future_release(pair.future);
    pair = make_pair(timing.loop); /* its own cancelling is no error of the input */
    assert_int_equal(jzx_future_catch(pair.future, mend, &calls, &caught), JZX_OK);
    timing_step(&timing);
    jzx_future_cancel(caught);
    timing_step(&timing);
    assert_int_equal(err_of(caught), JZX_ERR_CANCELLED);
    assert_int_equal(calls.count, 1);
    jzx_future_release(caught);
    give(pair.promise, 1);
    jzx_future_release(pair.future);
    timing_close(&timing);
}

JZX_TEST(finally_runs_on_both_paths_and_changes_nothing, "E38") {
    struct timing timing = timing_open();
    for (uint32_t fails = 0; fails < 2; fails++) {
        struct pair pair = make_pair(timing.loop);
        struct calls calls = {.err = JZX_ERR_UNKNOWN};
        jzx_future *end;
        assert_int_equal(jzx_future_finally(pair.future, note, &calls, &end), JZX_OK);
        if (fails)
            jzx_promise_reject(pair.promise, JZX_ERR_FULL, NULL);
        else
            give(pair.promise, 6);
        timing_step(&timing);
        assert_int_equal(calls.count, 1);
        assert_int_equal(calls.err, fails ? JZX_ERR_FULL : JZX_OK);
        assert_int_equal(err_of(end), fails ? JZX_ERR_FULL : JZX_OK);
        if (!fails)
            assert_int_equal(value_of(end), 6);
        jzx_future_release(end);
        jzx_future_release(pair.future);
    }
    timing_close(&timing);
}

static uint32_t drops;

static void count_drop(void *object) {
    (void)object;
    drops++;
}

JZX_TEST(an_object_passes_a_finally_and_is_dropped_once) {
    struct timing timing = timing_open();
    struct pair pair;
    struct calls calls = {0};
    jzx_future *end;
    drops = 0;
    assert_int_equal(jzx_promise_create(timing.loop, sizeof(void *), &pair.promise, &pair.future),
                     JZX_OK);
    assert_int_equal(jzx_future_finally(pair.future, note, &calls, &end), JZX_OK);
    assert_int_equal(jzx_promise_resolve_moved(pair.promise, &calls, count_drop), JZX_OK);
    jzx_future_release(pair.future);
    timing_step(&timing);
    void *object = NULL;
    assert_int_equal(jzx_future_try(end, &object), JZX_OK);
    assert_ptr_equal(object, &calls);
    assert_int_equal(drops, 0);
    jzx_future_release(end);
    assert_int_equal(drops, 1);
    timing_close(&timing);
}

JZX_TEST(wrong_use_of_chains_is_refused) {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop);
    jzx_future *made = NULL;
    assert_int_equal(jzx_future_then(NULL, 8, times_two, NULL, &made), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_then(pair.future, 8, NULL, NULL, &made), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_then(pair.future, 8, times_two, NULL, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(
        jzx_future_then(pair.future, (size_t)JZX_FUTURE_VALUE_MAX + 1, times_two, NULL, &made),
        JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_catch(pair.future, NULL, NULL, &made), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_finally(NULL, note, NULL, &made), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_timeout(NULL, 1, 0, &made), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_timeout(pair.future, 1, 2, &made), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_delayed(timing.loop, 1, NULL, 8, &made), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_delayed(NULL, 1, NULL, 0, &made), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_map(timing.loop, NULL, NULL, 0, 0, &made), JZX_ERR_INVALID_ARG);
    assert_null(made);
    give(pair.promise, 1);
    jzx_future_release(pair.future);
    timing_close(&timing);
}

/* ---- time ---- */

JZX_TEST(a_delayed_value_is_there_at_its_time, "E44") {
    struct timing timing = timing_open();
    jzx_future *later;
    jzx_future *unwanted;
    const uint64_t number = 12;
    assert_int_equal(jzx_future_delayed(timing.loop, JZX_MS(10), &number, 8, &later), JZX_OK);
    assert_int_equal(jzx_future_delayed(timing.loop, JZX_MS(90), NULL, 0, &unwanted), JZX_OK);
    timing_advance(&timing, JZX_MS(9));
    assert_false(jzx_future_is_ready(later));
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(value_of(later), 12);
    jzx_future_release(later);
    jzx_future_release(unwanted);
    timing_step(&timing);
    assert_int_equal(alive(timing.loop), 0); /* what slept has ended */
    timing_close(&timing);
}

JZX_TEST(a_timeout_is_the_outcome_or_the_end_of_time, "E44") {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop);
    jzx_future *made;
    assert_int_equal(jzx_future_timeout(pair.future, JZX_MS(5), 0, &made), JZX_OK);
    timing_advance(&timing, JZX_MS(4));
    assert_false(jzx_future_is_ready(made));
    timing_advance(&timing, JZX_MS(1));
    assert_int_equal(err_of(made), JZX_ERR_TIMEOUT);
    assert_true(jzx_promise_is_wanted(pair.promise));
    jzx_future_release(made);
    assert_int_equal(jzx_future_timeout(pair.future, JZX_MS(50), 0, &made), JZX_OK);
    timing_step(&timing);
    give(pair.promise, 3);
    assert_int_equal(value_of(made), 3);
    timing_step(&timing);
    assert_int_equal(alive(timing.loop), 0); /* nobody sleeps on */
    jzx_future_release(made);
    assert_int_equal(jzx_future_timeout(pair.future, 0, 0, &made), JZX_OK);
    assert_int_equal(value_of(made), 3); /* it is there: needs no time */
    jzx_future_release(made);
    jzx_future_release(pair.future);
    pair = make_pair(timing.loop);
    assert_int_equal(jzx_future_timeout(pair.future, JZX_MS(6), JZX_CANCEL_INPUTS, &made), JZX_OK);
    timing_advance(&timing, JZX_MS(2));
    assert_int_equal(err_of(made), JZX_ERR_TIMEOUT);
    assert_int_equal(err_of(pair.future), JZX_ERR_CANCELLED);
    jzx_promise_drop(pair.promise);
    jzx_future_release(made);
    jzx_future_release(pair.future);
    timing_close(&timing);
}

/* ---- map ---- */

static uint32_t running;
static uint32_t running_most;

struct task {
    uint64_t number;
    uint64_t pause_ns;
    bool fails;
    jzx_err err;
    jzx_await_op op;
};

JZX_ASYNC(task, struct task, uint64_t) {
    if (++running > running_most)
        running_most = running;
    jzx_test_ran();
    JZX_TRY(self->err, jzx_op_sleep(&self->op, jzx_in(ctx, self->pause_ns)), NULL);
    running--;
    if (self->err != JZX_OK || self->fails)
        JZX_FAIL(self->err != JZX_OK ? self->err : JZX_ERR_FULL, "it failed");
    JZX_RETURN(self->number * self->number);
}
JZX_END

static void fill_tasks(struct task *tasks, uint32_t count) {
    running = running_most = 0;
    memset(tasks, 0, count * sizeof *tasks);
    for (uint32_t i = 0; i < count; i++) {
        tasks[i].number = i;
        tasks[i].pause_ns = JZX_MS(1 + i * 7 % 5);
    }
}

JZX_TEST(a_map_runs_as_many_as_its_limit_and_keeps_the_order) {
    struct timing timing = timing_open();
    struct task tasks[20];
    for (uint32_t limit = 0; limit < 25; limit += 3) {
        uint64_t squares[20];
        jzx_future *map;
        fill_tasks(tasks, 20);
        assert_int_equal(jzx_future_map(timing.loop, &task_type, tasks, 20, limit, &map), JZX_OK);
        timing_step(&timing);
        for (uint32_t i = 0; i < 200 && !jzx_future_is_ready(map); i++)
            timing_advance(&timing, JZX_MS(1));
        assert_int_equal(jzx_future_try(map, squares), JZX_OK);
        for (uint32_t i = 0; i < 20; i++)
            assert_int_equal(squares[i], i * i);
        assert_int_equal(running, 0);
        assert_int_equal(running_most, limit == 0 || limit > 20 ? 20 : limit);
        jzx_future_release(map);
    }
    timing_close(&timing);
}

JZX_TEST(the_first_error_of_a_map_cancels_the_rest) {
    struct timing timing = timing_open();
    struct task tasks[20];
    jzx_future *map;
    const char *text;
    fill_tasks(tasks, 20);
    for (uint32_t i = 0; i < 20; i++)
        tasks[i].pause_ns = JZX_MS(100);
    tasks[1].fails = true;
    tasks[1].pause_ns = JZX_MS(3);
    assert_int_equal(jzx_future_map(timing.loop, &task_type, tasks, 20, 4, &map), JZX_OK);
    timing_step(&timing);
    assert_int_equal(running, 4);
    timing_advance(&timing, JZX_MS(3));
    assert_int_equal(jzx_future_error(map, &text), JZX_ERR_FULL);
    assert_string_equal(text, "it failed");
    timing_step(&timing);
    assert_int_equal(running, 0);
    assert_int_equal(jzx_test_runs(), 4);
    assert_int_equal(alive(timing.loop), 0);
    jzx_future_release(map);
    assert_int_equal(jzx_future_map(timing.loop, &task_type, tasks, 20, 4, &map), JZX_OK);
    timing_step(&timing);
    jzx_future_release(map); /* nobody wants it */
    timing_step(&timing);
    assert_int_equal(running, 0);
    assert_int_equal(alive(timing.loop), 0);
    assert_int_equal(jzx_future_map(timing.loop, &task_type, NULL, 0, 4, &map), JZX_OK);
    assert_int_equal(jzx_future_try(map, NULL), JZX_OK);
    jzx_future_release(map);
    timing_close(&timing);
}

/* ---- as a message ---- */

struct listener {
    jzx_future *future;
    jzx_op op;
    jzx_err err; /* of the call */
    uint32_t results;
    jzx_result last;
    uint64_t value;
};

static jzx_behavior_result listen(jzx_context *ctx, const jzx_message *msg) {
    struct listener *self = ctx->state;
    if (msg->tag == 1) {
        self->err = jzx_future_to(ctx, self->future, 2, &self->op);
    } else {
        const jzx_result *result = msg->data;
        jzx_test_ran();
        self->results++;
        self->last = *result;
        if (result->len == sizeof self->value)
            memcpy(&self->value, jzx_result_data(result), sizeof self->value);
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_future_comes_as_a_message_once, "E44") {
    struct timing timing = timing_open();
    for (uint32_t i = 0; i < 4; i++) { /* later, already, rejected, cancelled */
        struct pair pair = make_pair(timing.loop);
        struct listener self = {.future = pair.future};
        jzx_actor_id id =
            fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = listen, .state = &self));
        if (i == 1)
            give(pair.promise, 8);
        fixture_send(timing.loop, id, 1);
        timing_step(&timing);
        assert_int_equal(self.err, JZX_OK);
        assert_int_equal(self.results, i == 1);
        if (i == 0)
            give(pair.promise, 8);
        if (i == 2)
            jzx_promise_reject(pair.promise, JZX_ERR_FULL, NULL);
        if (i == 3)
            assert_int_equal(jzx_op_cancel(timing.loop, self.op), JZX_OK);
        timing_step(&timing);
        assert_int_equal(self.results, 1);
        assert_int_equal(self.last.op, self.op);
        assert_int_equal(self.last.err, i == 2   ? JZX_ERR_FULL
                                        : i == 3 ? JZX_ERR_CANCELLED
                                                 : JZX_OK);
        assert_int_equal(self.value, i < 2 ? 8 : 0);
        assert_int_equal(jzx_op_cancel(timing.loop, self.op), JZX_ERR_NO_SUCH_OP);
        if (i == 3)
            give(pair.promise, 8);
        jzx_future_release(pair.future);
        assert_int_equal(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
        timing_step(&timing);
    }
    timing_close(&timing);
}

JZX_TEST(an_actor_that_ends_lets_go_of_what_it_waited_for) {
    struct timing timing = timing_open();
    struct pair pair = make_pair(timing.loop);
    struct listener self = {.future = pair.future};
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = listen, .state = &self));
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    assert_int_equal(self.err, JZX_OK);
    jzx_future_release(pair.future);
    assert_true(jzx_promise_is_wanted(pair.promise));
    assert_int_equal(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    assert_false(jzx_promise_is_wanted(pair.promise));
    jzx_promise_drop(pair.promise);
    assert_int_equal(self.results, 0);
    assert_int_equal(jzx_future_to(NULL, NULL, 1, NULL), JZX_ERR_INVALID_ARG);
    timing_close(&timing);
}

/* ---- functions that were not started ---- */

static jzx_future *make_unstarted(jzx_loop *loop) {
    jzx_future *future = NULL;
    assert_int_equal(jzx_async_create(loop, &task_type, &(struct task){.number = 3}, NULL, &future),
                     JZX_OK);
    return future;
}

/* Each kind, kept and detached, with a then behind it: that would wait for ever. */
JZX_TEST(a_function_that_nobody_can_start_any_more_is_cancelled) {
    jzx_err (*const kinds[])(jzx_loop *, jzx_future *const *, size_t, uint32_t, jzx_future **) = {
        jzx_future_all, jzx_future_race, jzx_future_any, jzx_future_all_settled};
    for (uint32_t i = 0; i < 8; i++) {
        struct timing timing = timing_open();
        struct calls calls = {0};
        jzx_future *function = make_unstarted(timing.loop);
        jzx_future *twice[2] = {function, function};
        jzx_future *made;
        jzx_future *behind;
        assert_int_equal(kinds[i / 2](timing.loop, twice, 2, 0, &made), JZX_OK);
        assert_int_equal(jzx_future_finally(made, note, &calls, &behind), JZX_OK);
        jzx_future_detach(behind);
        if (i % 2 == 0)
            jzx_future_detach(made);
        timing_step(&timing);
        assert_int_equal(calls.count, 0);
        jzx_future_release(function);
        if (i % 2 == 1) {
            assert_true(jzx_future_is_ready(made));
            (void)err_of(made);
            jzx_future_release(made);
        }
        timing_step(&timing);
        assert_int_equal(calls.count, 1);
        assert_int_equal(alive(timing.loop), 0);
        timing_close(&timing);
    }
}

JZX_TEST(a_function_that_is_not_started_leaves_no_block_after_the_loop) {
    uint64_t bytes = fixture_bytes();
    for (uint32_t i = 0; i < 3; i++) {
        jzx_loop *loop = fixture_loop();
        jzx_future *function = make_unstarted(loop);
        jzx_future *made;
        assert_int_equal(jzx_future_race(loop, &function, 1, 0, &made), JZX_OK);
        if (i == 0)
            jzx_future_release(function);
        jzx_future_detach(made);
        if (i == 1)
            jzx_future_detach(function);
        assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
        if (i == 2)
            jzx_future_release(function);
        assert_int_equal(fixture_bytes(), bytes);
    }
}

JZX_TEST(a_function_in_a_race_can_be_started_by_each_handle_that_is_left) {
    struct timing timing = timing_open();
    jzx_future *function = make_unstarted(timing.loop);
    jzx_future *other = jzx_future_ref(function);
    jzx_future *race;
    assert_int_equal(jzx_future_race(timing.loop, &function, 1, 0, &race), JZX_OK);
    jzx_future_release(function);
    assert_int_equal(jzx_future_state(other), JZX_FUTURE_PENDING);
    assert_int_equal(jzx_async_start(other), JZX_OK);
    jzx_future_release(other);
    timing_step(&timing);
    assert_int_equal(value_of(race), 9);
    jzx_future_release(race);
    timing_close(&timing);
}

#define CROWD 1000u

JZX_TEST(a_function_stays_pending_however_many_that_wait_for_it_let_go) {
    static jzx_future *results[CROWD];
    jzx_loop *loop = fixture_loop();
    jzx_future *function = make_unstarted(loop);
    for (uint32_t i = 0; i < CROWD; i++)
        assert_int_equal(jzx_future_all(loop, &function, 1, 0, &results[i]), JZX_OK);
    for (uint32_t i = 0; i < CROWD; i++)
        jzx_future_release(results[i]);
    assert_int_equal(jzx_future_state(function), JZX_FUTURE_PENDING);
    jzx_future_release(function);
    fixture_destroy(loop);
}

JZX_TEST(a_message_says_that_a_function_will_never_be_started) {
    struct timing timing = timing_open();
    struct listener self = {.future = make_unstarted(timing.loop)};
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = listen, .state = &self));
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    assert_int_equal(self.err, JZX_OK);
    assert_int_equal(self.results, 0);
    jzx_future_release(self.future);
    timing_step(&timing);
    assert_int_equal(self.results, 1);
    assert_int_equal(self.last.err, JZX_ERR_CANCELLED);
    timing_close(&timing);
}

/* ---- memory ---- */

struct attempt {
    struct timing timing;
    struct pair pairs[2];
    struct calls calls;
    jzx_future *made[8];
    uint32_t failed;
};

static void count_attempt(struct attempt *attempt, uint32_t index, jzx_err err) {
    if (err == JZX_OK)
        return;
    attempt->failed++;
    JZX_EXPECT_EQ(err, JZX_ERR_NO_MEMORY);
    JZX_EXPECT(attempt->made[index] == NULL); /* untouched */
}

static void make_all_kinds(struct attempt *attempt) {
    jzx_loop *loop = attempt->timing.loop;
    jzx_future *both[] = {attempt->pairs[0].future, attempt->pairs[1].future};
    jzx_future **made = attempt->made;
    struct task tasks[3];
    const uint64_t number = 1;
    fill_tasks(tasks, 3);
    count_attempt(attempt, 0, jzx_future_all(loop, both, 2, 0, &made[0]));
    count_attempt(attempt, 1, jzx_future_all_settled(loop, both, 2, 0, &made[1]));
    count_attempt(attempt, 2, jzx_future_then(both[0], 8, times_two, &attempt->calls, &made[2]));
    count_attempt(attempt, 3, jzx_future_catch(both[0], mend, &attempt->calls, &made[3]));
    count_attempt(attempt, 4, jzx_future_finally(both[0], note, &attempt->calls, &made[4]));
    count_attempt(attempt, 5, jzx_future_timeout(both[0], JZX_MS(9), 0, &made[5]));
    count_attempt(attempt, 6, jzx_future_delayed(loop, JZX_MS(1), &number, 8, &made[6]));
    count_attempt(attempt, 7, jzx_future_map(loop, &task_type, tasks, 3, 2, &made[7]));
}

/* Returns how many calls had no memory. */
static uint32_t attempt_without(uint64_t nth, uint64_t count) {
    struct attempt attempt = {.timing = timing_open()};
    for (uint32_t i = 0; i < 2; i++)
        attempt.pairs[i] = make_pair(attempt.timing.loop);
    fixture_fail_allocations(nth, count);
    make_all_kinds(&attempt);
    fixture_fail_allocations(UINT64_MAX, 0);
    timing_step(&attempt.timing);
    give(attempt.pairs[0].promise, 1);
    give(attempt.pairs[1].promise, 2);
    for (uint32_t i = 0; i < 20; i++)
        timing_advance(&attempt.timing, JZX_MS(1));
    for (uint32_t i = 0; i < 8; i++) {
        if (attempt.made[i] == NULL)
            continue;
        /* A map has its memory for futures, but its actors may lack theirs. */
        JZX_EXPECT(i == 7 ? jzx_future_is_ready(attempt.made[i])
                          : jzx_future_try(attempt.made[i], NULL) == JZX_OK);
        (void)err_of(attempt.made[i]);
        jzx_future_release(attempt.made[i]);
    }
    jzx_future_release(attempt.pairs[0].future);
    jzx_future_release(attempt.pairs[1].future);
    timing_close(&attempt.timing);
    return attempt.failed;
}

JZX_TEST(combinators_say_so_when_the_nth_allocation_fails) {
    uint32_t failed = 0;
    for (uint64_t nth = 0; nth < 60; nth++) {
        failed += attempt_without(nth, 1);
        failed += attempt_without(nth, UINT64_MAX);
    }
    assert_true(failed > 8);
    assert_int_equal(attempt_without(UINT64_MAX, 0), 0);
}
