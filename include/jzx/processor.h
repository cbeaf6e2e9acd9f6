/* SPDX-License-Identifier: MIT */
/* The command processor: actors whose every interaction happens in one order that can be read,
 * compared and replayed. For logic that must be reproducible: games, simulations, workflows, user
 * interfaces.
 *
 *     struct counter { uint64_t value; jzx_processor_handle to; };
 *
 *     static jzx_err create(void *state, jzx_processor_handle self, const void *config,
 *                           size_t len) {
 *         struct counter *counter = state;
 *         memcpy(&counter->to, config, sizeof counter->to);       the root's: JZX_PROCESSOR_OUTPUT
 *         return JZX_OK;
 *     }
 *     static void handle(void *state, const jzx_action *msg, jzx_actions *out) {
 *         struct counter *counter = state;
 *         counter->value++;
 *         jzx_actions_send(out, counter->to, COUNT, &counter->value, sizeof counter->value);
 *     }
 *     static const jzx_actor_factory counter = JZX_ACTOR_FACTORY(
 *         .type = "counter", .state_size = sizeof(struct counter),
 *         .create = create, .handle = handle);
 *
 *     jzx_processor_create(loop, &JZX_PROCESSOR_OPTS(.root = &counter), &processor);
 *     jzx_processor_dispatch(processor, TICK, NULL, 0);
 *     jzx_processor_try_next(processor, &output);                 COUNT, 1
 *
 * **Actors** of a processor have **handles**, not ids. They act on nothing themselves: they return
 * **actions**, in a list that they are handed, and the processor carries these out as commands,
 * first in, first out. So the children of a fan-out run breadth first.
 *
 * **One queue.** All commands stand in one queue. An *input* comes from outside: a dispatch, or the
 * actions of an async actor. Its commands go behind the commands that are queued at that moment, as
 * the actions of a handler and its dispatches do. Three inputs 1, 2, 3 wait together; 1 leads to 10
 * and 11, and 2 leads to 20. The order is 1 2 3 10 11 20.
 *
 * **Ticks.** A tick begins with an input at an empty queue and ends when the queue is empty. An
 * async actor is never heard in the tick that has sent to it or spawned it: its input waits for the
 * end of that tick, and so do the inputs behind it. The *place* of an input is the number of
 * commands of its tick that came before it. The trace is a function of the sequence of inputs and
 * their places; a recording has both, and its replay gives the same trace.
 *
 * With opts.tick_per_input each input begins a tick of its own: 1 10 11 2 20 3. Then the trace is a
 * function of the sequence of inputs alone, and does not depend on the moment at which one arrives.
 * Take that if several threads dispatch, or async actors answer, and traces are compared.
 *
 * **Threads.** The thread whose dispatch finds the processor idle carries commands out until
 * nothing is left; others only append their input and return. Handlers therefore never run at the
 * same time, nor inside one another, but may run on any thread that dispatches.
 *
 * **Sync actors** have a `handle` function, which is called inside the tick. **Async actors** have
 * a `run` function, a fiber on the workers of the loop: it takes messages out of its inbox, may
 * wait (jzx/fiber.h), and gives actions back, which come in a later tick. A processor with sync
 * actors alone needs no running loop.
 *
 * All calls may come from any thread unless their comments say otherwise. None blocks or suspends
 * but jzx_inbox_next, jzx_processor_next and jzx_processor_next_wait. A handler must not wait.
 * docs/processor.md has pictures. */
#ifndef JZX_PROCESSOR_H
#define JZX_PROCESSOR_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/future.h"
#include "jzx/loop.h"
#include "jzx/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct jzx_processor jzx_processor;

/* ---- actions ---- */

/* The address of an actor in its processor. Plain data, never used again by its processor. */
typedef uint64_t jzx_processor_handle;

#define JZX_PROCESSOR_INPUT ((jzx_processor_handle)0)  /* the root actor: dispatches go there */
#define JZX_PROCESSOR_OUTPUT ((jzx_processor_handle)1) /* no actor: what is sent there is output */
#define JZX_PROCESSOR_INTERNAL ((jzx_processor_handle)2) /* no actor: the source of dispatches */
#define JZX_PROCESSOR_FIRST_HANDLE ((jzx_processor_handle)3) /* all others are counted from here */
#define JZX_PROCESSOR_NO_HANDLE UINT64_MAX

typedef enum jzx_action_kind {
    JZX_ACTION_SEND = 1,
    JZX_ACTION_SPAWN = 2,
    JZX_ACTION_KILL = 3,
    JZX_ACTION_FAIL = 4,     /* a kill with an error, for the trace */
    JZX_ACTION_TERMINATE = 5 /* made by the processor when its last actor is gone */
} jzx_action_kind;

typedef struct jzx_actor_factory jzx_actor_factory;

/* What an actor wants done, and, with its source, the command that does it. A handler gets the Send
 * that it is called for; middleware gets any. Valid during the call only. */
typedef struct jzx_action {
    jzx_action_kind kind;
    jzx_err error;               /* FAIL */
    jzx_processor_handle source; /* the actor that wants it; INTERNAL: a dispatch; NONE: nobody */
    jzx_processor_handle target;
    uint32_t tag;     /* SEND: the type of the message */
    uint32_t len;     /* of data */
    const void *data; /* SEND: the message. SPAWN: the config. Aligned for any type */
    const jzx_actor_factory *factory; /* SPAWN; NULL: of a handle that is not reserved */
} jzx_action;

/* Where a handler puts its actions: an empty list means none. Valid during the call only. */
typedef struct jzx_actions jzx_actions;

/* The inbox of an async actor, and its way back. */
typedef struct jzx_inbox jzx_inbox;

/* ---- actors ---- */

/* How actors of a type are made. Static data of the program: it must stay where it is until the
 * processor is destroyed. */
struct jzx_actor_factory {
    size_t size;       /* sizeof(jzx_actor_factory) */
    const char *type;  /* its name in traces; at most JZX_NAME_MAX bytes */
    size_t state_size; /* of the state: zeroed, aligned for any type; NULL if this is 0 */

    /* When the Spawn is carried out. Anything but JZX_OK: there is no actor, and the trace says
     * why; destroy is not called then. May be NULL. */
    jzx_err (*create)(void *state, jzx_processor_handle self, const void *config, size_t len);
    /* After create: the first actions of the actor. May be NULL. */
    void (*init)(void *state, jzx_actions *out);
    /* A sync actor: called for each message. This or run. */
    void (*handle)(void *state, const jzx_action *msg, jzx_actions *out);
    /* An async actor: the code of a fiber, which begins when the Spawn is carried out. Its end is
     * a Kill of the actor. ctx->state is not its own. */
    void (*run)(jzx_context *ctx, void *state, jzx_inbox *inbox);
    /* Once, when the actor is gone, and its fiber has ended. May be NULL. */
    void (*destroy)(void *state);
    uint32_t stack_size_bytes; /* of run; 0: JZX_DEFAULT_STACK_SIZE */
    uint64_t reserved[3];      /* 0 */
};

/* static const jzx_actor_factory f = JZX_ACTOR_FACTORY(.type = "f", .handle = handle); */
#define JZX_ACTOR_FACTORY(...)                                                                     \
    { .size = sizeof(jzx_actor_factory), __VA_ARGS__ }

/* A factory and what its actor is made with. */
typedef struct jzx_stage {
    const jzx_actor_factory *factory;
    const void *config; /* copied */
    size_t config_len;
} jzx_stage;

/* The three arguments, or three fields, for an array: of stages, or of what jzx/test.h takes. */
#define JZX_STAGES(array) (array), sizeof(array) / sizeof((array)[0]), sizeof((array)[0])

JZX_BEGIN_C

/* The calls below add to a list and copy what they are given. JZX_ERR_NO_MEMORY: nothing was added,
 * and the actor is failed with that error after its handler, the list is dropped: half a result is
 * none. JZX_ERR_INVALID_ARG (NULL, data NULL with a len, a len above JZX_MSG_LEN_MAX, a tag of the
 * runtime). */

/* A message. One to an actor that is gone when it would be delivered is dropped. */
JZX_API jzx_err jzx_actions_send(jzx_actions *out, jzx_processor_handle to, uint32_t tag,
                                 const void *data, size_t len);

/* Reserves a handle for an actor: it can be sent to, and be put into messages, from now on, and the
 * actor exists when the Spawn of it has been carried out. A reservation ends with the actor that
 * made it. JZX_ERR_INVALID_STATE in async actors, which cannot spawn. */
JZX_API jzx_err jzx_actions_reserve(jzx_actions *out, const jzx_actor_factory *factory,
                                    const void *config, size_t len, jzx_processor_handle *handle);

/* Spawns what was reserved. Of a handle that is not reserved, or exists, it is dropped. */
JZX_API jzx_err jzx_actions_spawn(jzx_actions *out, jzx_processor_handle handle);

/* Both. */
JZX_API jzx_err jzx_actions_spawn_new(jzx_actions *out, const jzx_actor_factory *factory,
                                      const void *config, size_t len, jzx_processor_handle *handle);

/* Removes an actor: what is sent to it later is dropped, and so are Sends of its own that were not
 * carried out yet. An async actor's fiber is killed. An unknown handle is dropped. */
JZX_API jzx_err jzx_actions_kill(jzx_actions *out, jzx_processor_handle handle);

/* The same with an error, which the trace shows. No other actor is told. */
JZX_API jzx_err jzx_actions_fail(jzx_actions *out, jzx_processor_handle handle, jzx_err error);

/* For middleware: lets a command go on to the next stage at once, before anything else. The command
 * is the one that it got, or one of its own making. JZX_ERR_INVALID_STATE elsewhere. */
JZX_API jzx_err jzx_actions_pass(jzx_actions *out, const jzx_action *command);

/* Who is called. */
JZX_API jzx_processor_handle jzx_actions_self(const jzx_actions *out);
JZX_API jzx_processor *jzx_actions_processor(const jzx_actions *out);

/* ---- async actors: in their own fiber ---- */

/* Gives the actions of the list back (jzx_inbox_flush), then waits for the next message, which
 * stays valid until the next call. JZX_ERR_TIMEOUT; JZX_ERR_CLOSED: the actor was removed;
 * JZX_ERR_CANCELLED: the loop stops; JZX_ERR_NO_MEMORY: the actions are still in the list;
 * JZX_ERR_WOULD_SUSPEND, JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_inbox_next(jzx_context *ctx, jzx_inbox *inbox, uint64_t deadline_ns,
                               const jzx_action **msg);

/* The list of the actor, for the calls above; a list that could not take something is refused by
 * the next flush with JZX_ERR_NO_MEMORY, which empties it. */
JZX_API jzx_actions *jzx_inbox_actions(jzx_inbox *inbox);

/* Gives the actions back as one input, which this thread carries out if the processor is idle. An
 * empty list is none. JZX_ERR_CLOSED: the actor was removed, and the list is dropped;
 * JZX_ERR_NO_MEMORY: it is still there, to be tried again. */
JZX_API jzx_err jzx_inbox_flush(jzx_inbox *inbox);

/* ---- middleware ----
 *
 * A chain of actors which see each command of the other ones before it is carried out: as a message
 * with this tag, whose data is a jzx_action. What they pass goes to the next stage, and after the
 * last one it is carried out; what they do not pass is blocked. So a stage may log, change a
 * command, add some, hold one back (a Terminate, say) and pass it later, or replace the factory of
 * a Spawn, found by its type. Stages may be sync or async; async ones cannot replace a factory.
 * A stage, and every actor that descends from it, is *internal*: its own actions go past the chain,
 * and it does not keep the processor from terminating. */
#define JZX_TAG_COMMAND 0xFFFF0050u

/* ---- the processor ---- */

typedef enum jzx_phase {
    JZX_PHASE_IDLE = 0,   /* nothing to do: there is no queue */
    JZX_PHASE_QUEUED = 1, /* inputs wait, and nobody carries them out: jzx_processor_enqueue */
    JZX_PHASE_BUSY = 2    /* a thread carries commands out */
} jzx_phase;

typedef struct jzx_processor_opts {
    size_t size;                   /* sizeof(jzx_processor_opts) */
    const jzx_actor_factory *root; /* required: the actor at JZX_PROCESSOR_INPUT */
    const void *config; /* of the root; NULL: the jzx_processor_handle JZX_PROCESSOR_OUTPUT */
    size_t config_len;
    const jzx_stage *middleware; /* left to right; these three: JZX_STAGES */
    size_t middleware_count;     /* at most JZX_MIDDLEWARE_MAX */
    size_t middleware_size;
    bool trace : 1;          /* keep a trace */
    bool record : 1;         /* record the inputs */
    bool replay : 1;         /* async actors are not run: their actions come from a recording */
    bool tick_per_input : 1; /* an input waits until the queue is empty: Ticks, above */
    uint64_t reserved[4];    /* 0 */
} jzx_processor_opts;

#define JZX_MIDDLEWARE_MAX 16u

/* Options in place, in C: &JZX_PROCESSOR_OPTS(.root = &counter). */
#define JZX_PROCESSOR_OPTS(...)                                                                    \
    ((jzx_processor_opts){.size = sizeof(jzx_processor_opts), __VA_ARGS__})

/* Makes one and spawns its middleware and its root actor, which is the first tick. The loop runs
 * its async actors, and gives it its memory and its time. JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY,
 * and what the create of the root or of a stage came to: then there is no processor. */
JZX_API JZX_MUST_USE jzx_err jzx_processor_create(jzx_loop *loop, const jzx_processor_opts *opts,
                                                  jzx_processor **processor);

/* Removes all actors and frees it; fibers of async actors end as their loop runs. Also after the
 * end of the loop. JZX_ERR_BUSY, and nothing happens, while a thread carries commands out or
 * somebody waits for output: see jzx_processor_terminate. NULL is fine. No other call may come
 * during or after it, but those of its own async actors. */
JZX_API jzx_err jzx_processor_destroy(jzx_processor *processor);

/* Sends a copy to the root actor, and carries out what follows, unless another thread does already.
 * JZX_ERR_CLOSED, and nothing happens: the processor has terminated. JZX_ERR_NO_MEMORY: nothing
 * happened, or, if jzx_processor_stats.lost has grown, this thread could not carry a command out.
 * JZX_ERR_FAILED: a handler did not return (a contained fault). JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_processor_dispatch(jzx_processor *processor, uint32_t tag, const void *data,
                                       size_t len);

/* The two halves of a dispatch. process returns at once unless inputs wait and no thread carries
 * them out. */
JZX_API jzx_err jzx_processor_enqueue(jzx_processor *processor, uint32_t tag, const void *data,
                                      size_t len);
JZX_API jzx_err jzx_processor_process(jzx_processor *processor);

/* A Kill from outside, as a dispatch. */
JZX_API jzx_err jzx_processor_kill(jzx_processor *processor, jzx_processor_handle handle);

/* A Terminate from outside: removes all actors and closes the output, when it has gone through the
 * middleware. Errors as for a dispatch. */
JZX_API jzx_err jzx_processor_terminate(jzx_processor *processor);

JZX_API jzx_phase jzx_processor_phase(jzx_processor *processor);

typedef enum jzx_registered {
    JZX_REGISTERED_NONE = 0, /* there is no such actor */
    JZX_REGISTERED_RESERVED = 1,
    JZX_REGISTERED_SYNC = 2,
    JZX_REGISTERED_ASYNC = 3
} jzx_registered;

/* What a handle stands for. By a handler, or while the processor is not busy; else NONE. */
JZX_API jzx_registered jzx_processor_lookup(jzx_processor *processor, jzx_processor_handle handle);

typedef struct jzx_processor_stats {
    size_t size;       /* sizeof(jzx_processor_stats): set by the caller */
    uint64_t ticks;    /* that have ended, the one of the first spawn included */
    uint64_t commands; /* that were taken out of the queue */
    uint64_t dropped;  /* of them: the target or the source was gone */
    uint64_t lost;     /* of them: there was no memory to carry them out */
    uint64_t actors;   /* now, internal ones and reservations not counted */
    uint64_t waiting;  /* inputs that wait */
} jzx_processor_stats;

/* As of the last tick that has ended. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_processor_stats_get(jzx_processor *processor, jzx_processor_stats *stats);

/* ---- output: in the order in which it was sent, each to one reader ----
 *
 * JZX_ERR_CLOSED: the processor has terminated, and all was read. The output is the caller's to
 * free. A wait that returns an error has taken nothing. */

typedef struct jzx_output {
    jzx_processor_handle source;
    uint32_t tag;
    uint32_t len;
    void *data; /* aligned for any type; part of the block */
} jzx_output;

/* NULL is fine. Also after the end of the processor and of its loop. */
JZX_API void jzx_output_free(jzx_output *output);

/* Suspends the calling fiber. JZX_ERR_TIMEOUT, JZX_ERR_CANCELLED, JZX_ERR_WOULD_SUSPEND,
 * JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_processor_next(jzx_context *ctx, jzx_processor *processor, uint64_t deadline_ns,
                                   jzx_output **output);

/* As a message to the calling actor; jzx_processor_output_of takes the output out of it. It can be
 * cancelled (jzx_op_cancel). op may be NULL. Errors of jzx_future_to. */
JZX_API jzx_err jzx_processor_next_to(jzx_context *ctx, jzx_processor *processor, uint32_t tag,
                                      jzx_op *op);

/* The output of such a message, once; NULL if its result is an error, or it was taken. What is not
 * taken is freed with the message. */
JZX_API jzx_output *jzx_processor_output_of(const jzx_message *msg);

/* As a future, whose value is the output: jzx_future_take makes it the caller's. Not after the end
 * of the loop. JZX_ERR_INVALID_ARG, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_processor_next_async(jzx_processor *processor, jzx_future **future);

/* Blocks a thread that is no worker. */
JZX_API jzx_err jzx_processor_next_wait(jzx_processor *processor, uint64_t deadline_ns,
                                        jzx_output **output);

/* JZX_ERR_TIMEOUT: there is none now. */
JZX_API jzx_err jzx_processor_try_next(jzx_processor *processor, jzx_output **output);

typedef enum jzx_output_state {
    JZX_OUTPUT_AWAITS_READERS = 0, /* open, and nobody waits */
    JZX_OUTPUT_AWAITS_VALUES = 1,  /* open, and somebody waits */
    JZX_OUTPUT_DRAINING = 2,       /* closed, and some is left */
    JZX_OUTPUT_COMPLETED = 3       /* closed, and all was read */
} jzx_output_state;

JZX_API jzx_output_state jzx_processor_output_state(jzx_processor *processor);

/* ---- trace ---- */

typedef enum jzx_outcome {
    JZX_OUTCOME_DONE = 0,
    JZX_OUTCOME_DROPPED = 1,  /* its target or its source was gone */
    JZX_OUTCOME_BLOCKED = 2,  /* a stage of the middleware did not pass it */
    JZX_OUTCOME_DEFERRED = 3, /* an async stage has it */
    JZX_OUTCOME_FAILED = 4    /* it could not be carried out: error says why */
} jzx_outcome;

typedef struct jzx_trace_step {
    jzx_action action;
    jzx_outcome outcome;
    uint64_t tick; /* in which it was carried out, from 0 */
} jzx_trace_step;

/* Steps in their order. */
typedef struct jzx_trace {
    const jzx_trace_step *steps;
    size_t count;
    bool is_cut; /* there was no memory for later steps */
} jzx_trace;

/* The trace so far, valid until the processor is used again. JZX_ERR_INVALID_STATE without
 * opts.trace, JZX_ERR_BUSY while a thread carries commands out, JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_processor_trace(jzx_processor *processor, jzx_trace *trace);

/* "1: Send internal -> input tag 7 [01 00]": the tick, the command, its data; behind that
 * " (dropped)" and the like if it was not carried out. One line, or a line for each step, cut to
 * size and ended with a 0 byte if size is not 0. Returns the length without a cut. */
JZX_API size_t jzx_trace_print(const jzx_trace *trace, char *text, size_t size);
JZX_API size_t jzx_trace_step_print(const jzx_trace_step *step, char *text, size_t size);

/* The index of the first step that differs, in any respect; SIZE_MAX if there is none. Factories
 * are compared by their types. */
JZX_API size_t jzx_trace_difference(const jzx_trace *a, const jzx_trace *b);

/* ---- recording and replay ---- */

/* The inputs that a processor has got and their places, as bytes: the same on every machine, for
 * files. Their first bytes are a version; another version is not well-formed. */
typedef struct jzx_recording {
    const void *data;
    size_t len;
} jzx_recording;

/* What was recorded so far, valid until the processor is used again. Errors as for a trace. */
JZX_API jzx_err jzx_processor_recording(jzx_processor *processor, jzx_recording *recording);

/* How many inputs it has. 0 if it is not well-formed. */
JZX_API size_t jzx_recording_count(const jzx_recording *recording);

/* Its first so many inputs: the same memory. All of it if there are fewer. */
JZX_API jzx_recording jzx_recording_cut(const jzx_recording *recording, size_t count);

/* Gives the inputs to a processor, each at its place, and returns when all were carried out. The
 * processor was made with the same factories and configs as the one that was recorded, and with
 * opts.replay if that had async actors; then the traces of both are the same, byte for byte, if
 * handlers depend on nothing but their state and their messages. The places are those of the
 * recording, whatever opts.tick_per_input says. An input whose place is not reached, because
 * handlers do less than they did, begins a tick. Other inputs, of
 * before or of other threads, go first.
 *
 * JZX_ERR_INVALID_ARG: it is not well-formed, and nothing happened; JZX_ERR_BUSY, and nothing
 * happened: a thread carries commands out; JZX_ERR_NO_MEMORY: what follows was left out. Else as
 * jzx_processor_dispatch. */
JZX_API jzx_err jzx_processor_replay(jzx_processor *processor, const jzx_recording *recording);

/* ---- actors that most programs need ----
 *
 * Factories with the configs below, each of which begins with the handle that it sends to. The
 * functions are called in ticks, so what they depend on is in their messages or in arg; the
 * messages that they return are copied at once. sender is not used. */

/* Sends what fn makes of each message. */
typedef jzx_message (*jzx_map_fn)(void *arg, const jzx_message *msg);
typedef struct jzx_map_config {
    jzx_processor_handle to;
    jzx_map_fn fn;
    void *arg;
} jzx_map_config;
extern JZX_API const jzx_actor_factory jzx_map_actor;

/* Sends on what fn says true for. */
typedef bool (*jzx_filter_fn)(void *arg, const jzx_message *msg);
typedef struct jzx_filter_config {
    jzx_processor_handle to;
    jzx_filter_fn fn;
    void *arg;
} jzx_filter_config;
extern JZX_API const jzx_actor_factory jzx_filter_actor;

/* fn sends any number, to `to`. */
typedef void (*jzx_flat_map_fn)(void *arg, const jzx_message *msg, jzx_processor_handle to,
                                jzx_actions *out);
typedef struct jzx_flat_map_config {
    jzx_processor_handle to;
    jzx_flat_map_fn fn;
    void *arg;
} jzx_flat_map_config;
extern JZX_API const jzx_actor_factory jzx_flat_map_actor;

/* As map, with memory: total has JZX_SCAN_SIZE bytes, zeroed at first. */
#define JZX_SCAN_SIZE 64u
typedef jzx_message (*jzx_scan_fn)(void *arg, void *total, const jzx_message *msg);
typedef struct jzx_scan_config {
    jzx_processor_handle to;
    jzx_scan_fn fn;
    void *arg;
} jzx_scan_config;
extern JZX_API const jzx_actor_factory jzx_scan_actor;

/* Sends each message to all; its config is an array of jzx_processor_handle, of at most so many. */
#define JZX_BROADCAST_TARGETS_MAX 63u
extern JZX_API const jzx_actor_factory jzx_broadcast_actor;

/* Spawns the stages so that each sends to the next one and the last to `to`; *head is the handle of
 * the first, and `to` itself without stages. The configs begin with a handle, which is set here. */
JZX_API jzx_err jzx_actions_flow(jzx_actions *out, const jzx_stage *stages, size_t count,
                                 size_t stage_size, jzx_processor_handle to,
                                 jzx_processor_handle *head);

/* Async: with its first message it starts something that has a future (an async function, a
 * promise that somebody else resolves), sends the value to `to` with `tag`, or an error (a jzx_err)
 * with `error_tag`, and kills itself. start returns NULL if it cannot: JZX_ERR_FAILED. */
typedef jzx_future *(*jzx_start_fn)(void *arg, jzx_loop *loop, const jzx_message *msg);
typedef struct jzx_future_config {
    jzx_processor_handle to;
    jzx_start_fn start;
    void *arg;
    uint32_t tag;
    uint32_t error_tag;
} jzx_future_config;
extern JZX_API const jzx_actor_factory jzx_future_actor;

/* Async: each message begins an iteration in a fiber of its own: fn is called with index 0, 1, ...
 * and may wait; what it makes of JZX_OK is sent to `to`. Any error ends the iteration. A new
 * message abandons the one that goes on: its fiber is killed, and nothing of it comes any more.
 * What fn needs between its calls is in scratch, JZX_SCAN_SIZE bytes, zeroed before index 0. */
typedef jzx_err (*jzx_iterate_fn)(jzx_context *ctx, void *arg, void *scratch,
                                  const jzx_message *msg, uint64_t index, jzx_message *item);
typedef struct jzx_iterator_config {
    jzx_processor_handle to;
    jzx_iterate_fn fn;
    void *arg;
} jzx_iterator_config;
extern JZX_API const jzx_actor_factory jzx_iterator_actor;

JZX_END_C

#endif
