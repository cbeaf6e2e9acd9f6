/* SPDX-License-Identifier: MIT */
/* The hierarchical wheel as a timer of the scheduler: insert, cancel and poll in constant time. */
#ifndef JZX_SCHEDULE_CORE_TICK_WHEEL_H
#define JZX_SCHEDULE_CORE_TICK_WHEEL_H

#include "jzx/tick_timer.h"

#include "time/wheel.h"

/* The table for a wheel of that shape. The shape must live until size and create have returned. */
jzx_tick_timer jzx__tick_wheel(const struct jzx__wheel_shape *shape);

#endif
