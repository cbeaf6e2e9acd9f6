/* SPDX-License-Identifier: MIT */
/* src/sched/watchdog.c, included, as its functions are its own: it takes a worker from a thread
 * (R18; scenarios 17 and 20 of the protocol), and sleeps while all workers do. */
#include "scenarios.h"
#include "workers.h"

#include <sched.h>

#define sched_yield() model_yield()
#include "sched/watchdog.c"

#define O(number) ((uint64_t)1 << (number))

/* Thread 0 drives worker 0 and is in a turn of task 0; thread 1 is a spare. */
static void set_up_turn(void) {
    workers_set_up(1, 2);
    struct jzx__crew *crew = &workers.sched.crew;
    crew->can_take = true;
    crew->spares = &workers.threads[1];
    workers.threads[1].sched = &workers.sched;
    jzx__parker_init(&workers.threads[1].parker);
    jzx__atomic_store_relaxed(&workers.threads[0].seat.task, &workers.tasks[0]);
    workers.tasks[0].place = JZX__RUNNING;
}

/* Worker 0 is about to sleep; nobody else is there. */
static void set_up_rest(void) {
    workers_set_up(1, 1);
}

/* Worker 0 sleeps. */
static void set_up_asleep(void) {
    workers_set_up(1, 1);
    jzx__atomic_store_relaxed(&workers.sched.active, 0u);
    jzx__parker_announce(&workers.sched.workers[0]->parker, JZX__SLEEPS_ON_FUTEX);
}

/* ---- threads ---- */

static void use_worker(struct jzx__worker *worker) {
    jzx__touch(worker);
    jzx__touch(&workers.tasks[0]);
}

/* A behaviour that calls into the runtime, and returns. */
static void behave(void) {
    struct jzx__visit visit;
    jzx__seat_of_thread = &workers.threads[0].seat;
    struct jzx__worker *me = jzx__visit_begin(&visit);
    if (me != NULL)
        use_worker(me);
    jzx__visit_end(&visit);
    me = jzx__seat_enter(&workers.threads[0].seat);
    if (me != NULL)
        use_worker(me);
    jzx__seat_leave(&workers.threads[0].seat, 0);
    workers.ran[0] = me == NULL;
}

/* A look at a turn that takes long. */
static void relieve(void) {
    struct jzx__worker *worker = workers.sched.workers[0];
    struct jzx__thread *spare = take(&workers.sched, worker, &workers.threads[0].seat);
    workers.busy = spare != NULL;
    if (spare != NULL) {
        use_worker(worker);
        give(&workers.sched, spare, worker);
    }
}

/* The spare, if it gets the worker. */
static void drive_if_given(void) {
    struct jzx__seat *seat = &workers.threads[1].seat;
    struct jzx__worker *worker = jzx__seat_enter(seat);
    if (worker != NULL && jzx__atomic_load_acquire(&seat->worker) == worker)
        use_worker(worker);
    jzx__seat_leave(seat, 0);
}

/* The watchdog has seen the worker asleep and rests. It must not, or be woken, while the worker is
 * awake. */
static void rest_once(void) {
    rest(&workers.sched, JZX_NEVER, 1);
}

/* The end of a run, and of the watchdog. */
static void end_run(void) {
    jzx__sched_end_run(&workers.sched);
    jzx__parker_wake(&workers.sched.crew.watch);
}

/* The worker announces sleep, is needed after all, and goes on. */
static void wake_up(void) {
    struct jzx__worker *me = workers.sched.workers[0];
    jzx__seat_of_thread = &workers.threads[0].seat;
    jzx__mpsc_push(&me->inject, &workers.tasks[0].injected);
    jzx__worker_idle(me);
}

/* ---- at the end ---- */

/* Taken or not; and lost in the turn or not. */
static void check_taken(void) {
    MODEL_ASSERT(workers.busy == 0 || workers.tasks[0].place == JZX__AWAY);
    model_outcome(workers.busy + 2 * workers.ran[0]);
}

const struct model_scenario model_watchdog[] = {
    {.name = "watchdog_takes_worker",
     .about = "17: the worker of a turn that calls in and returns is taken",
     .setup = set_up_turn,
     .threads = {behave, relieve, drive_if_given},
     .check = check_taken,
     .outcomes = O(0) | O(1) | O(3),
     WORKERS},
    {.name = "watchdog_rests",
     .about = "20: the watchdog sleeps only while all workers do",
     .setup = set_up_rest,
     .threads = {wake_up, rest_once},
     .bounds = {.preemptions = 3, .stale = 3},
     WORKERS},
    {.name = "watchdog_ends",
     .about = "16: the run ends while the watchdog falls asleep",
     .setup = set_up_asleep,
     .threads = {rest_once, end_run},
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
};
const size_t model_watchdog_count = sizeof model_watchdog / sizeof *model_watchdog;
