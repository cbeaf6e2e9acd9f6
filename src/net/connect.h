/* SPDX-License-Identifier: MIT */
/* Streams that are being connected. All under the lock. */
#ifndef JZX_NET_CONNECT_H
#define JZX_NET_CONNECT_H

#include "net/stream.h"

/* The system may have come to an end with it, or it is time to try again. */
void jzx__connect_go_on(struct jzx__stream *stream, struct jzx__worker *me, struct jzx__done *done);

/* It is closed: its operation completes. */
void jzx__connect_end(struct jzx__stream *stream, jzx_err err, struct jzx__done *done);

/* On the home worker: sets the time of the next try. */
void jzx__connect_listed(struct jzx__stream *stream, struct jzx__worker *me);

#endif
