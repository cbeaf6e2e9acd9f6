/* SPDX-License-Identifier: MIT */
/* Matching a trace against a pattern: all ways at once, step by step.
 *
 * A **way** is what is left to be matched, and what was captured so far. What is left is a list of
 * todos: the pattern that comes next, how far it has got, and what comes behind it. A step is shown
 * to every way; each that can take it becomes the ways that it can go on by. So backtracking needs
 * no stack, and ways that have become the same are one.
 *
 *   M1  todos and captures are never changed, so that ways share them. They live until the match is
 *       over.
 *   M2  what a pattern can go on by is found by asking it to take the step *itself*. Whether it may
 *       be passed over instead (is_optional) does not depend on captures. So a repetition of
 *       something that may be empty asks nothing twice.
 *   M3  a parallel has a list of todos for each of its parts that has begun or not; it takes a step
 *       by any one of them. */
#ifndef JZX_TESTKIT_MATCH_H
#define JZX_TESTKIT_MATCH_H

#include "testkit/predicate.h"

struct jzx__todo {
    const jzx_pattern *pattern;
    uint32_t done; /* SEQUENCE: items; REPEAT, ONE_OR_MORE: times */
    uint32_t part_count;
    const struct jzx__todo *const *parts; /* PARALLEL: NULL where one is over */
    const struct jzx__todo *next;
};

struct jzx__way {
    const struct jzx__todo *todo; /* NULL: nothing is left */
    const struct jzx__captures *captures;
};

struct jzx__ways {
    struct jzx__way *items;
    size_t count;
    size_t size;
};

/* Memory of a match. */
struct jzx__match_page {
    struct jzx__match_page *next;
    size_t used;
    _Alignas(16) unsigned char data[];
};

struct jzx__match {
    struct jzx__match_page *pages;
    jzx_err err;                /* the first one: of memory, or too many ways */
    const jzx_trace_step *step; /* that the ways are shown; NULL: they are asked what they want */
    struct jzx__ways wanted;    /* then: todos of a step, with captures */
};

/* False if it is not well-formed. */
bool jzx__pattern_is_valid(const jzx_pattern *pattern);

/* The only way at the start. False without memory. */
bool jzx__match_begin(struct jzx__match *match, const jzx_pattern *pattern, struct jzx__ways *ways);
void jzx__match_end(struct jzx__match *match, struct jzx__ways *ways);

/* Shows a step to all ways, which become those that they go on by. False if none takes it: then
 * they stay as they are. */
bool jzx__match_take(struct jzx__match *match, struct jzx__ways *ways, const jzx_trace_step *step);

/* Asks the ways what they want: match->wanted. */
void jzx__match_ask(struct jzx__match *match, const struct jzx__ways *ways);

/* One of them may be over here. */
bool jzx__ways_may_end(const struct jzx__ways *ways);

void jzx__ways_deinit(struct jzx__ways *ways);

#endif
