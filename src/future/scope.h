/* SPDX-License-Identifier: MIT */
/* Scopes and their members.
 *
 *   C1  a member is in the list of its scope from its spawn until its end, and the scope is there
 *       as long: it counts the handles of its opener (one) and of its members.
 *   C2  `count` has also members that are about to be spawned; who wants to spawn one counts it
 *       first, under the lock, and only while the scope is open. So a close that has found 0 stays
 *       right.
 *   C3  cancelling moves the members one after another to the list of those that were asked, and
 *       asks each without the lock. A member that is spawned meanwhile is asked by its spawner.
 *   C4  an actor's record of this part belongs to its turn, and else to its owner; the scope in it
 *       is under its own lock.
 *   C5  members are spawned into a nursery by the turn of its actor alone, and it is cancelled when
 *       that turn is over: so a spawn into one is never refused, nobody cancels it meanwhile, and
 *       the actor's handle keeps it. Its members are counted when they are tied.
 *   C6  a scope that is closed by an operation (op/op.h) is the operation's: it has the opener's
 *       handle, and the scope is in no list of the opener any more. A member that leaves as the
 *       last takes `closer` and completes it. `scope` in the slot is set to NULL, under the future
 *       lock of the slot, before the scope can go: who cancels gets a handle under that lock.
 *
 *   C7  the clock decides whether a scope has timed out, when it begins to close, when it takes a
 *       member, and when a member ends or fails. The guard, an async function, only cancels the
 *       members in time while nobody looks. From the end of the last member of a closing scope on
 *       the outcome stands.
 *   C8  an actor whose id is stale opens no scope and has no nursery: what an observer of its end
 *       starts is detached. What a destructor starts before that, while the parts are cancelled,
 *       is given up with the record.
 *
 * Each actor that starts async functions has a **nursery**: a scope that nobody sees, whose members
 * fail without telling anybody, and are cancelled when the actor ends. */
#ifndef JZX_FUTURE_SCOPE_H
#define JZX_FUTURE_SCOPE_H

#include "actor/part.h"
#include "actor/spawn.h"
#include "future/home.h"

#include "jzx/scope.h"

struct jzx_scope {
    struct jzx__lock lock;
    struct jzx__source source; /* who closes it: it has something when count is 0 */
    struct jzx__list running;  /* C1, as the next */
    struct jzx__list asked;    /* C3 */
    struct jzx_scope *next;    /* of those that its opener has opened */
    struct jzx_loop *loop;
    uint32_t refs; /* under the lock, as what follows */
    uint32_t count;
    bool is_closing;
    bool is_cancelled;
    bool is_nursery;         /* never changes */
    uint64_t deadline_ns;    /* never changes, as the next */
    uint64_t outer_limit_ns; /* of the opener */
    jzx_actor_id guard;      /* the actor that waits for the deadline, or JZX_NOBODY */
    struct jzx__op *closer;  /* C6; NULL: none, or it is complete */
    jzx_scope_result result;
};

/* What an actor has of scopes: JZX__PART_SCOPE. */
struct jzx__scope_part {
    struct jzx__link in_scope;
    struct jzx_scope *member_of; /* or NULL */
    jzx_actor_id id;
    struct jzx_scope *opened;  /* newest first */
    struct jzx_scope *nursery; /* or NULL */
    uint64_t limit_ns;         /* 0: none */
};

_Static_assert(sizeof(struct jzx__scope_part) <= JZX__BLOCK_SIZE_MIN, "fits JZX__PART_CLASS");

/* ---- for async functions ---- */

/* Counts a member that is about to be spawned, or says why not. */
jzx_err jzx__scope_reserve(struct jzx_scope *scope);

/* It was not spawned. */
void jzx__scope_unreserve(struct jzx_scope *scope, struct jzx__worker *me);

/* The record of an actor to come. False without memory. */
bool jzx__scope_prepare(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold);

/* The actor to come is a member. */
void jzx__scope_tie(struct jzx_scope *scope, struct jzx__cold *cold, jzx_actor_id id);

/* It was spawned: asks it to end if the scope was cancelled meanwhile. */
void jzx__scope_settle(struct jzx_scope *scope, jzx_actor_id id);

/* That of the actor whose turn this thread runs in the loop, made if need be; NULL if there is no
 * such turn (and *err is JZX_OK), or no memory. Inside. */
struct jzx_scope *jzx__scope_nursery(struct jzx_loop *loop, struct jzx__worker *me, jzx_err *err);

#endif
