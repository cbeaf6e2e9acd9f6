/* SPDX-License-Identifier: MIT */
/* Seeing what a loop does: events as they happen, counters at any time. An observer changes nothing
 * but what it does itself. */
#ifndef JZX_OBSERVE_H
#define JZX_OBSERVE_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jzx_schedule_event jzx_schedule_event;

typedef enum jzx_event_kind {
    JZX_EVENT_LOOP_START = 1,    /* at the first run or step, before anything else */
    JZX_EVENT_LOOP_STOP = 2,     /* when the loop was stopped or is destroyed: the last event */
    JZX_EVENT_ACTOR_START = 3,   /* when a worker first has it */
    JZX_EVENT_ACTOR_STOP = 4,    /* reason normal, killed or shutdown; calls on_actor_stop */
    JZX_EVENT_ACTOR_FAIL = 5,    /* reason fail, panic or fault; calls on_actor_stop as well */
    JZX_EVENT_ACTOR_RESTART = 6, /* a child was started again: actor is the new one */
    JZX_EVENT_SUPERVISOR_ESCALATE = 7,
    JZX_EVENT_MAILBOX_FULL = 8, /* a message was refused or dropped; see count */
    JZX_EVENT_DEAD_LETTER = 9,  /* an accepted message that nobody will handle; see count */
    JZX_EVENT_STALL = 10,       /* a behaviour has not returned for stall_after_ns; cause says what
                                 * it does. A thread that has no CPU is counted in held_up instead
                                 */
    JZX_EVENT_STALL_END = 11,   /* it has, after elapsed_ns: one for each STALL */
    JZX_EVENT_STOP_LATE = 12,   /* alive at the deadline of jzx_loop_stop; detail says why */
    JZX_EVENT_DRAIN_CUT = 13,   /* an actor that was working off its queue, or was alive at that
                                 * deadline, ends with count messages in it: each of them is also a
                                 * dead letter, unless keep_mailbox keeps it */
    JZX_EVENT_UNHANDLED_REJECTION = 14, /* a future was rejected, and its last handle was released
                                         * before anybody has read it; detail says how */
    JZX_EVENT_OWNER_DIED = 15,          /* an actor has ended with a lock or permits, see
                                         * jzx/sync.h: they are released; count says how many,
                                         * detail which. After its STOP or FAIL */
    JZX_EVENT_SCHEDULE = 16,            /* of the scheduler API: schedule says what */
    JZX_EVENT_DEADLOCK = 17             /* fibers wait for one another, in a cycle of mutexes, write
                                         * locks, calls and joins, since deadlock_after_ns: detail
                                         * names them, beginning with actor; count says how many.
                                         * Once for each cycle */
} jzx_event_kind;

/* What a behaviour does that has stalled. */
typedef enum jzx_stall_cause {
    JZX_STALL_UNKNOWN = 0,  /* the system does not say */
    JZX_STALL_COMPUTES = 1, /* it uses the CPU */
    JZX_STALL_BLOCKED = 2   /* it waits in the kernel */
} jzx_stall_cause;

/* Valid during the callback. New kinds and fields may come at the end. Messages that other threads
 * sent and a full mailbox refused or dropped are reported before its actor's next message: all of
 * them in one event, with their count, without sender, tag and len. */
typedef struct jzx_event {
    jzx_event_kind kind;
    jzx_actor_id actor;     /* whom it is about; JZX_NOBODY for the loop */
    const char *name;       /* the actor's, or NULL */
    jzx_exit_reason reason; /* ACTOR_STOP, ACTOR_FAIL, DRAIN_CUT, OWNER_DIED: of the end; RESTART,
                             * ESCALATE: of the last failure */
    jzx_actor_id sender;    /* DEAD_LETTER */
    uint32_t tag;           /* DEAD_LETTER; STALL, STALL_END: of the message in hand */
    size_t len;             /* DEAD_LETTER */
    uint32_t attempt;       /* ACTOR_RESTART: failures in a row; reason and detail say why */
    uint32_t worker;        /* STALL, STALL_END */
    uint64_t elapsed_ns;    /* STALL: so far, STALL_END: in all; ACTOR_RESTART: that it waited */
    jzx_stall_cause cause;  /* STALL */
    bool handed_over;       /* STALL: another thread drives the worker now; else it stands still */
    void *const *stack;     /* STALL: return addresses, innermost first, if stall_signal is set.
                             * ACTOR_FAIL: of a contained fault, where it happened first */
    size_t stack_count;     /* of them */
    const char *detail;     /* STOP_LATE: what it is doing, as text; ACTOR_STOP and ACTOR_FAIL: the
                             * text of jzx_exit_notice, or ""; ACTOR_RESTART: that of the last
                             * failure, or ""; ESCALATE: why it gives up;
                             * UNHANDLED_REJECTION: its error and text; OWNER_DIED: "a mutex at
                             * 0x.."; DEADLOCK: who waits for what of whom. NULL otherwise */
    uint64_t count;         /* MAILBOX_FULL, DEAD_LETTER: the messages it stands for, at least 1; at
                          * most 16,777,215, and jzx_stats counts what is beyond. DRAIN_CUT: those
                          * that were left */
    const jzx_schedule_event *schedule; /* SCHEDULE; see jzx/schedule_admin.h. NULL otherwise */
} jzx_event;

/* Each callback may be NULL. They run on the worker where the event happens, and with several
 * workers at the same time on several; STALL and STALL_END may also come on a thread of the loop
 * that is no worker. The events of one actor come in order, but for these two, which may be late,
 * even after its end. Callbacks may send, spawn and stop, and must not run, step or destroy the
 * loop. What a callback does may be an event itself, of which the observer hears inside its own
 * call: JZX_NESTING_MAX deep. Events below that are not shown, and the log says so; counters count
 * them. */
typedef struct jzx_observer {
    size_t size; /* sizeof(jzx_observer) */
    void (*on_actor_start)(void *ctx, jzx_actor_id id, const char *name);
    void (*on_actor_stop)(void *ctx, jzx_actor_id id, jzx_exit_reason reason);
    void (*on_actor_restart)(void *ctx, jzx_actor_id id, uint32_t attempt);
    void (*on_supervisor_escalate)(void *ctx, jzx_actor_id id);
    void (*on_mailbox_full)(void *ctx, jzx_actor_id id); /* once per event: on_event has count */
    void (*on_event)(void *ctx, const jzx_event *event); /* every kind, after its own callback */
} jzx_observer;

/* An observer in place, in C: &JZX_OBSERVER(.on_event = print). */
#define JZX_OBSERVER(...) ((jzx_observer){.size = sizeof(jzx_observer), __VA_ARGS__})

/* Counters since the loop was created, runtime messages (JZX_TAG_ROOM, timers) among them. A
 * timer's message that was cancelled while it waited counts as handled. With all senders quiet
 * these books balance:
 *
 *     sends = accepted + refused_*
 *     accepted = handled + dead + waiting
 *
 * A refused send to an actor that is gone counts as a dead letter for statistics as well:
 *
 *     dead_letters = dead + refused_no_actor */
typedef struct jzx_stats {
    size_t size; /* sizeof(jzx_stats): set by the caller before the call */
    uint64_t accepted;
    uint64_t handled;
    uint64_t dead; /* accepted, then dropped: by the death of its actor, a policy, or shutdown; or
                    * an answer that nobody waits for */
    uint64_t waiting; /* accepted - handled - dead, at least 0. Exact while the loop does not run,
                       * and for the only worker on its own thread. Else a worker adds what it has
                       * handled at the end of each pass, after 1 ms at the latest: until then these
                       * messages are shown as waiting */
    uint64_t refused_full;
    uint64_t refused_no_actor;
    uint64_t refused_closed;
    uint64_t refused_invalid;
    uint64_t refused_no_memory;
    uint64_t dead_letters;
    uint64_t spawned;
    uint64_t exited; /* all ends; failed ones among them */
    uint64_t failed;
    uint64_t turns;        /* times that an actor was given the thread; a turn that lost its worker
                            * counts for the loop, and for no worker */
    uint64_t injected;     /* times that another thread made an actor ready */
    uint64_t calls;        /* functions of jzx_loop_call that ran */
    uint64_t timers_set;   /* one that repeats counts once */
    uint64_t timers_fired; /* messages of timers that came to a mailbox */
    uint64_t timers_ended; /* all ends; timers_set - timers_ended are pending */
    uint64_t parked;       /* times that a worker went to sleep */
    uint64_t woken;        /* times that one was woken */
    uint64_t submitted;    /* actors of other threads that a worker took from the global queue */
    uint64_t crossed;      /* messages from one worker to another */
    uint64_t published;    /* actors that a worker offered to others */
    uint64_t reclaimed;    /* of those, taken back because nobody came */
    uint64_t stolen;       /* of those, taken by another worker */
    uint64_t explored;   /* times that a worker offered actors only to see whether that is faster */
    uint64_t gathered;   /* actors that moved to the worker they talk to */
    uint64_t followed;   /* actors that moved after one that was stolen */
    uint64_t stalls;     /* behaviours that did not return for stall_after_ns */
    uint64_t handovers;  /* times that another thread went on with a worker whose behaviour did not
                         * return */
    uint64_t held_up;    /* times that a worker's thread had no CPU for most of stall_after_ns */
    uint64_t held_up_ns; /* how long it waited for one then */
    uint64_t placed;     /* new actors that began on another worker because of the accepted stream
                          * that they were given (jzx_accept_mode) */
    uint32_t global_depth; /* actors that wait in the global queue now */
    uint32_t processes;    /* processes (jzx/process.h) that there are now */
} jzx_stats;

/* Takes one line of jzx_loop_dump. */
typedef void (*jzx_dump_fn)(void *ctx, const char *text);

/* One worker, its counters and how much waits on it. */
typedef struct jzx_worker_stats {
    size_t size; /* sizeof(jzx_worker_stats): set by the caller before the call */
    uint64_t turns;
    uint64_t handled;
    uint64_t injected;
    uint64_t submitted;
    uint64_t parked;
    uint64_t woken;
    uint64_t crossed;
    uint64_t published;
    uint64_t reclaimed;
    uint64_t stolen; /* by this worker */
    uint64_t explored;
    uint64_t gathered; /* away from this worker */
    uint64_t followed; /* likewise */
    uint64_t stalls;
    uint64_t handovers;
    uint64_t held_up;
    uint64_t held_up_ns;
    uint32_t ready_depth;  /* actors that wait for their turn, as of its last tick */
    uint32_t public_depth; /* actors that others may take */
    bool is_parked;
    jzx_actor_id running; /* in its turn now, or JZX_NOBODY */
    uint64_t placed;      /* away from this worker */
} jzx_worker_stats;

JZX_BEGIN_C

/* Copies *observer (NULL: none from now on). Only while the loop does not run, or, with one worker,
 * on the thread that drives it. JZX_ERR_INVALID_ARG (NULL loop, wrong size), JZX_ERR_BUSY. */
JZX_API jzx_err jzx_loop_set_observer(jzx_loop *loop, const jzx_observer *observer, void *ctx);

/* Fills *stats. Any thread; while senders are at work the figures are of slightly different
 * moments. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_loop_stats(const jzx_loop *loop, jzx_stats *stats);

/* Likewise for one worker, 0 <= worker < jzx_loop_workers(). */
JZX_API jzx_err jzx_loop_worker_stats(const jzx_loop *loop, uint32_t worker,
                                      jzx_worker_stats *stats);

/* Writes a snapshot for people, line by line (as a line of jzx_log_sink; valid for the call): the
 * books, each worker with what it runs and how much waits there, turns that go on without a worker
 * (see JZX_EVENT_STALL), the supervision trees with the states and restarts of the children, the
 * actors with most mail that they have not taken in yet, the first processes with their states and,
 * as far as they are known, steps, start and parent. Takes time bounded by max_actors at any
 * load, and stops nobody. Any thread, also while the loop runs. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_loop_dump(const jzx_loop *loop, jzx_dump_fn line, void *ctx);

JZX_END_C

#endif
