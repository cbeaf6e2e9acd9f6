/* SPDX-License-Identifier: MIT */
/* The life of a listener. */
#include "net/listener.h"

#include "base/sized.h"
#include "net/accept.h"
#include "net/address.h"
#include "net/handle.h"
#include "net/stream.h"

#include "jzx/unix.h"

#include <errno.h>
#include <string.h>

static struct jzx__listener *of_socket(struct jzx__socket *socket) {
    return JZX_CONTAINER_OF(socket, struct jzx__listener, socket);
}

/* ---- as a socket ---- */

static void on_ready(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    jzx__listener_go_on(of_socket(socket), me, done);
}

static void on_end(struct jzx__socket *socket, struct jzx__worker *me, jzx_err err,
                   struct jzx__done *done) {
    struct jzx__listener *listener = of_socket(socket);
    if (listener->path != NULL) {
        (void)jzx__socket_os(socket)->unlink(listener->path->payload);
        jzx__message_destroy(socket->loop, me, listener->path);
    }
    listener->path = NULL;
    jzx__listener_end_accepts(listener, err, done);
}

static void on_listed(struct jzx__socket *socket, struct jzx__worker *me) {
    jzx__listener_set_retry(of_socket(socket), me);
}

static void on_expire(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    jzx__listener_try_again(of_socket(socket), me, done);
}

/* It may have been woken for a connection, which another takes now. */
static void on_abandon(struct jzx__socket *socket, struct jzx__socket_wait *wait,
                       struct jzx__worker *me, struct jzx__done *done) {
    (void)wait;
    jzx__listener_go_on(of_socket(socket), me, done);
}

static const struct jzx__socket_ops listener_ops = {.ready = on_ready,
                                                    .end = on_end,
                                                    .listed = on_listed,
                                                    .expire = on_expire,
                                                    .abandon = on_abandon};

void jzx__listener_vacate(struct jzx_loop *loop, struct jzx__worker *me, jzx_listener handle) {
    struct jzx__done done = {.first = NULL};
    struct jzx__socket *socket = jzx__socket_acquire(loop, handle, JZX__SOCKET_LISTENER);
    if (socket == NULL)
        return;
    struct jzx__listener *listener = of_socket(socket);
    listener->connections--;
    if (listener->is_limited || listener->is_starved) {
        listener->is_limited = false;
        jzx__listener_try_again(listener, me, &done);
    }
    jzx__socket_release(socket, me, &done);
}

/* ---- listening ---- */

jzx_err jzx_listen_opts_init(jzx_listen_opts *opts, size_t size) {
    const jzx_listen_opts defaults = JZX_LISTEN_OPTS(.backlog = JZX_DEFAULT_BACKLOG);
    return jzx__init_sized(opts, size, &defaults, sizeof defaults) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

/* What a call asks for. */
struct request {
    struct jzx__address address;
    const char *path; /* of a Unix socket with a file, or NULL */
    jzx_listen_opts opts;
    jzx_stream_opts stream;
};

static jzx_err read_request(struct request *request, const char *address, bool is_unix,
                            const jzx_listen_opts *opts) {
    request->opts = JZX_LISTEN_OPTS(.backlog = 0);
    if (opts != NULL && !jzx__read_sized(&request->opts, sizeof request->opts, opts))
        return JZX_ERR_INVALID_ARG;
    if (request->opts.backlog == 0)
        request->opts.backlog = JZX_DEFAULT_BACKLOG;
    if (request->opts.backlog > INT32_MAX || (request->opts.mode & ~07777u) != 0 ||
        !jzx__stream_opts_settle(&request->stream, request->opts.stream))
        return JZX_ERR_INVALID_ARG;
    request->path = is_unix && address != NULL && address[0] != '@' ? address : NULL;
    return is_unix ? jzx__address_parse_unix(address, &request->address)
                   : jzx__address_parse(address, &request->address);
}

/* True if the file of a Unix socket has nobody behind it. */
static bool is_left_behind(const struct jzx__os *os, const struct jzx__address *address) {
    int fd = os->socket(AF_UNIX, SOCK_STREAM, 0);
    int err = fd < 0 ? fd : os->connect(fd, &address->any, address->size);
    if (fd >= 0)
        (void)os->close(fd);
    return err == -ECONNREFUSED;
}

static int bind_fd(const struct jzx__os *os, int fd, const struct request *request) {
    const struct jzx__address *address = &request->address;
    int err = os->bind(fd, &address->any, address->size);
    if (err == -EADDRINUSE && request->path != NULL && is_left_behind(os, address)) {
        (void)os->unlink(request->path);
        err = os->bind(fd, &address->any, address->size);
    }
    return err;
}

/* A port of a program that has just ended can be taken again at once. */
static int configure(const struct jzx__os *os, int fd, const struct request *request) {
    int family = request->address.any.sa_family;
    const int on = 1;
    const int v6_only = request->opts.v6_only;
    int err = 0;
    if (family != AF_UNIX)
        err = os->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (err == 0 && family != AF_UNIX && request->opts.reuse_port)
        err = os->setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (err == 0 && family == AF_INET6)
        err = os->setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
    return err;
}

/* A descriptor that listens, or the negative errno. */
static int open_fd(const struct jzx__os *os, const struct request *request) {
    int fd = os->socket(request->address.any.sa_family, SOCK_STREAM, 0);
    if (fd < 0)
        return fd;
    int err = configure(os, fd, request);
    if (err == 0)
        err = bind_fd(os, fd, request);
    bool is_bound = err == 0;
    if (is_bound && request->path != NULL && request->opts.mode != 0)
        err = os->chmod(request->path, (mode_t)request->opts.mode);
    if (err == 0)
        err = os->listen(fd, (int)request->opts.backlog);
    if (err == 0)
        return fd;
    if (is_bound && request->path != NULL)
        (void)os->unlink(request->path);
    (void)os->close(fd);
    return err;
}

/* To be removed when it is closed. False without memory. */
static bool keep_path(struct jzx__own *own, const char *text, struct jzx__message **path) {
    size_t size = strlen(text) + 1;
    *path = jzx__message_create(own->turn->ctx.loop, own->me, size);
    if (*path == NULL)
        return false;
    memcpy((*path)->payload, text, size);
    return true;
}

/* The descriptor is gone on an error. */
static jzx_err make(struct jzx__own *own, int fd, const struct request *request,
                    jzx_listener *handle) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    const struct jzx__os *os = jzx__io_of(loop)->os;
    struct jzx__done done = {.first = NULL};
    struct jzx__message *path = NULL;
    bool has_memory = request->path == NULL || keep_path(own, request->path, &path);
    struct jzx__socket *socket =
        has_memory ? jzx__socket_create(loop, fd, JZX__SOCKET_LISTENER, &listener_ops) : NULL;
    if (socket == NULL) {
        if (request->path != NULL)
            (void)os->unlink(request->path);
        if (path != NULL)
            jzx__message_destroy(loop, own->me, path);
        (void)os->close(fd);
        return JZX_ERR_NO_MEMORY;
    }
    struct jzx__listener *listener = of_socket(socket);
    jzx__socket_lock(socket);
    jzx__list_init(&listener->accepts);
    listener->stream = request->stream;
    listener->family = (uint8_t)request->address.any.sa_family;
    listener->connections_max =
        request->opts.connections_max == 0 ? UINT32_MAX : request->opts.connections_max;
    listener->path = path;
    jzx_err err = jzx__socket_adopt(socket, own->me, own->turn->ctx.self);
    *handle = jzx__socket_handle(socket);
    if (err != JZX_OK)
        jzx__socket_close(socket, own->me, &done);
    jzx__socket_release(socket, own->me, &done);
    return err;
}

static jzx_err listen_at(jzx_context *ctx, const char *address, bool is_unix,
                         const jzx_listen_opts *opts, jzx_listener *listener) {
    struct jzx__own own;
    struct request request;
    jzx_listener made = JZX_NO_STREAM;
    if (listener == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = read_request(&request, address, is_unix, opts);
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
        *listener = made;
    return err;
}

jzx_err jzx_tcp_listen(jzx_context *ctx, const char *address, const jzx_listen_opts *opts,
                       jzx_listener *listener) {
    return listen_at(ctx, address, false, opts, listener);
}

jzx_err jzx_unix_listen(jzx_context *ctx, const char *address, const jzx_listen_opts *opts,
                        jzx_listener *listener) {
    return listen_at(ctx, address, true, opts, listener);
}

/* ---- its life ---- */

jzx_err jzx_listener_close(jzx_loop *loop, jzx_listener listener) {
    return jzx__socket_close_handle(loop, listener, JZX__SOCKET_LISTENER);
}

jzx_err jzx_listener_give(jzx_context *ctx, jzx_listener listener, jzx_actor_id to) {
    return jzx__socket_give(ctx, listener, JZX__SOCKET_LISTENER, to);
}

jzx_err jzx_listener_address(jzx_loop *loop, jzx_listener listener, char *text, size_t size) {
    return jzx__socket_address(loop, listener, JZX__SOCKET_LISTENER, false, text, size);
}
