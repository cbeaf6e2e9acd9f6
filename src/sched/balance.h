/* SPDX-License-Identifier: MIT */
/* Heavy apart, chatty together: which tasks a worker offers to others, which it sends after the
 * ones they talk to, and how an idle worker finds work. */
#ifndef JZX_SCHED_BALANCE_H
#define JZX_SCHED_BALANCE_H

#include "sched/worker.h"

bool jzx__balance_init(struct jzx__balance *balance, struct jzx__sched *sched);
void jzx__balance_deinit(struct jzx__balance *balance, struct jzx__sched *sched);

/* The worker falls asleep; it begins, or goes on after that. */
void jzx__balance_suspend(struct jzx__worker *me, uint64_t now);
void jzx__balance_resume(struct jzx__worker *me, uint64_t now);

/* The part of the tick that looks at other workers. */
void jzx__balance_tick(struct jzx__worker *me, uint64_t now);

/* The task that runs on this worker sends to a task of another. */
void jzx__balance_crossed(struct jzx__worker *me, struct jzx__task *target);

/* After that: true if the task that runs should move when its message is handled. */
bool jzx__balance_wants_current(const struct jzx__worker *me, struct jzx__task *target);

/* The task that runs, between two messages, moves to the worker that it sends to (B4). True if it
 * is gone: the caller must not touch it. */
bool jzx__balance_gather(struct jzx__worker *me, struct jzx__task *task);

/* The task that runs, between two messages, has a message from a task of sender_owner: it moves
 * there if that is a thief, or where the others gather (B5). True if it is gone. */
bool jzx__balance_follow(struct jzx__worker *me, struct jzx__task *task, uintptr_t sender_owner);

/* For tests: the task that runs, between two messages, moves to some other worker. True if it is
 * gone. */
bool jzx__balance_toss(struct jzx__worker *me, struct jzx__task *task);

/* Heavy tasks are for others, if one is idle. True if they are on offer now. */
bool jzx__balance_offer_heavy(struct jzx__worker *me);

/* Takes work from the global queue, from the own deque, or from another worker. True if it got
 * some. */
bool jzx__balance_find_work(struct jzx__worker *me);

/* Takes one of its own offers back. */
bool jzx__balance_reclaim(struct jzx__worker *me);

/* Takes one task from the global queue, and up to 16 more. True if it got some. */
bool jzx__balance_take_global(struct jzx__worker *me);

#endif
