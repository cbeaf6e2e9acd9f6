/* SPDX-License-Identifier: MIT */
/* K8 of worker.h: when a worker polls, and how it sleeps while it has I/O. */
#include "rig.h"

#include "sched/idle.h"

#include <pthread.h>
#include <sched.h>

static void take_time(uint64_t cost_ns) {
    jzx__clock_advance(&rig.sched.clock, cost_ns);
    jzx__worker_count_message(rig_worker());
}

/* A turn of many messages of 1 us each, and there is always another. */
static void never_done(struct jzx__task *task) {
    jzx__atomic_store_relaxed(&rig.seat.task, task);
    for (int i = 0; i < 20 && !rig_turn_is_over(); i++)
        take_time(1000);
    jzx__worker_requeue_any(rig_worker(), task);
}

/* Rounds of a busy worker for that long; returns the longest time between two polls. */
static uint64_t be_busy(uint64_t for_ns) {
    uint64_t begun = jzx__clock_now(&rig.sched.clock);
    uint64_t polled_at = begun;
    uint64_t longest = 0;
    for (uint64_t now = begun; now - begun < for_ns; now = jzx__clock_now(&rig.sched.clock)) {
        uint32_t polls = rig.polls;
        JZX_EXPECT_EQ(jzx__crew_round(rig_worker(), 1000), JZX__PASS_RAN);
        if (rig.polls == polls)
            continue;
        longest = now - polled_at > longest ? now - polled_at : longest;
        polled_at = now;
    }
    return longest;
}

JZX_TEST(a_busy_worker_with_io_polls_every_50_us, "C+loop") {
    rig_open();
    rig.on_turn = never_done;
    rig_wake("abc");
    rig_worker()->io_count = 1;
    uint64_t longest = be_busy(JZX_MS(10));
    JZX_EXPECT(longest >= JZX__POLL_NS && longest <= JZX__POLL_NS + 2 * JZX__TICK_NS);
    JZX_EXPECT(rig.polls >= 100 && rig.polls <= 200);
    rig_close();
}

JZX_TEST(a_worker_without_io_never_polls) {
    rig_open();
    rig.on_turn = never_done;
    rig_wake("abc");
    be_busy(JZX_MS(10));
    JZX_EXPECT_EQ(rig.polls, 0);
    rig_close();
}

/* Messages are counted instead. */
JZX_TEST(io_does_not_wait_for_a_clock_that_stands_still) {
    rig_open();
    rig.sched.clock.is_real = false;
    rig_worker()->io_count = 1;
    for (int i = 0; i < 4000 && rig.polls == 0; i++) {
        rig_wake("a");
        jzx__worker_count_message(rig_worker());
        jzx__crew_round(rig_worker(), 1000);
    }
    JZX_EXPECT_EQ(rig.polls, 1);
    rig_close();
}

JZX_TEST(a_poll_that_has_more_is_repeated_in_the_next_round) {
    rig_open();
    rig.more_polls = 2;
    rig_worker()->poll_due = true;
    for (uint32_t round = 1; round <= 5; round++) {
        jzx__crew_round(rig_worker(), 100);
        JZX_EXPECT_EQ(rig.polls, round < 3 ? round : 3);
    }
    rig_close();
}

/* ---- sleeping ---- */

static void find_io(struct jzx__worker *me) {
    JZX_EXPECT_EQ(jzx__atomic_load_seq_cst(&me->parker.state), JZX__SLEEPS_ON_FD);
    me->poll_due = true;
}

JZX_TEST(a_worker_with_io_sleeps_in_its_poller_and_what_is_ready_is_work) {
    rig_open();
    rig.on_wait = find_io;
    rig_worker()->io_count = 1;
    jzx__worker_idle(rig_worker());
    JZX_EXPECT_EQ(rig.waits, 1);
    JZX_EXPECT_EQ(jzx__atomic_load_seq_cst(&rig_worker()->parker.state), JZX__AWAKE);
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.parked), 1);
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.woken), 0);
    jzx__worker_idle(rig_worker()); /* it does not sleep before it has polled */
    JZX_EXPECT_EQ(rig.waits, 1);
    jzx__crew_round(rig_worker(), 100);
    JZX_EXPECT_EQ(rig.polls, 1);
    JZX_EXPECT(!rig_worker()->poll_due);
    rig_close();
}

JZX_TEST(what_came_before_keeps_a_worker_with_io_awake) {
    rig_open();
    rig_worker()->io_count = 1;
    rig_inject("a");
    jzx__worker_idle(rig_worker());
    JZX_EXPECT_EQ(rig.waits, 0);
    jzx__worker_drain_inject(rig_worker(), 1);
    assert_string_equal(rig_run(1), "a");
    rig_close();
}

static void *inject_one(void *arg) {
    (void)arg;
    while (!jzx__parker_sleeps(&rig_worker()->parker))
        sched_yield();
    rig_inject("a");
    return NULL;
}

JZX_TEST(another_thread_wakes_a_worker_that_sleeps_in_its_poller) {
    pthread_t thread;
    rig_open();
    rig_worker()->io_count = 1;
    assert_true(jzx__parker_open_fd(&rig_worker()->parker) >= 0);
    assert_int_equal(pthread_create(&thread, NULL, inject_one, NULL), 0);
    while (!jzx__worker_has_work(rig_worker()))
        jzx__worker_idle(rig_worker());
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT(rig.waits >= 1);
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.woken), 1);
    jzx__worker_drain_inject(rig_worker(), 1);
    assert_string_equal(rig_run(1), "a");
    rig_close();
}

JZX_TEST(what_is_ready_makes_the_descriptor_of_a_host_readable) {
    rig_open();
    struct pollfd entry = {.fd = jzx__parker_open_fd(&rig_worker()->parker), .events = POLLIN};
    rig_worker()->io_count = 1;
    jzx__worker_settle_fd(rig_worker());
    JZX_EXPECT_EQ(poll(&entry, 1, 0), 0);
    rig_worker()->poll_due = true;
    jzx__worker_settle_fd(rig_worker());
    JZX_EXPECT_EQ(poll(&entry, 1, 0), 1);
    rig_close();
}
