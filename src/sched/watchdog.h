/* SPDX-License-Identifier: MIT */
/* The watchdog of a loop with several workers: a thread that looks now and then whether every
 * worker still gets on, and gives the worker of a turn that does not return to a spare thread. It
 * sleeps while no worker is awake. */
#ifndef JZX_SCHED_WATCHDOG_H
#define JZX_SCHED_WATCHDOG_H

#include "sched/crew.h"

/* False if its thread could not be started. */
bool jzx__watchdog_start(struct jzx__sched *sched);

/* After the workers were told to leave. */
void jzx__watchdog_stop(struct jzx__sched *sched);

/* After the threads have ended: one that was asked for its stack may get the signal late, and must
 * find its handler. */
void jzx__watchdog_restore_signal(struct jzx__sched *sched);

/* A turn that went on without the worker is about to be taken back: says how long it took, if it
 * was a stall. */
void jzx__crew_end_stall(struct jzx__worker *me, const struct jzx__seat *seat);

/* The run is over, and with it the stall that was reported last, if nobody has said so. */
void jzx__crew_end_report(struct jzx__worker *worker);

/* The tick has seen that much time since the last one: says so if the watchdog had reported it, or,
 * without one, if it was a single message. */
void jzx__crew_stall_is_over(struct jzx__worker *me, struct jzx__task *task, uint64_t elapsed_ns,
                             bool single);

#endif
