/* SPDX-License-Identifier: MIT */
/* Addresses of datagrams, and the vectors in which the system takes several datagrams. */
#ifndef JZX_NET_UDP_ADDRESS_H
#define JZX_NET_UDP_ADDRESS_H

#include "jzx/udp.h"

#include <stdbool.h>
#include <sys/socket.h>

struct jzx__vector {
    struct mmsghdr heads[JZX_UDP_BATCH_MAX];
    struct iovec parts[JZX_UDP_BATCH_MAX];
    unsigned count;
};

/* Of the sockaddr in there; 0: none, or no address at all. */
socklen_t jzx__udp_address_size(const jzx_address *address);

/* True for one, and for none. */
bool jzx__udp_address_is_valid(const jzx_address *address);

/* Adds room for one that is to be received: the sender will be in *from. */
void jzx__vector_add_room(struct jzx__vector *vector, void *data, size_t cap, jzx_address *from);

/* Adds one that is to be sent. to may be NULL. */
void jzx__vector_add(struct jzx__vector *vector, const void *data, size_t len,
                     const jzx_address *to);

#endif
