/* SPDX-License-Identifier: MIT */
/* How a fiber waits for an operation (op.h), in place of a message. */
#ifndef JZX_FIBER_OPERATE_H
#define JZX_FIBER_OPERATE_H

#include "op/op.h"

/* Lets others run if the turn of the fiber is used up, or somebody wants something of it: before a
 * call that may not wait. JZX_ERR_WOULD_SUSPEND (and what else on_wait says) if this is no fiber's
 * own code. call is its public name. */
jzx_err jzx__fiber_take_turn(jzx_context *ctx, const char *call);

/* Waits for an operation that the fiber has begun (is_waited) and launched, and ends it. The err of
 * its result, and then its data go to the memory at data, which has room for the capacity, and
 * their length to *len; both may be NULL. JZX_ERR_TIMEOUT, JZX_ERR_CANCELLED (the actor works off
 * its queue, and the operation does not borrow): it was abandoned. The caller has no bracket
 * open. */
jzx_err jzx__fiber_operate(jzx_context *ctx, struct jzx__op *op, uint64_t deadline_ns, void *data,
                           size_t *len);

/* The same for one that borrows, and that nothing can stop when it has begun: it is cancelled when
 * the deadline has passed or the fiber is to end, and waited for to its end all the same. */
jzx_err jzx__fiber_operate_fully(jzx_context *ctx, struct jzx__op *op, uint64_t deadline_ns);

#endif
