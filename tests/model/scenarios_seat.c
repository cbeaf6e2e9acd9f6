/* SPDX-License-Identifier: MIT */
/* src/sched/seat.h and global.c: a thread whose worker is taken away (scenarios 17 and 18 of the
 * protocol), and tasks that come from outside. What the watchdog and the workers do around them is
 * repeated here in its shortest form, so that more of it can be explored. */
#include "rig.h"
#include "scenarios.h"

#include "base/futex.h"
#include "sched/global.h"
#include "sched/seat.h"

#define O(number) ((uint64_t)1 << (number))

static struct {
    struct jzx__seat seat;       /* of the thread that loses the worker */
    struct jzx__seat spare_seat; /* of the one that gets it */
    unsigned worker;             /* stands for a worker; plain data */
    struct jzx__parker parker;   /* the worker's */
    struct jzx__mpsc returns;    /* the worker's */
    struct jzx__global global;
    struct jzx__task task;
    _Atomic uint32_t active;
    unsigned entered; /* brackets that found the worker */
    unsigned turned_away;
    unsigned taken;
} s;

static struct jzx__worker *the_worker(void) {
    return (struct jzx__worker *)(void *)&s.worker;
}

static void set_up(void) {
    jzx__parker_init(&s.parker);
    jzx__mpsc_init(&s.returns);
    jzx__global_init(&s.global);
    model_thread_local(&jzx__seat_of_thread, sizeof jzx__seat_of_thread);
    jzx__seat_init(&s.seat, the_worker());
    jzx__seat_deinit(&s.seat);
}

/* ---- taking a worker away (R17, R18) ---- */

static void use_worker(void) {
    model_plain_write(&s.worker);
    s.worker++;
    s.entered++;
}

/* A thread that calls into the runtime now and then. */
static void visit_twice(void) {
    jzx__seat_of_thread = &s.seat;
    struct jzx__worker *cached = JZX__MUTANT(worker_read_outside) ? the_worker() : NULL;
    for (unsigned i = 0; i < 2; i++) {
        struct jzx__visit visit;
        struct jzx__worker *me = jzx__visit_begin(&visit);
        if (me != NULL || cached != NULL)
            use_worker();
        else
            s.turned_away++;
        jzx__visit_end(&visit);
    }
}

/* A call that calls the runtime again from a callback (S3). */
static void visit_nested(void) {
    struct jzx__visit outer;
    struct jzx__visit inner;
    jzx__seat_of_thread = &s.seat;
    struct jzx__worker *me = jzx__visit_begin(&outer);
    if (me != NULL) {
        use_worker();
        if (jzx__visit_begin(&inner) != NULL)
            use_worker();
        jzx__visit_end(&inner);
        use_worker(); /* inside the outer bracket still, whatever the inner one found */
    }
    jzx__visit_end(&outer);
}

/* The watchdog takes the worker and uses it as the next thread would. */
static void take_worker(void) {
    if (JZX__MUTANT(take_looks_first) && jzx__atomic_load_acquire(&s.seat.in_runtime) != 0)
        return;
    jzx__atomic_store_seq_cst(&s.seat.worker, NULL);
    if (!JZX__MUTANT(take_without_membarrier))
        jzx__membarrier();
    jzx__parker_wake(&s.parker);
    while (!JZX__MUTANT(take_looks_first) && jzx__atomic_load_acquire(&s.seat.in_runtime) != 0)
        model_yield();
    use_worker();
    s.taken++;
}

/* A worker's thread that parks inside the bracket, and is taken there (H15). */
static void visit_and_park(void) {
    struct jzx__visit visit;
    jzx__seat_of_thread = &s.seat;
    struct jzx__worker *me = jzx__visit_begin(&visit);
    if (me != NULL) {
        use_worker();
        jzx__parker_announce(&s.parker, JZX__SLEEPS_ON_FUTEX);
        if (JZX__MUTANT(park_without_seat) || jzx__atomic_load_seq_cst(&s.seat.worker) == me)
            jzx__parker_wait(&s.parker, 0);
        jzx__parker_cancel(&s.parker);
    }
    jzx__visit_end(&visit);
}

/* ---- a turn that outlives its worker, and comes back (R19) ---- */

/* The behaviour returns: the thread enters and finds no worker, so it leaves its record. */
static void return_late(void) {
    struct jzx__visit visit;
    jzx__seat_of_thread = &s.seat;
    bool lost = jzx__visit_begin(&visit) == NULL;
    if (!lost)
        use_worker();
    jzx__visit_end(&visit);
    if (!lost)
        return;
    model_plain_write(&s.seat.turn_room);
    jzx__mpsc_push(&s.returns, &s.seat.returned);
    jzx__parker_wake(&s.parker);
}

/* The spare drives the worker and takes the turn back; it sleeps in between. */
static void take_worker_and_serve(void) {
    model_may_sleep();
    take_worker();
    for (;;) {
        if (!jzx__mpsc_is_empty(&s.returns)) {
            struct jzx__mpsc_node *node = jzx__mpsc_take_all(&s.returns);
            MODEL_ASSERT(node == &s.seat.returned && node->next == NULL);
            model_plain_write(&s.seat.turn_room);
            s.turned_away++;
        }
        jzx__parker_announce(&s.parker, JZX__SLEEPS_ON_FUTEX);
        if (jzx__mpsc_is_empty_seq_cst(&s.returns))
            jzx__parker_wait(&s.parker, 0);
        jzx__parker_cancel(&s.parker);
    }
}

static void check_taken(void) {
    MODEL_ASSERT(s.worker == s.entered);
    model_outcome(s.entered - s.taken + 4 * s.turned_away);
}

static void check_returned(void) {
    MODEL_ASSERT(jzx__mpsc_is_empty(&s.returns));
    model_outcome(s.turned_away);
}

/* ---- the global queue (G1, K4) ---- */

static void submit(void) {
    jzx__touch(&s.task);
    s.task.holds = true;
    s.task.place = JZX__OFFERED;
    MODEL_ASSERT(jzx__global_push(&s.global, &s.task, 1));
    /* As jzx__sched_submit. */
    if (jzx__atomic_load_seq_cst(&s.active) == 0)
        jzx__parker_wake(&s.parker);
}

static void submit_refused(void) {
    s.turned_away += !jzx__global_push(&s.global, &s.task, 0);
}

static void set_up_active(void) {
    set_up();
    jzx__atomic_store_relaxed(&s.active, 1u);
}

static void take_global_and_sleep(void) {
    model_may_sleep();
    for (;;) {
        struct jzx__task *task;
        if (jzx__global_count(&s.global) != 0 && jzx__global_take(&s.global, &task, 1) == 1) {
            jzx__task_adopt(task, (uintptr_t)&s.worker);
            s.taken++;
        }
        jzx__atomic_sub_seq_cst(&s.active, 1u);
        jzx__parker_announce(&s.parker, JZX__SLEEPS_ON_FUTEX);
        if (jzx__global_is_empty_seq_cst(&s.global))
            jzx__parker_wait(&s.parker, 0);
        jzx__parker_cancel(&s.parker);
        jzx__atomic_add_seq_cst(&s.active, 1u);
    }
}

static void check_submitted(void) {
    MODEL_ASSERT(s.taken == 1 && s.turned_away == 1);
}

#define SEAT .state = &s, .state_size = sizeof s

const struct model_scenario model_seat[] = {
    {.name = "seat_taken",
     .about = "17: a worker is taken from a thread that enters and leaves",
     .setup = set_up,
     .threads = {visit_twice, take_worker},
     .check = check_taken,
     .outcomes = O(2) | O(5) | O(8),
     .bounds = {.preemptions = 4, .stale = 4},
     SEAT},
    {.name = "seat_taken_in_a_callback",
     .about = "17: the same with a call inside a call",
     .setup = set_up,
     .threads = {visit_nested, take_worker},
     .check = check_taken,
     .outcomes = O(0) | O(2) | O(3),
     .bounds = {.preemptions = 4, .stale = 4},
     SEAT},
    {.name = "seat_taken_while_parking",
     .about = "17: T inside and parking",
     .setup = set_up,
     .threads = {visit_and_park, take_worker},
     .check = check_taken,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     SEAT},
    {.name = "seat_turn_returns",
     .about = "18: a turn that outlived its worker comes back by its own record",
     .setup = set_up,
     .threads = {return_late, take_worker_and_serve},
     .check = check_returned,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     SEAT},
    {.name = "global_queue",
     .about = "14: a task from outside against a worker that falls asleep",
     .setup = set_up_active,
     .threads = {take_global_and_sleep, submit, submit_refused},
     .check = check_submitted,
     SEAT},
};
const size_t model_seat_count = sizeof model_seat / sizeof *model_seat;
