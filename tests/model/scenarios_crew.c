/* SPDX-License-Identifier: MIT */
/* src/sched/crew.c, included, as its functions are its own: threads that wait for a worker, get one
 * and give it back (C1, C2; scenarios 17 and 19 of the protocol). */
#include "scenarios.h"
#include "workers.h"

#include "sched/crew.c"

#define O(number) ((uint64_t)1 << (number))

static struct jzx__thread *main_thread(void) {
    return &workers.sched.crew.main;
}

/* Thread 1 drives worker 0; the thread that called run has lost it. */
static void set_up_lost(void) {
    workers_set_up(2, 2);
    main_thread()->sched = &workers.sched;
    jzx__crew_sit(&workers.threads[1].seat, workers.sched.workers[0], false);
    jzx__atomic_store_relaxed(&workers.threads[0].seat.worker, NULL);
}

/* Nobody drives worker 1; thread 1 is a spare. */
static void set_up_spare(void) {
    workers_set_up(2, 2);
    main_thread()->sched = &workers.sched;
    jzx__crew_rise(&workers.threads[1].seat, workers.sched.workers[1]);
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

const struct model_scenario model_crew[] = {
    {.name = "crew_gives_worker_back",
     .about = "19: the caller wants worker 0 back while its driver falls asleep",
     .setup = set_up_lost,
     .threads = {drive_in_place, want_back},
     .check = check_given_back,
     .bounds = {.preemptions = 4, .stale = 3},
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
