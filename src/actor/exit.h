/* SPDX-License-Identifier: MIT */
/* How an actor ends. */
#ifndef JZX_ACTOR_EXIT_H
#define JZX_ACTOR_EXIT_H

#include "actor/actor.h"

/* Ends a living actor of mine (R12): see exit.c. text may be NULL. */
void jzx__actor_end(struct jzx__worker *me, struct jzx__actor *actor, jzx_exit_reason reason,
                    const char *text);

/* An actor of mine that waited for its parts (A3 of part.h) may go on to end: one of them is quiet
 * now. kept is what quiesce has returned, and may be in the record of a part. */
void jzx__actor_finish(struct jzx__worker *me, struct jzx__actor *actor,
                       const struct jzx__ending_kept *kept);

/* The loop ends, and an actor of mine still waits for its parts: they abort, and it ends. */
void jzx__actor_abort(struct jzx__worker *me, struct jzx__actor *actor);

/* Refuses what comes from now on, and ends the actor when it has handled what it has: normally, or
 * with JZX_EXIT_SHUTDOWN if want has JZX__WANT_FINISH. Mine only. */
void jzx__actor_drain(struct jzx__worker *me, struct jzx__actor *actor, uint64_t want);

#endif
