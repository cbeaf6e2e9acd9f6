/* SPDX-License-Identifier: MIT */
#include "actor/system.h"

#include "jzx_test.h"

JZX_TEST(a_loop_with_a_turn_to_take_back_is_alive) {
    struct jzx__seat seat = {0};
    jzx_loop *loop = jzx_loop_create(NULL);
    assert_non_null(loop);
    JZX_EXPECT(!jzx_loop_alive(loop));
    jzx__mpsc_push(&loop->sched.workers[0]->returns, &seat.returned);
    JZX_EXPECT(jzx_loop_alive(loop));
    jzx__mpsc_take_all(&loop->sched.workers[0]->returns);
    JZX_EXPECT(!jzx_loop_alive(loop));
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
}
