/* SPDX-License-Identifier: MIT */
/* jzx_trace_match: whether a trace is right, and what to tell if it is not. */
#include "testkit/match.h"

#include <string.h>

/* Steps shown before the one that went wrong. */
#define CONTEXT 8u
#define WANTED_MAX 8u
#define LINE_SIZE 256u

static void add_step(struct jzx__report *report, const char *before, const jzx_trace *trace,
                     size_t index) {
    char line[LINE_SIZE];
    (void)jzx_trace_step_print(&trace->steps[index], line, sizeof line);
    jzx__report_add(report, "%s%s\n", before, line);
}

static void add_wanted(struct jzx__report *report, const struct jzx__match *match, bool may_end) {
    const char *before = "expected next:  ";
    for (size_t i = 0; i < match->wanted.count && i < WANTED_MAX; i++) {
        const struct jzx__way *wanted = &match->wanted.items[i];
        jzx__report_add(report, "%s", before);
        jzx__predicate_describe(wanted->todo->pattern->predicate, wanted->captures, report);
        jzx__report_add(report, "\n");
        before = "            or: ";
    }
    if (match->wanted.count > WANTED_MAX)
        jzx__report_add(report, "            or: %zu others\n", match->wanted.count - WANTED_MAX);
    if (may_end)
        jzx__report_add(report, "%sthe end of the trace\n", before);
    else if (match->wanted.count == 0)
        jzx__report_add(report, "%snothing that can come\n", before);
}

/* The ways are those before the step at `at`, which none of them takes; or the trace is over. */
static void explain(struct jzx__match *match, const struct jzx__ways *ways, const jzx_trace *trace,
                    size_t at, struct jzx__report *report) {
    jzx__report_add(report, "the trace does not match: %zu of %zu steps do\n", at, trace->count);
    size_t first = at > CONTEXT ? at - CONTEXT : 0;
    if (first != 0)
        jzx__report_add(report, "  ...\n");
    for (size_t i = first; i < at; i++)
        add_step(report, "  ", trace, i);
    jzx__match_ask(match, ways);
    add_wanted(report, match, jzx__ways_may_end(ways));
    if (at < trace->count)
        add_step(report, "came instead:   ", trace, at);
    else
        jzx__report_add(report, "came instead:   the end of the trace\n");
}

/* How many steps match; the ways are those behind the last of them. */
static size_t follow(struct jzx__match *match, struct jzx__ways *ways, const jzx_trace *trace) {
    for (size_t at = 0; at < trace->count && match->err == JZX_OK; at++) {
        if (!jzx__match_take(match, ways, &trace->steps[at]))
            return at;
    }
    return trace->count;
}

jzx_err jzx_trace_match(const jzx_trace *trace, const jzx_pattern *pattern, char *report,
                        size_t size) {
    struct jzx__match match;
    struct jzx__ways ways;
    struct jzx__report text;
    if (trace == NULL || (trace->steps == NULL && trace->count != 0) ||
        !jzx__pattern_is_valid(pattern))
        return JZX_ERR_INVALID_ARG;
    jzx__report_begin(&text, report, size);
    size_t at = 0;
    if (jzx__match_begin(&match, pattern, &ways))
        at = follow(&match, &ways, trace);
    bool is_whole = at == trace->count && jzx__ways_may_end(&ways);
    if (match.err == JZX_OK && !is_whole)
        explain(&match, &ways, trace, at, &text);
    jzx_err err = match.err != JZX_OK ? match.err : is_whole ? JZX_OK : JZX_ERR_FAILED;
    jzx__match_end(&match, &ways);
    return err;
}
