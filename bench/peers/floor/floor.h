/* SPDX-License-Identifier: MIT */
/* What the rows of the floor share. */
#ifndef JZX_BENCH_FLOOR_H
#define JZX_BENCH_FLOOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct result {
    double seconds;
    uint64_t ops;
    double amount; /* bytes; 0 in rows that count time alone */
};

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void check(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "floor: the check failed: %s\n", what);
        exit(1);
    }
}

/* Two threads that wake each other; the second time each sleeps for a while. */
void row_futex(uint64_t size, struct result *result);
void row_futex_slept(uint64_t size, struct result *result);

/* A plain timer wheel. */
void row_timer_fire(uint64_t size, struct result *result);
void row_timer_cancel(uint64_t size, struct result *result);

/* Echo servers; their client prints the result. */
void row_tcp_64(uint64_t size, struct result *result);
void row_tcp_1000(uint64_t size, struct result *result);
void row_udp_64(uint64_t size, struct result *result);

#endif
