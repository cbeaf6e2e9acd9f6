/* SPDX-License-Identifier: MIT */
/* Places a new task on a worker, and tells when a worker is too busy for another connection.
 *
 * A task that never ran has nothing in a cache, and no other task talks to it. It can begin on any
 * worker, until the first socket pins it to one (B6 of balance.c).
 *
 * A worker is **busy** when its rest is over. The rest is JZX__REST_NS when the worker begins.
 *   sleep       A sleep of JZX__REST_NS or more starts a new rest. A shorter one extends the rest
 *               by JZX__REST_FACTOR times its length, up to JZX__REST_NS. So a worker that is awake
 *               for more than 8/9 of the time becomes busy.
 *   connection  Each extends the rest by JZX__REST_ACCEPT_NS, which is longer than accepting takes.
 *               So a burst of connections alone makes no worker busy.
 *   lost time   The rest does not pass while the kernel runs other threads.
 * Work after the end of the rest counts for later connections, up to JZX__REST_NS of it.
 *
 * Reading the CPU time of a thread is a system call: one per connection and per long sleep. */
#ifndef JZX_SCHED_PLACE_H
#define JZX_SCHED_PLACE_H

#include "sched/worker.h"

#define JZX__REST_NS 1000000u
#define JZX__REST_FACTOR 8u
#define JZX__REST_ACCEPT_NS 30000u

/* A thread begins to drive the worker. All functions here are the owner's. */
void jzx__place_begin(struct jzx__worker *me);

/* The worker had nothing to do from idle_at_ns until its last tick. */
void jzx__place_wake(struct jzx__worker *me, uint64_t idle_at_ns);

/* The worker has accepted a connection. True if it is too busy to serve it. */
bool jzx__place_accept(struct jzx__worker *me);

/* Hands a new task over to another worker (R11). On true the caller must not touch its private side
 * any more. On false nothing has changed: the task ran, is bound or has a rank, or an entry for it
 * is under way. */
bool jzx__place_begin_at(struct jzx__worker *me, struct jzx__task *task, struct jzx__worker *to);

/* Binds a new task to this worker. Does nothing if the task ran, is bound or has a rank. */
void jzx__place_begin_here(struct jzx__worker *me, struct jzx__task *task);

#endif
