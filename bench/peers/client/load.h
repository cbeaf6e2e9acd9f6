/* SPDX-License-Identifier: MIT */
/* What the loads of the client share: connections, requests that are numbered, and their echoes. */
#ifndef JZX_BENCH_LOAD_H
#define JZX_BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define BYTES 64u /* of a request */
#define EVENTS_MAX 256
#define PATIENCE_MS 10000 /* with a server that is silent */

struct connection {
    int fd;
    uint32_t got;     /* bytes of the next echo */
    uint64_t sent;    /* requests; each carries its number */
    uint64_t echoed;  /* of them */
    uint64_t sent_ns; /* the last one */
    unsigned char echo[BYTES];
};

struct load {
    int epoll; /* its events carry connections */
    bool is_udp;
    uint32_t count; /* of connections */
    struct connection *connections;
    uint64_t requests; /* that are measured */
    uint64_t answered;
    uint64_t *delays_ns; /* of those */
};

/* Ends this process with a message unless it holds. */
void check(bool holds, const char *what);

/* Monotonic time. */
uint64_t now_ns(void);

/* Least first; and such a share of sorted ones is below that. */
void sort_ns(uint64_t *values, uint64_t count);
double quantile_us(const uint64_t *sorted, uint64_t count, unsigned per_mille);

void send_request(struct connection *connection);

/* Reads. True if a whole echo has come, and equals its request; the next may wait behind it. */
bool take_echo(struct connection *connection);

/* At least one event. */
int await_events(const struct load *load, struct epoll_event *events);

/* Every connection is open and has had an echo. Runs the load, and prints what came out. */
void run_at_rate(struct load *load);

#endif
