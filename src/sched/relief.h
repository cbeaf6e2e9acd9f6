/* SPDX-License-Identifier: MIT */
/* Relief: the watchdog takes a worker from a thread whose turn does not return, and another thread
 * drives it from then on. seat.h has the handshake with the thread that loses its worker; crew.h
 * the rules about which thread gets it. */
#ifndef JZX_SCHED_RELIEF_H
#define JZX_SCHED_RELIEF_H

#include "sched/sched.h"

/* Takes the worker from the seat, if its turn has not gone on since that tick: the worker belongs
 * to the caller until jzx__relief_give. Returns the thread that is to drive it next, or NULL if the
 * worker stays where it is. The watchdog alone. */
struct jzx__thread *jzx__relief_take(struct jzx__sched *sched, struct jzx__worker *worker,
                                     struct jzx__seat *seat, uint64_t tick);
void jzx__relief_give(struct jzx__sched *sched, struct jzx__thread *next,
                      struct jzx__worker *worker);

#endif
