/* SPDX-License-Identifier: MIT */
/* Operations (op/op.h) that complete a future: what stands behind every call that ends in _async.
 *
 *   B1  such an operation has no owner (op/O10). It has the promise's place of its future, and no
 *       other settles it: so the part writes the value in place, in the future, and nobody reads it
 *       before.
 *   B2  a cancel of the future, and the release of its last handle, ask the operation to end as
 *       jzx_op_cancel does; it settles its future when it has. So when the future is settled, no
 *       thread uses the arguments of the operation any more.
 *   B3  an operation completes before its loop closes, so no future asks for the end of one that is
 *       gone: a future that outlives its loop is settled.
 *
 * Rejected: an actor that owns the operations of all futures (a message and a turn more for each,
 * and a list that all workers share); a reject at once by the cancel (the part would write its data to
 * memory of its own first, and B2 would not tell when a descriptor or a buffer is free). */
#ifndef JZX_FUTURE_OPERATE_H
#define JZX_FUTURE_OPERATE_H

#include "future/future.h"
#include "op/op.h"

/* What an operation is begun with. */
struct jzx__future_op {
    const struct jzx__op_ops *ops;
    size_t capacity; /* of its data */
    /* The value is a jzx_result with the data behind it, as in a message: for data of a length that
     * is not known before. Else the value is the data, capacity bytes. */
    bool has_result;
};

/* Makes both; the caller gets a handle to the future. The part fills what is its own in the slot,
 * launches the operation, and completes it from then on by jzx__op_complete: JZX_OK resolves the
 * future, an error rejects it, with the text of the errno if there is one (jzx__op_set_os_error).
 * Any thread, in a visit; me may be NULL. JZX_ERR_INVALID_ARG (capacity), JZX_ERR_LOOP_CLOSED,
 * JZX_ERR_NO_MEMORY. */
jzx_err jzx__future_operate(struct jzx_loop *loop, struct jzx__worker *me,
                            const struct jzx__future_op *what, struct jzx__op **op,
                            struct jzx_future **future);

/* One that was launched could not be started: both are gone. */
void jzx__future_undo(struct jzx__op *op, struct jzx__worker *me);

#endif
