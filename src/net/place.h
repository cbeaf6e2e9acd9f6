/* SPDX-License-Identifier: MIT */
/* Chooses the worker that serves a connection (net/N9). An actor stays where its sockets are
 * registered. So the choice is made before the actor begins, for the first new actor that an
 * accepted stream is given to. */
#ifndef JZX_NET_PLACE_H
#define JZX_NET_PLACE_H

#include "net/socket.h"

/* The counts of a loop. False without memory. */
bool jzx__net_open_loads(struct jzx_loop *loop, struct jzx__net *net);
void jzx__net_close_loads(struct jzx_loop *loop, struct jzx__net *net);

/* All that follow are called under the lock of the socket. */

/* me has accepted the stream, which has its owner. NULL is no worker: the stream is not spread. */
void jzx__socket_note_place(struct jzx__socket *socket, struct jzx__worker *me,
                            jzx_accept_mode mode);

/* The socket is about to be brought to an actor of this worker, which is in no turn. The actor may
 * be another worker's when this returns. */
void jzx__socket_place_owner(struct jzx__socket *socket, struct jzx__worker *me,
                             struct jzx__actor *actor);

/* The socket is registered at that worker. */
void jzx__socket_count(struct jzx__socket *socket, const struct jzx__worker *worker);

/* The socket is closed. */
void jzx__socket_uncount(struct jzx__socket *socket);

#endif
