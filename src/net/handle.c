/* SPDX-License-Identifier: MIT */
/* The calls that sockets of all kinds have. */
#include "net/handle.h"

#include "net/address.h"

jzx_err jzx__socket_close_handle(jzx_loop *loop, uint64_t handle, enum jzx__socket_kind kind) {
    struct jzx__visit visit;
    struct jzx__done done = {.first = NULL};
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx__socket *socket = jzx__socket_acquire(loop, handle, kind);
    if (socket != NULL) {
        jzx__socket_close(socket, me, &done);
        jzx__socket_release(socket, me, &done);
    }
    jzx__visit_end(&visit);
    return socket == NULL ? JZX_ERR_CLOSED : JZX_OK;
}

static jzx_err give(struct jzx__socket *socket, struct jzx__worker *me, jzx_actor_id from,
                    jzx_actor_id to) {
    if (socket->owner != from)
        return JZX_ERR_NOT_OWNER;
    if (from == to)
        return JZX_OK;
    jzx_err err = jzx__socket_adopt(socket, me, to);
    if (err == JZX_OK && socket->ops->given != NULL)
        socket->ops->given(socket, me);
    return err;
}

jzx_err jzx__socket_give(jzx_context *ctx, uint64_t handle, enum jzx__socket_kind kind,
                         jzx_actor_id to) {
    struct jzx__own own;
    struct jzx__done done = {.first = NULL};
    jzx_err err = JZX_ERR_CLOSED;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    struct jzx__socket *socket = jzx__socket_acquire(ctx->loop, handle, kind);
    if (socket != NULL) {
        err = give(socket, own.me, ctx->self, to);
        jzx__socket_release(socket, own.me, &done);
    }
    jzx__own_end(&own);
    return err;
}

static jzx_err get_address(struct jzx__socket *socket, bool of_peer, struct jzx__address *address) {
    const struct jzx__os *os = jzx__socket_os(socket);
    int fd = jzx__socket_fd(socket);
    if (socket->err != JZX_OK)
        return (jzx_err)socket->err;
    address->size = sizeof address->local;
    int failed = of_peer ? os->getpeername(fd, &address->any, &address->size)
                         : os->getsockname(fd, &address->any, &address->size);
    return failed < 0 ? jzx__os_error_status(-failed) : JZX_OK;
}

jzx_err jzx__socket_address(jzx_loop *loop, uint64_t handle, enum jzx__socket_kind kind,
                            bool of_peer, char *text, size_t size) {
    struct jzx__visit visit;
    struct jzx__address address = {.size = 0};
    jzx_err err = JZX_ERR_CLOSED;
    if (loop == NULL || text == NULL)
        return JZX_ERR_INVALID_ARG;
    (void)jzx__loop_visit(loop, &visit);
    struct jzx__socket *socket = jzx__socket_acquire(loop, handle, kind);
    if (socket != NULL) {
        err = get_address(socket, of_peer, &address);
        jzx__lock_release(&socket->lock);
    }
    jzx__visit_end(&visit);
    return err == JZX_OK ? jzx__address_format(&address, text, size) : err;
}
