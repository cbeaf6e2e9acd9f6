/* SPDX-License-Identifier: MIT */
/* How a loop is set up. A zero field always means the default: what jzx_config_init writes, or,
 * where it writes 0, what the field's comment says. */
#ifndef JZX_CONFIG_H
#define JZX_CONFIG_H

#include "jzx/allocator.h"
#include "jzx/api.h"
#include "jzx/clock.h"
#include "jzx/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Named values where 0 means the default. */
#define JZX_UNLIMITED UINT32_MAX
#define JZX_NONE (UINT32_MAX - 1u)

/* The defaults that jzx_config_init writes. */
#define JZX_DEFAULT_MAX_ACTORS 16777216u
#define JZX_DEFAULT_MAILBOX_CAP 1024u
#define JZX_DEFAULT_MSGS_PER_ACTOR 128u
#define JZX_DEFAULT_ACTORS_PER_TICK 1024u
#define JZX_DEFAULT_ASYNC_DRAIN 256u
#define JZX_DEFAULT_STALL_AFTER_NS 10000000u
#define JZX_DEFAULT_RELIEVE_AFTER_NS 1000000u
#define JZX_DEFAULT_SPARE_THREADS 64u
#define JZX_DEFAULT_LOCAL_QUEUE_SIZE 256u
#define JZX_DEFAULT_GLOBAL_QUEUE_SIZE 65536u
#define JZX_DEFAULT_STEAL_BATCH 32u
#define JZX_DEFAULT_MAX_CALLS 65536u
#define JZX_DEFAULT_MAX_IO_WATCHERS 1024u
#define JZX_DEFAULT_DEADLOCK_AFTER_NS 1000000000u
#define JZX_DEFAULT_URGENT_CAP 16u

/* The largest number of workers. */
#define JZX_WORKERS_MAX 1024u

/* How deep code that the library calls may nest on one thread: runs of a loop inside handlers of
 * other loops, observers inside observers, destructors inside destructors, log sinks inside log
 * sinks. The calls that would go deeper say what happens then. */
#define JZX_NESTING_MAX 16u

/* The largest mailbox_cap: no mailbox grows without end. */
#define JZX_MAILBOX_CAP_MAX 524287u

/* The largest max_actors; JZX_UNLIMITED means this. */
#define JZX_ACTORS_MAX 4294967040u

typedef enum jzx_log_level {
    JZX_LOG_DEFAULT = 0, /* JZX_LOG_WARN */
    JZX_LOG_OFF = 1,
    JZX_LOG_ERROR = 2,
    JZX_LOG_WARN = 3,
    JZX_LOG_INFO = 4,
    JZX_LOG_DEBUG = 5
} jzx_log_level;

/* Where the runtime writes what an operator should know: one line of text a call, of at most 255
 * bytes and without '\n'. It is printable UTF-8: control characters and bytes that are no UTF-8, of
 * names and texts, are escaped as \n, \t, \r or \x1b; a backslash stands for itself. */
typedef struct jzx_log_sink {
    /* NULL: standard error. Called on the thread where it happens; text is valid for the call. A
     * line that a sink itself causes is written inside its call, and not at all if that is deeper
     * than JZX_NESTING_MAX. */
    void (*write)(void *ctx, jzx_log_level level, const char *text);
    void *ctx;
    jzx_log_level level; /* lines above this level are not written */
} jzx_log_sink;

/* How work spreads over the workers. */
typedef enum jzx_balance {
    JZX_BALANCE_DEFAULT = 0,  /* JZX_BALANCE_ADAPTIVE */
    JZX_BALANCE_ADAPTIVE = 1, /* heavy actors apart, chatty ones together, as measured on the way */
    JZX_BALANCE_EAGER = 2,    /* an idle worker gets half of what waits, at once, as long as no
                               * more are awake than there are CPUs */
    JZX_BALANCE_NONE = 3      /* an actor stays on the worker where it was spawned; one of another
                               * thread on the worker that is first to look for it */
} jzx_balance;

/* Faults that end the actor in whose code they happen (its behaviour, its init, its cleanup), with
 * reason JZX_EXIT_FAULT, and not the process: flags for config.contain. docs/containment.md says
 * what can be contained and what cannot. */
typedef enum jzx_contain {
    JZX_CONTAIN_OVERFLOW = 1, /* of the thread's stack, at its guard page */
    JZX_CONTAIN_FAULTS = 2    /* SIGSEGV, SIGBUS, SIGFPE, SIGILL */
} jzx_contain;

/* What becomes of a call that waits (jzx/fiber.h) where nothing may wait: in a behaviour, an init,
 * a cleanup, a predicate or a callback of the runtime, on a thread that is no worker, or with a
 * context that is not the calling fiber's own. */
typedef enum jzx_on_wait {
    JZX_ON_WAIT_DEFAULT = 0, /* JZX_ON_WAIT_REFUSE */
    JZX_ON_WAIT_REFUSE = 1,  /* it returns JZX_ERR_WOULD_SUSPEND at once, and does nothing else */
    JZX_ON_WAIT_FAIL = 2,    /* the actor whose code makes the call ends there, as by jzx_exit, with
                              * JZX_EXIT_FAIL and a text that names the call; of an actor that has
                              * ended already, only the cleanup does. Where no actor can be ended
                              * (an observer, a destructor, a function of jzx_loop_call, a thread
                              * that is no worker) the log names call and caller as an error, and
                              * the call returns JZX_ERR_WOULD_SUSPEND */
    JZX_ON_WAIT_ABORT = 3    /* everywhere: the text on standard error, then abort() */
} jzx_on_wait;

/* What becomes of an actor whose code was reported to have stalled (JZX_EVENT_STALL). Whether its
 * worker goes on meanwhile is spare_threads_max's affair. */
typedef enum jzx_on_stall {
    JZX_ON_STALL_DEFAULT = 0, /* JZX_ON_STALL_GO_ON */
    JZX_ON_STALL_GO_ON = 1,   /* nothing */
    JZX_ON_STALL_FAIL = 2 /* it ends with JZX_EXIT_FAIL when its behaviour or init returns, or at
                               * the next call of the fiber that waits, and handles nothing more;
                               * supervisors do not. Not sooner: it may hold a lock, that of malloc
                               * for instance, so no signal can lead out of it */
} jzx_on_stall;

/* How a loop does its I/O. */
typedef enum jzx_io_backend {
    JZX_IO_AUTO = 0,  /* files by io_uring if the system has it, else by a pool of threads, and in
                       * any case if the program has made the pool JZX_FILE_POOL itself; sockets by
                       * epoll. The environment variable JZX_IO_BACKEND, "epoll" or "uring",
                       * replaces this value by one of the others; the log warns of any other text,
                       * which is ignored */
    JZX_IO_EPOLL = 1, /* no io_uring: files by the pool of threads, sockets by epoll */
    JZX_IO_URING = 2  /* files, sockets, watches and signals by io_uring; where the system does not
                       * have it (Linux 5.17), or forbids it, create returns NULL and the log says
                       * why */
} jzx_io_backend;

/* Called on every thread of a loop, the one that calls run among them, before it runs its first
 * actor and after it ran its last: outside of the loop, so that jzx_current_kind is NONE. worker is
 * the one that the thread is the home of: it drives no other, and has it back when a behaviour that
 * had lost it returns. JZX_NONE: a spare, which drives any worker meanwhile. */
typedef void (*jzx_thread_hook)(void *ctx, uint32_t worker);

typedef struct jzx_config {
    size_t size;                  /* sizeof(jzx_config): set by jzx_config_init or JZX_CONFIG */
    jzx_allocator allocator;      /* copied; default malloc and free */
    jzx_log_sink log;             /* copied; default warnings to standard error */
    jzx_clock *clock;             /* NULL: the monotonic clock of the system. Must outlive the loop;
                                   * on a clock that is moved by hand no stall is noticed */
    uint32_t max_actors;          /* alive at once; memory grows with use, not with this bound */
    uint32_t default_mailbox_cap; /* user messages that may wait, 1 .. JZX_MAILBOX_CAP_MAX */
    uint32_t max_msgs_per_actor;  /* messages that an actor handles in one turn at most */
    uint32_t max_actors_per_tick; /* turns, or 1 ms, between two looks at what came from others */
    uint32_t max_async_drain;     /* actors woken by other threads that one look takes in */
    size_t default_heap_quota;    /* bytes that an actor may use of its heap; 0: unlimited */

    /* Threads. The one that calls jzx_loop_run is worker 0; run starts the others and ends them. */
    uint32_t workers;                /* 0: one per CPU that the process may use (affinity,
                                      * cgroup quota) */
    jzx_balance balance;             /* no effect with one worker */
    bool pin_threads;                /* bind worker k to the k-th CPU that the process may use,
                                      * during run */
    const char *thread_name;         /* copied; "jzx" makes jzx-1, jzx-2, ...; at most 10 bytes */
    jzx_thread_hook on_thread_start; /* may be NULL */
    jzx_thread_hook on_thread_stop;  /* may be NULL */
    void *thread_hook_ctx;

    /* A behaviour that does not return: another thread goes on with its worker, and the stall is
     * reported. Two thresholds, as most long behaviours hold nothing up. */
    uint64_t stall_after_ns;    /* report it after this time (10 ms); JZX_NEVER: never */
    uint64_t relieve_after_ns;  /* beside an idle worker and a free CPU, if something waits for its
                                 * worker, another thread goes on with that after this time (1 ms);
                                 * JZX_NEVER: only when it is reported */
    uint32_t spare_threads_max; /* threads for that, started when needed; 0: 64; JZX_NONE: none. If
                                 * none is left, the log says so once in a run. Actors that may run
                                 * on another worker move there, if one is left that is not blocked;
                                 * the others of that worker wait */
    int stall_signal;           /* a signal that is not otherwise used, to report the stack, to the
                                 * observer and in the log ("its stack: ..."); 0: none. It
                                 * interrupts what the behaviour waits for (EINTR); if it returns at
                                 * that, nothing is reported. With several workers the threads of
                                 * the loop have an alternate signal stack of 64 KiB for it during
                                 * run: behaviours must not change that */

    /* Sizes of queues and batches between workers. */
    uint32_t local_queue_size;  /* places for actors that a worker offers to others; a power of two;
                                 * it grows */
    uint32_t global_queue_size; /* actors of other threads that may wait for a worker; what goes
                                 * beyond it is dealt to the workers */
    uint32_t steal_batch;       /* actors that a worker takes from another at once, at most (32) */
    uint64_t park_timeout_ns;   /* longest sleep of an idle worker; 0: until it is woken */

    /* Groups of actors (jzx/group.h); by default JZX_UNLIMITED, both. */
    uint32_t max_groups;            /* that there are at once */
    uint32_t max_members_per_group; /* actors, however often each has joined */
    uint32_t contain; /* JZX_CONTAIN_*, or 0: no signal handler is installed. If not 0, handlers for
                       * these signals and SIGABRT are, from create to destroy, and the threads of
                       * the loop have an alternate signal stack of 64 KiB from the system. Others'
                       * handlers still get what is not contained. A program that is linked
                       * statically cannot have it: create returns NULL */
    uint32_t max_calls;       /* functions of jzx_loop_call that may wait; JZX_UNLIMITED */
    jzx_on_wait on_wait;      /* what a call that waits does where nothing may wait */
    jzx_on_stall on_stall;    /* what a stall means for the actor */
    uint32_t max_io_watchers; /* descriptors that are watched at once (jzx/io.h); JZX_UNLIMITED */
    const struct jzx_schedule_config *schedule; /* of jzx/schedule_admin.h; read by create. The
                                                 * scheduler is made with the loop. NULL: with the
                                                 * first job, and defaults */
    uint64_t deadlock_after_ns; /* a wait of a fiber for a lock, an answer or an end that takes so
                                 * long (1 s) is looked at: if it closes a cycle of such waits, that
                                 * is reported, see JZX_EVENT_DEADLOCK. JZX_NEVER: nobody looks */
    uint32_t urgent_cap;        /* messages of jzx_send_urgent that may wait for one actor (16) */
    bool stamp_messages; /* each message carries the time of its send, see jzx_msg_sent_ns. That
                          * costs a look at the clock and 64 bytes a message; without it nothing */
    jzx_io_backend io_backend; /* docs/io.md */
    bool track_buffers; /* jzx_loop_destroy logs a warning for each buffer of jzx_msg_alloc and
                         * jzx_msg_take that was not released by then, with the actor that took
                         * it. That costs a look into a table, under a lock, for each buffer that
                         * is taken; without it nothing. Debug builds of the library always do */
    uint32_t max_group_events; /* events of a group that wait for a subscriber before it is told
                                * that it lags (64); see JZX_TAG_GROUP_LAGGED. JZX_UNLIMITED */
    jzx_mapper mapper;         /* copied; where stacks come from; default mmap and munmap */
} jzx_config;

/* A configuration in place, in C: jzx_loop_create(&JZX_CONFIG(.max_actors = 1000)). In C++ use
 * jzx_config_init. */
#define JZX_CONFIG(...) ((jzx_config){.size = sizeof(jzx_config), __VA_ARGS__})

/* The same for a loop on one thread. In C++ use jzx_config_init_one_thread.
 *
 * Everything that the loop does happens on the thread that calls jzx_loop_run or jzx_loop_step, one
 * thing at a time: behaviours, inits, cleanups, fibers, timers, events of I/O, functions of
 * jzx_loop_call, and callbacks of the observer for what happens there. The loop starts no thread.
 * Mailboxes and max_actors are exact for what this thread sends and spawns. Other threads may send,
 * spawn and stop as ever: the loop takes that in before actors run, max_async_drain at a time.
 *
 * Threads begin only with what needs them by name: blocking jobs and name resolution
 * (jzx/blocking.h, jzx/resolve.h), files where there is no io_uring, the first subprocess, and a
 * scheduler with JZX_DRIVER_THREAD. Their results come to the loop's thread.
 *
 * Do not name the four fields that it sets: with another value in them the promises above do not
 * hold. */
#define JZX_CONFIG_ONE_THREAD(...)                                                                 \
    JZX_CONFIG(.workers = 1, .balance = JZX_BALANCE_NONE, .spare_threads_max = JZX_NONE,           \
               .relieve_after_ns = JZX_NEVER, __VA_ARGS__)

JZX_BEGIN_C

/* Fills config with its size, which is sizeof *config, and the defaults. Any thread.
 * JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_config_init(jzx_config *config, size_t size);

/* The same, with what JZX_CONFIG_ONE_THREAD sets. */
JZX_API jzx_err jzx_config_init_one_thread(jzx_config *config, size_t size);

/* JZX_OK, or JZX_ERR_INVALID_ARG and the name of the first wrong field in *field (a static
 * string; field may be NULL; untouched on success). NULL is a valid configuration: the defaults. */
JZX_API jzx_err jzx_config_check(const jzx_config *config, const char **field);

JZX_END_C

#endif
