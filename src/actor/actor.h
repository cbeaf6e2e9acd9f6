/* SPDX-License-Identifier: MIT */
/* An actor: a task with an id, a mailbox bound, a behaviour and a state; 128 bytes. What most
 * actors do not need (a name, hooks, a stash) is in a cold record of its own. */
#ifndef JZX_ACTOR_ACTOR_H
#define JZX_ACTOR_ACTOR_H

#include "sched/task.h"
#include "sched/worker.h"

#include "jzx/actor.h"

struct jzx__message;

/* Requests in the low byte of the task's state word; the strongest wins. */
#define JZX__WANT_KILL 0x01u
#define JZX__WANT_FAIL 0x02u
#define JZX__WANT_STOP 0x04u
#define JZX__WANT_DRAIN 0x08u

/* Slow things that the turn must look at before each message. */
#define JZX__CARE_START 0x01u       /* the init is due */
#define JZX__CARE_ROOM 0x02u        /* somebody waits for room */
#define JZX__CARE_DROP_OLDEST 0x04u /* the inbox may hold more than the bound */
#define JZX__CARE_DRAIN 0x08u       /* ends when the private list is empty */
#define JZX__CARE_ANNOUNCE 0x10u    /* the start event is due */
#define JZX__CARE_WANT 0x20u        /* this thread has set a request bit */

/* The fields of the task that are the kind's own: status is a jzx_actor_status, care JZX__CARE_*,
 * on_full a jzx_on_full, cold a struct jzx__cold or NULL, and waiters who waits for room: the last
 * of a ring, whose next is the first. */
struct jzx__actor {
    struct jzx__task task;
};

_Static_assert(sizeof(struct jzx__actor) == 128, "two cache lines");

/* Made at spawn if the options ask for it, or at the first stash. */
struct jzx__cold {
    jzx_init_fn init;
    jzx_cleanup_fn cleanup;
    struct jzx__node *stash_first; /* oldest first */
    struct jzx__node *stash_last;
    uint32_t stash_count;
    uint32_t stash_cap;
    char name[JZX_NAME_MAX + 1];
};

#define JZX__COLD_CLASS 1u /* 128-byte blocks */
_Static_assert(sizeof(struct jzx__cold) <= 128, "fits its class");

/* The turn that runs, on the stack of the thread that runs it; a pass uses one for all its turns.
 */
struct jzx__turn {
    jzx_context ctx;
    struct jzx__actor *actor;
    struct jzx__message *current; /* being handled; NULL once taken or stashed */
    uint32_t current_tag;
};

static inline struct jzx__actor *jzx__actor_of(struct jzx__task *task) {
    return JZX_CONTAINER_OF(task, struct jzx__actor, task);
}

static inline struct jzx__turn *jzx__turn_of(jzx_context *ctx) {
    return JZX_CONTAINER_OF(ctx, struct jzx__turn, ctx);
}

/* NULL if it has none. */
static inline const char *jzx__actor_name(const struct jzx__actor *actor) {
    const struct jzx__cold *cold = actor->task.cold;
    return cold == NULL || cold->name[0] == '\0' ? NULL : cold->name;
}

/* The id of a living actor, or the one to come of a free slot. */
static inline jzx_actor_id jzx__actor_id(const struct jzx__actor *actor) {
    /* relaxed: only the owner changes it */
    return jzx__atomic_load_relaxed(&actor->task.id);
}

/* Both are read by senders of older generations, too: what they decide by an outdated value is
 * undone when their message is taken in. */
static inline uint32_t jzx__actor_cap(const struct jzx__actor *actor) {
    /* relaxed: see above */
    return jzx__atomic_load_relaxed(&actor->task.cap);
}

static inline jzx_on_full jzx__actor_on_full(const struct jzx__actor *actor) {
    /* relaxed: see above */
    return (jzx_on_full)jzx__atomic_load_relaxed(&actor->task.on_full);
}

/* One pass over the ready actors. */
bool jzx__actor_run_ready(struct jzx__worker *me, uint32_t turns_max);

/* Emits the start event if it is still due, so that no other event of the actor comes before it. */
void jzx__actor_announce(struct jzx_loop *loop, struct jzx__actor *actor);

/* Ends a living actor of mine (R12): the id becomes stale, what waits becomes dead letters, cleanup
 * and observer are called, the slot is freed or waits for its last entry. */
void jzx__actor_end(struct jzx__worker *me, struct jzx__actor *actor, jzx_exit_reason reason);

/* Refuses what comes from now on, and ends the actor when it has handled what it has. Mine only. */
void jzx__actor_drain(struct jzx__worker *me, struct jzx__actor *actor);

/* A cold record with defaults, or NULL without memory. */
struct jzx__cold *jzx__cold_create(struct jzx_loop *loop, struct jzx__worker *me);

#endif
