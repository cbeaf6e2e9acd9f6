/* SPDX-License-Identifier: MIT */
/* Actors: a behaviour function, a state and a mailbox. One message at a time; two messages of one
 * actor never run at the same time, and no behaviour ever runs inside another's. */
#ifndef JZX_ACTOR_H
#define JZX_ACTOR_H

#include "jzx/api.h"
#include "jzx/config.h"
#include "jzx/error.h"
#include "jzx/id.h"
#include "jzx/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a behaviour knows of itself. Valid during the call only. state may be replaced by the actor:
 * the next call sees the new value. */
struct jzx_context {
    void *state;
    jzx_actor_id self;
    jzx_loop *loop;
};

typedef enum jzx_behavior_result {
    JZX_BEHAVIOR_OK = 0,   /* go on */
    JZX_BEHAVIOR_STOP = 1, /* end after this message, reason JZX_EXIT_NORMAL */
    JZX_BEHAVIOR_FAIL = 2  /* end after this message, reason JZX_EXIT_FAIL */
} jzx_behavior_result;

/* Called for each message. It must not end its thread: pthread_exit or a cancellation inside an
 * actor ends the process, with a text that names the actor. */
typedef jzx_behavior_result (*jzx_behavior_fn)(jzx_context *ctx, const jzx_message *msg);

/* The code of a process, see jzx/process.h. */
struct jzx_process_ops;

/* The code of a fiber, see jzx/fiber.h. */
typedef void (*jzx_fiber_fn)(jzx_context *ctx);

/* A type of actors, see jzx/typed.h. */
typedef struct jzx_actor_type jzx_actor_type;

typedef enum jzx_exit_reason {
    JZX_EXIT_NORMAL = 0,
    JZX_EXIT_FAIL = 1,     /* the behaviour or its init said so, or jzx_actor_fail */
    JZX_EXIT_PANIC = 2,    /* the behaviour broke the contract: an unknown result */
    JZX_EXIT_KILLED = 3,   /* JZX_STOP_KILL */
    JZX_EXIT_SHUTDOWN = 4, /* stopped by its supervisor, or alive when the loop was closed */
    JZX_EXIT_FAULT = 5,    /* a contained fault: docs/containment.md */
    JZX_EXIT_NO_ACTOR = 6  /* of a link or monitor: it had ended before, the reason is not known */
} jzx_exit_reason;

typedef enum jzx_stop_kind {
    JZX_STOP_AFTER_MESSAGE = 0, /* after the message that is being handled; the rest is dead */
    JZX_STOP_AFTER_QUEUE = 1,   /* refuse (JZX_ERR_NO_SUCH_ACTOR) from the moment the actor sees the
                                 * request, handle what waits then; what is stashed is dead */
    JZX_STOP_KILL = 2           /* as after message, with reason JZX_EXIT_KILLED */
} jzx_stop_kind;

/* What a full mailbox does with one more message. With DROP_OLDEST, what other threads send may
 * exceed the bound until the actor's next message: up to 3 x mailbox_cap wait in all. A message
 * that another thread drops is released, and its destructor runs, on that thread. */
typedef enum jzx_on_full {
    JZX_FULL_REFUSE = 0,      /* the send returns JZX_ERR_MAILBOX_FULL */
    JZX_FULL_DROP_OLDEST = 1, /* the oldest waiting message becomes a dead letter */
    JZX_FULL_DROP_NEW = 2     /* the new message becomes a dead letter */
} jzx_on_full;

typedef enum jzx_actor_status {
    JZX_ACTOR_INIT = 0, /* spawned, its init has not run */
    JZX_ACTOR_RUNNING = 1,
    JZX_ACTOR_STOPPING = 2, /* working off its queue, or ending after this message */
    JZX_ACTOR_STOPPED = 3,  /* in its cleanup only: the id of an ended actor is stale */
    JZX_ACTOR_FAILED = 4
} jzx_actor_status;

/* Runs on the actor's first turn, before its first message. Anything but JZX_OK ends the actor
 * with JZX_EXIT_FAIL, and what was sent to it becomes dead letters. */
typedef jzx_err (*jzx_init_fn)(jzx_context *ctx);

/* Runs exactly once for every actor that was spawned, however it ends, even if its init failed or
 * never ran (let the state tell, if that matters). The id is stale by then; ctx->self is still
 * what it was, and jzx_actor_info_get still answers for it. It may send and spawn. */
typedef void (*jzx_cleanup_fn)(jzx_context *ctx, jzx_exit_reason reason);

/* Scheduling priority. Ageing keeps low priorities from starving: see docs/guarantees.md. */
typedef enum jzx_priority {
    JZX_PRIORITY_DEFAULT = 0, /* JZX_PRIORITY_NORMAL */
    JZX_PRIORITY_CRITICAL = 1,
    JZX_PRIORITY_HIGH = 2,
    JZX_PRIORITY_NORMAL = 3,
    JZX_PRIORITY_LOW = 4
} jzx_priority;

/* Where an actor runs (jzx_spawn_opts.place). */
#define JZX_PLACE_ANY 0u /* wherever there is room; it may move */
/* On that worker only, whatever thread drives it: a spare, after a stall. Evaluates the index once:
 * calls jzx_place_worker. A constant index gives a constant, also for static tables. */
#define JZX_PLACE_WORKER(index)                                                                    \
    ((uint16_t)(__builtin_constant_p(index) ? JZX_PLACE_CONSTANT(index)                            \
                                            : jzx_place_worker((uint32_t)(index))))
#define JZX_PLACE_CONSTANT(index)                                                                  \
    ((uint64_t)(index) < JZX_WORKERS_MAX ? (uint16_t)((uint64_t)(index) + 1u) : UINT16_MAX - 1u)
/* On the thread that calls jzx_loop_run only: waits while that is in a behaviour that stalls. */
#define JZX_PLACE_CALLER UINT16_MAX

/* What an actor is doing. */
typedef enum jzx_activity {
    JZX_ACTIVITY_IDLE = 0,    /* waits for messages */
    JZX_ACTIVITY_READY = 1,   /* waits for its turn */
    JZX_ACTIVITY_RUNNING = 2, /* in its turn */
    JZX_ACTIVITY_BLOCKED = 3, /* in a message for so long that its worker went on without it */
    JZX_ACTIVITY_COMPLETE = 4 /* in its cleanup */
} jzx_activity;

/* What a fiber waits for, see jzx/fiber.h. */
typedef enum jzx_wait_kind {
    JZX_WAIT_NONE = 0, /* it does not, or is no fiber */
    JZX_WAIT_MESSAGE = 1,
    JZX_WAIT_TAG = 2,    /* wait_object: the tag */
    JZX_WAIT_SENDER = 3, /* wait_object: its id, as in the next three */
    JZX_WAIT_ANSWER = 4,
    JZX_WAIT_EXIT = 5,
    JZX_WAIT_ROOM = 6,
    JZX_WAIT_MATCH = 7,  /* a message that a predicate takes */
    JZX_WAIT_TIME = 8,   /* wait_object: the time */
    JZX_WAIT_FUTURE = 9, /* wait_object: its address, as in the next */
    JZX_WAIT_SCOPE = 10, /* the members of a scope */
    JZX_WAIT_OP = 11,    /* wait_object: the jzx_op */
    /* Of jzx/sync.h; wait_object: the address of the object. */
    JZX_WAIT_MUTEX = 12,
    JZX_WAIT_SEMAPHORE = 13,
    JZX_WAIT_RWLOCK = 14,
    JZX_WAIT_CHANNEL = 15, /* or a broadcast: a value, or room for one */
    JZX_WAIT_SIGNAL = 16,  /* a gate, a wait group or a barrier */
    JZX_WAIT_SELECT = 17,  /* wait_object: how many cases it has */
    JZX_WAIT_IO = 18       /* wait_object: the handle of the socket, as a jzx_stream */
} jzx_wait_kind;

/* Longer names are JZX_ERR_INVALID_ARG. */
#define JZX_NAME_MAX 47u

/* What a fiber has of stack: that much is reserved, and as much is used as was touched. */
#define JZX_DEFAULT_STACK_SIZE 65536u
#define JZX_STACK_SIZE_MIN 16384u
#define JZX_STACK_SIZE_MAX (64u << 20)

/* The default of stash_cap. */
#define JZX_DEFAULT_STASH_CAP 128u

typedef struct jzx_spawn_opts {
    size_t size;              /* sizeof(jzx_spawn_opts): set by JZX_SPAWN_OPTS or ..._init */
    jzx_behavior_fn behavior; /* one of this, fiber, process and type is required */
    void *state;              /* the actor's; the runtime never looks at it. Of a type: NULL, or
                               * what its state is to be a copy of */
    const char *name;         /* copied; shown to observers; need not be unique; may be NULL */
    jzx_init_fn init;         /* may be NULL */
    jzx_cleanup_fn cleanup;   /* may be NULL */
    uint32_t mailbox_cap;     /* 0: the loop's default_mailbox_cap. Exact for senders on its worker;
                               * other threads may fill it once more while it works off what it has
                               * taken in, so that up to 2 x mailbox_cap wait */
    uint32_t stash_cap;       /* 0: JZX_DEFAULT_STASH_CAP; JZX_NONE: no stash */
    jzx_on_full on_full;
    uint16_t place;     /* JZX_PLACE_*; a worker that the loop does not have: JZX_ERR_INVALID_ARG */
    uint8_t priority;   /* a jzx_priority */
    bool daemon : 1;    /* does not keep jzx_loop_run from returning */
    bool account : 1;   /* keep steps, started_ns and parent of jzx_actor_info */
    jzx_fiber_fn fiber; /* see jzx/fiber.h, as what follows */
    uint32_t stack_size_bytes; /* of a fiber; 0: JZX_DEFAULT_STACK_SIZE */
    bool migratable : 1;       /* a fiber that may go on on another worker after a wait */
    bool trap_stop : 1; /* a stop is a message, JZX_TAG_STOP, see jzx/exit.h; any kind of actor */
    bool thread_bound : 1; /* a fiber that runs on its worker's own thread only, as one with the
                            * place JZX_PLACE_CALLER does; not with migratable */
    const jzx_actor_type *type;            /* see jzx/typed.h */
    const struct jzx_process_ops *process; /* see jzx/process.h, as what follows */
    const char *method;                    /* copied; NULL: "" */
    const void *input;                     /* copied */
    size_t input_len;
} jzx_spawn_opts;

/* Options in place, in C: jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = greet), &id). In C++ use
 * jzx_spawn_opts_init. */
#define JZX_SPAWN_OPTS(...) ((jzx_spawn_opts){.size = sizeof(jzx_spawn_opts), __VA_ARGS__})

/* What one actor looks like now. */
typedef struct jzx_actor_info {
    size_t size; /* sizeof(jzx_actor_info): set by the caller before the call */
    jzx_actor_id id;
    bool is_partial; /* another thread runs it: known are id, worker, name, mailbox_cap; of depth
                      * what it has not taken in yet; whether it is in its turn (activity is
                      * JZX_ACTIVITY_RUNNING, or _BLOCKED, or neither) and current_tag; the rest
                      * means nothing */
    jzx_actor_status status;
    jzx_activity activity;
    jzx_priority priority;
    uint32_t worker; /* that owns it; JZX_NONE: none yet */
    bool daemon;
    char name[JZX_NAME_MAX + 1]; /* "" without a name */
    uint32_t depth; /* messages that wait, without stashed ones and those exempt from the bound */
    uint32_t stashed;
    uint32_t mailbox_cap;
    uint32_t current_tag; /* of the message that is being handled, else 0 */
    size_t memory_bytes;  /* of the runtime: the actor, its heap and what waits for it; an estimate
                           * for what other threads sent and it has not taken in */
    uint64_t steps;       /* messages it has begun to handle; with jzx_spawn_opts.account, else 0 */
    uint64_t started_ns;  /* when it was spawned; likewise */
    jzx_actor_id parent;  /* the actor that spawned it, if one did; likewise */
    jzx_wait_kind wait;   /* what its code waits for, as what follows; known in any case */
    uint64_t wait_object;
    uint64_t wait_since_ns;
    size_t stack_bytes; /* of a fiber that has begun: how much of its stack was ever touched, by it
                         * or by who had that before; 0 where the system does not tell */
    jzx_actor_id wait_holder; /* MUTEX, RWLOCK: the actor that had the lock when the wait began, or
                               * when it was looked at last (config.deadlock_after_ns); ANSWER,
                               * EXIT: who is waited for. JZX_NOBODY: none, a thread, or readers */
} jzx_actor_info;

JZX_BEGIN_C

/* JZX_PLACE_WORKER as a function. An index out of range gives a place that jzx_spawn refuses. */
JZX_API inline uint16_t jzx_place_worker(uint32_t index) {
    return JZX_PLACE_CONSTANT(index);
}

/* As JZX_SPAWN_OPTS(); size is sizeof *opts. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_spawn_opts_init(jzx_spawn_opts *opts, size_t size);

/* Makes an actor; *id (may be NULL) is valid at once, also for sends. Any thread.
 * First turns: on each worker, the newest actor that never ran goes first. About every 80 us the
 * actors that wait become elders: they go before newer ones, oldest first. Actors that spring up
 * while an elder runs, also by way of an actor that it wakes, go before the next elder for at most
 * 80 us. So an init may not rely on the init of an actor that was spawned before it. (The children
 * of a supervisor start in their order.)
 * The slot of an actor that has ended, the index in its id, is used again: on the same worker the
 * one that was freed last first, each time with the next generation. So a stale id reaches nobody,
 * and an index says nothing of age.
 * JZX_ERR_INVALID_ARG (NULL loop, options or behaviour, a value out of range),
 * JZX_ERR_LOOP_CLOSED, JZX_ERR_MAX_ACTORS, JZX_ERR_NO_MEMORY; *id is untouched then. */
JZX_API jzx_err jzx_spawn(jzx_loop *loop, const jzx_spawn_opts *opts, jzx_actor_id *id);

/* jzx_spawn for a thread that is no actor: blocks it until the init has returned. JZX_OK: the actor
 * lives, and its init has succeeded. Otherwise there is no actor: the error is that of the init, or
 * one of jzx_spawn; JZX_ERR_NO_SUCH_ACTOR if it was ended before its init was through (jzx_exit, a
 * kill, a fault); JZX_ERR_LOOP_CLOSED if the loop has ended it; JZX_ERR_TIMEOUT if the deadline (a
 * time of the loop, or JZX_NEVER) has passed: then the actor is killed, after the init that may be
 * running. When an error of the init is returned its cleanup has run. The call waits for a loop
 * that does not run yet. JZX_ERR_WOULD_SUSPEND, at once, on a thread that is inside a loop. */
JZX_API jzx_err jzx_spawn_wait(jzx_loop *loop, const jzx_spawn_opts *opts, uint64_t deadline_ns,
                               jzx_actor_id *id);

/* Ends an actor from outside (or inside). The request overtakes waiting messages and cannot fail
 * for memory; the actor ends on its own thread, after the message it is handling. Of several
 * requests the strongest counts, in whatever order they came, as long as the actor has not begun
 * to end: JZX_STOP_KILL (JZX_EXIT_KILLED), then jzx_actor_fail (JZX_EXIT_FAIL), then the stop by
 * its supervisor or of the loop (JZX_EXIT_SHUTDOWN), then JZX_STOP_AFTER_MESSAGE, then
 * JZX_STOP_AFTER_QUEUE (both JZX_EXIT_NORMAL). An actor that ends by itself in the message before
 * has the reason that it gives. An actor with trap_stop is told of a stop instead, all but
 * JZX_STOP_KILL, and has JZX_DEFAULT_STOP_GRACE to end: see JZX_TAG_STOP in jzx/exit.h. Any thread.
 * JZX_ERR_INVALID_ARG, JZX_ERR_NO_SUCH_ACTOR, JZX_ERR_LOOP_CLOSED. */
JZX_API jzx_err jzx_actor_stop(jzx_loop *loop, jzx_actor_id id, jzx_stop_kind kind);

/* As jzx_actor_stop after the message, with reason JZX_EXIT_FAIL; no actor traps it. */
JZX_API jzx_err jzx_actor_fail(jzx_loop *loop, jzx_actor_id id);

/* The behaviour for the messages after this one. JZX_ERR_INVALID_ARG if behavior is NULL, and in a
 * fiber; JZX_ERR_NO_SUCH_ACTOR from a cleanup. */
JZX_API jzx_err jzx_become(jzx_context *ctx, jzx_behavior_fn behavior);

/* Puts the message that is being handled aside. In the statistics it waits, and is not handled,
 * until jzx_unstash brings it back; but its place in the mailbox is free, so that stashing does not
 * hold senders back: who passes work on answers for each piece, and is sent no more than so many
 * at once. JZX_ERR_MAILBOX_FULL when stash_cap messages are aside; JZX_ERR_NO_MEMORY;
 * JZX_ERR_INVALID_ARG if msg is not the message of this call, or was taken or stashed already. */
JZX_API jzx_err jzx_stash(jzx_context *ctx, const jzx_message *msg);

/* Brings all that was stashed back to the head of the mailbox, in its old order. Returns how
 * many. */
JZX_API size_t jzx_unstash(jzx_context *ctx);

/* True when this turn has used its time and others wait: a behaviour in a long loop should send
 * itself the rest of its work and return. False with a context that is not that of the running turn
 * itself, as a copy. */
JZX_API bool jzx_turn_spent(const jzx_context *ctx);

/* Fills *info. Any thread, at any time, beside run and step as well; it changes nothing and makes
 * no other call fail. The result is whole for actors of the worker that the calling thread drives,
 * and for all actors while no thread is inside run, step or destroy. Otherwise it is partial (see
 * is_partial): a picture of one moment, of which each field is true by itself, while the actor goes
 * on; for a whole one use jzx_loop_call.
 * JZX_ERR_NO_SUCH_ACTOR, JZX_ERR_LOOP_CLOSED, JZX_ERR_INVALID_ARG. Its cost is bounded by the
 * actor's mailbox; run and step wait for a look that began before them. */
JZX_API jzx_err jzx_actor_info_get(jzx_loop *loop, jzx_actor_id id, jzx_actor_info *info);

/* Walks over the living actors: start with *cursor = 0, call until JZX_ERR_NO_SUCH_ACTOR. Spawns
 * and exits between two calls are allowed: each actor that lives throughout is shown once. Any
 * thread, as jzx_actor_info_get. */
JZX_API jzx_err jzx_actor_next(jzx_loop *loop, uint64_t *cursor, jzx_actor_info *info);

/* "tag", "answer", ...: what a dump says behind "waits for". */
JZX_API const char *jzx_wait_name(jzx_wait_kind kind);

JZX_END_C

#endif
