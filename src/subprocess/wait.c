/* SPDX-License-Identifier: MIT */
/* Waiting for the end of a subprocess, and stopping one: the same wait, after a signal. */
#include "subprocess/wait.h"

#include "net/start.h"

#include <string.h>

/* What is asked for. */
struct request {
    jzx_subprocess handle;
    bool stops;
    int signal; /* 0: the usual one */
    uint64_t kill_ns;
};

static bool is_valid(const struct request *request) {
    return request->signal >= 0 && request->signal <= JZX__SIGNAL_MAX;
}

/* A process that cannot be signalled, as it has other rights by now, is only waited for. Under the
 * lock; it has not ended. */
static void begin_stop(struct jzx__subprocess *child, struct jzx__worker *me,
                       const struct request *request) {
    (void)jzx__subprocess_send_signal(child,
                                      request->signal != 0 ? request->signal : child->stop_signal);
    jzx__subprocess_kill_at(child, me, request->kill_ns);
}

/* ---- a fiber ---- */

struct fiber_wait {
    struct jzx__socket *socket; /* where to wait */
    jzx_subprocess_status *status;
    bool is_over;
};

static JZX_ACROSS_WAIT jzx_err step(jzx_context *ctx, struct request *request,
                                    struct fiber_wait *own) {
    struct jzx__own turn;
    struct jzx__done done = {.first = NULL};
    jzx_err err = JZX_ERR_CLOSED;
    int os_error = 0;
    if (!jzx__own_begin(&turn, ctx))
        return JZX_ERR_INVALID_ARG;
    struct jzx__subprocess *child = jzx__subprocess_acquire(ctx->loop, request->handle);
    if (child != NULL) {
        err = JZX_OK;
        own->socket = &child->socket;
        own->is_over = jzx__subprocess_look(child, turn.me, &done);
        if (own->is_over) {
            err = jzx__subprocess_result(child, &os_error);
            if (err == JZX_OK && own->status != NULL)
                *own->status = child->status;
        } else if (request->stops) {
            begin_stop(child, turn.me, request);
            request->stops = false;
        }
        jzx__socket_release(&child->socket, turn.me, &done);
    }
    if (os_error != 0)
        turn.turn->os_error = os_error;
    jzx__own_end(&turn);
    return err;
}

static jzx_err wait_in_fiber(jzx_context *ctx, const char *call, struct request *request,
                             uint64_t deadline_ns, jzx_subprocess_status *status) {
    struct fiber_wait own = {.status = status};
    struct jzx__socket_wait wait = {.handle = request->handle};
    jzx_err err = jzx__fiber_take_turn(ctx, call);
    if (err == JZX_OK && !is_valid(request))
        err = JZX_ERR_INVALID_ARG;
    while (err == JZX_OK) {
        err = step(ctx, request, &own);
        if (err != JZX_OK || own.is_over)
            break;
        err = jzx__socket_await(ctx, &wait, &own.socket->readers, deadline_ns);
    }
    return err;
}

jzx_err jzx_subprocess_wait(jzx_context *ctx, jzx_subprocess child, uint64_t deadline_ns,
                            jzx_subprocess_status *status) {
    struct request request = {.handle = child};
    return wait_in_fiber(ctx, "jzx_subprocess_wait", &request, deadline_ns, status);
}

jzx_err jzx_subprocess_stop(jzx_context *ctx, jzx_subprocess child, int signal, uint64_t kill_ns,
                            jzx_subprocess_status *status) {
    struct request request = {.handle = child, .stops = true, .signal = signal, .kill_ns = kill_ns};
    return wait_in_fiber(ctx, "jzx_subprocess_stop", &request, JZX_NEVER, status);
}

/* ---- operations ---- */

/* What an operation keeps in its slot. */
struct wait_op {
    struct jzx__socket_op base;
    struct jzx__link at_child; /* in `waits`, while it is pending */
};

_Static_assert(sizeof(struct wait_op) <= JZX__OP_OWN_SIZE, "has its place in the slot");

static void complete(const struct jzx__subprocess *child, struct wait_op *own,
                     struct jzx__done *done) {
    int os_error;
    jzx_err err = jzx__subprocess_result(child, &os_error);
    if (err == JZX_OK)
        memcpy(jzx__op_data(jzx__op_of_own(own)), &child->status, sizeof child->status);
    jzx__done_add(done, &own->base, err, os_error, err == JZX_OK ? sizeof child->status : 0);
}

static struct wait_op *next_wait(struct jzx__subprocess *child) {
    struct jzx__link *link = jzx__list_pop_front(&child->waits);
    return link == NULL ? NULL : JZX_CONTAINER_OF(link, struct wait_op, at_child);
}

void jzx__subprocess_complete_waits(struct jzx__subprocess *child, struct jzx__done *done) {
    for (struct wait_op *own; (own = next_wait(child)) != NULL;)
        complete(child, own, done);
}

void jzx__subprocess_end_waits(struct jzx__subprocess *child, jzx_err err, struct jzx__done *done) {
    for (struct wait_op *own; (own = next_wait(child)) != NULL;)
        jzx__done_add(done, &own->base, err, 0, 0);
}

static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct wait_op *own = jzx__op_own(op);
    struct jzx__socket *socket = own->base.socket;
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(socket);
    if (own->base.is_pending) {
        jzx__list_remove(&own->at_child);
        jzx__done_add(&done, &own->base, JZX_ERR_CANCELLED, 0, 0);
    }
    jzx__socket_release(socket, me, &done);
}

static const struct jzx__op_ops wait_ops = {.cancel = cancel};

static jzx_err launch(struct jzx__start *start, const struct request *request) {
    struct wait_op *own = jzx__op_own(start->made);
    struct jzx__done done = {.first = NULL};
    struct jzx__subprocess *child = jzx__subprocess_acquire(start->loop, request->handle);
    if (child == NULL)
        return JZX_ERR_CLOSED;
    if (jzx__subprocess_look(child, start->me, &done)) {
        complete(child, own, &done);
    } else {
        own->base.is_pending = true;
        jzx__list_push_back(&child->waits, &own->at_child);
        if (request->stops)
            begin_stop(child, start->me, request);
    }
    jzx__socket_release(&child->socket, start->me, &done);
    return JZX_OK;
}

static jzx_err start_wait(struct jzx__start *start, const struct request *request) {
    const struct jzx__start_spec spec = {.ops = &wait_ops,
                                         .capacity = sizeof(jzx_subprocess_status)};
    if (!is_valid(request))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__start_enter(start);
    if (err == JZX_OK)
        err = jzx__start_open(start, jzx__socket_find(start->loop, request->handle), &spec);
    if (err == JZX_OK)
        err = launch(start, request);
    return jzx__start_close(start, err);
}

static jzx_err wait_to(jzx_context *ctx, const struct request *request, uint32_t tag, jzx_op *op) {
    if (ctx == NULL)
        return JZX_ERR_INVALID_ARG;
    return start_wait(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, request);
}

static jzx_err wait_async(jzx_loop *loop, const struct request *request, jzx_future **future) {
    if (loop == NULL || future == NULL)
        return JZX_ERR_INVALID_ARG;
    return start_wait(&(struct jzx__start){.loop = loop, .future = future}, request);
}

jzx_err jzx_subprocess_wait_to(jzx_context *ctx, jzx_subprocess child, uint32_t tag, jzx_op *op) {
    return wait_to(ctx, &(struct request){.handle = child}, tag, op);
}

jzx_err jzx_subprocess_wait_async(jzx_loop *loop, jzx_subprocess child, jzx_future **future) {
    return wait_async(loop, &(struct request){.handle = child}, future);
}

jzx_err jzx_subprocess_stop_to(jzx_context *ctx, jzx_subprocess child, int signal, uint64_t kill_ns,
                               uint32_t tag, jzx_op *op) {
    const struct request request = {
        .handle = child, .stops = true, .signal = signal, .kill_ns = kill_ns};
    return wait_to(ctx, &request, tag, op);
}

jzx_err jzx_subprocess_stop_async(jzx_loop *loop, jzx_subprocess child, int signal,
                                  uint64_t kill_ns, jzx_future **future) {
    const struct request request = {
        .handle = child, .stops = true, .signal = signal, .kill_ns = kill_ns};
    return wait_async(loop, &request, future);
}
