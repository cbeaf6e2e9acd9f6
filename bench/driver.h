/* SPDX-License-Identifier: MIT */
/* The parts of the driver: what is to be compared, measuring a row in runs that take turns, and
 * printing what came out. */
#ifndef JZX_BENCH_DRIVER_H
#define JZX_BENCH_DRIVER_H

#include "bench.h"

#include <stdio.h>

#define PAIRS_MIN 1u
#define PAIRS_MAX 999u
#define PAIRS_DEFAULT 15u
#define PAIRS_TO_DECIDE 9u /* with fewer a ratio decides nothing */

/* A row is measured again, up to so many times the pairs that were asked for, while the quartiles
 * of its ratio are further apart than this: how it stands beside its limit does not matter. */
#define PAIRS_GROW 5u
#define QUARTILES_APART 1.15

/* Times the figure with fewer workers, for rows that have no limit of their own. */
#define SLOWDOWN_MAX 1.2

#define SIDES_MAX 8u
#define PEERS_BEST 2u /* so many run against us if not all do */
#define ANY_CPU BENCH_NO_CPU

/* ---- options ---- */

enum mode {
    MODE_FLOOR,   /* one worker against the floor */
    MODE_WORKERS, /* some workers against fewer */
    MODE_BALANCE, /* the same with every setting of config.balance */
    MODE_PEERS,   /* against other libraries */
    MODE_PROFILE, /* once, in this process */
};

struct options {
    enum mode mode;
    bool json;
    bool small;       /* sizes at which the figures mean nothing */
    bool every_peer;  /* in MODE_PEERS: not just the best two of a row */
    bool check;       /* say whether the options are right, and no more */
    const char *save; /* a file that gets what --json prints, or NULL */
    unsigned pairs;
    int cpu;          /* of runs with one worker, in MODE_FLOOR */
    uint32_t workers; /* 1 in MODE_FLOOR */
    uint32_t against; /* workers of the other side */
    jzx_balance balance;
    const struct bench *const *selected; /* up to a NULL */
};

/* Wrong use ends the process. The answer is valid until the next call. */
const struct options *options_parse(char **args);

/* ---- measuring ---- */

/* A distribution: what is left of many runs. */
struct spread {
    double median;
    double q1;
    double q3;
    double max;
};

/* What one side of a comparison runs. */
struct setup {
    bool floor;       /* the floor's row; the rest is about ours */
    const char *peer; /* that peer's row, or NULL */
    bool alone;       /* what the row runs alone */
    bool apart;       /* what the row runs in threads that share nothing */
    uint32_t workers;
    jzx_balance balance;
    uint64_t size;
    int cpu;       /* ANY_CPU: all that we may use */
    unsigned over; /* more than 1: a run on each of so many CPUs, one after the other */
    bool may_pin;  /* our threads, if the row asks for a gain */
    bool dump;     /* print what the loop says of itself at the end */
};

struct side {
    struct setup setup;
    uint64_t ops;                  /* of one run */
    struct spread seconds;         /* of one run */
    struct spread figure;          /* the row's unit for one operation */
    struct spread ratio;           /* to the reference, pair by pair */
    double notes[BENCH_NOTES_MAX]; /* medians */
    uint64_t handovers;            /* of all runs: the machine, or the row, held threads up */
};

struct measured {
    const struct bench *bench;
    bool failed;        /* a run was wrong: nothing below is set */
    unsigned pairs;     /* that were run */
    bool is_race;       /* the others are compared with the first side */
    bool has_reference; /* the last side: the others are compared with it */
    unsigned count;     /* of sides */
    struct side sides[SIDES_MAX];
};

/* So many pairs a row gets at first. */
unsigned pairs_of(const struct bench *bench, const struct options *options);

/* So many pairs a row gets at most. */
unsigned pairs_most(const struct options *options);

/* Runs the sides of a row in turn (first, second, second, first, ...), each run in a new
 * process. */
void measure(const struct bench *bench, const struct options *options, struct measured *measured);

/* One run in a new process. False if it failed, which it has said, or if a peer has no such row. */
bool run_once(const struct bench *bench, const struct setup *setup, struct bench_run *run);

/* The row's unit for one operation of the run. */
double figure_of(const struct bench *bench, const struct bench_run *run);

/* Runs our side of a row once, in this process. */
void run_here(const struct bench *bench, const struct setup *setup, struct bench_run *run);

/* The size for these options. */
uint64_t size_of(const struct bench *bench, const struct options *options);

/* ---- the race against the peers ---- */

/* All that there may be, up to a NULL. */
extern const char *const peer_names[];

/* Rows that the peers have, too. */
bool is_in_race(const struct bench *bench, uint32_t workers);

/* What the peers' programs call the row. */
const char *peer_row(const struct bench *bench);

/* The program of a peer, and whether it was built. */
void peer_path(char *path, size_t size, const char *peer);
bool peer_exists(const char *peer);

/* How long the race will take, about. */
double race_seconds(const struct options *options);

/* Adds the sides of the peers, the fastest first. */
void choose_peers(const struct options *options, struct measured *measured);

/* The figures of peers that cannot be run here, measured once: ", recorded: libdill 69.3". */
void print_recorded(FILE *out, const struct bench *bench, uint32_t workers);

/* How many times as long as ours every peer should take, 0: not asked; and whether they do. */
double lead_wanted(const struct bench *bench, uint32_t workers);
enum lead { LEAD_NO_PEER, LEAD_NONE_WANTED, LEAD_MISSED, LEAD_UNCLEAR, LEAD_REACHED };
enum lead lead_of(const struct measured *measured);
const char *lead_name(enum lead lead);

/* ---- verdicts ---- */

/* What the first side must keep; negative: nothing. */
struct limits {
    double aim;
    double ratio;
};

struct limits limits_of(const struct measured *measured);

/* Which of its limits the row keeps. A row without one keeps it. */
bool keeps_aim(const struct measured *measured);
bool keeps_ratio(const struct measured *measured);

/* ---- printing ---- */

/* "ns", "bytes", "allocations" or "switches"; "adaptive", "eager" or "none". */
const char *unit_name(enum bench_unit unit);
const char *balance_name(jzx_balance balance);

/* Of the row's mailboxes. */
const char *cap_of(const struct bench *bench);

/* The commit that is measured, as the caller says. */
const char *commit_name(void);

/* "ok", or which limits are missed. */
const char *verdict_of(const struct measured *measured);

/* The table: lines about where and how, the head, then a line for each row as it is done. */
void print_head(FILE *out, const struct options *options);
void print_row(FILE *out, const struct options *options, const struct measured *measured);

/* One object for each side. */
void print_json(FILE *out, const struct measured *measured);

#endif
