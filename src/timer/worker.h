/* SPDX-License-Identifier: MIT */
/* What timers keep per loop and per worker: a pool of records, and a wheel each. */
#ifndef JZX_TIMER_WORKER_H
#define JZX_TIMER_WORKER_H

#include "timer/timer.h"

/* Of a worker that has its record. False without memory. */
bool jzx__timers_init(struct jzx__worker *worker);
void jzx__timers_deinit(struct jzx__worker *worker);

/* As struct jzx__part_ops says. */
bool jzx__timers_open(struct jzx_loop *loop, const jzx_config *config);
void jzx__timers_close(struct jzx_loop *loop);

#endif
