/* SPDX-License-Identifier: MIT */
/* The workers of src/sched themselves: worker.c, idle.c, balance.c, sched.c and global.c, driven as
 * crew.c drives them, with tasks that only count (scenarios 14-16 of the protocol, rules K3-K6).
 *
 * A turn may be long: then its thread never comes back, as far as this execution goes. At the end
 * no worker may sleep beside work that it was free to take. */
#include "scenarios.h"
#include "sched/crew.h"
#include "sched/idle.h"
#include "workers.h"

#define O(number) ((uint64_t)1 << (number))

static void set_up_one(void) {
    workers_set_up(1, 1);
}

static void set_up_two(void) {
    workers_set_up(2, 2);
}

/* An idle worker looks around once before it sleeps. */
static void set_up_spinner(void) {
    workers_set_up(2, 2);
    workers.sched.spin_looks = 1;
    workers.sched.spin_peeks = 1;
}

/* Worker 0 is in a turn since time 1, and does not come back. Time is the system's: 1 ms. */
static void set_up_inattentive(void) {
    workers_set_up(2, 2);
    jzx__clock_init_manual(&workers.sched.clock, 1000000);
    workers.sched.clock.is_real = true;
    jzx__atomic_store_relaxed(&workers.sched.workers[0]->tick_at_ns, (uint64_t)1);
    jzx__atomic_store_relaxed(&workers.sched.workers[1]->tick_at_ns, (uint64_t)1000000);
    workers.sched.crew.relieve_after_ns = JZX_DEFAULT_RELIEVE_AFTER_NS;
}

/* Both have ticked just now, and no watchdog would find out that one is in a long turn. */
static void set_up_unrelieved(void) {
    set_up_inattentive();
    jzx__atomic_store_relaxed(&workers.sched.workers[0]->tick_at_ns, (uint64_t)1000000);
    workers.sched.crew.relieve_after_ns = JZX_NEVER;
}

/* Three workers and CPUs, turns are long. */
static void set_up_chain(void) {
    workers_set_up(3, 3);
    workers.long_turns = true;
}

/* The same with one CPU too few (K6). */
static void set_up_tight(void) {
    workers_set_up(3, 2);
    workers.long_turns = true;
}

static void set_up_end(void) {
    workers_set_up(2, 2);
    jzx__atomic_store_relaxed(&workers.sched.holds, 0u);
    jzx__worker_count_spawned(workers.sched.workers[0], false);
    jzx__worker_count_spawned(workers.sched.workers[1], false);
    workers_set_up_task(1, workers.sched.workers[1]);
    workers.tasks[2].daemon = true;
}

/* Worker 1 has a task that does not end; worker 0 makes one that ends there. */
static void set_up_live(void) {
    workers_set_up(2, 2);
    jzx__worker_count_spawned(workers.sched.workers[1], false);
}

/* ---- threads ---- */

static struct jzx__worker *sit_down(unsigned index) {
    jzx__seat_of_thread = &workers.threads[index].seat;
    return jzx__seat_enter(&workers.threads[index].seat);
}

/* As drive in crew.c. */
static void drive(struct jzx__worker *me) {
    while (!jzx__sched_is_leaving(me->sched)) {
        enum jzx__pass_result result = jzx__crew_round(me, 4);
        if (result == JZX__PASS_LOST)
            return;
        if (result == JZX__PASS_RAN)
            jzx__worker_check_end(me);
        else if (!jzx__worker_has_work(me))
            jzx__worker_idle(me);
    }
}

static void serve(unsigned index) {
    model_may_sleep();
    drive(sit_down(index));
}

static void serve_0(void) {
    serve(0);
}

static void serve_1(void) {
    serve(1);
}

static void serve_2(void) {
    serve(2);
}

/* Has tasks, offers half of them as a tick would, and is in a long turn from then on. */
static void offer_and_run_long(unsigned count) {
    struct jzx__worker *me = sit_down(0);
    for (unsigned i = 0; i < count; i++) {
        jzx__task_append(&workers.tasks[i], &workers.nodes[i][0], 1);
        jzx__worker_ready(me, &workers.tasks[i]);
    }
    workers_run_turn(me, jzx__order_choose(&me->order));
    jzx__balance_tick(me, 1);
}

static void offer_one(void) {
    offer_and_run_long(2);
}

static void offer_two(void) {
    offer_and_run_long(4);
}

static void push_first(void) {
    struct jzx__node *node = &workers.nodes[0][0];
    model_plain_write(node);
    jzx__node_init_plain(node, 0);
    enum jzx__push_result result = jzx__task_push(&workers.tasks[0], node, 4);
    if (result == JZX__PUSH_OK_INJECT)
        jzx__task_inject(&workers.tasks[0], NULL);
}

static void submit_third(void) {
    struct jzx__task *task = &workers.tasks[2];
    jzx__touch(task);
    task->holds = true;
    task->place = JZX__OFFERED;
    jzx__atomic_store_relaxed(&task->inbox, JZX__INBOX_TOKEN);
    jzx__atomic_store_relaxed(&task->owner, JZX__OWNER_OUT);
    jzx__sched_submit(&workers.sched, task);
}

static void close_all(void) {
    jzx__sched_close(&workers.sched);
}

/* Runs its one task, which keeps the run going, and goes on until the run is over. */
static void run_own_until_end(unsigned index) {
    struct jzx__worker *me = sit_down(index);
    jzx__task_append(&workers.tasks[index], &workers.nodes[index][0], 1);
    jzx__worker_ready(me, &workers.tasks[index]);
    drive(me);
}

static void end_0(void) {
    run_own_until_end(0);
}

static void end_1(void) {
    run_own_until_end(1);
}

static void drive_0(void) {
    drive(sit_down(0));
}

static void drive_1(void) {
    drive(sit_down(1));
}

static void bear(void) {
    jzx__worker_count_spawned(workers.sched.workers[0], false);
    jzx__mpsc_push(jzx__worker_queue(workers.sched.workers[1], JZX__FEED_INJECT),
                   &workers.tasks[0].injected);
}

static void let_die(void) {
    if (jzx__mpsc_take_all(jzx__worker_queue(workers.sched.workers[1], JZX__FEED_INJECT)) != NULL)
        jzx__worker_count_exited(workers.sched.workers[1], false);
}

/* A daemon comes and goes, which keeps no run going, and hides nobody who does. */
static void bear_daemon(void) {
    jzx__worker_count_spawned(workers.sched.workers[0], true);
    jzx__mpsc_push(jzx__worker_queue(workers.sched.workers[1], JZX__FEED_INJECT),
                   &workers.tasks[0].injected);
}

static void let_daemon_die(void) {
    if (jzx__mpsc_take_all(jzx__worker_queue(workers.sched.workers[1], JZX__FEED_INJECT)) != NULL)
        jzx__worker_count_exited(workers.sched.workers[1], true);
}

static void count_live(void) {
    MODEL_ASSERT(jzx__sched_live(&workers.sched) != 0);
}

/* ---- at the end ---- */

static void check_ran_once(void) {
    MODEL_ASSERT(workers.ran[0] == 1);
    MODEL_ASSERT(jzx__mpsc_is_empty(jzx__worker_queue(workers.sched.workers[0], JZX__FEED_INJECT)));
}

static void check_submitted(void) {
    MODEL_ASSERT(workers.ran[2] == 1);
    model_outcome(workers.ran_by[2]);
}

/* No worker sleeps beside an offer while a CPU is free for it (K3-K6). How many long turns there
 * are: one if worker 0 saw nobody idle, two if a thief saw nobody idle and took all. */
static void check_offers(void) {
    bool offered = !jzx__deque_is_empty_seq_cst(&workers.sched.workers[0]->deque);
    uint32_t active = jzx__atomic_load_relaxed(&workers.sched.active);
    MODEL_ASSERT(!offered || active >= workers.cpu_count || active == workers.sched.worker_count);
    model_outcome(workers.busy);
}

static void check_left(void) {
    MODEL_ASSERT(jzx__sched_is_leaving(&workers.sched));
}

const struct model_scenario model_worker[] = {
    {.name = "worker_push_against_sleep",
     .about = "14: an entry against a worker that falls asleep",
     .setup = set_up_one,
     .threads = {serve_0, push_first},
     .check = check_ran_once,
     .bounds = {.preemptions = 3, .stale = 3},
     WORKERS},
    {.name = "worker_submit",
     .about = "14: a task from outside against two workers that fall asleep",
     .setup = set_up_two,
     .threads = {serve_0, serve_1, submit_third},
     .check = check_submitted,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 1},
     WORKERS},
    {.name = "worker_submit_beside_long_turn",
     .about = "W9: a task from outside while one worker does not tick and another falls asleep",
     .setup = set_up_inattentive,
     .threads = {serve_1, submit_third},
     .check = check_submitted,
     .outcomes = O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     WORKERS},
    {.name = "worker_submit_without_relief",
     .about = "W9: the same if the long turn has just begun, and nothing relieves it",
     .setup = set_up_unrelieved,
     .threads = {serve_1, submit_third},
     .check = check_submitted,
     .outcomes = O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     WORKERS},
    {.name = "worker_offer",
     .about = "14: an offer against a worker that falls asleep",
     .setup = set_up_two,
     .threads = {offer_one, serve_1},
     .check = check_offers,
     .outcomes = O(0),
     .bounds = {.preemptions = 3, .stale = 3},
     WORKERS},
    {.name = "worker_offer_against_spinner",
     .about = "14: the same with a worker that looks around first: nobody is woken for it",
     .setup = set_up_spinner,
     .threads = {offer_one, serve_1},
     .check = check_offers,
     .outcomes = O(0),
     .bounds = {.preemptions = 3, .stale = 3},
     WORKERS},
    {.name = "worker_submit_against_spinners",
     .about = "14: a task from outside, likewise",
     .setup = set_up_spinner,
     .threads = {serve_0, serve_1, submit_third},
     .check = check_submitted,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 1},
     WORKERS},
    {.name = "worker_wake_chain",
     .about = "15: two offers, two sleepers, long turns",
     .setup = set_up_chain,
     .threads = {offer_two, serve_1, serve_2},
     .check = check_offers,
     .outcomes = O(1) | O(2) | O(3),
     .bounds = {.preemptions = 2, .stale = 1},
     WORKERS},
    {.name = "worker_too_few_cpus",
     .about = "15, K6: the same with one CPU less",
     .setup = set_up_tight,
     .threads = {offer_two, serve_1, serve_2},
     .check = check_offers,
     .outcomes = O(1) | O(2),
     .bounds = {.preemptions = 2, .stale = 1},
     WORKERS},
    {.name = "worker_close",
     .about = "16: a stop against workers that fall asleep",
     .setup = set_up_two,
     .threads = {drive_0, drive_1, close_all},
     .check = check_left,
     .bounds = {.preemptions = 2, .stale = 1},
     WORKERS},
    {.name = "worker_run_ends",
     .about = "the last two tasks end on two workers: both leave",
     .setup = set_up_end,
     .threads = {end_0, end_1},
     .check = check_left,
     .bounds = {.preemptions = 3, .stale = 3},
     WORKERS},
    {.name = "worker_counts_live_tasks",
     .about = "a task that is born on one worker and dies on another never hides one that lives",
     .setup = set_up_live,
     .threads = {bear, let_die, count_live},
     .bounds = {.preemptions = 3, .stale = 3},
     WORKERS},
    {.name = "worker_counts_daemons_apart",
     .about = "the same with a daemon",
     .setup = set_up_live,
     .threads = {bear_daemon, let_daemon_die, count_live},
     .bounds = {.preemptions = 3, .stale = 3},
     WORKERS},
};
const size_t model_worker_count = sizeof model_worker / sizeof *model_worker;
