/* SPDX-License-Identifier: MIT */
/* Sending datagrams: what stands behind the calls. All under the lock. */
#ifndef JZX_NET_UDP_SEND_H
#define JZX_NET_UDP_SEND_H

#include "net/udp.h"

/* There is room: goes on with what waits to be sent (udp/U4). */
void jzx__udp_go_on_sending(struct jzx__udp *udp, struct jzx__worker *me, struct jzx__done *done);

/* It is closed: all that waits completes. */
void jzx__udp_end_sending(struct jzx__udp *udp, struct jzx__worker *me, jzx_err err,
                          struct jzx__done *done);

#endif
