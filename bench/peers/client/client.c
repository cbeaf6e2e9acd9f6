/* SPDX-License-Identifier: MIT */
/* The load of the network rows: client tcp|udp PORT CONNECTIONS REQUESTS SERVER_PID.
 *
 * Each connection (with UDP: each socket) has one request of 64 bytes under way; when its echo is
 * back, byte for byte, the next goes out, until REQUESTS were answered. Then it prints what the
 * server has used of all CPUs in that time, as the system accounts for its threads, and then the
 * requests, 0, 0, requests per second, and the median and the 99th percentile of the round trip in
 * microseconds. Connecting and the first round of requests do not count.
 *
 * JZX_BENCH_CLIENT_CPU pins it to that CPU. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BYTES 64u
#define EVENTS_MAX 256

struct connection {
    int fd;
    uint32_t got;
    uint64_t sent_ns;
    uint64_t sequence;
    unsigned char request[BYTES];
    unsigned char echo[BYTES];
};

struct load {
    int epoll;
    bool is_udp;
    uint32_t count;
    struct connection *connections;
    uint64_t answered;
    uint64_t *delays_ns;
};

__attribute__((noreturn)) static void fail(const char *what) {
    fprintf(stderr, "client: %s: %s\n", what, errno == 0 ? "wrong" : strerror(errno));
    exit(1);
}

static void check(bool holds, const char *what) {
    if (!holds)
        fail(what);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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
        for (int i = 0; i < CPU_SETSIZE; i++)
            CPU_SET(i, &set);
    } else {
        CPU_SET(atoi(cpu), &set);
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

static void send_request(struct connection *connection) {
    connection->sequence++;
    connection->got = 0;
    memset(connection->request, (int)(connection->sequence & 0xFF), BYTES);
    memcpy(connection->request, &connection->sequence, sizeof connection->sequence);
    connection->sent_ns = now_ns();
    check(send(connection->fd, connection->request, BYTES, 0) == BYTES, "send");
}

/* True if the whole echo is there. */
static bool take_echo(struct connection *connection) {
    ssize_t got = recv(connection->fd, connection->echo + connection->got, BYTES - connection->got,
                       MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return false;
    check(got > 0, "recv");
    connection->got += (uint32_t)got;
    if (connection->got < BYTES)
        return false;
    errno = 0;
    check(memcmp(connection->request, connection->echo, BYTES) == 0, "the echo");
    return true;
}

/* Until so many were answered; of those that are not noted every connection sends one. */
static void exchange(struct load *load, uint64_t requests, bool is_noted) {
    struct epoll_event events[EVENTS_MAX];
    uint64_t started = load->count;
    load->answered = 0;
    for (uint32_t i = 0; i < load->count; i++)
        send_request(&load->connections[i]);
    while (load->answered < requests) {
        int count = epoll_wait(load->epoll, events, EVENTS_MAX, 10000);
        check(count > 0, "the server does not answer");
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

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: client tcp|udp PORT CONNECTIONS REQUESTS SERVER_PID\n");
        return 2;
    }
    struct load load = {.epoll = epoll_create1(0), .is_udp = strcmp(argv[1], "udp") == 0};
    uint64_t requests = strtoull(argv[4], NULL, 10);
    load.count = (uint32_t)strtoul(argv[3], NULL, 10);
    requests = requests < load.count ? load.count : requests;
    load.connections = calloc(load.count, sizeof *load.connections);
    load.delays_ns = calloc(requests, sizeof *load.delays_ns);
    check(load.epoll >= 0 && load.connections != NULL && load.delays_ns != NULL, "set-up");
    pin();
    allow_descriptors();
    for (uint32_t i = 0; i < load.count; i++)
        open_one(&load, &load.connections[i], (uint16_t)strtoul(argv[2], NULL, 10));
    exchange(&load, load.count, false);

    uint64_t cpu_ns = process_cpu_ns(argv[5]);
    uint64_t start_ns = now_ns();
    exchange(&load, requests, true);
    double seconds = (double)(now_ns() - start_ns) * 1e-9;
    cpu_ns = process_cpu_ns(argv[5]) - cpu_ns;

    qsort(load.delays_ns, requests, sizeof *load.delays_ns, compare);
    printf("%.9f %llu 0 0 %.0f %.1f %.1f\n", (double)cpu_ns * 1e-9, (unsigned long long)requests,
           (double)requests / seconds, (double)load.delays_ns[requests / 2] * 1e-3,
           (double)load.delays_ns[requests * 99 / 100] * 1e-3);
    return 0;
}
