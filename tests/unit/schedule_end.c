/* SPDX-License-Identifier: MIT */
/* A thread that was let in just before the scheduler closed, and leaves its job just after. */
#include "fixture.h"

#include "schedule/core/admit.h"
#include "schedule/core/life.h"
#include "schedule/item.h"
#include "schedule/owner.h"

#include <jzx/schedule_admin.h>

static unsigned woken;

static void wake(void *ctx, struct jzx__worker *me) {
    (void)me;
    woken += *(unsigned *)ctx;
}

/* As a thread does that finds the lock taken; it may have seen an open gate that is closed now. */
static struct jzx__schedule_result leave_wake(struct jzx__scheduler *scheduler, unsigned *ctx) {
    /* relaxed: no other thread is here */
    jzx__atomic_store_relaxed(&scheduler->core.gate, 0u);
    struct jzx__item_spec spec = {.wake = wake, .ctx = ctx};
    struct jzx__schedule_request request = {
        .mode = JZX__JOB_ONE_SHOT, .delay_ns = 1000000, .affinity = {JZX__AFFINITY_SUBSYSTEM, 1}};
    request.payload = jzx__item_create(scheduler, NULL, &spec);
    assert_non_null(request.payload);
    struct jzx__schedule_result result = jzx__schedule_submit(&scheduler->core, &request);
    jzx__schedule_publish(&scheduler->core);
    JZX_EXPECT_EQ(result.status, JZX__SCHEDULE_OK);
    return result;
}

static void end_loop(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
}

JZX_TEST(a_job_that_was_left_before_the_end_of_a_loop_ends_with_it, "B92") {
    unsigned one = 1;
    woken = 0;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.schedule = &JZX_SCHEDULE_CONFIG()));
    struct jzx__scheduler *scheduler = jzx__scheduler_of(loop);
    (void)leave_wake(scheduler, &one);
    end_loop(loop);
    assert_int_equal(woken, 1);
    fixture_destroy(loop);
    assert_int_equal(woken, 1);
}

JZX_TEST(a_thread_that_leaves_a_job_after_the_last_look_ends_it_itself, "B84", "B92") {
    unsigned one = 1;
    woken = 0;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.schedule = &JZX_SCHEDULE_CONFIG()));
    struct jzx__scheduler *scheduler = jzx__scheduler_of(loop);
    end_loop(loop);
    struct jzx__schedule_result late = leave_wake(scheduler, &one);
    assert_int_equal(woken, 0);
    jzx__owner_hand_over(scheduler, NULL);
    assert_int_equal(woken, 1);
    assert_int_equal(jzx__schedule_state(&scheduler->core, late.job), JZX__JOB_CANCELLED);
    fixture_destroy(loop);
    assert_int_equal(woken, 1);
}

JZX_TEST(a_job_that_is_left_before_the_last_look_ends_by_it, "B92") {
    unsigned one = 1;
    woken = 0;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.schedule = &JZX_SCHEDULE_CONFIG()));
    struct jzx__scheduler *scheduler = jzx__scheduler_of(loop);
    end_loop(loop);
    assert_true(jzx__owner_acquire(scheduler, NULL));
    (void)leave_wake(scheduler, &one);
    jzx__owner_end_looks(scheduler);
    jzx__owner_release(scheduler, JZX_NEVER);
    assert_int_equal(woken, 1);
    fixture_destroy(loop);
    assert_int_equal(woken, 1);
}
