/* SPDX-License-Identifier: MIT */
/* src/sched/crew.c, included, as its functions are its own: threads that wait for a worker, get one
 * and give it back (C1-C6; scenarios 16, 17 and 19 of the protocol). */
#include "scenarios.h"
#include "workers.h"

#include "sched/crew.c"

#define O(number) ((uint64_t)1 << (number))

static struct jzx__thread *main_thread(void) {
    return &workers.sched.crew.main;
}

/* No home of any worker. */
static void make_substitute(struct jzx__thread *thread) {
    thread->sched = &workers.sched;
    thread->home = NULL;
    jzx__parker_init(&thread->parker);
}

/* Thread 1 drives worker 0; the thread that called run has lost it. */
static void set_up_lost(void) {
    workers_set_up(2, 2);
    main_thread()->sched = &workers.sched;
    main_thread()->home = workers.sched.workers[0];
    make_substitute(&workers.threads[1]);
    jzx__crew_sit(&workers.threads[1].seat, workers.sched.workers[0], false);
    jzx__atomic_store_relaxed(&workers.threads[0].seat.worker, NULL);
}

/* Nobody drives worker 1; thread 1 is a spare. */
static void set_up_spare(void) {
    workers_set_up(2, 2);
    main_thread()->sched = &workers.sched;
    workers.threads[1].home = NULL;
    jzx__crew_rise(&workers.threads[1].seat, workers.sched.workers[1]);
}

/* The same, and thread 1 is the home thread. */
static void set_up_start(void) {
    set_up_spare();
    workers.threads[1].home = workers.sched.workers[1];
}

/* Thread 1 has lost worker 1 and comes back; thread 2 drives that, and there is no spare. */
static void set_up_substituted(void) {
    set_up_start();
    workers.sched.crew.can_take = true;
    make_substitute(&workers.threads[2]);
    jzx__crew_sit(&workers.threads[2].seat, workers.sched.workers[1], false);
}

/* The same, and thread 0 is a spare. */
static void set_up_substituted_with_spare(void) {
    set_up_substituted();
    make_substitute(&workers.threads[0]);
    jzx__crew_rise(&workers.threads[0].seat, workers.sched.workers[0]);
    workers.sched.crew.spares = &workers.threads[0];
}

/* ---- threads ---- */

static void drive_in_place(void) {
    jzx__seat_of_thread = &workers.threads[1].seat;
    struct jzx__worker *worker = await_worker(&workers.threads[1]);
    MODEL_ASSERT(worker == workers.sched.workers[0]);
    drive(&workers.threads[1], worker);
}

static void want_back(void) {
    jzx__seat_of_thread = &main_thread()->seat;
    MODEL_ASSERT(await_worker(main_thread()) == workers.sched.workers[0]);
    jzx__touch(workers.sched.workers[0]);
}

static void wait_as_spare(void) {
    jzx__seat_of_thread = &workers.threads[1].seat;
    struct jzx__worker *worker = await_worker(&workers.threads[1]);
    MODEL_ASSERT(worker == NULL || worker == workers.sched.workers[1]);
    workers.busy += worker != NULL;
    if (worker != NULL)
        jzx__touch(worker);
}

static void give_to_spare(void) {
    jzx__touch(workers.sched.workers[1]);
    jzx__lock_acquire(&workers.sched.crew.lock);
    jzx__crew_give(&workers.sched, &workers.threads[1], workers.sched.workers[1]);
    jzx__lock_release(&workers.sched.crew.lock);
}

/* A home thread comes back from a turn that it did without its worker. */
static void come_home(void) {
    jzx__seat_of_thread = &workers.threads[1].seat;
    struct jzx__worker *worker = await_worker(&workers.threads[1]);
    MODEL_ASSERT(worker == NULL || worker == workers.sched.workers[1]);
    workers.ran[0] = worker != NULL;
    if (worker != NULL)
        jzx__touch(worker);
}

/* The same, and it calls in from that turn first, as any behaviour may. */
static void call_in_and_come_home(void) {
    struct jzx__visit visit;
    jzx__seat_of_thread = &workers.threads[1].seat;
    MODEL_ASSERT(jzx__visit_begin(&visit) == NULL); /* C5 */
    jzx__visit_end(&visit);
    come_home();
}

/* A thread that has a worker, or is about to find that it has lost it. */
static void drive_until_lost(struct jzx__thread *thread) {
    jzx__seat_of_thread = &thread->seat;
    struct jzx__worker *worker = jzx__seat_enter(&thread->seat);
    if (worker != NULL) {
        jzx__touch(worker);
        drive(thread, worker);
    } else {
        jzx__seat_leave(&thread->seat, 0);
        become_spare(thread);
    }
}

static void drive_as_substitute(void) {
    drive_until_lost(&workers.threads[2]);
}

/* The watchdog, and then the spare that it gave the worker to, if it was that. */
static void relieve_substitute(void) {
    struct jzx__thread *next = workers_relieve(workers.sched.workers[1], &workers.threads[2].seat);
    workers.busy = next == NULL ? 0 : next == &workers.threads[1] ? 1 : 2;
    if (next == &workers.threads[0]) {
        jzx__seat_of_thread = &workers.threads[0].seat;
        drive(next, await_worker(next));
    }
}

/* The substitute does not return; the watchdog looks again once the home thread is back. */
static void relieve_at_last(void) {
    while (jzx__atomic_load_acquire(&workers.sched.workers[1]->wanted_by) == NULL)
        model_yield();
    MODEL_ASSERT(workers_relieve(workers.sched.workers[1], &workers.threads[2].seat) ==
                 &workers.threads[1]); /* C6 */
}

/* As the end of a run: the threads are told after leave is set. */
static void end_run(void) {
    jzx__sched_end_run(&workers.sched);
    jzx__parker_wake(&workers.threads[1].parker);
}

/* ---- at the end ---- */

static void check_given_back(void) {
    MODEL_ASSERT(jzx__atomic_load_relaxed(&workers.threads[1].seat.worker) == NULL);
}

static void check_given(void) {
    model_outcome(workers.busy);
}

/* The home thread has its worker, and does not wait for it any more. */
static void check_is_home(void) {
    struct jzx__worker *worker = workers.sched.workers[1];
    MODEL_ASSERT(jzx__atomic_load_relaxed(&workers.threads[1].seat.worker) == worker);
    MODEL_ASSERT(jzx__atomic_load_relaxed(&worker->seat) == &workers.threads[1].seat);
    MODEL_ASSERT(jzx__atomic_load_relaxed(&worker->wanted_by) == NULL); /* C5 */
    model_outcome(workers.busy);
}

static bool is_spare(const struct jzx__thread *thread) {
    unsigned count = 0;
    for (struct jzx__thread *spare = workers.sched.crew.spares; spare != NULL;
         spare = spare->next_spare)
        count += spare == thread;
    MODEL_ASSERT(count <= 1);
    return count == 1;
}

/* And whoever drove it meanwhile is a spare, the home thread is not. */
static void check_substitutes(void) {
    check_is_home();
    MODEL_ASSERT(is_spare(&workers.threads[2]) && !is_spare(&workers.threads[1]));
    MODEL_ASSERT(is_spare(&workers.threads[0]) ==
                 (workers.threads[0].home == NULL)); /* if it was one */
}

static void check_ended(void) {
    model_outcome(workers.ran[0]);
}

const struct model_scenario model_crew[] = {
    {.name = "crew_gives_worker_back",
     .about = "19: the caller wants worker 0 back while its driver falls asleep",
     .setup = set_up_lost,
     .threads = {drive_in_place, want_back},
     .check = check_given_back,
     .bounds = {.preemptions = 4, .stale = 3},
     WORKERS},
    {.name = "crew_gives_worker_home",
     .about = "19: a home thread comes back while its substitute falls asleep",
     .setup = set_up_substituted,
     .threads = {drive_as_substitute, call_in_and_come_home},
     .check = check_substitutes,
     .outcomes = O(0),
     .bounds = {.preemptions = 4, .stale = 3},
     WORKERS},
    {.name = "crew_home_against_watchdog",
     .about = "19: the same while the watchdog takes the worker: from the substitute to the home",
     .setup = set_up_substituted,
     .threads = {drive_as_substitute, come_home, relieve_substitute},
     .check = check_substitutes,
     .outcomes = O(0) | O(1),
     WORKERS},
    {.name = "crew_home_against_spare",
     .about = "19: the same, perhaps to a spare, which gives it back",
     .setup = set_up_substituted_with_spare,
     .threads = {drive_as_substitute, come_home, relieve_substitute},
     .check = check_substitutes,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 2, .stale = 1},
     WORKERS},
    {.name = "crew_home_without_spares",
     .about = "19: the substitute does not return and no spare is left: the home thread drives",
     .setup = set_up_substituted,
     .threads = {come_home, relieve_at_last},
     .check = check_is_home,
     .outcomes = O(0),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
    {.name = "crew_starts",
     .about = "a home thread gets its worker at the start of a run",
     .setup = set_up_start,
     .threads = {come_home, give_to_spare},
     .check = check_is_home,
     .outcomes = O(0),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
    {.name = "crew_ends_away_from_home",
     .about = "16: the run ends while a home thread waits for its worker",
     .setup = set_up_substituted,
     .threads = {drive_as_substitute, come_home, end_run},
     .check = check_ended,
     .outcomes = O(0) | O(1),
     WORKERS},
    {.name = "crew_gives_worker_to_spare",
     .about = "17: a spare falls asleep and is given a worker",
     .setup = set_up_spare,
     .threads = {wait_as_spare, give_to_spare},
     .check = check_given,
     .outcomes = O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
    {.name = "crew_ends",
     .about = "16: a spare falls asleep while the run ends",
     .setup = set_up_spare,
     .threads = {wait_as_spare, end_run},
     .check = check_given,
     .outcomes = O(0),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
};
const size_t model_crew_count = sizeof model_crew / sizeof *model_crew;
