/* SPDX-License-Identifier: MIT */
/* Threads that are no actors and wait for one: for its answer, or for its init.
 *
 * A waiting thread has a record in its frame, with a waiter, and a **ticket** by which others name
 * it. An actor of the runtime asks in its place (jzx_call_wait), or the actor that is made has a
 * note with the ticket (jzx_spawn_wait); either hands the result in by the ticket. One lock per
 * loop guards the records, as that of their sources (sched/waiter.h):
 *
 *   wait/T1  who finds a record under the lock may touch it, until the lock is released. The thread
 *            takes its record out under the lock before its frame ends.
 *   wait/T2  a result is handed in once, and only to a wait that it has claimed: who comes too late
 *            keeps what it has.
 *   wait/T3  of every ticket somebody hands in a result when its actor ends, at the latest. So a
 *            loop that ends lets all its threads go; its end waits until they are outside.
 *
 * Rejected: one actor of the runtime per loop for all threads (it would have to be made, counted
 * and ended apart from all others, and its place would decide who waits for whom); a record that is
 * shared and counted (the thread would free it after the loop is gone). */
#ifndef JZX_ASK_WAIT_H
#define JZX_ASK_WAIT_H

#include "actor/loop.h"

/* The loop's record, in loop->parts[JZX__PART_ASK]: see open and close of part.h. */
bool jzx__waits_open(struct jzx_loop *loop, const jzx_config *config);
void jzx__waits_close(struct jzx_loop *loop);

#endif
