/* SPDX-License-Identifier: MIT */
/* The threads of a pool and the jobs that they are given: see blocking.h. */
#ifndef JZX_IO_WORKFORCE_H
#define JZX_IO_WORKFORCE_H

#include "io/blocking.h"

/* opts are settled. */
void jzx__workforce_init(struct jzx_blocking_pool *pool, struct jzx_loop *loop,
                         const jzx_blocking_opts *opts);

/* The job of an operation that was launched. JZX_ERR_FULL, JZX_ERR_NO_THREAD, JZX_ERR_NO_MEMORY,
 * JZX_ERR_LOOP_CLOSED: it is the caller's again. In a visit; never blocks. */
jzx_err jzx__workforce_submit(struct jzx_blocking_pool *pool, struct jzx__job *job,
                              struct jzx__worker *me);

/* Of struct jzx__op_ops. */
void jzx__workforce_cancel(struct jzx__op *op, struct jzx__worker *me);

/* The loop is destroyed: cancels all jobs that wait, and takes no other (J6). */
void jzx__workforce_halt(struct jzx_blocking_pool *pool, struct jzx__worker *me);

/* After that: blocks until the jobs that run, and their threads, have ended. False if there is no
 * thread. A thread of another pool may be about to start one here, until it is joined itself: so
 * all pools are joined until no one has a thread. */
bool jzx__workforce_join(struct jzx_blocking_pool *pool);

/* After that. */
void jzx__workforce_deinit(struct jzx_blocking_pool *pool);

#endif
