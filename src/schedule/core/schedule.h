/* SPDX-License-Identifier: MIT */
/* The scheduler core: jobs that are due at ticks, as pure data and logic. It has no thread, no
 * clock and no actor of its own, takes all its memory when it is made, and runs freestanding.
 *
 * The adapter supplies a table of functions (below), a clock (clock.h) and a driver (driver.h). One
 * thread at a time is the **owner**: it makes the scheduler, runs ticks, and calls everything that
 * is not marked "any thread". Two queues lead to it from other threads: commands (jobs to register)
 * and records that come back (cancelled or completed elsewhere).
 *
 * The life of a job: admit.h schedules, life.h registers, cancels and completes, fire.h runs a
 * tick, run.h runs the ticks of a driver, shutdown.h ends it all. places.h holds the jobs that
 * wait.
 *
 *   S1  a record is in exactly one place: free, on the way to the owner, placed, in the due list of
 *       the tick that runs, or in flight.
 *   S2  an accepted delivery is followed by exactly one completion. Until then the job is in flight
 *       and no second delivery of it starts.
 *   S3  within a tick jobs are delivered in the order in which they were registered.
 *   S4  `active` counts the records that are not free, and is at most system_quota: a thread that
 *       was admitted finds a free record.
 *   S5  until the owner has registered a record, the thread that schedules may be writing it: the
 *       owner looks at is_registered, its own field, before it reads any of that thread's. */
#ifndef JZX_SCHEDULE_CORE_SCHEDULE_H
#define JZX_SCHEDULE_CORE_SCHEDULE_H

#include "base/mpsc.h"
#include "schedule/core/backpressure.h"
#include "schedule/core/clock.h"
#include "schedule/core/close.h"
#include "schedule/core/config.h"
#include "schedule/core/drift.h"
#include "schedule/core/driver.h"
#include "schedule/core/events.h"
#include "schedule/core/gauge.h"
#include "schedule/core/log.h"
#include "schedule/core/places.h"
#include "schedule/core/table.h"

/* ---- what the adapter supplies ---- */

enum jzx__delivery {
    JZX__DELIVERED,     /* the batch is on its way; a completion follows (S2) */
    JZX__DELIVERY_FULL, /* no room: the scheduler tries again at the next tick */
    JZX__DELIVERY_GONE  /* the receiver does not exist any more: the job ends quietly */
};

struct jzx__delivery_order {
    jzx__job_id job;
    void *payload;
    struct jzx__batch batch;
    uint32_t executor;
    bool is_function;
};

/* All on the owner's thread. deliver and run_inline may schedule, cancel and complete, but must not
 * run ticks; the others must not call back at all. */
struct jzx__schedule_ops {
    void *ctx;
    /* May complete the job before it returns. */
    enum jzx__delivery (*deliver)(void *ctx, const struct jzx__delivery_order *order);
    /* Runs a function job to its end, in a shutdown: 0 or its error. NULL: they are cancelled. */
    int32_t (*run_inline)(void *ctx, const struct jzx__delivery_order *order);
    /* The job has ended and its payload, unless NULL, is the adapter's again. May be NULL. */
    void (*release)(void *ctx, void *payload, enum jzx__job_state end);
    /* The event stream. NULL: there is none. */
    jzx__schedule_emit_fn emit;
};

enum jzx__schedule_phase { JZX__PHASE_ACTIVE, JZX__PHASE_SHUTTING_DOWN, JZX__PHASE_CLOSED };

/* ---- figures ---- */

struct jzx__schedule_metrics {
    uint32_t active_total; /* jobs of all kinds that have not ended */
    uint32_t periodic_total;
    uint64_t dropped_total; /* jobs and runs that the scheduler gave up */
    uint32_t quota_limit;   /* the one that holds now */
    uint64_t tick_backlog;
    uint32_t catch_up_window_ticks;
    uint64_t ticks_total;
    uint64_t enqueued_total; /* accepted deliveries */

    uint64_t tick_backlog_peak;
    uint64_t tick_overflow_events;
    uint64_t catch_ups; /* looks at the backlog that found a catch-up */
    uint32_t tick_buffer_quota;
    uint64_t tick_buffer_overflows; /* looks at the backlog that found it above that */
    uint64_t drift_compensations;
    uint64_t drift_worst_ns;
    uint64_t diagnostics_dropped_total;

    uint64_t task_run_on_close_total;
    uint64_t task_run_on_close_failures;
    uint64_t task_run_on_close_duration_ns;

    const char *driver; /* its name; NULL before the start */
    enum jzx__driver_status driver_status;
    uint32_t ticks_per_second; /* over the last second that was measured */
};

/* ---- the scheduler ---- */

/* Bits that any thread sets, for the owner to act on. */
#define JZX__NOTE_QUOTA 1u    /* a job was refused at the quota */
#define JZX__NOTE_ADAPTIVE 2u /* the same at the adaptive one */

struct jzx__schedule {
    /* Constant after the start. */
    struct jzx__schedule_config config;
    struct jzx__schedule_ops ops;
    struct jzx__tick_clock clock;
    const jzx_allocator *allocator;
    void *memory;
    size_t memory_bytes;

    /* Any thread. */
    struct jzx__job_table table;
    struct jzx__mpsc commands;
    struct jzx__mpsc back;
    struct jzx__tick_source source;
    _Atomic uint32_t active;            /* admitted by all, released by the owner */
    _Atomic uint32_t gate;              /* phase and overload; written by the owner: admit.h */
    _Atomic uint32_t notes;             /* JZX__NOTE_*; set by all, taken by the owner */
    _Atomic uint32_t dropped_elsewhere; /* a gauge, folded into dropped_total by the owner */

    /* Owner. */
    struct jzx__places places;
    struct jzx__list due;    /* of the tick that runs now */
    struct jzx__job *firing; /* being delivered now; its end waits until that returns */
    bool firing_ended;
    uint64_t tick;        /* that was run last */
    uint64_t pass_end;    /* the last tick that had passed when the pass began that runs now */
    uint64_t sequence;    /* of registrations */
    uint64_t polled_tick; /* when the gauge was polled last */
    enum jzx__schedule_phase phase;
    struct jzx__driver driver;
    struct jzx__driver fallback; /* name NULL: none */
    struct jzx__tick_runner runner;
    struct jzx__backpressure pressure;
    struct jzx__gauge gauge;
    struct jzx__drift drift;
    struct jzx__schedule_events events;
    struct jzx__schedule_log log;
    struct jzx__close_tasks close;
    struct jzx__batch last_batch; /* runs 0: nothing was fired yet */
    struct jzx__schedule_metrics metrics;
    uint64_t measured_tick; /* where the current second of the metrics began */
    uint64_t measured_ns;
    bool quota_told;
    bool overflow_told;
    bool drift_told; /* in this pass, or in this catch-up */
};

/* The bytes that one scheduler takes from its allocator, for a region that is to hold it. */
size_t jzx__schedule_bytes(const struct jzx__schedule_config *resolved);

/* Takes all memory that the scheduler will ever use. config is resolved (jzx__schedule_resolve).
 * False: there is not enough, and nothing is left behind. */
bool jzx__schedule_init(struct jzx__schedule *s, const struct jzx__schedule_config *resolved,
                        struct jzx__schedule_ops ops, struct jzx__tick_clock clock,
                        const jzx_allocator *allocator);

/* After jzx__schedule_shutdown, when no thread uses the scheduler any more. Jobs in flight are
 * forgotten: their payloads are released. */
void jzx__schedule_deinit(struct jzx__schedule *s);

struct jzx__schedule_metrics jzx__schedule_metrics_of(struct jzx__schedule *s);

/* The time in whole ticks, by the clock. Any thread that may read the clock. */
struct jzx__tick_instant jzx__schedule_now(const struct jzx__schedule *s);

/* ---- for the files of the core ---- */

static inline uint64_t jzx__schedule_tick_ns(const struct jzx__schedule *s, uint64_t tick) {
    return tick * s->config.resolution_ns;
}

static inline void jzx__schedule_tell(struct jzx__schedule *s, struct jzx__schedule_event event) {
    event.tick = s->tick;
    jzx__events_tell(&s->events, &event);
}

/* Writes to the log, and tells the event of the same kind. */
void jzx__schedule_record(struct jzx__schedule *s, const struct jzx__job *job,
                          enum jzx__log_kind kind);

#endif
