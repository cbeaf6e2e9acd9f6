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

#endif
