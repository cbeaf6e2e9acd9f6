/* SPDX-License-Identifier: MIT */
/* Threads of the pool that wait for a pipe, a terminal and the like. In read(2) none of them could
 * be stopped: so each waits for the file and for a descriptor of its own, at which a cancel rings.
 *
 *   await/T1  a thread puts itself on the list before it looks for a cancel, and a cancel is marked
 *             (op/O1) before it looks at the list: so one of the two sees the other.
 *   await/T2  the descriptor is closed when its thread is off the list: nobody rings at another. */
#ifndef JZX_FILE_AWAIT_H
#define JZX_FILE_AWAIT_H

#include "file/request.h"

/* Waits until the file of the request can be read without waiting. -ECANCELED: it was cancelled.
 * Another negative errno: there is no descriptor to ring at. */
int jzx__file_await(const struct jzx__file_request *request);

/* Ends the wait of that operation, if it waits; NULL: all, from now on. Any thread. */
void jzx__file_stop_wait(struct jzx_loop *loop, const struct jzx__op *op);

#endif
