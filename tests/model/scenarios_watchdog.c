/* SPDX-License-Identifier: MIT */
/* src/sched/watchdog.c and relief.c, included for their static functions. The watchdog takes a
 * worker from a thread (R18; scenarios 17 and 20 of the protocol). It sleeps while all workers
 * do. It tells of each stall once, and of its end once. */
#include "scenarios.h"
#include "sched/crew.h"
#include "sched/idle.h"
#include "workers.h"

#include <sched.h>

#define sched_yield() model_yield()
#include "sched/relief.c"
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

#define PATIENCE 10u

/* What was told of turns, and of their ends. */
static struct told {
    unsigned count;
    unsigned tags; /* the sum: each was told as it was */
} stalls, ends;

static void note_stall(struct jzx__worker *worker, const struct jzx__stall *stall) {
    struct told *told = stall->over ? &ends : &stalls;
    MODEL_ASSERT(stall->elapsed_ns >= PATIENCE);
    MODEL_ASSERT(worker == workers.sched.workers[0]);
    /* Task 1 was told of in the beginning, if it is there. */
    MODEL_ASSERT(stall->task == &workers.tasks[0] || stall->over);
    told->count++;
    told->tags += stall->tag;
}

/* Thread 0 is in a turn of task 0 since time 1, with a message of tag 1; there is no spare. */
static void set_up_stall(void) {
    workers_set_up(2, 2);
    workers.sched.crew.stall_after_ns = PATIENCE;
    workers.sched.ops.tell_stall = note_stall;
    jzx__clock_init_manual(&workers.sched.clock, 100);
    jzx__atomic_store_relaxed(&workers.threads[0].seat.task, &workers.tasks[0]);
    jzx__atomic_store_relaxed(&workers.threads[0].seat.tag, 1u);
    jzx__atomic_store_relaxed(&workers.sched.workers[0]->tick_at_ns, (uint64_t)1);
    jzx__atomic_store_relaxed(&workers.sched.workers[0]->meter.tick_left, 50u);
    workers.tasks[0].place = JZX__RUNNING;
    /* The watchdog has seen that tick before. */
    workers.sched.workers[0]->long_turn = (struct jzx__long_turn){.tick = 1, .usage.at_ns = 1};
    stalls = ends = (struct told){0};
}

/* The same, but it is early: a message that began at time 40 is not a stall yet. */
static void set_up_early(void) {
    set_up_stall();
    jzx__clock_init_manual(&workers.sched.clock, 45);
}

static void take_back(struct jzx__worker *worker, struct jzx__seat *seat) {
    (void)worker;
    (void)seat;
}

/* The caller has its worker back, and has not taken back yet what it did without: a turn of task 1,
 * which was told of. */
static void set_up_returned(void) {
    set_up_stall();
    struct jzx__crew *crew = &workers.sched.crew;
    struct jzx__seat *seat = &crew->main.seat;
    crew->main.sched = &workers.sched;
    workers.sched.ops.take_back = take_back;
    jzx__atomic_store_relaxed(&seat->lost_at_ns, (uint64_t)1);
    jzx__atomic_store_relaxed(&seat->returned_at_ns, (uint64_t)100);
    jzx__atomic_store_relaxed(&seat->told, (uint32_t)JZX__TELL_TOLD);
    jzx__atomic_store_relaxed(&seat->task, &workers.tasks[1]);
    jzx__atomic_store_relaxed(&seat->tag, 1u);
    jzx__mpsc_push(jzx__worker_queue(workers.sched.workers[0], JZX__FEED_RETURNS), &seat->returned);
    jzx__crew_sit(seat, workers.sched.workers[0], true);
    stalls = (struct told){.count = 1, .tags = 1};
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

/* Worker 0 is in a turn and does not come back, though it was attentive until now. */
static void set_up_global(void) {
    workers_set_up(2, 2);
}

/* The turn of thread 0 goes on without worker 0 since time 1, and is over at time 30. It was not
 * told of yet, and thread 1 has the worker. */
static void set_up_lost(void) {
    set_up_stall();
    struct jzx__seat *seat = &workers.threads[0].seat;
    seat->lost_worker = workers.sched.workers[0];
    jzx__atomic_store_relaxed(&seat->lost_at_ns, (uint64_t)1);
    jzx__atomic_store_relaxed(&seat->told, (uint32_t)JZX__TELL_UNTOLD);
    jzx__crew_sit(&workers.threads[1].seat, workers.sched.workers[0], false);
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

bool workers_relieve(struct jzx__worker *worker, struct jzx__seat *seat,
                     struct jzx__thread **next) {
    if (!jzx__relief_take(&workers.sched, worker, seat, tick_of(worker), next))
        return false;
    use_worker(worker);
    jzx__relief_give(&workers.sched, *next, worker);
    return true;
}

/* A look at a turn that takes long. */
static void relieve_once(void) {
    struct jzx__thread *next;
    workers.busy = workers_relieve(workers.sched.workers[0], &workers.threads[0].seat, &next);
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
    const struct plan plan = {.pace = JZX__WATCH_SLEEPS, .due_ns = JZX_NEVER};
    rest(&workers.sched, &plan, 1);
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
    jzx__mpsc_push(jzx__worker_queue(me, JZX__FEED_INJECT), &workers.tasks[0].injected);
    jzx__worker_idle(me);
}

/* As the tick after a message, and the next message. */
static void tick_at(uint64_t now) {
    struct jzx__worker *me = workers.sched.workers[0];
    jzx__atomic_store_relaxed(&me->tick_at_ns, now);
    jzx__report_tick(me, &workers.tasks[0], PATIENCE, true);
    jzx__atomic_store_relaxed(&workers.threads[0].seat.tag, (uint32_t)now);
}

/* Two long messages, and a third that is begun. */
static void go_on(void) {
    tick_at(40);
    tick_at(70);
}

/* The turn ends without a tick, and there is no more to do. */
static void fall_asleep(void) {
    jzx__atomic_store_relaxed(&workers.threads[0].seat.task, NULL);
    jzx__parker_announce(&workers.sched.workers[0]->parker, JZX__SLEEPS_ON_FUTEX);
}

/* A long message and another, the worker lost in the first, in the second, or after both. */
static void go_on_or_lose_by(void (*begin_next)(void)) {
    struct jzx__seat *seat = &workers.threads[0].seat;
    workers.busy = 1;
    if (jzx__seat_enter(seat) != NULL) {
        begin_next();
        jzx__seat_leave(seat, 0);
        if (jzx__seat_enter(seat) != NULL) {
            jzx__atomic_store_relaxed(&seat->task, NULL);
            workers.busy = 0;
        }
    }
    jzx__seat_leave(seat, 0);
}

static void tick_at_40(void) {
    tick_at(40);
}

static void begin_without_tick(void) {
    jzx__atomic_store_relaxed(&workers.threads[0].seat.tag, 2u);
}

static void go_on_or_lose(void) {
    go_on_or_lose_by(tick_at_40);
}

/* The second has another tag, and no tick is between them. */
static void go_on_unseen_or_lose(void) {
    go_on_or_lose_by(begin_without_tick);
}

/* A long message that ends the turn without a tick, the worker lost in it or after it. */
static void end_or_lose(void) {
    struct jzx__seat *seat = &workers.threads[0].seat;
    workers.busy = 1;
    if (jzx__seat_enter(seat) != NULL) {
        jzx__atomic_store_relaxed(&seat->task, NULL);
        workers.busy = 0;
    }
    jzx__seat_leave(seat, 0);
}

/* The turn is taken back, and one of task 0 begun. */
static void begin_anew(void) {
    struct jzx__seat *seat = &workers.sched.crew.main.seat;
    jzx__seat_of_thread = seat;
    jzx__crew_take_returns(workers.sched.workers[0], UINT32_MAX);
    jzx__atomic_store_relaxed(&seat->tag, 2u);
    jzx__atomic_store_release(&seat->task, &workers.tasks[0]);
}

/* A worker that falls asleep, or goes on. */
static void serve(void) {
    model_may_sleep();
    jzx__seat_of_thread = &workers.threads[1].seat;
    struct jzx__worker *me = jzx__seat_enter(&workers.threads[1].seat);
    for (;;) {
        if (jzx__crew_round(me, 4) == JZX__PASS_EMPTY && !jzx__worker_has_work(me))
            jzx__worker_idle(me);
    }
}

/* A task from outside, which is left to the worker that seems attentive; then a look. */
static void submit_and_look(void) {
    struct jzx__task *task = &workers.tasks[2];
    task->holds = true;
    task->place = JZX__OFFERED;
    jzx__atomic_store_relaxed(&task->inbox, JZX__INBOX_TOKEN);
    jzx__atomic_store_relaxed(&task->owner, JZX__OWNER_OUT);
    jzx__sched_submit(&workers.sched, task);
    look_at_global(&workers.sched);
}

/* Its turn is over, and the worker takes it back. */
static void return_and_take_back(void) {
    struct jzx__seat *seat = &workers.threads[0].seat;
    jzx__atomic_store_relaxed(&seat->returned_at_ns, (uint64_t)30);
    jzx__seat_of_thread = &workers.threads[1].seat;
    jzx__report_returned(workers.sched.workers[0], seat);
    jzx__atomic_store_relaxed(&seat->task, NULL);
    jzx__atomic_store_release(&seat->lost_at_ns, (uint64_t)0);
}

static void look_at_lost_once(void) {
    look_at_lost(&workers.sched, &workers.threads[0], 35);
}

static void look_once(uint64_t now) {
    struct jzx__worker *worker = workers.sched.workers[0];
    unsigned before = stalls.count;
    look_at(&workers.sched, worker, now);
    /* Whoever is reported ticks when it returns, also if this was the first look at it. */
    MODEL_ASSERT(stalls.count == before || jzx__atomic_load_relaxed(&worker->meter.tick_left) == 1);
}

/* At the turn that was noted before, and at another that is noted first. */
static void look_twice(void) {
    look_once(20);
    look_once(55);
    look_once(60);
}

static void add_spare(void) {
    struct jzx__crew *crew = &workers.sched.crew;
    crew->can_take = true;
    crew->spares = &workers.threads[2];
    workers.threads[2].sched = &workers.sched;
    jzx__parker_init(&workers.threads[2].parker);
}

/* A spare is there at the second look only. */
static void look_and_relieve(void) {
    look_once(20);
    add_spare();
    look_once(55);
    look_once(60);
}

static void relieve_early(void) {
    add_spare();
    look_once(41);
}

/* ---- at the end ---- */

static void check_ends(void) {
    MODEL_ASSERT(ends.count == stalls.count);
    MODEL_ASSERT(ends.tags == stalls.tags);
}

/* The end of the run tells what is left. */
static void check_reported(void) {
    jzx__report_end(workers.sched.workers[0], jzx__clock_now(&workers.sched.clock));
    check_ends();
    model_outcome(stalls.count);
}

/* While the worker sleeps the next look tells it. */
static void check_asleep(void) {
    MODEL_ASSERT(look_at(&workers.sched, workers.sched.workers[0], 80) == JZX_NEVER);
    check_ends();
    model_outcome(stalls.count);
}

/* As the worker does that takes the turn back, long after it was over. */
static bool take_back_late(void) {
    struct jzx__seat *seat = &workers.threads[0].seat;
    bool is_taken = jzx__atomic_load_relaxed(&seat->worker) == NULL;
    MODEL_ASSERT(is_taken || workers.busy == 0);
    uint64_t now = jzx__clock_now(&workers.sched.clock);
    jzx__atomic_store_relaxed(&seat->returned_at_ns, now - 1); /* before it was noted */
    jzx__clock_advance(&workers.sched.clock, 100);
    if (workers.busy != 0)
        jzx__report_returned(workers.sched.workers[0], seat);
    return is_taken;
}

static void check_relieved(void) {
    take_back_late();
    check_reported();
}

/* The message that was seen is told of wherever its worker was taken, and the next one, which is
 * over in time, is not. */
static void check_relieved_early(void) {
    bool is_taken = take_back_late();
    MODEL_ASSERT(stalls.count == 1 || (stalls.count == 0 && !is_taken));
    check_reported();
}

static void check_told_once(void) {
    MODEL_ASSERT(stalls.count == 1);
    check_ends();
}

/* The idle worker has run the task: the other never looks at the queue. */
static void check_ran(void) {
    MODEL_ASSERT(workers.ran[2] == 1 && workers.ran_by[2] == 1);
}

/* Taken or not; and lost in the turn or not. */
static void check_taken(void) {
    MODEL_ASSERT(workers.busy == 0 || workers.tasks[0].place == JZX__AWAY);
    model_outcome(workers.busy + 2 * workers.ran[0]);
}

const struct model_scenario model_watchdog[] = {
    {.name = "watchdog_takes_worker",
     .about = "17: the worker of a turn that calls in and returns is taken",
     .setup = set_up_turn,
     .threads = {behave, relieve_once, drive_if_given},
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
    {.name = "watchdog_reports",
     .about = "stalls are told of while the turns go on: each has one end",
     .setup = set_up_stall,
     .threads = {go_on, look_twice},
     .check = check_reported,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
    {.name = "watchdog_reports_sleeper",
     .about = "a turn that was told of ends without a tick, and its worker sleeps",
     .setup = set_up_stall,
     .threads = {fall_asleep, look_twice},
     .check = check_asleep,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
    {.name = "watchdog_reports_and_takes",
     .about = "the worker of a turn that was told of is taken, perhaps in the next turn",
     .setup = set_up_stall,
     .threads = {go_on_or_lose, look_and_relieve},
     .check = check_relieved,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
    {.name = "watchdog_takes_early",
     .about = "a worker is taken in the turn after the one that was seen: that is no stall",
     .setup = set_up_early,
     .threads = {go_on_or_lose, relieve_early},
     .check = check_relieved_early,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
    {.name = "watchdog_takes_late",
     .about = "a worker is taken when the turn that was seen is over, without a tick",
     .setup = set_up_early,
     .threads = {end_or_lose, relieve_early},
     .check = check_relieved_early,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
    {.name = "watchdog_takes_next",
     .about = "the same, and the next turn has begun: that is no stall",
     .setup = set_up_early,
     .threads = {go_on_unseen_or_lose, relieve_early},
     .check = check_relieved_early,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
    {.name = "watchdog_looks_at_global",
     .about = "W9: an attentive worker begins a long turn before it looks at the global queue",
     .setup = set_up_global,
     .threads = {serve, submit_and_look},
     .check = check_ran,
     .bounds = {.preemptions = 3, .stale = 3},
     WORKERS},
    {.name = "watchdog_tells_lost",
     .about = "a turn without its worker is told of while it is taken back: once, with one end",
     .setup = set_up_lost,
     .threads = {return_and_take_back, look_at_lost_once},
     .check = check_told_once,
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
    {.name = "watchdog_reports_returned",
     .about = "a turn that was told of and is over is taken back by the caller itself",
     .setup = set_up_returned,
     .threads = {begin_anew, look_twice},
     .check = check_reported,
     .outcomes = O(1) | O(2),
     .bounds = {.preemptions = 4, .stale = 4},
     WORKERS},
};
const size_t model_watchdog_count = sizeof model_watchdog / sizeof *model_watchdog;
