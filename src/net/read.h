/* SPDX-License-Identifier: MIT */
/* Reading from a stream: what stands behind the calls. All under the lock. */
#ifndef JZX_NET_READ_H
#define JZX_NET_READ_H

#include "net/stream.h"

enum jzx__want_kind { JZX__WANT_SOME, JZX__WANT_EXACTLY, JZX__WANT_UNTIL };

/* What is to be read. */
struct jzx__want {
    enum jzx__want_kind kind;
    char delimiter;
    size_t size; /* at most; EXACTLY: as much */
};

/* Reads into the memory at `to`, which has room for want->size. */
enum jzx__step jzx__stream_try_read(struct jzx__stream *stream, struct jzx__worker *me,
                                    const struct jzx__want *want, void *to,
                                    struct jzx__outcome *outcome);

/* A fiber that reads, in the frame of its call. */
struct jzx__read_wait {
    struct jzx__socket_wait base;
    const struct jzx__want *want;
    void *to;
    struct jzx__outcome outcome; /* of the last try, as the next; under the lock */
    enum jzx__step step;
};

/* It can be read from: reads for the fiber that waits, if there is what it wants. */
void jzx__stream_serve(struct jzx__stream *stream, struct jzx__worker *me, struct jzx__done *done);

/* jzx__socket_ops.revoke */
void jzx__stream_revoke(struct jzx__socket *socket, struct jzx__socket_wait *wait,
                        struct jzx__worker *me);

/* Bytes that were read and by nobody yet. */
static inline uint32_t jzx__stream_buffered(const struct jzx__stream *stream) {
    return stream->buffer_end - stream->buffer_begin;
}

/* Takes at most size of them. */
size_t jzx__stream_unbuffer(struct jzx__stream *stream, struct jzx__worker *me, void *to,
                            size_t size);

/* recv(2): more than 0; 0 at the end; -EAGAIN; or an error, which is read_err from then on. */
ssize_t jzx__stream_receive(struct jzx__stream *stream, void *to, size_t size);

/* It can be read from: goes on with read_op. */
void jzx__stream_go_on_reading(struct jzx__stream *stream, struct jzx__worker *me,
                               struct jzx__done *done);

/* The stream has ended: read_op completes. */
void jzx__stream_end_reading(struct jzx__stream *stream, struct jzx__worker *me, jzx_err err,
                             struct jzx__done *done);

/* True if somebody reads (T1). */
static inline bool jzx__stream_is_read(const struct jzx__stream *stream) {
    return stream->read_op != NULL || stream->active_left != 0 ||
           stream->socket.reading.served != NULL ||
           !jzx__list_is_empty(&stream->socket.readers.waiting);
}

#endif
