/* SPDX-License-Identifier: MIT */
/* Printing for programs: one JSON object a line, one for each side of each row. */
#include "driver.h"

static const char *peer_of(const struct setup *setup) {
    if (setup->peer != NULL)
        return setup->peer;
    if (setup->floor)
        return "floor";
    return setup->alone ? "jzx-alone" : setup->apart ? "apart" : "jzx";
}

static void print_notes(FILE *out, const struct bench *bench, const struct side *side) {
    fprintf(out, ",\"notes\":{");
    for (unsigned i = 0; bench->notes[i] != NULL; i++)
        fprintf(out, "%s\"%s\":%.3f", i == 0 ? "" : ",", bench->notes[i], side->notes[i]);
    fprintf(out, "}");
}

static void print_side(FILE *out, const struct measured *measured, const struct side *side) {
    const struct bench *bench = measured->bench;
    const struct setup *setup = &side->setup;
    double seconds = side->seconds.median;
    fprintf(out, "{\"bench\":\"%s\",\"peer\":\"%s\",\"workers\":%u,\"foreign_threads\":%u",
            bench->name, peer_of(setup), (unsigned)setup->workers, bench->foreign_threads);
    if (setup->peer == NULL) /* theirs are in the head of the race */
        fprintf(out, ",\"version\":\"%s\",\"commit\":\"%s\"", jzx_version(), commit_name());
    if (setup->cpu == ANY_CPU)
        fprintf(out, ",\"cpus\":%u", bench_cpus());
    if (setup->cpu == ANY_CPU && !setup->apart)
        fprintf(out, ",\"balance\":\"%s\"", balance_name(setup->balance));
    fprintf(out, ",\"ops\":%llu,\"seconds\":%.6f,\"ns_per_op\":%.3f", (unsigned long long)side->ops,
            seconds, seconds * 1e9 / (double)side->ops);
    fprintf(out, ",\"unit\":\"%s\",\"per_op\":%.3f,\"per_op_q1\":%.3f,\"per_op_q3\":%.3f",
            unit_name(bench->unit), side->figure.median, side->figure.q1, side->figure.q3);
    bool is_ours = !setup->floor && !setup->apart && setup->peer == NULL;
    if (is_ours)
        fprintf(out, ",\"cap\":\"%s\",\"batch\":\"%s\"", cap_of(bench), bench->batch);
    else
        fprintf(out, ",\"cap\":null,\"batch\":null"); /* theirs are their own */
    fprintf(out, ",\"op\":\"%s\",\"payload\":%u,\"pairs\":%u", bench->op, bench->payload,
            measured->pairs);
    if (setup->workers > 1 && !setup->floor)
        fprintf(out, ",\"handovers\":%llu", (unsigned long long)side->handovers);
    fprintf(out, ",\"checked\":\"%s\"", bench->checked);
    if (bench->notes != NULL && !setup->floor)
        print_notes(out, bench, side);
}

/* The ratio to what this side is compared with. */
static void print_ratio(FILE *out, const struct measured *measured, const struct side *side) {
    const struct side *reference = &measured->sides[measured->is_race ? 0 : measured->count - 1];
    if ((measured->is_race || measured->has_reference) && side != reference)
        fprintf(out, ",\"ratio\":%.3f,\"ratio_q1\":%.3f,\"ratio_q3\":%.3f", side->ratio.median,
                side->ratio.q1, side->ratio.q3);
}

static void print_verdict(FILE *out, const struct measured *measured) {
    const struct bench *bench = measured->bench;
    struct limits limits = limits_of(measured);
    if (measured->is_race) {
        fprintf(out, ",\"lead_wanted\":%.1f,\"lead\":\"%s\"",
                lead_wanted(bench, measured->sides[0].setup.workers), lead_name(lead_of(measured)));
        return;
    }
    if (limits.aim >= 0)
        fprintf(out, ",\"aim\":%.1f", limits.aim);
    if (limits.ratio >= 0)
        fprintf(out, ",\"ratio_limit\":%.3f", limits.ratio);
    fprintf(out, ",\"ok\":%s,\"shows\":[",
            keeps_aim(measured) && keeps_ratio(measured) ? "true" : "false");
    const char *separator = "";
    for (const char *const *id = bench->shows; id != NULL && *id != NULL; id++) {
        fprintf(out, "%s\"%s\"", separator, *id);
        separator = ",";
    }
    fprintf(out, "]");
}

/* What is asked of the row is asked of its first side. */
void print_json(FILE *out, const struct measured *measured) {
    if (measured->failed) {
        fprintf(out, "{\"bench\":\"%s\",\"peer\":\"jzx\",\"failed\":true}\n",
                measured->bench->name);
        fflush(out);
        return;
    }
    for (unsigned i = 0; i < measured->count; i++) {
        print_side(out, measured, &measured->sides[i]);
        print_ratio(out, measured, &measured->sides[i]);
        if (i == 0)
            print_verdict(out, measured);
        fprintf(out, "}\n");
    }
    fflush(out);
}
