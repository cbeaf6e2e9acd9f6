/* SPDX-License-Identifier: MIT */
/* Attacks on what docs/guarantees.md promises about containment: faults in inits, behaviours and
 * in the cleanups that follow, among actors that count every message. */
#include "fixture.h"

#include "faults.h"

#include <stdatomic.h>

enum { NUDGE = 1, BALL };

#define FAULTY 60u
#define PLAYERS 20u
#define BALLS 200u

static atomic_uint cleanups;
static atomic_uint faults;
static uint32_t balls[PLAYERS];

static jzx_err faulty_init(jzx_context *ctx) {
    if ((uintptr_t)ctx->state % 3 == 0)
        do_fault(READ_NULL);
    return JZX_OK;
}

static jzx_behavior_result faulty(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    do_fault((uintptr_t)ctx->state % 3 == 1 ? WRITE_NULL : WILD_READ);
    JZX_EXPECT(false);
    return JZX_BEHAVIOR_OK;
}

static void faulty_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    JZX_EXPECT_EQ(reason, JZX_EXIT_FAULT);
    atomic_fetch_add(&cleanups, 1);
    if ((uintptr_t)ctx->state % 2 == 0)
        do_fault(ILLEGAL);
}

static void count_faults(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_ACTOR_FAIL && JZX_EXPECT_EQ(event->reason, JZX_EXIT_FAULT))
        atomic_fetch_add(&faults, 1);
}

static jzx_behavior_result player(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *count = ctx->state;
    jzx_test_ran();
    if (++*count == BALLS)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, msg->tag);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(faults_in_faulty_ends_are_felt_by_nobody_on_several_workers) {
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 3, .contain = JZX_CONTAIN_FAULTS | JZX_CONTAIN_OVERFLOW));
    assert_non_null(loop);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = count_faults), NULL),
                     JZX_OK);
    for (uint32_t i = 0; i < FAULTY; i++) {
        if (i < PLAYERS) {
            jzx_actor_id id =
                fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = player, .state = &balls[i]));
            fixture_send(loop, id, BALL);
        }
        jzx_actor_id id = fixture_spawn(
            loop,
            &JZX_SPAWN_OPTS(.behavior = faulty, .init = faulty_init, .cleanup = faulty_cleanup,
                            .state = (void *)(uintptr_t)i, .place = JZX_PLACE_WORKER(i % 3)));
        fixture_send(loop, id, NUDGE);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(atomic_load(&cleanups), FAULTY);
    JZX_EXPECT_EQ(atomic_load(&faults), FAULTY);
    JZX_EXPECT_EQ(jzx_test_runs(), PLAYERS * BALLS);
    fixture_destroy(loop);
}
