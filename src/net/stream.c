/* SPDX-License-Identifier: MIT */
/* What a stream is made of, and how the calls find it. */
#include "net/stream.h"

#include "base/sized.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* ---- options ---- */

jzx_err jzx_stream_opts_init(jzx_stream_opts *opts, size_t size) {
    const jzx_stream_opts defaults = JZX_STREAM_OPTS(.queue_max = 0);
    return jzx__init_sized(opts, size, &defaults, sizeof defaults) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

bool jzx__stream_opts_settle(jzx_stream_opts *full, const jzx_stream_opts *opts) {
    if (opts == NULL)
        *full = JZX_STREAM_OPTS(.queue_max = 0);
    else if (!jzx__read_sized(full, sizeof *full, opts))
        return false;
    if (full->queue_max == 0)
        full->queue_max = JZX_DEFAULT_STREAM_QUEUE;
    if (full->queue_high == 0)
        full->queue_high = full->queue_max < 4 ? 1 : full->queue_max / 4;
    if (full->queue_low == 0)
        full->queue_low = full->queue_high / 4;
    return full->queue_low < full->queue_high && full->queue_high <= full->queue_max &&
           full->receive_buffer <= INT32_MAX && full->send_buffer <= INT32_MAX;
}

static int set_int(struct jzx_loop *loop, int fd, int level, int name, int value) {
    return jzx__io_of(loop)->os->setsockopt(fd, level, name, &value, sizeof value);
}

int jzx__stream_configure(struct jzx_loop *loop, int fd, int family, const jzx_stream_opts *opts) {
    bool is_tcp = family == AF_INET || family == AF_INET6;
    int err = 0;
    if (is_tcp && !opts->delay)
        err = set_int(loop, fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (err == 0 && is_tcp && opts->keepalive)
        err = set_int(loop, fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    if (err == 0 && opts->receive_buffer != 0)
        err = set_int(loop, fd, SOL_SOCKET, SO_RCVBUF, (int)opts->receive_buffer);
    if (err == 0 && opts->send_buffer != 0)
        err = set_int(loop, fd, SOL_SOCKET, SO_SNDBUF, (int)opts->send_buffer);
    return err;
}

/* ---- records ---- */

struct jzx__stream *jzx__stream_create(struct jzx_loop *loop, int fd, const jzx_stream_opts *opts) {
    struct jzx__socket *socket = jzx__socket_create(loop, fd, JZX__SOCKET_STREAM, &jzx__stream_ops);
    if (socket == NULL) {
        (void)jzx__io_of(loop)->os->close(fd);
        return NULL;
    }
    struct jzx__stream *stream = jzx__stream_of(socket);
    jzx__list_init(&stream->writes);
    stream->queue_max = opts->queue_max;
    stream->queue_high = opts->queue_high;
    stream->queue_low = opts->queue_low;
    stream->idle_ns = opts->idle_ns;
    jzx__stream_touch(stream);
    return stream;
}

struct jzx__stream *jzx__stream_acquire(struct jzx_loop *loop, jzx_stream handle, jzx_err *err,
                                        int *os_error) {
    struct jzx__socket *socket = jzx__socket_acquire(loop, handle, JZX__SOCKET_STREAM);
    *os_error = 0;
    if (socket == NULL) {
        *err = JZX_ERR_CLOSED;
        return NULL;
    }
    struct jzx__stream *stream = jzx__stream_of(socket);
    if (JZX_LIKELY(socket->err == JZX_OK && !stream->is_connecting))
        return stream;
    *err = stream->is_connecting ? JZX_ERR_INVALID_STATE : (jzx_err)socket->err;
    *os_error = socket->os_error;
    jzx__lock_release(&socket->lock);
    return NULL;
}
