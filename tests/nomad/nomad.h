/* SPDX-License-Identifier: MIT */
/* Loops whose fibers change their thread at every wait, and stay on their worker.
 *
 * Each thread that drives a worker of such a loop gets a companion. No thread resumes a fiber that
 * was suspended there: it puts the fiber back into its queue. The companion runs the next pass of
 * the worker, with a seat of its own, and the thread waits for it. Each call that may wait is
 * suspended, also if it has no need to. Fibers that are bound to their thread are left alone. */
#ifndef JZX_NOMAD_H
#define JZX_NOMAD_H

#include "jzx/loop.h"

/* Before anything is spawned. */
void nomad_begin(jzx_loop *loop);

/* After the loop was destroyed: ends its companions. Nothing if it was not begun. */
void nomad_end(const jzx_loop *loop);

#endif
