/* SPDX-License-Identifier: MIT */
/* Writing to a stream: what stands behind the calls. All under the lock.
 *
 * A write is a record: in the frame of a fiber that has its turn, or in a block of its own in the
 * queue of the stream (stream/T3). */
#ifndef JZX_NET_WRITE_H
#define JZX_NET_WRITE_H

#include "net/stream.h"

enum jzx__write_kind { JZX__WRITE_DATA, JZX__WRITE_FILE, JZX__WRITE_SHUTDOWN };

struct jzx__write {
    struct jzx__link at_queue;
    uint64_t number;            /* T3 */
    struct jzx__socket_op *op;  /* that completes with it, or NULL */
    struct jzx__message *block; /* that it lies in; NULL: in a frame */
    struct jzx__message *moved; /* that has the data, or NULL */
    enum jzx__write_kind kind;
    int fd; /* FILE, as the next */
    off_t offset;
    struct iovec *parts; /* DATA: what is left of them; they are changed */
    uint16_t part_count; /* msg_iovlen is a size_t in glibc and an int in musl */
    size_t left;         /* bytes */
    size_t done;         /* bytes that are out */
    struct iovec one;    /* for parts */
};

/* Goes on with a write that has its turn. FAILED: write_err says why. */
enum jzx__step jzx__write_try(struct jzx__stream *stream, struct jzx__write *write);

/* It can be written to: goes on with whoever writes. */
void jzx__stream_go_on_writing(struct jzx__stream *stream, struct jzx__worker *me,
                               struct jzx__done *done);

/* True if a write waits, or there is something to tell of one. */
static inline bool jzx__stream_is_written(const struct jzx__stream *stream) {
    const struct jzx__socket *socket = &stream->socket;
    return stream->write_err != JZX_OK || !jzx__list_is_empty(&stream->writes) ||
           !jzx__list_is_empty(&socket->writers.waiting) ||
           !jzx__list_is_empty(&socket->line.waiting) || stream->low_note != NULL;
}

/* The stream has ended, or its write_err was set: all writes of the queue complete with err. */
void jzx__stream_end_writing(struct jzx__stream *stream, struct jzx__worker *me, jzx_err err,
                             struct jzx__done *done);

/* The fiber that has the turn ends its write, of which so many bytes are out; all: it was
 * complete. */
void jzx__stream_end_turn(struct jzx__stream *stream, struct jzx__worker *me, size_t out, bool all,
                          struct jzx__done *done);

/* The two of struct jzx__socket_ops. */
bool jzx__stream_may_go(struct jzx__socket *socket, const struct jzx__socket_wait *wait);
void jzx__stream_grant(struct jzx__socket *socket, struct jzx__socket_wait *wait);

/* True if a new write may begin at once. */
bool jzx__stream_is_free_to_write(const struct jzx__stream *stream);

/* Why no write may begin; JZX_OK if one may. */
jzx_err jzx__stream_write_refusal(const struct jzx__stream *stream, int *os_error);

/* Puts a write into the queue, which is in a block of its own. The caller has seen to the bound.
 * False without memory, for the messages to the owner: then nothing has happened. */
bool jzx__stream_enqueue(struct jzx__stream *stream, struct jzx__worker *me,
                         struct jzx__write *write);

/* Takes a write out of the queue, of which nothing is out; else false. */
bool jzx__stream_cancel_write(struct jzx__stream *stream, struct jzx__worker *me,
                              struct jzx__write *write, struct jzx__done *done);

/* Frees a write of the queue, and what it has. */
void jzx__write_destroy(struct jzx__stream *stream, struct jzx__worker *me,
                        struct jzx__write *write, struct jzx__done *done);

#endif
