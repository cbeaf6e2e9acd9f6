/* SPDX-License-Identifier: MIT */
/* W8 of order.h with many tasks: what waits for too long gets half of the time, whatever the
 * others do with theirs. On virtual time. */
#define RIG_TASK_COUNT 1001u
#include "rig.h"

#define WAITING (RIG_TASK_COUNT - 1)
#define CRITICAL WAITING /* the last one */

/* Many tasks, always ready, and a critical one that comes now and then. */
static struct {
    uint64_t costs_ns[2]; /* of the first message in a turn of one that waits, and of the others */
    uint32_t messages;    /* in such a turn, if it is not ended before */
    uint64_t critical_ns; /* of a message of the critical one */
    uint32_t criticals;   /* in its turn */
    uint64_t gap_ns;      /* until it comes again, */
    uint64_t period_ns;   /* or when, if this is not 0 */
    uint64_t comes_at_ns;
    uint64_t ended_at_ns; /* all of it */
    uint64_t since_ns[RIG_TASK_COUNT];
    uint64_t longest_ns[RIG_TASK_COUNT]; /* that it waited */
    uint32_t runs[RIG_TASK_COUNT];
} load;

static uint64_t now(void) {
    return jzx__clock_now(&rig.sched.clock);
}

static void take_time(uint64_t cost_ns) {
    jzx__clock_advance(&rig.sched.clock, cost_ns);
    jzx__worker_count_message(rig_worker());
}

/* Notes how long the task has waited, and returns its number. */
static size_t begin_turn(struct jzx__task *task) {
    size_t i = (size_t)(task - rig.tasks);
    uint64_t waited = now() - load.since_ns[i];
    load.longest_ns[i] = waited > load.longest_ns[i] ? waited : load.longest_ns[i];
    load.runs[i]++;
    jzx__atomic_store_relaxed(&rig.seat.task, task);
    return i;
}

static void run_load(struct jzx__task *task) {
    size_t i = begin_turn(task);
    if (i == CRITICAL) {
        for (uint32_t k = 0; k < load.criticals && !rig_turn_is_over(); k++)
            take_time(load.critical_ns);
        load.comes_at_ns = load.period_ns == 0 ? now() + load.gap_ns
                                               : (now() / load.period_ns + 1) * load.period_ns;
    } else {
        for (uint32_t k = 0; k < load.messages && !rig_turn_is_over(); k++)
            take_time(load.costs_ns[k != 0]);
        jzx__worker_requeue_any(rig_worker(), task);
    }
    load.since_ns[i] = now();
}

static void set_rank(struct jzx__task *task, enum jzx__rank rank) {
    task->rank = (uint8_t)rank;
    jzx__task_set_rest(task, rank == JZX__NORMAL ? JZX__IDLE : JZX__ASIDE);
    task->place = task->rest;
}

static void load_run(enum jzx__rank rank, uint64_t for_ns) {
    rig_open_with(1);
    rig.on_turn = run_load;
    memset(load.longest_ns, 0, sizeof load.longest_ns);
    memset(load.runs, 0, sizeof load.runs);
    load.comes_at_ns = 0;
    set_rank(&rig.tasks[CRITICAL], JZX__CRITICAL);
    for (uint32_t i = 0; i < WAITING; i++) {
        load.since_ns[i] = now();
        set_rank(&rig.tasks[i], rank);
        jzx__worker_requeue_any(rig_worker(), &rig.tasks[i]);
    }
    for (uint64_t begin = now(); now() - begin < for_ns;) {
        if (rig.tasks[CRITICAL].place == JZX__ASIDE && now() >= load.comes_at_ns) {
            load.since_ns[CRITICAL] = now();
            jzx__worker_ready(rig_worker(), &rig.tasks[CRITICAL]);
        }
        rig.turns = 0;
        rig_run(1);
    }
    load.ended_at_ns = now();
    rig_close();
}

/* Also one that still waits: since_ns is when its last turn ended. */
static uint64_t longest_wait_ns(void) {
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < WAITING; i++) {
        uint64_t waits_ns = load.ended_at_ns - load.since_ns[i];
        longest_ns = waits_ns > longest_ns ? waits_ns : longest_ns;
        longest_ns = load.longest_ns[i] > longest_ns ? load.longest_ns[i] : longest_ns;
    }
    return longest_ns;
}

static const struct {
    uint64_t critical_ns;
    uint64_t gap_ns;
    uint64_t period_ns;
} visits[] = {{4900000, 0, 0},     {4900000, 1000, 0}, {4900000, 20000, 0},  {4900000, 0, 5000000},
              {1000000, 20000, 0}, {100000, 5000, 0},  {1900000, 0, 2000000}};

/* What they get while the critical one is away is part of their half, and not all of it. */
JZX_TEST(tasks_that_wait_keep_the_bound_beside_one_that_leaves_them_moments, "E6") {
    static const enum jzx__rank ranks[] = {JZX__NORMAL, JZX__LOW};
    load.costs_ns[0] = 1000;
    load.messages = load.criticals = 1;
    for (size_t i = 0; i < sizeof visits / sizeof visits[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            load.critical_ns = visits[i].critical_ns;
            load.gap_ns = visits[i].gap_ns;
            load.period_ns = visits[i].period_ns;
            load_run(ranks[k], 300000000);
            uint64_t round_ns = WAITING * load.costs_ns[0] + 3 * load.critical_ns;
            JZX_EXPECT(longest_wait_ns() <= 3 * JZX__FENCE_NS + 2 * round_ns);
        }
    }
}

/* A spell ends with a turn: what follows on its first message in the same turn is not owed. */
JZX_TEST(a_critical_task_waits_for_one_long_turn_of_several_messages_at_most, "E6") {
    static const uint64_t firsts_ns[] = {1000, 12000};
    for (size_t i = 0; i < 2; i++) {
        load.costs_ns[0] = firsts_ns[i];
        load.costs_ns[1] = 4900000;
        load.critical_ns = 1000;
        load.messages = 2;
        load.criticals = 1;
        load.period_ns = 0;
        for (load.gap_ns = 1000000; load.gap_ns <= 6000000; load.gap_ns += 1000000) {
            load_run(JZX__NORMAL, 3000000000);
            uint64_t turn_ns = load.costs_ns[0] + load.costs_ns[1];
            JZX_EXPECT(load.runs[CRITICAL] > 100);
            JZX_EXPECT(load.longest_ns[CRITICAL] <= turn_ns + JZX__TICK_NS);
        }
    }
}

/* Ticks that many short messages of the critical one have put far apart do not let the turns of the
 * others grow long (W4). */
JZX_TEST(turns_of_overdue_tasks_end_in_time_beside_many_short_messages, "E6") {
    static const uint64_t costs_ns[][2] = {{10000, 10000}, {1000, 1000000}};
    load.messages = load.criticals = 127;
    load.critical_ns = 40;
    load.gap_ns = load.period_ns = 0;
    for (size_t i = 0; i < 2; i++) {
        memcpy(load.costs_ns, costs_ns[i], sizeof load.costs_ns);
        load_run(JZX__NORMAL, 3000000000);
        uint64_t turn_ns = JZX__TURN_NS + 2 * load.costs_ns[1];
        JZX_EXPECT(load.runs[CRITICAL] > 100);
        JZX_EXPECT(load.longest_ns[CRITICAL] <= turn_ns + JZX__TICK_NS);
    }
}

#define HOG 0u /* these two are not among those that wait */
#define SPAWNED 1u
#define HOG_NS 20000000u
#define LOW_NS 1000000u

static void run_beside_hog(struct jzx__task *task) {
    size_t i = begin_turn(task);
    take_time(i == HOG ? HOG_NS : i == SPAWNED || i == CRITICAL ? 1000 : LOW_NS);
    if (i != SPAWNED)
        jzx__worker_requeue_any(rig_worker(), task);
    load.since_ns[i] = now();
}

/* A hog whose turn is as long as the spell of the overdue tasks after it is due again whenever they
 * have had it: it must not take all the time that they leave. It may be overdue itself, and then it
 * runs a second time before the spawned task. */
JZX_TEST(a_spawned_task_runs_beside_a_hog_and_overdue_tasks, "E6") {
    rig_open_with(2);
    rig.on_turn = run_beside_hog;
    memset(load.longest_ns, 0, sizeof load.longest_ns);
    memset(load.runs, 0, sizeof load.runs);
    set_rank(&rig.tasks[CRITICAL], JZX__CRITICAL);
    rig.tasks[HOG].heat = JZX__HEAVY;
    jzx__task_set_rest(&rig.tasks[HOG], JZX__ASIDE);
    for (uint32_t i = 0; i < RIG_TASK_COUNT; i++) {
        load.since_ns[i] = now();
        if (i != SPAWNED && i != HOG && i != CRITICAL)
            set_rank(&rig.tasks[i], JZX__LOW);
        if (i != SPAWNED && (i < 200 || i == CRITICAL))
            jzx__worker_requeue_any(rig_worker(), &rig.tasks[i]);
    }
    for (uint32_t turns = 0; turns < 20000; turns++) {
        if (rig.tasks[SPAWNED].place == JZX__IDLE) {
            load.since_ns[SPAWNED] = now();
            rig.tasks[SPAWNED].place = JZX__NEW;
            jzx__worker_ready(rig_worker(), &rig.tasks[SPAWNED]);
        }
        rig.turns = 0;
        rig_run(1);
    }
    uint64_t spell_ns = (uint64_t)JZX__LEAD_MAX_NS + LOW_NS;
    JZX_EXPECT(load.runs[SPAWNED] > 100);
    JZX_EXPECT(load.longest_ns[SPAWNED] <= JZX__OLDEST_NS + 2 * HOG_NS + 2 * spell_ns);
    rig_close();
}
