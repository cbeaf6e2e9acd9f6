/* SPDX-License-Identifier: MIT */
/* The messages of a batch are made before it is read (udp/U2), as many as the last batch had:
 * doubled when that was filled, halved when a quarter would have done. There is room for one more
 * than is expected, so that one system call also tells that the socket is empty. */
#include "net/udp_active.h"

#include "actor/mailbox.h"
#include "net/udp_receive.h"

#include <errno.h>

#define BATCH_FIRST 2u

static jzx_udp_event *event_of(struct jzx__message *message) {
    return (void *)message->payload;
}

void jzx__udp_make_passive(struct jzx__udp *udp, struct jzx__worker *me) {
    if (udp->notice != NULL)
        jzx__message_destroy(udp->socket.loop, me, udp->notice);
    udp->notice = NULL;
    udp->active_left = 0;
}

/* It is active no more, and the owner hears why. */
static void end_active(struct jzx__udp *udp, struct jzx__worker *me, jzx_udp_event_kind kind,
                       jzx_err err, int os_error) {
    struct jzx__message *notice = udp->notice;
    udp->notice = NULL;
    udp->active_left = 0;
    notice->tag = udp->active_tag;
    *event_of(notice) = (jzx_udp_event){.udp = jzx__socket_handle(&udp->socket),
                                        .kind = (uint32_t)kind,
                                        .err = err,
                                        .os_error = os_error};
    (void)jzx__socket_tell(&udp->socket, me, notice, JZX__LANE_RUNTIME);
}

/* ---- one batch ---- */

struct batch {
    struct jzx__message *messages[JZX_UDP_BATCH_MAX];
    struct jzx__vector vector; /* has their count */
};

/* As many as there is memory for. */
static void make_batch(struct jzx__udp *udp, struct jzx__worker *me, struct batch *batch) {
    uint32_t count = udp->active_left < udp->active_batch ? udp->active_left : udp->active_batch;
    batch->vector.count = 0;
    while (batch->vector.count < count) {
        struct jzx__message *message =
            jzx__message_create(udp->socket.loop, me, sizeof(jzx_udp_event) + udp->datagram_max);
        if (message == NULL)
            return;
        batch->messages[batch->vector.count] = message;
        jzx__vector_add_room(&batch->vector, event_of(message) + 1, udp->datagram_max,
                             &event_of(message)->from);
    }
}

static void drop_from(struct jzx__udp *udp, struct jzx__worker *me, struct batch *batch,
                      unsigned first) {
    for (unsigned i = first; i < batch->vector.count; i++)
        jzx__message_destroy(udp->socket.loop, me, batch->messages[i]);
}

static void adapt(struct jzx__udp *udp, unsigned got) {
    if (got >= udp->active_batch && udp->active_batch < JZX_UDP_BATCH_MAX)
        udp->active_batch *= 2;
    else if (got < udp->active_batch / 4 && udp->active_batch > BATCH_FIRST)
        udp->active_batch /= 2;
}

/* The next batch waits for this one: U3. */
static void tell_last(struct jzx__udp *udp, struct jzx__worker *me, struct jzx__message *message) {
    event_of(message)->next = ++udp->active_number;
    message->tag = udp->active_tag;
    udp->is_out = jzx__socket_tell(&udp->socket, me, message, JZX__LANE_DATAGRAM);
}

static void tell_batch(struct jzx__udp *udp, struct jzx__worker *me, struct batch *batch,
                       unsigned got) {
    for (unsigned i = 0; i < got; i++) {
        struct jzx__message *message = batch->messages[i];
        jzx__udp_describe(udp, &batch->vector, i, event_of(message));
        message->tag = udp->active_tag;
        if (i + 1 == got)
            tell_last(udp, me, message);
        else
            (void)jzx__socket_tell(&udp->socket, me, message, JZX__LANE_RUNTIME);
    }
    if (udp->active_left != JZX_UDP_ALWAYS)
        udp->active_left -= got;
    if (udp->active_left == 0)
        end_active(udp, me, JZX_UDP_PASSIVE, JZX_OK, 0);
}

/* About a datagram that was sent, not about the socket. */
static bool is_of_network(int error) {
    jzx_err err = jzx__os_error_status(error);
    return err == JZX_ERR_REFUSED || err == JZX_ERR_UNREACHABLE || error == EHOSTDOWN ||
           error == EPROTO || error == ENOPROTOOPT;
}

static void tell_error(struct jzx__udp *udp, struct jzx__worker *me, struct jzx__message *message,
                       int error) {
    jzx_udp_event *event = event_of(message);
    *event = (jzx_udp_event){.udp = jzx__socket_handle(&udp->socket),
                             .kind = JZX_UDP_ERROR,
                             .err = jzx__os_error_status(error),
                             .os_error = error};
    tell_last(udp, me, message);
}

void jzx__udp_go_on_active(struct jzx__udp *udp, struct jzx__worker *me) {
    struct batch batch;
    if (udp->active_left == 0 || udp->is_out || (udp->socket.ready & JZX__READY_READ) == 0)
        return;
    make_batch(udp, me, &batch);
    if (batch.vector.count == 0) {
        end_active(udp, me, JZX_UDP_PASSIVE, JZX_ERR_NO_MEMORY, 0);
        return;
    }
    int got = jzx__udp_take_in(udp, &batch.vector);
    bool has_error = got < 0 && is_of_network(-got);
    drop_from(udp, me, &batch, got > 0 ? (unsigned)got : has_error);
    if (got > 0) {
        adapt(udp, (unsigned)got);
        tell_batch(udp, me, &batch, (unsigned)got);
    } else if (has_error) {
        tell_error(udp, me, batch.messages[0], -got);
    } else if (got != -EAGAIN) {
        end_active(udp, me, JZX_UDP_ERROR, jzx__os_error_status(-got), -got);
    }
}

/* ---- in the mailbox ---- */

/* It is about to be handled: from here on it is a message as any, and the next batch is read. */
static enum jzx__look begin(struct jzx__worker *me, const struct jzx__spot *at) {
    jzx_udp_event *event = event_of(jzx__message_of(at->node));
    struct jzx__done done = {.first = NULL};
    uint32_t number = event->next;
    event->next = 0;
    jzx__mailbox_looked(at->actor);
    at->node->lane = JZX__LANE_RUNTIME;
    struct jzx__udp *udp = jzx__udp_acquire(jzx__loop_of(me), event->udp);
    if (udp == NULL)
        return JZX__LOOK_HANDLE;
    if (udp->is_out && udp->active_number == number) {
        udp->is_out = false;
        jzx__udp_go_on_active(udp, me);
    }
    jzx__socket_release(&udp->socket, me, &done);
    return JZX__LOOK_HANDLE;
}

const struct jzx__lane_ops jzx__lane_datagram = {.begin = begin};

/* ---- the call ---- */

/* Under the lock. */
static jzx_err activate(struct jzx__udp *udp, struct jzx__worker *me, uint32_t tag,
                        uint32_t count) {
    if (udp->active_left == 0 && jzx__udp_is_received(udp))
        return JZX_ERR_BUSY;
    if (count == 0) {
        jzx__udp_make_passive(udp, me);
        return JZX_OK;
    }
    if (udp->notice == NULL) {
        udp->notice = jzx__message_create(udp->socket.loop, me, sizeof(jzx_udp_event));
        if (udp->notice == NULL)
            return JZX_ERR_NO_MEMORY;
    }
    if (udp->active_batch == 0)
        udp->active_batch = BATCH_FIRST;
    uint32_t room = JZX_UDP_ALWAYS - udp->active_left;
    udp->active_left += count < room ? count : room;
    udp->active_tag = tag;
    jzx__udp_go_on_active(udp, me);
    return JZX_OK;
}

jzx_err jzx_udp_active(jzx_context *ctx, jzx_udp handle, uint32_t tag, uint32_t count) {
    struct jzx__own own;
    struct jzx__done done = {.first = NULL};
    if (tag >= JZX_TAG_RESERVED || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    struct jzx__udp *udp = jzx__udp_acquire(ctx->loop, handle);
    jzx_err err = JZX_ERR_CLOSED;
    if (udp != NULL) {
        err =
            udp->socket.owner != ctx->self ? JZX_ERR_NOT_OWNER : activate(udp, own.me, tag, count);
        jzx__socket_release(&udp->socket, own.me, &done);
    }
    jzx__own_end(&own);
    return err;
}
