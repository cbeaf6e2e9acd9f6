/* SPDX-License-Identifier: MIT */
/* A datagram socket: a socket (socket.h) whose reads and writes are whole datagrams.
 *
 *   udp/U1  at most one receives: a fiber at `readers`, receive_op, or the socket is active.
 *   udp/U2  a datagram leaves the system only when its place is there: the caller's buffer, the
 *           data of an operation, or a message of an active socket; and whoever has the place gets
 *           the datagram. So nothing is kept here, and nothing that arrived is lost.
 *   udp/U3  is_out: the last message of a batch is in the owner's mailbox, and the next batch is
 *           read when it is about to be handled. So each socket adds one batch to a mailbox.
 *   udp/U4  while WRITE is set nothing waits to be sent: operations are served first, then fibers
 *           are woken one by one, each that has sent wakes the next.
 *   udp/U5  errors do not stay: the system tells each once. */
#ifndef JZX_NET_UDP_H
#define JZX_NET_UDP_H

#include "net/socket.h"

#include "jzx/udp.h"

struct jzx__udp {
    struct jzx__socket socket;
    uint8_t family;

    /* Receiving. */
    struct jzx__socket_op *receive_op; /* U1 */
    uint64_t received;
    uint64_t truncated;

    /* Active: while active_left is not 0. */
    uint32_t datagram_max;
    uint32_t active_tag;
    uint32_t active_left;
    uint32_t active_number;      /* of the batch that is_out, or was last */
    uint32_t active_batch;       /* datagrams that are made room for */
    struct jzx__message *notice; /* for what ends it; there while it is active */
    bool is_out;                 /* U3 */

    /* Sending. */
    struct jzx__list sends; /* that wait (udp_send.h) */
    uint64_t queued;        /* bytes in there */
    uint32_t queue_max;
    uint64_t sent;
};

_Static_assert(sizeof(struct jzx__udp) <= JZX__SOCKET_SIZE, "fits a record");
_Static_assert(sizeof(struct sockaddr_storage) > sizeof(jzx_address), "not every family fits");

static inline struct jzx__udp *jzx__udp_of(struct jzx__socket *socket) {
    return JZX_CONTAINER_OF(socket, struct jzx__udp, socket);
}

/* The socket of a handle, locked; or NULL: it is closed. */
static inline struct jzx__udp *jzx__udp_acquire(struct jzx_loop *loop, jzx_udp handle) {
    struct jzx__socket *socket = jzx__socket_acquire(loop, handle, JZX__SOCKET_DATAGRAM);
    return socket == NULL ? NULL : jzx__udp_of(socket);
}

#endif
