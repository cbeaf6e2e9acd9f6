/* SPDX-License-Identifier: MIT */
#include "process/commands_socket.h"

#include "process/proxy.h"

#include <string.h>

static bool is_unix(const char *address) {
    return address[0] == '/' || address[0] == '@';
}

/* ---- commands that complete at once ---- */

static jzx_err do_listen(jzx_context *ctx, const jzx_command *command, void *data) {
    jzx_command_socket_listen arg;
    jzx_listener listener;
    (void)data;
    if (command->len != sizeof arg)
        return JZX_ERR_INVALID_ARG;
    memcpy(&arg, command->arg, sizeof arg);
    if (arg.address == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = is_unix(arg.address) ? jzx_unix_listen(ctx, arg.address, arg.opts, &listener)
                                       : jzx_tcp_listen(ctx, arg.address, arg.opts, &listener);
    if (err != JZX_OK)
        return err;
    if (jzx_command_complete(ctx->loop, command->process, command->ref, &listener, sizeof listener,
                             JZX_OK) != JZX_OK)
        (void)jzx_listener_close(ctx->loop, listener); /* nobody hears of it */
    return JZX_OK;
}

static jzx_err close_any(jzx_loop *loop, uint64_t handle) {
    jzx_err err = jzx_stream_close(loop, handle);
    return err == JZX_ERR_CLOSED ? jzx_listener_close(loop, handle) : err;
}

static jzx_err do_close(jzx_context *ctx, const jzx_command *command, void *data) {
    uint64_t handle;
    (void)data;
    if (command->len != sizeof handle)
        return JZX_ERR_INVALID_ARG;
    memcpy(&handle, command->arg, sizeof handle);
    jzx_err err = close_any(ctx->loop, handle);
    if (err == JZX_OK)
        (void)jzx_command_complete(ctx->loop, command->process, command->ref, NULL, 0, JZX_OK);
    return err;
}

/* ---- commands that take time ---- */

static jzx_err start_accept(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_listener *listener = arg;
    return jzx_listener_accept_to(ctx, *listener, tag, op);
}

static jzx_err start_connect(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_socket_connect *what = arg;
    if (what->address == NULL)
        return JZX_ERR_INVALID_ARG;
    return is_unix(what->address) ? jzx_unix_connect_to(ctx, what->address, what->opts, tag, op)
                                  : jzx_tcp_connect_to(ctx, what->address, what->opts, tag, op);
}

static jzx_err start_read(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_socket_read *what = arg;
    if (what->delimiter != 0)
        return JZX_ERR_INVALID_ARG;
    return jzx_stream_read_to(ctx, what->stream, what->len, tag, op);
}

static jzx_err start_read_exact(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_socket_read *what = arg;
    if (what->delimiter != 0)
        return JZX_ERR_INVALID_ARG;
    return jzx_stream_read_exact_to(ctx, what->stream, what->len, tag, op);
}

static jzx_err start_read_until(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_socket_read *what = arg;
    if (what->delimiter > UINT8_MAX)
        return JZX_ERR_INVALID_ARG;
    return jzx_stream_read_until_to(ctx, what->stream, (char)what->delimiter, what->len, tag, op);
}

static jzx_err start_write(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_socket_write *what = arg;
    return jzx_stream_write_to(ctx, what->stream, what->data, what->len, tag, op);
}

static jzx_err start_shutdown(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_stream *stream = arg;
    return jzx_stream_shutdown_to(ctx, *stream, tag, op);
}

static const struct jzx__proxy_kind accepting = {
    .start = start_accept, .arg_size = sizeof(jzx_listener), .close_result = jzx_stream_close};
static const struct jzx__proxy_kind connecting = {.start = start_connect,
                                                  .arg_size = sizeof(jzx_command_socket_connect),
                                                  .close_result = jzx_stream_close};
static const struct jzx__proxy_kind reading = {.start = start_read,
                                               .arg_size = sizeof(jzx_command_socket_read),
                                               .close_source = jzx_stream_close};
static const struct jzx__proxy_kind reading_exactly = {.start = start_read_exact,
                                                       .arg_size = sizeof(jzx_command_socket_read),
                                                       .close_source = jzx_stream_close};
static const struct jzx__proxy_kind reading_until = {.start = start_read_until,
                                                     .arg_size = sizeof(jzx_command_socket_read),
                                                     .close_source = jzx_stream_close};
static const struct jzx__proxy_kind writing = {
    .start = start_write, .arg_size = sizeof(jzx_command_socket_write), .goes_on = true};
static const struct jzx__proxy_kind shutting_down = {
    .start = start_shutdown, .arg_size = sizeof(jzx_stream), .goes_on = true};

static jzx_command_handler proxy(const struct jzx__proxy_kind *kind) {
    return (jzx_command_handler){.handle = jzx__proxy_handle, .data = (void *)(uintptr_t)kind};
}

void jzx__commands_fill_socket(jzx_command_handler *handlers) {
    handlers[JZX_COMMAND_SOCKET_LISTEN] = (jzx_command_handler){.handle = do_listen};
    handlers[JZX_COMMAND_SOCKET_ACCEPT] = proxy(&accepting);
    handlers[JZX_COMMAND_SOCKET_CONNECT] = proxy(&connecting);
    handlers[JZX_COMMAND_SOCKET_READ] = proxy(&reading);
    handlers[JZX_COMMAND_SOCKET_READ_EXACT] = proxy(&reading_exactly);
    handlers[JZX_COMMAND_SOCKET_READ_UNTIL] = proxy(&reading_until);
    handlers[JZX_COMMAND_SOCKET_WRITE] = proxy(&writing);
    handlers[JZX_COMMAND_SOCKET_SHUTDOWN] = proxy(&shutting_down);
    handlers[JZX_COMMAND_SOCKET_CLOSE] = (jzx_command_handler){.handle = do_close};
}
