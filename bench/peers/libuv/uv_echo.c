/* SPDX-License-Identifier: MIT */
/* Echo servers: a loop for each worker, and a listener with SO_REUSEPORT for each loop. One buffer
 * for all reads; what is read is written at once, or, if the socket has no room, by a request. */
#define _GNU_SOURCE
#include "uv_echo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#define BUFFER_SIZE 65536

static void must(int result, const char *what) {
    if (result < 0) {
        fprintf(stderr, "libuv: %s: %s\n", what, uv_strerror(result));
        exit(1);
    }
}

struct server {
    uv_loop_t loop;
    uv_tcp_t listener;
    uv_udp_t socket;
    char buffer[BUFFER_SIZE];
};

static void use_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
    struct server *server = handle->loop->data;
    (void)suggested;
    *buffer = uv_buf_init(server->buffer, sizeof server->buffer);
}

static void on_close(uv_handle_t *handle) {
    free(handle);
}

static void on_written(uv_write_t *request, int status) {
    (void)status;
    free(request);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer) {
    if (got < 0) {
        uv_close((uv_handle_t *)stream, on_close);
        return;
    }
    uv_buf_t out = uv_buf_init(buffer->base, (unsigned)got);
    int written = uv_try_write(stream, &out, 1);
    if (written == got || got == 0)
        return;
    size_t sent = written < 0 ? 0 : (size_t)written;
    uv_write_t *request = malloc(sizeof *request + (size_t)got - sent);
    must(request == NULL ? UV_ENOMEM : 0, "memory");
    memcpy(request + 1, buffer->base + sent, (size_t)got - sent);
    out = uv_buf_init((char *)(request + 1), (unsigned)((size_t)got - sent));
    must(uv_write(request, stream, &out, 1, on_written), "uv_write");
}

static void on_connection(uv_stream_t *listener, int status) {
    uv_tcp_t *stream = malloc(sizeof *stream);
    must(status, "uv_listen");
    must(stream == NULL ? UV_ENOMEM : 0, "memory");
    must(uv_tcp_init(listener->loop, stream), "uv_tcp_init");
    must(uv_accept(listener, (uv_stream_t *)stream), "uv_accept");
    must(uv_tcp_nodelay(stream, 1), "uv_tcp_nodelay");
    must(uv_read_start((uv_stream_t *)stream, use_buffer, on_read), "uv_read_start");
}

static void on_datagram(uv_udp_t *socket, ssize_t got, const uv_buf_t *buffer,
                        const struct sockaddr *from, unsigned flags) {
    (void)flags;
    if (from == NULL)
        return;
    must((int)got, "uv_udp_recv");
    uv_buf_t out = uv_buf_init(buffer->base, (unsigned)got);
    must(uv_udp_try_send(socket, &out, 1, from), "uv_udp_try_send");
}

/* At a port of its own, or at that of another listener. */
static int bind_socket(int type, unsigned *port) {
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    int one = 1;
    must(uv_ip4_addr("127.0.0.1", (int)*port, &at), "uv_ip4_addr");
    int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) != 0 ||
        bind(fd, (const void *)&at, sizeof at) != 0 || getsockname(fd, (void *)&at, &size) != 0)
        must(-errno, "bind");
    *port = ntohs(at.sin_port);
    return fd;
}

static void open_server(struct server *server, int is_udp, unsigned *port) {
    must(uv_loop_init(&server->loop), "uv_loop_init");
    server->loop.data = server;
    int fd = bind_socket(is_udp ? SOCK_DGRAM : SOCK_STREAM, port);
    if (is_udp) {
        must(uv_udp_init(&server->loop, &server->socket), "uv_udp_init");
        must(uv_udp_open(&server->socket, fd), "uv_udp_open");
        must(uv_udp_recv_start(&server->socket, use_buffer, on_datagram), "uv_udp_recv_start");
    } else {
        must(uv_tcp_init(&server->loop, &server->listener), "uv_tcp_init");
        must(uv_tcp_open(&server->listener, fd), "uv_tcp_open");
        must(uv_listen((uv_stream_t *)&server->listener, 1024, on_connection), "uv_listen");
    }
}

static void run_server(void *arg) {
    struct server *server = arg;
    uv_run(&server->loop, UV_RUN_DEFAULT);
}

static pid_t start_client(const char *kind, unsigned port, unsigned connections, uint64_t size) {
    char arguments[4][24];
    const char *client = getenv("JZX_BENCH_CLIENT");
    snprintf(arguments[0], sizeof arguments[0], "%u", port);
    snprintf(arguments[1], sizeof arguments[1], "%u", connections);
    snprintf(arguments[2], sizeof arguments[2], "%llu", (unsigned long long)size);
    snprintf(arguments[3], sizeof arguments[3], "%d", (int)getpid());
    pid_t child = fork();
    if (child == 0) {
        execl(client, client, kind, arguments[0], arguments[1], arguments[2], arguments[3],
              (char *)NULL);
        must(-errno, "exec of the client");
    }
    must(child < 0 ? -errno : 0, "fork");
    return child;
}

/* The client prints the result; the process ends with it. */
static void await_client(void *arg) {
    int status = 0;
    while (waitpid(*(pid_t *)arg, &status, 0) < 0 && errno == EINTR) {
    }
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

void serve_echo(const char *kind, unsigned connections, uint64_t size, unsigned workers) {
    static struct server servers[8];
    static pid_t client;
    uv_thread_t thread;
    unsigned port = 0;
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
    workers = workers < 1 ? 1 : workers > 8 ? 8 : workers;
    for (unsigned i = 0; i < workers; i++)
        open_server(&servers[i], strcmp(kind, "udp") == 0, &port);
    client = start_client(kind, port, connections, size);
    must(uv_thread_create(&thread, await_client, &client), "uv_thread_create");
    for (unsigned i = 1; i < workers; i++)
        must(uv_thread_create(&thread, run_server, &servers[i]), "uv_thread_create");
    run_server(&servers[0]);
}
