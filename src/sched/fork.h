/* SPDX-License-Identifier: MIT */
/* fork(2) beside loops. A child has a copy of its parent's loops and none of their threads, and
 * shares their descriptors: it must leave them alone. It cannot be told apart from inside, so the
 * child counts the forks that led to it, and its thread loses the worker that it drove at that
 * moment, as if the watchdog had taken it (seat.h). So whatever the child calls takes the path of
 * foreign threads, and a turn that returns there is noticed. */
#ifndef JZX_SCHED_FORK_H
#define JZX_SCHED_FORK_H

#include <stdint.h>

/* From now on forks are counted. Any thread; again is fine. */
void jzx__fork_watch(void);

/* Forks between the first process that watches and this one. A loop whose creator saw another
 * number is a parent's. */
uint32_t jzx__fork_count(void);

#endif
