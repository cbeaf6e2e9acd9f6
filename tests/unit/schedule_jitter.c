/* SPDX-License-Identifier: MIT */
/* The jitter of the automatic driver. The scheduler takes the loop's clock for a real one, and the
 * test moves it. */
#include "fixture.h"

#include "schedule/scheduler.h"

#include <jzx/schedule_admin.h>

#define TICK_NS UINT64_C(10000000)

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

static jzx_loop *loop;
static uint64_t start_ns;

/* Worker 0 runs so late after that tick. Returns the worst drift until then. */
static uint64_t run_tick(uint64_t tick, uint64_t late_ns) {
    jzx_schedule_metrics metrics = {.size = sizeof metrics};
    jzx__clock_init_manual(&loop->sched.clock, start_ns + tick * TICK_NS + late_ns);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), tick);
    JZX_EXPECT_EQ(jzx_schedule_metrics_get(loop, &metrics), JZX_OK);
    return metrics.drift_worst_ns;
}

/* Its wheel counts milliseconds: so much is the driver's, the rest is drift. */
JZX_TEST(a_millisecond_of_the_automatic_driver_is_jitter_and_more_is_drift, "B17") {
    loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .schedule = &JZX_SCHEDULE_CONFIG()));
    assert_non_null(loop);
    start_ns = (jzx_loop_now(loop) / TICK_NS + 100) * TICK_NS;
    jzx__clock_init_manual(&loop->sched.clock, start_ns);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_actor_id to = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
    JZX_EXPECT_EQ(jzx_schedule_at_fixed_rate(loop, (int64_t)TICK_NS, (int64_t)TICK_NS, to,
                                             JZX_NOBODY, NULL, 0, 1, NULL),
                  JZX_OK);
    JZX_EXPECT_EQ(run_tick(1, 0), 0);
    JZX_EXPECT_EQ(run_tick(2, 900000), 0);
    JZX_EXPECT_EQ(run_tick(3, 1000000), 0);
    JZX_EXPECT_EQ(run_tick(4, 1600000), 600000);
    fixture_destroy(loop);
}
