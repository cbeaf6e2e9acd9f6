/* SPDX-License-Identifier: MIT */
/* The threads of a pool and the jobs that they are given: see blocking.h. */
#ifndef JZX_IO_WORKFORCE_H
#define JZX_IO_WORKFORCE_H

#include "io/blocking.h"

/* opts are settled. */
void jzx__workforce_init(struct jzx_blocking_pool *pool, struct jzx_loop *loop,
                         const jzx_blocking_opts *opts);

/* The job of an operation that was launched. JZX_ERR_FULL, JZX_ERR_NO_THREAD, JZX_ERR_NO_MEMORY: it
 * is the caller's again. In a visit; never blocks. */
jzx_err jzx__workforce_submit(struct jzx_blocking_pool *pool, struct jzx__job *job,
                              struct jzx__worker *me);

/* Of struct jzx__op_ops. */
void jzx__workforce_cancel(struct jzx__op *op, struct jzx__worker *me);

/* The loop is destroyed: cancels all jobs that wait, and blocks until those that run, and all
 * threads, have ended. */
void jzx__workforce_halt(struct jzx_blocking_pool *pool, struct jzx__worker *me);

/* After that. */
void jzx__workforce_deinit(struct jzx_blocking_pool *pool);

#endif
