/* SPDX-License-Identifier: MIT */
/* A then that goes on with another future: its outcome, its errors, its cancels, its memory. */
#include "fibering.h"

#include <jzx/combine.h>

struct pair {
    jzx_promise *promise;
    jzx_future *future;
};

static struct pair make_pair(jzx_loop *loop) {
    struct pair pair = {NULL, NULL};
    assert_int_equal(jzx_promise_create(loop, 8, &pair.promise, &pair.future), JZX_OK);
    return pair;
}

static void give(jzx_promise *promise, uint64_t number) {
    JZX_EXPECT_EQ(jzx_promise_resolve(promise, &number), JZX_OK);
}

static jzx_err err_of(jzx_future *future) {
    return jzx_future_error(future, NULL);
}

static uint64_t value_of(jzx_future *future) {
    uint64_t value = 0;
    JZX_EXPECT_EQ(jzx_future_try(future, &value), JZX_OK);
    return value;
}

static uint64_t alive(jzx_loop *loop) {
    jzx_stats stats = fixture_stats(loop);
    return stats.spawned - stats.exited;
}

/* What the function gives: a handle of the test's own. */
struct plan {
    jzx_future *next; /* or NULL */
    jzx_err err;
    uint32_t calls;
    uint64_t value;
};

static jzx_err go_on(jzx_context *ctx, const void *value, jzx_future **next, void *arg) {
    struct plan *plan = arg;
    (void)ctx;
    plan->calls++;
    memcpy(&plan->value, value, sizeof plan->value);
    *next = jzx_future_ref(plan->next);
    jzx_test_ran();
    return plan->err;
}

/* An input, what comes next, and a then between the two. */
struct scene {
    struct timing timing;
    struct pair input;
    struct pair next;
    struct plan plan;
    jzx_future *then;
};

static void set_scene(struct scene *scene) {
    *scene = (struct scene){.timing = timing_open()};
    scene->input = make_pair(scene->timing.loop);
    scene->next = make_pair(scene->timing.loop);
    scene->plan.next = scene->next.future;
    assert_int_equal(
        jzx_future_then_future(scene->input.future, 8, go_on, &scene->plan, &scene->then), JZX_OK);
    timing_step(&scene->timing);
}

static void end_scene(struct scene *scene) {
    jzx_future *futures[] = {scene->then, scene->input.future, scene->next.future};
    jzx_promise_drop(scene->input.promise);
    jzx_promise_drop(scene->next.promise);
    for (uint32_t i = 0; i < 3; i++) {
        (void)err_of(futures[i]);
        jzx_future_release(futures[i]);
    }
    timing_step(&scene->timing);
    assert_int_equal(alive(scene->timing.loop), 0);
    timing_close(&scene->timing);
}

static void give_input(struct scene *scene, uint64_t number) {
    give(scene->input.promise, number);
    scene->input.promise = NULL;
    timing_step(&scene->timing);
}

JZX_TEST(a_future_that_a_then_returns_is_flattened, "E36") {
    struct scene scene;
    set_scene(&scene);
    assert_int_equal(jzx_future_value_size(scene.then), 8);
    give_input(&scene, 21);
    assert_int_equal(scene.plan.calls, 1);
    assert_int_equal(scene.plan.value, 21);
    assert_false(jzx_future_is_ready(scene.then)); /* it waits for the next one */
    give(scene.next.promise, 42);
    scene.next.promise = NULL;
    timing_step(&scene.timing);
    assert_int_equal(value_of(scene.then), 42);
    assert_int_equal(scene.plan.calls, 1);
    end_scene(&scene);
}

JZX_TEST(a_future_that_is_settled_when_a_then_returns_it_needs_no_wait, "E36") {
    struct scene scene;
    set_scene(&scene);
    give(scene.next.promise, 42);
    scene.next.promise = NULL;
    give_input(&scene, 1);
    assert_int_equal(value_of(scene.then), 42);
    end_scene(&scene);
}

JZX_TEST(errors_of_each_of_both_reject_the_result_of_a_then, "E36") {
    struct scene scene;
    const char *text;
    set_scene(&scene); /* of the input: nobody is called */
    jzx_promise_reject(scene.input.promise, JZX_ERR_FULL, "first");
    scene.input.promise = NULL;
    timing_step(&scene.timing);
    assert_int_equal(jzx_future_error(scene.then, &text), JZX_ERR_FULL);
    assert_string_equal(text, "first");
    assert_int_equal(scene.plan.calls, 0);
    end_scene(&scene);
    set_scene(&scene); /* of the next one */
    give_input(&scene, 1);
    jzx_promise_reject(scene.next.promise, JZX_ERR_CLOSED, "second");
    scene.next.promise = NULL;
    timing_step(&scene.timing);
    assert_int_equal(jzx_future_error(scene.then, &text), JZX_ERR_CLOSED);
    assert_string_equal(text, "second");
    end_scene(&scene);
    set_scene(&scene); /* of the function, whose future is let go */
    scene.plan.err = JZX_ERR_TIMEOUT;
    give_input(&scene, 1);
    assert_int_equal(err_of(scene.then), JZX_ERR_TIMEOUT);
    jzx_future_release(scene.next.future);
    scene.next.future = NULL;
    assert_false(jzx_promise_is_wanted(scene.next.promise));
    end_scene(&scene);
    assert_int_equal(jzx_test_runs(), 2);
}

/* cancels: else the result is released. */
static void stop_then(struct scene *scene, bool cancels) {
    if (cancels)
        jzx_future_cancel(scene->then);
    else
        jzx_future_release(scene->then);
    timing_step(&scene->timing);
    if (cancels)
        assert_int_equal(err_of(scene->then), JZX_ERR_CANCELLED);
    else
        scene->then = NULL;
}

JZX_TEST(a_cancel_goes_through_to_the_future_that_a_then_waits_for, "E36") {
    struct scene scene;
    for (uint32_t cancels = 0; cancels < 2; cancels++) {
        set_scene(&scene); /* the input */
        jzx_future_release(scene.input.future);
        scene.input.future = NULL;
        assert_true(jzx_promise_is_wanted(scene.input.promise));
        stop_then(&scene, cancels);
        assert_false(jzx_promise_is_wanted(scene.input.promise));
        assert_int_equal(scene.plan.calls, 0);
        end_scene(&scene);
        set_scene(&scene); /* the next one, to which nobody else has a handle, */
        give_input(&scene, 1);
        jzx_future_release(scene.next.future);
        scene.next.future = NULL;
        assert_true(jzx_promise_is_wanted(scene.next.promise));
        stop_then(&scene, cancels);
        assert_false(jzx_promise_is_wanted(scene.next.promise));
        end_scene(&scene);
        set_scene(&scene); /* or somebody has */
        give_input(&scene, 1);
        stop_then(&scene, cancels);
        assert_true(jzx_promise_is_wanted(scene.next.promise));
        end_scene(&scene);
    }
}

/* It belongs to nobody: only the handle that the then has can cancel it. */
struct sleeper {
    jzx_err *seen;
    jzx_err err;
    jzx_await_op op;
};

JZX_ASYNC(sleeper, struct sleeper, uint64_t) {
    JZX_TRY(self->err, jzx_op_sleep(&self->op, jzx_in(ctx, JZX_MS(10))), NULL);
    *self->seen = self->err;
    if (self->err != JZX_OK)
        JZX_FAIL(self->err, NULL);
    JZX_RETURN(10);
}
JZX_END

static jzx_err start_sleeper(jzx_context *ctx, const void *value, jzx_future **next, void *arg) {
    const struct sleeper state = {.seen = arg};
    (void)value;
    jzx_test_ran();
    return jzx_async_spawn(ctx->loop, &sleeper_type, &state, &JZX_ASYNC_OPTS(.detached = true),
                           next);
}

JZX_TEST(a_function_that_a_then_starts_is_waited_for_and_cancelled_with_it, "E36") {
    struct timing timing = timing_open();
    for (uint32_t cancels = 0; cancels < 2; cancels++) {
        struct pair input = make_pair(timing.loop);
        jzx_err seen = JZX_ERR_UNKNOWN;
        jzx_future *then;
        assert_int_equal(jzx_future_then_future(input.future, 8, start_sleeper, &seen, &then),
                         JZX_OK);
        jzx_future_release(input.future);
        give(input.promise, 1);
        timing_step(&timing);
        if (cancels)
            jzx_future_cancel(then);
        timing_step(&timing);
        timing_advance(&timing, JZX_MS(10));
        assert_int_equal(seen, cancels ? JZX_ERR_CANCELLED : JZX_OK);
        assert_int_equal(err_of(then), cancels ? JZX_ERR_CANCELLED : JZX_OK);
        jzx_future_release(then);
        timing_step(&timing);
        assert_int_equal(alive(timing.loop), 0);
    }
    timing_close(&timing);
}

static jzx_err break_down(jzx_context *ctx, const void *value, jzx_future **next, void *arg) {
    (void)value, (void)next, (void)arg;
    jzx_test_ran();
    jzx_exit(ctx, JZX_EXIT_FAIL, "broken");
}

JZX_TEST(futures_that_do_not_fit_reject_the_result_of_a_then) {
    struct scene scene;
    jzx_loop *other = fixture_loop();
    jzx_future *small;
    jzx_future *unstarted;
    jzx_future *failed;
    struct pair elsewhere = make_pair(other);
    jzx_err seen;
    set_scene(&scene);
    jzx_loop *loop = scene.timing.loop;
    assert_int_equal(jzx_future_resolved(loop, "a", 1, &small), JZX_OK);
    assert_int_equal(jzx_future_rejected(loop, JZX_ERR_FULL, NULL, &failed), JZX_OK);
    assert_int_equal(
        jzx_async_create(loop, &sleeper_type, &(struct sleeper){.seen = &seen}, NULL, &unstarted),
        JZX_OK);
    give_input(&scene, 1);
    const struct {
        jzx_future *next;
        jzx_err err;
    } cases[] = {{NULL, JZX_ERR_INVALID_ARG},
                 {small, JZX_ERR_INVALID_ARG},
                 {elsewhere.future, JZX_ERR_INVALID_ARG},
                 {unstarted, JZX_ERR_INVALID_STATE},
                 {failed, JZX_ERR_FULL}}; /* has no value, of whatever size */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan plan = {.next = cases[i].next};
        jzx_future *then;
        assert_int_equal(jzx_future_then_future(scene.input.future, 8, go_on, &plan, &then),
                         JZX_OK);
        timing_step(&scene.timing);
        assert_int_equal(plan.calls, 1);
        assert_int_equal(err_of(then), cases[i].err);
        jzx_future_release(then);
    }
    jzx_future *broken;
    assert_int_equal(jzx_future_then_future(scene.input.future, 8, break_down, NULL, &broken),
                     JZX_OK);
    timing_step(&scene.timing);
    assert_int_equal(err_of(broken), JZX_ERR_FAILED);
    jzx_future_release(broken);
    jzx_future *made = NULL;
    assert_int_equal(jzx_future_then_future(NULL, 8, go_on, NULL, &made), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_then_future(failed, 8, NULL, NULL, &made), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_then_future(failed, 8, go_on, NULL, NULL), JZX_ERR_INVALID_ARG);
    assert_null(made);
    jzx_future_release(small);
    jzx_future_release(failed);
    jzx_future_release(unstarted);
    give(scene.next.promise, 1);
    scene.next.promise = NULL;
    end_scene(&scene);
    jzx_promise_drop(elsewhere.promise);
    (void)err_of(elsewhere.future);
    jzx_future_release(elsewhere.future);
    fixture_destroy(other);
}

/* It would wait for itself for ever, and nobody could let go of it. */
JZX_TEST(a_then_that_gives_its_own_result_is_rejected, "E36") {
    struct scene scene;
    set_scene(&scene);
    scene.plan.next = scene.then;
    give_input(&scene, 1);
    assert_int_equal(scene.plan.calls, 1);
    assert_int_equal(err_of(scene.then), JZX_ERR_INVALID_ARG);
    end_scene(&scene);
}

static uint32_t drops;

static void count_drop(void *object) {
    (void)object;
    drops++;
}

JZX_TEST(an_object_of_the_next_future_moves_on_to_the_result_of_a_then, "E36") {
    struct scene scene;
    set_scene(&scene);
    drops = 0;
    give_input(&scene, 1);
    assert_int_equal(jzx_promise_resolve_moved(scene.next.promise, &drops, count_drop), JZX_OK);
    scene.next.promise = NULL;
    timing_step(&scene.timing);
    void *object = NULL;
    assert_int_equal(jzx_future_try(scene.then, &object), JZX_OK);
    assert_ptr_equal(object, &drops);
    assert_int_equal(drops, 0);
    end_scene(&scene);
    assert_int_equal(drops, 1);
}

/* ---- chains ---- */

/* Counts down: each step returns the future of the next one, which returns ... */
static jzx_err count_down(jzx_context *ctx, const void *value, jzx_future **next, void *arg) {
    uint64_t *steps = arg;
    uint64_t left;
    jzx_future *input;
    memcpy(&left, value, sizeof left);
    ++*steps;
    if (left == 0)
        return jzx_future_resolved(ctx->loop, &(uint64_t){4711}, 8, next);
    left--;
    jzx_err err = jzx_future_resolved(ctx->loop, &left, 8, &input);
    if (err != JZX_OK)
        return err;
    err = jzx_future_then_future(input, 8, count_down, arg, next);
    jzx_future_release(input);
    return err;
}

JZX_TEST(thens_inside_thens_need_no_stack, "E36") {
    const uint64_t length = jzx_test_rounds(20000, 200000);
    jzx_loop *loop = fixture_loop();
    for (uint32_t cancels = 0; cancels < 2; cancels++) {
        jzx_future *input;
        jzx_future *end;
        uint64_t steps = 0;
        assert_int_equal(jzx_future_resolved(loop, &length, 8, &input), JZX_OK);
        assert_int_equal(jzx_future_then_future(input, 8, count_down, &steps, &end), JZX_OK);
        jzx_future_release(input);
        if (cancels) {
            for (uint32_t i = 0; i < 20; i++)
                JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
            jzx_future_cancel(end);
        }
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        if (!cancels || jzx_future_state(end) == JZX_FUTURE_RESOLVED) {
            assert_int_equal(value_of(end), 4711);
            assert_int_equal(steps, length + 1);
        } else {
            assert_int_equal(err_of(end), JZX_ERR_CANCELLED);
        }
        jzx_future_release(end);
        assert_int_equal(alive(loop), 0);
    }
    fixture_destroy(loop);
}

JZX_TEST(thens_behind_thens_need_no_stack, "E36") {
    const uint32_t length = (uint32_t)jzx_test_rounds(20000, 200000);
    struct timing timing = timing_open();
    struct pair input = make_pair(timing.loop);
    struct plan plan = {.err = JZX_OK};
    assert_int_equal(jzx_future_resolved(timing.loop, &(uint64_t){5}, 8, &plan.next), JZX_OK);
    jzx_future *last = jzx_future_ref(input.future);
    for (uint32_t i = 0; i < length; i++) {
        jzx_future *then = NULL;
        JZX_EXPECT_EQ(jzx_future_then_future(last, 8, go_on, &plan, &then), JZX_OK);
        jzx_future_release(last);
        last = then;
    }
    timing_step(&timing);
    give(input.promise, 1);
    jzx_future_release(input.future);
    for (uint32_t i = 0; i < 100 && !jzx_future_is_ready(last); i++)
        timing_step(&timing);
    assert_int_equal(value_of(last), 5);
    assert_int_equal(plan.calls, length);
    jzx_future_release(last);
    jzx_future_release(plan.next);
    timing_close(&timing);
}

/* ---- memory ---- */

/* Returns true if something had no memory. */
static bool attempt(uint64_t nth) {
    struct timing timing = timing_open();
    struct pair input = make_pair(timing.loop);
    jzx_future *then = NULL;
    jzx_err seen = JZX_OK;
    fixture_fail_allocations(nth, 1);
    jzx_err err = jzx_future_then_future(input.future, 8, start_sleeper, &seen, &then);
    JZX_EXPECT(err == JZX_OK ? then != NULL : err == JZX_ERR_NO_MEMORY && then == NULL);
    give(input.promise, 1);
    timing_step(&timing);
    fixture_fail_allocations(UINT64_MAX, 0);
    timing_advance(&timing, JZX_MS(10));
    bool failed = then == NULL || err_of(then) == JZX_ERR_NO_MEMORY;
    if (!failed)
        JZX_EXPECT_EQ(value_of(then), 10);
    jzx_future_release(then);
    jzx_future_release(input.future);
    timing_close(&timing);
    return failed;
}

JZX_TEST(a_then_says_so_when_the_nth_allocation_fails, "E36") {
    uint32_t failed = 0;
    for (uint64_t nth = 0; nth < 40; nth++)
        failed += attempt(nth);
    assert_true(failed > 1);
    assert_false(attempt(UINT64_MAX));
    assert_true(jzx_test_runs() != 0);
}
