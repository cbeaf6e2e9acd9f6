/* SPDX-License-Identifier: MIT */
/* Combinators of lists: a future whose outcome is made of those of its inputs, without an actor.
 *
 * The result's block has an **item** for each input, with a then (future.h) and a handle to the
 * input. An item is let go once: by its run, when the input is settled; or by the closing, if it
 * could be taken out of the input before that.
 *
 *   L1  the promise's place of the result is given up when the last item is let go (`kept`): so the
 *       block is there as long as a then of it can be run.
 *   L2  one party decides the result, under its lock; it alone settles it then, and closes it:
 *       takes the items out of inputs that are not settled. While the combinator is being built,
 *       its builder does that at the end.
 *   L3  values and errors of inputs are written into the result under its lock, and only while it
 *       is not decided. So a reader that finds it settled needs no lock.
 *   L4  items are let go one after another by the outermost call of a thread: what the end of one
 *       input lets go is added to the end of that row. So a long chain needs no stack (F4). */
#ifndef JZX_FUTURE_COMBINE_H
#define JZX_FUTURE_COMBINE_H

#include "future/future.h"

#include "jzx/combine.h"

enum jzx__combine_kind {
    JZX__COMBINE_ALL,
    JZX__COMBINE_RACE,
    JZX__COMBINE_ANY,
    JZX__COMBINE_SETTLED,
    JZX__COMBINE_SOME
};

struct jzx__combine_item {
    struct jzx__then then;
    struct jzx_future *result; /* which it is a part of */
};

/* The error of an input of any or some; L3. */
struct jzx__combine_error {
    jzx_err err; /* JZX_OK: it was not */
    char *text;  /* of the allocator, or NULL */
};

#define JZX__COMBINE_NOBODY UINT32_MAX

struct jzx__combine {
    uint8_t kind;
    bool cancels;          /* inputs that are left over are cancelled */
    bool is_map;           /* inputs are async functions, which it starts */
    bool is_built;         /* L2; under the lock of the result, as what follows */
    bool is_decided;       /* L2 */
    bool is_over;          /* the result is settled */
    uint32_t left;         /* inputs, or values of some, that are not there */
    uint32_t spare;        /* of any and some: inputs that may be rejected still */
    uint32_t winner;       /* L3: the input whose outcome the result has, or NOBODY */
    uint32_t next;         /* of a map: the first that was not started */
    uint32_t count;        /* never changes, as the next */
    uint32_t wanted;       /* of some: how many values; else count */
    uint32_t input_size;   /* of the value of an input */
    _Atomic uint32_t kept; /* L1: items that were not let go, and the builder. Decides */
    struct jzx__combine_item items[];
    /* of any and some, behind the items: as many struct jzx__combine_error */
};

/* The parameters of a new combinator. */
struct jzx__combine_plan {
    enum jzx__combine_kind kind;
    size_t count;
    size_t wanted; /* of some; at most count, or more: then it is rejected */
    size_t input_size;
};

/* A result without inputs: the caller fills items[].then.future with handles that become its own,
 * and builds it, or abandons it. NULL without memory. In a visit. */
struct jzx_future *jzx__combine_create(struct jzx_loop *loop, struct jzx__worker *me,
                                       const struct jzx__combine_plan *plan);

struct jzx__combine *jzx__combine_of(struct jzx_future *result);

/* Joins the inputs. In a visit. */
void jzx__combine_build(struct jzx_future *result, struct jzx__worker *me);

/* It is not built: releases the inputs that are there (others are NULL), and the result. */
void jzx__combine_abandon(struct jzx_future *result);

/* Starts the next input of a map, if there is one. */
void jzx__combine_start_next(struct jzx_future *result);

#endif
