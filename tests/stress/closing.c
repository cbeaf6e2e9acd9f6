/* SPDX-License-Identifier: MIT */
/* Threads spawn and send while the loop closes. A spawn that has looked at the loop just before may
 * come to it after the end of the run: its actor is ended by the next call of run, step or destroy,
 * and so is every message that was accepted. */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SPAWNERS = 2 };

static struct {
    jzx_loop *loop;
    _Atomic uint32_t spawned; /* with JZX_OK */
    _Atomic uint32_t accepted;
    _Atomic uint32_t cleaned;
    uint32_t spawns_until_stop;
} s;

static void clean_up(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    atomic_fetch_add(&s.cleaned, 1);
}

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

static void *spawn_until_closed(void *arg) {
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = ignore, .cleanup = clean_up);
    jzx_actor_id id = JZX_NOBODY;
    jzx_err err;
    (void)arg;
    while ((err = jzx_spawn(s.loop, &opts, &id)) == JZX_OK) {
        if (atomic_fetch_add(&s.spawned, 1) + 1 == s.spawns_until_stop)
            JZX_EXPECT_EQ(jzx_loop_request_stop(s.loop), JZX_OK);
        if (jzx_send_async(s.loop, id, &id, sizeof id, 1) == JZX_OK)
            atomic_fetch_add(&s.accepted, 1);
    }
    JZX_EXPECT_EQ(err, JZX_ERR_LOOP_CLOSED);
    return NULL;
}

static void close_under_spawns(uint32_t workers, uint32_t spawns) {
    pthread_t threads[SPAWNERS];
    s.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    s.spawned = 0;
    s.accepted = 0;
    s.cleaned = 0;
    s.spawns_until_stop = spawns;
    assert_int_equal(jzx_loop_hold(s.loop), JZX_OK);
    for (int i = 0; i < SPAWNERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, spawn_until_closed, NULL), 0);
    assert_int_equal(jzx_loop_run(s.loop), JZX_OK);
    for (int i = 0; i < SPAWNERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jzx_loop_run(s.loop), JZX_ERR_LOOP_CLOSED);
    jzx_stats stats = fixture_stats(s.loop);
    assert_int_equal(stats.spawned, s.spawned);
    assert_int_equal(stats.exited, s.spawned);
    assert_int_equal(stats.accepted, s.accepted);
    assert_int_equal(stats.handled + stats.dead, s.accepted);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(s.cleaned, s.spawned);
    fixture_destroy(s.loop);
}

JZX_TEST(an_actor_spawned_as_the_loop_closes_is_ended_by_the_next_call, "X14", "X16", "C+inv") {
    uint64_t rounds = jzx_test_rounds(300, 20000);
    for (uint64_t i = 0; i < rounds; i++)
        close_under_spawns(i % 2 == 0 ? 1 : 2, 1 + (uint32_t)(i % 7));
}
