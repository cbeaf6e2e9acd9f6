/* SPDX-License-Identifier: MIT */
/* A server whose actors may crash. It calculates: "add 1 2" is answered by "3", "div 6 3" by "2". A
 * request that nobody has thought of ends the actor of its connection, and with it the connection;
 * all others go on. The tree:
 *
 *     root             one for one
 *       connections    dynamic: a temporary child for each connection
 *       listener       permanent: if it fails it listens again, at the same port, and connections
 *                      that were accepted before stay
 *
 * An observer reports each crash, and why.
 *
 *     59_supervised_server PORT     listens at 127.0.0.1:PORT until it is killed; 0: at a free port
 *     59_supervised_server          tries it, with clients of its own
 *
 * It prints:
 *
 *     first: add 1 2 = 3
 *     second: div 6 3 = 2
 *     crash: a connection: b != 0
 *     second: div 1 0: the connection is closed
 *     first: add 3 4 = 7
 *     crash: listener: made to fail
 *     first: add 5 6 = 11
 *     third: add 7 8 = 15
 */
#include <jzx/jzx.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_SIZE 128u
#define CONNECTIONS_MAX 512u /* more wait until others end, or are idle for too long */
#define IDLE_NS JZX_SECOND(60)

enum { ACCEPTED = 1, BEGIN, REQUEST, ANSWERED };

/* ---- a connection ---- */

static jzx_err init_connection(jzx_context *ctx) {
    ctx->state = jzx_alloc(ctx, sizeof(jzx_stream));
    if (ctx->state == NULL)
        return JZX_ERR_NO_MEMORY;
    return jzx_receive_timeout(ctx, JZX_SECOND(10)); /* the listener may fail before BEGIN */
}

/* The checks are bugs, if you like: each ends the actor, from any depth. */
static long calculate(jzx_context *ctx, const char *request) {
    char name[4];
    long a;
    long b;
    int end = 0;
    JZX_CHECK(ctx, sscanf(request, "%3s %9ld %9ld %n", name, &a, &b, &end) == 3);
    JZX_CHECK(ctx, request[end] == '\0');
    if (strcmp(name, "div") == 0) {
        JZX_CHECK(ctx, b != 0);
        return a / b;
    }
    JZX_CHECK(ctx, strcmp(name, "add") == 0);
    return a + b;
}

static jzx_err answer(jzx_context *ctx, jzx_stream stream, const jzx_result *result) {
    char text[REQUEST_SIZE + 1];
    if (result->err != JZX_OK)
        return result->err; /* the end, for instance */
    snprintf(text, sizeof text, "%.*s", (int)result->len, (const char *)jzx_result_data(result));
    int len = snprintf(text, sizeof text, "%ld\n", calculate(ctx, text));
    return jzx_stream_write_to(ctx, stream, text, (size_t)len, ANSWERED, NULL);
}

static jzx_err begin(jzx_context *ctx, const jzx_message *msg) {
    memcpy(ctx->state, msg->data, sizeof(jzx_stream));
    return jzx_receive_timeout(ctx, JZX_NEVER);
}

/* The next request is read when the last answer is out: a peer that does not read is not served. */
static jzx_behavior_result connection(jzx_context *ctx, const jzx_message *msg) {
    const jzx_stream *stream = ctx->state;
    const jzx_result *result = msg->data;
    jzx_err err = JZX_ERR_TIMEOUT; /* JZX_TAG_RECEIVE_TIMEOUT */
    if (msg->tag == REQUEST)
        err = answer(ctx, *stream, result);
    else if (msg->tag == BEGIN)
        err = begin(ctx, msg);
    else if (msg->tag == ANSWERED)
        err = result->err;
    if (err == JZX_OK && msg->tag != REQUEST)
        err = jzx_stream_read_until_to(ctx, *stream, '\n', REQUEST_SIZE, REQUEST, NULL);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

/* ---- the listener ---- */

/* The same for every incarnation of the listener. */
struct server {
    char address[JZX_ADDRESS_MAX]; /* with the port that the first one was given */
    bool is_tried;                 /* by clients in the same program */
    jzx_listener listener;
    jzx_stream stream; /* accepted, while its actor starts */
};

/* At the first start an error ends the program: what does not work then is not going to. */
static jzx_err init_listener(jzx_context *ctx) {
    struct server *self = ctx->state;
    const jzx_stream_opts stream = JZX_STREAM_OPTS(.idle_ns = IDLE_NS);
    const jzx_listen_opts opts =
        JZX_LISTEN_OPTS(.connections_max = CONNECTIONS_MAX, .stream = &stream);
    jzx_err err = jzx_tcp_listen(ctx, self->address, &opts, &self->listener);
    if (err != JZX_OK)
        return err;
    jzx_listener_address(ctx->loop, self->listener, self->address, sizeof self->address);
    if (!self->is_tried) {
        printf("listening at %s\n", self->address);
        fflush(stdout);
    }
    return jzx_tcp_accept_to(ctx, self->listener, ACCEPTED, NULL);
}

/* The supervisor answers with JZX_TAG_CHILD_ADDED. */
static jzx_err add_connection(jzx_context *ctx) {
    const jzx_child_spec spec = {
        .behavior = connection, .init = init_connection, .mode = JZX_TEMPORARY};
    jzx_actor_id connections;
    jzx_err err = jzx_lookup(ctx->loop, "connections", &connections);
    return err != JZX_OK
               ? err
               : jzx_supervisor_add(ctx->loop, connections, &spec, sizeof spec, ctx->self);
}

static void begin_connection(jzx_context *ctx, struct server *self, jzx_actor_id id) {
    jzx_err err = jzx_stream_give(ctx, self->stream, id); /* JZX_NOBODY: it could not be started */
    if (err == JZX_OK)
        err = jzx_send(ctx->loop, id, ctx->self, &self->stream, sizeof self->stream, BEGIN);
    if (err != JZX_OK)
        jzx_stream_close(ctx->loop, self->stream);
}

static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    struct server *self = ctx->state;
    jzx_err err = JZX_OK;
    if (msg->tag == ACCEPTED) {
        const jzx_result *result = msg->data;
        err = result->err;
        if (err == JZX_OK) {
            self->stream = *(const jzx_stream *)jzx_result_data(result);
            err = add_connection(ctx);
        }
    } else if (msg->tag == JZX_TAG_CHILD_ADDED) {
        const jzx_child_added *added = msg->data;
        begin_connection(ctx, self, added->child);
        err = jzx_tcp_accept_to(ctx, self->listener, ACCEPTED, NULL);
    }
    return err == JZX_OK ? JZX_BEHAVIOR_OK
                         : JZX_BEHAVIOR_FAIL; /* the supervisor knows what to do */
}

/* ---- who reports ---- */

/* Connections have no names. The text of a check begins with its place, which is left out here. */
static void report(void *unused, const jzx_event *event) {
    (void)unused;
    if (event->kind != JZX_EVENT_ACTOR_FAIL)
        return;
    const char *space = strchr(event->detail, ' ');
    printf("crash: %s: %s\n", event->name != NULL ? event->name : "a connection",
           space != NULL ? space + 1 : event->detail);
    fflush(stdout);
}

/* ---- clients of its own ---- */

/* While the listener starts again, connects are refused. */
static jzx_stream connect_to(jzx_context *ctx, const char *address) {
    jzx_stream stream = JZX_NO_STREAM;
    while (jzx_tcp_connect(ctx, address, NULL, JZX_NEVER, &stream) == JZX_ERR_REFUSED)
        jzx_sleep(ctx, jzx_in(ctx, JZX_MS(10)));
    return stream;
}

static void ask(jzx_context *ctx, const char *name, jzx_stream stream, const char *request) {
    char line[REQUEST_SIZE];
    size_t len;
    int size = snprintf(line, sizeof line, "%s\n", request);
    jzx_stream_write(ctx, stream, line, (size_t)size, JZX_NEVER);
    if (jzx_stream_read_until(ctx, stream, '\n', line, sizeof line, JZX_NEVER, &len) == JZX_OK)
        printf("%s: %s = %.*s", name, request, (int)len, line);
    else
        printf("%s: %s: the connection is closed\n", name, request);
}

static void crash_listener(jzx_context *ctx) {
    jzx_actor_id id;
    jzx_message msg;
    jzx_lookup(ctx->loop, "listener", &id);
    jzx_monitor(ctx, id, NULL);
    jzx_actor_exit(ctx->loop, id, JZX_EXIT_FAIL, "operator: made to fail");
    jzx_receive_tag(ctx, JZX_TAG_DOWN, JZX_NEVER, &msg);
}

static void try_it(jzx_context *ctx) {
    const struct server *server = ctx->state;
    jzx_stream first = connect_to(ctx, server->address);
    jzx_stream second = connect_to(ctx, server->address);
    ask(ctx, "first", first, "add 1 2");
    ask(ctx, "second", second, "div 6 3");
    ask(ctx, "second", second, "div 1 0");
    ask(ctx, "first", first, "add 3 4");
    crash_listener(ctx);
    ask(ctx, "first", first, "add 5 6");
    ask(ctx, "third", connect_to(ctx, server->address), "add 7 8");
    jzx_loop_request_stop(ctx->loop);
}

/* ---- the tree ---- */

int main(int argc, char **argv) {
    struct server server = {.is_tried = argc == 1};
    const jzx_supervisor_opts connections = JZX_SUPERVISOR_OPTS(.strategy = JZX_DYNAMIC);
    const jzx_child_spec children[] = {
        {.name = "connections", .registered = "connections", .supervisor = &connections},
        {.name = "listener",
         .registered = "listener",
         .behavior = serve,
         .init = init_listener,
         .state = &server},
        {.name = "clients", .fiber = try_it, .state = &server, .mode = JZX_TEMPORARY},
    };
    if (argc > 2) {
        fprintf(stderr, "usage: %s [PORT]\n", argv[0]);
        return EXIT_FAILURE;
    }
    snprintf(server.address, sizeof server.address, "127.0.0.1:%s", argc == 2 ? argv[1] : "0");
    /* With one worker it prints the same every time. */
    jzx_loop *loop = jzx_loop_create(
        &JZX_CONFIG(.workers = server.is_tried ? 1 : 0, .log = {.level = JZX_LOG_OFF}));
    if (loop == NULL)
        return EXIT_FAILURE;
    jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = report), NULL);
    jzx_err err = jzx_spawn_supervisor(loop,
                                       &JZX_SUPERVISOR_OPTS(.name = "root", .children = children,
                                                            .child_size = sizeof children[0],
                                                            .child_count = server.is_tried ? 3 : 2),
                                       NULL);
    if (err == JZX_OK)
        err = jzx_loop_run(loop);
    if (err != JZX_OK)
        fprintf(stderr, "%s: %s\n", server.address, jzx_err_text(err));
    jzx_loop_destroy(loop);
    return err == JZX_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
