/* SPDX-License-Identifier: MIT */
/* Which worker serves a connection (net/N9). An actor stays where its sockets are registered, so
 * the choice is made once: for the first new actor that an accepted stream is given to. */
#ifndef JZX_NET_PLACE_H
#define JZX_NET_PLACE_H

#include "net/socket.h"

/* Of a loop. False without memory. */
bool jzx__net_open_loads(struct jzx_loop *loop, struct jzx__net *net);
void jzx__net_close_loads(struct jzx_loop *loop, struct jzx__net *net);

/* All under the lock of the socket. */

/* A stream that was accepted there, and has its owner. me may be NULL: then it is not spread. */
void jzx__socket_note_place(struct jzx__socket *socket, struct jzx__worker *me,
                            jzx_accept_mode mode);

/* It is about to be brought to an actor of this worker, which is not in a turn. That may be another
 * worker's when this returns. */
void jzx__socket_place_owner(struct jzx__socket *socket, struct jzx__worker *me,
                             struct jzx__actor *actor);

/* It is registered there. */
void jzx__socket_count(struct jzx__socket *socket, const struct jzx__worker *worker);

/* It is closed. */
void jzx__socket_uncount(struct jzx__socket *socket);

#endif
