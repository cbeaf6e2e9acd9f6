/* SPDX-License-Identifier: MIT */
/* The probes of the library itself: each scheduler registers them when it is made, unless its
 * configuration leaves them out. A sample costs a bounded number of looks at words that are there
 * anyway; sending and handling messages pays nothing.
 *
 *   mailbox     how full the fullest mailbox of a receiver is. A tick looks at a few receivers of
 *               jobs, in turn, and always again at the fullest one it knows.
 *   dispatcher  functions that wait for their runner, of the dispatcher that has most of them, as a
 *               share of slot_capacity: what one tick may bring.
 *   runtime     actors that are ready and wait for a worker, as a share of global_queue_size.
 *
 * A look reads words of other workers without order: a hint, and the next tick looks again. */
#ifndef JZX_SCHEDULE_PROBES_H
#define JZX_SCHEDULE_PROBES_H

#include "schedule/item.h"

/* The scheduler is not known to other threads yet. */
void jzx__probes_register(struct jzx__scheduler *scheduler);

/* Owner. The item is about to be delivered: its receiver is looked at from now on. */
void jzx__probes_watch(struct jzx__scheduler *scheduler, struct jzx__schedule_item *item);

/* Owner. The item is about to be freed. */
void jzx__probes_forget(struct jzx__schedule_item *item);

/* A function was delivered; its run has ended, on any thread. */
void jzx__probes_queued(struct jzx__scheduler *scheduler, uint32_t dispatcher);
void jzx__probes_finished(struct jzx__scheduler *scheduler, uint32_t dispatcher);

#endif
