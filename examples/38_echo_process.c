/* SPDX-License-Identifier: MIT */
/* An echo server whose connections are processes: they wait for their sockets by commands, and hold
 * no stack meanwhile. A fiber is the client. */
#include <jzx/jzx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTIONS 2u

enum { LISTEN = 1, ACCEPT, BEGIN, READ, WRITE, SHUTDOWN };

/* ---- a connection ---- */

struct connection {
    jzx_stream stream;
};

static jzx_err connection_init(jzx_context *ctx, const char *method, const void *input,
                               size_t len) {
    (void)method, (void)input, (void)len;
    ctx->state = calloc(1, sizeof(struct connection));
    return ctx->state == NULL ? JZX_ERR_NO_MEMORY : JZX_OK;
}

static jzx_err read_more(const struct connection *self, jzx_step_out *out) {
    const jzx_command_socket_read arg = {.stream = self->stream, .len = 4096};
    return jzx_out_yield(out, READ, JZX_COMMAND_SOCKET_READ, &arg, sizeof arg);
}

static jzx_err on_event(struct connection *self, const jzx_process_event *event,
                        jzx_step_out *out) {
    if (event->tag == BEGIN)
        memcpy(&self->stream, event->data, sizeof self->stream);
    else if (event->tag == READ && event->error == JZX_OK) {
        /* the data are valid until what is yielded here has begun */
        const jzx_command_socket_write arg = {self->stream, event->data, event->len};
        return jzx_out_yield(out, WRITE, JZX_COMMAND_SOCKET_WRITE, &arg, sizeof arg);
    } else if (event->tag == READ && event->error == JZX_ERR_END)
        return jzx_out_yield(out, SHUTDOWN, JZX_COMMAND_SOCKET_SHUTDOWN, &self->stream,
                             sizeof self->stream);
    else if (event->tag == SHUTDOWN)
        return jzx_out_done(out, NULL, 0); /* the stream is closed with the process */
    return event->error == JZX_OK ? read_more(self, out) : event->error;
}

static jzx_err connection_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                               jzx_step_out *out) {
    jzx_err err = JZX_OK;
    for (size_t i = 0; i < count && err == JZX_OK; i++) {
        if (events[i].kind == JZX_PROCESS_CANCEL)
            return jzx_out_done(out, NULL, 0);
        err = on_event(ctx->state, &events[i], out);
    }
    return err;
}

static void connection_close(jzx_context *ctx) {
    free(ctx->state);
}

static const jzx_process_ops connection =
    JZX_PROCESS_OPS(.init = connection_init, .step = connection_step, .close = connection_close);

/* ---- the client ---- */

struct client {
    char address[JZX_ADDRESS_MAX];
    unsigned echoes;
};

static void be_client(jzx_context *ctx) {
    struct client *self = ctx->state;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        char text[32];
        char back[32] = "";
        jzx_stream stream;
        uint64_t deadline_ns = jzx_in(ctx, JZX_SECOND(10));
        size_t len = (size_t)snprintf(text, sizeof text, "hello number %u", i + 1);
        if (jzx_tcp_connect(ctx, self->address, NULL, deadline_ns, &stream) != JZX_OK ||
            jzx_stream_write(ctx, stream, text, len, deadline_ns) != JZX_OK ||
            jzx_stream_read_exact(ctx, stream, back, len, deadline_ns) != JZX_OK)
            return;
        printf("echo: %s\n", back);
        self->echoes += strcmp(text, back) == 0;
        jzx_stream_close(ctx->loop, stream);
    }
}

/* ---- the server ---- */

struct server {
    jzx_listener listener;
    struct client client;
    unsigned accepted;
};

static jzx_err accept_more(const struct server *self, jzx_step_out *out) {
    return jzx_out_yield(out, ACCEPT, JZX_COMMAND_SOCKET_ACCEPT, &self->listener,
                         sizeof self->listener);
}

static jzx_err begin_client(jzx_context *ctx, struct server *self) {
    struct client *client = &self->client;
    jzx_listener_address(ctx->loop, self->listener, client->address, sizeof client->address);
    return jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = be_client, .state = client), NULL);
}

/* The stream goes to a new process, and then a message that says so. */
static jzx_err serve(jzx_context *ctx, jzx_stream stream) {
    jzx_actor_id id;
    jzx_err err = jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.process = &connection), &id);
    if (err == JZX_OK)
        err = jzx_stream_give(ctx, stream, id);
    return err == JZX_OK ? jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN) : err;
}

static jzx_err server_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                           jzx_step_out *out) {
    static const jzx_command_socket_listen where = {.address = "127.0.0.1:0"};
    struct server *self = ctx->state;
    if (count == 0)
        return jzx_out_yield(out, LISTEN, JZX_COMMAND_SOCKET_LISTEN, &where, sizeof where);
    const jzx_process_event *event = &events[0]; /* one command at a time, and no messages */
    if (event->kind == JZX_PROCESS_CANCEL)
        return jzx_out_done(out, NULL, 0);
    if (event->error != JZX_OK)
        return event->error;
    jzx_err err;
    if (event->tag == LISTEN) {
        memcpy(&self->listener, event->data, sizeof self->listener);
        err = begin_client(ctx, self);
    } else {
        err = serve(ctx, *(const jzx_stream *)event->data);
        if (++self->accepted == CONNECTIONS)
            return jzx_out_done(out, NULL, 0);
    }
    return err == JZX_OK ? accept_more(self, out) : err;
}

static const jzx_process_ops server = JZX_PROCESS_OPS(.step = server_step);

int main(void) {
    struct server state = {.accepted = 0};
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.process = &server, .state = &state), NULL);
    jzx_err err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    return err == JZX_OK && state.client.echoes == CONNECTIONS ? 0 : 1;
}
