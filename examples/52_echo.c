/* SPDX-License-Identifier: MIT */
/* An echo server, written three times: with behaviours, which are told what arrives; with fibers,
 * which wait; and with async functions, which await futures.
 *
 *     52_echo messages|fibers|futures [PORT]     listens at 127.0.0.1:5555, or at that port, until
 *                                                it is killed; 0: at a free port
 *     52_echo                                    tries all three, with a client of its own */
#include <jzx/jzx.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START = 1, ACCEPTED, BEGIN, DATA, FLUSHED };

/* Further connections wait until others end, and idle ones are ended: a peer that does nothing
 * keeps nobody out for long. */
#define CONNECTIONS_MAX 512u
#define IDLE_NS JZX_SECOND(60)

/* What a server is told. */
struct server {
    const char *way;
    const char *address;
    bool has_client; /* in the same program */
    jzx_listener listener;
    jzx_future *accept; /* futures: the one that is awaited, or NULL */
};

static void started(jzx_loop *loop, const struct server *server);

static jzx_err begin_listening(jzx_context *ctx, struct server *self) {
    const jzx_stream_opts stream = JZX_STREAM_OPTS(.idle_ns = IDLE_NS);
    const jzx_listen_opts opts =
        JZX_LISTEN_OPTS(.connections_max = CONNECTIONS_MAX, .stream = &stream);
    jzx_err err = jzx_tcp_listen(ctx, self->address, &opts, &self->listener);
    if (err == JZX_OK)
        started(ctx->loop, self);
    return err;
}

/* To its new actor. A new actor may still move to an idle worker: the stream is registered where it
 * begins. */
static void hand_over(jzx_context *ctx, jzx_stream stream, const jzx_spawn_opts *opts) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_err err = jzx_spawn(ctx->loop, opts, &id);
    if (err == JZX_OK)
        err = jzx_stream_give(ctx, stream, id);
    if (err == JZX_OK)
        err = jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN);
    if (err != JZX_OK) { /* that one, and others come */
        jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL);
        jzx_stream_close(ctx->loop, stream);
    }
}

/* ---- 1: behaviours ---- */

static jzx_err echo_event(jzx_context *ctx, const jzx_stream_event *event) {
    if (event->kind == JZX_STREAM_DATA)
        return jzx_stream_send(ctx, event->stream, jzx_stream_data(event), event->len);
    if (event->kind == JZX_STREAM_END)
        return jzx_stream_shutdown_to(ctx, event->stream, FLUSHED, NULL); /* when all is out */
    return event->err;
}

/* A connection: it ends with its actor. Of a peer that does not read nothing more is read. */
static jzx_behavior_result echo(jzx_context *ctx, const jzx_message *msg) {
    const jzx_stream *begun = msg->data;
    const jzx_stream_event *event = msg->data;
    jzx_err err = JZX_ERR_END; /* FLUSHED */
    if (msg->tag == BEGIN)
        err = jzx_stream_active(ctx, *begun, DATA, JZX_STREAM_ALWAYS);
    else if (msg->tag == DATA)
        err = echo_event(ctx, event);
    else if (msg->tag == JZX_TAG_STREAM_HIGH)
        err = jzx_stream_active(ctx, event->stream, DATA, 0);
    else if (msg->tag == JZX_TAG_STREAM_LOW)
        err = jzx_stream_active(ctx, event->stream, DATA, JZX_STREAM_ALWAYS);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    struct server *self = ctx->state;
    if (msg->tag == START) {
        if (begin_listening(ctx, self) != JZX_OK)
            return JZX_BEHAVIOR_FAIL;
    } else if (msg->tag == ACCEPTED) {
        const jzx_result *result = msg->data;
        if (result->err == JZX_OK)
            hand_over(ctx, *(const jzx_stream *)jzx_result_data(result),
                      &JZX_SPAWN_OPTS(.behavior = echo));
    }
    jzx_err err = jzx_tcp_accept_to(ctx, self->listener, ACCEPTED, NULL);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_FAIL;
}

/* ---- 2: fibers ---- */

static void echo_fiber(jzx_context *ctx) {
    jzx_message msg;
    char buf[4096];
    size_t len;
    if (jzx_receive_tag(ctx, BEGIN, JZX_NEVER, &msg) != JZX_OK)
        return;
    jzx_stream stream = *(const jzx_stream *)msg.data;
    while (jzx_stream_read(ctx, stream, buf, sizeof buf, JZX_NEVER, &len) == JZX_OK) {
        if (jzx_stream_write(ctx, stream, buf, len, jzx_in(ctx, JZX_SECOND(10))) != JZX_OK)
            return;
    }
}

static void serve_fiber(jzx_context *ctx) {
    struct server *self = ctx->state;
    jzx_stream stream;
    if (begin_listening(ctx, self) != JZX_OK)
        return;
    while (jzx_tcp_accept(ctx, self->listener, JZX_NEVER, &stream) == JZX_OK)
        hand_over(ctx, stream, &JZX_SPAWN_OPTS(.fiber = echo_fiber));
}

/* ---- 3: async functions ---- */

struct connection {
    jzx_stream stream;
    jzx_err err;
    jzx_await_op wait;
    struct {
        jzx_result result;
        char bytes[4096];
    } read;
};

/* A future is awaited and released. NULL: it could not be made, and the await fails. */
static jzx_awaitable *read_some(jzx_loop *loop, struct connection *self) {
    jzx_future *future;
    jzx_err err = jzx_stream_read_async(loop, self->stream, sizeof self->read.bytes, &future);
    return err == JZX_OK ? jzx_op_consume(&self->wait, future, JZX_NEVER) : NULL;
}

static jzx_awaitable *write_all(jzx_loop *loop, struct connection *self) {
    jzx_future *future;
    jzx_err err = jzx_stream_write_async(loop, self->stream, self->read.bytes,
                                         self->read.result.len, &future);
    return err == JZX_OK ? jzx_op_consume(&self->wait, future, JZX_NEVER) : NULL;
}

JZX_ASYNC(echo_async, struct connection, int) {
    do {
        JZX_TRY(self->err, read_some(ctx->loop, self), &self->read);
        if (self->err == JZX_OK)
            JZX_TRY(self->err, write_all(ctx->loop, self), NULL);
    } while (self->err == JZX_OK);
    jzx_stream_close(ctx->loop, self->stream);
    JZX_RETURN(0);
}
JZX_END

/* Accepted streams belong to the owner of the listener: this actor. */
static void serve_async(jzx_context *ctx) {
    struct server *self = ctx->state;
    struct connection connection = {.err = JZX_OK};
    jzx_future *future;
    if (begin_listening(ctx, self) != JZX_OK)
        return;
    while (jzx_tcp_accept_async(ctx->loop, self->listener, &self->accept) == JZX_OK) {
        jzx_err err = jzx_await(ctx, self->accept, JZX_NEVER, &connection.stream);
        jzx_future_release(self->accept);
        self->accept = NULL;
        if (err != JZX_OK)
            return;
        if (echo_async_spawn(ctx->loop, connection, &future) == JZX_OK)
            jzx_future_detach(future);
        else
            jzx_stream_close(ctx->loop, connection.stream);
    }
}

/* A fiber that is stopped while it awaits does not come back to release the future. */
static void leave_async(jzx_context *ctx, jzx_exit_reason reason) {
    struct server *self = ctx->state;
    (void)reason;
    jzx_future_release(self->accept); /* NULL is fine */
}

/* ---- a client of its own ---- */

static void call(jzx_context *ctx) {
    const struct server *server = ctx->state;
    char address[JZX_ADDRESS_MAX];
    char line[64];
    size_t len;
    jzx_stream stream;
    jzx_listener_address(ctx->loop, server->listener, address, sizeof address);
    if (jzx_tcp_connect(ctx, address, NULL, jzx_in(ctx, JZX_SECOND(10)), &stream) == JZX_OK) {
        for (int i = 1; i <= 3; i++) {
            int size = snprintf(line, sizeof line, "%s: line %d\n", server->way, i);
            jzx_stream_write(ctx, stream, line, (size_t)size, JZX_NEVER);
            if (jzx_stream_read_until(ctx, stream, '\n', line, sizeof line, JZX_NEVER, &len) ==
                JZX_OK)
                printf("%.*s", (int)len, line);
        }
    }
    jzx_loop_request_stop(ctx->loop);
}

/* It listens. */
static void started(jzx_loop *loop, const struct server *server) {
    char address[JZX_ADDRESS_MAX];
    if (server->has_client) {
        (void)jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = call, .state = (void *)(uintptr_t)server),
                        NULL);
    } else if (jzx_listener_address(loop, server->listener, address, sizeof address) == JZX_OK) {
        printf("listening at %s\n", address);
        fflush(stdout);
    }
}

/* ---- all ---- */

static const char *const ways[] = {"messages", "fibers", "futures"};

static jzx_err run(int way, const char *address, bool has_client) {
    struct server server = {.way = ways[way], .address = address, .has_client = has_client};
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_actor_id id;
    if (loop == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = jzx_spawn(loop,
                            way == 0   ? &JZX_SPAWN_OPTS(.behavior = serve, .state = &server)
                            : way == 1 ? &JZX_SPAWN_OPTS(.fiber = serve_fiber, .state = &server)
                                       : &JZX_SPAWN_OPTS(.fiber = serve_async, .state = &server,
                                                         .cleanup = leave_async),
                            &id);
    if (err == JZX_OK && way == 0)
        err = jzx_send(loop, id, JZX_NOBODY, NULL, 0, START);
    if (err == JZX_OK)
        err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    return err;
}

int main(int argc, char **argv) {
    char address[JZX_ADDRESS_MAX];
    snprintf(address, sizeof address, "127.0.0.1:%s", argc == 3 ? argv[2] : "5555");
    for (int way = 0; way < 3; way++) {
        if ((argc == 2 || argc == 3) && strcmp(argv[1], ways[way]) == 0)
            return run(way, address, false) == JZX_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc != 1) {
        fprintf(stderr, "usage: %s [messages|fibers|futures [PORT]]\n", argv[0]);
        return EXIT_FAILURE;
    }
    for (int way = 0; way < 3; way++) {
        if (run(way, "127.0.0.1:0", true) != JZX_OK)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
