/* SPDX-License-Identifier: MIT */
#include "net/udp_send.h"

#include "net/read.h"
#include "net/start.h"
#include "net/udp_address.h"

#include <errno.h>
#include <string.h>

/* ---- to the system ---- */

/* Datagrams that are to be sent, in order. */
struct load {
    const jzx_datagram *datagrams;
    uint32_t count;
    uint32_t done; /* are out */
};

/* Sends as many as there is room for. FAILED: *error is the errno. */
static enum jzx__step transmit(struct jzx__udp *udp, struct load *load, int *error) {
    struct jzx__socket *socket = &udp->socket;
    while (load->done < load->count) {
        struct jzx__vector vector;
        vector.count = 0;
        if ((socket->ready & JZX__READY_WRITE) == 0)
            return JZX__STEP_WAIT;
        for (uint32_t i = load->done; i < load->count; i++)
            jzx__vector_add(&vector, load->datagrams[i].data, load->datagrams[i].len,
                            &load->datagrams[i].address);
        int sent =
            jzx__socket_os(socket)->sendmmsg(jzx__socket_fd(socket), vector.heads, vector.count, 0);
        if (sent == -EINTR)
            continue;
        if (sent == -EAGAIN) {
            socket->ready &= (uint8_t)~JZX__READY_WRITE;
            return JZX__STEP_WAIT;
        }
        if (sent < 0) {
            *error = -sent;
            return JZX__STEP_FAILED;
        }
        load->done += (uint32_t)sent;
        udp->sent += (uint64_t)sent;
    }
    return JZX__STEP_DONE;
}

static bool is_valid(const jzx_datagram *datagrams, size_t count) {
    if (datagrams == NULL || count == 0 || count > JZX_UDP_BATCH_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        if ((datagrams[i].data == NULL && datagrams[i].len != 0) ||
            datagrams[i].len > JZX_MSG_LEN_MAX || !jzx__udp_address_is_valid(&datagrams[i].address))
            return false;
    }
    return true;
}

/* One datagram as a batch. */
static jzx_datagram one(const void *buf, size_t len, const jzx_address *to) {
    jzx_datagram datagram = {.data = (void *)(uintptr_t)buf, .len = len};
    if (to != NULL)
        datagram.address = *to;
    return datagram;
}

/* ---- the queue ---- */

/* What waits, in a block of its own, followed by the datagrams and their data. */
struct send {
    struct jzx__link at_queue;
    struct jzx__socket_op *op;
    struct jzx__message *block;
    struct load load;
    size_t size;   /* bytes of data */
    bool is_begun; /* others of its batch were out when it was made */
};

/* What an operation keeps in its slot. */
struct send_op {
    struct jzx__socket_op base;
    struct send *send; /* while it is pending */
};

_Static_assert(sizeof(struct send_op) <= JZX__OP_OWN_SIZE, "has its place in the slot");
_Static_assert(sizeof(struct send) % _Alignof(jzx_datagram) == 0, "datagrams follow it");

static size_t size_of(const struct load *load) {
    size_t size = 0;
    for (uint32_t i = load->done; i < load->count; i++)
        size += load->datagrams[i].len;
    return size;
}

/* Leaves the queue. */
static void complete(struct jzx__udp *udp, struct jzx__worker *me, struct send *send, jzx_err err,
                     int error, struct jzx__done *done) {
    jzx__list_remove(&send->at_queue);
    udp->queued -= send->size;
    jzx__done_add(done, send->op, err, error, 0);
    jzx__message_destroy(udp->socket.loop, me, send->block);
}

static struct send *first_of(const struct jzx__udp *udp) {
    return jzx__list_is_empty(&udp->sends)
               ? NULL
               : JZX_CONTAINER_OF(udp->sends.ring.next, struct send, at_queue);
}

void jzx__udp_go_on_sending(struct jzx__udp *udp, struct jzx__worker *me, struct jzx__done *done) {
    struct send *send;
    while ((send = first_of(udp)) != NULL) {
        int error = 0;
        enum jzx__step step = transmit(udp, &send->load, &error);
        if (step == JZX__STEP_WAIT)
            return;
        complete(udp, me, send, step == JZX__STEP_DONE ? JZX_OK : jzx__os_error_status(error),
                 error, done);
    }
    if (udp->socket.ready & JZX__READY_WRITE)
        (void)jzx__socket_wake_one(&udp->socket.writers, me);
}

void jzx__udp_end_sending(struct jzx__udp *udp, struct jzx__worker *me, jzx_err err,
                          struct jzx__done *done) {
    struct send *send;
    while ((send = first_of(udp)) != NULL)
        complete(udp, me, send, err, 0, done);
}

/* A copy of what is left, which waits. False without memory. */
static bool enqueue(struct jzx__udp *udp, struct jzx__worker *me, struct send_op *own,
                    const struct load *load) {
    uint32_t count = load->count - load->done;
    const size_t head = sizeof(struct send) + count * sizeof(jzx_datagram);
    size_t size = size_of(load);
    struct jzx__message *block = size > JZX_MSG_LEN_MAX - head
                                     ? NULL
                                     : jzx__message_create(udp->socket.loop, me, head + size);
    if (block == NULL)
        return false;
    struct send *send = (void *)block->payload;
    jzx_datagram *copies = (void *)(send + 1);
    char *data = (char *)(copies + count);
    for (uint32_t i = 0; i < count; i++) {
        copies[i] = load->datagrams[load->done + i];
        if (copies[i].len != 0)
            memcpy(data, copies[i].data, copies[i].len);
        copies[i].data = data;
        data += copies[i].len;
    }
    *send = (struct send){.op = &own->base,
                          .block = block,
                          .load = {.datagrams = copies, .count = count},
                          .size = size,
                          .is_begun = load->done != 0};
    jzx__list_push_back(&udp->sends, &send->at_queue);
    udp->queued += size;
    own->send = send;
    own->base.is_pending = true;
    return true;
}

/* ---- a fiber, and without waiting ---- */

struct fiber_send {
    struct load load;
    struct jzx__socket *socket; /* where to wait */
    jzx_err err;
    int os_error;
};

static JZX_ACROSS_WAIT enum jzx__step step(jzx_context *ctx, jzx_udp handle,
                                           struct fiber_send *own) {
    struct jzx__own turn;
    struct jzx__done done = {.first = NULL};
    enum jzx__step result = JZX__STEP_FAILED;
    own->err = JZX_ERR_INVALID_ARG;
    own->os_error = 0;
    if (!jzx__own_begin(&turn, ctx))
        return result;
    own->err = JZX_ERR_CLOSED;
    struct jzx__udp *udp = jzx__udp_acquire(ctx->loop, handle);
    if (udp != NULL) {
        own->socket = &udp->socket;
        result = transmit(udp, &own->load, &own->os_error);
        if (result != JZX__STEP_WAIT)
            jzx__udp_go_on_sending(udp, turn.me, &done); /* U4 */
        jzx__socket_release(&udp->socket, turn.me, &done);
        own->err = result == JZX__STEP_DONE ? JZX_OK : jzx__os_error_status(own->os_error);
    }
    if (result == JZX__STEP_FAILED && own->os_error != 0)
        turn.turn->os_error = own->os_error;
    jzx__own_end(&turn);
    return result;
}

static jzx_err send_in_fiber(jzx_context *ctx, const char *call, jzx_udp handle,
                             struct fiber_send *own, uint64_t deadline_ns) {
    struct jzx__socket_wait wait = {.handle = handle};
    jzx_err err = jzx__fiber_take_turn(ctx, call);
    if (err == JZX_OK && !is_valid(own->load.datagrams, own->load.count))
        err = JZX_ERR_INVALID_ARG;
    while (err == JZX_OK) {
        if (step(ctx, handle, own) != JZX__STEP_WAIT)
            return own->err;
        err = jzx__socket_await(ctx, &wait, &own->socket->writers, deadline_ns);
    }
    return err;
}

/* More than a batch is as wrong as none. */
static struct fiber_send load_of(const jzx_datagram *datagrams, size_t count) {
    return (struct fiber_send){
        .load = {.datagrams = datagrams, .count = count > JZX_UDP_BATCH_MAX ? 0 : (uint32_t)count}};
}

jzx_err jzx_udp_send(jzx_context *ctx, jzx_udp udp, const void *buf, size_t len,
                     const jzx_address *to, uint64_t deadline_ns) {
    const jzx_datagram datagram = one(buf, len, to);
    struct fiber_send own = load_of(&datagram, 1);
    return send_in_fiber(ctx, "jzx_udp_send", udp, &own, deadline_ns);
}

jzx_err jzx_udp_send_batch(jzx_context *ctx, jzx_udp udp, const jzx_datagram *datagrams,
                           size_t count, uint64_t deadline_ns, size_t *sent) {
    struct fiber_send own = load_of(datagrams, count);
    jzx_err err = send_in_fiber(ctx, "jzx_udp_send_batch", udp, &own, deadline_ns);
    if (sent != NULL)
        *sent = own.load.done;
    return err;
}

jzx_err jzx_udp_try_send_batch(jzx_context *ctx, jzx_udp udp, const jzx_datagram *datagrams,
                               size_t count, size_t *sent) {
    struct fiber_send own = load_of(datagrams, count);
    if (!is_valid(datagrams, count))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = step(ctx, udp, &own) == JZX__STEP_WAIT ? JZX_ERR_FULL : own.err;
    if (sent != NULL)
        *sent = own.load.done;
    return err;
}

jzx_err jzx_udp_try_send(jzx_context *ctx, jzx_udp udp, const void *buf, size_t len,
                         const jzx_address *to) {
    const jzx_datagram datagram = one(buf, len, to);
    return jzx_udp_try_send_batch(ctx, udp, &datagram, 1, NULL);
}

/* ---- by a message, by a future ---- */

static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct send_op *own = jzx__op_own(op);
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(own->base.socket);
    if (own->base.is_pending && own->send->load.done == 0 && !own->send->is_begun)
        complete(jzx__udp_of(own->base.socket), me, own->send, JZX_ERR_CANCELLED, 0, &done);
    jzx__socket_release(own->base.socket, me, &done);
}

static const struct jzx__op_ops send_ops = {.cancel = cancel};

/* Under the lock. What cannot begin is the error of the call, what can completes. */
static jzx_err begin(struct jzx__udp *udp, struct jzx__worker *me, struct send_op *own,
                     struct load *load, struct jzx__done *done) {
    int error = 0;
    bool is_first = first_of(udp) == NULL;
    if (!is_first && udp->queued + size_of(load) > udp->queue_max)
        return JZX_ERR_FULL;
    enum jzx__step step = is_first ? transmit(udp, load, &error) : JZX__STEP_WAIT;
    if (step == JZX__STEP_WAIT)
        return enqueue(udp, me, own, load) ? JZX_OK : JZX_ERR_NO_MEMORY;
    jzx__done_add(done, &own->base, step == JZX__STEP_DONE ? JZX_OK : jzx__os_error_status(error),
                  error, 0);
    return JZX_OK;
}

static jzx_err start_send(struct jzx__start *start, jzx_udp handle, const jzx_datagram *datagrams,
                          size_t count) {
    struct jzx_loop *loop = jzx__start_loop(start);
    const struct jzx__start_spec spec = {.ops = &send_ops};
    if (loop == NULL || !is_valid(datagrams, count))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__start_open(start, jzx__socket_find(loop, handle), &spec);
    if (err == JZX_OK) {
        struct load load = {.datagrams = datagrams, .count = (uint32_t)count};
        struct jzx__done done = {.first = NULL};
        struct jzx__udp *udp = jzx__udp_acquire(loop, handle);
        err = udp == NULL ? JZX_ERR_CLOSED
                          : begin(udp, start->me, jzx__op_own(start->made), &load, &done);
        if (udp != NULL)
            jzx__socket_release(&udp->socket, start->me, &done);
    }
    return jzx__start_close(start, err);
}

jzx_err jzx_udp_send_batch_to(jzx_context *ctx, jzx_udp udp, const jzx_datagram *datagrams,
                              size_t count, uint32_t tag, jzx_op *op) {
    return start_send(&(struct jzx__start){.ctx = ctx, .tag = tag, .op = op}, udp, datagrams,
                      count);
}

jzx_err jzx_udp_send_to(jzx_context *ctx, jzx_udp udp, const void *buf, size_t len,
                        const jzx_address *to, uint32_t tag, jzx_op *op) {
    const jzx_datagram datagram = one(buf, len, to);
    return jzx_udp_send_batch_to(ctx, udp, &datagram, 1, tag, op);
}

jzx_err jzx_udp_send_batch_async(jzx_loop *loop, jzx_udp udp, const jzx_datagram *datagrams,
                                 size_t count, jzx_future **future) {
    if (future == NULL)
        return JZX_ERR_INVALID_ARG;
    return start_send(&(struct jzx__start){.loop = loop, .future = future}, udp, datagrams, count);
}

jzx_err jzx_udp_send_async(jzx_loop *loop, jzx_udp udp, const void *buf, size_t len,
                           const jzx_address *to, jzx_future **future) {
    const jzx_datagram datagram = one(buf, len, to);
    return jzx_udp_send_batch_async(loop, udp, &datagram, 1, future);
}
