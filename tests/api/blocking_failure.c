/* SPDX-License-Identifier: MIT */
/* Blocking work without memory and without threads: each call says so, what was accepted completes,
 * and nothing leaks. */
#include "fixture.h"

#include <sched.h>
#include <stdatomic.h>

enum { GO = 1, DONE };

#define JOBS 6u

static atomic_uint ran;

static jzx_err work(void *arg) {
    (void)arg;
    atomic_fetch_add(&ran, 1);
    return JZX_OK;
}

struct customer {
    jzx_blocking_pool *pool;
    uint32_t accepted;
    uint32_t refused[2];   /* without memory, without a thread */
    uint32_t completed[2]; /* well, without a thread */
};

static void submit(jzx_context *ctx, struct customer *self) {
    static const char data[6000];
    for (uint32_t i = 0; i < JOBS; i++) {
        jzx_op op = JZX_NO_OP;
        jzx_err err =
            jzx_blocking_copy_to(ctx, self->pool, work, data, i % 2 * sizeof data, DONE, &op);
        JZX_EXPECT_EQ(op != JZX_NO_OP, err == JZX_OK);
        if (err == JZX_ERR_NO_MEMORY)
            self->refused[0]++;
        else if (err == JZX_ERR_NO_THREAD)
            self->refused[1]++;
        else if (JZX_EXPECT_EQ(err, JZX_OK))
            self->accepted++;
    }
}

static jzx_behavior_result be_customer(jzx_context *ctx, const jzx_message *msg) {
    struct customer *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == GO)
        submit(ctx, self);
    else
        self->completed[((const jzx_result *)msg->data)->err == JZX_ERR_NO_THREAD]++;
    return JZX_BEHAVIOR_OK;
}

static uint32_t completions(const struct customer *self) {
    return self->completed[0] + self->completed[1];
}

static void step_until_complete(jzx_loop *loop, const struct customer *self) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    while (completions(self) < self->accepted) {
        sched_yield();
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
}

/* ---- memory ---- */

/* Returns the calls that were refused. */
static uint32_t play(uint64_t after, uint64_t count) {
    fixture_fail_allocations(after, count);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    if (loop == NULL)
        return 1;
    struct customer state = {0};
    jzx_actor_id id;
    jzx_err err = jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_customer, .state = &state), &id);
    if (err == JZX_OK)
        err = jzx_send(loop, id, JZX_NOBODY, NULL, 0, GO);
    step_until_complete(loop, &state);
    fixture_fail_allocations(UINT64_MAX, 0);
    if (err == JZX_OK) { /* memory is back: so is the pool */
        uint32_t before = state.accepted;
        fixture_send(loop, id, GO);
        step_until_complete(loop, &state);
        JZX_EXPECT_EQ(state.accepted, before + JOBS);
    }
    JZX_EXPECT_EQ(state.refused[1] + state.completed[1], 0);
    fixture_destroy(loop);
    return err != JZX_OK || state.refused[0] != 0;
}

JZX_TEST(every_allocation_of_a_job_may_fail, "C+fail") {
    for (uint64_t count = 1; count != 0; count = count == 1 ? UINT64_MAX : 0) {
        uint64_t after = 0;
        while (play(after, count) != 0 || after < 20)
            after++;
        JZX_EXPECT(after < 1000);
        JZX_EXPECT(jzx_test_runs() != 0);
    }
}

/* ---- threads ---- */

/* A loop whose pool has so many threads at most; the first job has not been submitted. */
static jzx_loop *open_pool(struct customer *state, uint32_t threads_max, jzx_actor_id *id) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    *state = (struct customer){0};
    JZX_EXPECT_EQ(
        jzx_blocking_pool_create(
            loop, &JZX_BLOCKING_OPTS(.name = "few", .threads_max = threads_max), &state->pool),
        JZX_OK);
    *id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_customer, .state = state));
    fixture_send(loop, *id, GO);
    return loop;
}

/* In a shared library threads are started beyond the harness's reach. */
static void skip_if_shared(void) {
    struct customer state;
    jzx_actor_id id;
    jzx_loop *loop = open_pool(&state, 1, &id);
    step_until_complete(loop, &state);
    fixture_destroy(loop);
    if (jzx_test_threads() == 0)
        skip();
}

JZX_TEST(a_pool_that_gets_no_thread_refuses_and_recovers, "C+fail") {
    skip_if_shared();
    struct customer state;
    jzx_actor_id id;
    jzx_loop *loop = open_pool(&state, 4, &id);
    jzx_test_fail_threads(0, UINT64_MAX);
    step_until_complete(loop, &state);
    JZX_EXPECT_EQ(state.refused[1], JOBS);
    JZX_EXPECT_EQ(state.accepted, 0);
    jzx_blocking_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_blocking_pool_stats(state.pool, &stats), JZX_OK);
    JZX_EXPECT_EQ(stats.threads, 0);
    JZX_EXPECT_EQ(stats.started, 0);
    JZX_EXPECT_EQ(stats.refused, JOBS);
    jzx_test_fail_threads(UINT64_MAX, 0);
    fixture_send(loop, id, GO);
    step_until_complete(loop, &state);
    JZX_EXPECT_EQ(state.completed[0], JOBS);
    fixture_destroy(loop);
}

JZX_TEST(a_pool_that_gets_fewer_threads_does_its_work_with_those, "C+fail") {
    skip_if_shared();
    for (uint64_t threads = 1; threads < 4; threads++) {
        struct customer state;
        jzx_actor_id id;
        jzx_loop *loop = open_pool(&state, 4, &id);
        jzx_test_fail_threads(threads, UINT64_MAX);
        step_until_complete(loop, &state);
        JZX_EXPECT_EQ(state.completed[0], JOBS);
        jzx_test_fail_threads(UINT64_MAX, 0);
        fixture_send(loop, id, GO);
        step_until_complete(loop, &state);
        JZX_EXPECT_EQ(state.completed[0], 2 * JOBS);
        fixture_destroy(loop);
    }
}

JZX_TEST(each_start_of_a_thread_may_fail, "C+fail") {
    skip_if_shared();
    for (uint64_t after = 0; after < JOBS; after++) {
        struct customer state;
        jzx_actor_id id;
        jzx_loop *loop = open_pool(&state, 4, &id);
        jzx_test_fail_threads(after, 1);
        step_until_complete(loop, &state);
        JZX_EXPECT_EQ(state.refused[1], after == 0);
        JZX_EXPECT_EQ(state.completed[0], JOBS - (after == 0));
        jzx_test_fail_threads(UINT64_MAX, 0);
        fixture_destroy(loop);
    }
}
