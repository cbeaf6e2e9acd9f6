/* SPDX-License-Identifier: MIT */
#include "fiber/operate.h"

#include "fiber/fiber.h"

#include "jzx/time.h"

#include <string.h>

/* How often a fiber that drains looks at what it waits for. */
#define OUTLAST_TICK_NS JZX_MS(1)

static jzx_err wait_for(jzx_context *ctx, struct jzx__op *op, uint64_t deadline_ns) {
    jzx_err err;
    struct jzx__wait_link link = {.source = &op->source};
    const struct jzx__event event = {
        .kind = JZX_WAIT_OP, .object = jzx__op_id(op), .links = &link, .count = 1};
    struct jzx__fiber *fiber = jzx__fiber_enter(ctx, &err);
    JZX_ASSERT(fiber != NULL); /* it has begun the operation */
    err = jzx__cause_err(jzx__fiber_await(fiber, &event, deadline_ns));
    jzx__fiber_leave(fiber);
    return err;
}

/* The wait has ended, for the reason given, and the operation still uses memory of the fiber: goes
 * on until that is over, or the deadline has passed. A fiber that drains can wait for time alone: its
 * inbox, by which others would wake it, is closed. */
static jzx_err outlast(jzx_context *ctx, struct jzx__op *op, uint64_t deadline_ns, jzx_err reason) {
    struct jzx__fiber *fiber = jzx__fiber_of_turn(jzx__turn_of(ctx));
    struct jzx_loop *loop = ctx->loop;
    uint64_t limit_ns = fiber->limit_ns;
    (void)jzx_op_cancel(loop, jzx__op_id(op)); /* if it has not begun yet */
    fiber->limit_ns = JZX_NEVER;
    while (!jzx__op_is_done(op) && jzx_loop_now(loop) < deadline_ns) {
        if (loop->sched.clock.is_real)
            (void)jzx_sleep(ctx, jzx_loop_now(loop) + OUTLAST_TICK_NS);
        else
            (void)jzx_yield(ctx);
    }
    fiber->limit_ns = limit_ns;
    return jzx__op_is_done(op) && op->err != JZX_ERR_CANCELLED ? JZX_OK : reason;
}

static jzx_err read_result(const struct jzx__op *op, void *data, size_t *len) {
    if (data != NULL && op->len != 0)
        memcpy(data, jzx__op_data(op), op->len);
    if (len != NULL)
        *len = op->len;
    return op->err;
}

jzx_err jzx__fiber_operate(jzx_context *ctx, struct jzx__op *op, uint64_t deadline_ns, void *data,
                           size_t *len) {
    struct jzx__own own;
    jzx_err err = wait_for(ctx, op, deadline_ns);
    jzx_err reason = err;
    if (err != JZX_OK && op->borrows)
        err = outlast(ctx, op, deadline_ns, reason);
    bool is_own = jzx__own_begin(&own, ctx);
    JZX_ASSERT(is_own);
    if (err == JZX_OK || !jzx__op_abandon(&own, op)) {
        err = read_result(op, data, len);
        if (err == JZX_ERR_CANCELLED && reason != JZX_OK)
            err = reason; /* it was cancelled for that */
        jzx__op_end(&own, op);
    }
    jzx__own_end(&own);
    return err;
}
