/* SPDX-License-Identifier: MIT */
/* Printing: a table to read, or one JSON object a line to go on with. */
#include "driver.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

const char *unit_name(enum bench_unit unit) {
    switch (unit) {
    case BENCH_NS: return "ns";
    case BENCH_BYTES: return "bytes";
    case BENCH_ALLOCATIONS: return "allocations";
    }
    return "?";
}

static uint32_t cap_of(const struct bench *bench) {
    uint32_t cap = bench->config != NULL ? bench->config->default_mailbox_cap : 0;
    return cap != 0 ? cap : JZX_DEFAULT_MAILBOX_CAP;
}

/* ---- the table ---- */

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

void print_head(FILE *out, unsigned pairs, int cpu) {
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
    fprintf(out, "version   libjzx %s, as installed; 1 worker\n", jzx_version());
    fprintf(out, "machine   %s, %ld CPUs, %s %s %s\n", model, sysconf(_SC_NPROCESSORS_ONLN),
            system.sysname, system.release, system.machine);
#if defined(__clang__)
    fprintf(out, "compiler  %s", __VERSION__);
#else
    fprintf(out, "compiler  gcc %s", __VERSION__);
#endif
    fprintf(out, "; benchmarks -O2, floor -O3 -march=native\n");
    fprintf(out, "date      %s, load %.2f\n", date, loads[0]);
    fprintf(out,
            "runs      %u interleaved pairs, each run a new process on CPU %d, cold, checked; "
            "median [quartiles]\n\n",
            pairs, cpu);
    fprintf(out, "%-20s %-23s %-23s %-19s %5s %5s %-11s %5s %7s %-10s %s\n", "bench (ns)", "jzx",
            "floor", "jzx / floor", "aim", "limit", "verdict", "cap", "payload", "batch",
            "one operation");
    fflush(out);
}

/* "12.34 [11.90 13.02]", with fewer digits for large values. */
static void format_spread(char *text, size_t size, const struct spread *spread, int digits) {
    snprintf(text, size, "%.*f [%.*f %.*f]", digits, spread->median, digits, spread->q1, digits,
             spread->q3);
}

static const char *verdict_of(const struct measured *measured) {
    bool aim = keeps_aim(measured);
    bool ratio = keeps_ratio(measured);
    if (aim && ratio)
        return "ok";
    if (aim)
        return "MISS ratio";
    return ratio ? "MISS aim" : "MISS both";
}

static void print_shows(FILE *out, const struct bench *bench) {
    const char *separator = "; shows ";
    for (const char *const *id = bench->shows; id != NULL && *id != NULL; id++) {
        fprintf(out, "%s%s", separator, *id);
        separator = ", ";
    }
}

void print_row(FILE *out, const struct measured *measured) {
    const struct bench *bench = measured->bench;
    if (measured->failed) {
        fprintf(out, "%-20s FAILED: a run was wrong or did not end\n", bench->name);
        fflush(out);
        return;
    }
    char jzx[64];
    char floor[64] = "-";
    char ratio[64] = "-";
    char aim[32] = "-";
    char limit[32] = "-";
    int digits = bench->unit == BENCH_NS && measured->jzx.figure.median < 100 ? 1 : 0;
    format_spread(jzx, sizeof jzx, &measured->jzx.figure, digits);
    if (has_floor(measured)) {
        format_spread(floor, sizeof floor, &measured->floor.figure, digits);
        format_spread(ratio, sizeof ratio, &measured->ratio, 2);
    }
    if (bench->aim >= 0)
        snprintf(aim, sizeof aim, "%.0f", bench->aim);
    if (bench->ratio_limit > 0)
        snprintf(limit, sizeof limit, "%.1f", bench->ratio_limit);
    fprintf(out, "%-20s %-23s %-23s %-19s %5s %5s %-11s %5u %7u %-10s %s%s%s", bench->name, jzx,
            floor, ratio, aim, limit, verdict_of(measured), cap_of(bench), bench->payload,
            bench->batch, bench->unit == BENCH_NS ? "" : unit_name(bench->unit),
            bench->unit == BENCH_NS ? "" : " / ", bench->op);
    print_shows(out, bench);
    fputc('\n', out);
    fflush(out);
}

/* ---- JSON ---- */

static void print_side(FILE *out, const struct measured *measured, const char *peer,
                       const struct side *side) {
    const struct bench *bench = measured->bench;
    double seconds = side->seconds.median;
    fprintf(out, "{\"bench\":\"%s\",\"peer\":\"%s\",\"workers\":1,\"foreign_threads\":%u",
            bench->name, peer, bench->foreign_threads);
    fprintf(out, ",\"ops\":%llu,\"seconds\":%.6f,\"ns_per_op\":%.3f", (unsigned long long)side->ops,
            seconds, seconds * 1e9 / (double)side->ops);
    fprintf(out, ",\"unit\":\"%s\",\"per_op\":%.3f,\"per_op_q1\":%.3f,\"per_op_q3\":%.3f",
            unit_name(bench->unit), side->figure.median, side->figure.q1, side->figure.q3);
    if (side == &measured->jzx)
        fprintf(out, ",\"cap\":%u", cap_of(bench));
    else
        fprintf(out, ",\"cap\":null"); /* the floor knows no bound */
    fprintf(out, ",\"op\":\"%s\",\"payload\":%u,\"batch\":\"%s\",\"pairs\":%u", bench->op,
            bench->payload, bench->batch, measured->pairs);
    fprintf(out, ",\"checked\":\"%s\"", bench->checked);
}

static void print_verdict(FILE *out, const struct measured *measured) {
    const struct bench *bench = measured->bench;
    if (has_floor(measured))
        fprintf(out, ",\"ratio\":%.3f,\"ratio_q1\":%.3f,\"ratio_q3\":%.3f", measured->ratio.median,
                measured->ratio.q1, measured->ratio.q3);
    if (bench->aim >= 0)
        fprintf(out, ",\"aim\":%.1f", bench->aim);
    if (bench->ratio_limit > 0)
        fprintf(out, ",\"ratio_limit\":%.1f", bench->ratio_limit);
    fprintf(out, ",\"ok\":%s,\"shows\":[",
            keeps_aim(measured) && keeps_ratio(measured) ? "true" : "false");
    const char *separator = "";
    for (const char *const *id = bench->shows; id != NULL && *id != NULL; id++) {
        fprintf(out, "%s\"%s\"", separator, *id);
        separator = ",";
    }
    fprintf(out, "]");
}

void print_json(FILE *out, const struct measured *measured) {
    if (measured->failed) {
        fprintf(out, "{\"bench\":\"%s\",\"peer\":\"jzx\",\"failed\":true}\n",
                measured->bench->name);
        fflush(out);
        return;
    }
    print_side(out, measured, "jzx", &measured->jzx);
    print_verdict(out, measured);
    fprintf(out, "}\n");
    if (has_floor(measured)) {
        print_side(out, measured, "floor", &measured->floor);
        fprintf(out, "}\n");
    }
    fflush(out);
}
