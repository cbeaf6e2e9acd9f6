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
    bool is_limited; /* L1 */
    bool is_starved;
    struct jzx__message *path; /* of its file, or NULL */
};

_Static_assert(sizeof(struct jzx__listener) <= JZX__SOCKET_SIZE, "fits a record");

/* A stream that was accepted there is closed. Nothing is locked. */
void jzx__listener_vacate(struct jzx_loop *loop, struct jzx__worker *me, jzx_listener handle);

#endif
