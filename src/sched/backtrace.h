/* SPDX-License-Identifier: MIT */
/* How the watchdog gets the stack of a thread that does not return: a signal asks the thread, whose
 * handler writes the stack into the thread's record. */
#ifndef JZX_SCHED_BACKTRACE_H
#define JZX_SCHED_BACKTRACE_H

#include "sched/threads.h"

struct jzx__sched;

/* Installs the handler of the stall signal, if the configuration names one. Several loops may use
 * one signal: the first installs the handler, the last restores the previous action. */
void jzx__backtrace_install(struct jzx__crew *crew);
void jzx__backtrace_restore(struct jzx__crew *crew);

/* Fills in thread->stack; stack_count is 0 if the thread did not answer in time. */
void jzx__backtrace_ask(struct jzx__sched *sched, struct jzx__thread *thread);

#endif
