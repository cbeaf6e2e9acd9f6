/* SPDX-License-Identifier: MIT */
/* The race: our rows and those of the peers, side by side. Which peers there are is what
 * `./jzx bench --peers` could build; which two are the best for a row shows a trial run of each. */
#include "driver.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* So long a peer's run should take. Its size is ours or less. */
#define PEER_SECONDS 0.25
#define TRIAL_SHARE 20u

/* What a trial and a run take on the average, with the start of a process. */
#define TRIAL_SECONDS 0.6
#define RUN_SECONDS 0.3
#define RUN_SECONDS_ALL 0.5 /* the slow ones are among them */

/* What we want to reach: so many times the best peer's figure, with one worker and with two; 0: no
 * aim. And the sizes that a row cannot do without. */
static const struct heat {
    const char *name;
    double lead;
    double lead_2;
    bool is_fixed;     /* a part of the size is another problem, or none */
    const char *among; /* whom we want to be ahead of; NULL: all */
} heats[] = {
    {"pingpong", 8, 8, false, NULL},
    {"ring", 8, 8, false, NULL},
    {"counting", 2, 2, false, NULL},
    {"fanin", 2, 1.6, false, NULL},
    {"big", 4, 4, false, NULL},
    {"create", 6, 6, false, NULL},
    {"forkjoin", 2, 2, false, NULL},
    {"skynet", 6, 6, true, NULL},
    {"fib", 4.5, 10, false, NULL},
    {"chameneos", 6, 6, false, NULL},
    {"memory", 3, 0, true, NULL},
    {"philosophers", 0, 0, false, NULL},
    {"buffer", 0, 0, false, NULL},
    {"dictionary", 0, 0, false, NULL},
    {"quicksort", 0, 0, true, NULL},
    {"nqueens", 0, 0, true, NULL},
    {"sieve", 0, 0, true, NULL},
    {"chat", 0, 0, false, NULL},
    {"timer-cancel", 1, 1, false, NULL},
    {"timer-fire", 8, 0, true, NULL},
    {"wake", 0, 0, false, NULL},
    {"restart", 3, 3, false, NULL},
    {"monitor", 3, 3, false, NULL},
    {"fiber-trip", 1, 0, false, "erlang go boostfiber"},
    {"async-await", 1, 1, false, NULL},
    {"async-join", 1, 1, false, NULL},
    {"async-spawn", 1, 1, false, NULL},
    {"sync-mutex", 1, 1, false, "tokio"},
    {"sync-semaphore", 1, 1, false, "tokio"},
    {"sync-channel", 1, 1, false, "tokio"},
    {"sync-fanin", 1, 1, false, "tokio"},
    {"sync-broadcast", 1, 1, false, "tokio"},
    {"tcp-64", 0.95, 0, false, NULL},
    {"tcp-1000", 0.95, 0, false, NULL},
    {"tcp-fiber-64", 0.95, 0, false, NULL},
    {"tcp-fiber-1000", 0.95, 0, false, NULL},
    {"udp-64", 0.95, 0, false, NULL},
    {"udp-fiber-64", 0.95, 0, false, NULL},
    {"latency-none", 1, 1, true, "tokio go"},
    {"latency-1x5ms", 1, 1, true, "tokio go"},
    {"latency-1x50ms", 1, 1, true, "tokio go"},
    {"latency-4x5ms", 1, 1, true, "tokio go"},
    {"latency-server", 0, 0, true, NULL},
    {"latency-fresh", 0, 0, true, NULL},
    {"latency-old", 0, 0, true, NULL},
};

#define HEAT_COUNT (sizeof heats / sizeof heats[0])

const char *const peer_names[] = {"erlang", "go", "tokio", "caf", "boostfiber", "libuv", NULL};

static const struct heat *heat_of(const struct bench *bench) {
    for (size_t i = 0; i < HEAT_COUNT; i++) {
        if (strcmp(heats[i].name, bench->name) == 0)
            return &heats[i];
    }
    return NULL;
}

const char *peer_row(const struct bench *bench) {
    return bench->peer_row != NULL ? bench->peer_row : bench->name;
}

/* False if the row is about others: such a peer is shown with --peers=all, and decides nothing. */
static bool is_rival(const struct heat *heat, const char *peer) {
    return heat->among == NULL || strstr(heat->among, peer) != NULL;
}

bool is_in_race(const struct bench *bench, uint32_t workers) {
    if (heat_of(bench) == NULL)
        return false;
    return bench->kind == BENCH_BOTH || (bench->kind == BENCH_SEVERAL) == (workers > 1);
}

double lead_wanted(const struct bench *bench, uint32_t workers) {
    const struct heat *heat = heat_of(bench);
    return heat == NULL ? 0 : workers == 1 ? heat->lead : workers == 2 ? heat->lead_2 : 0;
}

/* ---- the programs ---- */

/* Beside the directory of this program: build/bench/jzx_bench, build/peers/go/prog. */
void peer_path(char *path, size_t size, const char *peer) {
    char own[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
    BENCH_CHECK(len > 0);
    own[len] = '\0';
    for (unsigned i = 0; i < 2; i++) {
        char *slash = strrchr(own, '/');
        BENCH_CHECK(slash != NULL);
        *slash = '\0';
    }
    int written = snprintf(path, size, "%s/peers/%s/prog", own, peer);
    BENCH_CHECK(written > 0 && (size_t)written < size);
}

bool peer_exists(const char *peer) {
    char path[PATH_MAX];
    peer_path(path, sizeof path, peer);
    return access(path, X_OK) == 0;
}

/* A trial of each peer unless it is known who runs, and then of every side as many runs as there
 * are pairs. */
static double row_seconds(const struct bench *bench, const struct options *options) {
    const char *known = bench->peers;
    unsigned peers = 0;
    for (const char *const *peer = peer_names; *peer != NULL; peer++)
        peers += peer_exists(*peer) && (known == NULL || strstr(known, *peer) != NULL);
    double trials = known == NULL ? peers * TRIAL_SECONDS : 0;
    if (known == NULL && !options->every_peer && peers > PEERS_BEST)
        peers = PEERS_BEST;
    double run_seconds = bench->run_seconds > 0 ? bench->run_seconds
                         : options->every_peer  ? RUN_SECONDS_ALL
                                                : RUN_SECONDS;
    return trials + pairs_of(bench, options) * (1 + peers) * run_seconds;
}

double race_seconds(const struct options *options) {
    double seconds = 0;
    for (const struct bench *const *bench = options->selected; *bench != NULL; bench++)
        seconds += row_seconds(*bench, options);
    return seconds;
}

/* ---- who runs ---- */

/* The size at which a run of this peer takes about PEER_SECONDS. */
static uint64_t size_for(const struct heat *heat, uint64_t trial, double seconds, uint64_t ours) {
    if (heat->is_fixed || seconds <= 0)
        return ours;
    double size = (double)trial * PEER_SECONDS / seconds;
    return size >= (double)ours ? ours : size < 1 ? 1 : (uint64_t)size;
}

struct candidate {
    struct setup setup;
    double figure;
};

/* One run of a peer that is not counted. False if it has no such row, or fails. */
static bool try_peer(const struct bench *bench, const struct setup *ours, const char *peer,
                     struct candidate *candidate) {
    const struct heat *heat = heat_of(bench);
    struct bench_run run = {0};
    candidate->setup = *ours;
    candidate->setup.peer = peer;
    if (!heat->is_fixed && ours->size >= TRIAL_SHARE)
        candidate->setup.size = ours->size / TRIAL_SHARE;
    if (!peer_exists(peer) || !run_once(bench, &candidate->setup, &run))
        return false;
    candidate->figure = figure_of(bench, &run);
    candidate->setup.size = size_for(heat, candidate->setup.size, run.seconds, ours->size);
    return true;
}

/* Puts a candidate in its place, best first. */
static void rank(struct candidate *ranked, unsigned count, struct candidate candidate) {
    unsigned place = count;
    while (place > 0 && ranked[place - 1].figure > candidate.figure) {
        ranked[place] = ranked[place - 1];
        place--;
    }
    ranked[place] = candidate;
}

/* Adds those that are always there. */
static void add_known(struct measured *measured, const char *known) {
    const struct setup ours = measured->sides[0].setup;
    for (const char *const *peer = peer_names; *peer != NULL; peer++) {
        if (strstr(known, *peer) == NULL || !peer_exists(*peer))
            continue;
        struct setup *setup = &measured->sides[measured->count++].setup;
        *setup = ours;
        setup->peer = *peer;
    }
}

void choose_peers(const struct options *options, struct measured *measured) {
    const char *known = measured->bench->peers;
    if (known != NULL) {
        add_known(measured, known);
        return;
    }
    struct candidate ranked[SIDES_MAX];
    unsigned count = 0;
    const struct setup ours = measured->sides[0].setup;
    for (const char *const *peer = peer_names; *peer != NULL; peer++) {
        struct candidate candidate;
        if (!options->every_peer && !is_rival(heat_of(measured->bench), *peer))
            continue;
        if (try_peer(measured->bench, &ours, *peer, &candidate))
            rank(ranked, count++, candidate);
    }
    if (!options->every_peer && count > PEERS_BEST)
        count = PEERS_BEST;
    for (unsigned i = 0; i < count; i++)
        measured->sides[measured->count++].setup = ranked[i].setup;
}

/* ---- verdicts ---- */

/* Whether every peer takes as many times as long as ours as is wanted; unclear if that lies between
 * the quartiles of the nearest one. */
enum lead lead_of(const struct measured *measured) {
    const struct heat *heat = heat_of(measured->bench);
    double wanted = lead_wanted(measured->bench, measured->sides[0].setup.workers);
    unsigned nearest = 0;
    for (unsigned i = 1; i < measured->count; i++) {
        if (is_rival(heat, measured->sides[i].setup.peer) &&
            (nearest == 0 ||
             measured->sides[i].ratio.median < measured->sides[nearest].ratio.median))
            nearest = i;
    }
    if (nearest == 0)
        return LEAD_NO_PEER;
    if (wanted <= 0)
        return LEAD_NONE_WANTED;
    const struct spread *ratio = &measured->sides[nearest].ratio;
    if (ratio->q1 < wanted && wanted <= ratio->q3)
        return LEAD_UNCLEAR;
    return ratio->median >= wanted ? LEAD_REACHED : LEAD_MISSED;
}

const char *lead_name(enum lead lead) {
    switch (lead) {
    case LEAD_NO_PEER: return "no peer";
    case LEAD_NONE_WANTED: return "-";
    case LEAD_MISSED: return "MISS";
    case LEAD_UNCLEAR: return "unclear";
    case LEAD_REACHED: return "ok";
    }
    return "?";
}

/* ---- peers that are in no package ---- */

#define RECORDED_ON "2026-11-15" /* as recorded.tsv says */

void print_recorded(FILE *out, const struct bench *bench, uint32_t workers) {
    const char *separator = "; recorded on " RECORDED_ON ": ";
    char line[256];
    FILE *file = fopen(BENCH_RECORDED, "r");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        char row[32];
        char peer[32];
        unsigned count;
        double figure;
        if (sscanf(line, "%31s %u %31s %lf", row, &count, peer, &figure) == 4 &&
            strcmp(row, peer_row(bench)) == 0 && count == workers) {
            fprintf(out, "%s%s %.0f", separator, peer, figure);
            separator = ", ";
        }
    }
    fclose(file);
}
