/* SPDX-License-Identifier: MIT */
/* A gentle stop that waits for its deadline: the host must come back in time for it. */
#include "loop/stop.h"

#include "fixture.h"

#include <jzx/clock.h>
#include <jzx/timer.h>

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

/* As after a step that has asked all to end, while one of them takes its time. */
static void pretend_to_stop(jzx_loop *loop, uint64_t deadline_ns) {
    /* relaxed, both: there is no other thread */
    jzx__atomic_store_relaxed(&loop->sched.stop, (uint32_t)JZX__STOPPING);
    jzx__atomic_store_relaxed(&loop->sched.stop_deadline_ns, deadline_ns);
    loop->sched.workers[0]->seen.stop = JZX__STOPPING;
}

JZX_TEST(the_next_deadline_is_that_of_the_stop_or_an_earlier_timer) {
    static const struct {
        uint64_t stop_ns;
        uint64_t timer_ns; /* 0: none */
        uint64_t expected_ns;
    } cases[] = {{JZX_MS(5), 0, JZX_MS(5)},
                 {JZX_MS(5), JZX_MS(900), JZX_MS(5)},
                 {JZX_MS(5), JZX_MS(3), JZX_MS(3)},
                 {JZX_NEVER, JZX_MS(3), JZX_MS(3)},
                 {JZX_NEVER, 0, JZX_NEVER}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        jzx_clock *clock = jzx_clock_manual(0);
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .clock = clock));
        assert_non_null(loop);
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
        if (cases[i].timer_ns != 0)
            JZX_EXPECT_EQ(jzx_send_after(loop, id, JZX_NOBODY, NULL, 0, 1, cases[i].timer_ns, NULL),
                          JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        pretend_to_stop(loop, cases[i].stop_ns);
        JZX_EXPECT_EQ(jzx_loop_next_deadline(loop), cases[i].expected_ns);
        if (cases[i].expected_ns == JZX_MS(5)) {
            JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_MS(5)), JZX_OK);
            JZX_EXPECT_EQ(jzx_loop_next_deadline(loop), 0); /* now, and step carries it out */
            JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
            JZX_EXPECT(!jzx_loop_alive(loop));
        }
        fixture_destroy(loop);
        jzx_clock_free(clock);
    }
}
