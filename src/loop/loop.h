/* SPDX-License-Identifier: MIT */
/* Driving a loop in ways that the public calls do not offer. */
#ifndef JZX_LOOP_LOOP_H
#define JZX_LOOP_LOOP_H

#include "actor/actor.h"

#include "jzx/error.h"
#include "jzx/loop.h"

/* While nobody drives the loop: takes in what waits for that worker, fires its timers that are due,
 * and runs one turn of the task if it is ready, and of no other. What others may do meanwhile waits
 * for it (jzx__loop_enter_briefly). JZX_ERR_BUSY: a thread drives the loop. And the other errors of
 * jzx_loop_step. */
jzx_err jzx__loop_run_alone(jzx_loop *loop, struct jzx__worker *worker, struct jzx__task *task);

#endif
