/* SPDX-License-Identifier: MIT */
#include "fiber/operate.h"

#include "fiber/fiber.h"

#include "jzx/time.h"

#include <string.h>

/* How often a fiber that drains looks at what it waits for. */
#define OUTLAST_TICK_NS JZX_MS(1)

jzx_err jzx__fiber_take_turn(jzx_context *ctx, const char *call) {
    jzx_err err = JZX_OK;
    struct jzx__fiber *fiber = jzx__fiber_enter(ctx, call, &err);
    if (fiber == NULL)
        return err;
    if (!jzx__fiber_goes_on(fiber))
        err = jzx__fiber_wait(fiber, JZX__WISH_TURN, 0);
    jzx__fiber_leave(fiber);
    return err;
}

static jzx_err wait_for(jzx_context *ctx, struct jzx__op *op, uint64_t deadline_ns) {
    jzx_err err;
    struct jzx__wait_link link = {.source = &op->source};
    const struct jzx__event event = {
        .kind = JZX_WAIT_OP, .object = jzx__op_id(op), .links = &link, .count = 1};
    struct jzx__fiber *fiber = jzx__fiber_enter(ctx, "", &err);
    JZX_ASSERT(fiber != NULL); /* it has begun the operation */
    err = jzx__cause_err(jzx__fiber_await(fiber, &event, deadline_ns));
    jzx__fiber_leave(fiber);
    return err;
}

/* The wait has ended, and the operation still uses memory of the fiber: goes on until that is over,
 * or the deadline has passed. A fiber that drains can wait for time alone: its inbox, by which
 * others would wake it, is closed. */
static void outlast(jzx_context *ctx, struct jzx__op *op, uint64_t deadline_ns) {
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
}

static jzx_err read_result(jzx_context *ctx, const struct jzx__op *op, void *data, size_t *len) {
    if (op->os_error != 0)
        jzx__turn_of(ctx)->os_error = op->os_error;
    if (data != NULL && op->len != 0)
        memcpy(data, jzx__op_data(op), op->len);
    if (len != NULL)
        *len = op->len;
    return (jzx_err)op->err;
}

/* Ends the operation, or abandons it. */
static JZX_ACROSS_WAIT jzx_err settle(jzx_context *ctx, struct jzx__op *op, bool is_over,
                                      void *data, size_t *len) {
    struct jzx__own own;
    jzx_err err = JZX_ERR_CANCELLED;
    bool is_own = jzx__own_begin(&own, ctx);
    JZX_ASSERT(is_own);
    if (is_over || !jzx__op_abandon(&own, op)) {
        err = read_result(ctx, op, data, len);
        jzx__op_end(&own, op);
    }
    jzx__own_end(&own);
    return err;
}

jzx_err jzx__fiber_operate_fully(jzx_context *ctx, struct jzx__op *op, uint64_t deadline_ns) {
    jzx_err reason = wait_for(ctx, op, deadline_ns);
    if (reason != JZX_OK) {
        struct jzx__fiber *fiber = jzx__fiber_of_turn(jzx__turn_of(ctx));
        uint64_t limit_ns = fiber->limit_ns;
        (void)jzx_op_cancel(ctx->loop, jzx__op_id(op)); /* if it has not begun yet */
        fiber->limit_ns = JZX_NEVER;
        if (wait_for(ctx, op, JZX_NEVER) != JZX_OK)
            outlast(ctx, op, JZX_NEVER);
        fiber->limit_ns = limit_ns;
    }
    jzx_err err = settle(ctx, op, true, NULL, NULL);
    return err == JZX_ERR_CANCELLED && reason != JZX_OK ? reason : err; /* cancelled for that */
}

jzx_err jzx__fiber_operate(jzx_context *ctx, struct jzx__op *op, uint64_t deadline_ns, void *data,
                           size_t *len) {
    jzx_err reason = wait_for(ctx, op, deadline_ns);
    if (reason != JZX_OK && op->borrows)
        outlast(ctx, op, deadline_ns);
    jzx_err err = settle(ctx, op, reason == JZX_OK, data, len);
    return err == JZX_ERR_CANCELLED && reason != JZX_OK ? reason : err; /* cancelled for that */
}
