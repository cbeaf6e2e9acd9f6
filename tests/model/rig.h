/* SPDX-License-Identifier: MIT */
/* Workers and tasks for scenarios: just enough around src/sched/task.h, deque.h, mpsc.h and
 * parker.h to do with tasks what the scheduler does. The protocol steps are the library's own
 * functions; what is here is the order in which a worker calls them, without clocks, ranks and
 * balance, so that it can be explored. Rule numbers are those of the protocol.
 *
 * What every scenario checks: a message is handled once, or is a dead letter once, or was refused;
 * messages of one sender to one task are handled in the order in which they were sent; a task and
 * a message are touched by one thread at a time (races); at the end nobody sleeps beside work. */
#ifndef MODEL_RIG_H
#define MODEL_RIG_H

#include "engine.h"

#include "base/deque.h"
#include "base/lock.h"
#include "base/mpsc.h"
#include "base/parker.h"
#include "sched/task.h"

#define RIG_WORKERS_MAX 3
#define RIG_TASKS_MAX 2
#define RIG_MESSAGES_MAX 6
#define RIG_READY_MAX 4
#define RIG_CAP 4u
#define RIG_NEWEST 1u /* the bound of a task that keeps the newest; its inbox has twice that */

/* What a task does with a message, beside noting it. */
enum rig_action {
    RIG_NOTE,
    RIG_STOP,    /* the task ends */
    RIG_FORWARD, /* sends rig.forward to the other task */
    RIG_SELF     /* sends rig.forward to itself */
};

struct rig_message {
    _Alignas(64) struct jzx__node node; /* first */
    enum rig_action action;
    unsigned from;   /* who sent it */
    unsigned number; /* 1, 2, ...: its place among those */
    unsigned handled;
    unsigned dead;
    unsigned refused;
};

struct rig_task {
    struct jzx__task task;            /* first */
    unsigned seen[MODEL_THREADS_MAX]; /* the last number handled, per sender */
    unsigned handled;
    unsigned requests; /* that it has seen in its state word */
    bool keeps_newest; /* RIG_NEWEST of its messages: others are dropped (cut.h) */
};

struct rig_worker {
    struct jzx__mpsc inject;
    struct jzx__parker parker;
    struct jzx__deque deque;
    bool has_deque;
    unsigned number;

    /* Policies: what the worker does with a ready task before it runs one, and so often. */
    unsigned offers;
    unsigned hand_overs;
    struct rig_worker *target; /* of hand-overs; the one to wake after an offer */
    struct rig_worker *victim; /* whose deque it takes from, or NULL */

    struct rig_task *ready[RIG_READY_MAX];
    unsigned ready_first;
    unsigned ready_count;
};

/* The state of a scenario. */
struct rig {
    struct rig_message messages[RIG_MESSAGES_MAX];
    struct rig_task tasks[RIG_TASKS_MAX];
    struct rig_worker workers[RIG_WORKERS_MAX];
    unsigned message_count;
    unsigned numbers[MODEL_THREADS_MAX][RIG_TASKS_MAX];
    struct rig_message *forward;
    struct jzx__lock pool_lock;
    struct rig_task *pool; /* one free slot, or NULL */
    unsigned freed;
    unsigned spawned;
    unsigned stolen;
    unsigned refused;
    unsigned dead;
    bool no_memory; /* for deques */
};
extern struct rig rig;

#define RIG .state = &rig, .state_size = sizeof rig

/* ---- setting up ---- */

void rig_set_up_worker(unsigned number);
/* The same, with a deque. */
void rig_set_up_offering_worker(unsigned number, uint32_t capacity);
/* Task number of worker, idle and open, generation 1. */
void rig_set_up_task(unsigned number, unsigned worker);

/* A message of the calling thread to a task, not sent yet. */
struct rig_message *rig_write(struct rig_task *task, enum rig_action action);

/* ---- what a worker, or me == NULL, does ---- */

/* R1, R2. Writes a message and sends it; false if it was refused. */
bool rig_send(struct rig_worker *me, struct rig_task *task, enum rig_action action);
bool rig_send_message(struct rig_worker *me, struct rig_task *task, struct rig_message *message);
/* Asks the task to look at its state word (I8). */
void rig_request(struct rig_task *task);
/* R5, R6 */
void rig_drain(struct rig_worker *me);
/* R8 */
void rig_turn(struct rig_worker *me, struct rig_task *task);
/* R12 */
void rig_end(struct rig_worker *me, struct rig_task *task);
/* R13: a task of the next generation in a slot of the pool, or NULL if there is none. */
struct rig_task *rig_spawn(struct rig_worker *me);
/* R10, R11, out of the run queue; false if it is to be run instead. */
bool rig_offer(struct rig_worker *me, struct rig_task *task);
bool rig_hand_over(struct rig_worker *me, struct rig_task *task);
/* One item out of a deque, which may be the worker's own; true if there was one. */
bool rig_take(struct rig_worker *me, struct rig_worker *victim);
/* The task that is next, out of the run queue, or NULL. */
struct rig_task *rig_pick(struct rig_worker *me);
/* Takes in, moves and runs until there is nothing left to do. */
void rig_run(struct rig_worker *me);
/* R14: sleeps unless something came. */
void rig_park(struct rig_worker *me);
/* Runs and sleeps, for ever. */
_Noreturn void rig_serve(struct rig_worker *me);

/* ---- at the end ---- */

void rig_check(void);

#endif
