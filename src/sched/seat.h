/* SPDX-License-Identifier: MIT */
/* A seat: what a thread has while it drives a worker, and how it can lose the worker.
 *
 * A worker is not its thread. When a behaviour does not return, the watchdog takes the worker away
 * from the thread and gives it to another. So a thread may touch its worker only inside a
 * **bracket**, and reads the pointer to it inside the bracket:
 *
 *   enter   in_runtime = 1, then load worker (R17). Two plain instructions on every processor.
 *   leave   in_runtime = 0, with release.
 *   take    the watchdog stores worker = NULL, runs a membarrier on all threads, and waits until
 *           in_runtime is 0 (R18). After the barrier every thread has either shown its 1 to the
 *           watchdog, or loads the NULL.
 *
 * S1  a thread uses a worker only between an enter that found it and the next leave.
 * S2  a pointer that was taken is never given back: the thread may have seen the NULL already. It
 *     gets a worker again only while it waits for one.
 * S3  callbacks of the runtime (observers, destructors, cleanups) run inside the bracket: what
 *     they call enters again, and its leave restores what it found.
 * S4  whoever takes a lock of the loop, or leaves something half done for a moment, is inside, also
 *     if it needs no worker: outside a fault is the actor's own, and leads out of it by a jump.
 *
 * A thread without a seat, or whose worker was taken, acts as a foreign thread: every call works
 * there, by another path. */
#ifndef JZX_SCHED_SEAT_H
#define JZX_SCHED_SEAT_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/mpsc.h"
#include "base/thread.h"
#include "sched/cause.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jzx__task;
struct jzx__worker;

/* in_runtime while a cleanup runs: inside the bracket (S3), but in the user's code. A call into the
 * runtime makes it 1 until it returns. */
#define JZX__SEAT_IN_CLEANUP 2u

/* The same while a turn calls a function of the user's that decides something for the runtime: a
 * predicate of a receive. */
#define JZX__SEAT_IN_PREDICATE 3u

/* Room for what the layer above keeps of the turns of a pass. */
#define JZX__SEAT_TURN_SIZE 256u

struct jzx__seat {
    /* Written in every turn: on lines that no other thread needs. */
    _Alignas(2 * JZX_CACHE_LINE) _Atomic(struct jzx__worker *) worker; /* cleared by the watchdog.
                                                                        * Decides */
    _Atomic uint32_t in_runtime;      /* written by the thread. Decides */
    _Atomic uint32_t tag;             /* of the message in hand: for dumps and the watchdog */
    _Atomic(struct jzx__task *) task; /* whose turn it is, or NULL: likewise */
    struct jzx__mpsc_node returned;   /* link in a worker's returns, when a turn outlived it */
    _Atomic uint64_t lost_at_ns;      /* the last tick before the watchdog took its worker away in
                                       * a turn that was not taken back yet (or when that was seen,
                                       * if the turn began after that tick), else 0. Decides */
    struct jzx__worker *lost_worker;  /* the worker of that turn; the watchdog's */
    bool has_successor;               /* another thread drives that worker; the watchdog's */
    struct jzx__usage lost_usage;     /* of the thread, at or before that time; the watchdog's, and
                                       * its thread's once the turn is over */
    _Atomic uint32_t told;            /* whether that turn was reported: see report.h. Decides */
    bool is_substitute;               /* its thread is no worker's home (crew.h); never changes */
    struct jzx__seat *outer;          /* of the loop that runs around this one */
    void *turn;    /* the layer above's, as what follows: the turn that runs, or ran last */
    void *cleanup; /* the turn of the cleanup that runs, or NULL */
    _Alignas(16) unsigned char turn_room[JZX__SEAT_TURN_SIZE]; /* for the turns of a pass */
    /* The end of a turn that had lost the worker. The thread's own, published with its return. */
    _Atomic uint64_t returned_at_ns; /* when that was; 0: it goes on */
    uint64_t used_ns;                /* CPU time since lost_usage */
    uint64_t ended_ns;               /* how long it took; the worker's that takes it back */
    enum jzx__stall_cause cause;     /* where the time went */
};

/* What a thread has that has no seat: inside for ever and without a worker, so that the short paths
 * need one test for both. Never written. */
extern struct jzx__seat jzx__no_seat;

/* The seat of this thread. A single small initial-exec thread-local, so that the library can be
 * loaded with dlopen. */
extern _Thread_local struct jzx__seat *jzx__seat_of_thread;

static inline bool jzx__seat_exists(const struct jzx__seat *seat) {
    return seat != &jzx__no_seat;
}

/* The thread sits down, outside of any bracket. */
static inline void jzx__seat_init(struct jzx__seat *seat, struct jzx__worker *worker) {
    /* relaxed, all: the thread's own as yet */
    jzx__atomic_store_relaxed(&seat->worker, worker);
    jzx__atomic_store_relaxed(&seat->in_runtime, 0u);
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&seat->tag, 0u);
    jzx__atomic_store_relaxed(&seat->task, NULL);
    jzx__atomic_store_relaxed(&seat->lost_at_ns, (uint64_t)0);
    seat->outer = jzx__seat_of_thread;
    jzx__seat_of_thread = seat;
}

static inline void jzx__seat_deinit(struct jzx__seat *seat) {
    jzx__seat_of_thread = seat->outer;
}

/* Opens the bracket (R17); in_runtime as it was before is for the leave (S3). */
static inline struct jzx__worker *jzx__seat_enter(struct jzx__seat *seat) {
    /* relaxed, both: ordered by the watchdog's membarrier, see above */
    jzx__atomic_store_relaxed(&seat->in_runtime, 1u);
    jzx__atomic_compiler_barrier();
    return jzx__atomic_load_relaxed(&seat->worker);
}

/* Whose turn it is on this thread, or NULL. */
static inline struct jzx__task *jzx__seat_task(const struct jzx__seat *seat) {
    /* relaxed: only this thread writes it */
    return jzx__atomic_load_relaxed(&seat->task);
}

/* True inside the bracket: in a callback of the runtime. */
static inline bool jzx__seat_is_inside(const struct jzx__seat *seat) {
    /* relaxed: written by this thread alone */
    return jzx__atomic_load_relaxed(&seat->in_runtime) != 0;
}

static inline void jzx__seat_leave(struct jzx__seat *seat, uint32_t was) {
    /* release: pairs with the acquire of the watchdog; what was done to the worker is visible */
    jzx__atomic_store_release(&seat->in_runtime, was);
}

/* A call into the runtime by whatever thread: the bracket of its seat, if it has one. */
struct jzx__visit {
    struct jzx__seat *seat;
    uint32_t was;
};

/* The worker that this thread drives, or NULL. Every visit ends. */
static inline struct jzx__worker *jzx__visit_begin(struct jzx__visit *visit) {
    visit->seat = jzx__seat_of_thread;
    visit->was = 1;
    if (!jzx__seat_exists(visit->seat))
        return NULL;
    /* relaxed: written by this thread alone */
    visit->was = jzx__atomic_load_relaxed(&visit->seat->in_runtime);
    return jzx__seat_enter(visit->seat);
}

static inline void jzx__visit_end(const struct jzx__visit *visit) {
    if (jzx__seat_exists(visit->seat))
        jzx__seat_leave(visit->seat, visit->was);
}

#endif
