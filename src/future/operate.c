/* SPDX-License-Identifier: MIT */
#include "future/operate.h"

#include "base/os_error.h"

#include <string.h>

/* Behind the value of the future. */
struct extra {
    jzx_op id;
};

static size_t extra_of(struct jzx_future *future) {
    (void)future;
    return sizeof(struct extra);
}

/* B2. */
static void cancel(struct jzx_future *future, struct jzx__worker *me) {
    const struct extra *extra = jzx__future_extra(future);
    (void)me;
    (void)jzx_op_cancel(future->home->loop, extra->id); /* its id is stale when it is complete */
}

static const struct jzx__future_ops future_ops = {.extra = extra_of, .cancel = cancel};

/* What the value is when the data have come: no byte of it is left over from another use. */
static void fill_value(const struct jzx__op *op, struct jzx_future *future) {
    char *data = op->target.data;
    memset(data + op->len, 0, op->target.capacity - op->len);
    if (op->target.data != future->value.bytes) {
        jzx_result *result = (void *)future->value.bytes;
        *result = (jzx_result){.op = jzx__op_id(op), .err = JZX_OK, .len = op->len};
    }
}

static void settle(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx_future *future = op->target.who;
    char text[JZX__OS_ERROR_TEXT_SIZE] = "";
    if (op->err == JZX_OK) {
        fill_value(op, future);
        (void)jzx__future_resolve(future, me, future->value.bytes);
    } else {
        if (op->os_error != 0)
            jzx__os_error_text(op->os_error, text, sizeof text);
        (void)jzx__future_reject(future, me, (jzx_err)op->err, text);
    }
    jzx__future_let_go(future, JZX__HOLDER_PROMISE);
}

jzx_err jzx__future_operate(struct jzx_loop *loop, struct jzx__worker *me,
                            const struct jzx__future_op *what, struct jzx__op **op,
                            struct jzx_future **future) {
    size_t head = what->has_result ? sizeof(jzx_result) : 0;
    if (what->capacity > JZX_FUTURE_VALUE_MAX - head)
        return JZX_ERR_INVALID_ARG;
    struct jzx_future *made = jzx__future_create(
        jzx__future_home_of(loop), me, head + what->capacity, sizeof(struct extra), &future_ops);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    const struct jzx__op_target target = {.settle = settle,
                                          .who = made,
                                          .data = made->value.bytes + head,
                                          .capacity = what->capacity};
    jzx_err err = jzx__op_begin_for(loop, me, what->ops, &target, op);
    if (err != JZX_OK) {
        jzx__future_let_go(made, JZX__HOLDER_PROMISE);
        jzx__future_let_go(made, 1);
        return err;
    }
    struct extra *extra = jzx__future_extra(made);
    extra->id = jzx__op_id(*op);
    *future = made;
    return JZX_OK;
}

void jzx__future_undo(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx_future *future = op->target.who;
    jzx__op_undo_for(op, me);
    jzx__future_let_go(future, JZX__HOLDER_PROMISE); /* not settled: nobody else has a handle */
    jzx__future_let_go(future, 1);
}
