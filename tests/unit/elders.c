/* SPDX-License-Identifier: MIT */
/* W3 of sched/order.h: spawned tasks run newest first, and the oldest of them wait no longer than
 * they must. */
#include "rig.h"

/* Each of s, t, u spawns the next one, a spawns x and y, x spawns z, and w spawns v. */
static void spawn_on(struct jzx__task *task) {
    switch (rig_name(task)) {
    case 's': rig_spawn("t"); break;
    case 't': rig_spawn("u"); break;
    case 'u': rig_spawn("s"); break;
    case 'a': rig_spawn("xy"); break;
    case 'x': rig_spawn("z"); break;
    case 'w': rig_spawn("v"); break;
    default: break;
    }
}

static void open_rig(void) {
    rig_open();
    rig.on_turn = spawn_on;
}

JZX_TEST(spawned_tasks_run_newest_first_until_the_time_of_the_oldest_has_come) {
    open_rig();
    rig_spawn("bcs"); /* b is the oldest */
    rig_tick(JZX__OLDEST_NS / 2);
    assert_string_equal(rig_run(3), "stu");
    rig_tick(JZX__OLDEST_NS / 2 - 1);
    assert_string_equal(rig_run(3), "stu");
    rig_tick(1);
    assert_string_equal(rig_run(5), "bcstu");
    rig_close();
}

JZX_TEST(elders_run_oldest_first_and_before_all_that_is_spawned_later) {
    open_rig();
    rig_spawn("bcde");
    rig_tick(JZX__OLDEST_NS);
    assert_string_equal(rig_run(1), "b");
    rig_spawn("f");
    assert_string_equal(rig_run(1), "f"); /* as if b had spawned it */
    assert_string_equal(rig_run(10), "cde");
    rig_spawn("gh");
    assert_string_equal(rig_run(10), "hg"); /* no elder is left */
    rig_close();
}

JZX_TEST(what_an_elder_spawns_runs_before_the_other_elders_and_newest_first) {
    open_rig();
    rig_spawn("abc");
    rig_tick(JZX__OLDEST_NS);
    assert_string_equal(rig_run(10), "ayxzbc");
    rig_close();
}

JZX_TEST(an_elder_that_spawns_on_and_on_delays_the_next_one_until_the_time_has_come_again) {
    open_rig();
    rig_spawn("sbc");
    rig_tick(JZX__OLDEST_NS);
    assert_string_equal(rig_run(6), "stustu");
    rig_tick(JZX__OLDEST_NS - 1);
    assert_string_equal(rig_run(3), "stu");
    rig_tick(1);
    assert_string_equal(rig_run(5), "bcstu");
    rig_close();
}

JZX_TEST(what_a_woken_task_spawns_does_not_run_before_elders) {
    open_rig();
    rig_wake("wb");
    rig_run(1); /* b: the next-slot is empty, w waits */
    rig_spawn("cde");
    rig_tick(JZX__OLDEST_NS - JZX__PASSED_NS);
    rig_tick(JZX__PASSED_NS); /* w was passed over: its time has come as well */
    assert_string_equal(rig_run(10), "cwdev");
    rig_close();
}

JZX_TEST(elders_that_leave_the_queue_by_another_way_do_not_count) {
    open_rig();
    rig_spawn("bcde");
    rig_tick(JZX__OLDEST_NS);
    assert_string_equal(rig_run(1), "b");
    jzx__order_unqueue(&rig_worker()->order, rig_task('c'));
    jzx__order_unqueue(&rig_worker()->order, rig_task('d'));
    assert_string_equal(rig_run(1), "e");
    rig_spawn("fg");
    assert_string_equal(rig_run(10), "gf");
    rig_close();
}

JZX_TEST(however_late_the_tick_the_oldest_task_runs_once_for_it) {
    open_rig();
    rig_spawn("bs");
    rig_tick(10 * JZX__OLDEST_NS);
    assert_string_equal(rig_run(5), "bstus");
    rig_tick(JZX__OLDEST_NS - 1);
    assert_string_equal(rig_run(3), "tus");
    rig_close();
}

JZX_TEST(the_time_of_the_oldest_task_does_not_keep_the_woken_waiting) {
    rig_open();
    rig_wake("wx");
    rig_run(1);
    rig_tick(JZX__OLDEST_NS); /* nothing is spawned */
    assert_string_equal(rig_run(1), "w");
    rig_close();
}
