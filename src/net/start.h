/* SPDX-License-Identifier: MIT */
/* How an operation on a socket begins that completes by a message (_to) or by a future (_async):
 * one body for both.
 *
 *     struct jzx__start start = {.ctx = ctx, .tag = tag, .op = op};          or .loop, .future
 *     jzx_err err = jzx__start_open(&start, handle, &ops, capacity, has_result);
 *     if (err == JZX_OK) { ... under the lock of the socket: start->own ... }
 *     return jzx__start_close(&start, err); */
#ifndef JZX_NET_START_H
#define JZX_NET_START_H

#include "net/socket.h"

struct jzx__start {
    /* Set by the caller: either of the two ways. */
    jzx_context *ctx;
    uint32_t tag;
    jzx_op *op; /* may be NULL */
    jzx_loop *loop;
    jzx_future **future;

    struct jzx__worker *me; /* NULL: a thread that has no worker of the loop */
    struct jzx__op *made;
    struct jzx__own own;
    struct jzx__visit visit;
    jzx_future *made_future;
    bool is_open;
};

/* What the operation is to have. */
struct jzx__start_spec {
    const struct jzx__op_ops *ops;
    size_t capacity;
    bool has_result; /* of a future: jzx__future_op */
};

/* Opens the bracket, unless it is open. */
jzx_err jzx__start_enter(struct jzx__start *start);

/* Makes the operation as well, which is launched: what is its own begins with a struct
 * jzx__socket_op, of which socket is set. NULL: JZX_ERR_CLOSED. On an error only jzx__start_close
 * is to be called, as above. */
jzx_err jzx__start_open(struct jzx__start *start, struct jzx__socket *socket,
                        const struct jzx__start_spec *spec);

/* On an error undoes the operation, which is neither pending nor in a jzx__done. Else tells the
 * caller its id, or the future. Returns err. */
jzx_err jzx__start_close(struct jzx__start *start, jzx_err err);

/* The loop of either way, or NULL. */
static inline struct jzx_loop *jzx__start_loop(const struct jzx__start *start) {
    return start->ctx != NULL ? start->ctx->loop : start->loop;
}

#endif
