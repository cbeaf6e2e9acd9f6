/* SPDX-License-Identifier: MIT */
/* The calls that sockets of all kinds have, by their handles. */
#ifndef JZX_NET_HANDLE_H
#define JZX_NET_HANDLE_H

#include "net/socket.h"

jzx_err jzx__socket_close_handle(jzx_loop *loop, uint64_t handle, enum jzx__socket_kind kind);
jzx_err jzx__socket_give(jzx_context *ctx, uint64_t handle, enum jzx__socket_kind kind,
                         jzx_actor_id to);
jzx_err jzx__socket_address(jzx_loop *loop, uint64_t handle, enum jzx__socket_kind kind,
                            bool of_peer, char *text, size_t size);

#endif
