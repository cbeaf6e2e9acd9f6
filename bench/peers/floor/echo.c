/* SPDX-License-Identifier: MIT */
/* The naive event loop: one thread, epoll by level, a read and a write for each event. What is read
 * is written at once; with requests of 64 bytes a socket always has room for that. */
#include "floor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define BUFFER_SIZE 4096

static void must(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static int open_server(int type, uint16_t *port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(fd >= 0 && bind(fd, (const void *)&at, sizeof at) == 0, "bind");
    must(type == SOCK_DGRAM || listen(fd, 1024) == 0, "listen");
    must(getsockname(fd, (void *)&at, &size) == 0, "getsockname");
    *port = ntohs(at.sin_port);
    return fd;
}

static void start_client(const char *kind, uint16_t port, uint32_t connections, uint64_t size) {
    char arguments[4][24];
    const char *client = getenv("JZX_BENCH_CLIENT");
    must(client != NULL, "JZX_BENCH_CLIENT");
    snprintf(arguments[0], sizeof arguments[0], "%u", port);
    snprintf(arguments[1], sizeof arguments[1], "%u", connections);
    snprintf(arguments[2], sizeof arguments[2], "%llu", (unsigned long long)size);
    snprintf(arguments[3], sizeof arguments[3], "%d", (int)getpid());
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        execl(client, client, kind, arguments[0], arguments[1], arguments[2], arguments[3],
              (char *)NULL);
        must(false, client);
    }
}

/* A descriptor that can be read when the client has ended. */
static int open_end(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    must(sigprocmask(SIG_BLOCK, &signals, NULL) == 0, "sigprocmask");
    int fd = signalfd(-1, &signals, SFD_CLOEXEC);
    must(fd >= 0, "signalfd");
    return fd;
}

static void watch(int epoll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

static void accept_one(int epoll, int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        watch(epoll, fd);
}

static void echo_stream(int fd) {
    char buffer[BUFFER_SIZE];
    ssize_t got = read(fd, buffer, sizeof buffer);
    if (got > 0)
        must(write(fd, buffer, (size_t)got) == got, "write");
    else if (got == 0 || errno != EAGAIN)
        close(fd);
}

static void echo_datagram(int fd) {
    char buffer[BUFFER_SIZE];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    ssize_t got = recvfrom(fd, buffer, sizeof buffer, 0, (void *)&from, &size);
    if (got >= 0)
        must(sendto(fd, buffer, (size_t)got, 0, (const void *)&from, size) == got, "sendto");
}

static void allow_descriptors(void) {
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

/* The client prints the result. */
__attribute__((noreturn)) static void serve(const char *kind, uint32_t connections, uint64_t size) {
    uint16_t port;
    bool is_udp = strcmp(kind, "udp") == 0;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    allow_descriptors();
    int server = open_server(is_udp ? SOCK_DGRAM : SOCK_STREAM, &port);
    int end = open_end();
    watch(epoll, server);
    watch(epoll, end);
    start_client(kind, port, connections, size);
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == end) {
                int status = 0;
                must(wait(&status) > 0, "wait");
                exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
            }
            if (fd != server)
                echo_stream(fd);
            else if (is_udp)
                echo_datagram(fd);
            else
                accept_one(epoll, fd);
        }
    }
}

void row_tcp_64(uint64_t size, struct result *result) {
    (void)result;
    serve("tcp", 64, size);
}

void row_tcp_1000(uint64_t size, struct result *result) {
    (void)result;
    serve("tcp", 1000, size);
}

void row_udp_64(uint64_t size, struct result *result) {
    (void)result;
    serve("udp", 64, size);
}
