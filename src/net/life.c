/* SPDX-License-Identifier: MIT */
/* The life of a stream as a socket, and what can be asked of it and set. */
#include "base/sized.h"
#include "net/active.h"
#include "net/connect.h"
#include "net/handle.h"
#include "net/read.h"
#include "net/write.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

/* ---- as a socket ---- */

/* Goes on with whoever reads (stream/T1). */
static void read_on(struct jzx__stream *stream, struct jzx__worker *me, struct jzx__done *done) {
    if (stream->read_op != NULL)
        jzx__stream_go_on_reading(stream, me, done);
    else if (stream->active_left != 0)
        jzx__stream_go_on_active(stream, me);
    else
        jzx__stream_serve(stream, me, done);
}

static void on_ready(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__stream *stream = jzx__stream_of(socket);
    if (JZX_UNLIKELY(stream->is_connecting)) {
        jzx__connect_go_on(stream, me, done);
        return;
    }
    if (socket->ready & JZX__READY_READ)
        read_on(stream, me, done);
    if ((socket->ready & JZX__READY_WRITE) != 0 && jzx__stream_is_written(stream))
        jzx__stream_go_on_writing(stream, me, done);
}

static void on_end(struct jzx__socket *socket, struct jzx__worker *me, jzx_err err,
                   struct jzx__done *done) {
    struct jzx__stream *stream = jzx__stream_of(socket);
    stream->read_err = stream->write_err = (int16_t)err;
    stream->read_os_error = stream->write_os_error = socket->os_error;
    jzx__connect_end(stream, err, done);
    jzx__stream_end_reading(stream, me, err, done);
    jzx__stream_end_writing(stream, me, err, done);
    if (socket->flags & JZX__SOCKET_CLOSED)
        jzx__stream_make_passive(stream, me);
    else
        jzx__stream_end_active(stream, me, JZX_STREAM_ERROR, err, socket->os_error);
    done->vacated = stream->from;
    stream->from = 0;
}

static void on_listed(struct jzx__socket *socket, struct jzx__worker *me) {
    struct jzx__stream *stream = jzx__stream_of(socket);
    if (stream->is_connecting)
        jzx__connect_listed(stream, me);
    else if (stream->idle_ns != 0)
        (void)jzx__socket_set_timer(socket, me, stream->touched_ns + stream->idle_ns);
}

static void on_given(struct jzx__socket *socket, struct jzx__worker *me) {
    struct jzx__stream *stream = jzx__stream_of(socket);
    jzx__stream_make_passive(stream, me);
    stream->is_out = false;
}

/* Nothing is set anew at each byte: the timer looks when it would be time, and waits on. */
static void on_expire(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__stream *stream = jzx__stream_of(socket);
    if (stream->is_connecting) {
        jzx__connect_go_on(stream, me, done);
        return;
    }
    uint64_t due_ns = stream->touched_ns + stream->idle_ns;
    if (jzx__clock_now(&socket->loop->sched.clock) >= due_ns)
        jzx__socket_fail(socket, me, JZX_ERR_TIMEOUT, ETIMEDOUT, done);
    else
        (void)jzx__socket_set_timer(socket, me, due_ns);
}

static void on_abandon(struct jzx__socket *socket, struct jzx__socket_wait *wait,
                       struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__stream *stream = jzx__stream_of(socket);
    if (wait->is_shutdown)
        stream->is_shutting = false;
    if (wait->has_turn)
        jzx__stream_end_turn(stream, me, wait->done, false, done);
}

const struct jzx__socket_ops jzx__stream_ops = {.ready = on_ready,
                                                .end = on_end,
                                                .listed = on_listed,
                                                .given = on_given,
                                                .expire = on_expire,
                                                .may_go = jzx__stream_may_go,
                                                .grant = jzx__stream_grant,
                                                .revoke = jzx__stream_revoke,
                                                .abandon = on_abandon};

/* ---- its life ---- */

jzx_err jzx_stream_close(jzx_loop *loop, jzx_stream handle) {
    return jzx__socket_close_handle(loop, handle, JZX__SOCKET_STREAM);
}

jzx_err jzx_stream_give(jzx_context *ctx, jzx_stream handle, jzx_actor_id to) {
    return jzx__socket_give(ctx, handle, JZX__SOCKET_STREAM, to);
}

static void describe(struct jzx__stream *stream, jzx_stream_info *info) {
    *info = (jzx_stream_info){.owner = stream->socket.owner,
                              .fd = jzx__socket_fd(&stream->socket),
                              .is_active = stream->active_left != 0,
                              .is_reading = stream->active_left == 0 && jzx__stream_is_read(stream),
                              .received = stream->received,
                              .sent = stream->sent,
                              .queued = stream->queued,
                              .buffered = jzx__stream_buffered(stream)};
}

jzx_err jzx_stream_info_get(jzx_loop *loop, jzx_stream handle, jzx_stream_info *info) {
    struct jzx__visit visit;
    jzx_stream_info now;
    if (loop == NULL || !jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    (void)jzx__loop_visit(loop, &visit);
    struct jzx__socket *socket = jzx__socket_acquire(loop, handle, JZX__SOCKET_STREAM);
    if (socket != NULL) {
        describe(jzx__stream_of(socket), &now);
        jzx__lock_release(&socket->lock);
    }
    jzx__visit_end(&visit);
    if (socket == NULL)
        return JZX_ERR_CLOSED;
    jzx__write_sized(info, &now);
    return JZX_OK;
}

jzx_err jzx_stream_peer(jzx_loop *loop, jzx_stream handle, char *text, size_t size) {
    return jzx__socket_address(loop, handle, JZX__SOCKET_STREAM, true, text, size);
}

jzx_err jzx_stream_local(jzx_loop *loop, jzx_stream handle, char *text, size_t size) {
    return jzx__socket_address(loop, handle, JZX__SOCKET_STREAM, false, text, size);
}

/* ---- settings ---- */

struct setting {
    int level;
    int name;
    const void *value;
    socklen_t size;
};

static jzx_err set_all(jzx_loop *loop, jzx_stream handle, const struct setting *settings,
                       size_t count) {
    struct jzx__visit visit;
    jzx_err err;
    int os_error;
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    (void)jzx__loop_visit(loop, &visit);
    struct jzx__stream *stream = jzx__stream_acquire(loop, handle, &err, &os_error);
    if (stream != NULL) {
        int failed = 0;
        for (size_t i = 0; i < count && failed == 0; i++)
            failed = jzx__io_of(loop)->os->setsockopt(jzx__socket_fd(&stream->socket),
                                                      settings[i].level, settings[i].name,
                                                      settings[i].value, settings[i].size);
        err = failed == 0 ? JZX_OK : jzx__os_error_status(-failed);
        jzx__lock_release(&stream->socket.lock);
    }
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_stream_set_nodelay(jzx_loop *loop, jzx_stream stream, bool on) {
    const int value = on;
    const struct setting setting = {IPPROTO_TCP, TCP_NODELAY, &value, sizeof value};
    return set_all(loop, stream, &setting, 1);
}

/* In whole seconds, rounded up. */
static int seconds_of(uint64_t ns) {
    uint64_t seconds = ns / JZX_SECOND(1) + (ns % JZX_SECOND(1) != 0);
    return seconds > INT16_MAX ? INT16_MAX : (int)seconds;
}

jzx_err jzx_stream_set_keepalive(jzx_loop *loop, jzx_stream stream, uint64_t idle_ns,
                                 uint64_t interval_ns, uint32_t count) {
    const int on = idle_ns != JZX_NEVER;
    const int idle = seconds_of(idle_ns);
    const int interval = seconds_of(interval_ns);
    const int probes = count > INT8_MAX ? INT8_MAX : (int)count;
    struct setting settings[4] = {{SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on}};
    size_t number = 1;
    if (on && idle != 0)
        settings[number++] = (struct setting){IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle};
    if (on && interval != 0)
        settings[number++] =
            (struct setting){IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval};
    if (on && probes != 0)
        settings[number++] = (struct setting){IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes};
    return set_all(loop, stream, settings, number);
}

jzx_err jzx_stream_set_linger(jzx_loop *loop, jzx_stream stream, int seconds) {
    const struct linger linger = {.l_onoff = seconds >= 0, .l_linger = seconds < 0 ? 0 : seconds};
    const struct setting setting = {SOL_SOCKET, SO_LINGER, &linger, sizeof linger};
    return set_all(loop, stream, &setting, 1);
}
