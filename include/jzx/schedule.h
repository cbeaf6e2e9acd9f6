/* SPDX-License-Identifier: MIT */
/* The scheduler API: jobs with policies, quotas and diagnostics, for the periodic work of a whole
 * program. For a timeout or a reminder of one actor use the timers of jzx/timer.h, which are
 * cheaper and end with their actor; docs/schedule.md compares the two.
 *
 * A job sends a message to an actor, or calls a function, after a delay: once, at a fixed rate, or
 * with a fixed delay after each run. Time is counted in ticks (10 ms by default), and a delay is
 * rounded up to whole ticks. Jobs of one tick run in the order in which they were scheduled. A
 * message of a job waits in its actor's mailbox behind what waits already, is not bounded by
 * mailbox_cap, and at most one of each job waits or is handled at a time: a receiver that is late
 * gets one message that stands for several runs (jzx_schedule_batch).
 *
 *     jzx_job_id job;
 *     jzx_schedule_at_fixed_rate(loop, JZX_MS(100), JZX_MS(100), flusher, JZX_NOBODY, NULL, 0,
 *                                FLUSH, &job);
 *     ...
 *     jzx_job_cancel(loop, job);
 *
 * The scheduler of a loop is made with the loop if config.schedule is set, else at the first call
 * that needs it. Jobs do not keep jzx_loop_run from returning; jzx_loop_hold does.
 *
 * Every call may be made on any thread, and none suspends or blocks; those of jzx/schedule_admin.h
 * may wait until the tick that runs is over. */
#ifndef JZX_SCHEDULE_H
#define JZX_SCHEDULE_H

#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/id.h"
#include "jzx/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jzx_loop jzx_loop;
typedef struct jzx_context jzx_context;
typedef struct jzx_future jzx_future;

/* ---- jobs ---- */

/* Names a job. Ids are not used again; the first is 1. */
typedef uint64_t jzx_job_id;
#define JZX_NO_JOB ((jzx_job_id)0)

/* One atomic word per job has its state. */
typedef enum jzx_job_status {
    JZX_JOB_PENDING = 0,   /* being scheduled */
    JZX_JOB_SCHEDULED = 1, /* waits for its tick */
    JZX_JOB_EXECUTING = 2, /* delivered, and its handler has not ended; a periodic job goes back
                            * to SCHEDULED then */
    JZX_JOB_COMPLETED = 3, /* the handler of a one-shot has ended */
    JZX_JOB_CANCELLED = 4, /* by jzx_job_cancel, or dropped by the scheduler; JZX_NO_JOB as well */
    JZX_JOB_FORGOTTEN = 5  /* it has ended so long ago that nobody knows how: 24 uses of its record
                            * later, with the default quota some 245,000 jobs */
} jzx_job_status;

typedef enum jzx_job_mode {
    JZX_JOB_ONE_SHOT = 0,
    JZX_JOB_FIXED_RATE = 1, /* at initial delay + n x interval */
    JZX_JOB_FIXED_DELAY = 2 /* so long after the handler of the run before has ended */
} jzx_job_mode;

/* What one delivery stands for. */
typedef struct jzx_batch {
    uint32_t runs;        /* at least 1 */
    uint32_t missed_runs; /* of them those that the receiver was too late for. Runs that passed
                           * while the driver of the ticks paused count in runs alone */
    jzx_job_mode mode;
} jzx_batch;

/* The batch of a one-shot, in C. */
#define JZX_BATCH_ONCE ((jzx_batch){1, 0, JZX_JOB_ONE_SHOT})

/* A function job. Anything but JZX_OK is a failure: the job ends, and
 * JZX_SCHEDULE_EVENT_HANDLER_FAILED is told. Runs on a worker of its dispatcher, or, if the
 * scheduler is shut down first, on the thread that does so. It must return soon: functions of one
 * dispatcher run one after another. */
typedef jzx_err (*jzx_job_fn)(void *ctx, const jzx_batch *batch);

/* Which jobs a saturated tick drops first, and which backpressure refuses. */
typedef enum jzx_job_priority {
    JZX_JOB_PRIORITY_DEFAULT = 0, /* by the policies of the configuration; else NORMAL */
    JZX_JOB_PRIORITY_LOW = 1,
    JZX_JOB_PRIORITY_NORMAL = 2,
    JZX_JOB_PRIORITY_HIGH = 3 /* only for subsystems that the configuration names */
} jzx_job_priority;

typedef struct jzx_schedule_opts {
    size_t size;               /* sizeof(jzx_schedule_opts) */
    const char *dispatcher;    /* a name of config.schedule; NULL: that of the function job whose
                                * code makes the call, else the default one */
    const char *subsystem;     /* a name of a policy of config.schedule, whose policy the job gets;
                                * NULL: that of its dispatcher */
    jzx_job_priority priority; /* this and what follows win over the policy */
    uint32_t backlog_limit;    /* a job that misses more runs is cancelled; 0: 32 */
    uint32_t burst_threshold;  /* folding more runs is reported; 0: 8 */
    bool skip_missed;  /* of a fixed delay: runs is always 1, and the job is never cancelled for
                        * its backlog */
    uint64_t metadata; /* the caller's; shown by jzx_schedule_metadata */
} jzx_schedule_opts;

/* Options in place, in C: &JZX_SCHEDULE_OPTS(.backlog_limit = 4). In C++ use
 * jzx_schedule_opts_init. */
#define JZX_SCHEDULE_OPTS(...) ((jzx_schedule_opts){.size = sizeof(jzx_schedule_opts), __VA_ARGS__})

JZX_BEGIN_C

/* As JZX_SCHEDULE_OPTS(); size is sizeof *opts. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_schedule_opts_init(jzx_schedule_opts *opts, size_t size);

/* Sends a copy of len bytes, as jzx_send does, after delay_ns: at the first tick at or after that
 * time. *job (may be NULL) is untouched on an error. The errors of all calls that schedule:
 *   JZX_ERR_INVALID_DELAY      a delay or interval that is not positive, or longer than INT32_MAX
 *                              ticks
 *   JZX_ERR_INVALID_ARG        as jzx_send; wrong options, an unknown dispatcher or subsystem
 *   JZX_ERR_NO_SUCH_ACTOR      the receiver is gone
 *   JZX_ERR_CAPACITY_EXCEEDED  the tick has slot_capacity jobs already, or too many jobs wait for
 *                              the far future. While a tick runs on another thread this is only
 *                              known later: then the job is cancelled, and
 *                              JZX_SCHEDULE_EVENT_CAPACITY_EXCEEDED is told
 *   JZX_ERR_QUOTA_EXCEEDED     as many jobs live as system_quota allows
 *   JZX_ERR_BACKPRESSURED      overload; jzx_schedule_metrics_get tells state and reason
 *   JZX_ERR_UNSUPPORTED        a mode that the configuration excludes
 *   JZX_ERR_SHUTDOWN           after jzx_schedule_shutdown; JZX_ERR_LOOP_CLOSED
 *   JZX_ERR_NO_MEMORY, and for functions JZX_ERR_MAX_ACTORS
 * A job ends quietly when it finds its receiver gone. */
JZX_API jzx_err jzx_schedule_once(jzx_loop *loop, int64_t delay_ns, jzx_actor_id to,
                                  jzx_actor_id from, const void *data, size_t len, uint32_t tag,
                                  jzx_job_id *job);

/* After initial_delay_ns, and from then on every interval_ns, whatever the handlers take. Runs that
 * were missed are folded into one. All messages of the job share one payload, as those of
 * jzx_send_every do. */
JZX_API jzx_err jzx_schedule_at_fixed_rate(jzx_loop *loop, int64_t initial_delay_ns,
                                           int64_t interval_ns, jzx_actor_id to, jzx_actor_id from,
                                           const void *data, size_t len, uint32_t tag,
                                           jzx_job_id *job);

/* After initial_delay_ns, and again delay_ns after the handler of each run has ended: when the
 * behaviour returns, or the fiber receives again. */
JZX_API jzx_err jzx_schedule_with_fixed_delay(jzx_loop *loop, int64_t initial_delay_ns,
                                              int64_t delay_ns, jzx_actor_id to, jzx_actor_id from,
                                              const void *data, size_t len, uint32_t tag,
                                              jzx_job_id *job);

/* The same with options; NULL: none. */
JZX_API jzx_err jzx_schedule_once_with_options(jzx_loop *loop, int64_t delay_ns, jzx_actor_id to,
                                               jzx_actor_id from, const void *data, size_t len,
                                               uint32_t tag, const jzx_schedule_opts *opts,
                                               jzx_job_id *job);
JZX_API jzx_err jzx_schedule_at_fixed_rate_with_options(jzx_loop *loop, int64_t initial_delay_ns,
                                                        int64_t interval_ns, jzx_actor_id to,
                                                        jzx_actor_id from, const void *data,
                                                        size_t len, uint32_t tag,
                                                        const jzx_schedule_opts *opts,
                                                        jzx_job_id *job);
JZX_API jzx_err jzx_schedule_with_fixed_delay_with_options(
    jzx_loop *loop, int64_t initial_delay_ns, int64_t delay_ns, jzx_actor_id to, jzx_actor_id from,
    const void *data, size_t len, uint32_t tag, const jzx_schedule_opts *opts, jzx_job_id *job);

/* Calls fn(ctx, batch) in place of a message: with JZX_PRIORITY_CRITICAL unless the dispatcher says
 * otherwise. opts may be NULL. ctx must stay valid until the job has ended. */
JZX_API jzx_err jzx_schedule_once_fn(jzx_loop *loop, int64_t delay_ns,
                                     const jzx_schedule_opts *opts, jzx_job_id *job, jzx_job_fn fn,
                                     void *ctx);
JZX_API jzx_err jzx_schedule_at_fixed_rate_fn(jzx_loop *loop, int64_t initial_delay_ns,
                                              int64_t interval_ns, const jzx_schedule_opts *opts,
                                              jzx_job_id *job, jzx_job_fn fn, void *ctx);
JZX_API jzx_err jzx_schedule_with_fixed_delay_fn(jzx_loop *loop, int64_t initial_delay_ns,
                                                 int64_t delay_ns, const jzx_schedule_opts *opts,
                                                 jzx_job_id *job, jzx_job_fn fn, void *ctx);

/* A future without a value (jzx/future.h) that is resolved after delay_ns: once, however many ticks
 * have passed by then. Releasing its last handle, or cancelling it, cancels the job. If the job
 * cannot be scheduled, for whichever of the errors above, or ends early (dropped, or by a
 * shutdown), the future is resolved at once: nobody waits for a tick that will not come. The job
 * counts against the quota and has the priority HIGH. JZX_ERR_INVALID_ARG: no loop, no future;
 * JZX_ERR_NO_MEMORY: none for the future. The caller owns the handle. */
JZX_API jzx_err jzx_schedule_delay_async(jzx_loop *loop, int64_t delay_ns, jzx_future **future);

/* True the first time, unless the job has ended, or is a one-shot that was delivered. From then on
 * no run of it begins; the handler of a periodic job that has begun ends normally. */
JZX_API bool jzx_job_cancel(jzx_loop *loop, jzx_job_id job);

JZX_API jzx_job_status jzx_job_state(jzx_loop *loop, jzx_job_id job);

/* True for JZX_JOB_CANCELLED, and for JZX_JOB_COMPLETED, alone. */
JZX_API bool jzx_job_is_cancelled(jzx_loop *loop, jzx_job_id job);
JZX_API bool jzx_job_is_completed(jzx_loop *loop, jzx_job_id job);

/* In the handler of a job's message, behaviour or fiber: what the message stands for, until the
 * handler ends or takes the message. NULL for every other message, and outside of the actor's own
 * turn. */
JZX_API const jzx_batch *jzx_schedule_batch(const jzx_context *ctx);

/* Likewise the metadata of the job's options; 0 for every other message. */
JZX_API uint64_t jzx_schedule_metadata(const jzx_context *ctx);

/* In an actor: the calls with options, from the calling actor. For the macros below and for
 * jzx/typed.h. */
JZX_API jzx_err jzx_schedule_once_by(jzx_context *ctx, int64_t delay_ns, jzx_actor_id to,
                                     const void *data, size_t len, uint32_t tag,
                                     const jzx_schedule_opts *opts, jzx_job_id *job);
JZX_API jzx_err jzx_schedule_at_fixed_rate_by(jzx_context *ctx, int64_t initial_delay_ns,
                                              int64_t interval_ns, jzx_actor_id to,
                                              const void *data, size_t len, uint32_t tag,
                                              const jzx_schedule_opts *opts, jzx_job_id *job);
JZX_API jzx_err jzx_schedule_with_fixed_delay_by(jzx_context *ctx, int64_t initial_delay_ns,
                                                 int64_t delay_ns, jzx_actor_id to,
                                                 const void *data, size_t len, uint32_t tag,
                                                 const jzx_schedule_opts *opts, jzx_job_id *job);

/* The number of a dispatcher, as the log shows it: 0 for NULL, the default one. JZX_ERR_INVALID_ARG
 * for a name that the configuration does not have. */
JZX_API jzx_err jzx_schedule_dispatcher(jzx_loop *loop, const char *name, uint32_t *number);

JZX_END_C

/* ---- the typed form: message points to a const type, and compilers tell if not; the sender is the
 * calling actor. jzx/typed.h makes functions for the messages of typed actors, and checks their
 * receivers, too ---- */

#define JZX_JOB_MESSAGE(type, message) (1 ? (message) : (const type *)0), sizeof(type)

#define JZX_SCHEDULE_ONCE(ctx, type, delay_ns, to, message, tag, job)                              \
    JZX_SCHEDULE_ONCE_WITH_OPTIONS(ctx, type, delay_ns, to, message, tag, NULL, job)
#define JZX_SCHEDULE_AT_FIXED_RATE(ctx, type, initial_delay_ns, interval_ns, to, message, tag,     \
                                   job)                                                            \
    JZX_SCHEDULE_AT_FIXED_RATE_WITH_OPTIONS(ctx, type, initial_delay_ns, interval_ns, to, message, \
                                            tag, NULL, job)
#define JZX_SCHEDULE_WITH_FIXED_DELAY(ctx, type, initial_delay_ns, delay_ns, to, message, tag,     \
                                      job)                                                         \
    JZX_SCHEDULE_WITH_FIXED_DELAY_WITH_OPTIONS(ctx, type, initial_delay_ns, delay_ns, to, message, \
                                               tag, NULL, job)

/* The same with options; NULL: none. */
#define JZX_SCHEDULE_ONCE_WITH_OPTIONS(ctx, type, delay_ns, to, message, tag, opts, job)           \
    jzx_schedule_once_by(ctx, delay_ns, to, JZX_JOB_MESSAGE(type, message), tag, opts, job)
#define JZX_SCHEDULE_AT_FIXED_RATE_WITH_OPTIONS(ctx, type, initial_delay_ns, interval_ns, to,      \
                                                message, tag, opts, job)                           \
    jzx_schedule_at_fixed_rate_by(ctx, initial_delay_ns, interval_ns, to,                          \
                                  JZX_JOB_MESSAGE(type, message), tag, opts, job)
#define JZX_SCHEDULE_WITH_FIXED_DELAY_WITH_OPTIONS(ctx, type, initial_delay_ns, delay_ns, to,      \
                                                   message, tag, opts, job)                        \
    jzx_schedule_with_fixed_delay_by(ctx, initial_delay_ns, delay_ns, to,                          \
                                     JZX_JOB_MESSAGE(type, message), tag, opts, job)

#endif
