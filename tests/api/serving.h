/* SPDX-License-Identifier: MIT */
/* Echo servers to attack, and clients on plain blocking sockets that know nothing of libjzx. */
#ifndef JZX_TEST_SERVING_H
#define JZX_TEST_SERVING_H

#include "descriptors.h"
#include "fixture.h"

#include <jzx/tcp.h>

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SERVE = 1, ACCEPTED, BEGIN, DATA, WRITTEN, READ, LEAVE };

/* How connections are served. */
enum manner { BY_ACTIVE, BY_MESSAGE, BY_FIBER, MANNERS };

struct server {
    jzx_loop *loop;
    jzx_actor_id id;
    enum manner manner;
    const jzx_listen_opts *opts; /* or NULL */
    jzx_listener listener;
    _Atomic uint16_t port;
    sem_t is_open;
    _Atomic uint32_t accepted;
    _Atomic uint32_t ended; /* connections */
    int open_before;
};

/* ---- connections ---- */

static struct server *serving; /* the server of the test */

static void connection_ended(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx, (void)reason;
    serving->ended++;
}

static inline jzx_behavior_result serve_active(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == BEGIN) {
        jzx_stream stream = *(const jzx_stream *)msg->data;
        jzx_err err = jzx_stream_active(ctx, stream, DATA, JZX_STREAM_ALWAYS);
        return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
    }
    if (msg->tag != DATA)
        return JZX_BEHAVIOR_OK; /* of a queue that is full or not any more */
    const jzx_stream_event *event = msg->data;
    if (event->kind != JZX_STREAM_DATA)
        return JZX_BEHAVIOR_STOP;
    jzx_err err = jzx_stream_send(ctx, event->stream, jzx_stream_data(event), event->len);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

/* Reads and writes by turns, each completed by a message; its state is the stream. */
static inline jzx_behavior_result serve_by_message(jzx_context *ctx, const jzx_message *msg) {
    jzx_stream *stream = ctx->state;
    const jzx_result *result = msg->data;
    jzx_err err = JZX_OK;
    jzx_test_ran();
    if (msg->tag == BEGIN)
        *stream = *(const jzx_stream *)msg->data;
    else if (msg->tag == READ || msg->tag == WRITTEN)
        err = (jzx_err)result->err;
    else
        return JZX_BEHAVIOR_OK;
    if (err == JZX_OK && msg->tag == READ)
        err =
            jzx_stream_write_to(ctx, *stream, jzx_result_data(result), result->len, WRITTEN, NULL);
    else if (err == JZX_OK)
        err = jzx_stream_read_to(ctx, *stream, 4096, READ, NULL);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

static void free_stream(jzx_context *ctx, jzx_exit_reason reason) {
    free(ctx->state);
    connection_ended(ctx, reason);
}

static inline void serve_by_fiber(jzx_context *ctx) {
    char buffer[4096];
    jzx_message msg;
    size_t len;
    jzx_test_ran();
    if (jzx_receive_tag(ctx, BEGIN, JZX_NEVER, &msg) != JZX_OK)
        return;
    jzx_stream stream = *(const jzx_stream *)msg.data;
    while (jzx_stream_read(ctx, stream, buffer, sizeof buffer, JZX_NEVER, &len) == JZX_OK) {
        if (jzx_stream_write(ctx, stream, buffer, len, JZX_NEVER) != JZX_OK)
            return;
    }
}

static inline jzx_spawn_opts connection_opts(enum manner manner) {
    switch (manner) {
    case BY_ACTIVE: return JZX_SPAWN_OPTS(.behavior = serve_active, .cleanup = connection_ended);
    case BY_MESSAGE:
        return JZX_SPAWN_OPTS(.behavior = serve_by_message, .cleanup = free_stream,
                              .state = calloc(1, sizeof(jzx_stream)));
    default: return JZX_SPAWN_OPTS(.fiber = serve_by_fiber, .cleanup = connection_ended);
    }
}

/* ---- the server ---- */

static inline void begin_connection(jzx_context *ctx, struct server *self, jzx_stream stream) {
    jzx_actor_id id;
    const jzx_spawn_opts opts = connection_opts(self->manner);
    self->accepted++;
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &opts, &id), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_give(ctx, stream, id), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN), JZX_OK);
}

static inline void open_listener(jzx_context *ctx, struct server *self) {
    char address[JZX_ADDRESS_MAX];
    JZX_EXPECT_EQ(jzx_tcp_listen(ctx, "127.0.0.1:0", self->opts, &self->listener), JZX_OK);
    JZX_EXPECT_EQ(jzx_listener_address(ctx->loop, self->listener, address, sizeof address), JZX_OK);
    self->port = (uint16_t)atoi(strrchr(address, ':') + 1);
    sem_post(&self->is_open);
}

/* Accepts until it is told to leave; its connections end when their clients do. */
static inline jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    struct server *self = ctx->state;
    const jzx_result *result = msg->data;
    jzx_test_ran();
    switch (msg->tag) {
    case SERVE: open_listener(ctx, self); break;
    case ACCEPTED:
        if (!JZX_EXPECT_EQ(result->err, JZX_OK))
            return JZX_BEHAVIOR_STOP;
        begin_connection(ctx, self, *(const jzx_stream *)jzx_result_data(result));
        break;
    default: return JZX_BEHAVIOR_STOP;
    }
    JZX_EXPECT_EQ(jzx_tcp_accept_to(ctx, self->listener, ACCEPTED, NULL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static inline void server_open(struct server *server, uint32_t workers, enum manner manner) {
    serving = server;
    server->manner = manner;
    server->port = 0;
    server->accepted = server->ended = 0;
    server->open_before = descriptors_open();
    assert_int_equal(sem_init(&server->is_open, 0, 0), 0);
    server->loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_non_null(server->loop);
    server->id = fixture_spawn(server->loop, &JZX_SPAWN_OPTS(.behavior = serve, .state = server));
    fixture_send(server->loop, server->id, SERVE);
}

/* Of a client, when it is done. */
static inline void server_leave(struct server *server) {
    fixture_send(server->loop, server->id, LEAVE);
}

/* Everything that was accepted has ended, and no descriptor is left. */
static inline void server_close(struct server *server) {
    JZX_EXPECT_EQ(server->ended, server->accepted);
    fixture_destroy(server->loop);
    sem_destroy(&server->is_open);
    JZX_EXPECT_EQ(descriptors_open(), server->open_before);
}

/* Runs the loop beside a client on a thread of its own. */
static inline void server_run(struct server *server, void *(*client)(void *arg)) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, client, server), 0);
    assert_int_equal(jzx_loop_run(server->loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- clients ---- */

static inline uint16_t await_port(struct server *server) {
    while (sem_wait(&server->is_open) != 0 && errno == EINTR) {
    }
    sem_post(&server->is_open);
    return server->port;
}

/* Connected, or -1: the system has no descriptor for it. */
static inline int client_connect(uint16_t port) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    while (connect(fd, (const void *)&to, sizeof to) != 0) {
        if (!JZX_EXPECT(errno == EINTR)) {
            close(fd);
            return -1;
        }
    }
    return fd;
}

static inline bool send_all(int fd, const void *data, size_t len) {
    for (size_t sent = 0; sent < len;) {
        ssize_t now = send(fd, (const char *)data + sent, len - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return false;
        sent += (size_t)now;
    }
    return true;
}

/* False at the end, or an error. */
static inline bool receive_all(int fd, void *data, size_t len) {
    for (size_t got = 0; got < len;) {
        ssize_t now = recv(fd, (char *)data + got, len - got, 0);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return false;
        got += (size_t)now;
    }
    return true;
}

/* One request and its echo. */
static inline void client_ask(int fd, uint64_t number) {
    uint64_t echo = ~number;
    JZX_EXPECT(send_all(fd, &number, sizeof number));
    JZX_EXPECT(receive_all(fd, &echo, sizeof echo));
    JZX_EXPECT_EQ(echo, number);
}

/* Ends the connection by a reset. */
static inline void client_reset(int fd) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    JZX_EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    close(fd);
}

#endif
