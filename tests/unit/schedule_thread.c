/* SPDX-License-Identifier: MIT */
/* The thread that announces ticks, round by round, on a clock that the test moves. */
#include "schedule/driver.h"

#include "base/rng.h"
#include "fixture.h"

#include <jzx/schedule_admin.h>

#define RESOLUTION_NS 10000000u

/* Rounds of any length, from none to twenty ticks: the sum is what the clock says, tick by tick. */
JZX_TEST(a_thread_that_sleeps_too_long_announces_all_ticks_that_have_passed, "B+driver", "B24") {
    struct jzx__rng rng;
    jzx__rng_init(&rng, 26);
    jzx_clock *clock = jzx_clock_manual(7 * RESOLUTION_NS + 1);
    assert_non_null(clock);
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 1, .clock = clock,
                    .schedule = &JZX_SCHEDULE_CONFIG(.driver_kind = JZX_DRIVER_FOREIGN)));
    assert_non_null(loop);
    struct jzx__scheduler *scheduler = jzx__scheduler_of(loop);
    struct jzx__driver_thread *thread = &scheduler->thread;
    thread->source = &scheduler->core.source;
    thread->resolution_ns = RESOLUTION_NS;
    uint64_t last = 7;
    uint64_t announced = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        JZX_EXPECT_EQ(jzx_clock_advance(clock, jzx__rng_below(&rng, 20 * RESOLUTION_NS)), JZX_OK);
        last = jzx__driver_announce(thread, last);
        announced += jzx__tick_source_pull(&scheduler->core.source);
        uint64_t now = jzx_clock_now(clock);
        JZX_EXPECT_EQ(last, now / RESOLUTION_NS);
        JZX_EXPECT_EQ(announced, now / RESOLUTION_NS - 7);
        /* relaxed: this thread has written it */
        JZX_EXPECT(jzx__atomic_load_relaxed(&thread->jitter_ns) < RESOLUTION_NS);
    }
    fixture_destroy(loop);
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}
