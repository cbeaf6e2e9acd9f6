/* SPDX-License-Identifier: MIT */
/* Hogs: tasks whose messages take very long (W7 of order.h, and weigh_bulk of meter.c), on virtual
 * time. Every turn is one message. */
#include "rig.h"

#define SHORT_NS 1000u
#define LONG_NS 5000000u

static struct {
    uint64_t cost_ns[RIG_TASK_COUNT];
    bool greedy[RIG_TASK_COUNT]; /* ready again at once */
    uint64_t spent_ns[RIG_TASK_COUNT];
} load;

static void take_time(struct jzx__task *task) {
    uint32_t number = (uint32_t)(task - rig.tasks);
    jzx__atomic_store_relaxed(&rig.seat.task, task);
    jzx__clock_advance(&rig.sched.clock, load.cost_ns[number]);
    load.spent_ns[number] += load.cost_ns[number];
    jzx__worker_count_message(rig_worker());
    if (load.greedy[number])
        jzx__worker_requeue_any(rig_worker(), task);
}

static void open_with(uint32_t workers) {
    rig_open_with(workers);
    memset(&load, 0, sizeof load);
    for (uint32_t i = 0; i < RIG_TASK_COUNT; i++) {
        rig.tasks[i].place = JZX__IDLE;
        load.cost_ns[i] = SHORT_NS;
    }
    rig.on_turn = take_time;
}

static void ready(const char *names) {
    for (; *names != '\0'; names++)
        jzx__worker_ready(rig_worker(), rig_task(*names));
}

static void set_cost(const char *names, uint64_t cost_ns) {
    for (; *names != '\0'; names++)
        load.cost_ns[*names - 'a'] = cost_ns;
}

/* Lets each of them run as often as it takes to become a hog. */
static void make_hogs(const char *names) {
    set_cost(names, LONG_NS);
    for (uint32_t i = 0; i < JZX__HEAVY + 1; i++) {
        ready(names);
        while (rig_run(1)[0] != '\0')
            continue;
    }
    for (; *names != '\0'; names++)
        JZX_EXPECT(jzx__task_is_hog(rig_task(*names)));
}

static void run_h(uint64_t cost_ns) {
    set_cost("h", cost_ns);
    ready("h");
    assert_string_equal(rig_run(1), "h");
}

JZX_TEST(very_long_messages_in_a_row_make_a_hog_also_on_one_worker, "E6") {
    open_with(1);
    rig_worker()->meter.tick_every = 1; /* each message is measured */
    struct jzx__task *h = rig_task('h');
    for (uint32_t i = 0; i < JZX__HEAVY; i++) {
        JZX_EXPECT(!jzx__task_is_hog(h));
        run_h(JZX__HOG_NS + 1);
    }
    JZX_EXPECT(jzx__task_is_hog(h));
    JZX_EXPECT_EQ(h->place, JZX__ASIDE);
    run_h(JZX__SMALL_NS); /* neither very long nor small */
    JZX_EXPECT(jzx__task_is_hog(h));
    run_h(JZX__SMALL_NS - 1);
    JZX_EXPECT(!jzx__task_is_hog(h));
    JZX_EXPECT_EQ(h->place, JZX__IDLE);
    rig_close();
}

JZX_TEST(one_very_long_message_makes_no_hog) {
    open_with(1);
    rig_worker()->meter.tick_every = 1;
    for (uint32_t i = 0; i < 20; i++) {
        run_h(LONG_NS);
        run_h(SHORT_NS);
        JZX_EXPECT(!jzx__task_is_hog(rig_task('h')));
    }
    rig_close();
}

static uint64_t cpu_ns; /* of the thread */

static uint64_t read_cpu(const struct jzx__clock *clock) {
    (void)clock;
    return cpu_ns;
}

/* A message of LONG_NS that has the CPU for a part of that. */
static void run_h_with(uint64_t used_ns) {
    cpu_ns += used_ns;
    run_h(LONG_NS);
    jzx__clock_advance(&rig.sched.clock, 1000000); /* the worker sleeps: no message's time */
    jzx__worker_resume(rig_worker());
}

/* The kernel gives the CPU to others, or the message waits in a system call. */
JZX_TEST(a_task_whose_thread_does_not_compute_is_no_hog, "E6") {
    open_with(1);
    rig.sched.clock.cpu = read_cpu;
    rig_worker()->meter.tick_every = 1;
    for (uint32_t i = 0; i < 20; i++) {
        run_h_with(JZX__HOG_NS);
        JZX_EXPECT(!jzx__task_is_hog(rig_task('h')));
    }
    for (uint32_t i = 0; i < JZX__HEAVY; i++)
        run_h_with(JZX__HOG_NS + 1);
    JZX_EXPECT(jzx__task_is_hog(rig_task('h')));
    rig_close();
}

/* Messages of 5 us take their place among the light tasks of one worker. */
JZX_TEST(one_worker_keeps_heavy_tasks_among_the_light_ones) {
    open_with(1);
    for (uint32_t i = 0; i < 20; i++)
        run_h(2 * JZX__HEAVY_NS);
    JZX_EXPECT_EQ(rig_task('h')->place, JZX__IDLE);
    rig_close();
}

/* How many turns of hogs run before e, which becomes ready behind them. */
static uint32_t hogs_before_e(void) {
    ready("e");
    uint32_t count = 0;
    for (;;) {
        const char *ran = rig_run(1);
        if (ran[0] == 'e')
            return count;
        JZX_EXPECT(strchr("hijk", ran[0]) != NULL);
        if (!JZX_EXPECT(++count < 100))
            return count;
    }
}

static void check_one_hog_before_light(uint32_t workers) {
    open_with(workers);
    make_hogs("hijk");
    load.greedy['h' - 'a'] = load.greedy['i' - 'a'] = load.greedy['j' - 'a'] =
        load.greedy['k' - 'a'] = true;
    ready("hijk");
    for (uint32_t i = 0; i < 200; i++)
        JZX_EXPECT(hogs_before_e() <= 1);
    rig_close();
}

JZX_TEST(a_light_task_waits_for_one_turn_of_a_hog_at_most, "E6") {
    check_one_hog_before_light(1);
    check_one_hog_before_light(2);
}

/* A heavy task stands between the light ones and the hogs. */
JZX_TEST(a_heavy_task_waits_for_one_turn_of_a_hog_at_most, "E6") {
    open_with(2);
    make_hogs("hijk");
    set_cost("e", 2 * JZX__HEAVY_NS);
    load.greedy['h' - 'a'] = load.greedy['i' - 'a'] = load.greedy['j' - 'a'] = true;
    ready("hij");
    for (uint32_t i = 0; i < 200; i++)
        JZX_EXPECT(hogs_before_e() <= 1);
    JZX_EXPECT(jzx__task_is_heavy(rig_task('e')));
    rig_close();
}

/* Light tasks and hogs that are always ready: the hogs keep at least an eighth, and share it. */
JZX_TEST(hogs_keep_an_eighth_of_the_time_beside_light_tasks, "E6") {
    open_with(1);
    make_hogs("hi");
    set_cost("abcd", 50000);
    memset(load.spent_ns, 0, sizeof load.spent_ns);
    for (const char *name = "abcdhi"; *name != '\0'; name++)
        load.greedy[*name - 'a'] = true;
    ready("abcdhi");
    while (rig.turns < 3900)
        rig_run(1);
    uint64_t light = 0;
    for (const char *name = "abcd"; *name != '\0'; name++)
        light += load.spent_ns[*name - 'a'];
    uint64_t h = load.spent_ns['h' - 'a'];
    uint64_t i = load.spent_ns['i' - 'a'];
    JZX_EXPECT(h + i >= (light + h + i) / 8);
    JZX_EXPECT(h <= i + 2 * LONG_NS && i <= h + 2 * LONG_NS);
    rig_close();
}

JZX_TEST(hogs_take_turns_while_nothing_else_is_ready) {
    open_with(1);
    make_hogs("hij");
    for (const char *name = "hij"; *name != '\0'; name++)
        load.greedy[*name - 'a'] = true;
    ready("hij");
    assert_string_equal(rig_run_on(6), "hijhij");
    rig_close();
}

/* It stays in the queue of its rank. */
JZX_TEST(a_ranked_hog_stays_in_its_queue, "E6") {
    open_with(1);
    struct jzx__task *h = rig_task('h');
    h->rank = JZX__LOW;
    jzx__task_set_rest(h, JZX__ASIDE);
    h->place = JZX__ASIDE;
    make_hogs("h");
    ready("h");
    JZX_EXPECT_EQ(h->place, JZX__IN_RANKED);
    assert_string_equal(rig_run(1), "h");
    rig_close();
}

/* Weighs a turn that went on without its worker, as the worker does when it takes the turn back. */
static void weigh_returned(uint64_t took_ns, uint64_t used_ns) {
    struct jzx__seat seat = {.used_ns = used_ns};
    uint64_t now = jzx__clock_now(&rig.sched.clock);
    jzx__atomic_store_relaxed(&seat.task, rig_task('h'));
    jzx__atomic_store_relaxed(&seat.lost_at_ns, now - took_ns);
    jzx__atomic_store_relaxed(&seat.returned_at_ns, now);
    jzx__meter_weigh_returned(rig_worker(), &seat);
}

JZX_TEST(a_turn_that_lost_its_worker_is_weighed_when_it_returns, "E6") {
    open_with(2);
    struct jzx__task *h = rig_task('h');
    jzx__clock_advance(&rig.sched.clock, LONG_NS);
    weigh_returned(JZX__HOG_NS - 1, JZX__HOG_NS - 1);
    JZX_EXPECT(!jzx__task_is_hog(h) && !jzx__task_is_heavy(h));
    weigh_returned(LONG_NS, JZX__HOG_NS); /* it was blocked: others may take it, but it is no hog */
    JZX_EXPECT(!jzx__task_is_hog(h) && jzx__task_is_heavy(h));
    weigh_returned(LONG_NS, JZX__HOG_NS + 1);
    JZX_EXPECT(jzx__task_is_hog(h));
    JZX_EXPECT_EQ(h->rest, JZX__ASIDE);
    rig_close();
}
