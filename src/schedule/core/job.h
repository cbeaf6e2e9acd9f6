/* SPDX-License-Identifier: MIT */
/* The record of one job. Its memory is taken when the scheduler is made and reused for ever; the
 * word says whose turn it is. */
#ifndef JZX_SCHEDULE_CORE_JOB_H
#define JZX_SCHEDULE_CORE_JOB_H

#include "jzx/tick_timer.h"

#include "base/heap.h"
#include "base/list.h"
#include "base/mpsc.h"
#include "schedule/core/batch.h"
#include "schedule/core/policy.h"
#include "schedule/core/state.h"

/* Names a job; the first is 1. 0 is no job, and stands for one that was refused. */
typedef uint64_t jzx__job_id;
#define JZX__NO_JOB ((jzx__job_id)0)

/* Where the owner keeps a record. */
enum jzx__job_where {
    JZX__WHERE_NOWHERE,
    JZX__WHERE_TIMER,
    JZX__WHERE_OVERFLOW,
    JZX__WHERE_DUE /* taken out of the timer by the tick that runs now */
};

struct jzx__job {
    /* Owner: the place named by `where`. */
    union {
        jzx_tick_entry entry;
        struct jzx__heap_node far;
        struct jzx__link due;
    };

    /* Any thread. */
    jzx__job_word word;
    _Atomic uint32_t history;      /* how earlier generations ended: see table.h */
    uint32_t index;                /* in the table; constant */
    struct jzx__mpsc_node command; /* on its way to be registered */
    struct jzx__mpsc_node back;    /* on its way back: cancelled, or completed elsewhere */

    /* Written by the thread that schedules, before the record is submitted; then the owner's. */
    jzx__job_id id;
    uint64_t deadline; /* tick of the next run; for a fixed rate the point of its grid */
    uint64_t scheduled_at;
    uint64_t delay_ns; /* fixed delay */
    uint32_t period;   /* in ticks; 0 for one-shots */
    uint32_t executor; /* the dispatcher, for the log */
    void *payload;     /* the adapter's */
    struct jzx__policy policy;
    enum jzx__job_mode mode;
    bool skips_missed;
    bool is_function;

    /* Written by the thread on which the handler ended, before the record goes back. */
    uint64_t finished_ns;
    int32_t error;

    /* Owner. */
    uint64_t sequence; /* of registration: the order within a tick */
    uint64_t last_fire;
    uint64_t paced_until; /* see rate.h */
    uint64_t not_before;  /* the first tick after the last run, if that took ticks; else 0 */
    struct jzx__batch batch;
    uint32_t deferrals; /* ticks since the receiver first had no room */
    enum jzx__job_where where;
    bool is_registered; /* S5 of schedule.h */
    bool is_in_flight;  /* delivered; its completion has not come */
};

static inline bool jzx__job_is_periodic(const struct jzx__job *job) {
    return job->mode != JZX__JOB_ONE_SHOT;
}

#endif
