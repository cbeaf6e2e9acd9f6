/* SPDX-License-Identifier: MIT */
/* Printing for people: a table. */
#include "driver.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Room for a cell. */
#define CELL 64

const char *unit_name(enum bench_unit unit) {
    switch (unit) {
    case BENCH_NS:
    case BENCH_PER_S: return "ns"; /* what is measured, and compared */
    case BENCH_US: return "us";
    case BENCH_BYTES: return "bytes";
    case BENCH_ALLOCATIONS: return "allocations";
    case BENCH_SWITCHES: return "switches";
    }
    return "?";
}

const char *balance_name(jzx_balance balance) {
    switch (balance) {
    case JZX_BALANCE_DEFAULT: return "default";
    case JZX_BALANCE_ADAPTIVE: return "adaptive";
    case JZX_BALANCE_EAGER: return "eager";
    case JZX_BALANCE_NONE: return "none";
    }
    return "?";
}

const char *cap_of(const struct bench *bench) {
    static char text[CELL];
    uint32_t cap = bench->config != NULL ? bench->config->default_mailbox_cap : 0;
    if (bench->cap != NULL)
        return bench->cap;
    snprintf(text, sizeof text, "%u", cap != 0 ? cap : JZX_DEFAULT_MAILBOX_CAP);
    return text;
}

const char *commit_name(void) {
    const char *name = getenv("JZX_COMMIT");
    return name != NULL ? name : "unknown";
}

const char *verdict_of(const struct measured *measured) {
    struct limits limits = limits_of(measured);
    if (limits.aim < 0 && limits.ratio < 0)
        return "-"; /* nothing is asked */
    bool aim = keeps_aim(measured);
    bool ratio = keeps_ratio(measured);
    if (aim && ratio)
        return "ok";
    if (aim)
        return "MISS ratio";
    return ratio ? "MISS aim" : "MISS both";
}

/* ---- the head ---- */

/* Copies the value of a line "key : value" of /proc/cpuinfo. */
static void cpu_model(char *model, size_t size) {
    snprintf(model, size, "unknown CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL)
        return;
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(model, size, "%s", colon + 2);
            break;
        }
    }
    fclose(file);
}

static void print_runs(FILE *out, const struct options *options) {
    fprintf(out, "runs      %u interleaved pairs", options->pairs);
    if (options->mode != MODE_PEERS && !options->small)
        fprintf(out, ", up to %u while the quartiles of a ratio are further than %.0f %% apart",
                pairs_most(options), (QUARTILES_APART - 1) * 100);
    if (options->pairs < PAIRS_TO_DECIDE)
        fprintf(out, " (fewer than %u decide nothing)", PAIRS_TO_DECIDE);
    fprintf(out, ", each run a new process on ");
    if (options->mode == MODE_FLOOR)
        fprintf(out, "CPU %d", options->cpu);
    else
        fprintf(out, "%u CPUs%s", bench_cpus(),
                options->mode == MODE_PEERS ? "" : ", pinned where a gain is asked for");
    fprintf(out, ", checked; %smedian [quartiles], also of the ratios, pair by pair\n",
            options->small ? "small, so the figures mean nothing; " : "");
    if (options->mode == MODE_PEERS && !options->small)
        fprintf(out, "time      about %u min\n", 1 + (unsigned)(race_seconds(options) / 60));
}

static void print_columns(FILE *out, const struct options *options) {
    char more[CELL];
    char fewer[CELL];
    char ratio[CELL];
    snprintf(more, sizeof more, "%u workers", (unsigned)options->workers);
    snprintf(fewer, sizeof fewer, "%u worker%s", (unsigned)options->against,
             options->against == 1 ? "" : "s");
    snprintf(ratio, sizeof ratio, "%u / %u", (unsigned)options->workers,
             (unsigned)options->against);
    switch (options->mode) {
    case MODE_FLOOR:
        fprintf(out, "%-20s %-23s %-23s %-19s %5s %5s %-11s %5s %7s %-10s %s\n", "bench (ns)",
                "jzx", "floor", "jzx / floor", "aim", "limit", "verdict", "cap", "payload", "batch",
                "one operation");
        break;
    case MODE_WORKERS:
        fprintf(out, "%-14s %-24s %-29s %-19s %6s %7s %-11s %s\n", "bench (ns)", more, fewer, ratio,
                "limit", "aim", "verdict", "one operation");
        break;
    case MODE_BALANCE:
        fprintf(out, "%-14s %-24s %-24s %-24s %-29s %8s %8s %8s %s\n", "bench (ns)", "adaptive",
                "eager", "none", fewer, "adaptive", "eager", "none", "adaptive is");
        break;
    case MODE_PEERS:
        fprintf(out, "%-14s %-24s %-60s %6s %-9s %s\n", "bench (ns)", "jzx",
                "peers, and how many times ours they take", "aim", "verdict",
                "our cap, our batch, one operation");
        break;
    case MODE_PROFILE: break;
    }
}

void print_head(FILE *out, const struct options *options) {
    char model[128];
    char date[64];
    struct utsname system;
    double loads[1] = {0};
    time_t now = time(NULL);
    cpu_model(model, sizeof model);
    if (uname(&system) != 0)
        memset(&system, 0, sizeof system);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime(&now));
    getloadavg(loads, 1);
    fprintf(out, "version   libjzx %s (commit %s), as installed; %u worker%s", jzx_version(),
            commit_name(), (unsigned)options->workers, options->workers == 1 ? "" : "s");
    if (options->mode == MODE_WORKERS)
        fprintf(out, " against %u, balance %s", (unsigned)options->against,
                balance_name(options->balance));
    if (options->mode == MODE_BALANCE)
        fprintf(out, " against %u, balance as in the columns", (unsigned)options->against);
    fprintf(out, "\nmachine   %s, %ld CPUs, %s %s %s\n", model, sysconf(_SC_NPROCESSORS_ONLN),
            system.sysname, system.release, system.machine);
#if defined(__clang__)
    fprintf(out, "compiler  %s", __VERSION__);
#else
    fprintf(out, "compiler  gcc %s", __VERSION__);
#endif
    fprintf(out, "; benchmarks -O2, floor -O3 -march=native\n");
    fprintf(out, "date      %s, load %.2f\n", date, loads[0]);
    print_runs(out, options);
    fputc('\n', out);
    print_columns(out, options);
    fflush(out);
}

/* ---- cells ---- */

/* In which unit a figure is shown. */
struct scale {
    double one; /* of that unit, in the row's */
    const char *name;
    int digits;
    bool is_rate; /* the row's unit is a time, and shown is how many of them are in that unit */
};

static struct scale scale_of(enum bench_unit unit, double value) {
    if (unit == BENCH_PER_S)
        return (struct scale){.one = 1e9, .name = "/s", .is_rate = true};
    if (unit == BENCH_US)
        return (struct scale){.one = 1, .name = "us", .digits = value < 100 ? 1 : 0};
    if (unit != BENCH_NS || value < 10e3)
        return (struct scale){.one = 1, .name = "", .digits = unit == BENCH_NS && value < 100};
    return value < 10e6 ? (struct scale){.one = 1e3, .name = "us", .digits = 1}
                        : (struct scale){.one = 1e6, .name = "ms", .digits = 1};
}

static double shown(double value, struct scale scale) {
    return scale.is_rate ? scale.one / value : value / scale.one;
}

/* "12.34 [11.90 13.02]". */
static void format_spread(char *text, const struct spread *spread, struct scale scale) {
    double low = scale.is_rate ? spread->q3 : spread->q1;
    double high = scale.is_rate ? spread->q1 : spread->q3;
    snprintf(text, CELL, "%.*f%s [%.*f %.*f]", scale.digits, shown(spread->median, scale),
             scale.name, scale.digits, shown(low, scale), scale.digits, shown(high, scale));
}

static void format_ratio(char *text, const struct spread *ratio) {
    format_spread(text, ratio, (struct scale){.one = 1, .name = "", .digits = 2});
}

/* A limit, "-" if there is none. */
static void format_limit(char *text, double limit, struct scale scale) {
    if (limit < 0)
        snprintf(text, CELL, "-");
    else
        snprintf(text, CELL, "%.*f%s", scale.digits, shown(limit, scale), scale.name);
}

static void format_figure(char *text, const struct measured *measured, unsigned side) {
    const struct spread *figure = &measured->sides[side].figure;
    format_spread(text, figure, scale_of(measured->bench->unit, figure->median));
}

/* The last side, and what it is if it is not the same row with fewer workers. */
static void format_reference(char *text, const struct measured *measured) {
    const struct setup *setup = &measured->sides[measured->count - 1].setup;
    char figure[CELL];
    format_figure(figure, measured, measured->count - 1);
    if (!measured->has_reference)
        snprintf(text, CELL, "-");
    else
        snprintf(text, CELL + 8, "%s%s",
                 setup->floor   ? "floor "
                 : setup->alone ? "alone "
                                : "",
                 figure);
}

static void print_shows(FILE *out, const struct bench *bench) {
    const char *separator = "; shows ";
    for (const char *const *id = bench->shows; id != NULL && *id != NULL; id++) {
        fprintf(out, "%s%s", separator, *id);
        separator = ", ";
    }
}

/* Of our side. */
static void print_notes(FILE *out, const struct measured *measured) {
    const char *const *names = measured->bench->notes;
    for (unsigned i = 0; names != NULL && names[i] != NULL; i++)
        fprintf(out, "%s%s %.1f", i == 0 ? "; " : ", ", names[i], measured->sides[0].notes[i]);
}

static bool has_notes(const struct side *side) {
    for (unsigned i = 0; i < BENCH_NOTES_MAX; i++) {
        if (side->notes[i] > 0)
            return true;
    }
    return false;
}

/* Of all sides that have them: "; p50_us 81.0, go 79.5, tokio 64.2". */
static void print_notes_of_all(FILE *out, const struct measured *measured) {
    const char *const *names = measured->bench->notes;
    for (unsigned i = 0; names != NULL && names[i] != NULL; i++) {
        fprintf(out, "; %s %.1f", names[i], measured->sides[0].notes[i]);
        for (unsigned k = 1; k < measured->count; k++) {
            if (has_notes(&measured->sides[k]))
                fprintf(out, ", %s %.1f", measured->sides[k].setup.peer,
                        measured->sides[k].notes[i]);
        }
    }
}

/* What the machine gave at that time, if the row says. */
static void print_apart(FILE *out, const struct measured *measured) {
    for (unsigned i = 0; i < measured->count; i++) {
        char ratio[CELL];
        if (!measured->sides[i].setup.apart)
            continue;
        format_ratio(ratio, &measured->sides[i].ratio);
        fprintf(out, "; sharing nothing %s", ratio);
    }
}

/* What the figure says, and of what. */
static void print_unit(FILE *out, const struct bench *bench) {
    switch (bench->unit) {
    case BENCH_NS:
    case BENCH_US:
    case BENCH_PER_S: fprintf(out, "%s", bench->op); break; /* the cells have the unit */
    default: fprintf(out, "%s / %s", unit_name(bench->unit), bench->op);
    }
}

/* What one operation is, and everything else about the row. */
static void print_operation(FILE *out, const struct measured *measured) {
    const struct bench *bench = measured->bench;
    print_unit(out, bench);
    print_notes(out, measured);
    print_apart(out, measured);
    if (measured->sides[0].handovers != 0)
        fprintf(out, "; handovers %llu", (unsigned long long)measured->sides[0].handovers);
    print_shows(out, bench);
    fputc('\n', out);
}

/* ---- rows ---- */

/* All in one unit. */
static void print_floor_row(FILE *out, const struct measured *measured) {
    const struct bench *bench = measured->bench;
    char jzx[CELL];
    char floor[CELL + 8] = "-";
    char ratio[CELL] = "-";
    char aim[CELL];
    char limit[CELL];
    struct limits limits = limits_of(measured);
    struct scale scale = scale_of(bench->unit, measured->sides[0].figure.median);
    format_spread(jzx, &measured->sides[0].figure, scale);
    if (measured->has_reference) {
        char figure[CELL];
        format_spread(figure, &measured->sides[1].figure, scale);
        snprintf(floor, sizeof floor, "%s%s", measured->sides[1].setup.alone ? "alone " : "",
                 figure);
        format_ratio(ratio, &measured->sides[0].ratio);
    }
    scale.digits = 0;
    format_limit(aim, limits.aim, scale);
    format_limit(limit, limits.ratio, (struct scale){.one = 1, .name = "", .digits = 1});
    fprintf(out, "%-20s %-23s %-23s %-19s %5s %5s %-11s %5s %7u %-10s ", bench->name, jzx, floor,
            ratio, aim, limit, verdict_of(measured), cap_of(bench), bench->payload, bench->batch);
    print_operation(out, measured);
}

static void print_workers_row(FILE *out, const struct measured *measured) {
    char more[CELL];
    char fewer[CELL + 8];
    char ratio[CELL] = "-";
    char limit[CELL];
    char aim[CELL];
    struct limits limits = limits_of(measured);
    struct scale scale = scale_of(measured->bench->unit, limits.aim);
    scale.digits = 0;
    format_figure(more, measured, 0);
    format_reference(fewer, measured);
    if (measured->has_reference)
        format_ratio(ratio, &measured->sides[0].ratio);
    format_limit(limit, limits.ratio, (struct scale){.one = 1, .name = "", .digits = 2});
    format_limit(aim, limits.aim, scale);
    fprintf(out, "%-14s %-24s %-29s %-19s %6s %7s %-11s ", measured->bench->name, more, fewer,
            ratio, limit, aim, verdict_of(measured));
    print_operation(out, measured);
}

static void print_balance_row(FILE *out, const struct measured *measured) {
    char fewer[CELL + 8];
    fprintf(out, "%-14s ", measured->bench->name);
    for (unsigned i = 0; i < 3; i++) {
        char figure[CELL];
        format_figure(figure, measured, i);
        fprintf(out, "%-24s ", figure);
    }
    format_reference(fewer, measured);
    fprintf(out, "%-29s ", fewer);
    for (unsigned i = 0; i < 3; i++) {
        if (measured->has_reference)
            fprintf(out, "%8.2f ", measured->sides[i].ratio.median);
        else
            fprintf(out, "%8s ", "-");
    }
    fprintf(out, "%-11s ", verdict_of(measured));
    print_operation(out, measured);
}

/* A peer's figure and its ratio to ours. */
static void print_peer(FILE *out, const struct measured *measured, unsigned side) {
    char figure[CELL];
    format_figure(figure, measured, side);
    *strchr(figure, ' ') = '\0'; /* without the quartiles */
    const struct spread *ratio = &measured->sides[side].ratio;
    int digits = ratio->median >= 0.95 ? 1 : ratio->median >= 0.095 ? 2 : 3;
    fprintf(out, "%s %s %.*fx [%.*f %.*f]  ", measured->sides[side].setup.peer, figure, digits,
            ratio->median, digits, ratio->q1, digits, ratio->q3);
}

static void print_peers_row(FILE *out, const struct measured *measured) {
    const struct bench *bench = measured->bench;
    uint32_t workers = measured->sides[0].setup.workers;
    char jzx[CELL];
    char aim[CELL];
    char *peers = NULL;
    size_t size = 0;
    FILE *cell = open_memstream(&peers, &size);
    if (cell == NULL)
        bench_fail("open_memstream: %s", strerror(errno));
    for (unsigned i = 1; i < measured->count; i++)
        print_peer(cell, measured, i);
    fclose(cell);
    format_figure(jzx, measured, 0);
    double wanted = lead_wanted(bench, workers);
    format_limit(aim, wanted > 0 ? wanted : -1, (struct scale){.one = 1, .name = "", .digits = 1});
    fprintf(out, "%-14s %-24s %-60s %6s %-9s %s, %s, ", bench->name, jzx, peers, aim,
            lead_name(lead_of(measured)), cap_of(bench), bench->batch);
    free(peers);
    print_unit(out, bench);
    print_notes_of_all(out, measured);
    print_recorded(out, bench, workers);
    print_shows(out, bench);
    fputc('\n', out);
}

void print_row(FILE *out, const struct options *options, const struct measured *measured) {
    if (measured->failed)
        fprintf(out, "%-20s FAILED: a run was wrong or did not end\n", measured->bench->name);
    else if (options->mode == MODE_FLOOR)
        print_floor_row(out, measured);
    else if (options->mode == MODE_WORKERS)
        print_workers_row(out, measured);
    else if (options->mode == MODE_PEERS)
        print_peers_row(out, measured);
    else
        print_balance_row(out, measured);
    fflush(out);
}
