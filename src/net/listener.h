/* SPDX-License-Identifier: MIT */
/* A listener: a socket (socket.h) that connections come from.
 *
 *   listener/L1  READ is taken out of `ready` while nothing is to be accepted: there is nothing
 *                (EAGAIN), as many streams are open as may be (is_limited), or there are no
 *                descriptors for another one (is_starved). A connection, a stream that is closed
 *                and a timer put it back.
 *   listener/L2  while READ is set, nobody waits: fibers are woken one by one, each that has
 *                accepted wakes the next; then operations are served. */
#ifndef JZX_NET_LISTENER_H
#define JZX_NET_LISTENER_H

#include "net/socket.h"

struct jzx__listener {
    struct jzx__socket socket;
    struct jzx__list accepts; /* operations that wait */
    jzx_stream_opts stream;   /* of accepted streams */
    uint32_t connections;     /* accepted, and not closed yet */
    uint32_t connections_max; /* UINT32_MAX: no limit */
    uint8_t family;
    uint8_t accept_mode; /* jzx_accept_mode */
    bool is_limited;     /* L1 */
    bool is_starved;
    struct jzx__message *file; /* the payload is its struct jzx__unix_file; or NULL */
};

_Static_assert(sizeof(struct jzx__listener) <= JZX__SOCKET_SIZE, "fits a record");

extern const struct jzx__socket_ops jzx__listener_ops; /* accept.c */

static inline struct jzx__listener *jzx__listener_of(struct jzx__socket *socket) {
    return JZX_CONTAINER_OF(socket, struct jzx__listener, socket);
}

#endif
