/* SPDX-License-Identifier: MIT */
/* What a worker does that has nothing to run: it looks around a few times, lets other threads run
 * in between, and then sleeps. sched_yield is ours here, so that a test sees each look. */
#include "sched/idle.h"
#include "rig.h"

#include <pthread.h>
#include <sched.h>

#define LOOKS_TIGHT 4u
#define LOOKS_ALL 16u

static uint32_t yields;
static uint32_t inject_at; /* the yield during which something comes; 0: none */
static bool is_counting;

int sched_yield(void) {
    if (!is_counting || !jzx__seat_exists(jzx__seat_of_thread))
        return 0;
    if (++yields == inject_at)
        rig_inject("a");
    return 0;
}

/* A worker beside another that sleeps, on a machine with two CPUs. */
static void idle_open(void) {
    rig_open_with(2);
    rig.sched.cpu_count = 2;
    jzx__atomic_store_relaxed(&rig.sched.active, 1u);
    yields = inject_at = 0;
    is_counting = true;
}

static void idle_close(void) {
    is_counting = false;
    rig_close();
}

static uint64_t parked(void) {
    return jzx__counter_get(&rig_worker()->counters.parked);
}

static void *inject_when_asleep(void *ctx) {
    (void)ctx;
    while (jzx__atomic_load_seq_cst(&rig_worker()->parker.state) == JZX__AWAKE)
        continue;
    rig_inject("a");
    return NULL;
}

static void idle_until_woken(void) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, inject_when_asleep, NULL), 0);
    jzx__worker_idle(rig_worker());
    assert_int_equal(pthread_join(thread, NULL), 0);
}

JZX_TEST(a_worker_looks_around_before_it_sleeps_until_it_is_woken, "D11", "X10") {
    idle_open();
    idle_until_woken();
    JZX_EXPECT_EQ(yields, LOOKS_ALL - LOOKS_TIGHT);
    JZX_EXPECT_EQ(parked(), 1);
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.woken), 1);
    JZX_EXPECT(jzx__worker_has_work(rig_worker()));
    idle_close();
}

JZX_TEST(what_comes_while_a_worker_looks_around_costs_no_sleep, "D11", "X10") {
    for (uint32_t at = 1; at <= LOOKS_ALL - LOOKS_TIGHT; at++) {
        idle_open();
        inject_at = at;
        jzx__worker_idle(rig_worker());
        JZX_EXPECT_EQ(yields, at);
        JZX_EXPECT_EQ(parked(), 0);
        JZX_EXPECT_EQ(jzx__atomic_load_relaxed(&rig.sched.spinners), 0); /* others may look now */
        idle_close();
    }
}

JZX_TEST(while_one_worker_looks_around_another_sleeps_at_once, "X10") {
    idle_open();
    jzx__atomic_store_relaxed(&rig.sched.spinners, 1u);
    idle_until_woken();
    JZX_EXPECT_EQ(yields, 0);
    JZX_EXPECT_EQ(parked(), 1);
    idle_close();
}

JZX_TEST(beyond_the_cpus_nobody_looks_around, "X10") {
    idle_open();
    jzx__atomic_store_relaxed(&rig.sched.active, 3u); /* two others are busy on two CPUs */
    idle_until_woken();
    JZX_EXPECT_EQ(yields, 0);
    JZX_EXPECT_EQ(parked(), 1);
    idle_close();
}

/* Worker 1 has announced that it sleeps, and nobody is awake. */
static bool wakes_sleeper(bool is_submit) {
    struct jzx__parker *parker = &rig.sched.workers[1]->parker;
    jzx__parker_announce(parker, JZX__SLEEPS_ON_FUTEX);
    jzx__atomic_store_relaxed(&rig.sched.active, 0u);
    if (is_submit) {
        rig_task('a')->holds = true;
        jzx__sched_submit(&rig.sched, rig_task('a'));
    } else {
        JZX_EXPECT(jzx__sched_wake_one(&rig.sched));
    }
    bool woken = jzx__atomic_load_relaxed(&parker->state) == JZX__AWAKE;
    jzx__parker_cancel(parker);
    return woken;
}

JZX_TEST(an_offer_is_left_to_a_worker_that_looks_around_but_not_what_comes_from_outside, "X10") {
    for (uint32_t spinners = 0; spinners < 2; spinners++) {
        idle_open();
        rig.sched.global_max = 4;
        jzx__atomic_store_relaxed(&rig.sched.spinners, spinners);
        JZX_EXPECT_EQ(wakes_sleeper(false), spinners == 0);
        JZX_EXPECT(wakes_sleeper(true));
        jzx__atomic_store_relaxed(&rig.sched.active, 1u);
        jzx__atomic_store_relaxed(&rig.sched.spinners, 0u);
        idle_close();
    }
}

JZX_TEST(on_one_cpu_nobody_looks_around, "X10") {
    idle_open();
    rig.sched.cpu_count = 1;
    idle_until_woken();
    JZX_EXPECT_EQ(yields, 0);
    JZX_EXPECT_EQ(parked(), 1);
    idle_close();
}

JZX_TEST(an_idle_worker_counts_as_idle_while_it_sleeps_and_as_active_after_it, "E4") {
    idle_open();
    idle_until_woken();
    JZX_EXPECT_EQ(jzx__atomic_load_relaxed(&rig.sched.active), 1);
    idle_close();
}
