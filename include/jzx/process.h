/* SPDX-License-Identifier: MIT */
/* Processes: actors that are stepped, and do what takes time by commands.
 *
 * A process is a state machine with three functions. init is called once, with a method (which of
 * its entry points is meant) and an input. step is called with the events that have come since the
 * last step, and says what is next; it may **yield commands**, each under a tag of its choice:
 *
 *     static jzx_err fetch_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
 *                               jzx_step_out *out) {
 *         struct fetch *self = ctx->state;
 *         if (!self->has_begun) {
 *             self->has_begun = true;
 *             jzx_out_yield(out, 1, GET, &self->urls[0], sizeof self->urls[0]);
 *             jzx_out_yield(out, 2, GET, &self->urls[1], sizeof self->urls[1]);
 *         }
 *         for (size_t i = 0; i < count; i++)
 *             if (events[i].kind == JZX_PROCESS_YIELD_COMPLETE)
 *                 self->sizes[events[i].tag - 1] = events[i].len, self->done++;
 *         return self->done < 2 ? JZX_OK : jzx_out_done(out, self->sizes, sizeof self->sizes);
 *     }
 *
 * After the step each command goes to the handler that is registered for it, with the loop. The
 * handler completes it, at once or later and on any thread, and the process is stepped with an
 * event that has the tag. Any number of commands may be outstanding, and they complete in any
 * order. close is called once at the end, whatever the end is. So a process waits for many things
 * at once, holds no stack while it does, and never shares its state with anybody.
 *
 * A process is an actor: it has an id and a mailbox (what is sent to it are events as well), can be
 * linked, monitored, named, supervised and stopped, and moves between workers. It is made by
 * jzx_spawn, or jzx_spawn_wait, which returns the error of its init:
 *
 *     static const jzx_process_ops fetch =
 *         JZX_PROCESS_OPS(.init = fetch_init, .step = fetch_step, .close = fetch_close);
 *     jzx_spawn(loop, &JZX_SPAWN_OPTS(.process = &fetch, .method = "both", .input = urls,
 *                                     .input_len = sizeof urls), &id);
 *
 * It always sees its stop coming (trap_stop of jzx_spawn_opts): a stop is an event
 * JZX_PROCESS_CANCEL, and the process is killed at the deadline that comes with it. init and
 * cleanup of the spawn options are not for processes. See docs/processes.md. */
#ifndef JZX_PROCESS_H
#define JZX_PROCESS_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/exit.h"
#include "jzx/future.h"
#include "jzx/id.h"
#include "jzx/message.h"
#include "jzx/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Events that one step gets at most; more come in the next. */
#define JZX_PROCESS_EVENTS_MAX 16u

typedef enum jzx_process_event_kind {
    JZX_PROCESS_YIELD_COMPLETE = 1, /* a command has completed: tag, error, data */
    JZX_PROCESS_MESSAGE = 2,        /* a message; tag is that of the message, as message.tag. Also
                                     * those of the runtime: JZX_TAG_DOWN, JZX_TAG_EXIT, ... */
    JZX_PROCESS_CANCEL = 3          /* it is to stop: data is a jzx_stop_notice (jzx/exit.h) */
} jzx_process_event_kind;

/* What has happened. Valid during the step only, as what it points to. data is aligned for any
 * type, and not NULL but for a completion without data. */
typedef struct jzx_process_event {
    jzx_process_event_kind kind;
    jzx_err error; /* of a command; else JZX_OK */
    uint64_t tag;
    void *data;
    size_t len;
    jzx_message message; /* MESSAGE, CANCEL: for jzx_reply and its like, see jzx_event_open */
} jzx_process_event;

/* Where a step writes what is next. Valid during the step only. */
typedef struct jzx_step_out jzx_step_out;

/* The code of a process: static data, initialised by JZX_PROCESS_OPS. */
typedef struct jzx_process_ops {
    size_t size;
    /* Sets up ctx->state. method is "" and input is NULL if the spawn gave none; both are borrowed
     * for the call. Anything but JZX_OK (JZX_ERR_UNKNOWN_METHOD, say) ends the process, with
     * JZX_EXIT_FAIL. May be NULL. */
    jzx_err (*init)(jzx_context *ctx, const char *method, const void *input, size_t len);
    /* Handles events. The first step follows the init, with the messages that have come by then, or
     * without events: keep in the state that the process has begun, count does not tell. Anything
     * but JZX_OK ends the process, with JZX_EXIT_FAIL. Never waits. */
    jzx_err (*step)(jzx_context *ctx, const jzx_process_event *events, size_t count,
                    jzx_step_out *out);
    /* Releases what ctx->state holds. Called once for each process that was spawned, whatever
     * becomes of it, also if its init failed or never ran. The id is stale by then. May be NULL. */
    void (*close)(jzx_context *ctx);
} jzx_process_ops;

/* static const jzx_process_ops fetch = JZX_PROCESS_OPS(.init = fetch_init, .step = fetch_step); */
#define JZX_PROCESS_OPS(...)                                                                       \
    { .size = sizeof(jzx_process_ops), __VA_ARGS__ }

JZX_BEGIN_C

/* ---- what a step says; only inside it ----
 *
 * A step that says nothing waits: for its commands if it has some outstanding, and for messages.
 * The last call of the five that follow counts. */

/* Step again, when others had their turn, with or without events. */
JZX_API void jzx_out_continue(jzx_step_out *out);

/* Wait for messages; and for commands. Both are woken by either: they differ in what
 * jzx_process_next shows, idle or blocked. */
JZX_API void jzx_out_idle(jzx_step_out *out);
JZX_API void jzx_out_wait(jzx_step_out *out);

/* End, with reason JZX_EXIT_NORMAL and a copy of that as the result, which goes to jzx_process_exec
 * and its like. What the step has yielded is not dispatched; what is outstanding is cancelled.
 * JZX_ERR_NO_MEMORY, JZX_ERR_INVALID_ARG: the status is as it was. */
JZX_API jzx_err jzx_out_done(jzx_step_out *out, const void *result, size_t len);

/* Go on with other code: close of this code is called, then init of the other one with a copy of
 * that input. Id, mailbox, links, monitors, names and groups stay. Commands that are outstanding
 * are cancelled and their events dropped (of sockets and files: see jzx/process_io.h); those of
 * this step are dispatched, for the new code. If the new init fails the process ends, with
 * JZX_EXIT_FAIL. Errors as jzx_out_done. */
JZX_API jzx_err jzx_out_upgrade(jzx_step_out *out, const jzx_process_ops *ops, const char *method,
                                const void *input, size_t len);

/* Yields a command: after the step, unless that is done or fails, its handler is called with a copy
 * of len bytes of argument, and one event JZX_PROCESS_YIELD_COMPLETE comes with that tag. Tags are
 * the process's own; they need not be unique. Two commands with short arguments need no memory; of
 * others JZX_ERR_NO_MEMORY. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_out_yield(jzx_step_out *out, uint64_t tag, uint16_t command, const void *arg,
                              size_t len);

/* In a step: the event's message becomes the one that is being handled, for jzx_reply,
 * jzx_ask_from, jzx_ask_ref, jzx_msg_take and jzx_stash, which take &event->message, and for
 * jzx_schedule_batch. The first event is open when the step begins. JZX_ERR_INVALID_ARG: it is none
 * of this step, or was taken. */
JZX_API jzx_err jzx_event_open(jzx_context *ctx, const jzx_process_event *event);

/* ---- commands ----
 *
 * Each loop has a registry of handlers, by a number. Those below JZX_COMMAND_CUSTOM belong to the
 * library: 1 to 9 are about actors, 10 to 29 about time, 30 to 39 about sockets and 40 to 49 about
 * files (jzx/process_io.h). */

enum {
    JZX_COMMAND_SEND = 1,      /* jzx_out_send */
    JZX_COMMAND_SPAWN = 2,     /* jzx_command_spawn -> jzx_spawned */
    JZX_COMMAND_TERMINATE = 3, /* jzx_actor_id: killed */
    JZX_COMMAND_CANCEL = 4,    /* jzx_command_cancel: asked to stop */
    JZX_COMMAND_MONITOR = 5,   /* jzx_actor_id -> jzx_monitor_ref; JZX_ERR_EXISTS the second time */
    JZX_COMMAND_UNMONITOR = 6, /* jzx_actor_id; JZX_OK also if it was not monitored */
    JZX_COMMAND_LINK = 7,      /* jzx_actor_id, both */
    JZX_COMMAND_UNLINK = 8,
    JZX_COMMAND_EXEC = 9,   /* jzx_command_spawn -> the result of the process that it spawns */
    JZX_COMMAND_SLEEP = 10, /* uint64_t: until that time of the loop */
    JZX_COMMAND_NOW = 11,   /* -> uint64_t: the time of the loop */
    JZX_COMMAND_SOCKET_FIRST = 30, /* jzx/process_io.h, as the next */
    JZX_COMMAND_FILE_FIRST = 40,
    JZX_COMMAND_CUSTOM = 256 /* from here on: the program's */
};

/* Arguments. The options, and all that they point to, are used after the step has returned and
 * before any other code of the process runs: they may be part of its state, but not of the step's
 * frame. Of EXEC linked and monitored are ignored. */
typedef struct jzx_command_spawn {
    const jzx_spawn_opts *opts;
    bool linked;
    bool monitored;
} jzx_command_spawn;

typedef struct jzx_spawned {
    jzx_actor_id id;
    jzx_monitor_ref monitor; /* JZX_NO_MONITOR without one */
} jzx_spawned;

typedef struct jzx_command_cancel {
    jzx_actor_id id;
    uint64_t deadline_ns;
    char text[JZX_EXIT_TEXT_MAX + 1];
} jzx_command_cancel;

/* Yields JZX_COMMAND_SEND: the message is copied now, and sent after the step. */
JZX_API jzx_err jzx_out_send(jzx_step_out *out, uint64_t tag, jzx_actor_id to, const void *data,
                             size_t len, uint32_t message_tag);

/* What a handler gets. process and ref may be kept for jzx_command_complete; the rest is valid for
 * the call. */
typedef struct jzx_command {
    jzx_actor_id process;
    jzx_op ref;
    uint64_t tag;
    const void *arg; /* aligned for any type */
    size_t len;
    uint16_t id;
} jzx_command;

/* Begins what the command asks for. Called in the turn of the process, after its step, with its
 * context: it must not wait. It completes the command, here or later; or it returns an error, which
 * completes it. */
typedef jzx_err (*jzx_command_fn)(jzx_context *ctx, const jzx_command *command, void *data);

/* Nobody waits for the command any more, because its process has ended or was upgraded, or by
 * jzx_op_cancel: it has completed with JZX_ERR_CANCELLED, and completing it is in vain. Any thread,
 * perhaps during the handler; must not block. */
typedef void (*jzx_command_cancel_fn)(jzx_loop *loop, jzx_op ref, void *data);

typedef struct jzx_command_handler {
    jzx_command_fn handle;
    jzx_command_cancel_fn cancel; /* may be NULL */
    void *data;                   /* for both */
} jzx_command_handler;

/* Registers a handler, which is copied. Handlers are never removed. JZX_ERR_INVALID_ARG;
 * JZX_ERR_EXISTS: the number has one; JZX_ERR_INVALID_STATE: the registry is frozen;
 * JZX_ERR_NO_MEMORY. Any thread. */
JZX_API jzx_err jzx_command_register(jzx_loop *loop, uint16_t command,
                                     const jzx_command_handler *handler);

/* From now on no handler can be registered, and look-ups take no lock. May be called again. Any
 * thread. */
JZX_API jzx_err jzx_commands_freeze(jzx_loop *loop);

/* Whether a number has a handler, and which. handler may be NULL. Any thread. */
JZX_API bool jzx_command_get(jzx_loop *loop, uint16_t command, jzx_command_handler *handler);

/* Completes a command: its process gets an event with a copy of len bytes, and err. Once:
 * JZX_ERR_NO_SUCH_OP if it is complete or was cancelled, or its process has ended. Needs no memory
 * for up to JZX_COMMAND_INLINE bytes; beyond that, JZX_ERR_NO_MEMORY completes it with that error.
 * JZX_ERR_INVALID_ARG. Any thread; never blocks. */
#define JZX_COMMAND_INLINE 32u
JZX_API jzx_err jzx_command_complete(jzx_loop *loop, jzx_actor_id process, jzx_op ref,
                                     const void *data, size_t len, jzx_err err);

/* ---- exec: spawn, and wait for the result ----
 *
 * opts are those of a process. result has room for *len bytes, and *len becomes the length of the
 * result; both may be NULL. JZX_ERR_FULL: the result has no room, and is lost. If the process
 * ends without one: the error of its init or its step; JZX_ERR_TERMINATED if it was killed,
 * JZX_ERR_CANCELLED if it was stopped, else JZX_ERR_FAILED. A process whose result nobody waits for
 * any more, because the deadline has passed or the waiting actor ends, is killed. And the errors of
 * jzx_spawn, when *len is untouched. */

/* In a fiber; elsewhere JZX_ERR_WOULD_SUSPEND. JZX_ERR_TIMEOUT. */
JZX_API jzx_err jzx_process_exec(jzx_context *ctx, const jzx_spawn_opts *opts, uint64_t deadline_ns,
                                 void *result, size_t *len);

/* For actors of any kind: the result comes as a message with that tag (see jzx/op.h), with up to
 * capacity bytes of data. */
JZX_API jzx_err jzx_process_exec_to(jzx_context *ctx, const jzx_spawn_opts *opts, size_t capacity,
                                    uint32_t tag, jzx_op *op);

/* On a thread that is no worker; on one JZX_ERR_WOULD_SUSPEND. JZX_ERR_TIMEOUT,
 * JZX_ERR_LOOP_CLOSED. */
JZX_API jzx_err jzx_process_exec_wait(jzx_loop *loop, const jzx_spawn_opts *opts,
                                      uint64_t deadline_ns, void *result, size_t *len);

/* ---- the processes of a loop ---- */

typedef enum jzx_process_state {
    JZX_PROCESS_READY = 0,   /* waits for its turn */
    JZX_PROCESS_RUNNING = 1, /* in a step */
    JZX_PROCESS_BLOCKED = 2, /* waits for commands */
    JZX_PROCESS_IDLE = 3,    /* waits for messages */
    JZX_PROCESS_COMPLETE = 4 /* has ended, and is in its close */
} jzx_process_state;

typedef struct jzx_process_info {
    size_t size; /* sizeof(jzx_process_info): set by the caller before the call */
    jzx_actor_id id;
    jzx_process_state state;
    jzx_actor_info actor; /* steps, started_ns and parent with jzx_spawn_opts.account */
} jzx_process_info;

/* Walks over the living processes, as jzx_actor_next does over actors. A process that calls it in
 * its close comes last, as complete; the others do not see that one any more. */
JZX_API jzx_err jzx_process_next(jzx_loop *loop, uint64_t *cursor, jzx_process_info *info);

/* "ready", "running", "blocked", "idle", "complete". */
JZX_API const char *jzx_process_state_name(jzx_process_state state);

JZX_END_C

#endif
