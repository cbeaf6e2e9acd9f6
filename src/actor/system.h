/* SPDX-License-Identifier: MIT */
/* struct jzx_loop: a scheduler, a table of actors and an observer. The loop layer creates and
 * drives it; the actor layer works inside it. */
#ifndef JZX_ACTOR_SYSTEM_H
#define JZX_ACTOR_SYSTEM_H

#include "actor/table.h"
#include "observe/observer.h"
#include "sched/sched.h"

#include "jzx/loop.h"

struct jzx_loop {
    struct jzx__table table;
    struct jzx__sched sched;
    struct jzx__observer observer;
    uint32_t default_mailbox_cap;

    _Atomic uint64_t foreign_live; /* actors spawned by other threads, never lowered. Decides */

    /* The driving thread's own. */
    struct jzx__slot_cache slots;
    uint64_t local_live; /* actors spawned here minus all that ended, modulo 2^64 */
    bool started;        /* the loop start event was sent */
    bool ended;          /* everything was ended and the loop stop event was sent */

    _Atomic uint32_t driven; /* 1 while a thread is inside run, step, ... Decides */
};

static inline struct jzx_loop *jzx__loop_of(struct jzx__worker *worker) {
    return JZX_CONTAINER_OF(worker->sched, struct jzx_loop, sched);
}

/* The worker that this thread drives if it is one of loop's, else NULL: a foreign thread. */
static inline struct jzx__worker *jzx__loop_self(const struct jzx_loop *loop) {
    struct jzx__worker *me = jzx__worker_self();
    return me != NULL && me->sched == &loop->sched ? me : NULL;
}

/* Living actors that are no daemons. On the driving thread. */
static inline uint64_t jzx__loop_live(const struct jzx_loop *loop) {
    /* relaxed: an actor that ended here was seen with its addition, which came before its entry */
    return loop->local_live + jzx__atomic_load_relaxed(&loop->foreign_live);
}

/* Becoming the thread that drives the loop, also from inside (then nothing changes). False if
 * another thread is. leave() undoes the last enter(). */
struct jzx__drive {
    struct jzx__worker *before;
    bool nested;
};

bool jzx__loop_enter(struct jzx_loop *loop, struct jzx__drive *drive);
void jzx__loop_leave(struct jzx_loop *loop, const struct jzx__drive *drive);

/* Adds to a counter of the calling thread: plain on the worker, shared elsewhere. */
#define jzx__loop_count(loop, me, name)                                                            \
    ((me) != NULL                                                                                  \
         ? jzx__counter_add(&(me)->counters.name, 1)                                               \
         : jzx__counter_add_shared(&jzx__sched_foreign(&(loop)->sched)->counters.name, 1))

#endif
