/* SPDX-License-Identifier: MIT */
/* The owner protocol of src/sched/task.h when tasks move: offered in a deque and taken by a thief
 * or by their owner, handed over to another worker (scenarios 3-8 and 10 of the protocol). */
#include "rig.h"
#include "scenarios.h"

#define O(number) ((uint64_t)1 << (number))

static struct rig_task *const task_a = &rig.tasks[0];
static struct rig_task *const task_b = &rig.tasks[1];
static struct rig_worker *const worker_0 = &rig.workers[0];
static struct rig_worker *const worker_1 = &rig.workers[1];

/* ---- setting up: both tasks are worker 0's ---- */

static void set_up(void) {
    rig_set_up_offering_worker(0, 2);
    rig_set_up_offering_worker(1, 2);
    rig_set_up_task(0, 0);
    rig_set_up_task(1, 0);
    worker_0->target = worker_1;
    worker_1->target = worker_0;
}

/* Worker 0 offers the first ready task, worker 1 steals. */
static void set_up_offer(void) {
    set_up();
    worker_0->offers = 1;
    worker_1->victim = worker_0;
}

/* The same; there is room for one task, and no memory for more. */
static void set_up_full(void) {
    rig_set_up_offering_worker(0, 1);
    rig_set_up_worker(1);
    rig_set_up_task(0, 0);
    rig_set_up_task(1, 0);
    worker_0->target = worker_1;
    worker_1->victim = worker_0;
    rig.no_memory = true;
}

/* The same, and worker 0 looks into its own deque, too. */
static void set_up_take_back(void) {
    set_up_offer();
    worker_0->victim = worker_0;
}

static void set_up_hand_over(void) {
    set_up();
    worker_0->hand_overs = 1;
}

/* There and back. */
static void set_up_round_trip(void) {
    set_up_hand_over();
    worker_1->offers = 1;
    worker_0->victim = worker_1;
}

static void set_up_back_and_forth(void) {
    set_up_hand_over();
    worker_1->hand_overs = 1;
}

/* ---- threads ---- */

static void serve_0(void) {
    rig_serve(worker_0);
}

static void serve_1(void) {
    rig_serve(worker_1);
}

static void send_one(void) {
    rig_send(NULL, task_a, RIG_NOTE);
}

static void send_two(void) {
    send_one();
    send_one();
}

static void send_stop(void) {
    rig_send(NULL, task_a, RIG_STOP);
}

static void request(void) {
    rig_request(task_a);
}

/* Worker 0 has something for task A, and then moves it or runs it. */
static void send_own_and_serve_0(void) {
    rig_send(worker_0, task_a, RIG_NOTE);
    rig_serve(worker_0);
}

static void stop_own_and_serve_0(void) {
    rig_send(worker_0, task_a, RIG_STOP);
    rig_serve(worker_0);
}

/* Offers both tasks, then takes back what nobody wanted. */
static void offer_both_and_serve_0(void) {
    rig_send(worker_0, task_a, RIG_NOTE);
    rig_send(worker_0, task_b, RIG_NOTE);
    rig_offer(worker_0, rig_pick(worker_0));
    rig_offer(worker_0, rig_pick(worker_0));
    rig_serve(worker_0);
}

/* What finds no room is run instead. */
static void offer_one_too_many(void) {
    rig_send(worker_0, task_a, RIG_NOTE);
    rig_send(worker_0, task_b, RIG_NOTE);
    for (unsigned i = 0; i < 2; i++) {
        struct rig_task *task = rig_pick(worker_0);
        if (!rig_offer(worker_0, task))
            rig_turn(worker_0, task);
    }
    rig_serve(worker_0);
}

/* Sends by the private path, moves the task away, and sends again as anybody else (8). */
static void send_hand_over_send(void) {
    rig_send(worker_0, task_a, RIG_NOTE);
    struct rig_task *task = rig_pick(worker_0);
    if (!rig_hand_over(worker_0, task))
        rig_turn(worker_0, task);
    rig_send(worker_0, task_a, RIG_NOTE);
    rig_serve(worker_0);
}

/* The target sends to the task, whoever owns it: before, while, and after it arrives (6, 8). */
static void send_from_1_and_serve(void) {
    rig_send(worker_1, task_a, RIG_NOTE);
    rig_run(worker_1);
    rig_send(worker_1, task_a, RIG_NOTE);
    rig_serve(worker_1);
}

/* ---- at the end ---- */

static void check_all_handled(void) {
    rig_check();
    MODEL_ASSERT(rig.dead == 0 && rig.refused == 0);
}

static void check_request(void) {
    rig_check();
    MODEL_ASSERT(task_a->requests == 1); /* I8 */
}

/* The task was stolen, or not. */
static void check_stolen(void) {
    check_all_handled();
    model_outcome(rig.stolen < 2 ? rig.stolen : 2);
}

/* Who owns it in the end. */
static void check_owner(void) {
    check_all_handled();
    model_outcome(jzx__atomic_load_relaxed(&task_a->task.owner) == (uintptr_t)worker_1 ? 1 : 0);
}

static void check_death(void) {
    rig_check();
    MODEL_ASSERT(rig.freed == 1);
    model_outcome((unsigned)(rig.dead != 0) | (unsigned)(rig.refused != 0) << 1);
}

const struct model_scenario model_move[] = {
    {.name = "offer_against_push",
     .about = "3, 4: an offer and its thief against pushes",
     .setup = set_up_offer,
     .threads = {send_own_and_serve_0, serve_1, send_one},
     .check = check_stolen,
     .outcomes = O(1),
     RIG},
    {.name = "offer_of_a_pushed_task",
     .about = "3: the task that is offered was made ready by a push",
     .setup = set_up_offer,
     .threads = {serve_0, serve_1, send_two},
     .check = check_stolen,
     .outcomes = O(1),
     RIG},
    {.name = "offer_taken_back",
     .about = "5: the owner and a thief want the same task",
     .setup = set_up_take_back,
     .threads = {send_own_and_serve_0, serve_1, send_one},
     .check = check_stolen,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 1},
     RIG},
    {.name = "offer_two",
     .about = "5: two tasks offered, the owner takes from the other end",
     .setup = set_up_take_back,
     .threads = {offer_both_and_serve_0, serve_1},
     .check = check_stolen,
     .outcomes = O(0) | O(1) | O(2),
     RIG},
    {.name = "offer_to_a_full_deque",
     .about = "5: no room and no memory: the task is run",
     .setup = set_up_full,
     .threads = {offer_one_too_many, serve_1, send_one},
     .check = check_stolen,
     .outcomes = O(1) | O(2),
     .bounds = {.preemptions = 2, .stale = 1},
     RIG},
    {.name = "hand_over_against_push",
     .about = "6: a hand-over to a target that may sleep, against pushes",
     .setup = set_up_hand_over,
     .threads = {send_own_and_serve_0, serve_1, send_one},
     .check = check_owner,
     .outcomes = O(1),
     RIG},
    {.name = "hand_over_against_request",
     .about = "6: the same against a request, which brings no message",
     .setup = set_up_hand_over,
     .threads = {send_own_and_serve_0, serve_1, request},
     .check = check_request,
     RIG},
    {.name = "hand_over_target_sends",
     .about = "6, 8: the target sends to the task before, while and after it comes",
     .setup = set_up_hand_over,
     .threads = {send_own_and_serve_0, send_from_1_and_serve},
     .check = check_owner,
     .outcomes = O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     RIG},
    {.name = "hand_over_owner_sends",
     .about = "8: the owner sends, moves the task away, and sends again",
     .setup = set_up,
     .threads = {send_hand_over_send, serve_1, send_one},
     .check = check_owner,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 1},
     RIG},
    {.name = "round_trip",
     .about = "7: handed over, offered, stolen back, with a message under way",
     .setup = set_up_round_trip,
     .threads = {send_own_and_serve_0, serve_1, send_one},
     .check = check_owner,
     .outcomes = O(0),
     .bounds = {.preemptions = 2, .stale = 1},
     RIG},
    {.name = "back_and_forth",
     .about = "7: handed over and handed back",
     .setup = set_up_back_and_forth,
     .threads = {send_own_and_serve_0, serve_1, send_one},
     .check = check_owner,
     .outcomes = O(0),
     .bounds = {.preemptions = 2, .stale = 1},
     RIG},
    {.name = "death_after_steal",
     .about = "10: a task ends where it was stolen to",
     .setup = set_up_offer,
     .threads = {stop_own_and_serve_0, serve_1, send_one},
     .check = check_death,
     RIG},
    {.name = "death_after_hand_over",
     .about = "10: a task ends where it was handed to",
     .setup = set_up_hand_over,
     .threads = {serve_0, serve_1, send_stop, send_one},
     .check = check_death,
     .bounds = {.preemptions = 1, .stale = 1},
     RIG},
};
const size_t model_move_count = sizeof model_move / sizeof *model_move;
