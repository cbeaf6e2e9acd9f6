/* SPDX-License-Identifier: MIT */
/* A future as a message: an operation (op/op.h) that completes when the future is settled. */
#include "future/future.h"
#include "op/op.h"

#include "jzx/combine.h"

/* What the operation has in its slot. */
struct delivery {
    struct jzx__then then;
};

_Static_assert(sizeof(struct delivery) <= JZX__OP_OWN_SIZE, "fits the slot");

/* The slot is not the delivery's any more after that. */
static void complete(struct jzx__op *op, struct jzx__worker *me, struct jzx_future *future,
                     jzx_err err) {
    bool has_data = err == JZX_OK && (future->flags & JZX__FUTURE_MOVED) == 0;
    jzx__op_complete(op, me, err, has_data ? future->value.bytes : NULL,
                     has_data ? future->value_size : 0);
    jzx_future_release(future);
}

static void run(struct jzx__then *then, struct jzx_future *future, struct jzx__worker *me) {
    complete(jzx__op_of_own(JZX_CONTAINER_OF(then, struct delivery, then)), me, future,
             jzx__future_read(future, NULL));
}

static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct delivery *delivery = jzx__op_own(op);
    struct jzx_future *future = delivery->then.future;
    if (jzx__future_off(&delivery->then)) /* else it is complete, or about to be */
        complete(op, me, future, JZX_ERR_CANCELLED);
}

static const struct jzx__op_ops delivery_ops = {.cancel = cancel};

static void join(struct jzx__op *op, struct jzx__worker *me, struct jzx_future *future) {
    struct delivery *delivery = jzx__op_own(op);
    *delivery =
        (struct delivery){.then = {.future = jzx_future_ref(future), .lock = future->source.lock}};
    jzx__op_launch(op);
    if (!jzx__future_on(future, &delivery->then, run))
        run(&delivery->then, future, me);
}

jzx_err jzx_future_to(jzx_context *ctx, jzx_future *future, uint32_t tag, jzx_op *op) {
    struct jzx__own own;
    struct jzx__op *made;
    if (future == NULL || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    const struct jzx__op_spec spec = {
        .ops = &delivery_ops, .capacity = future->value_size, .tag = tag};
    jzx_err err = future->home != jzx__future_home_of(ctx->loop)
                      ? JZX_ERR_INVALID_ARG
                      : jzx__op_begin(&own, &spec, &made);
    if (err == JZX_OK) {
        if (op != NULL)
            *op = jzx__op_id(made);
        join(made, own.me, future);
    }
    jzx__own_end(&own);
    return err;
}
