/* SPDX-License-Identifier: MIT */
/* Active datagram sockets: what arrives as messages to the owner (udp/U3). All under the lock. */
#ifndef JZX_NET_UDP_ACTIVE_H
#define JZX_NET_UDP_ACTIVE_H

#include "net/udp.h"

/* It is active, and may have something to read: sends the next batch, if none is out. */
void jzx__udp_go_on_active(struct jzx__udp *udp, struct jzx__worker *me);

/* It is active no more; nobody is told. */
void jzx__udp_make_passive(struct jzx__udp *udp, struct jzx__worker *me);

#endif
