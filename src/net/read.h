/* SPDX-License-Identifier: MIT */
/* Reading from a stream: what stands behind the calls. All under the lock. */
#ifndef JZX_NET_READ_H
#define JZX_NET_READ_H

#include "net/stream.h"

/* How far a try has come. */
enum jzx__step {
    JZX__STEP_DONE,
    JZX__STEP_WAIT,  /* the socket is not ready */
    JZX__STEP_FAILED /* with an error */
};

enum jzx__want_kind { JZX__WANT_SOME, JZX__WANT_EXACTLY, JZX__WANT_UNTIL };

/* What is to be read. */
struct jzx__want {
    enum jzx__want_kind kind;
    char delimiter;
    size_t size; /* at most; EXACTLY: as much */
};

/* How it has ended. */
struct jzx__outcome {
    jzx_err err;
    int os_error;
    size_t len;
};

/* Reads into the memory at `to`, which has room for want->size. */
enum jzx__step jzx__stream_try_read(struct jzx__stream *stream, struct jzx__worker *me,
                                    const struct jzx__want *want, void *to,
                                    struct jzx__outcome *outcome);

/* Bytes that were read and by nobody yet. */
static inline uint32_t jzx__stream_buffered(const struct jzx__stream *stream) {
    return stream->buffer_end - stream->buffer_begin;
}

/* Takes at most size of them. */
size_t jzx__stream_unbuffer(struct jzx__stream *stream, struct jzx__worker *me, void *to,
                            size_t size);

/* recv(2): more than 0; 0 at the end; -EAGAIN; or an error, which is read_err from then on. */
ssize_t jzx__stream_receive(struct jzx__stream *stream, void *to, size_t size);

/* It can be read from: goes on with whoever reads. */
void jzx__stream_go_on_reading(struct jzx__stream *stream, struct jzx__worker *me,
                               struct jzx__done *done);

/* The stream has ended: read_op completes. */
void jzx__stream_end_reading(struct jzx__stream *stream, struct jzx__worker *me, jzx_err err,
                             struct jzx__done *done);

/* True if somebody reads (T1). */
static inline bool jzx__stream_is_read(const struct jzx__stream *stream) {
    return stream->read_op != NULL || stream->active_left != 0 ||
           !jzx__list_is_empty(&stream->socket.readers.waiting);
}

#endif
