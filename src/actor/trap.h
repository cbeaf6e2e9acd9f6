/* SPDX-License-Identifier: MIT */
/* Stops that an actor sees coming (jzx_spawn_opts.trap_stop). A request to stop is not obeyed but
 * told, by one message that overtakes all others, JZX_TAG_STOP; the actor ends by itself, or is
 * killed at the deadline.
 *
 *   H1  a stop is told once in a life, by the message that was made with the actor, so that it
 *       cannot fail for memory; an order of jzx_actor_cancel brings a message of its own.
 *   H2  the earliest deadline counts. While it is on a wheel the actor stays on that worker
 *       (waiter/A7); when it passes, the actor is asked to end as by JZX_STOP_KILL.
 *   H3  the record is the owner's, also while a turn goes on without its worker. */
#ifndef JZX_ACTOR_TRAP_H
#define JZX_ACTOR_TRAP_H

#include "actor/actor.h"
#include "sched/waiter.h"

struct jzx__trap {
    struct jzx__waiter limit;  /* times out at the deadline */
    struct jzx__message *note; /* NULL: the stop was told */
    uint64_t grace_ns;         /* how long a stop without a deadline of its own may take */
    uint64_t deadline_ns;      /* JZX_NEVER: there is none, and nothing is on a wheel */
};

#define JZX__TRAP_CLASS 1u
_Static_assert(sizeof(struct jzx__trap) <= (size_t)JZX__BLOCK_SIZE_MIN << JZX__TRAP_CLASS,
               "fits its class");

/* NULL without memory. grace_ns 0: JZX_DEFAULT_STOP_GRACE. */
struct jzx__trap *jzx__trap_create(struct jzx_loop *loop, struct jzx__worker *me,
                                   uint64_t grace_ns);

/* NULL is fine. It is not armed. */
void jzx__trap_destroy(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__trap *trap);

/* Somebody wants the actor to stop: state has the requests. Owner only. */
void jzx__trap_tell(struct jzx__worker *me, struct jzx__actor *actor, uint64_t state);

/* It is to end by that time, if it was not to end sooner. Owner only. */
void jzx__trap_expect(struct jzx__worker *me, struct jzx__actor *actor, uint64_t deadline_ns);

/* The actor ends. Owner only. */
void jzx__trap_disarm(struct jzx__actor *actor);

/* True if the deadline has passed. */
bool jzx__trap_is_over(const struct jzx__trap *trap);

#endif
