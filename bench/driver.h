/* SPDX-License-Identifier: MIT */
/* The parts of the driver: measuring a row in pairs of runs, and printing what came out. */
#ifndef JZX_BENCH_DRIVER_H
#define JZX_BENCH_DRIVER_H

#include "bench.h"

#include <stdio.h>

#define PAIRS_MIN 1u
#define PAIRS_MAX 999u
#define PAIRS_DEFAULT 15u

/* A distribution: what is left of many runs. */
struct spread {
    double median;
    double q1;
    double q3;
    double max;
};

struct side {
    uint64_t ops;          /* of one run */
    struct spread seconds; /* of one run */
    struct spread figure;  /* the row's unit for one operation */
};

struct measured {
    const struct bench *bench;
    bool failed; /* a run was wrong: nothing below is set */
    unsigned pairs;
    struct side jzx;
    struct side floor;   /* if the row has one */
    struct spread ratio; /* of the pairs, likewise */
};

/* Runs a row in pairs (ours, floor, ours, floor, ...), each run in a new process on that CPU. */
void measure(const struct bench *bench, unsigned pairs, int cpu, struct measured *measured);

/* Runs our side of a row once, in this process. */
void run_here(const struct bench *bench, struct bench_run *run);

/* The middle and the quartiles of count values, which are sorted for that. */
struct spread spread_of(double *values, unsigned count);

static inline bool has_floor(const struct measured *measured) {
    return measured->bench->floor_row != NULL;
}

/* Which of its limits the row keeps. A row without one keeps it. */
bool keeps_aim(const struct measured *measured);
bool keeps_ratio(const struct measured *measured);

/* "ns", "bytes" or "allocations". */
const char *unit_name(enum bench_unit unit);

/* The table: lines about where and how, the head, then a line for each row as it is done. */
void print_head(FILE *out, unsigned pairs, int cpu);
void print_row(FILE *out, const struct measured *measured);

/* One object for each side. */
void print_json(FILE *out, const struct measured *measured);

#endif
