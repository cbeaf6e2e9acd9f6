/* SPDX-License-Identifier: MIT */
/* Barrier, gate and wait group on real threads: fibers of several workers and threads meet at a
 * barrier with short deadlines. Each round that passes has one that came last, and lets exactly its
 * parties pass, whoever gives up in the same moment. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/sync.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define FIBERS 6u
#define THREADS 2u
#define PARTIES 3u

static struct {
    jzx_loop *loop;
    jzx_barrier barrier;
    jzx_gate gate;
    jzx_wait_group group;
    uint64_t attempts;
    _Atomic uint64_t passed;
    _Atomic uint64_t last;
    _Atomic uint64_t gave_up;
    _Atomic uint64_t through; /* the gate */
    uint64_t prepared;        /* before the gate is opened: plain memory */
    uint64_t results[FIBERS + THREADS];
} s;

static void note_arrival(jzx_err err, bool is_last) {
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_TIMEOUT);
    atomic_fetch_add(err == JZX_OK ? &s.passed : &s.gave_up, 1);
    atomic_fetch_add(&s.last, err == JZX_OK && is_last);
}

static uint64_t deadline_of(uint64_t attempt) {
    return attempt % 8 == 0 ? 0 : jzx_loop_now(s.loop) + JZX_US(20 * (attempt % 8));
}

/* ctx is NULL for a thread. */
static void take_part(jzx_context *ctx, uint32_t index) {
    jzx_err err = ctx != NULL ? jzx_gate_pass(ctx, &s.gate, JZX_NEVER)
                              : jzx_gate_pass_wait(&s.gate, JZX_NEVER);
    JZX_EXPECT_EQ(err, JZX_OK);
    JZX_EXPECT_EQ(s.prepared, 42);
    atomic_fetch_add(&s.through, 1);
    for (uint64_t i = 0; i < s.attempts; i++) {
        bool is_last = false;
        err = ctx != NULL ? jzx_barrier_arrive(ctx, &s.barrier, deadline_of(i + index), &is_last)
                          : jzx_barrier_arrive_wait(&s.barrier, deadline_of(i + index), &is_last);
        note_arrival(err, is_last);
    }
    s.results[index] = index + 1;
    JZX_EXPECT_EQ(jzx_wait_group_done(&s.group), JZX_OK);
}

static void be_fiber(jzx_context *ctx) {
    jzx_test_ran();
    take_part(ctx, (uint32_t)(uintptr_t)ctx->state);
}

static void *be_thread(void *arg) {
    take_part(NULL, (uint32_t)(uintptr_t)arg);
    JZX_EXPECT_EQ(jzx_loop_release(s.loop), JZX_OK);
    return NULL;
}

static void open_and_join(jzx_context *ctx) {
    s.prepared = 42;
    JZX_EXPECT_EQ(jzx_gate_open(&s.gate), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_join(ctx, &s.group, JZX_NEVER), JZX_OK);
    for (uint32_t i = 0; i < FIBERS + THREADS; i++)
        JZX_EXPECT_EQ(s.results[i], i + 1);
    jzx_test_ran();
}

JZX_TEST(a_barrier_lets_exactly_its_parties_pass_in_every_round, "E57") {
    pthread_t threads[THREADS];
    memset(&s, 0, sizeof s);
    s.attempts = jzx_test_rounds(4000, 60000);
    s.loop = fixture_loop_with(&JZX_CONFIG(.workers = 3));
    assert_int_equal(jzx_barrier_init(s.loop, &s.barrier, PARTIES), JZX_OK);
    assert_int_equal(jzx_gate_init(s.loop, &s.gate, false), JZX_OK);
    assert_int_equal(jzx_wait_group_init(s.loop, &s.group), JZX_OK);
    assert_int_equal(jzx_wait_group_add(&s.group, FIBERS + THREADS), JZX_OK);
    for (uintptr_t i = 0; i < FIBERS; i++)
        fixture_spawn(s.loop, &JZX_SPAWN_OPTS(.fiber = be_fiber, .state = (void *)i,
                                              .migratable = i % 2 == 0));
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(jzx_loop_hold(s.loop), JZX_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, be_thread, (void *)(FIBERS + i)), 0);
    }
    fixture_spawn(s.loop, &JZX_SPAWN_OPTS(.fiber = open_and_join));
    assert_int_equal(jzx_loop_run(s.loop), JZX_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jzx_test_runs(), FIBERS + 1);
    assert_int_equal(s.through, FIBERS + THREADS);
    assert_int_equal(s.passed + s.gave_up, s.attempts * (FIBERS + THREADS));
    assert_int_equal(s.passed, s.last * PARTIES);
    assert_int_equal(s.last > 0, 1);
    fixture_destroy(s.loop);
    assert_int_equal(jzx_barrier_deinit(&s.barrier), JZX_OK);
    assert_int_equal(jzx_gate_deinit(&s.gate), JZX_OK);
    assert_int_equal(jzx_wait_group_deinit(&s.group), JZX_OK);
}
