/* SPDX-License-Identifier: MIT */
/* Predicates: whether one holds for a step, and how it reads. */
#ifndef JZX_TESTKIT_PREDICATE_H
#define JZX_TESTKIT_PREDICATE_H

#include "jzx/test.h"

#include <stdbool.h>

/* What was captured: a value per number. Small enough to be copied for each way of a match. */
struct jzx__capture {
    uint64_t number;
    const void *data; /* of bytes and texts: in the trace */
    size_t len;
    bool is_set;
};

struct jzx__captures {
    struct jzx__capture slots[JZX_CAPTURES_MAX];
};

bool jzx__captures_are_same(const struct jzx__captures *a, const struct jzx__captures *b);

/* False if it is not well-formed. */
bool jzx__predicate_is_valid(const jzx_predicate *predicate);

/* captures is changed if it holds, by what it captures. */
bool jzx__predicate_holds(const jzx_predicate *predicate, const jzx_trace_step *step,
                          struct jzx__captures *captures);

/* ---- texts ---- */

/* A text that is cut to its room. */
struct jzx__report {
    char *at;
    size_t room;
    size_t len; /* without a cut */
};

void jzx__report_begin(struct jzx__report *report, char *at, size_t size);
void jzx__report_add(struct jzx__report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "tag 7 and target output". */
void jzx__predicate_describe(const jzx_predicate *predicate, const struct jzx__captures *captures,
                             struct jzx__report *report);

#endif
