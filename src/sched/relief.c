/* SPDX-License-Identifier: MIT */
/* How a worker is taken from a thread, and given to the next one. See sched/relief.h. */
#include "sched/relief.h"

#include "base/assert.h"
#include "base/futex.h"
#include "sched/crew.h"

#include <sched.h>

/* A substitute without a worker; under the lock. NULL if there is none and there may be no more. */
static struct jzx__thread *take_spare(struct jzx__sched *sched) {
    struct jzx__crew *crew = &sched->crew;
    struct jzx__thread *thread = crew->spares;
    if (thread != NULL) {
        JZX_ASSERT(thread->home == NULL); /* C4 */
        crew->spares = thread->next_spare;
        return thread;
    }
    uint32_t spare_count = crew->thread_count + 1 - sched->worker_count;
    return spare_count < crew->spare_max ? jzx__crew_start_thread(sched, JZX_NONE) : NULL;
}

static void put_spare_back(struct jzx__crew *crew, struct jzx__thread *thread) {
    if (thread->home != NULL)
        return; /* it goes on waiting */
    thread->next_spare = crew->spares;
    crew->spares = thread;
}

/* The thread that is to drive the worker next: its home thread, if that waits for it (C6), else a
 * spare. Under the lock. */
static struct jzx__thread *next_driver(struct jzx__sched *sched, struct jzx__worker *worker) {
    /* relaxed: changes under the lock */
    struct jzx__thread *home = jzx__atomic_load_relaxed(&worker->wanted_by);
    return home != NULL && !JZX__MUTANT(watchdog_forgets_home) ? home : take_spare(sched);
}

/* Until the thread of the seat has left its bracket: it is about to, or in a callback. */
static void await_leave(struct jzx__seat *seat) {
    /* acquire: pairs with the release in leave; the worker is as the thread left it */
    while (jzx__atomic_load_acquire(&seat->in_runtime) != 0)
        sched_yield();
}

/* Clears the pointer of the seat, if a thread is there to take its worker (C1), and the turn has
 * not gone on since that tick: starting a spare takes a while. */
static struct jzx__thread *begin_take(struct jzx__sched *sched, struct jzx__worker *worker,
                                      struct jzx__seat *seat, uint64_t tick) {
    struct jzx__crew *crew = &sched->crew;
    struct jzx__thread *next = NULL;
    jzx__lock_acquire(&crew->lock);
    /* relaxed: changes under the lock */
    if (jzx__atomic_load_relaxed(&seat->worker) == worker)
        next = next_driver(sched, worker);
    if (next != NULL && jzx__worker_last_tick(worker) != tick) {
        put_spare_back(crew, next);
        next = NULL;
    }
    if (next != NULL) {
        /* seq_cst: pairs with the load of a worker that goes to sleep (R14). A thread that enters
         * is ordered by the barrier */
        jzx__atomic_store_seq_cst(&seat->worker, NULL);
    }
    jzx__lock_release(&crew->lock);
    return next;
}

/* Takes the worker from the seat: it is ours from then on, until we give it away. The lock is not
 * held while we wait for the thread to leave: it may need it to get there. NULL if that cannot be;
 * else the thread that is to drive it. */
struct jzx__thread *jzx__relief_take(struct jzx__sched *sched, struct jzx__worker *worker,
                                     struct jzx__seat *seat, uint64_t tick) {
    /* relaxed: a hint. In a callback of the runtime nobody can be relieved */
    if (!sched->crew.can_take || jzx__atomic_load_relaxed(&seat->in_runtime) != 0)
        return NULL;
    struct jzx__thread *next = begin_take(sched, worker, seat, tick);
    if (next == NULL)
        return NULL;
    jzx__membarrier();
    jzx__parker_wake(&worker->parker);
    await_leave(seat);
    /* relaxed: the thread wrote it before it left */
    struct jzx__task *task = jzx__atomic_load_relaxed(&seat->task);
    if (task != NULL) {
        jzx__touch(task);
        task->place = JZX__AWAY; /* its turn goes on without the worker */
    }
    return next;
}

void jzx__relief_give(struct jzx__sched *sched, struct jzx__thread *next,
                      struct jzx__worker *worker) {
    jzx__lock_acquire(&sched->crew.lock);
    jzx__crew_give(sched, next, worker);
    jzx__lock_release(&sched->crew.lock);
}
