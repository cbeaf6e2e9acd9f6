/* SPDX-License-Identifier: MIT */
/* The command processor under many threads: one runner at a time, nothing lost, kills in
 * between. */
#include "fixture.h"

#include <jzx/processor.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { THREADS = 4, PAIR = 1, RESULT = 2, REPLACE = 3 };

static struct {
    jzx_processor *processor;
    jzx_processor_handle worker;
    atomic_int depth;
    atomic_int depth_max;
    uint64_t handled; /* the runner's */
    uint64_t each;    /* dispatches of a thread */
    bool ends;        /* async actors end by themselves */
} s;

struct pair {
    uint32_t thread;
    uint32_t number;
};

/* ---- a root that notes how deep it is called, and sends on to an async actor ---- */

static void enter(void) {
    int depth = atomic_fetch_add_explicit(&s.depth, 1, memory_order_relaxed) + 1;
    if (depth > atomic_load_explicit(&s.depth_max, memory_order_relaxed))
        atomic_store_explicit(&s.depth_max, depth, memory_order_relaxed);
    s.handled++; /* without an atomic: a second runner is a race */
}

static void leave(void) {
    atomic_fetch_sub_explicit(&s.depth, 1, memory_order_relaxed);
}

static void work(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_action *msg;
    unsigned done = 0;
    (void)state;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        if (msg->tag % 2 == 0)
            (void)jzx_yield(ctx);
        (void)jzx_actions_send(jzx_inbox_actions(inbox), JZX_PROCESSOR_INPUT, RESULT, msg->data,
                               msg->len);
        if (s.ends && ++done % 4 == 0)
            return; /* its end meets kills */
    }
}

static const jzx_actor_factory worker_actor =
    JZX_ACTOR_FACTORY(.type = "worker", .run = work, .stack_size_bytes = 2 * JZX_STACK_SIZE_MIN);

static void root_init(void *state, jzx_actions *out) {
    (void)state;
    JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &worker_actor, NULL, 0, &s.worker), JZX_OK);
}

static void root(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state;
    enter();
    if (msg->tag == REPLACE) {
        (void)jzx_actions_kill(out, s.worker);
        JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &worker_actor, NULL, 0, &s.worker), JZX_OK);
    } else {
        (void)jzx_actions_send(out, msg->tag == PAIR ? s.worker : JZX_PROCESSOR_OUTPUT, msg->tag,
                               msg->data, msg->len);
    }
    leave();
}

static const jzx_actor_factory root_actor =
    JZX_ACTOR_FACTORY(.type = "root", .init = root_init, .handle = root);

/* ---- threads ---- */

/* In both ways: in one call, or in two. */
static void *dispatch(void *arg) {
    struct pair pair = {.thread = (uint32_t)(uintptr_t)arg};
    for (; pair.number < s.each; pair.number++) {
        if (pair.number % 2 == 0) {
            JZX_EXPECT_EQ(jzx_processor_dispatch(s.processor, PAIR, &pair, sizeof pair), JZX_OK);
        } else {
            JZX_EXPECT_EQ(jzx_processor_enqueue(s.processor, PAIR, &pair, sizeof pair), JZX_OK);
            JZX_EXPECT_EQ(jzx_processor_process(s.processor), JZX_OK);
        }
    }
    return NULL;
}

static void *run_loop(void *arg) {
    JZX_EXPECT_EQ(jzx_loop_run(arg), JZX_OK);
    return NULL;
}

static jzx_loop *open(uint32_t workers, uint64_t each) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    memset(&s, 0, sizeof s);
    s.each = each;
    assert_int_equal(jzx_processor_create(loop,
                                          &JZX_PROCESSOR_OPTS(.root = &root_actor, .record = true),
                                          &s.processor),
                     JZX_OK);
    return loop;
}

JZX_TEST(dispatches_of_four_threads_are_never_nested_and_none_is_lost, "A12", "A4", "X32", "A19",
         "A22") {
    jzx_loop *loop = open(2, jzx_test_rounds(4000, 40000));
    pthread_t threads[THREADS];
    pthread_t runner;
    uint32_t next[THREADS] = {0};
    assert_int_equal(pthread_create(&runner, NULL, run_loop, loop), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, dispatch, (void *)i), 0);
    for (uint64_t i = 0; i < THREADS * s.each; i++) { /* the async actor answers in its order */
        jzx_output *output;
        struct pair pair;
        assert_int_equal(jzx_processor_next_wait(s.processor, JZX_NEVER, &output), JZX_OK);
        memcpy(&pair, output->data, sizeof pair);
        assert_int_equal(pair.number, next[pair.thread]);
        next[pair.thread]++;
        jzx_output_free(output);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jzx_processor_terminate(s.processor), JZX_OK);
    assert_int_equal(pthread_join(runner, NULL), 0);
    assert_int_equal(atomic_load(&s.depth_max), 1);
    assert_int_equal(s.handled, 2 * THREADS * s.each);
    assert_int_equal(jzx_processor_destroy(s.processor), JZX_OK);
    fixture_destroy(loop);
}

static void *replace(void *arg) {
    (void)arg;
    for (uint64_t i = 0; i < s.each / 8; i++)
        JZX_EXPECT_EQ(jzx_processor_dispatch(s.processor, REPLACE, NULL, 0), JZX_OK);
    return NULL;
}

JZX_TEST(async_actors_are_killed_while_they_answer, "A+kill", "A12") {
    jzx_loop *loop = open(4, jzx_test_rounds(2000, 20000));
    s.ends = true;
    pthread_t threads[3];
    pthread_t runner;
    jzx_future *future;
    uint64_t answers = 0;
    assert_int_equal(pthread_create(&runner, NULL, run_loop, loop), 0);
    assert_int_equal(pthread_create(&threads[0], NULL, dispatch, (void *)0), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, dispatch, (void *)1), 0);
    assert_int_equal(pthread_create(&threads[2], NULL, replace, NULL), 0);
    for (int i = 0; i < 200; i++) { /* futures that come and go meanwhile */
        assert_int_equal(jzx_processor_next_async(s.processor, &future), JZX_OK);
        if (i % 2 == 0)
            jzx_future_cancel(future);
        jzx_output *output = jzx_future_take(future);
        answers += output != NULL;
        jzx_output_free(output);
        jzx_future_release(future);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jzx_processor_terminate(s.processor), JZX_OK);
    assert_int_equal(pthread_join(runner, NULL), 0);
    jzx_output *output;
    while (jzx_processor_next_wait(s.processor, JZX_NEVER, &output) == JZX_OK) {
        answers++;
        jzx_output_free(output);
    }
    assert_true(answers <= 2 * s.each);
    assert_int_equal(atomic_load(&s.depth_max), 1);
    assert_int_equal(jzx_processor_destroy(s.processor), JZX_OK);
    fixture_destroy(loop);
}
