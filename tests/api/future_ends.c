/* SPDX-License-Identifier: MIT */
/* Futures at their edges: threads that wait when the loop goes, texts of rejections that lose or
 * just fit, and async functions that never run out of something to do. */
#include "fibering.h"

#include <jzx/async.h>
#include <jzx/combine.h>
#include <jzx/future.h>
#include <jzx/scope.h>

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* ---- threads ---- */

#define THREADS 4u

struct thread_wait {
    pthread_t thread;
    jzx_future *future;
    uint64_t deadline_ns;
    _Atomic int tid;
    jzx_err err;
};

static void *wait_for_it(void *arg) {
    struct thread_wait *wait = arg;
    uint64_t number;
    wait->tid = (int)syscall(SYS_gettid);
    wait->err = jzx_future_wait(wait->future, wait->deadline_ns, &number);
    return NULL;
}

/* It has nothing else to sleep for than the future. */
static void wait_until_it_sleeps(const struct thread_wait *wait) {
    char path[64];
    char state = 'R';
    while (wait->tid == 0)
        sched_yield();
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", wait->tid);
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 'S';
        if (file != NULL)
            fclose(file);
    }
}

/* Those with a deadline wait at the clock, too, which is freed right after the loop. */
JZX_TEST(threads_that_wait_for_a_future_are_gone_when_destroy_returns) {
    for (uint64_t round = 0; round < jzx_test_rounds(20, 500); round++) {
        struct timing timing = timing_open();
        struct pair pair = make_pair(timing.loop);
        struct thread_wait waits[THREADS] = {0};
        for (uint32_t i = 0; i < THREADS; i++) {
            waits[i].future = pair.future;
            waits[i].deadline_ns = i % 2 == 0 ? JZX_NEVER : JZX_SECOND(3600);
            assert_int_equal(pthread_create(&waits[i].thread, NULL, wait_for_it, &waits[i]), 0);
        }
        for (uint32_t i = 0; i < THREADS; i++)
            wait_until_it_sleeps(&waits[i]);
        timing_close(&timing);
        for (uint32_t i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(waits[i].thread, NULL), 0);
            assert_int_equal(waits[i].err, JZX_ERR_LOOP_CLOSED);
        }
        assert_int_equal(jzx_promise_resolve(pair.promise, &round), JZX_ERR_LOOP_CLOSED);
        jzx_future_release(pair.future);
    }
}

/* ---- texts ---- */

JZX_TEST(the_text_of_a_rejection_that_comes_too_late_is_dropped, "E32") {
    jzx_loop *loop = fixture_loop();
    const char *text = NULL;
    uint64_t number = 7;
    struct pair pair = make_pair(loop);
    jzx_future_cancel(pair.future);
    assert_int_equal(jzx_promise_reject(pair.promise, JZX_ERR_FULL, "too late"), JZX_ERR_CANCELLED);
    assert_int_equal(jzx_future_error(pair.future, &text), JZX_ERR_CANCELLED);
    assert_string_equal(text, "");
    jzx_future_release(pair.future);
    pair = make_pair(loop);
    assert_int_equal(jzx_promise_resolve(pair.promise, &number), JZX_OK);
    assert_int_equal(jzx_future_error(pair.future, &text), JZX_OK);
    jzx_future_release(pair.future);
    fixture_destroy(loop);
}

/* A race that has an input twice is settled by it twice, and the second time in vain. */
JZX_TEST(the_text_of_an_input_that_loses_a_race_is_dropped) {
    jzx_loop *loop = fixture_loop();
    const char *text = NULL;
    jzx_future *result = NULL;
    struct pair pair = make_pair(loop);
    jzx_future *const inputs[] = {pair.future, pair.future, pair.future};
    assert_int_equal(jzx_future_race(loop, inputs, 3, 0, &result), JZX_OK);
    assert_int_equal(jzx_promise_reject(pair.promise, JZX_ERR_FULL, "no seat left"), JZX_OK);
    assert_int_equal(jzx_future_error(result, &text), JZX_ERR_FULL);
    assert_string_equal(text, "no seat left");
    assert_int_equal(jzx_future_error(pair.future, &text), JZX_ERR_FULL);
    assert_string_equal(text, "no seat left");
    jzx_future_release(result);
    jzx_future_release(pair.future);
    fixture_destroy(loop);
}

/* Of that many bytes, all of them different from those beside. */
static void fill_text(char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        text[i] = (char)('a' + i % 26);
    text[length] = '\0';
}

static void expect_text(const char *text, size_t length) {
    char whole[JZX_FUTURE_TEXT_MAX + 8];
    fill_text(whole, length < JZX_FUTURE_TEXT_MAX ? length : JZX_FUTURE_TEXT_MAX);
    JZX_EXPECT_EQ(strlen(text), strlen(whole));
    JZX_EXPECT(strcmp(text, whole) == 0);
}

JZX_TEST(the_text_of_a_rejection_is_kept_whole_up_to_its_maximum, "E32") {
    struct timing timing = timing_open();
    for (size_t length = JZX_FUTURE_TEXT_MAX - 2; length <= JZX_FUTURE_TEXT_MAX + 2; length++) {
        char given[JZX_FUTURE_TEXT_MAX + 8];
        const char *text = NULL;
        jzx_future *next = NULL;
        struct pair pair = make_pair(timing.loop);
        fill_text(given, length);
        assert_int_equal(jzx_future_timeout(pair.future, JZX_NEVER, 0, &next), JZX_OK);
        assert_int_equal(jzx_promise_reject(pair.promise, JZX_ERR_FULL, given), JZX_OK);
        memset(given, '?', sizeof given); /* it was copied */
        timing_step(&timing);
        assert_int_equal(jzx_future_error(pair.future, &text), JZX_ERR_FULL);
        expect_text(text, length);
        assert_int_equal(jzx_future_error(next, &text), JZX_ERR_FULL); /* it was passed on */
        expect_text(text, length);
        jzx_future_release(next);
        jzx_future_release(pair.future);
    }
    timing_close(&timing);
}

static char failure_text[JZX_FUTURE_TEXT_MAX + 8];

struct failing {
    int unused;
};

JZX_ASYNC(failing, struct failing, int) {
    (void)ctx;
    JZX_FAIL(JZX_ERR_FULL, failure_text);
}
JZX_END

static void close_failing_scope(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_scope_result result = {.size = sizeof result};
    jzx_scope *scope = NULL;
    JZX_EXPECT_EQ(jzx_scope_open(ctx, JZX_NEVER, &scope), JZX_OK);
    JZX_EXPECT_EQ(jzx_scope_async(scope, &failing_type, &(struct failing){0}, NULL), JZX_OK);
    life->err = jzx_scope_close(ctx, scope, &result);
    expect_text(result.text, strlen(failure_text));
    life->finished++;
}

JZX_TEST(the_text_of_a_failure_is_kept_whole_up_to_its_maximum) {
    struct timing timing = timing_open();
    for (size_t length = JZX_FUTURE_TEXT_MAX - 1; length <= JZX_FUTURE_TEXT_MAX + 1; length++) {
        struct life life = {0};
        const char *text = NULL;
        jzx_future *future = NULL;
        fill_text(failure_text, length);
        assert_int_equal(failing_spawn(timing.loop, (struct failing){0}, &future), JZX_OK);
        timing_step(&timing);
        assert_int_equal(jzx_future_error(future, &text), JZX_ERR_FULL);
        expect_text(text, length);
        jzx_future_release(future);
        timing_fiber(&timing, close_failing_scope, &life);
        timing_step(&timing);
        assert_int_equal(life.finished, 1);
        assert_int_equal(life.err, JZX_ERR_FULL);
    }
    timing_close(&timing);
}

/* ---- turns ---- */

enum { BUDGET = 8, POLLS = 5 * BUDGET };

static struct {
    uint32_t polls; /* of the function */
    uint32_t seen;  /* by the behaviour in its last turn */
    uint32_t most;  /* between two of its turns */
    uint32_t turns; /* of the behaviour */
} busy;

struct busy_function {
    uint32_t i;
    jzx_await_op op;
};

/* Always has something to do: the time that it waits for has come. */
JZX_ASYNC(busy_function, struct busy_function, int) {
    for (self->i = 0; self->i < POLLS; self->i++) {
        busy.polls++;
        JZX_AWAIT(jzx_op_sleep(&self->op, 0), NULL);
    }
    JZX_RETURN(0);
}
JZX_END

static jzx_behavior_result be_patient(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    uint32_t polls = busy.polls - busy.seen;
    busy.turns++;
    busy.seen = busy.polls;
    busy.most = polls > busy.most ? polls : busy.most;
    if (busy.polls == POLLS)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, 1);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_async_function_that_never_waits_long_shares_its_worker, "E43") {
    jzx_future *future = NULL;
    memset(&busy, 0, sizeof busy);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_msgs_per_actor = BUDGET));
    assert_int_equal(busy_function_spawn(loop, (struct busy_function){0}, &future), JZX_OK);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_patient));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(busy.polls, POLLS);
    assert_in_range(busy.most, 1, BUDGET);
    assert_int_equal(jzx_test_runs(), busy.turns);
    assert_int_equal(jzx_future_try(future, NULL), JZX_OK);
    jzx_future_release(future);
    fixture_destroy(loop);
}
