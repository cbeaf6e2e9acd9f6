/* SPDX-License-Identifier: MIT */
/* Where a worker looks for work, in which order, and how much it takes from each place. */
#define RIG_TASK_COUNT 100u
#include "rig.h"

#include "sched/balance.h"

#define DRAIN 16u

static struct jzx__worker *other(void) {
    return rig.sched.workers[1];
}

static void search_open(void) {
    rig_open_with(2);
    rig.sched.cpu_count = 2;
    rig.sched.steal_max = 32;
    rig.sched.drain_max = DRAIN;
    jzx__atomic_store_relaxed(&rig.sched.active, 1u); /* another could come for the rest */
}

/* A thread without a worker has made it. */
static void submit(struct jzx__task *task) {
    assert_true(jzx__task_hold(task));
    task->place = JZX__OFFERED;
    jzx__atomic_store_relaxed(&task->owner, (uintptr_t)JZX__OWNER_OUT);
    assert_true(jzx__global_push(&rig.sched.global, task, RIG_TASK_COUNT) != 0);
}

static void offer_elsewhere(struct jzx__task *task) {
    assert_true(jzx__task_offer(task, jzx__worker_word(other()), &other()->deque));
}

/* Another thread has sent to it. */
static void inject(uint32_t index) {
    struct jzx__node *node = &rig.sent[index].node;
    node->weight = 1;
    if (JZX_EXPECT_EQ(jzx__task_push(&rig.tasks[index], node, 1), JZX__PUSH_OK_INJECT))
        jzx__task_inject(&rig.tasks[index], NULL);
}

/* What a round has run. */
static const char *round_of(uint32_t turns) {
    uint32_t before = rig.turns;
    (void)jzx__crew_round(rig_worker(), turns);
    return rig.trace + before;
}

static uint64_t stolen(void) {
    return jzx__counter_get(&rig_worker()->counters.stolen);
}

static uint64_t submitted(void) {
    return jzx__counter_get(&rig_worker()->counters.submitted);
}

JZX_TEST(a_worker_runs_its_own_then_entries_then_the_global_queue_then_steals, "D+aff") {
    search_open();
    submit(rig_task('g'));
    offer_elsewhere(rig_task('s'));
    inject('i' - 'a');
    rig_wake("l");
    assert_string_equal(round_of(100), "lig");
    JZX_EXPECT_EQ(stolen(), 0);
    JZX_EXPECT_EQ(jzx__crew_round(rig_worker(), 100), JZX__PASS_EMPTY);
    JZX_EXPECT(jzx__balance_find_work(rig_worker()));
    JZX_EXPECT_EQ(stolen(), 1);
    assert_string_equal(round_of(100), "s");
    JZX_EXPECT(!jzx__balance_find_work(rig_worker()));
    rig_close();
}

JZX_TEST(a_worker_without_work_takes_from_the_global_queue_before_it_steals, "D+aff", "D7") {
    search_open();
    submit(rig_task('g'));
    offer_elsewhere(rig_task('s'));
    JZX_EXPECT(jzx__balance_find_work(rig_worker()));
    JZX_EXPECT_EQ(submitted(), 1);
    JZX_EXPECT_EQ(stolen(), 0);
    assert_string_equal(round_of(100), "g");
    JZX_EXPECT(jzx__balance_find_work(rig_worker()));
    JZX_EXPECT_EQ(stolen(), 1);
    assert_string_equal(round_of(100), "s");
    rig_close();
}

JZX_TEST(a_round_takes_as_many_entries_as_are_configured, "D+aff") {
    search_open();
    for (uint32_t i = 0; i < 2 * DRAIN + 3; i++)
        inject(i);
    for (uint32_t left = 2 * DRAIN + 3; left != 0;) {
        uint32_t before = rig.turns;
        (void)jzx__crew_round(rig_worker(), RIG_TASK_COUNT);
        JZX_EXPECT_EQ(rig.turns - before, left < DRAIN ? left : DRAIN);
        left -= left < DRAIN ? left : DRAIN;
    }
    rig_close();
}

JZX_TEST(one_and_16_more_come_from_the_global_queue_and_32_at_most_from_another, "D+aff", "X10") {
    search_open();
    for (uint32_t i = 0; i < 20; i++)
        submit(&rig.tasks[i]);
    JZX_EXPECT(jzx__balance_find_work(rig_worker()));
    JZX_EXPECT_EQ(submitted(), 17);
    JZX_EXPECT_EQ(jzx__global_count(&rig.sched.global), 3);
    rig_run_on(17);
    JZX_EXPECT(jzx__balance_find_work(rig_worker()));
    JZX_EXPECT_EQ(submitted(), 20);
    rig_run_on(3);
    for (uint32_t i = 20; i < 100; i++)
        offer_elsewhere(&rig.tasks[i]);
    JZX_EXPECT(jzx__balance_find_work(rig_worker())); /* half would be 40 */
    JZX_EXPECT_EQ(stolen(), 32);
    JZX_EXPECT_EQ(jzx__deque_count(&other()->deque), 48);
    rig_run_on(32);
    JZX_EXPECT(jzx__balance_find_work(rig_worker()));
    JZX_EXPECT_EQ(stolen(), 32 + 24); /* half of the rest */
    rig_run_on(24);
    for (void *task; jzx__deque_steal(&other()->deque, &task) == JZX__STEAL_GOT;)
        continue;
    rig_close();
}
