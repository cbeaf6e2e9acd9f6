/* SPDX-License-Identifier: MIT */
/* The life of a datagram socket. */
#include "net/udp.h"

#include "base/sized.h"
#include "net/address.h"
#include "net/handle.h"
#include "net/udp_active.h"
#include "net/udp_receive.h"
#include "net/udp_send.h"

/* ---- as a socket ---- */

static void on_ready(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__udp *udp = jzx__udp_of(socket);
    if (socket->ready & JZX__READY_READ)
        jzx__udp_go_on_receiving(udp, me, done);
    if (socket->ready & JZX__READY_WRITE)
        jzx__udp_go_on_sending(udp, me, done);
}

static void on_end(struct jzx__socket *socket, struct jzx__worker *me, jzx_err err,
                   struct jzx__done *done) {
    struct jzx__udp *udp = jzx__udp_of(socket);
    if (udp->receive_op != NULL)
        jzx__done_add(done, udp->receive_op, err, 0, 0);
    udp->receive_op = NULL;
    jzx__udp_make_passive(udp, me);
    jzx__udp_end_sending(udp, me, err, done);
}

static void on_given(struct jzx__socket *socket, struct jzx__worker *me) {
    struct jzx__udp *udp = jzx__udp_of(socket);
    jzx__udp_make_passive(udp, me);
    udp->is_out = false;
}

/* It may have been woken for room that another uses now (udp/U4). */
static void on_abandon(struct jzx__socket *socket, struct jzx__socket_wait *wait,
                       struct jzx__worker *me, struct jzx__done *done) {
    (void)wait;
    if (socket->ready & JZX__READY_WRITE)
        jzx__udp_go_on_sending(jzx__udp_of(socket), me, done);
}

static const struct jzx__socket_ops udp_ops = {
    .ready = on_ready, .end = on_end, .given = on_given, .abandon = on_abandon};

/* ---- opening ---- */

jzx_err jzx_udp_opts_init(jzx_udp_opts *opts, size_t size) {
    const jzx_udp_opts defaults = JZX_UDP_OPTS(.peer = NULL);
    return jzx__init_sized(opts, size, &defaults, sizeof defaults) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

/* What a call asks for. */
struct request {
    struct jzx__address local;
    struct jzx__address peer;
    bool has_local;
    bool has_peer;
    int family;
    jzx_udp_opts opts;
};

static bool settle_opts(jzx_udp_opts *full, const jzx_udp_opts *opts) {
    *full = JZX_UDP_OPTS(.peer = NULL);
    if (opts != NULL && !jzx__read_sized(full, sizeof *full, opts))
        return false;
    if (full->datagram_max == 0)
        full->datagram_max = JZX_DEFAULT_DATAGRAM_MAX;
    if (full->queue_max == 0)
        full->queue_max = JZX_DEFAULT_UDP_QUEUE;
    return full->datagram_max <= JZX_UDP_SIZE_MAX && full->receive_buffer <= INT32_MAX &&
           full->send_buffer <= INT32_MAX;
}

static jzx_err read_request(struct request *request, const char *local, const jzx_udp_opts *opts) {
    jzx_err err = JZX_OK;
    if (!settle_opts(&request->opts, opts))
        return JZX_ERR_INVALID_ARG;
    request->has_local = local != NULL;
    request->has_peer = request->opts.peer != NULL;
    if (request->has_local)
        err = jzx__address_parse(local, &request->local);
    if (err == JZX_OK && request->has_peer)
        err = jzx__address_parse(request->opts.peer, &request->peer);
    if (err != JZX_OK || (!request->has_local && !request->has_peer))
        return JZX_ERR_INVALID_ARG;
    request->family =
        request->has_local ? request->local.any.sa_family : request->peer.any.sa_family;
    if (request->has_peer && request->peer.any.sa_family != request->family)
        return JZX_ERR_INVALID_ARG;
    return JZX_OK;
}

static int set_int(const struct jzx__os *os, int fd, int level, int name, int value) {
    return os->setsockopt(fd, level, name, &value, sizeof value);
}

static int configure(const struct jzx__os *os, int fd, const struct request *request) {
    const jzx_udp_opts *opts = &request->opts;
    int err = 0;
    if (request->family == AF_INET6)
        err = set_int(os, fd, IPPROTO_IPV6, IPV6_V6ONLY, opts->v6_only);
    if (err == 0 && opts->reuse_address)
        err = set_int(os, fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (err == 0 && opts->reuse_port)
        err = set_int(os, fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (err == 0 && opts->broadcast)
        err = set_int(os, fd, SOL_SOCKET, SO_BROADCAST, 1);
    if (err == 0 && opts->receive_buffer != 0)
        err = set_int(os, fd, SOL_SOCKET, SO_RCVBUF, (int)opts->receive_buffer);
    if (err == 0 && opts->send_buffer != 0)
        err = set_int(os, fd, SOL_SOCKET, SO_SNDBUF, (int)opts->send_buffer);
    return err;
}

/* A descriptor, or the negative errno. */
static int open_fd(const struct jzx__os *os, const struct request *request) {
    int fd = os->socket(request->family, SOCK_DGRAM, 0);
    if (fd < 0)
        return fd;
    int err = configure(os, fd, request);
    if (err == 0 && request->has_local)
        err = os->bind(fd, &request->local.any, request->local.size);
    if (err == 0 && request->has_peer)
        err = os->connect(fd, &request->peer.any, request->peer.size);
    if (err == 0)
        return fd;
    (void)os->close(fd);
    return err;
}

/* The descriptor is gone on an error. */
static jzx_err make(struct jzx__own *own, int fd, const struct request *request, jzx_udp *handle) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    struct jzx__done done = {.first = NULL};
    struct jzx__socket *socket = jzx__socket_create(loop, fd, JZX__SOCKET_DATAGRAM, &udp_ops);
    if (socket == NULL) {
        (void)jzx__io_of(loop)->os->close(fd);
        return JZX_ERR_NO_MEMORY;
    }
    struct jzx__udp *udp = jzx__udp_of(socket);
    jzx__socket_lock(socket);
    jzx__list_init(&udp->sends);
    udp->family = (uint8_t)request->family;
    udp->datagram_max = request->opts.datagram_max;
    udp->queue_max = request->opts.queue_max;
    jzx_err err = jzx__socket_adopt(socket, own->me, own->turn->ctx.self);
    *handle = jzx__socket_handle(socket);
    if (err != JZX_OK)
        jzx__socket_close(socket, own->me, &done);
    jzx__socket_release(socket, own->me, &done);
    return err;
}

jzx_err jzx_udp_open(jzx_context *ctx, const char *local, const jzx_udp_opts *opts, jzx_udp *udp) {
    struct jzx__own own;
    struct request request;
    jzx_udp made = JZX_NO_UDP;
    if (udp == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = read_request(&request, local, opts);
    if (err != JZX_OK)
        return err;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    if (jzx__sched_is_stopped(&ctx->loop->sched)) {
        err = JZX_ERR_LOOP_CLOSED;
    } else {
        int fd = open_fd(jzx__io_of(ctx->loop)->os, &request);
        err = fd < 0 ? jzx__io_failed(&own, -fd) : make(&own, fd, &request, &made);
    }
    jzx__own_end(&own);
    if (err == JZX_OK)
        *udp = made;
    return err;
}

/* ---- its life ---- */

jzx_err jzx_udp_close(jzx_loop *loop, jzx_udp udp) {
    return jzx__socket_close_handle(loop, udp, JZX__SOCKET_DATAGRAM);
}

jzx_err jzx_udp_give(jzx_context *ctx, jzx_udp udp, jzx_actor_id to) {
    return jzx__socket_give(ctx, udp, JZX__SOCKET_DATAGRAM, to);
}

jzx_err jzx_udp_local(jzx_loop *loop, jzx_udp udp, char *text, size_t size) {
    return jzx__socket_address(loop, udp, JZX__SOCKET_DATAGRAM, false, text, size);
}

jzx_err jzx_udp_peer(jzx_loop *loop, jzx_udp udp, char *text, size_t size) {
    return jzx__socket_address(loop, udp, JZX__SOCKET_DATAGRAM, true, text, size);
}

static jzx_udp_info describe(struct jzx__udp *udp) {
    return (jzx_udp_info){.owner = udp->socket.owner,
                          .fd = jzx__socket_fd(&udp->socket),
                          .is_active = udp->active_left != 0,
                          .is_receiving = udp->active_left == 0 && jzx__udp_is_received(udp),
                          .received = udp->received,
                          .truncated = udp->truncated,
                          .sent = udp->sent,
                          .queued = udp->queued};
}

jzx_err jzx_udp_info_get(jzx_loop *loop, jzx_udp handle, jzx_udp_info *info) {
    struct jzx__visit visit;
    jzx_udp_info now;
    if (loop == NULL || !jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    (void)jzx__loop_visit(loop, &visit);
    struct jzx__udp *udp = jzx__udp_acquire(loop, handle);
    if (udp != NULL) {
        now = describe(udp);
        jzx__lock_release(&udp->socket.lock);
    }
    jzx__visit_end(&visit);
    if (udp == NULL)
        return JZX_ERR_CLOSED;
    jzx__write_sized(info, &now);
    return JZX_OK;
}
