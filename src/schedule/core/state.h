/* SPDX-License-Identifier: MIT */
/* The life of a job as one atomic word: the state, whether the job is periodic, and the generation
 * of its record. A handle names the generation, so that a stale one changes nothing.
 *
 *   Pending   --submit-->  Scheduled                  by the thread that schedules
 *   Scheduled --cancel-->  Cancelled                  by any thread
 *   Scheduled --begin-->   Executing                  by the owner, in run_tick
 *   Executing --finish-->  Completed                  one-shots, when their handler has ended
 *   Executing --again-->   Scheduled                  periodic jobs, by the owner
 *   Executing --cancel-->  Cancelled                  periodic jobs alone: the run under way ends
 *   Executing --abandon--> Cancelled                  failed handler, receiver gone, backlog
 *   Completed, Cancelled --recycle--> Pending of the next generation, by the owner
 *
 * One function per edge. Each returns whether it took place, or what the caller must now do. */
#ifndef JZX_SCHEDULE_CORE_STATE_H
#define JZX_SCHEDULE_CORE_STATE_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

enum jzx__job_state {
    JZX__JOB_PENDING,
    JZX__JOB_SCHEDULED,
    JZX__JOB_EXECUTING,
    JZX__JOB_COMPLETED,
    JZX__JOB_CANCELLED,
    JZX__JOB_FORGOTTEN /* never in a word: the answer for a handle older than the history */
};

/* As wide as a pointer: the widest word that every target changes atomically. With 32 bits the
 * generation wraps after 2^24 uses of one record. */
typedef _Atomic uintptr_t jzx__job_word;

#define JZX__JOB_STATE ((uintptr_t)7)
#define JZX__JOB_PERIODIC ((uintptr_t)8)
#define JZX__JOB_GENERATION_SHIFT 8
#define JZX__JOB_GENERATION_MAX (UINTPTR_MAX >> (sizeof(uintptr_t) == 8 ? 16 : 8))

static inline uintptr_t jzx__job_word_make(uintptr_t generation, bool periodic,
                                           enum jzx__job_state state) {
    return generation << JZX__JOB_GENERATION_SHIFT | (periodic ? JZX__JOB_PERIODIC : 0) |
           (uintptr_t)state;
}

static inline enum jzx__job_state jzx__job_word_state(uintptr_t word) {
    return (enum jzx__job_state)(word & JZX__JOB_STATE);
}

static inline uintptr_t jzx__job_word_generation(uintptr_t word) {
    return word >> JZX__JOB_GENERATION_SHIFT;
}

static inline uintptr_t jzx__job_word_load(const jzx__job_word *word) {
    /* acquire: pairs with every edge below; what was done before it is visible */
    return jzx__atomic_load_acquire(word);
}

/* From `from` to `to`, of whatever generation the word has. */
static inline bool jzx__job_step(jzx__job_word *word, enum jzx__job_state from,
                                 enum jzx__job_state to) {
    /* relaxed: only a first guess for the exchange */
    uintptr_t seen = jzx__atomic_load_relaxed(word);
    while (jzx__job_word_state(seen) == from) {
        uintptr_t next = (seen & ~JZX__JOB_STATE) | (uintptr_t)to;
        /* pairs with the other edges and with jzx__job_word_load */
        if (jzx__atomic_cas_acq_rel(word, &seen, next))
            return true;
    }
    return false;
}

/* The record is the caller's alone: it was just taken out of the free ring. */
static inline void jzx__job_open(jzx__job_word *word, bool periodic) {
    /* relaxed: the generation is that of the last recycle, which the free ring made visible */
    uintptr_t generation = jzx__job_word_generation(jzx__atomic_load_relaxed(word));
    /* relaxed: nobody knows this generation yet; jzx__job_submit publishes */
    jzx__atomic_store_relaxed(word, jzx__job_word_make(generation, periodic, JZX__JOB_PENDING));
}

static inline void jzx__job_submit(jzx__job_word *word) {
    (void)jzx__job_step(word, JZX__JOB_PENDING, JZX__JOB_SCHEDULED);
}

enum jzx__job_cancel {
    JZX__CANCEL_REFUSED, /* another generation, ended, or a one-shot whose run has begun */
    JZX__CANCEL_UNLINK,  /* the caller must hand the record to its owner, which unlinks it */
    JZX__CANCEL_LAST_RUN /* the run under way ends normally, and ends the job */
};

static inline enum jzx__job_cancel jzx__job_cancel(jzx__job_word *word, uintptr_t generation) {
    uintptr_t seen = jzx__job_word_load(word);
    for (;;) {
        enum jzx__job_state state = jzx__job_word_state(seen);
        bool ends_run = state == JZX__JOB_EXECUTING && (seen & JZX__JOB_PERIODIC) != 0;
        if (jzx__job_word_generation(seen) != generation ||
            (state != JZX__JOB_SCHEDULED && !ends_run))
            return JZX__CANCEL_REFUSED;
        uintptr_t next = (seen & ~JZX__JOB_STATE) | (uintptr_t)JZX__JOB_CANCELLED;
        /* pairs with begin and again: exactly one of them and this takes place */
        if (jzx__atomic_cas_acq_rel(word, &seen, next))
            return ends_run ? JZX__CANCEL_LAST_RUN : JZX__CANCEL_UNLINK;
    }
}

/* Owner. False: it was cancelled, and must not run. */
static inline bool jzx__job_begin(jzx__job_word *word) {
    return jzx__job_step(word, JZX__JOB_SCHEDULED, JZX__JOB_EXECUTING);
}

/* The thread on which the handler of a one-shot ended. */
static inline bool jzx__job_finish(jzx__job_word *word) {
    return jzx__job_step(word, JZX__JOB_EXECUTING, JZX__JOB_COMPLETED);
}

/* Owner. False: it was cancelled during its run, and the owner recycles the record. */
static inline bool jzx__job_again(jzx__job_word *word) {
    return jzx__job_step(word, JZX__JOB_EXECUTING, JZX__JOB_SCHEDULED);
}

/* A run that cannot go on. Afterwards the job is Cancelled, by this or by a cancel before. */
static inline void jzx__job_abandon(jzx__job_word *word) {
    (void)jzx__job_step(word, JZX__JOB_EXECUTING, JZX__JOB_CANCELLED);
}

#endif
