/* SPDX-License-Identifier: MIT */
/* The real workers of src/sched, with tasks that only count: what the scenarios about workers and
 * about the threads that drive them have in common. */
#ifndef MODEL_WORKERS_H
#define MODEL_WORKERS_H

#include "engine.h"

#include "sched/balance.h"
#include "sched/sched.h"

#define WORKERS_MAX 3
#define WORKERS_TASKS_MAX 4

struct workers {
    struct jzx__sched sched;
    struct jzx__thread threads[WORKERS_MAX]; /* whose seats the workers have */
    struct jzx__task tasks[WORKERS_TASKS_MAX];
    _Alignas(64) struct jzx__node nodes[WORKERS_TASKS_MAX][4]; /* the first of each four is used */
    uint32_t cpu_count;
    bool long_turns; /* whoever runs a task does not come back */
    unsigned ran[WORKERS_TASKS_MAX];
    unsigned ran_by[WORKERS_TASKS_MAX];
    unsigned busy; /* threads in a long turn */
};
extern struct workers workers;

#define WORKERS .state = &workers, .state_size = sizeof workers

/* Workers that are all awake, each with a thread of its own; nobody spins, which only costs
 * executions, and the run does not end by itself. All tasks are worker 0's. */
void workers_set_up(uint32_t worker_count, uint32_t cpu_count);
void workers_set_up_task(unsigned number, struct jzx__worker *owner);

/* One turn of a task: all that was sent to it, or a turn that does not end. */
void workers_run_turn(struct jzx__worker *me, struct jzx__task *task);

/* Drives worker 0, whose task is ready, until a turn of the task says that all is over. */
void workers_drive(struct jzx__task *task, bool (*turn)(struct jzx__worker *me));

/* A look of the watchdog at a turn that takes long: takes the worker from the seat and gives it to
 * the thread that is to drive it next, which is *next; NULL: to none. False if it stays. */
bool workers_relieve(struct jzx__worker *worker, struct jzx__seat *seat, struct jzx__thread **next);

#endif
