/* SPDX-License-Identifier: MIT */
/* Relief: the watchdog takes a worker from a thread whose turn does not return, and another thread
 * drives it from then on. seat.h has the handshake with the thread that loses its worker; crew.h
 * the rules about which thread gets it. */
#ifndef JZX_SCHED_RELIEF_H
#define JZX_SCHED_RELIEF_H

#include "sched/sched.h"

#include <stdbool.h>

/* Takes the worker from the seat, if its turn has not gone on since that tick: true, and the worker
 * belongs to the caller until jzx__relief_give. *next is the thread that is to drive it, or NULL if
 * none is left. The watchdog alone. */
bool jzx__relief_take(struct jzx__sched *sched, struct jzx__worker *worker, struct jzx__seat *seat,
                      uint64_t tick, struct jzx__thread **next);

/* True if there is, or can be, a thread to give the worker to. */
bool jzx__relief_has_driver(struct jzx__sched *sched, struct jzx__worker *worker);

/* Without a thread the worker is unattended from then on (C7). */
void jzx__relief_give(struct jzx__sched *sched, struct jzx__thread *next,
                      struct jzx__worker *worker);

/* A look at a worker that is unattended: true, and it has a thread now or what has come meanwhile
 * was moved. False: it is not. */
bool jzx__relief_look(struct jzx__sched *sched, struct jzx__worker *worker);

/* A turn must last that long before a relief pays. */
uint64_t jzx__relief_pays_after(const struct jzx__crew *crew);

/* Starts a spare ahead, if there is none. False if it cannot. */
bool jzx__relief_prepare(struct jzx__sched *sched);

#endif
