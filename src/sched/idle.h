/* SPDX-License-Identifier: MIT */
/* What a worker does when nothing is ready. */
#ifndef JZX_SCHED_IDLE_H
#define JZX_SCHED_IDLE_H

#include "sched/worker.h"

/* After a pass: ends the run if what keeps it going is gone. */
void jzx__worker_check_end(struct jzx__worker *me);

/* Looks for work elsewhere (global queue, own offers, other workers), and if there is none spins
 * for a moment and then sleeps (K3). Returns when there may be something to do. */
void jzx__worker_idle(struct jzx__worker *me);

/* Makes the descriptor unreadable, unless the system has something ready for this worker: then
 * poll_due says so. */
void jzx__worker_hush_fd(struct jzx__worker *me);

/* After step: makes the descriptor readable if there is work, else announces that the host sleeps
 * on it. */
void jzx__worker_settle_fd(struct jzx__worker *me);

#endif
