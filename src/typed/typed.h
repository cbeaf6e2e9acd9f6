/* SPDX-License-Identifier: MIT */
/* Typed actors: the types that a loop knows, and what an actor of a type has.
 *
 * An actor of a type is a behaviour: the type's receive, which the header makes, finds the handler,
 * so that a message takes the path of every behaviour. This part makes the state when the actor is
 * spawned and frees it after the cleanup, and keeps the registry.
 *
 *   T1  an instance is in the registry from the moment that its actor can be sent to until that has
 *       ended; both happen once.
 *   T2  types and counts of a loop are under its lock. Types are never forgotten. */
#ifndef JZX_TYPED_TYPED_H
#define JZX_TYPED_TYPED_H

#include "actor/part.h"
#include "base/list.h"
#include "base/lock.h"

#include "jzx/typed.h"

/* A type that a loop knows. */
struct jzx__known_type {
    struct jzx__link link;
    const jzx_actor_type *type;
    struct jzx__list instances; /* oldest first */
    uint64_t alive;
    uint64_t made;
};

#define JZX__TYPE_BUCKETS 256u

/* What the part keeps per loop. */
struct jzx__types {
    struct jzx__lock lock;
    struct jzx__list known;                    /* in the order of registration */
    struct jzx__list by_id[JZX__TYPE_BUCKETS]; /* instances, by the index of their id */
};

/* The record of an actor that has a type. */
struct jzx__instance {
    const jzx_actor_type *type;
    struct jzx_loop *loop;
    struct jzx__known_type *known;
    struct jzx__link at_type; /* T1 */
    struct jzx__link at_id;
    jzx_actor_id id;   /* JZX_NOBODY: not in the registry yet */
    jzx_source source; /* that it is bound to, if its init is start_bound, as the next */
    jzx_init_fn init;  /* of the type or the options */
    _Alignas(16) unsigned char state[];
};

#endif
