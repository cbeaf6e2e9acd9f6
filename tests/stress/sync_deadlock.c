/* SPDX-License-Identifier: MIT */
/* Deadlocks over several workers: a ring is named once, wherever its members run; fibers that only
 * wait long are not. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/loop.h>
#include <jzx/observe.h>
#include <jzx/sync.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS = 3, MEMBERS = 7, FIBERS = 12, LOCKS = 4, TURNS = 40 };

static struct {
    jzx_loop *loop;
    jzx_actor_id ids[FIBERS];
    jzx_mutex mutexes[MEMBERS];
    atomic_uint reports;
    atomic_uint begun;
    atomic_uint ended;
    uint64_t count; /* of the report */
    char detail[512];
} s;

static void note_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_DEADLOCK)
        return;
    if (atomic_fetch_add(&s.reports, 1) == 0) {
        s.count = event->count;
        snprintf(s.detail, sizeof s.detail, "%s", event->detail);
    }
    JZX_EXPECT_EQ(jzx_actor_stop(s.loop, event->actor, JZX_STOP_KILL), JZX_OK);
}

static void open_loop(uint64_t after_ns) {
    memset(&s, 0, sizeof s);
    s.loop = fixture_loop_with(&JZX_CONFIG(.workers = WORKERS, .deadlock_after_ns = after_ns));
    assert_non_null(s.loop);
    assert_int_equal(jzx_loop_set_observer(s.loop, &JZX_OBSERVER(.on_event = note_event), NULL),
                     JZX_OK);
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(jzx_mutex_init(s.loop, &s.mutexes[i]), JZX_OK);
}

static void close_loop(void) {
    fixture_destroy(s.loop);
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(jzx_mutex_deinit(&s.mutexes[i]), JZX_OK);
}

/* ---- a ring ---- */

/* Has its own mutex, and wants that of the next when all have theirs. The one that is killed for
 * the report leaves its mutex to the one before, and so on: all end. */
static void be_member(jzx_context *ctx) {
    uintptr_t number = (uintptr_t)ctx->state;
    jzx_mutex *own = &s.mutexes[number];
    jzx_mutex *next = &s.mutexes[(number + 1) % MEMBERS];
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_mutex_lock(ctx, own, JZX_NEVER), JZX_OK);
    atomic_fetch_add(&s.begun, 1);
    while (atomic_load(&s.begun) != MEMBERS)
        jzx_yield(ctx);
    jzx_err err = jzx_mutex_lock(ctx, next, JZX_NEVER);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_OWNER_DIED);
    jzx_mutex_unlock(ctx, next);
    jzx_mutex_unlock(ctx, own);
    atomic_fetch_add(&s.ended, 1);
}

JZX_TEST(a_ring_over_several_workers_is_named_once) {
    char name[16];
    for (uint32_t round = 0; round < jzx_test_rounds(20, 200); round++) {
        open_loop(JZX_MS(1 + round % 4));
        for (uintptr_t i = 0; i < MEMBERS; i++) {
            snprintf(name, sizeof name, "member-%u", (unsigned)i);
            s.ids[i] = fixture_spawn(
                s.loop, &JZX_SPAWN_OPTS(.fiber = be_member, .state = (void *)i, .name = name,
                                        .place = round % 2 != 0 ? JZX_PLACE_ANY
                                                                : JZX_PLACE_WORKER(i % WORKERS),
                                        .migratable = round % 2 != 0));
        }
        assert_int_equal(jzx_loop_run(s.loop), JZX_OK); /* it would not end without the report */
        assert_int_equal(atomic_load(&s.reports), 1);
        assert_int_equal(s.count, MEMBERS);
        for (unsigned i = 0; i < MEMBERS; i++) {
            snprintf(name, sizeof name, "member-%u", i);
            assert_non_null(strstr(s.detail, name));
        }
        assert_int_equal(atomic_load(&s.ended), MEMBERS - 1);
        close_loop();
    }
    assert_true(jzx_test_runs() > 0);
}

/* ---- no ring ---- */

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void answer_some(jzx_context *ctx) {
    jzx_message msg;
    while (jzx_receive(ctx, 0, &msg) == JZX_OK)
        (void)jzx_reply(ctx, &msg, NULL, 0, 1);
}

/* Takes mutexes in their order and gives them back; then answers what came, and asks one of a
 * higher number, whose answer may come too late. */
static void be_orderly(jzx_context *ctx) {
    uintptr_t number = (uintptr_t)ctx->state;
    uint64_t state = number + 1;
    jzx_test_ran();
    for (int i = 0; i < TURNS; i++) {
        uint32_t first = (uint32_t)(next_random(&state) % LOCKS);
        uint64_t until = jzx_in(ctx, next_random(&state) % JZX_MS(3));
        jzx_err err = jzx_mutex_lock(ctx, &s.mutexes[first], until);
        if (err == JZX_OK) {
            uint32_t second = first + 1 + (uint32_t)(next_random(&state) % 2);
            if (jzx_mutex_lock(ctx, &s.mutexes[second], JZX_NEVER) == JZX_OK) {
                jzx_sleep(ctx, jzx_in(ctx, next_random(&state) % JZX_MS(2)));
                jzx_mutex_unlock(ctx, &s.mutexes[second]);
            }
            jzx_mutex_unlock(ctx, &s.mutexes[first]);
        }
        answer_some(ctx);
        if (number + 1 < FIBERS) {
            uint64_t other = number + 1 + next_random(&state) % (FIBERS - number - 1);
            (void)jzx_call(ctx, s.ids[other], NULL, 0, 2, jzx_in(ctx, JZX_MS(4)), NULL);
        }
    }
}

JZX_TEST(long_waits_over_several_workers_are_no_deadlock) {
    for (uint32_t round = 0; round < jzx_test_rounds(5, 60); round++) {
        open_loop(1); /* each wait that the next tick finds is looked at */
        for (uintptr_t i = FIBERS; i-- > 0;)
            s.ids[i] =
                fixture_spawn(s.loop, &JZX_SPAWN_OPTS(.fiber = be_orderly, .state = (void *)i,
                                                      .place = JZX_PLACE_WORKER(i % WORKERS)));
        assert_int_equal(jzx_loop_run(s.loop), JZX_OK);
        assert_int_equal(atomic_load(&s.reports), 0);
        close_loop();
    }
    assert_true(jzx_test_runs() > 0);
}
