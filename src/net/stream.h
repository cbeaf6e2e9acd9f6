/* SPDX-License-Identifier: MIT */
/* A stream: a socket (socket.h) with a side to read from and a side to write to.
 *
 *   stream/T1  at most one reads: a fiber at `readers`, or one that was served there and has not
 *              taken it (waiter/A12), read_op, or the stream is active.
 *   stream/T2  what was read from the system and by nobody yet is in `buffer`, in order before all
 *              that the system has. There is none while it is empty.
 *   stream/T3  one write goes on at a time: the first of `writes`, or that of the fiber that has
 *              the turn (has_writer). The numbers of all writes that wait, in the queue and in
 *              line, say who is next: the smallest.
 *   stream/T4  read_err and write_err stay once they are set. A write that ended when a part of it
 *              was out sets write_err; the queue ends with it.
 *   stream/T5  is_out: a message with data is in the owner's mailbox, and the next bytes are read
 *              when it is about to be handled. So each stream adds one message to a mailbox. */
#ifndef JZX_NET_STREAM_H
#define JZX_NET_STREAM_H

#include "net/socket.h"

struct jzx__stream {
    struct jzx__socket socket;

    /* Reading. */
    struct jzx__socket_op *read_op; /* T1 */
    struct jzx__message *buffer;    /* T2; its len is the capacity */
    uint32_t buffer_begin;
    uint32_t buffer_end;
    uint64_t received;

    /* Active: while active_left is not 0. */
    uint32_t active_tag;
    uint32_t active_left;
    uint32_t active_number;      /* of the message that is_out, or was last */
    uint32_t active_size;        /* bytes that are made room for */
    struct jzx__message *notice; /* for what ends it; there while it is active */

    /* Writing. */
    struct jzx__list writes; /* T3 */
    uint64_t queued;         /* bytes in there */
    uint64_t next_number;
    uint64_t sent;
    union {
        struct jzx__message *low_note; /* there from HIGH to LOW */
        struct jzx__message *retry;    /* of one that is being connected: the address, if the
                                        * backlog of the other side is full; NULL */
    };
    uint32_t queue_max;
    uint32_t queue_high;
    uint32_t queue_low;

    bool is_out;      /* T5 */
    bool has_writer;  /* T3 */
    bool is_shutting; /* a shutdown was begun */
    bool is_connecting;

    /* While it is being connected; see connect.h. */
    struct jzx__socket_op *connect_op; /* that completes when it is; NULL: a fiber waits */

    uint64_t idle_ns;    /* 0: never */
    uint64_t touched_ns; /* when something was read or written last; with idle_ns */
    jzx_listener from;   /* 0: it was not accepted, or has told its listener that it is closed */
    int16_t read_err;    /* T4 */
    int16_t write_err;
    uint16_t read_os_error;
    uint16_t write_os_error;
};

_Static_assert(sizeof(struct jzx__stream) <= JZX__SOCKET_SIZE, "fits a record");

static inline struct jzx__stream *jzx__stream_of(struct jzx__socket *socket) {
    return JZX_CONTAINER_OF(socket, struct jzx__stream, socket);
}

/* How far a try has come. */
enum jzx__step {
    JZX__STEP_DONE,
    JZX__STEP_WAIT,  /* the socket is not ready */
    JZX__STEP_FAILED /* with an error */
};

/* How it has ended. */
struct jzx__outcome {
    jzx_err err;
    int os_error;
    size_t len;
};

extern const struct jzx__socket_ops jzx__stream_ops; /* life.c */

/* Options with their defaults filled in. False if they are wrong; opts may be NULL. */
bool jzx__stream_opts_settle(jzx_stream_opts *full, const jzx_stream_opts *opts);

/* Makes a stream of a connected socket, or one that is being connected; the descriptor is its own,
 * also on an error. Nobody knows it yet. NULL without memory. Any thread, in a visit. */
struct jzx__stream *jzx__stream_create(struct jzx_loop *loop, int fd, const jzx_stream_opts *opts);

/* Before it is connected: the options of the system. 0 or the negative errno. */
int jzx__stream_configure(struct jzx_loop *loop, int fd, int family, const jzx_stream_opts *opts);

/* What the calls have in common: locks it. NULL, and *err: it is closed, or has failed. */
struct jzx__stream *jzx__stream_acquire(struct jzx_loop *loop, jzx_stream handle, jzx_err *err,
                                        int *os_error);

/* Something was read or written. */
static inline void jzx__stream_touch(struct jzx__stream *stream) {
    if (JZX_UNLIKELY(stream->idle_ns != 0))
        stream->touched_ns = jzx__clock_now(&stream->socket.loop->sched.clock);
}

#endif
