/* SPDX-License-Identifier: MIT */
/* Where a task begins that never ran: rule B6 of balance.c, on virtual time. */
#include "rig.h"

#include "sched/place.h"

static struct jzx__worker *other(void) {
    return rig.sched.workers[1];
}

static bool place(char name) {
    return jzx__place_begin_at(rig_worker(), rig_task(name), other());
}

/* The names of what was handed to worker 1. */
static const char *handed(void) {
    static char names[RIG_TASK_COUNT + 1];
    size_t count = 0;
    struct jzx__mpsc_node *entry = jzx__mpsc_take_all(jzx__worker_queue(other(), JZX__FEED_INJECT));
    for (; entry != NULL; entry = entry->next) {
        struct jzx__task *task = JZX_CONTAINER_OF(entry, struct jzx__task, injected);
        uintptr_t owner = jzx__atomic_load_relaxed(&task->owner);
        JZX_EXPECT_EQ(owner, jzx__worker_word(other()) | JZX__OWNER_OUT); /* I5 */
        JZX_EXPECT(!task->holds && !jzx__task_is_scheduled(task));
        names[count++] = rig_name(task);
    }
    names[count] = '\0';
    return names;
}

JZX_TEST(a_task_that_never_ran_begins_on_the_worker_that_is_named) {
    rig_open_with(2);
    rig_spawn("abc");
    rig_task('d')->place = JZX__NEW; /* it has nothing to do yet */
    assert_true(place('b'));
    assert_true(place('d'));
    assert_string_equal(handed(), "bd");
    assert_string_equal(rig_run(10), "ca");
    assert_int_equal(jzx__counter_get(&rig_worker()->counters.placed), 2);
    rig_close();
}

JZX_TEST(a_task_that_ran_or_is_bound_or_has_a_rank_stays_where_it_is) {
    rig_open_with(2);
    rig_spawn("ab");
    rig_task('b')->bound = JZX__BOUND_WORKER;
    rig_task('c')->rank = JZX__HIGH;
    jzx__task_set_rest(rig_task('c'), JZX__ASIDE);
    rig_task('c')->place = JZX__ASIDE;
    assert_string_equal(rig_run(1), "b");
    assert_string_equal(rig_run(1), "a");
    for (char name = 'a'; name <= 'c'; name++)
        assert_false(place(name));
    jzx__worker_ready(rig_worker(), rig_task('a'));
    jzx__worker_ready(rig_worker(), rig_task('c'));
    assert_false(place('a'));
    assert_false(place('c'));
    assert_string_equal(handed(), "");
    assert_string_equal(rig_run(10), "ca");
    assert_int_equal(jzx__counter_get(&rig_worker()->counters.placed), 0);
    rig_close();
}

/* I3: its token is the entry, and the entry is in this worker's queue. */
JZX_TEST(a_task_with_an_entry_under_way_stays_and_keeps_its_turn) {
    rig_open_with(2);
    rig_spawn("abc");
    rig_inject("b");
    assert_false(place('b'));
    assert_string_equal(handed(), "");
    jzx__worker_drain_inject(rig_worker(), 10);
    assert_string_equal(rig_run(2), "cb");
    assert_int_equal(rig.taken, 1);
    assert_string_equal(rig_run(2), "a");
    rig_close();
}

JZX_TEST(a_task_that_is_to_begin_here_is_bound_unless_it_ran) {
    rig_open_with(2);
    rig_spawn("ab");
    assert_string_equal(rig_run(1), "b");
    jzx__place_begin_here(rig_worker(), rig_task('a'));
    jzx__place_begin_here(rig_worker(), rig_task('b'));
    assert_int_equal(rig_task('a')->bound, JZX__BOUND_WORKER);
    assert_int_equal(rig_task('b')->bound, JZX__FREE);
    assert_false(place('a'));
    rig_close();
}

/* ---- whether a worker is busy ---- */

static uint64_t lost_ns; /* in which its thread had no CPU */

static uint64_t now(void) {
    return jzx__clock_now(&rig.sched.clock);
}

static uint64_t read_cpu(const struct jzx__clock *clock) {
    return jzx__clock_now(clock) - lost_ns;
}

static void pass(uint64_t ns) {
    jzx__clock_advance(&rig.sched.clock, ns);
}

static void be_preempted(uint64_t ns) {
    pass(ns);
    lost_ns += ns;
}

static void sleep_for(uint64_t ns) {
    uint64_t idle_at_ns = now();
    be_preempted(ns); /* a sleep uses no CPU either */
    jzx__worker_resume(rig_worker());
    jzx__place_wake(rig_worker(), idle_at_ns);
}

static void change_thread(void) {
    jzx__worker_resume(rig_worker());
    jzx__place_begin(rig_worker());
}

static bool is_busy(void) {
    return now() >= rig_worker()->balance.rest.until_ns;
}

/* The worker becomes busy after exactly so long. */
static void expect_busy_after(uint64_t ns) {
    pass(ns - 1);
    JZX_EXPECT(!is_busy());
    pass(1);
    JZX_EXPECT(is_busy());
}

static void open_awake(void) {
    lost_ns = 0;
    rig_open_with(2);
    rig.sched.clock.cpu = read_cpu;
    jzx__place_begin(rig_worker());
}

JZX_TEST(a_worker_is_busy_when_it_has_not_slept_for_a_millisecond) {
    open_awake();
    expect_busy_after(JZX__REST_NS); /* it has just begun */
    sleep_for(5 * JZX__REST_NS);
    expect_busy_after(JZX__REST_NS);
    sleep_for(JZX__REST_NS);
    expect_busy_after(JZX__REST_NS);
    assert_true(jzx__place_accept(rig_worker()));
    rig_close();
}

JZX_TEST(a_nap_makes_a_worker_rested_for_eight_times_as_long) {
    open_awake();
    expect_busy_after(JZX__REST_NS);
    sleep_for(1000);
    expect_busy_after(8000);
    sleep_for(JZX__REST_NS / 8 + 1);
    expect_busy_after(JZX__REST_NS);
    sleep_for(1000);
    pass(5000);
    sleep_for(1000); /* 3000 are left, and do not pass meanwhile */
    expect_busy_after(3000 + 8000);
    rig_close();
}

JZX_TEST(a_worker_that_naps_for_less_than_a_ninth_of_the_time_becomes_and_stays_busy) {
    open_awake();
    for (uint32_t i = 0; i < 3000; i++) {
        sleep_for(1000);
        pass(8500);
    }
    assert_true(is_busy());
    assert_true(jzx__place_accept(rig_worker())); /* the naps are no time that was lost */
    for (uint32_t i = 0; i < 3000; i++) {
        sleep_for(1000);
        pass(7500);
    }
    assert_false(is_busy());
    rig_close();
}

JZX_TEST(a_worker_that_gets_another_thread_is_as_busy_as_before) {
    open_awake();
    pass(JZX__REST_NS - 1);
    lost_ns += JZX__REST_NS / 2; /* the other thread has a CPU time of its own */
    change_thread();
    expect_busy_after(1);
    change_thread();
    assert_true(jzx__place_accept(rig_worker()));
    rig_close();
}

JZX_TEST(a_burst_of_connections_makes_no_worker_busy_but_work_between_them_does) {
    open_awake();
    for (uint32_t i = 0; i < 1000; i++) {
        assert_false(jzx__place_accept(rig_worker()));
        pass(JZX__REST_ACCEPT_NS);
    }
    uint32_t accepted = 0;
    while (!jzx__place_accept(rig_worker())) {
        pass(JZX__REST_ACCEPT_NS + 100000);
        accepted++;
    }
    assert_in_range(accepted, JZX__REST_NS / 100000, JZX__REST_NS / 100000 + 1);
    rig_close();
}

JZX_TEST(a_busy_worker_leaves_a_millisecond_of_a_burst_to_others) {
    open_awake();
    pass(100 * JZX__REST_NS);
    uint32_t spread = 0;
    while (jzx__place_accept(rig_worker()))
        spread++;
    assert_int_equal(spread, JZX__REST_NS / JZX__REST_ACCEPT_NS + 1);
    rig_close();
}

JZX_TEST(a_worker_is_not_busy_by_the_time_that_the_system_gave_to_others) {
    open_awake();
    be_preempted(3 * JZX__REST_NS);
    assert_false(jzx__place_accept(rig_worker()));
    for (uint32_t i = 0; i < 100; i++) { /* for most of the time */
        be_preempted(JZX__REST_NS);
        pass(JZX__REST_ACCEPT_NS);
        assert_false(jzx__place_accept(rig_worker()));
    }
    be_preempted(JZX__REST_NS);
    pass(2 * JZX__REST_NS);
    assert_true(jzx__place_accept(rig_worker()));
    rig_close();
}
