/* SPDX-License-Identifier: MIT */
/* Operations under way: what a call whose name ends in _to has begun.
 *
 *     jzx_op op;
 *     jzx_blocking_to(ctx, resolve, name, RESOLVED, &op);          returns at once
 *     ...
 *     case RESOLVED: {                                             a later message
 *         const jzx_result *result = msg->data;                    result->op == op
 *         if (result->err == JZX_OK)
 *             use(jzx_result_data(result), result->len);
 *     }
 *
 * Each operation belongs to the actor that began it, and completes exactly once, by one message to
 * that actor with the tag that it chose. No mailbox bound refuses this message, and it needs no
 * memory: its block is made when the operation begins. When the actor ends, its operations are
 * cancelled and their results dropped. So are those of an actor that works off its queue. */
#ifndef JZX_OP_H
#define JZX_OP_H

#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/message.h"

#include <stdint.h>

/* Names an operation. Plain data: may be copied, kept, and sent to others. Never 0, and never used
 * again by its loop. */
typedef uint64_t jzx_op;

#define JZX_NO_OP 0u

/* What the message of an operation begins with. len bytes of data follow it in the same block:
 * jzx_result_data. msg->len may be larger than both: it is what the operation has reserved. The
 * message can be taken, stashed and sent on as any other; its sender is JZX_NOBODY. */
typedef struct jzx_result {
    jzx_op op;
    int16_t err;       /* a jzx_err: how the operation has ended */
    uint16_t os_error; /* the errno behind err, or 0: it has none */
    uint32_t len;
} jzx_result;

JZX_BEGIN_C

/* The data behind the result, aligned for any type. NULL for NULL. */
JZX_API void *jzx_result_data(const jzx_result *result);

/* Asks an operation to end now. On JZX_OK its message comes all the same, once: with
 * JZX_ERR_CANCELLED, or with its result if that was faster or cannot be stopped any more, as the
 * header of the operation says. JZX_ERR_NO_SUCH_OP: it is complete, its message is under way or was
 * handled, or it never was. Any thread; never blocks. JZX_ERR_INVALID_ARG (NULL). */
JZX_API jzx_err jzx_op_cancel(jzx_loop *loop, jzx_op op);

JZX_END_C

#endif
