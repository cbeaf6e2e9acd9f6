/* SPDX-License-Identifier: MIT */
/* The rules of balance, B1-B5 of balance.c, each by itself: a worker that is busy beside one that
 * is idle, on virtual time. */
#include "rig.h"

#include "sched/balance.h"

#define SHARE_AFTER_NS 20000u
#define RECLAIM_NS 200000u
#define MS 1000000u

static uint64_t now(void) {
    return jzx__clock_now(&rig.sched.clock);
}

static struct jzx__worker *other(void) {
    return rig.sched.workers[1];
}

static void balance_open(void) {
    rig_open_with(2);
    rig.sched.balance = JZX_BALANCE_ADAPTIVE;
    rig.sched.cpu_count = 2;
    rig.sched.steal_max = 32;
    jzx__atomic_store_relaxed(&rig.sched.active, 1u);
}

/* Worker 1 has none of these, so that they may be freed with the rig. */
static void balance_close(void) {
    jzx__mpsc_take_all(jzx__worker_queue(other(), JZX__FEED_INJECT));
    rig_close();
}

static void look(uint64_t after_ns) {
    jzx__clock_advance(&rig.sched.clock, after_ns);
    jzx__balance_tick(rig_worker(), now());
}

/* The names of what is on offer, as a thief gets them. */
static const char *offered(void) {
    static char names[RIG_TASK_COUNT + 1];
    size_t count = 0;
    void *task;
    while (jzx__deque_steal(&rig_worker()->deque, &task) == JZX__STEAL_GOT)
        names[count++] = rig_name(task);
    names[count] = '\0';
    return names;
}

static void set_message_cost(uint64_t ns) {
    rig_worker()->balance.msg_ns = ns;
}

/* ---- B1: spread ---- */

JZX_TEST(of_tasks_that_never_ran_every_second_is_offered_oldest_first, "E5", "X10") {
    balance_open();
    rig_spawn("abcdef");
    look(0);
    look(SHARE_AFTER_NS - 1);
    assert_string_equal(offered(), "");
    look(1);
    look(JZX__TICK_NS / 2); /* it was no hiccup */
    assert_string_equal(offered(), "ace");
    balance_close();
}

JZX_TEST(another_life_in_the_same_slot_has_not_waited) {
    balance_open();
    rig_spawn("ab");
    look(0);
    for (uint32_t generation = 1; generation < 20; generation++) {
        jzx__atomic_store_relaxed(&rig_task('a')->state, jzx__state_make(generation));
        look(SHARE_AFTER_NS - 1);
        assert_string_equal(offered(), "");
    }
    look(SHARE_AFTER_NS);
    look(JZX__TICK_NS / 2);
    assert_string_equal(offered(), "a");
    balance_close();
}

JZX_TEST(woken_tasks_are_offered_only_if_their_messages_are_worth_crossing) {
    for (uint32_t worth = 0; worth < 2; worth++) {
        balance_open();
        rig_wake("abcdx"); /* x is in the next-slot */
        set_message_cost(2 * JZX__CROSS_NS - 1 + worth);
        look(0);
        look(SHARE_AFTER_NS);
        set_message_cost(2 * JZX__CROSS_NS - 1 + worth); /* a window may have ended */
        look(JZX__TICK_NS / 2);
        assert_string_equal(offered(), worth != 0 ? "abc" : "");
        balance_close();
    }
}

JZX_TEST(nothing_is_offered_while_nobody_is_idle_or_no_cpu_is_free) {
    for (uint32_t tight = 0; tight < 2; tight++) {
        balance_open();
        if (tight != 0)
            rig.sched.cpu_count = 1;
        else
            jzx__atomic_store_relaxed(&rig.sched.active, 2u);
        rig_spawn("abcdef");
        look(0);
        look(10 * MS);
        look(10 * MS);
        assert_string_equal(offered(), "");
        balance_close();
    }
}

JZX_TEST(who_becomes_idle_gets_at_the_next_tick_what_has_waited_for_long) {
    balance_open();
    jzx__atomic_store_relaxed(&rig.sched.active, 2u);
    rig_spawn("abcd");
    look(0);
    look(SHARE_AFTER_NS);
    look(JZX__TICK_NS);
    jzx__atomic_store_relaxed(&rig.sched.active, 1u);
    look(0);
    assert_string_equal(offered(), "ac");
    balance_close();
}

JZX_TEST(a_task_that_is_bound_or_stays_is_not_offered, "D+aff") {
    balance_open();
    rig_task('a')->bound = JZX__BOUND_WORKER;
    rig_spawn("abcd");
    look(0);
    look(SHARE_AFTER_NS);
    look(JZX__TICK_NS / 2);
    assert_string_equal(offered(), "c");
    balance_close();
}

JZX_TEST(where_others_gather_only_what_never_ran_leaves) {
    for (uint32_t woken = 0; woken < 2; woken++) {
        balance_open();
        jzx__atomic_store_relaxed(&rig_worker()->balance.guests_until_ns, now() + 2 * MS);
        if (woken != 0)
            rig_wake("abcdx");
        else
            rig_spawn("abcd");
        set_message_cost(2 * JZX__CROSS_NS);
        look(0);
        look(SHARE_AFTER_NS);
        set_message_cost(2 * JZX__CROSS_NS);
        look(JZX__TICK_NS / 2);
        assert_string_equal(offered(), woken != 0 ? "" : "ac");
        balance_close();
    }
}

/* Worker 1 offers a task, and the worker takes it. */
static void rob_other(char name) {
    struct jzx__task *task = rig_task(name);
    jzx__atomic_store_relaxed(&task->owner, jzx__worker_word(other()));
    JZX_EXPECT(jzx__task_offer(task, jzx__worker_word(other()), &other()->deque));
    JZX_EXPECT(jzx__balance_find_work(rig_worker()));
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.stolen), 1);
}

JZX_TEST(a_thief_gives_away_what_is_worth_crossing_and_tries_nothing_else) {
    for (uint32_t worth = 0; worth < 2; worth++) {
        balance_open();
        rob_other('z');
        rig_wake("abcx");
        set_message_cost(2 * JZX__CROSS_NS - 1 + worth);
        look(0);
        look(SHARE_AFTER_NS);
        look(JZX__TICK_NS / 2);
        assert_string_equal(offered(), worth != 0 ? "zab" : "");
        set_message_cost(1);
        look(MS); /* it has been busy for long enough to try something, */
        assert_string_equal(offered(), "");
        look(MS); /* but only now others do not follow what it stole any more */
        assert_string_equal(offered(), worth != 0 ? "c" : "za");
        balance_close();
    }
}

/* ---- B2: explore, B3: reclaim ---- */

JZX_TEST(a_busy_worker_tries_now_and_then_to_share_what_does_not_wait_for_long) {
    balance_open();
    rig_wake("abcdx");
    look(MS - 1);
    assert_string_equal(offered(), "");
    look(1);
    assert_string_equal(offered(), "ab");
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.explored), 1);
    look(4 * MS - 1); /* the gap is four times as long now */
    assert_string_equal(offered(), "");
    look(1);
    assert_string_equal(offered(), "c");
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.explored), 2);
    balance_close();
}

JZX_TEST(an_experiment_after_which_all_is_gone_makes_the_next_one_wait_longer) {
    balance_open();
    rig_wake("abcdx");
    look(MS);
    assert_string_equal(offered(), "ab");
    jzx__balance_suspend(rig_worker(), now());
    jzx__balance_resume(rig_worker(), now());
    look(16 * MS - 1);
    assert_string_equal(offered(), "");
    look(1);
    assert_string_equal(offered(), "c");
    balance_close();
}

JZX_TEST(after_an_experiment_that_paid_the_next_one_waits_as_short_as_the_first) {
    for (uint32_t failed = 0; failed < 2; failed++) {
        balance_open();
        rig_wake("abcdefx");
        look(MS);
        assert_string_equal(offered(), "abc");
        jzx__atomic_store_relaxed(&rig.sched.active, 2u); /* somebody took them, */
        if (failed != 0)
            jzx__atomic_store_relaxed(&rig.sched.explore_failures, 1u);
        look(4 * MS); /* and is still at work; */
        jzx__atomic_store_relaxed(&rig.sched.active, 1u);
        jzx__atomic_store_relaxed(&rig.sched.explored_at_ns, now());
        look(MS - 1); /* then it has nothing to do any more */
        assert_string_equal(offered(), "");
        look(1);
        assert_string_equal(offered(), failed != 0 ? "" : "de");
        balance_close();
    }
}

JZX_TEST(what_nobody_takes_comes_back) {
    balance_open();
    rig_wake("abcdx");
    look(MS);
    JZX_EXPECT_EQ(jzx__deque_count(&rig_worker()->deque), 2);
    look(RECLAIM_NS - 1);
    JZX_EXPECT_EQ(jzx__deque_count(&rig_worker()->deque), 2);
    look(1);
    JZX_EXPECT_EQ(jzx__deque_count(&rig_worker()->deque), 0);
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.reclaimed), 2);
    JZX_EXPECT_EQ(jzx__order_depth(&rig_worker()->order), 5);
    balance_close();
}

/* ---- B4: gather, B5: follow ---- */

/* A window of this worker in which it sent so much to worker 1. */
static void cross(uint32_t messages, uint32_t crossings) {
    jzx__atomic_store_relaxed(&rig_task('z')->owner, jzx__worker_word(other()));
    rig_worker()->pass_handled += messages;
    for (uint32_t i = 0; i < crossings; i++)
        jzx__balance_crossed(rig_worker(), rig_task('z'));
    look(100000);
}

JZX_TEST(who_pays_too_much_for_crossing_moves_to_where_it_sends) {
    balance_open();
    look(0);
    cross(1024, 100); /* 35 us of 100 */
    JZX_EXPECT(!jzx__balance_wants_current(rig_worker(), rig_task('z')));
    cross(1024, 200); /* 70 us */
    JZX_EXPECT(jzx__balance_wants_current(rig_worker(), rig_task('z')));
    JZX_EXPECT(jzx__balance_gather(rig_worker(), rig_task('a')));
    JZX_EXPECT_EQ(jzx__atomic_load_relaxed(&rig_task('a')->owner) & ~JZX__OWNER_FLAGS,
                  jzx__worker_word(other()));
    JZX_EXPECT(rig_task('a')->stays != 0); /* it is not offered again for a while */
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.gathered), 1);
    rig_task('b')->heat = JZX__HEAVY;
    JZX_EXPECT(!jzx__balance_gather(rig_worker(), rig_task('b')));
    rig_task('c')->bound = JZX__BOUND_WORKER;
    JZX_EXPECT(!jzx__balance_gather(rig_worker(), rig_task('c')));
    balance_close();
}

JZX_TEST(those_that_only_listen_follow_where_the_others_gather) {
    balance_open();
    look(0);
    cross(1024, 200);
    JZX_EXPECT(jzx__balance_follow(rig_worker(), rig_task('a'), jzx__worker_word(other())));
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.followed), 1);
    JZX_EXPECT(!jzx__balance_follow(rig_worker(), rig_task('b'), jzx__worker_word(rig_worker())));
    balance_close();
}

JZX_TEST(after_a_theft_from_a_chatty_worker_tasks_follow_the_thief_for_a_while) {
    for (uint32_t chatty = 0; chatty < 2; chatty++) {
        balance_open();
        set_message_cost(chatty != 0 ? JZX__CROSS_NS : 10 * JZX__CROSS_NS);
        jzx__atomic_store_relaxed(&rig_worker()->robbed_by, other());
        look(0);
        uintptr_t thief = jzx__worker_word(other());
        JZX_EXPECT_EQ(jzx__balance_follow(rig_worker(), rig_task('a'), thief), chatty != 0);
        look(MS);
        JZX_EXPECT(!jzx__balance_follow(rig_worker(), rig_task('b'), thief));
        balance_close();
    }
}

JZX_TEST(a_thief_neither_gathers_nor_follows_for_a_while) {
    balance_open();
    rob_other('y');
    look(0);
    cross(1024, 200); /* it pays too much for crossing, */
    JZX_EXPECT(!jzx__balance_wants_current(rig_worker(), rig_task('z')));
    set_message_cost(JZX__CROSS_NS); /* is chatty, and was robbed itself */
    jzx__atomic_store_relaxed(&rig_worker()->robbed_by, other());
    look(0);
    JZX_EXPECT(!jzx__balance_follow(rig_worker(), rig_task('a'), jzx__worker_word(other())));
    look(2 * MS);
    cross(1024, 0); /* the window that began before */
    cross(1024, 200);
    JZX_EXPECT(jzx__balance_wants_current(rig_worker(), rig_task('z')));
    balance_close();
}

JZX_TEST(without_balance_nothing_moves) {
    balance_open();
    rig.sched.balance = JZX_BALANCE_NONE;
    rig_spawn("abcd");
    rig_wake("efgx");
    look(0);
    look(10 * MS);
    look(10 * MS);
    assert_string_equal(offered(), "");
    balance_close();
}
