/* SPDX-License-Identifier: MIT */
/* One turn of an actor, and a pass over all that are ready. */
#ifndef JZX_ACTOR_TURN_H
#define JZX_ACTOR_TURN_H

#include "actor/actor.h"
#include "actor/kind.h"

/* One pass over the ready actors. */
enum jzx__pass_result jzx__actor_run_ready(struct jzx__worker *me, uint32_t turns_max);

/* One turn of a task of a kind, which is in a run queue, outside of any pass. Its kind runs no user
 * code in its turns. */
void jzx__actor_run_alone(struct jzx__worker *me, struct jzx__task *task);

/* A turn that went on without the worker is over: does what its end asks for. */
void jzx__actor_take_back(struct jzx__worker *me, struct jzx__seat *seat);

/* True if user code of this turn (or of this cleanup) runs on this thread, so that jzx_exit can
 * leave it. */
bool jzx__turn_can_exit(const struct jzx__turn *turn);

/* ---- for kinds whose turns outlive a pass ---- */

/* The thread has lost its worker while user code ran: it is a foreign thread now, inside no
 * bracket. Leaves the turn with the worker (R19), and touches it no more. LOST. */
enum jzx__fate jzx__turn_lose(struct jzx__worker *lost, struct jzx__turn *turn);

/* Releases the message in hand, now or with the worker that takes the turn back. */
void jzx__turn_release_without_worker(struct jzx__turn *turn);

/* What such a turn has left to do for its actor's owner; all but how it ended. */
void jzx__turn_take_changes(struct jzx__worker *me, struct jzx__turn *turn);

/* The actor has left its code by jzx_exit or by a fault. */
void jzx__turn_end_as_it_says(struct jzx__worker *me, const struct jzx__turn *turn);

#endif
