/* SPDX-License-Identifier: MIT */
/* The load of the network rows: client KIND PORT CONNECTIONS REQUESTS SERVER_PID.
 *
 * tcp, udp, wall: each connection (with udp: each socket) has one request of 64 bytes under way;
 * when its echo is back, byte for byte, the next goes out, until REQUESTS were answered. Then it
 * prints what the server has used of all CPUs in that time, as the system accounts for its threads
 * (with wall: the time itself), and then the requests, 0, 0, requests per second, the median and
 * the 99th percentile of the round trip in microseconds, and what a request took of the server's
 * CPUs in microseconds. Connecting and the first round of requests do not count. With wall, which
 * is for servers that compute, a connection sends as soon as it is open, and not when all are: so
 * the server has work while it accepts.
 *
 * rate: requests are sent at a fixed rate, whatever the echoes do: see rate.c.
 *
 * JZX_BENCH_CLIENT_CPU pins it to that CPU. */
#include "load.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void check(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "client: %s: %s\n", what, errno == 0 ? "wrong" : strerror(errno));
    exit(1);
}

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

void sort_ns(uint64_t *values, uint64_t count) {
    qsort(values, count, sizeof values[0], compare);
}

double quantile_us(const uint64_t *sorted, uint64_t count, unsigned per_mille) {
    return (double)sorted[count * per_mille / 1000] * 1e-3;
}

/* What one thread has run, in nanoseconds. */
static uint64_t thread_cpu_ns(const char *pid, const char *tid) {
    char path[64];
    unsigned long long ns = 0;
    snprintf(path, sizeof path, "/proc/%.16s/task/%.16s/schedstat", pid, tid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0; /* it has ended */
    check(fscanf(file, "%llu", &ns) == 1, path);
    fclose(file);
    return ns;
}

static uint64_t process_cpu_ns(const char *pid) {
    char path[64];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "/proc/%.16s/task", pid);
    DIR *tasks = opendir(path);
    check(tasks != NULL, path);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        if (entry->d_name[0] != '.')
            sum += thread_cpu_ns(pid, entry->d_name);
    }
    closedir(tasks);
    return sum;
}

static void pin(void) {
    const char *cpu = getenv("JZX_BENCH_CLIENT_CPU");
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu == NULL) { /* the server may be pinned, and this process was started by it */
        for (size_t i = 0; i < CPU_SETSIZE; i++)
            CPU_SET(i, &set);
    } else {
        CPU_SET(strtoul(cpu, NULL, 10), &set);
    }
    check(sched_setaffinity(0, sizeof set, &set) == 0, "sched_setaffinity");
}

static void allow_descriptors(void) {
    struct rlimit limit;
    check(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    check(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

static void open_one(struct load *load, struct connection *connection, uint16_t port) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    int one = 1;
    connection->fd = socket(AF_INET, load->is_udp ? SOCK_DGRAM : SOCK_STREAM, 0);
    check(connection->fd >= 0, "socket");
    check(connect(connection->fd, (const void *)&to, sizeof to) == 0, "connect");
    if (!load->is_udp)
        check(setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0,
              "TCP_NODELAY");
    check(epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->fd, &event) == 0, "epoll_ctl");
}

static void fill(unsigned char *request, uint64_t number) {
    memset(request, (int)(number & 0xFF), BYTES);
    memcpy(request, &number, sizeof number);
}

void send_request(struct connection *connection) {
    unsigned char request[BYTES];
    fill(request, ++connection->sent);
    connection->sent_ns = now_ns();
    check(send(connection->fd, request, BYTES, MSG_DONTWAIT) == BYTES, "send");
}

bool take_echo(struct connection *connection) {
    unsigned char request[BYTES];
    ssize_t got = recv(connection->fd, connection->echo + connection->got, BYTES - connection->got,
                       MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return false;
    check(got > 0, "recv");
    connection->got += (uint32_t)got;
    if (connection->got < BYTES)
        return false;
    fill(request, ++connection->echoed);
    connection->got = 0;
    errno = 0;
    check(memcmp(request, connection->echo, BYTES) == 0, "the echo");
    return true;
}

int await_events(const struct load *load, struct epoll_event *events) {
    int count = epoll_wait(load->epoll, events, EVENTS_MAX, PATIENCE_MS);
    check(count > 0, "the server does not answer");
    return count;
}

/* Every connection has sent one. Until so many were answered. */
static void exchange(struct load *load, uint64_t requests, bool is_noted) {
    struct epoll_event events[EVENTS_MAX];
    uint64_t started = load->count;
    load->answered = 0;
    while (load->answered < requests) {
        int count = await_events(load, events);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (!take_echo(connection))
                continue;
            if (is_noted)
                load->delays_ns[load->answered] = now_ns() - connection->sent_ns;
            load->answered++;
            if (started < requests) {
                started++;
                send_request(connection);
            }
        }
    }
}

static void send_to_all(struct load *load) {
    for (uint32_t i = 0; i < load->count; i++)
        send_request(&load->connections[i]);
}

static void connect_all(struct load *load, const char *port, bool at_once) {
    for (uint32_t i = 0; i < load->count; i++) {
        open_one(load, &load->connections[i], (uint16_t)strtoul(port, NULL, 10));
        if (at_once)
            send_request(&load->connections[i]);
    }
    if (!at_once)
        send_to_all(load);
    exchange(load, load->count, false);
}

static void run_closed_loop(struct load *load, const char *pid, bool by_wall) {
    uint64_t cpu_ns = process_cpu_ns(pid);
    uint64_t start_ns = now_ns();
    send_to_all(load);
    exchange(load, load->requests, true);
    double seconds = (double)(now_ns() - start_ns) * 1e-9;
    double cpu_seconds = (double)(process_cpu_ns(pid) - cpu_ns) * 1e-9;
    double requests = (double)load->requests;
    sort_ns(load->delays_ns, load->requests);
    printf("%.9f %.0f 0 0 %.0f %.1f %.1f %.1f\n", by_wall ? seconds : cpu_seconds, requests,
           requests / seconds, quantile_us(load->delays_ns, load->requests, 500),
           quantile_us(load->delays_ns, load->requests, 990), cpu_seconds / requests * 1e6);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: client tcp|udp|wall|rate PORT CONNECTIONS REQUESTS SERVER_PID\n");
        return 2;
    }
    bool by_wall = strcmp(argv[1], "wall") == 0;
    struct load load = {.epoll = epoll_create1(0), .is_udp = strcmp(argv[1], "udp") == 0};
    load.count = (uint32_t)strtoul(argv[3], NULL, 10);
    load.requests = strtoull(argv[4], NULL, 10);
    load.requests = load.requests < load.count ? load.count : load.requests;
    load.connections = calloc(load.count, sizeof *load.connections);
    load.delays_ns = calloc(load.requests, sizeof *load.delays_ns);
    check(load.epoll >= 0 && load.connections != NULL && load.delays_ns != NULL, "set-up");
    pin();
    allow_descriptors();
    connect_all(&load, argv[2], by_wall);
    if (strcmp(argv[1], "rate") == 0)
        run_at_rate(&load);
    else
        run_closed_loop(&load, argv[5], by_wall);
    return 0;
}
