/* SPDX-License-Identifier: MIT */
/* Active streams: what arrives as messages to the owner (stream/T5). All under the lock. */
#ifndef JZX_NET_ACTIVE_H
#define JZX_NET_ACTIVE_H

#include "net/stream.h"

/* It is active, and may have something to read: sends the next message, if none is out. */
void jzx__stream_go_on_active(struct jzx__stream *stream, struct jzx__worker *me);

/* It is active no more; nobody is told. */
void jzx__stream_make_passive(struct jzx__stream *stream, struct jzx__worker *me);

/* The same, with the last message: what ends it, unless it was closed. */
void jzx__stream_end_active(struct jzx__stream *stream, struct jzx__worker *me,
                            jzx_stream_event_kind kind, jzx_err err, int os_error);

#endif
