/* SPDX-License-Identifier: MIT */
/* The calls that await readiness: what is ready is told at once, else an operation waits. */
#include "fiber/fiber.h"
#include "fiber/operate.h"
#include "future/operate.h"
#include "io/fd_waits.h"

#include "jzx/io.h"

#include <errno.h>

#define INTERESTS (JZX_IO_READ | JZX_IO_WRITE | JZX_IO_ERROR | JZX_IO_HANGUP)

/* The arguments of a call. */
struct request {
    int fd;
    uint32_t interest;
    uint64_t deadline_ns;
};

static bool is_valid(const struct request *request) {
    return request->interest != 0 && (request->interest & ~INTERESTS) == 0;
}

static bool is_late(const struct jzx_loop *loop, const struct request *request) {
    return request->deadline_ns != JZX_NEVER && request->deadline_ns <= jzx_loop_now(loop);
}

static void launch(struct jzx__op *op, const struct request *request) {
    struct jzx__fd_wait *wait = jzx__op_own(op);
    *wait = (struct jzx__fd_wait){
        .deadline_ns = request->deadline_ns, .fd = request->fd, .interest = request->interest};
    jzx__op_launch(op);
}

/* Readiness and errors of this moment complete it. */
static void begin(struct jzx__op *op, struct jzx__worker *me, const struct request *request) {
    launch(op, request);
    int now = jzx__fd_look(jzx__io_of(op->loop), request->fd, request->interest);
    if (now == 0 && is_late(op->loop, request))
        now = -ETIMEDOUT;
    if (now != 0)
        jzx__fd_wait_finish(op, me, now);
    else
        jzx__fd_wait_enter(op, me);
}

/* ---- a fiber ---- */

/* Looks once. *ready: the bits, or 0. */
static JZX_ACROSS_WAIT jzx_err look(jzx_context *ctx, const struct request *request,
                                    uint32_t *ready) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    int now = jzx__fd_look(jzx__io_of(ctx->loop), request->fd, request->interest);
    if (now < 0)
        own.turn->os_error = -now;
    jzx__own_end(&own);
    *ready = now < 0 ? 0 : (uint32_t)now;
    return now < 0 ? jzx__fd_wait_status(now) : JZX_OK;
}

static JZX_ACROSS_WAIT jzx_err start(jzx_context *ctx, const struct request *request,
                                     struct jzx__op **op) {
    struct jzx__own own;
    const struct jzx__op_spec spec = {
        .ops = &jzx__fd_wait_ops, .capacity = sizeof(uint32_t), .is_waited = true};
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__op_begin(&own, &spec, op);
    if (err == JZX_OK) {
        launch(*op, request);
        jzx__fd_wait_enter(*op, own.me);
    }
    jzx__own_end(&own);
    return err;
}

jzx_err jzx_fd_await(jzx_context *ctx, int fd, uint32_t interest, uint64_t deadline_ns,
                     uint32_t *ready) {
    /* The deadline of a fiber is its own. */
    const struct request request = {.fd = fd, .interest = interest, .deadline_ns = JZX_NEVER};
    uint32_t now = 0;
    struct jzx__op *op;
    jzx_err err = jzx__fiber_take_turn(ctx, "jzx_fd_await");
    if (err == JZX_OK)
        err = is_valid(&request) ? look(ctx, &request, &now) : JZX_ERR_INVALID_ARG;
    if (err == JZX_OK && now == 0) {
        bool is_over = deadline_ns != JZX_NEVER && deadline_ns <= jzx_loop_now(ctx->loop);
        err = is_over ? JZX_ERR_TIMEOUT : start(ctx, &request, &op);
        if (err == JZX_OK)
            err = jzx__fiber_operate(ctx, op, deadline_ns, &now, NULL);
    }
    if (err == JZX_OK && ready != NULL)
        *ready = now;
    return err;
}

/* ---- by a message, by a future ---- */

jzx_err jzx_fd_await_to(jzx_context *ctx, int fd, uint32_t interest, uint64_t deadline_ns,
                        uint32_t tag, jzx_op *op) {
    struct jzx__own own;
    struct jzx__op *made;
    const struct request request = {.fd = fd, .interest = interest, .deadline_ns = deadline_ns};
    const struct jzx__op_spec spec = {
        .ops = &jzx__fd_wait_ops, .capacity = sizeof(uint32_t), .tag = tag};
    if (!is_valid(&request) || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__op_begin(&own, &spec, &made);
    if (err == JZX_OK) {
        if (op != NULL)
            *op = jzx__op_id(made);
        begin(made, own.me, &request);
    }
    jzx__own_end(&own);
    return err;
}

jzx_err jzx_fd_await_async(jzx_loop *loop, int fd, uint32_t interest, uint64_t deadline_ns,
                           jzx_future **future) {
    struct jzx__visit visit;
    struct jzx__op *op;
    const struct request request = {.fd = fd, .interest = interest, .deadline_ns = deadline_ns};
    const struct jzx__future_op what = {.ops = &jzx__fd_wait_ops, .capacity = sizeof(uint32_t)};
    if (loop == NULL || future == NULL || !is_valid(&request))
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_future *made;
    jzx_err err = jzx__future_operate(loop, me, &what, &op, &made);
    if (err == JZX_OK)
        begin(op, me, &request);
    jzx__visit_end(&visit);
    if (err == JZX_OK)
        *future = made;
    return err;
}
