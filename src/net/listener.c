/* SPDX-License-Identifier: MIT */
/* The life of a listener. */
#include "net/listener.h"

#include "base/sized.h"
#include "net/address.h"
#include "net/handle.h"
#include "net/stream.h"
#include "net/unix_file.h"

#include "jzx/unix.h"

#include <string.h>

/* ---- listening ---- */

jzx_err jzx_listen_opts_init(jzx_listen_opts *opts, size_t size) {
    const jzx_listen_opts defaults = JZX_LISTEN_OPTS(.backlog = JZX_DEFAULT_BACKLOG);
    return jzx__init_sized(opts, size, &defaults, sizeof defaults) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

/* What a call asks for. */
struct request {
    struct jzx__address address;
    bool has_file; /* it is a Unix socket with a path */
    jzx_listen_opts opts;
    jzx_stream_opts stream;
};

/* What it has made. */
struct opened {
    int fd;
    struct jzx__unix_file file; /* if the request has one */
};

static jzx_err read_request(struct request *request, const char *address, bool is_unix,
                            const jzx_listen_opts *opts) {
    request->opts = JZX_LISTEN_OPTS(.backlog = 0);
    if (opts != NULL && !jzx__read_sized(&request->opts, sizeof request->opts, opts))
        return JZX_ERR_INVALID_ARG;
    if (request->opts.backlog == 0)
        request->opts.backlog = JZX_DEFAULT_BACKLOG;
    if (request->opts.backlog > INT32_MAX || (request->opts.mode & ~07777u) != 0 ||
        (unsigned)request->opts.accept_mode > JZX_ACCEPT_PER_WORKER ||
        !jzx__stream_opts_settle(&request->stream, request->opts.stream))
        return JZX_ERR_INVALID_ARG;
    if (is_unix && request->opts.accept_mode == JZX_ACCEPT_PER_WORKER)
        return JZX_ERR_UNSUPPORTED;
    if (request->opts.accept_mode == JZX_ACCEPT_PER_WORKER)
        request->opts.reuse_port = true;
    request->has_file = is_unix && address != NULL && address[0] != '@';
    return is_unix ? jzx__address_parse_unix(address, &request->address)
                   : jzx__address_parse(address, &request->address);
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

static void discard(const struct jzx__os *os, const struct request *request,
                    const struct opened *opened) {
    if (request->has_file)
        jzx__unix_file_remove(os, &opened->file);
    (void)os->close(opened->fd);
}

static int bind_fd(const struct jzx__os *os, const struct request *request, struct opened *opened) {
    const struct jzx__address *address = &request->address;
    mode_t mode = (mode_t)request->opts.mode;
    return request->has_file ? jzx__unix_file_bind(os, opened->fd, address, mode, &opened->file)
                             : os->bind(opened->fd, &address->any, address->size);
}

/* A socket that listens. 0 or the negative errno. */
static int open_socket(const struct jzx__os *os, const struct request *request,
                       struct opened *opened) {
    opened->fd = os->socket(request->address.any.sa_family, SOCK_STREAM, 0);
    if (opened->fd < 0)
        return opened->fd;
    int err = configure(os, opened->fd, request);
    if (err == 0)
        err = bind_fd(os, request, opened);
    if (err < 0) {
        (void)os->close(opened->fd);
        return err;
    }
    err = os->listen(opened->fd, (int)request->opts.backlog);
    if (err < 0)
        discard(os, request, opened);
    return err;
}

/* To be removed when it is closed. False without memory. */
static bool keep_file(struct jzx__own *own, const struct jzx__unix_file *file,
                      struct jzx__message **kept) {
    *kept = jzx__message_create(own->turn->ctx.loop, own->me, sizeof *file);
    if (*kept == NULL)
        return false;
    memcpy((*kept)->payload, file, sizeof *file);
    return true;
}

/* The socket is gone on an error. */
static jzx_err make(struct jzx__own *own, const struct opened *opened,
                    const struct request *request, jzx_listener *handle) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    struct jzx__done done = {.first = NULL};
    struct jzx__message *file = NULL;
    bool has_memory = !request->has_file || keep_file(own, &opened->file, &file);
    struct jzx__socket *socket =
        has_memory ? jzx__socket_create(loop, opened->fd, JZX__SOCKET_LISTENER, &jzx__listener_ops)
                   : NULL;
    if (socket == NULL) {
        discard(jzx__io_of(loop)->os, request, opened);
        if (file != NULL)
            jzx__message_destroy(loop, own->me, file);
        return JZX_ERR_NO_MEMORY;
    }
    struct jzx__listener *listener = jzx__listener_of(socket);
    jzx__socket_lock(socket);
    jzx__list_init(&listener->accepts);
    listener->stream = request->stream;
    listener->accept_mode = (uint8_t)request->opts.accept_mode;
    listener->family = (uint8_t)request->address.any.sa_family;
    listener->connections_max =
        request->opts.connections_max == 0 ? UINT32_MAX : request->opts.connections_max;
    listener->file = file;
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
    struct opened opened;
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
        int failed = open_socket(jzx__io_of(ctx->loop)->os, &request, &opened);
        err = failed < 0 ? jzx__io_failed(&own, -failed) : make(&own, &opened, &request, &made);
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
