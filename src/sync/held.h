/* SPDX-License-Identifier: MIT */
/* What an actor has of locks and permits: a list that is its own, so that all of it can be released
 * when the actor ends, after its cleanup.
 *
 *   H1  the list is touched by the actor's own turn and cleanup, and by its owner at its end.
 *   H2  a record of a lock that one has is part of the lock; one of permits, or of a reader, is a
 *       block of its own. */
#ifndef JZX_SYNC_HELD_H
#define JZX_SYNC_HELD_H

#include "actor/part.h"
#include "base/list.h"

#include <stdint.h>

struct jzx__held;

struct jzx__held_ops {
    const char *what; /* "a mutex": for the event */
    /* The actor has ended: releases it. The record is out of the list. */
    void (*died)(struct jzx__held *held, struct jzx__worker *me);
};

struct jzx__held {
    struct jzx__link link; /* in the list of the actor */
    const struct jzx__held_ops *ops;
    void *object;
    uint32_t count; /* of permits */
};

/* The part's record. */
struct jzx__helds {
    struct jzx__list list;
    struct jzx__held *spare; /* a block, or NULL */
};

/* The record of the actor, which has one from now on. NULL without memory. H1 is the caller. */
struct jzx__helds *jzx__helds_ensure(struct jzx_loop *loop, struct jzx__worker *me,
                                     struct jzx__actor *actor);

/* NULL: it has none, and never had. */
static inline struct jzx__helds *jzx__helds_of(const struct jzx__actor *actor) {
    return jzx__actor_part(actor, JZX__PART_SYNC);
}

/* What it has of the object, or NULL. helds may be NULL. */
struct jzx__held *jzx__helds_find(const struct jzx__helds *helds, const void *object);

static inline void jzx__helds_add(struct jzx__helds *helds, struct jzx__held *held) {
    jzx__list_push_front(&helds->list, &held->link);
}

/* ---- blocks ---- */

/* There is a spare from now on; false without memory. */
bool jzx__helds_stock(struct jzx__helds *helds, struct jzx_loop *loop, struct jzx__worker *me);

/* The spare becomes the actor's record of `count` permits of the object. */
void jzx__helds_add_block(struct jzx__helds *helds, const struct jzx__held_ops *ops, void *object,
                          uint32_t count);

/* A block for an operation, to be added when it has what it waits for; NULL without memory. */
struct jzx__held *jzx__held_make_block(struct jzx_loop *loop, struct jzx__worker *me);

/* The same as add_block, with that block. */
void jzx__helds_adopt_block(struct jzx__helds *helds, const struct jzx__held_ops *ops,
                            struct jzx__held *block, void *object, uint32_t count);

/* One whose actor has ended. */
void jzx__held_free_block(struct jzx__held *held, struct jzx__worker *me);

/* Takes it out; it is the spare, or freed. */
void jzx__helds_remove_block(struct jzx__helds *helds, struct jzx__held *held,
                             struct jzx_loop *loop, struct jzx__worker *me);

#endif
