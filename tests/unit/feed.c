/* SPDX-License-Identifier: MIT */
/* The feeds of a loop's workers; those of a worker alone are in worker_inject.c. */
#include "actor/loop.h"

#include "jzx_test.h"

JZX_TEST(a_loop_for_which_a_source_has_something_is_alive_and_has_something_to_do) {
    jzx_config config = JZX_CONFIG(.workers = 2);
    jzx_loop *loop = jzx_loop_create(&config);
    assert_non_null(loop);
    JZX_EXPECT_EQ(loop->sched.feed_count, JZX__FEED_COUNT);
    for (uint32_t i = 0; i < 2 * loop->sched.feed_count; i++) {
        struct jzx__mpsc_node node;
        struct jzx__worker *worker = loop->sched.workers[i % 2];
        JZX_EXPECT(!jzx_loop_alive(loop));
        JZX_EXPECT_EQ(jzx_loop_next_deadline(loop), JZX_NEVER);
        jzx__worker_bring(worker, i / 2, &node);
        JZX_EXPECT(jzx_loop_alive(loop));
        JZX_EXPECT_EQ(jzx_loop_next_deadline(loop), 0);
        JZX_EXPECT(jzx__mpsc_take_all(jzx__worker_queue(worker, i / 2)) == &node);
    }
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
}
