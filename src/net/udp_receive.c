/* SPDX-License-Identifier: MIT */
#include "net/udp_receive.h"

#include "net/read.h"
#include "net/start.h"
#include "net/udp_active.h"

#include <errno.h>

_Static_assert(sizeof(jzx_udp_event) == 64, "data behind it is aligned for any type");

/* ---- from the system ---- */

static size_t size_of(const struct jzx__vector *vector, unsigned i) {
    return vector->heads[i].msg_len;
}

static size_t len_of(const struct jzx__vector *vector, unsigned i) {
    size_t cap = vector->parts[i].iov_len;
    return size_of(vector, i) < cap ? size_of(vector, i) : cap;
}

/* After fewer than there was room for, the socket is empty: but for an error that waits behind
 * them. */
int jzx__udp_take_in(struct jzx__udp *udp, struct jzx__vector *vector) {
    struct jzx__socket *socket = &udp->socket;
    int got;
    if ((socket->ready & JZX__READY_READ) == 0)
        return -EAGAIN;
    do
        got = jzx__socket_os(socket)->recvmmsg(jzx__socket_fd(socket), vector->heads, vector->count,
                                               MSG_TRUNC);
    while (got == -EINTR);
    bool is_empty = got == -EAGAIN || (got > 0 && (unsigned)got < vector->count);
    if (is_empty && (socket->ready & JZX__READY_ERROR) == 0)
        socket->ready &= (uint8_t)~JZX__READY_READ;
    if (got == -EAGAIN)
        socket->ready &= (uint8_t)~JZX__READY_READ;
    socket->ready &= (uint8_t)~JZX__READY_ERROR;
    for (int i = 0; i < got; i++) {
        udp->received++;
        udp->truncated += size_of(vector, (unsigned)i) > len_of(vector, (unsigned)i);
    }
    return got;
}

void jzx__udp_describe(struct jzx__udp *udp, const struct jzx__vector *vector, unsigned i,
                       jzx_udp_event *event) {
    event->udp = jzx__socket_handle(&udp->socket);
    event->kind = JZX_UDP_DATA;
    event->err = JZX_OK;
    event->os_error = 0;
    event->len = (uint32_t)len_of(vector, i);
    event->size = (uint32_t)size_of(vector, i);
    event->next = 0;
}

void *jzx_udp_data(const jzx_udp_event *event) {
    return event == NULL ? NULL : (void *)(uintptr_t)(event + 1);
}

const jzx_udp_event *jzx_udp_next(const jzx_udp_event *event) {
    if (event == NULL || event->next == 0)
        return NULL;
    return (const void *)((const char *)event + event->next);
}

/* ---- operations ---- */

/* What an operation keeps in its slot. */
struct receive_op {
    struct jzx__socket_op base;
    uint32_t cap; /* of each datagram */
    uint32_t count;
};

_Static_assert(sizeof(struct receive_op) <= JZX__OP_OWN_SIZE, "has its place in the slot");

static enum jzx__step try_op(struct jzx__udp *udp, struct receive_op *own,
                             struct jzx__outcome *outcome) {
    char *data = jzx__op_data(jzx__op_of_own(own));
    const uint32_t stride = (uint32_t)JZX_UDP_VALUE_SIZE(own->cap);
    struct jzx__vector vector;
    vector.count = 0;
    for (uint32_t i = 0; i < own->count; i++) {
        jzx_udp_event *event = (void *)(data + (size_t)i * stride);
        jzx__vector_add_room(&vector, event + 1, own->cap, &event->from);
    }
    int got = jzx__udp_take_in(udp, &vector);
    if (got == -EAGAIN)
        return JZX__STEP_WAIT;
    *outcome = (struct jzx__outcome){.err = JZX_OK};
    if (got < 0) {
        outcome->err = jzx__os_error_status(-got);
        outcome->os_error = -got;
        return JZX__STEP_FAILED;
    }
    for (unsigned i = 0; i < (unsigned)got; i++) {
        jzx_udp_event *event = (void *)(data + (size_t)i * stride);
        jzx__udp_describe(udp, &vector, i, event);
        event->next = i + 1 < (unsigned)got ? stride : 0;
        outcome->len = (size_t)i * stride + sizeof *event + event->len;
    }
    return JZX__STEP_DONE;
}

void jzx__udp_go_on_receiving(struct jzx__udp *udp, struct jzx__worker *me,
                              struct jzx__done *done) {
    struct jzx__outcome outcome;
    if (udp->active_left != 0) {
        jzx__udp_go_on_active(udp, me);
    } else if (udp->receive_op == NULL) {
        (void)jzx__socket_wake_one(&udp->socket.readers, me);
    } else {
        struct receive_op *own = JZX_CONTAINER_OF(udp->receive_op, struct receive_op, base);
        if (try_op(udp, own, &outcome) == JZX__STEP_WAIT)
            return;
        udp->receive_op = NULL;
        jzx__done_add(done, &own->base, outcome.err, outcome.os_error, outcome.len);
    }
}

/* ---- a fiber ---- */

struct fiber_receive {
    jzx_datagram *datagrams;
    size_t count;
    size_t received;
    struct jzx__socket *socket; /* where to wait */
    jzx_err err;
    int os_error;
};

static bool is_valid(const struct fiber_receive *own) {
    if (own->datagrams == NULL || own->count == 0 || own->count > JZX_UDP_BATCH_MAX)
        return false;
    for (size_t i = 0; i < own->count; i++) {
        if (own->datagrams[i].data == NULL || own->datagrams[i].cap == 0)
            return false;
    }
    return true;
}

/* The addresses are received aside: outputs are untouched on failure. */
static enum jzx__step try_fiber(struct jzx__udp *udp, struct fiber_receive *own) {
    struct jzx__vector vector;
    jzx_address from[JZX_UDP_BATCH_MAX];
    vector.count = 0;
    if ((udp->socket.ready & JZX__READY_READ) == 0)
        return JZX__STEP_WAIT;
    for (size_t i = 0; i < own->count; i++)
        jzx__vector_add_room(&vector, own->datagrams[i].data, own->datagrams[i].cap, &from[i]);
    int got = jzx__udp_take_in(udp, &vector);
    if (got == -EAGAIN)
        return JZX__STEP_WAIT;
    if (got < 0) {
        own->err = jzx__os_error_status(-got);
        own->os_error = -got;
        return JZX__STEP_FAILED;
    }
    for (unsigned i = 0; i < (unsigned)got; i++) {
        own->datagrams[i].len = len_of(&vector, i);
        own->datagrams[i].size = size_of(&vector, i);
        own->datagrams[i].address = from[i];
    }
    own->received = (size_t)got;
    own->err = JZX_OK;
    return JZX__STEP_DONE;
}

static JZX_ACROSS_WAIT enum jzx__step step(jzx_context *ctx, jzx_udp handle,
                                           struct fiber_receive *own) {
    struct jzx__own turn;
    struct jzx__done done = {.first = NULL};
    enum jzx__step result = JZX__STEP_FAILED;
    own->err = JZX_ERR_INVALID_ARG;
    own->os_error = 0;
    if (!jzx__own_begin(&turn, ctx))
        return result;
    struct jzx__udp *udp = jzx__udp_acquire(ctx->loop, handle);
    own->err = udp == NULL ? JZX_ERR_CLOSED : JZX_ERR_BUSY;
    if (udp != NULL) {
        own->socket = &udp->socket;
        if (!jzx__udp_is_received(udp))
            result = try_fiber(udp, own);
        jzx__socket_release(&udp->socket, turn.me, &done);
    }
    if (result == JZX__STEP_FAILED && own->os_error != 0)
        turn.turn->os_error = own->os_error;
    jzx__own_end(&turn);
    return result;
}

static jzx_err receive_in_fiber(jzx_context *ctx, const char *call, jzx_udp handle,
                                struct fiber_receive *own, uint64_t deadline_ns) {
    struct jzx__socket_wait wait = {.handle = handle};
    jzx_err err = jzx__fiber_take_turn(ctx, call);
    if (err == JZX_OK && !is_valid(own))
        err = JZX_ERR_INVALID_ARG;
    while (err == JZX_OK) {
        if (step(ctx, handle, own) != JZX__STEP_WAIT)
            return own->err;
        err = jzx__socket_await(ctx, &wait, &own->socket->readers, deadline_ns);
    }
    return err;
}

jzx_err jzx_udp_receive(jzx_context *ctx, jzx_udp udp, jzx_datagram *datagram,
                        uint64_t deadline_ns) {
    struct fiber_receive own = {.datagrams = datagram, .count = 1};
    return receive_in_fiber(ctx, "jzx_udp_receive", udp, &own, deadline_ns);
}

jzx_err jzx_udp_receive_batch(jzx_context *ctx, jzx_udp udp, jzx_datagram *datagrams, size_t count,
                              uint64_t deadline_ns, size_t *received) {
    struct fiber_receive own = {.datagrams = received == NULL ? NULL : datagrams, .count = count};
    jzx_err err = receive_in_fiber(ctx, "jzx_udp_receive_batch", udp, &own, deadline_ns);
    if (err == JZX_OK)
        *received = own.received;
    return err;
}

/* ---- by a message, by a future ---- */

static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__socket_op *own = jzx__op_own(op);
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(own->socket);
    if (own->is_pending) {
        jzx__udp_of(own->socket)->receive_op = NULL;
        jzx__done_add(&done, own, JZX_ERR_CANCELLED, 0, 0);
    }
    jzx__socket_release(own->socket, me, &done);
}

static const struct jzx__op_ops receive_ops = {.cancel = cancel};

/* Under the lock. What cannot begin is the error of the call, what can completes. */
static jzx_err begin(struct jzx__udp *udp, struct receive_op *own, struct jzx__done *done) {
    struct jzx__outcome outcome;
    if (jzx__udp_is_received(udp))
        return JZX_ERR_BUSY;
    if (try_op(udp, own, &outcome) == JZX__STEP_WAIT) {
        own->base.is_pending = true;
        udp->receive_op = &own->base;
    } else {
        jzx__done_add(done, &own->base, outcome.err, outcome.os_error, outcome.len);
    }
    return JZX_OK;
}

static jzx_err start_receive(struct jzx__start *start, jzx_udp handle, size_t cap, size_t count) {
    struct jzx_loop *loop = jzx__start_loop(start);
    if (loop == NULL || cap == 0 || cap > JZX_UDP_SIZE_MAX || count == 0 ||
        count > JZX_UDP_BATCH_MAX)
        return JZX_ERR_INVALID_ARG;
    const struct jzx__start_spec spec = {
        .ops = &receive_ops, .capacity = JZX_UDP_VALUE_SIZE(cap) * count, .has_result = true};
    jzx_err err = jzx__start_open(start, jzx__socket_find(loop, handle), &spec);
    if (err == JZX_OK) {
        struct receive_op *own = jzx__op_own(start->made);
        struct jzx__done done = {.first = NULL};
        own->cap = (uint32_t)cap;
        own->count = (uint32_t)count;
        struct jzx__udp *udp = jzx__udp_acquire(loop, handle);
        err = udp == NULL ? JZX_ERR_CLOSED : begin(udp, own, &done);
        if (udp != NULL)
            jzx__socket_release(&udp->socket, start->me, &done);
    }
    return jzx__start_close(start, err);
}

jzx_err jzx_udp_receive_to(jzx_context *ctx, jzx_udp udp, size_t cap, uint32_t tag, jzx_op *op) {
    return start_receive(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, udp, cap, 1);
}

jzx_err jzx_udp_receive_batch_to(jzx_context *ctx, jzx_udp udp, size_t cap, size_t count,
                                 uint32_t tag, jzx_op *op) {
    return start_receive(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, udp, cap, count);
}

jzx_err jzx_udp_receive_async(jzx_loop *loop, jzx_udp udp, size_t cap, jzx_future **future) {
    return jzx_udp_receive_batch_async(loop, udp, cap, 1, future);
}

jzx_err jzx_udp_receive_batch_async(jzx_loop *loop, jzx_udp udp, size_t cap, size_t count,
                                    jzx_future **future) {
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    return start_receive(&(struct jzx__start){.loop = loop, .future = future}, udp, cap, count);
}
