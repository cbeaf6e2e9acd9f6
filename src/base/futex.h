/* SPDX-License-Identifier: MIT */
/* The two system calls by which threads of a process sleep and wake, and the one that orders what
 * all of them see. In a header of their own so that the model build can put its own in place. */
#ifndef JZX_BASE_FUTEX_H
#define JZX_BASE_FUTEX_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

/* Sleeps while *word is value, until a wake, or for timeout_ns (0: for ever). May return early.
 * False if the time is over. */
bool jzx__futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* Wakes one sleeper. */
void jzx__futex_wake(_Atomic uint32_t *word);

/* Once per process, before the first membarrier. False if the system has none. */
bool jzx__membarrier_register(void);

/* Every thread of the process passes a full memory barrier between two of its instructions before
 * this returns. */
void jzx__membarrier(void);

#endif
