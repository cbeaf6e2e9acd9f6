/* SPDX-License-Identifier: MIT */
/* Which task a worker runs next (W1-W5 of order.h) and when a turn or a pass ends, on a manual
 * clock. */
#include "child.h"
#include "rig.h"

/* ---- run order ---- */

JZX_TEST(spawned_tasks_run_newest_first) {
    rig_open();
    rig_spawn("abcd");
    assert_string_equal(rig_run(100), "dcba");
    rig_close();
}

JZX_TEST(woken_tasks_run_oldest_first) {
    rig_open();
    for (const char *name = "abcd"; *name != '\0'; name++)
        jzx__worker_ready(rig_worker(), rig_task(*name));
    assert_string_equal(rig_run(100), "abcd");
    rig_close();
}

JZX_TEST(a_woken_task_goes_behind_those_that_wait_unless_the_next_slot_is_free) {
    rig_open();
    rig_wake("ab"); /* b is next, a waits */
    jzx__order_requeue(&rig_worker()->order, rig_task('x'));
    rig_wake("c");
    assert_string_equal(rig_run(1), "b");
    rig_wake("d"); /* the slot is free again */
    assert_string_equal(rig_run(100), "daxc");
    rig_close();
}

JZX_TEST(a_task_that_is_scheduled_is_not_queued_again) {
    rig_open();
    rig_spawn("s");
    rig_wake("ab");
    rig_wake("aabb");
    rig_spawn("s");
    assert_string_equal(rig_run(100), "bsa");
    JZX_EXPECT(!jzx__worker_has_work(rig_worker()));
    rig_close();
}

JZX_TEST(a_task_that_is_taken_out_of_its_queue_does_not_run_and_the_others_do) {
    rig_open();
    rig_spawn("rst");
    rig_wake("wxya");                                        /* a is next */
    for (const char *name = "asxz"; *name != '\0'; name++) { /* z is in no queue */
        jzx__worker_unqueue(rig_worker(), rig_task(*name));
        rig_task(*name)->place = JZX__IDLE;
    }
    assert_string_equal(rig_run(100), "trwy");
    rig_close();
}

static void requeue_three_times(struct jzx__task *task) {
    if (rig.turns <= 6)
        jzx__order_requeue(&rig_worker()->order, task);
}

JZX_TEST(tasks_that_requeue_themselves_take_turns) {
    rig_open();
    rig.on_turn = requeue_three_times;
    rig_wake("ba"); /* a next, then b */
    assert_string_equal(rig_run(100), "abababab");
    rig_close();
}

static void a_wakes_b_and_spawns_s(struct jzx__task *task) {
    if (rig_name(task) == 'a') {
        rig_spawn("s");
        rig_wake("b");
    }
}

JZX_TEST(who_is_woken_during_a_turn_runs_before_the_spawned_and_the_waiting) {
    rig_open();
    rig.on_turn = a_wakes_b_and_spawns_s;
    rig_wake("wa");
    assert_string_equal(rig_run(100), "absw");
    rig_close();
}

/* ---- W1 ---- */

static void a_and_b_wake_each_other(struct jzx__task *task) {
    if (rig_name(task) == 'a')
        rig_wake("b");
    else if (rig_name(task) == 'b')
        rig_wake("a");
    else
        jzx__order_requeue(&rig_worker()->order, task);
}

/* The longest stretch of a trace without this name. */
static uint32_t longest_without(const char *trace, char name) {
    uint32_t longest = 0;
    uint32_t now = 0;
    for (; *trace != '\0'; trace++) {
        now = *trace == name ? 0 : now + 1;
        longest = now > longest ? now : longest;
    }
    return longest;
}

static uint32_t count_of(const char *trace, char name) {
    uint32_t count = 0;
    for (; *trace != '\0'; trace++)
        count += *trace == name;
    return count;
}

JZX_TEST(a_pair_that_wakes_each_other_lets_a_waiting_task_through) {
    rig_open();
    rig.on_turn = a_and_b_wake_each_other;
    rig_wake("wa");
    const char *trace = rig_run(1000);
    JZX_EXPECT_EQ(strlen(trace), 1000);
    JZX_EXPECT(longest_without(trace, 'w') <= JZX__NEXT_RUN_MAX);
    JZX_EXPECT(longest_without(trace, 'w') >= JZX__NEXT_RUN_MAX / 2); /* the slot is of use */
    JZX_EXPECT(count_of(trace, 'a') > 500 - JZX__NEXT_RUN_MAX / 2);
    rig_close();
}

/* Who has waited begins the next run, after w: all of them, one after the other, and again. */
static void expect_turns_in_waiting(void (*on_turn)(struct jzx__task *), uint32_t talkers) {
    rig_open();
    rig.on_turn = on_turn;
    rig_wake("wa");
    const char *trace = rig_run(8 * JZX__NEXT_RUN_MAX);
    char begun[16] = "";
    uint32_t runs = 0;
    for (const char *w = strchr(trace, 'w'); w != NULL && w[1] != '\0'; w = strchr(w + 1, 'w'))
        begun[runs++] = w[1];
    JZX_EXPECT(runs >= 2 * talkers);
    for (uint32_t i = 0; i + talkers <= runs; i++) {
        for (uint32_t k = 1; k < talkers; k++)
            JZX_EXPECT(begun[i + k] != begun[i]);
    }
    rig_close();
}

JZX_TEST(the_two_of_a_pair_take_turns_in_who_waits) {
    expect_turns_in_waiting(a_and_b_wake_each_other, 2);
}

static void each_wakes_the_next_of_three(struct jzx__task *task) {
    switch (rig_name(task)) {
    case 'a': rig_wake("b"); break;
    case 'b': rig_wake("c"); break;
    case 'c': rig_wake("a"); break;
    default: jzx__order_requeue(&rig_worker()->order, task);
    }
}

JZX_TEST(the_three_of_a_circle_take_turns_in_who_waits) {
    expect_turns_in_waiting(each_wakes_the_next_of_three, 3);
}

static uint32_t ticks_in[2]; /* these turns have a whole tick each */

static void the_same_with_two_ticks(struct jzx__task *task) {
    if (rig.turns == ticks_in[0] || rig.turns == ticks_in[1])
        rig_tick(JZX__TICK_NS);
    a_and_b_wake_each_other(task);
}

JZX_TEST(a_pair_that_wakes_each_other_lets_a_waiting_task_through_at_its_second_tick) {
    rig_open();
    rig.on_turn = the_same_with_two_ticks;
    ticks_in[0] = 2;
    ticks_in[1] = 4;
    rig_wake("wa");
    assert_string_equal(rig_run(8), "ababwaba");
    rig_close();
}

/* Of two ticks one is in the last turn before w's, the other soon after it, in another run. */
JZX_TEST(a_tick_counts_for_the_run_that_it_fell_into) {
    rig_open();
    rig.on_turn = the_same_with_two_ticks;
    ticks_in[0] = JZX__NEXT_RUN_MAX - 1;
    ticks_in[1] = JZX__NEXT_RUN_MAX + 2;
    rig_wake("wa");
    const char *trace = rig_run(2 * JZX__NEXT_RUN_MAX + 1);
    JZX_EXPECT_EQ(strchr(trace, 'w') - trace, JZX__NEXT_RUN_MAX - 1);
    JZX_EXPECT_EQ(count_of(trace, 'w'), 2);
    JZX_EXPECT_EQ(strrchr(trace, 'w') - trace, 2 * JZX__NEXT_RUN_MAX);
    rig_close();
}

static void the_same_with_early_ticks(struct jzx__task *task) {
    rig_tick(JZX__TICK_NS / 2 - 1);
    a_and_b_wake_each_other(task);
}

JZX_TEST(ticks_that_come_early_leave_a_pair_alone) {
    rig_open();
    rig.on_turn = the_same_with_early_ticks;
    rig_wake("wa");
    assert_string_equal(rig_run(4), "abab");
    rig_close();
}

JZX_TEST(a_pair_that_wakes_each_other_lets_a_spawned_task_through) {
    rig_open();
    rig.on_turn = a_and_b_wake_each_other;
    rig_spawn("s");
    rig_wake("a");
    const char *trace = rig_run(JZX__NEXT_RUN_MAX + 1);
    JZX_EXPECT_EQ(count_of(trace, 's'), 1);
    rig_close();
}

JZX_TEST(a_pair_that_wakes_each_other_goes_on_undisturbed_while_nobody_waits) {
    rig_open();
    rig.on_turn = a_and_b_wake_each_other;
    rig_wake("a");
    const char *trace = rig_run(200);
    for (uint32_t i = 0; i < 200; i++)
        JZX_EXPECT_EQ(trace[i], i % 2 == 0 ? 'a' : 'b');
    rig_close();
}

/* ---- W2, W3 ---- */

/* Each of s, t, u spawns the next one: there is always a newest. Others just end. */
static void spawn_on_and_on(struct jzx__task *task) {
    char name = rig_name(task);
    const char next[2] = {name == 's' ? 't' : name == 't' ? 'u' : 's', '\0'};
    if (name >= 's' && name <= 'u')
        rig_spawn(next);
}

JZX_TEST(woken_tasks_that_were_passed_over_for_long_go_first) {
    rig_open();
    rig.on_turn = spawn_on_and_on;
    rig_wake("abcdx");
    rig_run(1); /* x: the next-slot is empty, a to d wait */
    rig_spawn("s");
    assert_string_equal(rig_run(4), "stus");
    rig_tick(JZX__PASSED_NS / 2);
    rig_tick(JZX__PASSED_NS / 2 - 1);
    assert_string_equal(rig_run(4), "tust");
    rig_tick(1);
    assert_string_equal(rig_run(6), "abcdus");
    rig_close();
}

JZX_TEST(they_go_first_for_a_tick_and_again_after_as_long) {
    rig_open();
    rig.on_turn = spawn_on_and_on;
    rig_wake("abcdx");
    rig_run(1);
    rig_spawn("s");
    rig_tick(JZX__PASSED_NS);
    assert_string_equal(rig_run(2), "ab");
    rig_tick(JZX__PASSED_NS);
    assert_string_equal(rig_run(3), "stu"); /* a and b were served since the last tick */
    rig_tick(JZX__PASSED_NS - 1);
    assert_string_equal(rig_run(2), "st");
    rig_tick(1);
    assert_string_equal(rig_run(4), "cdus");
    rig_close();
}

static void spawn_in_b(struct jzx__task *task) {
    if (rig_name(task) == 'b')
        rig_spawn("z");
    else
        spawn_on_and_on(task);
}

JZX_TEST(who_spawns_does_not_go_first_again) {
    rig_open();
    rig.on_turn = spawn_in_b;
    rig_wake("abcdx");
    rig_run(1);
    rig_spawn("s");
    rig_tick(JZX__PASSED_NS);
    assert_string_equal(rig_run(5), "abzst"); /* c waits behind what b has made */
    rig_close();
}

JZX_TEST(with_nothing_spawned_the_woken_run_in_order) {
    rig_open();
    rig_wake("abcdx");
    rig_run(1);
    rig_tick(JZX__TICK_NS);
    rig_tick(JZX__TICK_NS);
    assert_string_equal(rig_run(100), "abcd");
    rig_close();
}

/* a and b wake each other, s to u spawn on, w and o run once; a tick every three turns. */
static void pairs_and_spawners(struct jzx__task *task) {
    char name = rig_name(task);
    if (name == 'w' || name == 'o')
        return;
    if (name == 'a' || name == 'b')
        a_and_b_wake_each_other(task);
    else
        spawn_on_and_on(task);
    if (rig.turns % 3 == 0)
        rig_tick(JZX__TICK_NS);
}

JZX_TEST(nobody_starves_beside_a_pair_and_a_chain_of_spawns) {
    rig_open();
    rig.on_turn = pairs_and_spawners;
    rig_spawn("os"); /* o is the oldest spawned */
    rig_wake("wa");  /* w waits */
    const char *trace = rig_run_on(1000);
    JZX_EXPECT_EQ(count_of(trace, 'o'), 1);
    JZX_EXPECT_EQ(count_of(trace, 'w'), 1);
    JZX_EXPECT(count_of(trace, 'a') > 100);
    JZX_EXPECT(count_of(trace, 's') > 5);
    rig_close();
}

/* ---- W4 ---- */

/* What happens in a's turn: ticks after these times, while so many messages make a tick. */
static struct {
    uint32_t tick_every;
    uint64_t after_ns[3]; /* ends with 0 */
} ticking;

/* For each of them, whether the turn was over: x or a dot. */
static char over[4];

static void tick_on(struct jzx__task *task) {
    if (rig_name(task) != 'a')
        return;
    memset(over, 0, sizeof over);
    for (uint32_t i = 0; i < 3 && ticking.after_ns[i] != 0; i++) {
        rig_worker()->meter.tick_every = ticking.tick_every;
        rig_tick(ticking.after_ns[i]);
        over[i] = rig_turn_is_over() ? 'x' : '.';
    }
}

/* The turn of a with these ticks, while s waits. */
static const char *over_after(uint32_t tick_every, uint64_t first, uint64_t second,
                              uint64_t third) {
    rig_open();
    rig.on_turn = tick_on;
    ticking.tick_every = tick_every;
    ticking.after_ns[0] = first;
    ticking.after_ns[1] = second;
    ticking.after_ns[2] = third;
    rig_spawn("s");
    rig_wake("a");
    assert_string_equal(rig_run(1), "a");
    rig_close();
    return over;
}

JZX_TEST(a_turn_of_short_messages_is_over_its_time_after_its_first_tick) {
    assert_string_equal(over_after(8, 1, JZX__TURN_NS - 1, 1), "..x");
    assert_string_equal(over_after(8, 1, JZX__TURN_NS, 0), ".x");
    /* what went before the first tick was not all this turn's */
    assert_string_equal(over_after(8, JZX__TURN_NS, JZX__TURN_NS - 1, 1), "..x");
    assert_string_equal(over_after(8, JZX__PASS_NS - 3, 1, 1), "...");
}

JZX_TEST(a_turn_whose_every_message_ticks_is_over_when_its_time_is) {
    assert_string_equal(over_after(1, JZX__TURN_NS, 0, 0), "x");
    assert_string_equal(over_after(1, JZX__TURN_NS - 1, 1, 0), ".x");
    assert_string_equal(over_after(1, JZX__TURN_NS / 2, JZX__TURN_NS / 2 - 1, 1), "..x");
}

static void wake_n_and_tick_on(struct jzx__task *task) {
    if (rig_name(task) == 'a')
        rig_wake("n"); /* into the next-slot */
    tick_on(task);
}

JZX_TEST(a_turn_is_over_by_time_only_if_others_wait) {
    enum { NOBODY, SPAWNED, WOKEN, INJECTED, NEXT };
    for (int who = NOBODY; who <= NEXT; who++) {
        rig_open();
        rig.on_turn = who == NEXT ? wake_n_and_tick_on : tick_on;
        ticking.tick_every = 1;
        ticking.after_ns[0] = ticking.after_ns[1] = ticking.after_ns[2] = JZX__TURN_NS;
        rig_wake("a");
        if (who == SPAWNED)
            rig_spawn("s");
        else if (who == WOKEN)
            jzx__order_requeue(&rig_worker()->order, rig_task('w'));
        else if (who == INJECTED)
            rig_inject("i");
        assert_string_equal(rig_run(1), "a");
        assert_string_equal(over, who == NOBODY ? "..." : "xxx");
        rig_close();
    }
}

JZX_TEST(each_turn_has_a_time_of_its_own) {
    for (uint32_t tick_every = 1; tick_every <= 8; tick_every += 7) {
        rig_open();
        rig.on_turn = tick_on;
        ticking.tick_every = tick_every;
        ticking.after_ns[0] = JZX__TURN_NS - 1;
        ticking.after_ns[1] = 0;
        rig_spawn("s");
        for (int turn = 0; turn < 5; turn++) {
            rig_wake("a");
            rig_worker()->order.next_left = 2; /* whatever the ticks say: it is a's turn */
            assert_string_equal(rig_run(1), "a");
            assert_string_equal(over, ".");
        }
        rig_close();
    }
}

JZX_TEST(time_in_which_nobody_drove_the_worker_is_not_the_turns) {
    rig_open();
    rig_spawn("s");
    jzx__clock_advance(&rig.sched.clock, 1000000000);
    jzx__worker_resume(rig_worker());
    rig_begin_turn();
    rig_tick(JZX__TURN_NS - 1);
    JZX_EXPECT(!rig_turn_is_over());
    rig_tick(1);
    JZX_EXPECT(rig_turn_is_over());
    rig_close();
}

/* Counts messages that cost so much each, and returns how many ticks came. */
static uint32_t ticks_of(uint32_t messages, uint64_t cost_ns) {
    uint32_t ticks = 0;
    for (uint32_t i = 0; i < messages; i++) {
        uint64_t before = rig_worker()->tick_at_ns;
        jzx__clock_advance(&rig.sched.clock, cost_ns);
        jzx__worker_count_message(rig_worker());
        ticks += rig_worker()->tick_at_ns != before;
    }
    return ticks;
}

JZX_TEST(ticks_come_about_every_ten_microseconds_whatever_a_message_costs) {
    static const uint64_t costs_ns[] = {10, 100, 300, 1000, 3000, 9000};
    for (size_t i = 0; i < sizeof costs_ns / sizeof costs_ns[0]; i++) {
        rig_open();
        ticks_of(3000, costs_ns[i]); /* adapts */
        uint64_t ticks = ticks_of(30000, costs_ns[i]);
        uint64_t between_ns = 30000 * costs_ns[i] / ticks;
        JZX_EXPECT(between_ns >= JZX__TICK_NS / 2);
        JZX_EXPECT(between_ns <= 2 * JZX__TICK_NS);
        rig_close();
    }
}

JZX_TEST(however_short_a_message_the_ticks_are_not_far_apart) {
    rig_open();
    ticks_of(3000, 1);
    JZX_EXPECT_EQ(ticks_of(100 * JZX__TICK_MSGS_MAX, 1), 100);
    rig_close();
}

JZX_TEST(however_long_a_message_each_is_a_tick_and_short_ones_are_not_for_long) {
    rig_open();
    ticks_of(3000, 1);
    ticks_of(JZX__TICK_MSGS_MAX, 1000000); /* one tick notices that they are long now */
    JZX_EXPECT_EQ(ticks_of(50, 1000000), 50);
    ticks_of(3000, 1); /* and short again */
    JZX_EXPECT_EQ(ticks_of(10 * JZX__TICK_MSGS_MAX, 1), 10);
    rig_close();
}

JZX_TEST(ticks_of_a_clock_that_stands_still_count_messages) {
    rig_open();
    rig.sched.clock.is_real = false;
    ticks_of(3000, 0);
    uint64_t tick_ns = rig_worker()->meter.tick_every * (uint64_t)JZX__COUNTED_NS;
    JZX_EXPECT(tick_ns >= JZX__TICK_NS / 2 && tick_ns <= JZX__TICK_NS);
    JZX_EXPECT(rig_worker()->meter.counted_ns <= 3000 * JZX__COUNTED_NS);
    JZX_EXPECT(rig_worker()->meter.counted_ns + tick_ns > 3000 * JZX__COUNTED_NS);
    ticks_of(1000, JZX__COUNTED_NS); /* it moves: nothing is added */
    uint64_t counted_ns = rig_worker()->meter.counted_ns;
    ticks_of(1000, JZX__COUNTED_NS);
    JZX_EXPECT_EQ(rig_worker()->meter.counted_ns, counted_ns);
    rig_close();
}

static bool spent[4];

static void ask_whether_it_is_spent(struct jzx__task *task) {
    if (rig_name(task) != 'a')
        return;
    jzx__clock_advance(&rig.sched.clock, 5 * JZX__TURN_NS); /* before it asked: does not count */
    spent[0] = jzx__worker_turn_spent(rig_worker());
    jzx__clock_advance(&rig.sched.clock, JZX__TURN_NS - 1);
    spent[1] = jzx__worker_turn_spent(rig_worker());
    jzx__clock_advance(&rig.sched.clock, 1);
    spent[2] = jzx__worker_turn_spent(rig_worker());
}

JZX_TEST(a_turn_is_spent_its_time_after_it_first_asked_if_others_wait) {
    for (int waits = 0; waits <= 1; waits++) {
        rig_open();
        rig.on_turn = ask_whether_it_is_spent;
        rig_wake(waits ? "wa" : "a");
        for (int round = 0; round < 2; round++) {
            rig_run(1);
            JZX_EXPECT(!spent[0]);
            JZX_EXPECT(!spent[1]);
            JZX_EXPECT_EQ(spent[2], waits);
            rig_wake("a"); /* a new turn, a new time */
        }
        rig_close();
    }
}

static void ask_after_it_is_over(struct jzx__task *task) {
    if (rig_name(task) == 'a')
        jzx__worker_soft_limit(rig_worker(), rig_task('w'));
    spent[3] = jzx__worker_turn_spent(rig_worker());
}

JZX_TEST(a_turn_that_is_over_is_spent_at_once) {
    rig_open();
    rig.on_turn = ask_after_it_is_over;
    rig_wake("wa");
    rig_run(1);
    JZX_EXPECT(spent[3]);
    rig_close();
}

/* ---- W5 ---- */

static const char *crowded; /* receivers that reach the soft limit in a's turn, in this order */
static bool over_before, over_then;

static void reach_the_soft_limit(struct jzx__task *task) {
    if (rig_name(task) != 'a')
        return;
    over_before = rig_turn_is_over();
    for (const char *name = crowded; *name != '\0'; name++)
        jzx__worker_soft_limit(rig_worker(), rig_task(*name));
    over_then = rig_turn_is_over();
}

static const char *run_with_crowded(const char *receivers) {
    rig_open();
    rig.on_turn = reach_the_soft_limit;
    crowded = receivers;
    rig_spawn("rst"); /* would run: t, s, r */
    rig_wake("wxya"); /* a is next; would run after the spawned: w, x, y */
    const char *trace = rig_run(100);
    JZX_EXPECT(!over_before);
    JZX_EXPECT_EQ(over_then, receivers[0] != '\0');
    rig_close();
    return trace;
}

JZX_TEST(a_receiver_at_the_soft_limit_goes_next_wherever_it_waits) {
    assert_string_equal(run_with_crowded(""), "atsrwxy");
    assert_string_equal(run_with_crowded("y"), "aytsrwx"); /* the last of the woken */
    assert_string_equal(run_with_crowded("w"), "awtsrxy");
    assert_string_equal(run_with_crowded("r"), "artswxy"); /* the oldest spawned */
    assert_string_equal(run_with_crowded("t"), "atsrwxy");
}

JZX_TEST(a_second_receiver_at_the_soft_limit_displaces_the_first) {
    assert_string_equal(run_with_crowded("xs"), "astrwyx");
    assert_string_equal(run_with_crowded("xx"), "axtsrwy"); /* next already: stays */
}

JZX_TEST(a_task_that_floods_itself_ends_its_turn_and_is_not_queued_twice) {
    assert_string_equal(run_with_crowded("a"), "atsrwxy");
}

/* ---- a pass ---- */

JZX_TEST(nothing_ready_is_nothing_run) {
    rig_open();
    JZX_EXPECT(!jzx__worker_has_work(rig_worker()));
    assert_string_equal(rig_run(10), "");
    rig_close();
}

JZX_TEST(a_pass_ends_after_its_number_of_turns_and_the_next_goes_on) {
    rig_open();
    rig_wake("abcde");
    assert_string_equal(rig_run(2), "ea");
    JZX_EXPECT(jzx__worker_has_work(rig_worker()));
    assert_string_equal(rig_run(1), "b");
    assert_string_equal(rig_run(2), "cd");
    JZX_EXPECT(!jzx__worker_has_work(rig_worker()));
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.turns), 5);
    rig_close();
}

static void another_thread_injects(struct jzx__task *task) {
    if (rig_name(task) == 'a')
        rig_inject("i");
}

JZX_TEST(a_pass_is_cut_short_when_another_thread_sent_something) {
    rig_open();
    rig.on_turn = another_thread_injects;
    rig_wake("bca"); /* a, then b, c */
    assert_string_equal(rig_run(100), "a");
    jzx__worker_drain_inject(rig_worker(), 100);
    assert_string_equal(rig_run(100), "bci");
    rig_close();
}

static void the_loop_is_stopped(struct jzx__task *task) {
    if (rig_name(task) == 'b')
        jzx__sched_close(&rig.sched);
}

static void time_passes(struct jzx__task *task) {
    (void)task;
    rig_tick(JZX__PASS_NS / 2);
}

JZX_TEST(a_pass_ends_after_its_time_so_that_calls_and_stops_are_seen) {
    rig_open();
    rig.on_turn = time_passes;
    rig_wake("bcda");
    assert_string_equal(rig_run(100), "ab");
    assert_string_equal(rig_run(100), "cd");
    rig_close();
}

JZX_TEST(a_pass_is_cut_short_when_the_loop_is_stopped) {
    rig_open();
    rig.on_turn = the_loop_is_stopped;
    rig_wake("bcda");
    assert_string_equal(rig_run(100), "ab");
    rig_close();
}

/* Tasks that were woken, in the order of their names. */
static struct jzx__task *choose_by_name(struct jzx__order *order) {
    for (char name = 'a'; name <= 'z'; name++) {
        struct jzx__task *task = rig_task(name);
        if (jzx__task_is_scheduled(task)) {
            jzx__order_unqueue(order, task);
            return task;
        }
    }
    return NULL;
}

JZX_TEST(a_pass_runs_what_its_chooser_chooses) {
    rig_open();
    rig_wake("dbca");
    JZX_EXPECT_EQ(jzx__worker_pass(rig_worker(), 2, choose_by_name, rig_turn, &rig), JZX__PASS_RAN);
    JZX_EXPECT_EQ(jzx__worker_pass(rig_worker(), 9, choose_by_name, rig_turn, &rig), JZX__PASS_RAN);
    assert_string_equal(rig.trace, "abcd");
    JZX_EXPECT_EQ(jzx__order_depth(&rig_worker()->order), 0);
    rig_close();
}

/* The third turn never comes back to this thread. */
static bool lose_the_third(struct jzx__worker *me, struct jzx__task *task, void *ctx) {
    uint32_t *turns = ctx;
    if (++*turns == 3)
        return false;
    return rig_turn(me, task, &rig);
}

JZX_TEST(turns_of_a_pass_that_was_lost_are_counted, "E8") {
    uint32_t turns = 0;
    rig_open();
    rig_wake("bcdefa");
    JZX_EXPECT_EQ(jzx__worker_pass(rig_worker(), 100, jzx__order_choose, lose_the_third, &turns),
                  JZX__PASS_LOST);
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.turns), 0); /* it is not ours any more */
    JZX_EXPECT_EQ(jzx__counter_get(&jzx__sched_foreign(&rig.sched)->counters.turns), 1);
    rig_run(2); /* by the next thread */
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.turns), 4);
    rig_close();
    turns = 0;
    rig_open();
    rig_wake("bcdefa");
    JZX_EXPECT_EQ(jzx__worker_pass(rig_worker(), 100, jzx__order_choose, lose_the_third, &turns),
                  JZX__PASS_LOST);
    jzx__worker_flush(rig_worker()); /* the run ends before there is another pass */
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.turns), 2);
    rig_close();
}

static void run_from_a_stranger(void) {
    rig_open();
    jzx__seat_deinit(&rig.seat);
    rig_run_ready(rig_worker(), 1000);
}

JZX_TEST(only_the_thread_that_drives_a_worker_may_run_its_tasks) {
    struct child_end end = run_in_child(run_from_a_stranger);
    JZX_EXPECT(child_aborted(&end, "pass.h:"));
}
