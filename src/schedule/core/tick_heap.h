/* SPDX-License-Identifier: MIT */
/* A binary heap as a timer of the scheduler: insert, cancel and poll take a logarithm, and 24 bytes
 * for each job replace the slots of the wheel. */
#ifndef JZX_SCHEDULE_CORE_TICK_HEAP_H
#define JZX_SCHEDULE_CORE_TICK_HEAP_H

#include "jzx/tick_timer.h"

extern const jzx_tick_timer jzx__tick_heap;

#endif
