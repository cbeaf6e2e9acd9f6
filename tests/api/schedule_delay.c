/* SPDX-License-Identifier: MIT */
/* Delays as futures, on jobs of the scheduler. */
#include "scheduling.h"

#include <jzx/combine.h>
#include <jzx/fiber.h>
#include <jzx/future.h>

static struct rig rig;

static jzx_future *delay(int64_t delay_ns) {
    jzx_future *future = NULL;
    JZX_EXPECT_EQ(jzx_schedule_delay_async(rig.loop, delay_ns, &future), JZX_OK);
    assert_non_null(future);
    return future;
}

/* It is resolved, without a value; gives the handle up. */
static void expect_over(jzx_future *future) {
    JZX_EXPECT_EQ(jzx_future_state(future), JZX_FUTURE_RESOLVED);
    JZX_EXPECT_EQ(jzx_future_value_size(future), 0);
    jzx_future_release(future);
}

JZX_TEST(a_delay_is_over_at_its_tick_and_not_before, "B84") {
    rig_open(&rig, NULL);
    jzx_future *future = delay(TICKS(3));
    JZX_EXPECT_EQ(jzx_future_state(future), JZX_FUTURE_RUNNING);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 1); /* a job as any */
    rig_pass(&rig, 2);
    JZX_EXPECT_EQ(jzx_future_state(future), JZX_FUTURE_RUNNING);
    rig_pass(&rig, 1);
    expect_over(future);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    JZX_EXPECT_EQ(rig_metrics(&rig).enqueued_total, 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).dropped_total, 0);
    rig_close(&rig);
}

/* ---- missed ticks ---- */

static uint32_t wakes;
static uint64_t woken_at_ns;

static void sleeper(jzx_context *ctx) {
    jzx_future *future = ctx->state;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, NULL), JZX_OK);
    wakes++;
    woken_at_ns = jzx_loop_now(ctx->loop);
}

JZX_TEST(ticks_that_were_missed_give_one_wake, "B84") {
    wakes = 0;
    rig_open(&rig, NULL);
    jzx_future *future = delay(TICKS(2));
    fixture_spawn(rig.loop, &JZX_SPAWN_OPTS(.fiber = sleeper, .state = future));
    rig_step(&rig);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(wakes, 0);
    rig_leap(&rig, TICKS(40));
    JZX_EXPECT_EQ(wakes, 1);
    JZX_EXPECT_EQ(woken_at_ns, TICKS(40));
    rig_pass(&rig, 5);
    JZX_EXPECT_EQ(wakes, 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).enqueued_total, 1);
    expect_over(future);
    rig_close(&rig);
}

JZX_TEST(ticks_by_hand_end_a_delay_without_a_turn_of_the_loop, "B84") {
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.driver_kind = JZX_DRIVER_MANUAL, .test_mode = true));
    jzx_future *future = delay(TICKS(2));
    JZX_EXPECT_EQ(jzx_schedule_advance(rig.loop, 1), JZX_OK);
    JZX_EXPECT(!jzx_future_is_ready(future));
    JZX_EXPECT_EQ(jzx_schedule_advance(rig.loop, 1), JZX_OK);
    expect_over(future); /* no turn of the loop was needed */
    rig_close(&rig);
}

/* ---- dropping ---- */

JZX_TEST(dropping_a_delay_cancels_its_job, "B84") {
    rig_open(&rig, NULL);
    jzx_future *kept = delay(TICKS(5));
    jzx_future *dropped = delay(TICKS(5));
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 2);
    jzx_future_release(dropped);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 1);
    jzx_future_release(jzx_future_ref(kept)); /* not the last handle */
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 1);
    jzx_future_cancel(kept);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    JZX_EXPECT_EQ(jzx_future_try(kept, NULL), JZX_ERR_CANCELLED);
    rig_pass(&rig, 6);
    JZX_EXPECT_EQ(rig_metrics(&rig).enqueued_total, 0);
    JZX_EXPECT_EQ(jzx_future_try(kept, NULL), JZX_ERR_CANCELLED);
    jzx_future_release(kept);
    rig_close(&rig);
}

JZX_TEST(a_detached_delay_goes_on_and_the_loser_of_a_race_does_not, "B84") {
    jzx_future *first = NULL;
    rig_open(&rig, NULL);
    jzx_future_detach(delay(TICKS(4)));
    jzx_future *inputs[2] = {delay(TICKS(1)), delay(TICKS(9))};
    JZX_EXPECT_EQ(jzx_future_race(rig.loop, inputs, 2, JZX_CANCEL_INPUTS, &first), JZX_OK);
    jzx_future_release(inputs[0]);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 3);
    rig_pass(&rig, 1);
    expect_over(first);
    JZX_EXPECT_EQ(jzx_future_try(inputs[1], NULL), JZX_ERR_CANCELLED);
    jzx_future_release(inputs[1]);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 1);
    rig_pass(&rig, 3);
    JZX_EXPECT_EQ(rig_metrics(&rig).active_total, 0);
    JZX_EXPECT_EQ(rig_metrics(&rig).enqueued_total, 2);
    rig_close(&rig);
}

/* ---- fail-open ---- */

JZX_TEST(a_delay_that_cannot_be_registered_is_over_at_once, "B84", "B+rules") {
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.profile = JZX_SCHEDULE_CUSTOM, .system_quota = 1));
    expect_over(delay(0));
    expect_over(delay(-1));
    expect_over(delay(TICKS((int64_t)INT32_MAX + 1)));
    rig_once(&rig, 1, TICKS(3));
    JZX_EXPECT_EQ(rig_try_once(&rig, TICKS(3), NULL), JZX_ERR_QUOTA_EXCEEDED);
    expect_over(delay(TICKS(3)));
    rig_pass(&rig, 3);
    jzx_future *registered = delay(TICKS(3)); /* there is room again */
    JZX_EXPECT(!jzx_future_is_ready(registered));
    JZX_EXPECT_EQ(jzx_schedule_shutdown(rig.loop, NULL), JZX_OK);
    expect_over(registered);
    expect_over(delay(TICKS(3)));
    rig_close(&rig);
}

/* Internal uses are High: overload neither refuses nor cancels them. */
JZX_TEST(a_delay_is_let_in_and_goes_on_under_overload, "B84", "B51", "B87") {
    rig_open(&rig, &JZX_SCHEDULE_CONFIG(.gauge_engaged_ticks = 1));
    jzx_future *before = delay(TICKS(5));
    JZX_EXPECT_EQ(jzx_schedule_push_load(rig.loop, 900), JZX_OK);
    rig_pass(&rig, 1);
    JZX_EXPECT_EQ(rig_metrics(&rig).pressure, JZX_PRESSURE_ENGAGED);
    JZX_EXPECT_EQ(rig_try_once(&rig, TICK_NS, NULL), JZX_ERR_BACKPRESSURED);
    jzx_future *meanwhile = delay(TICKS(4));
    JZX_EXPECT(!jzx_future_is_ready(before));
    JZX_EXPECT(!jzx_future_is_ready(meanwhile));
    rig_pass(&rig, 4);
    expect_over(before);
    expect_over(meanwhile);
    rig_close(&rig);
}

JZX_TEST(a_delay_wants_a_loop_and_a_place_for_its_future, "B+tests") {
    jzx_future *future = NULL;
    rig_open(&rig, NULL);
    JZX_EXPECT_EQ(jzx_schedule_delay_async(NULL, TICK_NS, &future), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_schedule_delay_async(rig.loop, TICK_NS, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT(future == NULL);
    rig_close(&rig);
}

JZX_TEST(the_end_of_a_loop_ends_its_delays_and_they_may_outlive_it, "B84", "B97") {
    rig_open(&rig, NULL);
    jzx_future *future = delay(TICKS(3));
    rig_close(&rig);
    expect_over(future);
}

/* Without memory for the future there is none; without memory for the job it is over. */
JZX_TEST(a_delay_without_memory_is_refused_or_over_and_leaves_nothing, "B84") {
    bool is_over = false;
    uint32_t refused = 0;
    for (uint64_t after = 0; after < 64 && !is_over; after++) {
        jzx_future *future = NULL;
        rig_open(&rig, NULL);
        fixture_fail_allocations(after, UINT64_MAX);
        jzx_err err = jzx_schedule_delay_async(rig.loop, TICK_NS, &future);
        fixture_fail_allocations(UINT64_MAX, UINT64_MAX);
        JZX_EXPECT(err == JZX_OK || (err == JZX_ERR_NO_MEMORY && future == NULL));
        refused += err != JZX_OK;
        is_over = err == JZX_OK && !jzx_future_is_ready(future);
        jzx_future_release(future);
        rig_close(&rig);
    }
    JZX_EXPECT(is_over);
    JZX_EXPECT(refused > 0);
}
