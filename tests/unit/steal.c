/* SPDX-License-Identifier: MIT */
/* How much a thief takes, and from whom: workers that offer tasks beside one that has nothing to
 * do. */
#include "rig.h"

#include "sched/balance.h"

#define WORKERS 4u

static void steal_open(uint32_t batch) {
    rig_open_with(WORKERS);
    rig.sched.cpu_count = WORKERS;
    rig.sched.steal_max = batch;
    jzx__atomic_store_relaxed(&rig.sched.active, 1u); /* others could come for the rest */
}

/* The first count tasks from first on are on offer at a worker. */
static void offer_at(uint32_t worker, uint32_t first, uint32_t count) {
    struct jzx__worker *victim = rig.sched.workers[worker];
    for (uint32_t i = first; i < first + count; i++)
        assert_true(jzx__task_offer(&rig.tasks[i], jzx__worker_word(victim), &victim->deque));
}

static uint32_t on_offer_at(uint32_t worker) {
    return (uint32_t)jzx__deque_count(&rig.sched.workers[worker]->deque);
}

static uint64_t stolen(void) {
    return jzx__counter_get(&rig_worker()->counters.stolen);
}

static void take_back_all(void) {
    void *task;
    for (uint32_t i = 1; i < WORKERS; i++) {
        while (jzx__deque_steal(&rig.sched.workers[i]->deque, &task) == JZX__STEAL_GOT)
            continue;
    }
    rig_run_on(RIG_TASK_COUNT);
}

JZX_TEST(a_thief_takes_half_of_what_is_offered_and_the_last_one, "D7", "E5") {
    static const uint32_t offered[] = {1, 2, 3, 4, 7, 8, 20};
    static const uint32_t taken[] = {1, 1, 2, 2, 4, 4, 10};
    for (size_t i = 0; i < sizeof offered / sizeof *offered; i++) {
        steal_open(32);
        offer_at(2, 0, offered[i]);
        assert_true(jzx__balance_find_work(rig_worker()));
        assert_int_equal(stolen(), taken[i]);
        assert_int_equal(on_offer_at(2), offered[i] - taken[i]);
        assert_int_equal(jzx__order_depth(&rig_worker()->order), taken[i]);
        take_back_all();
        rig_close();
    }
}

JZX_TEST(a_thief_takes_no_more_than_its_batch, "D7", "E5") {
    for (uint32_t batch = 1; batch <= 8; batch++) {
        steal_open(batch);
        offer_at(1, 0, 20);
        assert_true(jzx__balance_find_work(rig_worker()));
        assert_int_equal(stolen(), batch);
        assert_int_equal(on_offer_at(1), 20 - batch);
        take_back_all();
        rig_close();
    }
}

JZX_TEST(a_thief_takes_from_one_victim_and_any_may_be_the_first, "D7", "E5") {
    uint32_t first[WORKERS] = {0};
    steal_open(32);
    for (uint32_t round = 0; round < 100; round++) {
        for (uint32_t i = 1; i < WORKERS; i++)
            offer_at(i, 2 * i, 2);
        uint64_t before = stolen();
        assert_true(jzx__balance_find_work(rig_worker()));
        assert_int_equal(stolen() - before, 1);
        for (uint32_t i = 1; i < WORKERS; i++)
            first[i] += on_offer_at(i) == 1;
        for (uint32_t i = 0; i < 3 * (WORKERS - 1) && stolen() - before < 2 * (WORKERS - 1); i++)
            jzx__balance_find_work(rig_worker());
        assert_int_equal(stolen() - before, 2 * (WORKERS - 1)); /* nobody is left out */
        rig_run_on(2 * (WORKERS - 1));
    }
    for (uint32_t i = 1; i < WORKERS; i++)
        JZX_EXPECT(first[i] >=
                   10); /* a quarter or half of them, by a generator with a fixed seed */
    rig_close();
}
