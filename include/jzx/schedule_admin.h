/* SPDX-License-Identifier: MIT */
/* The scheduler's own side: how it is set up, what drives its ticks, what it does under overload,
 * how it ends, and what it tells. Programs that only schedule need jzx/schedule.h alone.
 *
 * Calls that take a loop may be made on any thread and may wait until the tick that runs is over.
 * In the scheduler's own callbacks (probes, drivers, close tasks, functions that a shutdown runs)
 * they are JZX_ERR_BUSY, unless their comment says otherwise; scheduling and cancelling work
 * there. */
#ifndef JZX_SCHEDULE_ADMIN_H
#define JZX_SCHEDULE_ADMIN_H

#include "jzx/actor.h"
#include "jzx/observe.h"
#include "jzx/schedule.h"
#include "jzx/tick_timer.h"

/* ---- configuration ---- */

/* Capacities: jobs alive, those of them beyond the wheel's 2^20 ticks, and close tasks. */
typedef enum jzx_schedule_profile {
    JZX_SCHEDULE_DEFAULT = 0,  /* STANDARD */
    JZX_SCHEDULE_TINY = 1,     /*  2,048 /   512 /   128 */
    JZX_SCHEDULE_SMALL = 2,    /*  4,096 / 1,024 /   256 */
    JZX_SCHEDULE_STANDARD = 3, /* 10,240 / 2,560 /   512 */
    JZX_SCHEDULE_LARGE = 4,    /* 25,600 / 6,400 / 1,024 */
    JZX_SCHEDULE_CUSTOM = 5    /* the fields say, up to those of LARGE */
} jzx_schedule_profile;

/* Modes that a scheduler shall not offer: bits of without_modes. */
#define JZX_SCHEDULE_WITHOUT_FIXED_RATE 1u
#define JZX_SCHEDULE_WITHOUT_FIXED_DELAY 2u

/* Probes of the library that a scheduler shall not have: bits of without_probes. */
#define JZX_SCHEDULE_WITHOUT_MAILBOX_PROBE 1u
#define JZX_SCHEDULE_WITHOUT_DISPATCHER_PROBE 2u
#define JZX_SCHEDULE_WITHOUT_RUNTIME_PROBE 4u
#define JZX_SCHEDULE_WITHOUT_PROBES 7u /* only the driver engages backpressure then */

/* Which close tasks run first. */
typedef enum jzx_close_priority {
    JZX_CLOSE_DEFAULT = 0, /* USER; of the library's own tasks: as JZX_SCHEDULE_OWN_TASKS says */
    JZX_CLOSE_SYSTEM_CRITICAL = 1,
    JZX_CLOSE_RUNTIME = 2,
    JZX_CLOSE_USER = 3
} jzx_close_priority;

/* Wins over the profile, and over the priorities of the library's own close tasks. */
typedef struct jzx_task_run_policy {
    size_t size;       /* sizeof(jzx_task_run_policy) */
    uint32_t capacity; /* close tasks of the program, up to LARGE's; 0: that of the profile */
    jzx_close_priority delays;
    jzx_close_priority remoting;
    jzx_close_priority actor_timers;
    jzx_close_priority user_hooks;
} jzx_task_run_policy;

/* Where and how urgently the functions of a job run. The default dispatcher has number 0, those of
 * the configuration 1, 2, ... */
typedef struct jzx_dispatcher {
    const char *name;      /* copied; at most JZX_NAME_MAX bytes */
    jzx_priority priority; /* JZX_PRIORITY_DEFAULT: CRITICAL */
    uint16_t place;        /* JZX_PLACE_* */
} jzx_dispatcher;

typedef enum jzx_schedule_affinity {
    JZX_SCHEDULE_DISPATCHER = 1, /* jobs of the dispatcher of that name; NULL: of the default one */
    JZX_SCHEDULE_SUBSYSTEM = 2   /* jobs whose options name that subsystem; HIGH by default */
} jzx_schedule_affinity;

/* What jobs get that do not say otherwise. Zero fields are the defaults. */
typedef struct jzx_schedule_policy {
    jzx_schedule_affinity affinity;
    const char *name; /* copied */
    jzx_job_priority priority;
    uint32_t backlog_limit;
    uint32_t burst_threshold;
} jzx_schedule_policy;

/* A clock of the program's own, for drivers of the program's own. */
typedef enum jzx_tick_clock_kind {
    JZX_TICK_CLOCK_DETERMINISTIC = 0,    /* moves only when it is told to: no drift is allowed */
    JZX_TICK_CLOCK_REALTIME_HOST = 1,    /* the monotonic clock of an operating system */
    JZX_TICK_CLOCK_REALTIME_HARDWARE = 2 /* a counter that an interrupt drives */
} jzx_tick_clock_kind;

typedef struct jzx_tick_clock {
    jzx_tick_clock_kind kind;
    /* Monotonic nanoseconds; tick n begins at n x resolution. Any thread. */
    uint64_t (*now_ns)(void *ctx);
    void *ctx;
} jzx_tick_clock;

/* What announces ticks. */
typedef enum jzx_driver_kind {
    JZX_DRIVER_DEFAULT = 0,   /* AUTOMATIC */
    JZX_DRIVER_AUTOMATIC = 1, /* worker 0: it wakes when a job is due, and else for nothing */
    JZX_DRIVER_THREAD = 2,    /* a thread of its own, from create to destroy */
    JZX_DRIVER_FOREIGN = 3,   /* the program: jzx_schedule_notify, or `driver`; also an interrupt */
    JZX_DRIVER_MANUAL = 4     /* a test: jzx_schedule_advance. Needs test_mode and a manual clock */
} jzx_driver_kind;

typedef enum jzx_driver_error {
    JZX_DRIVER_OK = 0,
    JZX_DRIVER_SPAWN_FAILED = 1,
    JZX_DRIVER_HANDLE_UNAVAILABLE = 2,
    JZX_DRIVER_UNSUPPORTED_ENVIRONMENT = 3,
    JZX_DRIVER_DRIFT_EXCEEDED = 4,
    JZX_DRIVER_STOPPED = 5,
    JZX_DRIVER_UNSUPPORTED_EXECUTOR = 6,
    JZX_DRIVER_INVALID_RESOLUTION = 7
} jzx_driver_error;

/* Where a driver announces ticks: see jzx_tick_notify. */
typedef struct jzx_tick_source jzx_tick_source;

/* A driver of the program's own. The functions may be NULL. */
typedef struct jzx_tick_driver {
    const char *name; /* static; shown by metrics and dumps */
    void *ctx;
    /* From now on the driver may announce ticks, until stop returns. Anything but JZX_DRIVER_OK
     * makes jzx_loop_create fail; the log says why. */
    jzx_driver_error (*start)(void *ctx, jzx_tick_source *source, uint32_t resolution_ns);
    /* When it returns no tick is announced any more. */
    void (*stop)(void *ctx);
    /* By how much the driver itself is late: no drift. */
    uint64_t (*jitter_ns)(void *ctx);
} jzx_tick_driver;

/* Where jobs wait for their tick. The scheduler does the same with each. */
typedef enum jzx_tick_timer_kind {
    JZX_TICK_TIMER_DEFAULT = 0, /* WHEEL */
    JZX_TICK_TIMER_WHEEL = 1,   /* constant time; 58 KiB with the default wheel_slots */
    JZX_TICK_TIMER_HEAP = 2,    /* a binary heap: logarithmic time; 24 bytes for each job of
                                 * system_quota */
    JZX_TICK_TIMER_FOREIGN = 3  /* `timer` */
} jzx_tick_timer_kind;

typedef struct jzx_schedule_config {
    size_t size;            /* sizeof(jzx_schedule_config) */
    uint32_t resolution_ns; /* of a tick, up to a second; 10 ms */
    jzx_schedule_profile profile;
    uint32_t system_quota; /* CUSTOM: jobs alive, of all kinds; 0, here and below: STANDARD's */
    uint32_t overflow_capacity;
    uint32_t task_run_capacity;
    uint32_t adaptive_quota;          /* while backpressure is engaged; half of the quota */
    uint32_t slot_capacity;           /* new jobs for one tick; 1,024 */
    uint32_t overflow_threshold_pct;  /* of the overflow, where eager reinsertion begins; 75 */
    uint32_t reinsertion_batch_limit; /* jobs that leave the overflow per tick; 100 */
    uint64_t catch_up_window_ns;      /* the longest pause of the driver that is no overload; 50 ms,
                                       * at most 32 ticks */
    uint32_t catch_up_chunk_ticks;    /* ticks per pass; min(1024, window) */
    uint32_t drift_budget_pct;        /* of the resolution; 5 */
    uint32_t cooldown_ticks;          /* while everything is rejected; 5 */
    uint32_t gauge_engaged_ticks;     /* of critical load in a row, until it counts; 2 */
    uint32_t stalled_after_ticks;     /* without a tick; 4 windows */
    uint32_t diagnostics_queue_capacity; /* events that wait for each subscriber; 256 */
    uint32_t log_capacity;               /* records of the deterministic log; 0: no log */
    uint32_t without_modes;              /* JZX_SCHEDULE_WITHOUT_* */
    uint32_t wheel_slots[3];             /* powers of two; 256, 64, 64. With every timer jobs that
                                          * are as many ticks away as their product wait in the
                                          * overflow */
    bool test_mode;                      /* allows ticks by hand and the property calls */
    jzx_driver_kind driver_kind;
    const jzx_tick_driver *driver; /* copied; FOREIGN alone. If it stops by itself the automatic one
                                    * takes over, unless there is a clock */
    const jzx_tick_clock *clock;   /* copied; FOREIGN alone. NULL: that of the loop */
    const jzx_dispatcher *dispatchers;   /* copied */
    size_t dispatcher_size;              /* sizeof(jzx_dispatcher) */
    uint32_t dispatcher_count;           /* up to 255 */
    const jzx_schedule_policy *policies; /* copied */
    size_t policy_size;                  /* sizeof(jzx_schedule_policy) */
    uint32_t policy_count;               /* up to 256 */
    jzx_tick_timer_kind timer_kind;
    const jzx_tick_timer *timer; /* copied. Needed with FOREIGN, else refused. Its functions size
                                  * and destroy may be NULL */
    uint32_t tick_buffer_quota;  /* ticks that may wait until tick_buffer_overflows counts it; none
                                 * is ever dropped; max(32, system_quota / 8) */
    const jzx_task_run_policy *task_run_policy; /* copied; NULL: none */
    uint32_t without_probes;                    /* JZX_SCHEDULE_WITHOUT_*_PROBE */
} jzx_schedule_config;

/* In place, in C: .schedule = &JZX_SCHEDULE_CONFIG(.profile = JZX_SCHEDULE_TINY). In C++ use
 * jzx_schedule_config_init. */
#define JZX_SCHEDULE_CONFIG(...)                                                                   \
    ((jzx_schedule_config){.size = sizeof(jzx_schedule_config), __VA_ARGS__})

/* ---- figures ---- */

/* The state of overload. */
typedef enum jzx_pressure_state {
    JZX_PRESSURE_NORMAL = 0,
    JZX_PRESSURE_DRIVER = 1,   /* the driver is late */
    JZX_PRESSURE_GAUGE = 2,    /* the load is critical */
    JZX_PRESSURE_ENGAGED = 3,  /* only HIGH jobs are let in, up to adaptive_quota */
    JZX_PRESSURE_REJECTING = 4 /* nothing is let in until the cooldown is over */
} jzx_pressure_state;

/* Why: bits. */
#define JZX_PRESSURE_BY_DRIVER 1u
#define JZX_PRESSURE_BY_GAUGE 2u
#define JZX_PRESSURE_BY_QUOTA 4u
/* The kinds of probes that report a critical load, beside BY_GAUGE; none: it was pushed. */
#define JZX_PRESSURE_BY_MAILBOX 8u
#define JZX_PRESSURE_BY_DISPATCHER 16u
#define JZX_PRESSURE_BY_RUNTIME 32u

typedef enum jzx_driver_status {
    JZX_DRIVER_STATUS_OK = 0,
    JZX_DRIVER_STATUS_BACKPRESSURED = 1,
    JZX_DRIVER_STATUS_SUSPENDED = 2, /* during a shutdown */
    JZX_DRIVER_STATUS_STALLED = 3    /* no ticks although time passes: new jobs are refused */
} jzx_driver_status;

typedef struct jzx_schedule_metrics {
    size_t size; /* sizeof(jzx_schedule_metrics): set by the caller before the call */
    uint32_t active_total;
    uint32_t periodic_total;
    uint64_t dropped_total; /* jobs and runs that the scheduler gave up */
    uint32_t quota_limit;   /* the one that holds now */
    uint32_t catch_up_window_ticks;
    uint64_t tick_backlog;
    uint64_t ticks_total;
    uint64_t enqueued_total; /* deliveries */
    uint64_t tick_backlog_peak;
    uint64_t tick_overflow_events; /* times that the backlog was above the window */
    uint64_t drift_compensations;  /* ticks that were made up for after a pause */
    uint64_t drift_worst_ns;
    uint64_t diagnostics_dropped_total;
    uint64_t task_run_on_close_total;
    uint64_t task_run_on_close_failures;
    uint64_t task_run_on_close_duration_ns;
    const char *driver; /* static; NULL: there is none */
    jzx_driver_status driver_status;
    uint32_t ticks_per_second; /* over the last second that was measured */
    jzx_pressure_state pressure;
    uint32_t pressure_reasons; /* JZX_PRESSURE_BY_* */
    uint64_t catch_ups;        /* passes that made up for a backlog above 0.8 windows */
    uint32_t tick_buffer_quota;
    uint64_t tick_buffer_overflows; /* passes that found more ticks waiting than that */
} jzx_schedule_metrics;

typedef struct jzx_schedule_capabilities {
    size_t size; /* sizeof(jzx_schedule_capabilities): set by the caller before the call */
    uint32_t max_frequency_hz;
    uint32_t min_delay_ticks;
    uint64_t tick_resolution_ns;
    bool fixed_rate;
    bool fixed_delay;
    bool manual_clock;
} jzx_schedule_capabilities;

/* ---- events ---- */

/* What is told. The first four are no warnings. */
#define JZX_SCHEDULE_EVENT_MAP(X)                                                                  \
    X(SCHEDULE, 0)                                                                                 \
    X(FIRE, 1)                                                                                     \
    X(CANCEL, 2)                                                                                   \
    X(TICK_METRICS, 3)                                                                             \
    X(DRIFT_EXCEEDED, 4)                                                                           \
    X(DRIVER_CATCH_UP_EXCEEDED, 5)                                                                 \
    X(DRIVER_STATUS, 6)                                                                            \
    X(DRIVER_STOPPED, 7)                                                                           \
    X(QUOTA_REACHED, 8)                                                                            \
    X(CAPACITY_EXCEEDED, 9)                                                                        \
    X(OVERFLOW_NEAR_CAPACITY, 10)                                                                  \
    X(DROPPED_LOW_PRIORITY, 11)                                                                    \
    X(BACKLOG_EXCEEDED, 12)                                                                        \
    X(BURST_FIRE, 13)                                                                              \
    X(HANDLER_FAILED, 14)                                                                          \
    X(CANCELLED_BY_BACKPRESSURE, 15)                                                               \
    X(BACKPRESSURE_STATE, 16)                                                                      \
    X(TASK_RUN_FAILED, 17)                                                                         \
    X(DIAGNOSTICS_DROPPED, 18)                                                                     \
    X(DIAGNOSTICS_OVERFLOW, 19)

/* JZX_SCHEDULE_EVENT_FIRE and so on. */
typedef enum jzx_schedule_event_kind {
#define JZX_SCHEDULE_EVENT_ENUM(name, number) JZX_SCHEDULE_EVENT_##name = number,
    JZX_SCHEDULE_EVENT_MAP(JZX_SCHEDULE_EVENT_ENUM)
#undef JZX_SCHEDULE_EVENT_ENUM
} jzx_schedule_event_kind;

/* For jzx_schedule_subscribe: a set of kinds. */
#define JZX_SCHEDULE_KIND(name) (1u << JZX_SCHEDULE_EVENT_##name)
#define JZX_SCHEDULE_ALL_KINDS 0xFFFFFu
#define JZX_SCHEDULE_WARNINGS 0xFFFF0u

/* An observer gets one with JZX_EVENT_SCHEDULE: warnings always, the others while nobody
 * subscribes. New fields may come at the end. */
struct jzx_schedule_event {
    jzx_schedule_event_kind kind;
    jzx_job_priority priority; /* DROPPED_LOW_PRIORITY, CANCELLED_BY_BACKPRESSURE */
    uint32_t state;            /* BACKPRESSURE_STATE: a jzx_pressure_state; DRIVER_STATUS: a
                                * jzx_driver_status */
    uint32_t reason;           /* BACKPRESSURE_STATE: JZX_PRESSURE_BY_* */
    bool is_engaged;           /* BACKPRESSURE_STATE; QUOTA_REACHED: it is the adaptive one */
    int32_t error;             /* HANDLER_FAILED: a jzx_err; TASK_RUN_FAILED; DRIVER_STOPPED: a
                                * jzx_driver_error */
    uint64_t job;              /* or the task; 0: none */
    uint64_t tick;
    uint64_t value;    /* DRIFT_EXCEEDED: ns; TICK_METRICS: ticks per second; QUOTA_REACHED: the
                        * limit; DIAGNOSTICS_*: how many were lost; BURST_FIRE: runs;
                        * BACKLOG_EXCEEDED: missed runs; DRIVER_*: ticks that wait */
    uint64_t capacity; /* OVERFLOW_NEAR_CAPACITY, DIAGNOSTICS_* */
    jzx_batch batch;   /* FIRE, BURST_FIRE, HANDLER_FAILED */
};

/* ---- the deterministic log ---- */

typedef enum jzx_schedule_log_kind {
    JZX_SCHEDULE_LOG_SCHEDULE = 0,
    JZX_SCHEDULE_LOG_FIRE = 1,
    JZX_SCHEDULE_LOG_CANCEL = 2
} jzx_schedule_log_kind;

typedef struct jzx_schedule_record {
    uint64_t timer_id;     /* the job */
    uint64_t scheduled_at; /* ticks, all three */
    uint64_t deadline;
    uint64_t fired_at; /* or when it was scheduled or cancelled */
    uint32_t executor; /* the number of its dispatcher */
    jzx_schedule_log_kind kind;
} jzx_schedule_record;

/* ---- overload and shutdown ---- */

/* The kind says what a probe looks at; the reason of backpressure names it. Each scheduler has one
 * probe of each kind from its start, unless without_probes says otherwise:
 *   MAILBOX          the fullest mailbox of an actor that jobs send to, as a share of its
 *                    mailbox_cap. A tick looks at 8 of them in turn, and always at the fullest one
 *                    that it has seen. Mailboxes that drop messages do not count.
 *   DISPATCHER_LOAD  functions that were delivered and have not ended, of the dispatcher that has
 *                    most, as a share of slot_capacity.
 *   RUNTIME          actors that wait for a worker, as a share of the loop's global_queue_size.
 * They are sampled at ticks at which there is something to do, and when a job is scheduled. */
typedef enum jzx_probe_kind {
    JZX_PROBE_MAILBOX = 0,
    JZX_PROBE_DISPATCHER_LOAD = 1,
    JZX_PROBE_RUNTIME = 2
} jzx_probe_kind;

/* The load now, in thousandths; 800 and more is critical. Called once per tick; it must be quick,
 * and may send. */
typedef uint32_t (*jzx_probe_fn)(void *ctx);

/* Close tasks of the library itself. Each scheduler has them from its start, in this order: futures
 * of delays are resolved (SYSTEM_CRITICAL); a place for remoting, which there is not
 * (SYSTEM_CRITICAL); timers that actors have started by key are stopped (RUNTIME); the hooks of
 * jzx_schedule_on_shutdown are called (USER). So each runs before tasks of the program of the same
 * priority. task_run_policy gives them other priorities. They take no room of task_run_capacity,
 * are counted like all others, and cannot be cancelled. */
#define JZX_SCHEDULE_OWN_TASKS 4u

/* 0, or an error that is told (TASK_RUN_FAILED); later tasks still run. */
typedef int32_t (*jzx_close_fn)(void *ctx);

typedef struct jzx_shutdown_summary {
    size_t size;            /* sizeof(jzx_shutdown_summary): set by the caller before the call */
    uint32_t flushed_ticks; /* that the driver had announced and nobody had run */
    uint32_t tasks_succeeded;
    uint32_t tasks_failed;
    uint32_t jobs_run; /* functions, inline */
    uint32_t jobs_cancelled;
} jzx_shutdown_summary;

JZX_BEGIN_C

/* As JZX_SCHEDULE_CONFIG(); size is sizeof *config. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_schedule_config_init(jzx_schedule_config *config, size_t size);

/* JZX_OK, or JZX_ERR_INVALID_ARG and the first wrong field in *field (a static string, "schedule."
 * and its name; may be NULL). jzx_config_check calls it, and jzx_loop_create. NULL is valid. */
JZX_API jzx_err jzx_schedule_config_check(const jzx_schedule_config *config, const char **field);

/* ---- ticks ---- */

/* The ticks of a driver have passed. One atomic add: any thread, also an interrupt or a signal
 * handler. Worker 0 looks at them once per resolution while a job is pending. False: the scheduler
 * is shut down. jzx_schedule_notify is the same for JZX_DRIVER_FOREIGN without a driver, and false
 * for all others. */
JZX_API bool jzx_tick_notify(jzx_tick_source *source, uint32_t ticks);
JZX_API bool jzx_schedule_notify(jzx_loop *loop, uint32_t ticks);

/* Runs so many ticks now, on the calling thread, one after another, and moves the loop's clock
 * along. What they deliver is handled when the loop runs. JZX_ERR_UNSUPPORTED unless the driver is
 * MANUAL, JZX_ERR_SHUTDOWN, JZX_ERR_INVALID_ARG, JZX_ERR_BUSY, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_schedule_advance(jzx_loop *loop, uint64_t ticks);

/* A driver of the program's own has ended by itself, not by stop: DRIVER_STOPPED is told, and the
 * automatic driver takes over or the status is STALLED. Not in its start or stop.
 * JZX_ERR_INVALID_ARG if the driver is one of the library (only FOREIGN is not), or has stopped. */
JZX_API jzx_err jzx_schedule_driver_stopped(jzx_loop *loop, jzx_driver_error error);

/* The time in whole ticks, by the scheduler's clock. Also in callbacks. */
JZX_API uint64_t jzx_schedule_now(jzx_loop *loop);

/* 1e9 / resolution: the highest rate of a job, in Hz. Also in callbacks. */
JZX_API uint32_t jzx_schedule_max_frequency(jzx_loop *loop);

/* What the configuration offers. Also in callbacks. JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_schedule_capabilities_get(jzx_loop *loop, jzx_schedule_capabilities *out);

/* ---- overload ---- */

/* A load to be looked at at every tick; the largest of all counts. name must outlive the loop.
 * JZX_ERR_FULL: the program has 8 already. JZX_ERR_INVALID_ARG, JZX_ERR_SHUTDOWN, JZX_ERR_BUSY,
 * JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_schedule_add_probe(jzx_loop *loop, const char *name, jzx_probe_kind kind,
                                       jzx_probe_fn fn, void *ctx);

/* A load as a probe would report it, for the next tick alone; of several the largest counts. Also
 * in callbacks. */
JZX_API jzx_err jzx_schedule_push_load(jzx_loop *loop, uint32_t load);

/* ---- shutdown ---- */

/* fn(ctx) is called by the shutdown; equals in the order of their registration. *task may be NULL.
 * JZX_ERR_FULL: task_run_capacity of them wait. JZX_ERR_SHUTDOWN once it has begun,
 * JZX_ERR_INVALID_ARG, JZX_ERR_BUSY, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_schedule_on_close(jzx_loop *loop, jzx_close_priority priority, uint64_t *task,
                                      jzx_close_fn fn, void *ctx);

/* False: there is no such task, any more. */
JZX_API bool jzx_schedule_cancel_on_close(jzx_loop *loop, uint64_t task);

/* A hook: fn(ctx) is called by the shutdown, all of them in the order of their registration and
 * before close tasks of JZX_CLOSE_USER. Nothing bounds them but memory. If one fails the others are
 * called still; the first error is told. JZX_ERR_SHUTDOWN once it has begun, JZX_ERR_INVALID_ARG,
 * JZX_ERR_BUSY, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_schedule_on_shutdown(jzx_loop *loop, jzx_close_fn fn, void *ctx);

/* Ends the scheduler: stops the driver and runs the ticks that it has announced, runs the close
 * tasks, then runs the functions that wait, inline, and cancels all other jobs. Nothing is put into
 * mailboxes any more. A loop that is stopped or destroyed does this itself, after its actors have
 * ended. A second call does nothing, and *summary (may be NULL) is empty. JZX_ERR_INVALID_ARG,
 * JZX_ERR_BUSY, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_schedule_shutdown(jzx_loop *loop, jzx_shutdown_summary *summary);

/* ---- diagnostics ---- */

/* JZX_ERR_INVALID_ARG, JZX_ERR_BUSY, JZX_ERR_NO_MEMORY: as all that follow. */
JZX_API jzx_err jzx_schedule_metrics_get(jzx_loop *loop, jzx_schedule_metrics *metrics);

/* The batch of the last delivery. JZX_ERR_INVALID_ARG also if there was none. */
JZX_API jzx_err jzx_schedule_last_batch(jzx_loop *loop, jzx_batch *batch);

/* A ring that keeps the newest events of the kinds (JZX_SCHEDULE_KIND, ...) for this subscriber.
 * The first one also gets what was told before it. JZX_ERR_FULL: there are 8 already. */
JZX_API jzx_err jzx_schedule_subscribe(jzx_loop *loop, uint32_t kinds, uint32_t *subscriber);
JZX_API jzx_err jzx_schedule_unsubscribe(jzx_loop *loop, uint32_t subscriber);

/* The oldest event that waits. False: there is none, or no such subscriber. size is sizeof *event.
 */
JZX_API bool jzx_schedule_next_event(jzx_loop *loop, uint32_t subscriber, jzx_schedule_event *event,
                                     size_t size);

/* "burst fire"; static. */
JZX_API const char *jzx_schedule_event_text(jzx_schedule_event_kind kind);

/* Up to count of the newest records of the log, the oldest first. Returns how many. record_size is
 * sizeof *records. */
JZX_API size_t jzx_schedule_log(jzx_loop *loop, jzx_schedule_record *records, size_t record_size,
                                size_t count);

/* The whole log as bytes that are the same on every machine. Returns how many that are; they are
 * written only if they fit. */
JZX_API size_t jzx_schedule_trace(jzx_loop *loop, void *bytes, size_t size);

/* JZX_OK if this scheduler has written the log that the trace was made of: a replay. Else
 * JZX_ERR_UNKNOWN, and *first is the number of the first record that differs among those that both
 * have, or their count. */
JZX_API jzx_err jzx_schedule_replay_check(jzx_loop *loop, const void *trace, size_t size,
                                          uint32_t *first);

/* Writes wheel, load, probes, and all jobs that have not ended, line by line, for people. The text
 * is made before the first call of fn, which may do what it likes. */
JZX_API jzx_err jzx_schedule_dump(jzx_loop *loop, jzx_dump_fn line, void *ctx);

/* The same as one message with that tag to an actor; the payload is text with '\n'. */
JZX_API jzx_err jzx_schedule_dump_to(jzx_loop *loop, jzx_actor_id to, uint32_t tag);

/* ---- for property tests, in test_mode ---- */

/* NULL, or a text that says which invariant of the scheduler does not hold. */
JZX_API const char *jzx_schedule_check(jzx_loop *loop);

/* True if the time in the log never goes backwards. */
JZX_API bool jzx_schedule_is_monotonic(jzx_loop *loop);

/* Cancels each job with a chance of per_mille in 1,000; the same seed cancels the same jobs.
 * Returns how many. */
JZX_API uint32_t jzx_schedule_inject_random_cancel(jzx_loop *loop, uint64_t seed,
                                                   uint32_t per_mille);

JZX_END_C

#endif
