/* SPDX-License-Identifier: MIT */
/* The owner protocol of src/sched/task.h with one owner: sending, taking in, going idle, and the
 * end of a task (scenarios 1, 2, 9-13, 21 and 22 of the protocol). */
#include "rig.h"
#include "scenarios.h"

#define O(number) ((uint64_t)1 << (number))

static struct rig_task *const task_a = &rig.tasks[0];
static struct rig_task *const task_b = &rig.tasks[1];
static struct rig_worker *const worker_0 = &rig.workers[0];
static struct rig_worker *const worker_1 = &rig.workers[1];

static void set_up_one(void) {
    rig_set_up_worker(0);
    rig_set_up_task(0, 0);
    rig_set_up_task(1, 0);
}

static void set_up_newest(void) {
    set_up_one();
    task_a->keeps_newest = true;
}

static void set_up_two_workers(void) {
    set_up_one();
    rig_set_up_worker(1);
}

/* ---- threads ---- */

static void serve_0(void) {
    rig_serve(worker_0);
}

static void send_one(void) {
    rig_send(NULL, task_a, RIG_NOTE);
}

static void send_two(void) {
    send_one();
    send_one();
}

static void send_three(void) {
    send_two();
    send_one();
}

static void send_stop(void) {
    rig_send(NULL, task_a, RIG_STOP);
}

static void send_forward(void) {
    rig_send(NULL, task_a, RIG_FORWARD);
}

static void request(void) {
    rig_request(task_a);
}

/* The owner sends by its own path, then serves. */
static void send_own_and_serve(void) {
    rig_send(worker_0, task_a, RIG_NOTE);
    rig_send(worker_0, task_a, RIG_SELF);
    rig_serve(worker_0);
}

/* The same from inside a turn, where the token may be held. */
static void drain_send_own_and_serve(void) {
    rig_drain(worker_0);
    rig_send(worker_0, task_a, RIG_NOTE);
    rig_serve(worker_0);
}

static void stop_own_and_serve(void) {
    rig_send(worker_0, task_a, RIG_STOP);
    rig_serve(worker_0);
}

static void drain_stop_own_and_serve(void) {
    rig_drain(worker_0);
    stop_own_and_serve();
}

/* Takes the slot out of the pool if it is there, sends the first message by its own path. */
static void respawn_and_serve(void) {
    struct rig_task *task = rig_spawn(worker_1);
    if (task != NULL)
        rig_send(worker_1, task, RIG_NOTE);
    rig_serve(worker_1);
}

/* Two tasks, so that one worker drains a batch. */
static void send_both(void) {
    rig_send(NULL, task_a, RIG_NOTE);
    rig_send(NULL, task_b, RIG_NOTE);
}

/* ---- at the end ---- */

static void check_all_handled(void) {
    rig_check();
    MODEL_ASSERT(rig.dead == 0 && rig.refused == 0);
}

static void check_requests(void) {
    rig_check();
    /* I8: it was seen */
    MODEL_ASSERT((jzx__atomic_load_relaxed(&task_a->task.state) & JZX__ATTENTION_MASK) == 0);
    model_outcome(task_a->requests);
}

static void report(bool one, bool two, bool four) {
    model_outcome((unsigned)one | (unsigned)two << 1 | (unsigned)four << 2);
}

/* Which fates there were: 1 dead letters, 2 refused, 4 handled more than the stop. */
static void check_death(void) {
    rig_check();
    MODEL_ASSERT(rig.freed == 1);
    report(rig.dead != 0, rig.refused != 0, task_a->handled > 1);
}

/* The slot was used again, or not; the late message was handled, refused, or a dead letter. */
static void check_reuse(void) {
    rig_check();
    MODEL_ASSERT(rig.freed == 1 && rig.spawned <= 1);
    report(rig.spawned != 0, rig.refused != 0, rig.dead != 0);
}

/* Nothing is refused, and the newest is never dropped. How many were? */
static void check_newest(void) {
    rig_check();
    MODEL_ASSERT(rig.refused == 0);
    MODEL_ASSERT((jzx__atomic_load_relaxed(&task_a->task.state) & JZX__LOCKED) == 0);
    for (unsigned i = 0; i < rig.message_count; i++) {
        const struct rig_message *message = &rig.messages[i];
        bool is_last = message->number == rig.numbers[message->from][0];
        /* the last of a single sender is the newest of all */
        MODEL_ASSERT(!is_last || message->handled == 1 || rig.numbers[2][0] < rig.message_count);
    }
    model_outcome(rig.dead);
}

/* Some were refused, or none. */
static void check_bound(void) {
    rig_check();
    MODEL_ASSERT(rig.dead == 0);
    model_outcome(rig.refused);
}

static void check_order_of_batch(void) {
    check_all_handled();
    MODEL_ASSERT(task_a->handled + task_b->handled == rig.message_count);
}

const struct model_scenario model_task[] = {
    {.name = "task_push_against_idle",
     .about = "1: pushes while the owner goes idle",
     .setup = set_up_one,
     .threads = {serve_0, send_two},
     .check = check_all_handled,
     .bounds = {.preemptions = 3, .stale = 3},
     RIG},
    {.name = "task_two_pushers",
     .about = "2: two pushes, one entry",
     .setup = set_up_one,
     .threads = {serve_0, send_one, send_one},
     .check = check_all_handled,
     RIG},
    {.name = "task_request",
     .about = "I8: a request against a message and going idle",
     .setup = set_up_one,
     .threads = {serve_0, send_one, request},
     .check = check_requests,
     .outcomes = O(1),
     RIG},
    {.name = "task_own_and_remote",
     .about = "9, 21: the owner appends behind a non-empty inbox; self-send",
     .setup = set_up_one,
     .threads = {send_own_and_serve, send_one},
     .check = check_all_handled,
     .bounds = {.preemptions = 3, .stale = 3},
     RIG},
    {.name = "task_own_with_token",
     .about = "9: the same with the token held",
     .setup = set_up_one,
     .threads = {drain_send_own_and_serve, send_two},
     .check = check_all_handled,
     .bounds = {.preemptions = 3, .stale = 3},
     RIG},
    {.name = "task_bound",
     .about = "13: pushes and appends at the bound",
     .setup = set_up_one,
     .threads = {send_own_and_serve, send_three},
     .check = check_bound,
     .outcomes = O(0) | O(1),
     RIG},
    {.name = "task_batch",
     .about = "22: a task of a drained batch is injected again before the batch ends",
     .setup = set_up_one,
     .threads = {serve_0, send_both, send_one},
     .check = check_order_of_batch,
     .bounds = {.preemptions = 2, .stale = 1},
     RIG},
    {.name = "task_ends",
     .about = "10: the end against pushes",
     .setup = set_up_one,
     .threads = {stop_own_and_serve, send_two},
     .check = check_death,
     .outcomes = O(1) | O(2) | O(3) | O(4) | O(5) | O(6),
     .bounds = {.preemptions = 3, .stale = 3},
     RIG},
    {.name = "task_ends_holding",
     .about = "10: the end with the token held",
     .setup = set_up_one,
     .threads = {drain_stop_own_and_serve, send_one, send_one},
     .check = check_death,
     .outcomes = O(1) | O(2) | O(3) | O(4) | O(5) | O(6),
     RIG},
    {.name = "task_ends_remotely",
     .about = "10: a stop among the messages of others",
     .setup = set_up_one,
     .threads = {serve_0, send_stop, send_one},
     .check = check_death,
     RIG},
    {.name = "task_slot_reused",
     .about = "11, 12: a late sender, and the slot opens again on another worker",
     .setup = set_up_two_workers,
     .threads = {stop_own_and_serve, respawn_and_serve, send_one},
     .check = check_reuse,
     .outcomes = O(0) | O(1) | O(2) | O(3) | O(4) | O(5),
     RIG},
    {.name = "task_keeps_newest",
     .about = "cut/C1, C2: a sender cuts the inbox while the owner takes it",
     .setup = set_up_newest,
     .threads = {serve_0, send_three},
     .check = check_newest,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 2},
     RIG},
    {.name = "task_keeps_newest_of_two",
     .about = "cut/C1, C2: a sender cuts while another pushes, or cuts",
     .setup = set_up_newest,
     .threads = {serve_0, send_two, send_two},
     .check = check_newest,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 1, .stale = 1},
     RIG},
    {.name = "task_ends_while_cut",
     .about = "cut/C1: the end against a sender that cuts",
     .setup = set_up_newest,
     .threads = {stop_own_and_serve, send_three},
     .check = check_death,
     .bounds = {.preemptions = 2, .stale = 2},
     RIG},
    {.name = "task_forwards",
     .about = "8: a task sends to another of the same worker while others send to it",
     .setup = set_up_one,
     .threads = {serve_0, send_forward},
     .check = check_all_handled,
     .bounds = {.preemptions = 3, .stale = 3},
     RIG},
};
const size_t model_task_count = sizeof model_task / sizeof *model_task;
