/* SPDX-License-Identifier: MIT */
/* src/sched/crew.c, included, as its functions are its own: threads that wait for a worker, get one
 * and give it back (C1-C6; scenarios 16, 17 and 19 of the protocol). */
#include "scenarios.h"
#include "workers.h"

#include "sched/crew.c"
#include "sched/relief.h"

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

/* Thread 2 drives worker 1 and does not come back; thread 1 is the home thread. There is no spare,
 * and task 0 is worker 1's. */
static void set_up_limit(void) {
    set_up_substituted();
    workers_set_up_task(0, workers.sched.workers[1]);
}

/* The same, and worker 1 is unattended. */
static void set_up_unattended(void) {
    set_up_limit();
    jzx__crew_rise(&workers.threads[2].seat, workers.sched.workers[1]);
    workers.sched.workers[1]->is_unattended = true;
    jzx__atomic_store_relaxed(&workers.sched.active, 1u);
}

/* Thread 2 drives worker 1 and does not come back; thread 0 is a substitute whose turn of task 1
 * goes on without that worker. There is no spare. */
static void take_back(struct jzx__worker *me, struct jzx__seat *seat) {
    (void)me;
    (void)seat;
}

static void set_up_lost_turn(void) {
    set_up_limit();
    workers.sched.ops.take_back = take_back;
    struct jzx__thread *thread = &workers.threads[0];
    make_substitute(thread);
    jzx__atomic_store_relaxed(&workers.sched.workers[0]->seat, NULL);
    jzx__atomic_store_relaxed(&thread->seat.worker, NULL);
    jzx__atomic_store_relaxed(&thread->seat.task, &workers.tasks[1]);
    jzx__atomic_store_relaxed(&thread->seat.lost_at_ns, (uint64_t)1);
    thread->seat.lost_worker = workers.sched.workers[1];
    workers.tasks[1].place = JZX__AWAY;
    workers.sched.crew.threads = thread;
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

/* The watchdog, and then the spare that it gave the worker to, if it was that, or the
 * substitute, if that has become a spare before the watchdog left the worker alone. */
static void relieve_substitute(void) {
    struct jzx__thread *next = NULL;
    bool taken = workers_relieve(workers.sched.workers[1], &workers.threads[2].seat, &next);
    workers.busy = !taken ? 0 : next == NULL ? 3 : next == &workers.threads[1] ? 1 : 2;
    if (!taken)
        next = NULL;
    else if (next == NULL &&
             jzx__atomic_load_relaxed(&workers.threads[2].seat.worker) == workers.sched.workers[1])
        next = &workers.threads[2];
    if (next == &workers.threads[0] || next == &workers.threads[2]) {
        jzx__seat_of_thread = &next->seat;
        drive(next, await_worker(next));
    }
}

/* The substitute does not return; the watchdog looks again once the home thread is back. */
static void relieve_at_last(void) {
    while (jzx__atomic_load_acquire(&workers.sched.workers[1]->wanted_by) == NULL)
        model_yield();
    struct jzx__thread *next;
    MODEL_ASSERT(workers_relieve(workers.sched.workers[1], &workers.threads[2].seat, &next) &&
                 next == &workers.threads[1]); /* C6 */
}

/* The watchdog finds nobody to give worker 1 to, and looks again later. */
static void relieve_at_limit(void) {
    struct jzx__thread *next;
    if (workers_relieve(workers.sched.workers[1], &workers.threads[2].seat, &next))
        jzx__relief_look(&workers.sched, workers.sched.workers[1]);
}

static void look_at_unattended(void) {
    jzx__relief_look(&workers.sched, workers.sched.workers[1]);
    jzx__relief_look(&workers.sched, workers.sched.workers[1]);
}

/* Another thread sends to task 0. */
static void push_to_unattended(void) {
    struct jzx__node *node = &workers.nodes[0][0];
    model_plain_write(node);
    jzx__node_init_plain(node, 0);
    if (jzx__task_push(&workers.tasks[0], node, 4) == JZX__PUSH_OK_INJECT)
        jzx__task_inject(&workers.tasks[0], NULL);
}

/* The turn of thread 0 is over: it leaves it with worker 1, and waits. */
static void return_and_wait(void) {
    struct jzx__thread *thread = &workers.threads[0];
    jzx__seat_of_thread = &thread->seat;
    jzx__crew_return(workers.sched.workers[1], &thread->seat, 30);
    struct jzx__worker *worker = await_worker(thread);
    MODEL_ASSERT(worker == workers.sched.workers[1]);
    jzx__touch(worker);
}

/* The same, and it drives the worker until that goes home. */
static void return_and_drive(void) {
    struct jzx__thread *thread = &workers.threads[0];
    jzx__seat_of_thread = &thread->seat;
    model_may_sleep();
    jzx__crew_return(workers.sched.workers[1], &thread->seat, 30);
    drive(thread, await_worker(thread));
}

/* The turn of thread 0 has returned. Thread 2 takes it back before it finds that it has lost the
 * worker, or leaves that to the next. */
static void set_up_chosen(void) {
    set_up_lost_turn();
    struct jzx__thread *thread = &workers.threads[0];
    thread->returned_to = workers.sched.workers[1];
    jzx__mpsc_push(jzx__worker_queue(workers.sched.workers[1], JZX__FEED_RETURNS),
                   &thread->seat.returned);
}

static void take_back_and_leave(void) {
    struct jzx__seat *seat = &workers.threads[2].seat;
    jzx__seat_of_thread = seat;
    if (jzx__seat_enter(seat) != NULL)
        jzx__crew_take_returns(workers.sched.workers[1], UINT32_MAX);
    jzx__seat_leave(seat, 0);
}

static void relieve_for_chosen(void) {
    struct jzx__thread *next;
    workers_relieve(workers.sched.workers[1], &workers.threads[2].seat, &next);
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

/* The home thread has its worker, with what was sent; or that is in the global queue. */
static void check_attended(void) {
    struct jzx__worker *worker = workers.sched.workers[1];
    check_is_home();
    MODEL_ASSERT(!worker->is_unattended);
    MODEL_ASSERT(jzx__atomic_load_relaxed(&workers.sched.active) == 2);
    bool moved = jzx__global_count(&workers.sched.global) == 1;
    bool here = !jzx__mpsc_is_empty(jzx__worker_queue(worker, JZX__FEED_INJECT)) ||
                worker->order.woken.depth == 1;
    MODEL_ASSERT(moved != here);
}

/* The substitute drives the worker to which its turn has returned, and is no spare. */
static void check_returned(void) {
    struct jzx__worker *worker = workers.sched.workers[1];
    MODEL_ASSERT(jzx__atomic_load_relaxed(&worker->seat) == &workers.threads[0].seat);
    MODEL_ASSERT(!worker->is_unattended && workers.sched.crew.spares == NULL);
    MODEL_ASSERT(!jzx__mpsc_is_empty(jzx__worker_queue(worker, JZX__FEED_RETURNS)));
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

/* Thread 0 drives the worker, or is a spare, or waits for its turn to be taken back. */
static void check_chosen(void) {
    const struct jzx__thread *thread = &workers.threads[0];
    bool drives = jzx__atomic_load_relaxed(&thread->seat.worker) != NULL;
    MODEL_ASSERT((int)drives + is_spare(thread) + (thread->returned_to != NULL) == 1);
    MODEL_ASSERT(!thread->is_chosen);
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
     .outcomes = O(0) | O(1) | O(3),
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
    {.name = "crew_leaves_unattended",
     .about = "C7: the watchdog finds no thread for a worker while its home thread comes back",
     .setup = set_up_limit,
     .threads = {come_home, relieve_at_limit},
     .check = check_is_home,
     .outcomes = O(0),
     .bounds = {.preemptions = 4, .stale = 3},
     WORKERS},
    {.name = "crew_empties_unattended",
     .about = "C7: and moves what is sent meanwhile",
     .setup = set_up_unattended,
     .threads = {come_home, look_at_unattended, push_to_unattended},
     .check = check_attended,
     .outcomes = O(0),
     .bounds = {.preemptions = 2, .stale = 1},
     WORKERS},
    {.name = "crew_returns_to_unattended",
     .about = "C7: a turn returns to a worker that the watchdog finds no thread for",
     .setup = set_up_lost_turn,
     .threads = {return_and_wait, relieve_at_limit},
     .check = check_returned,
     .bounds = {.preemptions = 4, .stale = 3},
     WORKERS},
    {.name = "crew_returns_and_goes_home",
     .about = "C2: a substitute gets the worker that has its turn, and the home thread comes back",
     .setup = set_up_lost_turn,
     .threads = {return_and_drive, come_home, relieve_at_limit},
     .check = check_chosen,
     .bounds = {.preemptions = 2, .stale = 1},
     WORKERS},
    {.name = "crew_takes_back_the_chosen",
     .about = "C2: a turn is taken back while its thread is chosen to drive the worker",
     .setup = set_up_chosen,
     .threads = {take_back_and_leave, relieve_for_chosen},
     .check = check_chosen,
     .bounds = {.preemptions = 4, .stale = 3},
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
