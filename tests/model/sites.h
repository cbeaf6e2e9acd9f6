/* SPDX-License-Identifier: MIT */
/* The sites of atomic operations in the source, which can be weakened one at a time, and the trace
 * of an execution. */
#ifndef MODEL_SITES_H
#define MODEL_SITES_H

#include "engine.h"

#include <stdio.h>

#define MODEL_SITES_MAX 512

struct model_site {
    const char *file;
    int line;
    const char *function;
    const char *text; /* the operand, as the source spells it */
    enum model_op op;
    enum model_order order;        /* as written */
    enum model_order order_failed; /* the same for a compare-and-exchange that fails */
    enum model_order used;         /* as weakened */
    enum model_order used_failed;
    bool met; /* since model_sites_forget_met */
};

/* How a site can be made weaker: to this order, on success or on failure. */
struct model_weakening {
    enum model_order order;
    bool on_failure;
};

/* The site, made at its first use. */
struct model_site *model_site_find(enum model_op op, enum model_order order,
                                   enum model_order order_failed, MODEL_HERE_PARAMS);
size_t model_site_count(void);
struct model_site *model_site_at(size_t index);
void model_sites_forget_met(void);

/* One-step weakenings of the site into out (room for 3); returns how many. */
size_t model_site_weakenings(const struct model_site *site, struct model_weakening *out);

/* Every site as written again; then this one weakened. */
void model_sites_restore(void);
void model_site_weaken(struct model_site *site, struct model_weakening weakening);

/* True if where, FILE:LINE or FUNCTION/OPERATION/OPERAND, names the site. OPERAND is the end of
 * what the source has there: inbox for &task->inbox. */
bool model_site_is(const struct model_site *site, const char *where);

/* From now on every site that spec names is weakened as it says: FILE:LINE[:HOW] or
 * FUNCTION/OPERATION/OPERAND[:HOW], or several with commas between; HOW is an order, or "failed"
 * for the order on failure. Sites of later use are included. False if spec is neither. */
bool model_sites_weaken_by_spec(const char *spec);

/* Where it is, from the folder below src or tests on. */
const char *model_site_file(const struct model_site *site);
void model_site_print(FILE *out, const struct model_site *site);
const char *model_order_name(enum model_order order);

/* ---- the trace ---- */

struct model_event {
    unsigned thread;
    const struct model_site *site; /* or NULL, and then words */
    const char *words;
    const volatile void *address;
    uint64_t read;
    uint64_t written;
    unsigned newer; /* stores that the load passed over */
    bool stored;    /* a compare-and-exchange that succeeded */
};

void model_trace_clear(void);
void model_trace_add(const struct model_event *event);
void model_trace_print(FILE *out);

#endif
