/* SPDX-License-Identifier: MIT */
/* Making actors with bonds: to a supervisor, to those who watch, to a predecessor. */
#ifndef JZX_ACTOR_SPAWN_H
#define JZX_ACTOR_SPAWN_H

#include "actor/actor.h"

struct jzx__bonds;
struct jzx__watch;

/* How the part of watches ties them (watch/watch.h). */
struct jzx__bond_ops {
    /* The cold record of the actor to come has what it needs. False without memory. */
    bool (*prepare)(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold);
    /* Nothing can fail any more, and the actor cannot be sent to yet. */
    void (*tie)(struct jzx__cold *cold, const struct jzx__bonds *bonds, jzx_actor_id id);
};

/* The record shared by an actor that is being made and the one that makes it; each may be NULL.
 * The watches that are to be told of its end, the first that of a supervisor or of a link; one of
 * which it is to be told (listed by its target already); and the mail that a predecessor has not
 * handled. */
struct jzx__bonds {
    const struct jzx__bond_ops *ops; /* of the watches; NULL: there are none */
    struct jzx__watch *by;
    struct jzx__watch *monitor;
    struct jzx__watch *of;
    struct jzx__node *mail; /* user messages, oldest first */
    bool keeps_mail;        /* its own is to be kept for a successor */
    bool is_child;          /* of a supervisor: stopped by that when the loop stops */
    bool is_super;
    uint64_t stop_grace_ns; /* of one that traps stops; 0: the default */
    uint8_t kind;           /* enum jzx__kind, of one that the options cannot name; else 0 */

    /* Both are the actor's then: what a supervisor is told when somebody wants it to end, and what
     * goes to the supervisor, whose id is its payload, when the actor's init is through. */
    struct jzx__message *stop_note;
    struct jzx__message *started_note;

    /* May be NULL: is told the id when nothing can fail any more and the actor can be sent to,
     * before it begins. */
    void (*before)(void *arg, jzx_actor_id id);
    void *before_arg;
};

/* 0 is, for the default. */
bool jzx__stack_size_is_valid(jzx_fiber_fn fiber, uint32_t size_bytes);

/* jzx_spawn with bonds. On an error they are as they were. me may be NULL. */
jzx_err jzx__spawn_bound(struct jzx_loop *loop, struct jzx__worker *me, const jzx_spawn_opts *opts,
                         const struct jzx__bonds *bonds, jzx_actor_id *id);

/* A started_note that is not for a supervisor, but calls a function when the init is through or the
 * actor has ended before: inside, on a thread of the loop. */
#define JZX__TAG_STARTED 0xFFFF000Au

struct jzx__started {
    void (*tell)(struct jzx_loop *loop, const struct jzx__started *started);
    uint64_t ticket; /* the caller's own */
    jzx_err err; /* JZX_OK: it is through. Else that of the init, or JZX_ERR_NO_SUCH_ACTOR if the
                      * actor was ended before that */
};

/* NULL without memory. On a thread without a worker. */
struct jzx__message *jzx__started_note(struct jzx_loop *loop, const struct jzx__started *started);

/* The init of an actor has failed, of which its note is to tell. */
void jzx__actor_note_failure(struct jzx__actor *actor, jzx_err err);

/* The actor has ended, and its note was not needed: tells, and frees it. */
void jzx__started_note_drop(struct jzx_loop *loop, struct jzx__worker *me,
                            struct jzx__message *note);

/* The init of an actor is through: tells its supervisor, or who else waits for it, if there is one,
 * once. A supervisor does it itself. me may be NULL. */
void jzx__actor_tell_started(struct jzx_loop *loop, struct jzx__worker *me,
                             struct jzx__actor *actor);

#endif
