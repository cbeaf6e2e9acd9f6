/* SPDX-License-Identifier: MIT */
/* Where a task begins that never ran: nobody talks to it yet and nothing of it is in a cache, so
 * that it may be put on any worker before what it is given binds it to one (B6 of balance.c). And
 * when a worker is too busy for another connection.
 *
 * A worker is **busy** when it is not rested any more. It is rested for JZX__REST_NS when it begins
 * and after a sleep of that length; and longer
 *   - by JZX__REST_FACTOR times the length of a shorter sleep, up to JZX__REST_NS: so a worker that
 *     is awake for more than 8/9 of the time is busy before long;
 *   - by JZX__REST_ACCEPT_NS for a connection that it accepts, which is more than that takes: a
 *     burst of connections does not say that anybody will be busy with them;
 *   - by the time in which the system gave its CPU to others.
 * Work beyond that counts for later connections, up to JZX__REST_NS of it. The CPU time of a thread
 * is a system call: it is read for each connection, and after a sleep of JZX__REST_NS. */
#ifndef JZX_SCHED_PLACE_H
#define JZX_SCHED_PLACE_H

#include "sched/worker.h"

#define JZX__REST_NS 1000000u
#define JZX__REST_FACTOR 8u
#define JZX__REST_ACCEPT_NS 30000u

/* A thread begins to drive the worker. Owner only, as all that follow. */
void jzx__place_begin(struct jzx__worker *me);

/* The worker has had nothing to do from that time until its last tick. */
void jzx__place_wake(struct jzx__worker *me, uint64_t idle_at_ns);

/* It has accepted a connection: true if it is too busy for it. */
bool jzx__place_accept(struct jzx__worker *me);

/* Has a task of mine begin on another worker (R11). On true the caller must not touch its private
 * side any more. False, and nothing has changed: it ran, has a place or a rank, or an entry for it
 * is under way. */
bool jzx__place_begin_at(struct jzx__worker *me, struct jzx__task *task, struct jzx__worker *to);

/* Binds a task of mine to this worker, unless it ran, or has a place or a rank. */
void jzx__place_begin_here(struct jzx__worker *me, struct jzx__task *task);

#endif
