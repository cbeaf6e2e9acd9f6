/* SPDX-License-Identifier: MIT */
/* Receiving datagrams: what stands behind the calls. All under the lock. */
#ifndef JZX_NET_UDP_RECEIVE_H
#define JZX_NET_UDP_RECEIVE_H

#include "net/udp.h"
#include "net/udp_address.h"

/* recvmmsg(2): how many, at least 1; -EAGAIN: there is none; or another negative errno. msg_len of
 * each is the size of the whole datagram. */
int jzx__udp_take_in(struct jzx__udp *udp, struct jzx__vector *vector);

/* Fills the event of the datagram with that number in the vector, whose data are behind it. */
void jzx__udp_describe(struct jzx__udp *udp, const struct jzx__vector *vector, unsigned i,
                       jzx_udp_event *event);

/* Something has arrived: goes on with whoever receives. */
void jzx__udp_go_on_receiving(struct jzx__udp *udp, struct jzx__worker *me, struct jzx__done *done);

/* True if somebody receives (U1). */
static inline bool jzx__udp_is_received(const struct jzx__udp *udp) {
    return udp->receive_op != NULL || udp->active_left != 0 ||
           !jzx__list_is_empty(&udp->socket.readers.waiting);
}

#endif
