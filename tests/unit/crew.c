/* SPDX-License-Identifier: MIT */
/* What a driver sees of a home thread that waits for its worker. Real threads: tests/api/home.c. */
#include "rig.h"

static struct jzx__thread waiting;

static void want_worker(struct jzx__thread *thread) {
    jzx__atomic_store_relaxed(&rig_worker()->wanted_by, thread);
}

/* Every turn makes its task ready again; the third is wanted by then, the fifth has a tick. */
static void run_on(struct jzx__task *task) {
    if (rig.turns == 3)
        want_worker(&waiting);
    if (rig.turns == 5)
        rig_tick(JZX__TICK_NS);
    JZX_EXPECT_EQ(rig_turn_is_over(), rig.turns == 5);
    jzx__order_requeue(&rig_worker()->order, task);
}

JZX_TEST(the_pass_of_a_substitute_ends_at_the_first_tick_after_its_worker_is_wanted) {
    rig_open();
    rig.on_turn = run_on;
    rig_wake("ab");
    assert_string_equal(rig_run(100), "babab");
    want_worker(NULL);
    rig_close();
}

static void run_on_with_ticks(struct jzx__task *task) {
    rig_tick(JZX__TICK_NS);
    jzx__order_requeue(&rig_worker()->order, task);
}

JZX_TEST(the_pass_of_a_home_thread_goes_on_over_ticks) {
    rig_open();
    rig.on_turn = run_on_with_ticks;
    rig_wake("ab");
    assert_string_equal(rig_run(9), "babababab");
    rig_close();
}
