/* SPDX-License-Identifier: MIT */
/* Ranks, heavy tasks, and that nobody starves (W2, W3, W7, W8 of order.h): on virtual time, every
 * turn is one message that takes so long, and ticks come as they come in a program. */
#include "rig.h"

#include "base/rng.h"

#include <stdlib.h>

/* ---- tasks that are not ordinary ---- */

static void set_rank(const char *names, enum jzx__rank rank) {
    for (; *names != '\0'; names++) {
        struct jzx__task *task = rig_task(*names);
        task->rank = (uint8_t)rank;
        jzx__task_set_rest(task, rank == JZX__NORMAL ? JZX__IDLE : JZX__ASIDE);
        task->place = task->rest;
    }
}

static void set_heavy(const char *names) {
    for (; *names != '\0'; names++) {
        struct jzx__task *task = rig_task(*names);
        task->heat = JZX__HEAVY;
        jzx__task_set_rest(task, JZX__ASIDE);
        task->place = JZX__ASIDE;
    }
}

static void bind_to_caller(const char *names) {
    for (; *names != '\0'; names++) {
        rig_task(*names)->bound = JZX__BOUND_CALLER;
        jzx__task_set_rest(rig_task(*names), JZX__ASIDE);
        rig_task(*names)->place = JZX__ASIDE;
    }
}

static void ready(const char *names) {
    for (; *names != '\0'; names++)
        jzx__worker_ready(rig_worker(), rig_task(*names));
}

/* ---- time ---- */

static struct {
    uint64_t cost_ns[RIG_TASK_COUNT]; /* of a turn */
    bool greedy[RIG_TASK_COUNT];      /* ready again at once */
    uint64_t since_ns[RIG_TASK_COUNT];
    uint64_t longest_ns[RIG_TASK_COUNT]; /* that it waited */
    uint64_t spent_ns[RIG_TASK_COUNT];
    uint32_t runs[RIG_TASK_COUNT];
    uint32_t pause[RIG_TASK_COUNT]; /* turns of others until it is ready again; 0: never, or now */
    uint32_t pause_max;             /* of those that are not greedy; 0: they do not come back */
    struct jzx__rng rng;
    const char *spawns; /* who is spawned anew whenever one of them runs, in turn; or NULL */
} load;

static uint64_t now(void) {
    return jzx__clock_now(&rig.sched.clock);
}

/* The end of a turn, as the layer above has it: the message is counted, and may tick. */
static void take_time(struct jzx__task *task, uint64_t cost_ns) {
    jzx__atomic_store_relaxed(&rig.seat.task, task);
    jzx__clock_advance(&rig.sched.clock, cost_ns);
    jzx__worker_count_message(rig_worker());
}

/* Those whose pause is over, at the end of a turn. */
static void come_back(void) {
    for (uint32_t i = 0; i < RIG_TASK_COUNT; i++) {
        if (load.pause[i] == 0 || --load.pause[i] != 0)
            continue;
        load.since_ns[i] = now();
        jzx__worker_ready(rig_worker(), &rig.tasks[i]);
    }
}

static void run_load(struct jzx__task *task) {
    size_t i = (size_t)(task - rig.tasks);
    uint64_t waited = now() - load.since_ns[i];
    load.longest_ns[i] = waited > load.longest_ns[i] ? waited : load.longest_ns[i];
    load.runs[i]++;
    load.spent_ns[i] += load.cost_ns[i];
    if (load.spawns != NULL && strchr(load.spawns, rig_name(task)) != NULL) {
        const char *next = strchr(load.spawns, rig_name(task)) + 1;
        const char name[2] = {*next == '\0' ? load.spawns[0] : *next, '\0'};
        load.since_ns[name[0] - 'a'] = now();
        rig_spawn(name);
    }
    take_time(task, load.cost_ns[i]);
    if (load.greedy[i])
        jzx__worker_requeue_any(rig_worker(), task);
    load.since_ns[i] = now();
    come_back();
    if (!load.greedy[i] && load.pause_max != 0)
        load.pause[i] = 1 + jzx__rng_below(&load.rng, load.pause_max);
}

static void load_open(uint32_t workers, uint64_t cost_ns) {
    rig_open_with(workers);
    memset(&load, 0, sizeof load);
    for (uint32_t i = 0; i < RIG_TASK_COUNT; i++) {
        load.cost_ns[i] = cost_ns;
        load.since_ns[i] = now();
    }
    rig.on_turn = run_load;
}

static void be_greedy(const char *names) {
    for (; *names != '\0'; names++)
        load.greedy[*names - 'a'] = true;
}

/* Virtual time until this task has run, at most so long. */
static uint64_t time_until(char name, uint64_t limit_ns) {
    uint64_t begin = now();
    while (load.runs[name - 'a'] == 0 && now() - begin < limit_ns && rig.turns < RIG_TRACE_MAX)
        rig_run(1);
    JZX_EXPECT_EQ(load.runs[name - 'a'], 1);
    return load.longest_ns[name - 'a'];
}

/* ---- order ---- */

JZX_TEST(ranks_run_in_their_order_whatever_became_ready_first, "E6") {
    static const char *const orders[] = {"abcd", "dcba", "bdac", "cadb"};
    for (size_t i = 0; i < 4; i++) {
        rig_open();
        set_rank("a", JZX__CRITICAL);
        set_rank("b", JZX__HIGH);
        set_rank("d", JZX__LOW);
        ready(orders[i]);
        assert_string_equal(rig_run(100), "abcd");
        rig_close();
    }
}

JZX_TEST(tasks_of_one_rank_run_in_order_of_age, "E6") {
    rig_open();
    set_rank("abc", JZX__CRITICAL);
    set_rank("def", JZX__HIGH);
    set_rank("xyz", JZX__LOW);
    ready("dxaybzecf");
    assert_string_equal(rig_run(100), "abcdefxyz");
    rig_close();
}

JZX_TEST(ranks_go_before_and_after_every_normal_queue, "E6") {
    rig_open();
    set_rank("c", JZX__CRITICAL);
    set_rank("l", JZX__LOW);
    rig_spawn("s");
    rig_wake("wn"); /* n in the next-slot */
    ready("lc");
    const char *trace = rig_run(100);
    JZX_EXPECT_EQ(strlen(trace), 5);
    JZX_EXPECT_EQ(trace[0], 'c');
    JZX_EXPECT_EQ(trace[4], 'l');
    JZX_EXPECT(!jzx__worker_has_work(rig_worker()));
    rig_close();
}

static void wake_critical(struct jzx__task *task) {
    if (rig_name(task) == 'n')
        ready("c");
}

JZX_TEST(a_critical_task_that_a_turn_wakes_runs_next, "E6") {
    rig_open();
    rig.on_turn = wake_critical;
    set_rank("c", JZX__CRITICAL);
    rig_spawn("s");
    rig_wake("wxn");
    assert_string_equal(rig_run(2), "nc");
    rig_close();
}

/* As when a spare thread drives the worker, and then the caller's again. */
static void sit(bool by_caller) {
    jzx__crew_rise(&rig.seat, rig_worker());
    jzx__crew_sit(&rig.seat, rig_worker(), by_caller);
}

JZX_TEST(a_task_bound_to_the_caller_waits_until_the_caller_drives_the_worker) {
    rig_open();
    bind_to_caller("b");
    sit(false);
    ready("b");
    rig_wake("w");
    assert_string_equal(rig_run(100), "w");
    JZX_EXPECT(!jzx__worker_has_work(rig_worker())); /* else that thread would never sleep */
    sit(true);
    JZX_EXPECT(jzx__worker_has_work(rig_worker()));
    assert_string_equal(rig_run(100), "b");
    JZX_EXPECT(!jzx__worker_has_work(rig_worker()));
    rig_close();
}

/* ---- nobody starves ---- */

#define TURN_NS 10000u
#define LEAD_MAX_NS ((uint64_t)JZX__LEAD_MAX_NS)

/* Two passes over all that is ready, and the ticks in between. */
static uint64_t bound_of(uint32_t tasks, uint64_t turn_ns) {
    return 3 * JZX__FENCE_NS + (2 * tasks + 4) * turn_ns;
}

static uint64_t bound_ns(uint32_t tasks) {
    return bound_of(tasks, TURN_NS);
}

JZX_TEST(a_low_task_runs_beside_critical_ones_that_are_always_ready, "E6") {
    load_open(1, TURN_NS);
    set_rank("abc", JZX__CRITICAL);
    set_rank("l", JZX__LOW);
    be_greedy("abc");
    ready("abcl");
    uint64_t waited = time_until('l', 10 * JZX__FENCE_NS);
    JZX_EXPECT(waited >= JZX__FENCE_NS); /* the others go first for a while */
    JZX_EXPECT(waited <= bound_ns(4));
    rig_close();
}

/* W8 is about time, not turns: short ones that are overdue run one after another for a tick. */
JZX_TEST(short_tasks_that_are_overdue_run_in_a_row, "E6") {
    load_open(1, TURN_NS);
    for (char name = 'l'; name <= 'u'; name++)
        load.cost_ns[name - 'a'] = JZX__TICK_NS / 40;
    set_rank("abc", JZX__CRITICAL);
    set_rank("lmnopqrstu", JZX__LOW);
    be_greedy("abc");
    ready("abclmnopqrstu");
    time_until('l', 10 * JZX__FENCE_NS);
    assert_string_equal(rig_run_on(9), "mnopqrstu");
    rig_close();
}

JZX_TEST(a_normal_task_runs_beside_high_ones_that_are_always_ready, "E6") {
    load_open(1, TURN_NS);
    set_rank("abc", JZX__HIGH);
    be_greedy("abc");
    ready("abc");
    jzx__order_requeue(&rig_worker()->order, rig_task('w'));
    JZX_EXPECT(time_until('w', 10 * JZX__FENCE_NS) <= bound_ns(4));
    rig_close();
}

JZX_TEST(the_task_in_the_next_slot_runs_beside_critical_ones_that_are_always_ready, "E6") {
    load_open(1, TURN_NS);
    set_rank("abc", JZX__CRITICAL);
    be_greedy("abc");
    rig_wake("n");
    ready("abc");
    JZX_EXPECT(time_until('n', 10 * JZX__FENCE_NS) <= bound_ns(4));
    rig_close();
}

JZX_TEST(a_heavy_task_runs_beside_critical_ones_that_are_always_ready, "E6") {
    load_open(2, TURN_NS);
    set_rank("abc", JZX__CRITICAL);
    set_heavy("h");
    be_greedy("abc");
    ready("habc");
    JZX_EXPECT(time_until('h', 10 * JZX__FENCE_NS) <= bound_ns(4));
    rig_close();
}

JZX_TEST(a_task_bound_to_the_caller_runs_beside_critical_ones_that_are_always_ready, "E6") {
    load_open(1, TURN_NS);
    set_rank("abc", JZX__CRITICAL);
    bind_to_caller("x");
    be_greedy("abc");
    ready("xabc");
    JZX_EXPECT(time_until('x', 10 * JZX__FENCE_NS) <= bound_ns(4));
    rig_close();
}

JZX_TEST(a_low_task_runs_beside_a_pair_that_wakes_each_other) {
    load_open(1, TURN_NS);
    set_rank("l", JZX__LOW);
    be_greedy("ab");
    ready("l");
    rig_wake("ab");
    JZX_EXPECT(time_until('l', 10 * JZX__FENCE_NS) <= bound_ns(3));
    rig_close();
}

JZX_TEST(a_spawned_task_runs_beside_newer_ones_and_critical_ones, "E6") {
    load_open(1, TURN_NS);
    load.spawns = "stuv";
    set_rank("abc", JZX__CRITICAL);
    be_greedy("abc");
    rig_spawn("ops"); /* o is the oldest */
    ready("abc");
    JZX_EXPECT(time_until('o', 10 * JZX__FENCE_NS) <= JZX__OLDEST_NS + 4 * TURN_NS);
    JZX_EXPECT(time_until('p', 10 * JZX__FENCE_NS) <= 2 * JZX__OLDEST_NS + 8 * TURN_NS);
    rig_close();
}

JZX_TEST(a_woken_task_runs_beside_spawned_ones_that_never_end) {
    load_open(1, TURN_NS);
    load.spawns = "stuv";
    rig_spawn("s");
    jzx__order_requeue(&rig_worker()->order, rig_task('w'));
    JZX_EXPECT(time_until('w', 10 * JZX__FENCE_NS) <= JZX__PASSED_NS + 4 * TURN_NS);
    rig_close();
}

JZX_TEST(a_low_task_runs_beside_spawned_ones_that_never_end, "E6") {
    load_open(1, TURN_NS);
    load.spawns = "stuv";
    set_rank("l", JZX__LOW);
    rig_spawn("s");
    ready("l");
    JZX_EXPECT(time_until('l', 10 * JZX__FENCE_NS) <= bound_ns(5));
    rig_close();
}

/* Makes tasks of any ranks, always ready; some of them now and then, if pauses are asked for. */
static void make_mixture(uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const char name[2] = {(char)('a' + i), '\0'};
        uint32_t kind = jzx__rng_below(&load.rng, 6);
        if (kind < JZX__RANK_COUNT)
            set_rank(name, (enum jzx__rank)kind);
        else if (kind == 4)
            bind_to_caller(name);
        if (load.pause_max == 0 || jzx__rng_below(&load.rng, 3) != 0)
            be_greedy(name);
        ready(name);
    }
}

/* Each gets its turn within the bound, again and again. */
static void run_mixture(uint64_t seed, uint32_t count, uint64_t bound) {
    for (uint32_t turns = 0; turns < 20000; turns++) {
        rig.turns = 0;
        rig_run(1);
    }
    for (uint32_t i = 0; i < count; i++) {
        bool waits = load.greedy[i] || rig.tasks[i].place > JZX__RUNNING;
        uint64_t last = waits ? now() - load.since_ns[i] : 0; /* who never ran has waited since */
        if (!JZX_EXPECT(load.longest_ns[i] <= bound && last <= bound))
            print_error("seed %u, task %u of %u, rank %u, waited %u us and then %u, bound %u\n",
                        (unsigned)seed, i, count, rig.tasks[i].rank,
                        (unsigned)(load.longest_ns[i] / 1000), (unsigned)(last / 1000),
                        (unsigned)(bound / 1000));
    }
}

static void check_mixture(uint64_t seed, uint32_t workers, uint64_t turn_ns) {
    load_open(workers, turn_ns);
    jzx__rng_init(&load.rng, seed);
    uint32_t count = 2 + jzx__rng_below(&load.rng, 20);
    make_mixture(count);
    run_mixture(seed, count, bound_of(count, turn_ns));
    rig_close();
}

/* Turns from 1 us to 5 ms; who is not always there may come right behind a fence, and then waits
 * for a second round of the others. */
static void check_uneven(uint64_t seed, uint32_t pause_max) {
    load_open(1, 0);
    jzx__rng_init(&load.rng, seed);
    load.pause_max = pause_max;
    uint32_t count = 2 + jzx__rng_below(&load.rng, 20);
    uint64_t all_ns = 0;
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        static const uint64_t costs_ns[] = {1000, 12000, 100000, 1000000, 4900000};
        load.cost_ns[i] = costs_ns[jzx__rng_below(&load.rng, 5)];
        all_ns += load.cost_ns[i];
        longest_ns = load.cost_ns[i] > longest_ns ? load.cost_ns[i] : longest_ns;
    }
    make_mixture(count);
    uint32_t rounds = pause_max == 0 ? 2 : 4;
    run_mixture(seed, count, 3 * JZX__FENCE_NS + rounds * (all_ns + 3 * longest_ns));
    rig_close();
}

JZX_TEST(no_task_of_any_mixture_waits_longer_than_the_bound, "E6") {
    for (uint64_t seed = 1; seed <= 40; seed++)
        check_mixture(seed, 2, TURN_NS);
}

/* A queue is overdue again before the others were served: whoever waits for longest goes first. */
JZX_TEST(no_task_of_any_mixture_waits_longer_where_turns_are_long, "E6") {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        check_mixture(seed, 1, 20 * TURN_NS);
        check_mixture(seed, 1, 50 * TURN_NS);
        check_mixture(seed, 1, 500 * TURN_NS);
    }
}

/* The bound counts time: it holds however long the turns of the others are. */
JZX_TEST(no_task_of_any_mixture_waits_longer_beside_those_with_other_turns, "E6") {
    for (uint64_t seed = 1; seed <= 100; seed++)
        check_uneven(seed, 0);
}

JZX_TEST(no_task_that_comes_and_goes_waits_longer_than_the_bound, "E6") {
    for (uint64_t seed = 1; seed <= 100; seed++) {
        check_uneven(seed, 3);
        check_uneven(seed, 60);
    }
}

JZX_TEST(short_turns_beside_a_long_one_that_is_always_ready_wait_no_longer_than_the_bound, "E6") {
    load_open(1, 12000);
    static const char low[] = "abcdefghijklmnopqrst";
    set_rank("z", JZX__CRITICAL);
    set_rank(low, JZX__LOW);
    be_greedy(low);
    be_greedy("z");
    load.cost_ns['z' - 'a'] = 4900000;
    ready(low);
    ready("z");
    run_mixture(0, 20, 3 * JZX__FENCE_NS + 2 * (20 * 12000 + 3 * 4900000));
    rig_close();
}

static uint64_t spent_by(const char *names) {
    uint64_t spent_ns = 0;
    for (; *names != '\0'; names++)
        spent_ns += load.spent_ns[*names - 'a'];
    return spent_ns;
}

/* Runs until this task has had another turn. */
static void run_past(char name) {
    uint32_t runs = load.runs[name - 'a'];
    while (load.runs[name - 'a'] == runs && rig.turns < RIG_TRACE_MAX)
        rig_run(1);
    rig.turns = 0;
    JZX_EXPECT_EQ(load.runs[name - 'a'], runs + 1);
}

/* Half of the time would be 50 ms for each turn of z, which is more than a round of the others. */
JZX_TEST(after_a_very_long_turn_overdue_tasks_get_what_is_owed_at_most, "E6") {
    static const char low[] = "abcdefghijklmnopqrst";
    const uint64_t turn_ns = 400000;
    load_open(1, turn_ns);
    set_rank("z", JZX__CRITICAL);
    set_rank(low, JZX__LOW);
    be_greedy(low);
    be_greedy("z");
    load.cost_ns['z' - 'a'] = 10 * LEAD_MAX_NS;
    ready(low);
    ready("z");
    for (uint32_t i = 0; i < 4; i++)
        run_past('z'); /* until the low ones are overdue */
    uint64_t most_ns = 0;
    for (uint32_t i = 0; i < 20; i++) {
        uint64_t before_ns = spent_by(low);
        run_past('z');
        uint64_t had_ns = spent_by(low) - before_ns;
        most_ns = had_ns > most_ns ? had_ns : most_ns;
    }
    JZX_EXPECT(most_ns >= LEAD_MAX_NS - turn_ns); /* they were ahead by less than a turn */
    JZX_EXPECT(most_ns <= LEAD_MAX_NS + JZX__TICK_NS + turn_ns);
    rig_close();
}

/* A loop that is stepped stops after any turn, and its host may not come back for a while: that is
 * not time which the overdue ones had. */
JZX_TEST(the_time_between_two_steps_is_nobodys_share, "E6") {
    static const char low[] = "abcdefghijklmnopqrst";
    load_open(1, 1000);
    set_rank("z", JZX__CRITICAL);
    set_rank(low, JZX__LOW);
    be_greedy(low);
    be_greedy("z");
    load.cost_ns['z' - 'a'] = 12000;
    ready(low);
    ready("z");
    for (uint32_t i = 0; i < 1000 && !rig_worker()->order.in_spell; i++)
        rig_run(1);
    JZX_EXPECT(rig_worker()->order.in_spell);
    jzx__clock_advance(&rig.sched.clock, 1000000000);
    jzx__worker_resume(rig_worker());
    for (uint32_t i = 0; i < RIG_TASK_COUNT; i++)
        load.since_ns[i] = now();
    memset(load.longest_ns, 0, sizeof load.longest_ns);
    run_mixture(0, 20, LEAD_MAX_NS + 3 * JZX__FENCE_NS + 2 * (20 * 1000 + 3 * 12000));
    rig_close();
}

/* Beside normal ones, always ready, of turns from 1 us to 5 ms, a critical one that comes between
 * two turns now and then. Returns the longest of those turns. */
static uint64_t run_with_critical(uint64_t seed) {
    static const uint64_t costs_ns[] = {1000, 12000, 100000, 300000, 1000000, 4900000};
    uint64_t longest_ns = 0;
    load_open(1, 1000);
    jzx__rng_init(&load.rng, seed);
    set_rank("z", JZX__CRITICAL);
    uint32_t count = 3 + jzx__rng_below(&load.rng, 20);
    for (uint32_t i = 0; i < count; i++) {
        const char name[2] = {(char)('a' + i), '\0'};
        load.cost_ns[i] = costs_ns[jzx__rng_below(&load.rng, 6)];
        longest_ns = load.cost_ns[i] > longest_ns ? load.cost_ns[i] : longest_ns;
        be_greedy(name);
        ready(name);
    }
    uint32_t pause = 1 + jzx__rng_below(&load.rng, 100);
    for (uint32_t turns = 0; turns < 20000; turns++) {
        if (jzx__rng_below(&load.rng, pause) == 0 && rig_task('z')->place == JZX__ASIDE) {
            load.since_ns['z' - 'a'] = now();
            ready("z");
        }
        rig.turns = 0;
        rig_run(1);
    }
    return longest_ns;
}

/* What one of them takes is not owed to the others of its queue: the critical one waits for the
 * overdue ones of a tick, or for one of them. */
JZX_TEST(a_critical_task_does_not_wait_for_what_overdue_ones_take_from_each_other, "E6") {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t longest_ns = run_with_critical(seed);
        JZX_EXPECT(load.runs['z' - 'a'] > 10);
        if (!JZX_EXPECT(load.longest_ns['z' - 'a'] <= longest_ns + JZX__TICK_NS))
            print_error("seed %u waited %u us, longest turn %u us\n", (unsigned)seed,
                        (unsigned)(load.longest_ns['z' - 'a'] / 1000),
                        (unsigned)(longest_ns / 1000));
        rig_close();
    }
}

/* Critical ones and low ones that are overdue, always ready: what the next two tests add to. */
static void be_busy(uint64_t critical_ns, uint64_t low_ns) {
    for (const char *name = "abcdefgh"; *name != '\0'; name++)
        load.cost_ns[*name - 'a'] = low_ns;
    load.cost_ns['z' - 'a'] = critical_ns;
    set_rank("abcdefgh", JZX__LOW);
    set_rank("z", JZX__CRITICAL);
    be_greedy("abcdefghz");
    ready("abcdefghz");
}

static uint64_t longer(uint64_t a_ns, uint64_t b_ns) {
    return a_ns > b_ns ? a_ns : b_ns;
}

/* What overdue ones have in a row: a tick or as long as the turn of others before, and a turn. */
static uint64_t spell_ns(uint64_t critical_ns, uint64_t low_ns) {
    uint64_t owed_ns = critical_ns < LEAD_MAX_NS ? critical_ns : LEAD_MAX_NS;
    return longer(owed_ns, JZX__TICK_NS) + low_ns;
}

static const struct {
    uint64_t critical_ns;
    uint64_t low_ns;
} busy_costs[] = {{4900000, 12000},    {4900000, 4800000}, {4900000, 2600000},
                  {4900000, 400000},   {1000000, 900000},  {12000, 4800000},
                  {50000000, 3000000}, {100000, 60000},    {3000, 12000}};

#define BUSY_COUNT (sizeof busy_costs / sizeof busy_costs[0])

/* For a while; this task is spawned anew whenever it has run. */
static void run_spawning(char name) {
    const char names[2] = {name, '\0'};
    for (uint32_t turns = 0; turns < 20000; turns++) {
        if (rig_task(name)->place == JZX__IDLE) {
            load.since_ns[name - 'a'] = now();
            rig_spawn(names);
        }
        rig.turns = 0;
        rig_run(1);
    }
    JZX_EXPECT(load.runs[name - 'a'] > 100);
}

JZX_TEST(a_spawned_task_waits_for_two_turns_and_a_spell_of_overdue_ones, "E6") {
    for (size_t i = 0; i < BUSY_COUNT; i++) {
        uint64_t critical_ns = busy_costs[i].critical_ns;
        uint64_t low_ns = busy_costs[i].low_ns;
        load_open(1, 1000);
        be_busy(critical_ns, low_ns);
        run_spawning('m');
        JZX_EXPECT(load.longest_ns['m' - 'a'] <= JZX__OLDEST_NS + 2 * longer(critical_ns, low_ns) +
                                                     spell_ns(critical_ns, low_ns));
        rig_close();
    }
}

JZX_TEST(heavy_tasks_wait_for_their_share_a_turn_and_a_spell_of_overdue_ones, "E6") {
    const uint64_t heavy_ns = 1000000;
    for (size_t i = 0; i < BUSY_COUNT; i++) {
        uint64_t critical_ns = busy_costs[i].critical_ns;
        uint64_t low_ns = busy_costs[i].low_ns;
        load_open(2, heavy_ns);
        set_heavy("xy");
        be_busy(critical_ns, low_ns);
        be_greedy("xy");
        ready("xy");
        uint64_t between_ns =
            JZX__HEAVY_WAIT_NS + longer(critical_ns, low_ns) + spell_ns(critical_ns, low_ns);
        run_mixture(0, 0, 0);
        JZX_EXPECT(load.runs['x' - 'a'] > 2);
        JZX_EXPECT(load.longest_ns['x' - 'a'] <= 2 * between_ns + heavy_ns);
        JZX_EXPECT(load.longest_ns['y' - 'a'] <= 2 * between_ns + heavy_ns);
        rig_close();
    }
}

/* ---- heavy tasks ---- */

static void set_costs(const char *names, uint64_t cost_ns) {
    for (; *names != '\0'; names++)
        load.cost_ns[*names - 'a'] = cost_ns;
}

/* One turn of h that takes so long. */
static void run_h(uint64_t cost_ns) {
    load.cost_ns['h' - 'a'] = cost_ns;
    ready("h");
    assert_string_equal(rig_run(1), "h");
}

JZX_TEST(long_messages_in_a_row_make_a_task_heavy_and_a_short_one_makes_it_light, "E6") {
    load_open(2, 1000);
    rig_worker()->meter.tick_every = 1; /* each message is measured */
    struct jzx__task *h = rig_task('h');
    for (uint32_t i = 0; i < JZX__HEAVY; i++) {
        JZX_EXPECT(!jzx__task_is_heavy(h));
        JZX_EXPECT_EQ(h->rest, JZX__IDLE);
        run_h(JZX__HEAVY_NS + 1);
    }
    JZX_EXPECT(jzx__task_is_heavy(h));
    JZX_EXPECT_EQ(h->place, JZX__ASIDE);
    run_h(JZX__LIGHT_NS); /* neither long nor short */
    JZX_EXPECT(jzx__task_is_heavy(h));
    run_h(JZX__LIGHT_NS - 1);
    JZX_EXPECT(!jzx__task_is_heavy(h));
    JZX_EXPECT_EQ(h->place, JZX__IDLE);
    rig_close();
}

JZX_TEST(a_short_message_between_long_ones_keeps_a_task_light) {
    load_open(2, 1000);
    rig_worker()->meter.tick_every = 1;
    for (uint32_t i = 0; i < 20; i++) {
        run_h(10 * JZX__HEAVY_NS);
        run_h(JZX__LIGHT_NS - 1);
        JZX_EXPECT(!jzx__task_is_heavy(rig_task('h')));
    }
    rig_close();
}

JZX_TEST(one_worker_has_no_heavy_tasks) {
    load_open(1, 1000);
    for (uint32_t i = 0; i < 20; i++)
        run_h(10 * JZX__HEAVY_NS);
    JZX_EXPECT(!jzx__task_is_heavy(rig_task('h')));
    rig_close();
}

static void send_across(struct jzx__task *task) {
    rig_worker()->meter.crossed_in_tick += 10 * JZX__HEAVY_NS / (2 * JZX__CROSS_NS);
    take_time(task, 10 * JZX__HEAVY_NS);
}

JZX_TEST(a_task_that_is_slow_because_it_sends_to_other_workers_is_not_heavy) {
    load_open(2, 1000);
    rig.on_turn = send_across;
    for (uint32_t i = 0; i < 20; i++)
        run_h(10 * JZX__HEAVY_NS);
    JZX_EXPECT(!jzx__task_is_heavy(rig_task('h')));
    rig_close();
}

static void send_one_across(struct jzx__task *task) {
    rig_worker()->meter.crossed_in_tick++;
    take_time(task, load.cost_ns['h' - 'a']);
}

/* Or it would stay apart from those it talks to: heavy tasks are not gathered. */
JZX_TEST(a_task_that_sends_across_in_every_message_does_not_stay_heavy, "E6") {
    load_open(2, 1000);
    rig_worker()->meter.tick_every = 1;
    rig.on_turn = send_one_across;
    for (uint32_t i = 0; i < JZX__HEAVY; i++)
        run_h(10 * JZX__HEAVY_NS); /* the machine held it up */
    JZX_EXPECT(jzx__task_is_heavy(rig_task('h')));
    run_h(2 * JZX__CROSS_NS);
    JZX_EXPECT(!jzx__task_is_heavy(rig_task('h')));
    rig_close();
}

JZX_TEST(a_ranked_task_may_be_heavy_and_stays_in_its_queue, "E6") {
    load_open(2, 10 * JZX__HEAVY_NS);
    set_rank("c", JZX__CRITICAL);
    for (uint32_t i = 0; i < 10; i++) {
        ready("c");
        JZX_EXPECT_EQ(rig_task('c')->place, JZX__IN_RANKED);
        assert_string_equal(rig_run(1), "c");
    }
    rig_close();
}

/* Light tasks of 2 us and heavy ones of 100 us, all always ready. */
JZX_TEST(heavy_tasks_get_an_eighth_of_the_time_beside_light_ones, "E6") {
    load_open(2, 1000);
    set_costs("abcd", 1000);
    set_costs("hij", 100000);
    set_heavy("hij");
    be_greedy("abcdhij");
    ready("hij");
    for (const char *name = "abcd"; *name != '\0'; name++)
        jzx__order_requeue(&rig_worker()->order, rig_task(*name));
    while (rig.turns < 3900)
        rig_run(1);
    uint64_t light = 0;
    uint64_t heavy = 0;
    for (const char *name = "abcd"; *name != '\0'; name++)
        light += load.spent_ns[*name - 'a'];
    for (const char *name = "hij"; *name != '\0'; name++) {
        heavy += load.spent_ns[*name - 'a'];
        JZX_EXPECT(load.runs[*name - 'a'] >= 1);
        JZX_EXPECT(jzx__task_is_heavy(rig_task(*name)));
    }
    JZX_EXPECT(heavy >= (light + heavy) / 12);
    JZX_EXPECT(heavy <= (light + heavy) / 5);
    rig_close();
}

/* One that took 50 ms, or was held up for so long, does not keep the others from running. */
JZX_TEST(a_heavy_task_waits_no_longer_for_its_share_because_the_last_one_took_long, "E6") {
    load_open(2, TURN_NS);
    set_rank("ab", JZX__CRITICAL);
    set_heavy("hi");
    set_costs("h", 50000000);
    be_greedy("ab");
    ready("h");
    assert_string_equal(rig_run(1), "h");
    ready("abi");
    load.since_ns['i' - 'a'] = now();
    uint64_t waited = time_until('i', 10 * JZX__HEAVY_WAIT_NS);
    JZX_EXPECT(waited > JZX__HEAVY_WAIT_NS - TURN_NS);
    JZX_EXPECT(waited <= JZX__HEAVY_WAIT_NS + 2 * TURN_NS);
    rig_close();
}

JZX_TEST(heavy_tasks_get_all_the_time_while_nobody_else_waits) {
    load_open(2, 100000);
    set_heavy("hi");
    be_greedy("hi");
    ready("hi");
    assert_string_equal(rig_run_on(6), "hihihi");
    rig_close();
}

JZX_TEST(a_task_that_became_light_runs_with_the_light_ones_again) {
    load_open(2, 1000);
    set_heavy("h");
    ready("h");
    set_costs("h", 500);
    assert_string_equal(rig_run(1), "h");
    JZX_EXPECT(!jzx__task_is_heavy(rig_task('h')));
    ready("h");
    JZX_EXPECT(rig_task('h')->place == JZX__IN_NEXT);
    rig_close();
}
