/* SPDX-License-Identifier: MIT */
/* Supervisors: actors that start others, watch them, and start them again when they fail.
 *
 * A supervision tree is data. This one keeps two actors alive, gives up after five restarts in ten
 * seconds, and then stops the loop, whose run returns JZX_ERR_ESCALATED:
 *
 *     static const jzx_child_spec children[] = {
 *         {.name = "ingest", .behavior = ingest, .init = ingest_init},
 *         {.name = "merge", .behavior = merge, .mode = JZX_TRANSIENT},
 *     };
 *     jzx_spawn_supervisor(loop, &JZX_SUPERVISOR_OPTS(.intensity = 5, .period_ns = JZX_MS(10000),
 *                                                     JZX_CHILDREN(children)), &root);
 *
 * A restarted child is a new actor: new id, same name, same spec. The message that it failed on is
 * lost; the rest of its mailbox too, unless its spec says keep_mailbox. Children start in order,
 * each when the one before has finished its init, and stop in the reverse order; with depends_on
 * they go by their dependencies, independent ones at the same time. An init that fails
 * or exceeds start_ns at the first start of a tree is not tried again: the supervisor gives up.
 *
 * When a tree is shut down in the ordinary way (jzx_loop_stop, jzx_actor_stop of a supervisor,
 * auto_shutdown, jzx_supervisor_remove, jzx_supervisor_restart) each child works off its queue
 * within its shutdown_ns, as by JZX_STOP_AFTER_QUEUE: from the moment that it is asked, sends to it
 * are JZX_ERR_NO_SUCH_ACTOR, also those of siblings that stop later; what it has stashed becomes
 * dead letters. What the time leaves unhandled is told with its count (JZX_EVENT_DRAIN_CUT and the
 * log). After a failure children stop at once, with their queues unhandled: those that are to be
 * started again with the one that failed, and all below a supervisor that gives up.
 *
 * Services are children that are to run for ever and may be down for a while: servers, pollers,
 * connections to other machines. JZX_SERVICE(.name = "mail", .behavior = mail) makes the spec of
 * one. Its failures are its own: they never make the supervisor give up, and it is tried again with
 * growing pauses. An actor may listen to what happens to the children of a tree (listener below).
 * See docs/supervision.md. */
#ifndef JZX_SUPERVISOR_H
#define JZX_SUPERVISOR_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/config.h"
#include "jzx/error.h"
#include "jzx/exit.h"
#include "jzx/id.h"
#include "jzx/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which children the failure of one child restarts. */
typedef enum jzx_strategy {
    JZX_ONE_FOR_ONE = 0,  /* itself */
    JZX_ONE_FOR_ALL = 1,  /* all: they are stopped, and all are started again */
    JZX_REST_FOR_ONE = 2, /* itself and those that were started after it */
    JZX_DYNAMIC = 3       /* itself; for many children that come and go (jzx_supervisor_add): one
                           * that is not restarted is forgotten, and all stop at once */
} jzx_strategy;

/* Which ends of a child are failures. */
typedef enum jzx_child_mode {
    JZX_PERMANENT = 0, /* every one: it is to run for ever */
    JZX_TRANSIENT = 1, /* all but JZX_EXIT_NORMAL and JZX_EXIT_SHUTDOWN: it has something to do */
    JZX_TEMPORARY = 2  /* none */
} jzx_child_mode;

/* How long a restart waits. n is 0 for the first failure in a row, 1 for the second, and so on: one
 * less than the attempt that events and jzx_child_info show. After a child has run for stable_ns, n
 * begins at 0 again. Nothing set: it does not wait. */
typedef enum jzx_backoff_kind {
    JZX_BACKOFF_DEFAULT = 0,    /* exponential if any field is set, else none */
    JZX_BACKOFF_CONSTANT = 1,   /* initial_delay_ns + n * step_ns */
    JZX_BACKOFF_EXPONENTIAL = 2 /* initial_delay_ns * factor^n */
} jzx_backoff_kind;

typedef struct jzx_backoff {
    jzx_backoff_kind kind;
    uint64_t initial_delay_ns; /* 0: 100 ms */
    uint64_t step_ns;
    uint64_t max_delay_ns; /* 0: 10 s */
    uint64_t jitter_ns;    /* up to so much is added or taken away, within 0 .. max_delay_ns */
    double factor;         /* 0: 2; at least 1 */
} jzx_backoff;

typedef struct jzx_supervisor_opts jzx_supervisor_opts;

/* Dependencies: the siblings that a child needs, which may stand anywhere in the array.
 *
 *     JZX_SERVICE(.name = "web", .behavior = web, .depends_on = {"store", "index"}),
 *
 * If one child of a supervisor says depends_on, the names and not the order of the array say when
 * children start and stop. Once one child has names, a child without any needs nobody. To have no
 * dependencies at all, in place of the order of the array, give one child JZX_DEPENDS_ON_NOBODY as
 * its only name.
 *
 *   start    when each child that it needs runs and its init is through. Children that do not need
 *            one another start at the same time.
 *   stop     when the children that need it have ended; the others at the same time.
 *   failure  one_for_one: the children that need it go on. rest_for_one: they stop, and they alone,
 *            and start again after it. one_for_all: all.
 *   end      a child that has ended well by itself counts as running. A child that is out of
 *            attempts, or was stopped by hand, stops nobody; a child that needs it and is to start
 *            waits until it runs again.
 *
 * jzx_supervisor_check refuses unknown names, circles, dynamic supervisors and more than 256
 * children; a spawn logs the reason. */
#define JZX_DEPENDS_MAX 8
#define JZX_DEPENDS_ON_NOBODY ""

/* A child. Everything is copied but what state points to, which is the caller's and the same for
 * every incarnation: let the init make what is to be new (jzx_alloc). Of a supervisor below only
 * name, registered, mode, backoff, the three times, significant, stop_at_once, max_attempts,
 * jitter_percent, service and depends_on count.
 *
 * Spans, here, in jzx_backoff and in jzx_supervisor_opts, are up to INT64_MAX ns; JZX_MS and
 * JZX_SECOND make them. 0 is the default. Timers measure them, and round up to a millisecond. Of
 * the times of a child and of a supervisor, JZX_NEVER is no limit. JZX_UNLIMITED and JZX_NONE are
 * numbers of 32 bits and no spans: they are refused but where a field says what they mean. */
typedef struct jzx_child_spec {
    const char *name;                      /* unique among its siblings; may be NULL */
    const char *registered;                /* its name for jzx_lookup, whichever incarnation; or
                                            * NULL. If another actor has it that is a failure */
    jzx_behavior_fn behavior;              /* this, */
    const jzx_supervisor_opts *supervisor; /* or this: a supervisor below this one */
    jzx_init_fn init;       /* sets up ctx->state; what is not JZX_OK is a failure. May be NULL */
    jzx_cleanup_fn cleanup; /* may be NULL */
    void *state;            /* what every incarnation begins with */
    jzx_child_mode mode;
    jzx_backoff backoff;
    uint64_t shutdown_ns; /* how long it may take to stop, its queue included, before it is killed:
                           * 5 s, supervisors JZX_NEVER; JZX_NONE: it is killed at once */
    uint64_t start_ns;    /* how long its init may take before that is a failure: 10 s, supervisors
                           * JZX_NEVER. Needs a second worker: on one the supervisor waits, too */
    uint32_t mailbox_cap; /* as of jzx_spawn_opts, as what follows */
    uint32_t stash_cap;
    jzx_on_full on_full;
    uint16_t place;
    uint8_t priority;
    bool keep_mailbox;  /* a restart goes on with the messages that wait: the urgent ones, the
                         * stash, the rest */
    bool significant;   /* see auto_shutdown; not if it is permanent, or that is never */
    bool stop_at_once;  /* it stops without working off its queue; a supervisor: with all below */
    jzx_fiber_fn fiber; /* or this, in place of behavior: see jzx/fiber.h, as what follows */
    uint32_t stack_size_bytes; /* as of jzx_spawn_opts, the four */
    bool migratable;
    bool trap_stop;                        /* it is told of its stop, and has shutdown_ns to end */
    bool thread_bound;                     /* not with migratable */
    const jzx_actor_type *type;            /* or this: each incarnation has a state of its own, see
                                            * jzx/typed.h */
    const struct jzx_process_ops *process; /* or this, in place of behavior: see jzx/process.h */
    const char *method;                    /* as of jzx_spawn_opts, the three */
    const void *input;
    size_t input_len;
    uint64_t stable_ns;      /* after a run of this length it has failed 0 times in a row: that of
                              * the supervisor, a service 5 s */
    uint32_t max_attempts;   /* so many restarts in a row, and it is left alone when it fails again:
                              * JZX_CHILD_FAILED. 0: no limit */
    uint32_t jitter_percent; /* up to this part of a delay is added or taken away, beside jitter_ns:
                              * none, a service 10; at most 100. JZX_NONE: none */
    bool service;            /* see JZX_SERVICE */
    const char *depends_on[JZX_DEPENDS_MAX]; /* the names of the siblings that it needs; see above,
                                              * as NULL and JZX_DEPENDS_ON_NOBODY */
} jzx_child_spec;

/* The initialiser of a spec for a service; what it names goes before the defaults:
 *
 *   start_ns                  10 s
 *   shutdown_ns               10 s
 *   stable_ns                  5 s   a run of this length resets the attempts
 *   backoff.initial_delay_ns   1 s
 *   backoff.max_delay_ns      90 s
 *   backoff.factor             2
 *   jitter_percent            10
 *   max_attempts               0     without end
 *
 * A service has its own limit, max_attempts, and does not count for the intensity of its
 * supervisor. If its init fails at the first start of the tree it is tried again as later on; the
 * children behind it wait for it meanwhile, as they may depend on it. */
#define JZX_SERVICE(...)                                                                           \
    { .service = true, __VA_ARGS__ }

/* When a supervisor stops by itself, with JZX_EXIT_SHUTDOWN, because children have ended by
 * themselves that are not started again. */
typedef enum jzx_auto_shutdown {
    JZX_AUTO_SHUTDOWN_NEVER = 0,
    JZX_AUTO_SHUTDOWN_ANY = 1, /* one that is significant */
    JZX_AUTO_SHUTDOWN_ALL = 2  /* all that are significant */
} jzx_auto_shutdown;

struct jzx_supervisor_opts {
    size_t size;      /* sizeof(jzx_supervisor_opts): set by JZX_SUPERVISOR_OPTS or ..._init */
    const char *name; /* shown to observers; may be NULL */
    jzx_strategy strategy;
    jzx_auto_shutdown auto_shutdown;
    uint32_t intensity; /* more restarts than this within period_ns, and it gives up: stops its
                         * children and fails. 0: 3; JZX_NONE: it gives up at the first failure;
                         * JZX_UNLIMITED: never. At most 65,535 */
    uint64_t period_ns; /* 0: 5 s */
    uint64_t stable_ns; /* 0: 5 s */
    const jzx_child_spec *children; /* these three by JZX_CHILDREN */
    size_t child_count;
    size_t child_size;     /* sizeof(jzx_child_spec) */
    jzx_actor_id listener; /* gets JZX_TAG_CHILD_EXIT and JZX_TAG_CHILD_RESTART. JZX_NOBODY: the
                            * listener of the supervisor above, at the top nobody. Need not live */
};

#define JZX_SUPERVISOR_OPTS(...)                                                                   \
    ((jzx_supervisor_opts){.size = sizeof(jzx_supervisor_opts), __VA_ARGS__})

/* For an array of specs. */
#define JZX_CHILDREN(array)                                                                        \
    .children = (array), .child_count = sizeof(array) / sizeof((array)[0]),                        \
    .child_size = sizeof((array)[0])

typedef enum jzx_child_state {
    JZX_CHILD_UNKNOWN = 0,  /* was not started yet; or there is no child of that name */
    JZX_CHILD_STARTING = 1, /* its init runs */
    JZX_CHILD_RUNNING = 2,
    JZX_CHILD_STOPPING = 3, /* its supervisor has asked it to stop */
    JZX_CHILD_WAITING = 4,  /* has failed or was stopped, and will be started again */
    JZX_CHILD_STOPPED = 5,  /* its supervisor has stopped it, and does not start it again */
    JZX_CHILD_EXITED = 6,   /* has ended by itself, with JZX_EXIT_NORMAL or JZX_EXIT_SHUTDOWN, which
                             * was no failure; jzx_actor_stop of a child counts as that */
    JZX_CHILD_FAILED = 7    /* has failed and is not started again: it is out of attempts, or its
                             * supervisor gave up; or a temporary one, with any other reason */
} jzx_child_state;

/* What a child looks like now. */
typedef struct jzx_child_info {
    size_t size; /* sizeof(jzx_child_info): set by the caller before the call */
    char name[JZX_NAME_MAX + 1];
    jzx_actor_id id; /* JZX_NOBODY while it does not run */
    jzx_child_state state;
    uint32_t restarts;           /* in all */
    uint32_t attempt;            /* failures in a row */
    uint64_t delay_ns;           /* that the last restart waited */
    jzx_exit_reason last_reason; /* why it ended last, as what follows; only if restarts != 0 or it
                                  * is not running */
    char last_text[JZX_EXIT_TEXT_MAX + 1];
} jzx_child_info;

typedef struct jzx_supervisor_info {
    size_t size;     /* sizeof(jzx_supervisor_info): set by the caller before the call */
    size_t children; /* that it knows */
    size_t running;
    size_t supervisors; /* of the children */
    uint64_t restarts;
    bool closing; /* it stops its children, and then ends */
} jzx_supervisor_info;

/* What a listener is told, by messages whose sender is the supervisor. They do not count for the
 * bound of its mailbox, no mailbox refuses them, and their memory is taken before the incarnation
 * that they tell of is started; if that fails, so does the start.
 *
 *   JZX_TAG_CHILD_EXIT     an incarnation of a child has ended. Each end of which the supervisor
 *                          hears is told exactly once, also if it was asked for.
 *   JZX_TAG_CHILD_RESTART  a child that has ended before runs again: its init is through. First
 *                          starts, and restarts whose init fails, are not told; the end of the
 *                          latter is.
 *
 * The messages of one supervisor come in the order of the events: the end of an incarnation before
 * the restart that follows. A supervisor that stops, fails or gives up tells the ends of all its
 * children first; its own end is told by the supervisor above. One that is killed tells nothing
 * more, its children's ends included: watch it with jzx_monitor. A listener that has ended is
 * told nothing, and that has no effect on the children. Supervisors ignore these messages. */
#define JZX_TAG_CHILD_EXIT 0xFFFF0002u
#define JZX_TAG_CHILD_RESTART 0xFFFF0003u
typedef struct jzx_child_event {
    jzx_actor_id supervisor;
    jzx_actor_id child;     /* the actor that has ended; or the one that runs now */
    jzx_actor_id before;    /* RESTART: its predecessor */
    jzx_exit_reason reason; /* of the end; RESTART: of the predecessor's, as text */
    jzx_child_state state;  /* of the child after the event: RESTART: RUNNING; EXIT: WAITING, or if
                             * it is not started again STOPPED, EXITED or FAILED */
    uint32_t attempt;       /* failures in a row */
    bool asked;             /* EXIT: the supervisor had asked it to stop */
    uint64_t delay_ns;      /* EXIT of one that has failed: until it is started again; RESTART: that
                             * it has waited after its last failure */
    char name[JZX_NAME_MAX + 1];
    char text[JZX_EXIT_TEXT_MAX + 1];
} jzx_child_event;

/* The answer to jzx_supervisor_add. */
#define JZX_TAG_CHILD_ADDED 0xFFFF0004u
typedef struct jzx_child_added {
    jzx_actor_id supervisor;
    jzx_actor_id child; /* JZX_NOBODY if it was not started; JZX_ERR_EXISTS: the actor that has the
                         * name, or JZX_NOBODY if that child does not run */
    jzx_err err;
    char name[JZX_NAME_MAX + 1];
} jzx_child_added;

JZX_BEGIN_C

/* As JZX_SUPERVISOR_OPTS(); size is sizeof *opts. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_supervisor_opts_init(jzx_supervisor_opts *opts, size_t size);

/* As JZX_SERVICE(), with the defaults written out; size is sizeof *spec. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_service_init(jzx_child_spec *spec, size_t size);

/* JZX_OK, or JZX_ERR_INVALID_ARG and the name of the first wrong field in *field (a static string;
 * may be NULL; untouched on success): also in the supervisors below. */
JZX_API jzx_err jzx_supervisor_check(const jzx_supervisor_opts *opts, const char **field);

/* Makes a supervisor at the top of a tree: it starts its children in its first turn. When it gives
 * up the loop stops, and run returns JZX_ERR_ESCALATED. Any thread.
 * Ask it to stop with jzx_actor_stop: it first stops its children.
 * If it is killed, or made to fail by jzx_actor_fail, that is its end and not its giving up.
 * JZX_ERR_INVALID_ARG (see jzx_supervisor_check, or a place that the loop does not have; then
 * nothing is started), JZX_ERR_NO_MEMORY,
 * JZX_ERR_MAX_ACTORS, JZX_ERR_LOOP_CLOSED. */
JZX_API jzx_err jzx_spawn_supervisor(jzx_loop *loop, const jzx_supervisor_opts *opts,
                                     jzx_actor_id *id);

/* The calls below may be made on any thread. JZX_ERR_NO_SUCH_ACTOR: there is no such supervisor, or
 * no such child; JZX_ERR_INVALID_ARG. What is asked of a supervisor waits in its mailbox, which is
 * bounded by default_mailbox_cap: JZX_ERR_MAILBOX_FULL. */

/* The id of a child that runs or starts; JZX_ERR_NO_SUCH_ACTOR also while it does not. */
JZX_API jzx_err jzx_supervisor_child(jzx_loop *loop, jzx_actor_id supervisor, const char *name,
                                     jzx_actor_id *id);

/* The same by place: children are numbered from 0 in the order in which they start. */
JZX_API jzx_err jzx_supervisor_child_id(jzx_loop *loop, jzx_actor_id supervisor, size_t index,
                                        jzx_actor_id *id);

JZX_API jzx_err jzx_supervisor_info_get(jzx_loop *loop, jzx_actor_id supervisor,
                                        jzx_supervisor_info *info);
JZX_API jzx_err jzx_supervisor_child_info(jzx_loop *loop, jzx_actor_id supervisor, size_t index,
                                          jzx_child_info *info);

/* The state of a child by its name: JZX_OK and JZX_CHILD_UNKNOWN if the supervisor has none of that
 * name. */
JZX_API jzx_err jzx_supervisor_child_state(jzx_loop *loop, jzx_actor_id supervisor,
                                           const char *name, jzx_child_state *state);

/* Asks it to add and start a child, behind all others; spec_size is sizeof *spec. When its init is
 * through, or it could not be started, actor reply_to (or JZX_NOBODY) gets one message
 * JZX_TAG_CHILD_ADDED. The err in it: JZX_ERR_EXISTS if a name is taken, JZX_ERR_NO_SUCH_ACTOR if
 * depends_on has an unknown name, JZX_ERR_INVALID_ARG if it makes a circle (with children whose
 * depends_on has the name that it takes over), JZX_ERR_LOOP_CLOSED if the supervisor is closing,
 * errors of jzx_spawn, or JZX_ERR_UNKNOWN if its init failed: then it is forgotten, and no failure
 * counted. Here: JZX_ERR_NO_MEMORY; JZX_ERR_INVALID_ARG also for a significant child that has no
 * effect, and for depends_on where no child of the supervisor had it from the start. */
JZX_API jzx_err jzx_supervisor_add(jzx_loop *loop, jzx_actor_id supervisor,
                                   const jzx_child_spec *spec, size_t spec_size,
                                   jzx_actor_id reply_to);

/* Asks it to stop a child and forget it: also the way for a permanent child to leave for good. */
JZX_API jzx_err jzx_supervisor_remove(jzx_loop *loop, jzx_actor_id supervisor, const char *name);

/* Asks it to stop a child and not to start it before jzx_supervisor_restart, whatever happens to
 * the others: JZX_CHILD_STOPPED. One that is temporary or of a dynamic supervisor is forgotten. */
JZX_API jzx_err jzx_supervisor_stop_child(jzx_loop *loop, jzx_actor_id supervisor,
                                          const char *name);

/* Asks it to stop a child, if it runs, and start it again at once; not counted as a failure. With
 * keep_mailbox the queue is left to the new one. */
JZX_API jzx_err jzx_supervisor_restart(jzx_loop *loop, jzx_actor_id supervisor, const char *name);

JZX_END_C

#endif
