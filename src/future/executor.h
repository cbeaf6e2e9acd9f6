/* SPDX-License-Identifier: MIT */
/* Executors: async functions that are polled when the program says so.
 *
 * A function of an executor is an actor as any other. When it is due, its turn asks for admission;
 * without it the function is **held**: it is put into the executor's list, and idles. A call of the
 * program admits it, wakes it, and drives the loop.
 *
 *   X1  a function is polled by one admission at most once: the turn that polls takes it away.
 *   X2  a function is in the list of members from its creation until it has ended or cannot be
 *       started, and has a handle to the executor as long. So the promise's place of a member's
 *       future is taken, and who has the lock may take a handle to it.
 *   X3  wakes are those of the waiter (waiter.h); what is held has been claimed, or did not wait,
 *       and a further wake finds it held.
 *   X4  an executor that was destroyed admits everybody. */
#ifndef JZX_FUTURE_EXECUTOR_H
#define JZX_FUTURE_EXECUTOR_H

#include "base/list.h"
#include "sched/task.h"

#include "jzx/async.h"

struct jzx__worker;

/* What a function has of its executor; but for executor all under the executor's lock. */
struct jzx__executed {
    jzx_executor *executor; /* or NULL */
    struct jzx__link at_members;
    struct jzx__link at_held;
    struct jzx__task *task; /* from its first turn on */
    bool is_held;
    bool is_admitted;
};

/* True if the executor is one of that loop, or NULL. */
bool jzx__executor_fits(const jzx_executor *executor, const jzx_loop *loop);

/* A member from now on (X2). */
void jzx__executor_join(jzx_executor *executor, struct jzx__executed *executed);

/* No member any more, if it was one. */
void jzx__executor_leave(struct jzx__executed *executed);

/* The function is due, in its turn. False: it is held, and idles. */
bool jzx__executor_admit(struct jzx__executed *executed, struct jzx__task *task);

#endif
