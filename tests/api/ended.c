/* SPDX-License-Identifier: MIT */
/* What has ended is not resumed: every call that would have it go on says so, and none of its code
 * runs again. */
#include "processes.h"

#include <jzx/async.h>
#include <jzx/manual.h>

/* ---- calls of async functions ---- */

struct step {
    uint32_t *runs;
    bool waits;
};

JZX_ASYNC(step, struct step, uint32_t) {
    if (self->waits)
        JZX_YIELD();
    JZX_RETURN(++*self->runs);
}
JZX_END

struct again {
    struct step_call call;
    uint32_t runs;
    bool waits;
    uint32_t results[3];
    jzx_err errs[3];
};

/* Awaits a call, awaits the same one again, and makes it anew. */
JZX_ASYNC(again, struct again *, uint32_t) {
    JZX_TRY((*self)->errs[0],
            step_call(&(*self)->call, (struct step){&(*self)->runs, (*self)->waits}),
            &(*self)->results[0]);
    JZX_TRY((*self)->errs[1], &(*self)->call.async.base, &(*self)->results[1]);
    JZX_EXPECT_EQ((*self)->runs, 1);
    JZX_TRY((*self)->errs[2],
            step_call(&(*self)->call, (struct step){&(*self)->runs, (*self)->waits}),
            &(*self)->results[2]);
    JZX_RETURN((*self)->runs);
}
JZX_END

JZX_TEST(a_call_that_has_ended_is_not_resumed, "E+sem") {
    for (int waits = 0; waits < 2; waits++) {
        jzx_loop *loop = fixture_loop();
        struct again again = {.waits = waits != 0};
        jzx_future *future;
        uint32_t runs = 0;
        assert_int_equal(again_spawn(loop, &again, &future), JZX_OK);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(jzx_future_try(future, &runs), JZX_OK);
        JZX_EXPECT_EQ(runs, 2);
        JZX_EXPECT_EQ(again.errs[0], JZX_OK);
        JZX_EXPECT_EQ(again.errs[1], JZX_ERR_INVALID_STATE);
        JZX_EXPECT_EQ(again.errs[2], JZX_OK);
        JZX_EXPECT_EQ(again.results[0], 1);
        JZX_EXPECT_EQ(again.results[1], 0);
        JZX_EXPECT_EQ(again.results[2], 2);
        jzx_future_release(future);
        fixture_destroy(loop);
    }
}

JZX_ASYNC(fails, struct step, uint32_t) {
    ++*self->runs;
    JZX_FAIL(JZX_ERR_FULL, "as it should");
}
JZX_END

struct insists {
    struct fails_call call;
    uint32_t runs;
    jzx_err errs[2];
};

/* Awaits a call that fails; the second await is not caught, and ends this function, too. */
JZX_ASYNC(insists, struct insists *, uint32_t) {
    JZX_TRY((*self)->errs[0], fails_call(&(*self)->call, (struct step){&(*self)->runs, false}),
            NULL);
    JZX_AWAIT(&(*self)->call.async.base, NULL);
    JZX_RETURN(1);
}
JZX_END

JZX_TEST(awaiting_a_call_that_has_failed_once_more_is_an_error_of_its_own, "E+sem") {
    jzx_loop *loop = fixture_loop();
    struct insists insists = {.runs = 0};
    jzx_future *future;
    const char *text = NULL;
    assert_int_equal(insists_spawn(loop, &insists, &future), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(insists.errs[0], JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_future_error(future, &text), JZX_ERR_INVALID_STATE);
    assert_string_equal(text, "the call has ended");
    JZX_EXPECT_EQ(insists.runs, 1);
    jzx_future_release(future);
    fixture_destroy(loop);
}

/* ---- async functions ---- */

JZX_TEST(a_function_that_has_ended_is_not_started_polled_or_reached_and_keeps_its_result, "E+sem") {
    jzx_loop *loop = fixture_loop();
    jzx_executor *executor;
    jzx_future *future;
    uint32_t runs = 0;
    bool polled = true;
    assert_int_equal(jzx_executor_create(loop, &executor), JZX_OK);
    assert_int_equal(jzx_async_create(loop, &step_type, &(struct step){&runs, false},
                                      &JZX_ASYNC_OPTS(.executor = executor), &future),
                     JZX_OK);
    JZX_EXPECT_EQ(jzx_async_start(future), JZX_OK);
    jzx_actor_id id = jzx_async_actor(future);
    JZX_EXPECT_EQ(jzx_executor_poll_one(executor, &polled), JZX_OK);
    JZX_EXPECT(polled);
    JZX_EXPECT_EQ(jzx_async_start(future), JZX_ERR_INVALID_STATE);
    JZX_EXPECT_EQ(jzx_executor_pending(executor), 0);
    JZX_EXPECT_EQ(jzx_executor_poll_one(executor, &polled), JZX_OK);
    JZX_EXPECT(!polled);
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    jzx_future_cancel(future); /* too late */
    for (int i = 0; i < 3; i++) {
        uint32_t value = 0;
        JZX_EXPECT_EQ(jzx_future_try(future, &value), JZX_OK);
        JZX_EXPECT_EQ(value, 1);
    }
    JZX_EXPECT_EQ(runs, 1);
    jzx_future_release(future);
    jzx_executor_destroy(executor);
    fixture_destroy(loop);
}

/* ---- fibers ---- */

static void live_briefly(jzx_context *ctx) {
    struct life *life = ctx->state;
    life->begun++;
    life->finished++;
}

/* Tries everything that would reach a fiber. */
static void disturb(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message answer;
    jzx_exit_notice how = {.reason = JZX_EXIT_NORMAL};
    JZX_EXPECT_EQ(jzx_send(ctx->loop, life->other, ctx->self, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_send_urgent(ctx->loop, life->other, ctx->self, NULL, 0, 1),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_send_until(ctx, life->other, NULL, 0, 1, JZX_NEVER), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_call(ctx, life->other, NULL, 0, 1, JZX_NEVER, &answer),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, life->other, JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_fail(ctx->loop, life->other), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_join(ctx, life->other, JZX_NEVER, &how), JZX_OK);
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_NO_ACTOR);
    life->finished++;
}

JZX_TEST(a_fiber_that_has_ended_is_reached_by_nothing, "E+sem") {
    struct timing timing = timing_open();
    struct life dead = {.begun = 0};
    struct life other = {.other = timing_fiber(&timing, live_briefly, &dead)};
    JZX_EXPECT_EQ(dead.cleaned, 1);
    timing_fiber(&timing, disturb, &other);
    JZX_EXPECT_EQ(other.finished, 1);
    JZX_EXPECT_EQ(dead.begun, 1);
    JZX_EXPECT_EQ(dead.finished, 1);
    JZX_EXPECT_EQ(dead.cleaned, 1);
    timing_close(&timing);
}

/* A wake that comes when the fiber is gone: its deadline, and the future that it waited for. */
static void await_for_long(jzx_context *ctx) {
    struct life *life = ctx->state;
    life->begun++;
    (void)jzx_await(ctx, (jzx_future *)(uintptr_t)life->other, jzx_in(ctx, JZX_MS(50)), NULL);
    life->finished++;
}

JZX_TEST(a_wake_that_comes_after_the_end_of_a_fiber_resumes_nothing, "E+sem") {
    struct timing timing = timing_open();
    struct life life = {.begun = 0};
    jzx_promise *promise;
    jzx_future *future;
    assert_int_equal(jzx_promise_create(timing.loop, 0, &promise, &future), JZX_OK);
    life.other = (jzx_actor_id)(uintptr_t)future;
    jzx_actor_id id = timing_fiber(&timing, await_for_long, &life);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_promise_resolve(promise, NULL), JZX_OK);
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(60));
    JZX_EXPECT_EQ(life.begun, 1);
    JZX_EXPECT_EQ(life.finished, 0);
    JZX_EXPECT_EQ(life.cleaned, 1);
    jzx_future_release(future);
    timing_close(&timing);
}

/* ---- manual actors ---- */

static bool always(void *arg) {
    (void)arg;
    return true;
}

JZX_TEST(a_manual_actor_that_has_ended_is_polled_in_vain, "E+sem") {
    jzx_loop *loop = fixture_loop();
    struct recorder recorder = {.stop_at = 1};
    jzx_manual *manual;
    assert_int_equal(
        jzx_manual_create(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder), &manual),
        JZX_OK);
    fixture_send(loop, jzx_manual_id(manual), 1);
    fixture_send(loop, jzx_manual_id(manual), 2); /* never handled */
    (void)jzx_manual_poll_one(manual, NULL);
    for (int i = 0; i < 2; i++) {
        bool handled = false;
        size_t count = 0;
        JZX_EXPECT_EQ(jzx_manual_poll_one(manual, &handled), JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT(!handled);
        JZX_EXPECT_EQ(jzx_manual_drain(manual, 0, &count), JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(jzx_manual_poll_while(manual, always, NULL, &count), JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(count, 0);
    }
    JZX_EXPECT_EQ(jzx_manual_state(manual), NULL);
    JZX_EXPECT_EQ(jzx_send(loop, jzx_manual_id(manual), JZX_NOBODY, NULL, 0, 3),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(recorder.count, 1);
    jzx_manual_destroy(manual);
    fixture_destroy(loop);
}

/* ---- processes ---- */

static jzx_err hold_then_end(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    if (journal->steps == 1)
        return jzx_out_yield(out, 7, HELD, NULL, 0);
    return jzx_out_done(out, NULL, 0);
}

JZX_TEST(a_process_that_has_ended_is_not_stepped_by_messages_or_completions, "E+sem") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = hold_then_end};
    register_held(timing.loop);
    jzx_actor_id id = journal_spawn(&timing, &journal);
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.closes, 1);
    JZX_EXPECT_EQ(jzx_send(timing.loop, id, JZX_NOBODY, NULL, 0, 2), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 1, JZX_OK), JZX_ERR_NO_SUCH_OP);
    timing_step(&timing);
    JZX_EXPECT_EQ(journal.steps, 2);
    JZX_EXPECT_EQ(journal.closes, 1);
    timing_close(&timing);
}
