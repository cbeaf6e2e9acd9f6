/* SPDX-License-Identifier: MIT */
/* Processes: the kind of actor that is stepped.
 *
 * The record of a process is made with its actor. A turn takes messages out of the mailbox, makes
 * events of them (the **batch**), and calls the step outside of the bracket; what the step has said
 * is in the record (the **out**), and its commands are dispatched there, before the bracket is
 * entered again. Then the owner **settles** the step: releases the batch, and requeues, idles or
 * ends the actor.
 *
 * A command is an operation (op/op.h) that anybody may complete by its id (op/O11), so that it
 * completes once, needs no memory for that, and cannot reach another process. Its message begins
 * with struct jzx__reply. An operation of sockets or files may take its place (proxy.h).
 *
 *   P1  the record belongs to the code of the process while that runs, and else to the owner of the
 *       actor. A thread that has lost its worker leaves a step that is over (has_stepped) to it.
 *   P2  the states of a process are not kept: jzx__process_state derives them from the task and
 *       from what it waits for.
 *   P3  events are the batch's until the step is settled; the one that is open is turn->current.
 *   P4  every command that was yielded by a step that did not end the process gives one event, in
 *       the same life and the same epoch: a completion, or, if it could not begin, an error that is
 *       kept in the out until the next step.
 *   P5  epoch goes on with each upgrade; completions of an earlier one are dropped, and its
 *       operations cancelled.
 *   P6  close is called once for each code whose init could have been called: at its upgrade, or in
 *       the cleanup of the actor. */
#ifndef JZX_PROCESS_PROCESS_H
#define JZX_PROCESS_PROCESS_H

#include "actor/kind.h"
#include "actor/message.h"
#include "actor/part.h"
#include "op/op.h"

#include "jzx/process.h"

/* Commands that a step may yield without memory, and the bytes of argument. */
#define JZX__YIELDS_INLINE 2u
#define JZX__ARG_INLINE 48u

struct jzx__yield {
    uint64_t tag;
    void *block; /* a longer argument, or NULL */
    uint32_t len;
    uint16_t command;
    jzx_err err; /* not JZX_OK: it could not begin (P4) */
    _Alignas(16) char bytes[JZX__ARG_INLINE];
};

enum jzx__status {
    JZX__STEP_DEFAULT,
    JZX__STEP_CONTINUE,
    JZX__STEP_IDLE,
    JZX__STEP_WAIT,
    JZX__STEP_DONE,
    JZX__STEP_UPGRADE
};

/* A result, or the input of other code; from the allocator. */
struct jzx__parcel {
    jzx_allocator allocator; /* it may outlive the loop */
    size_t len;
    _Alignas(16) char bytes[];
};

struct jzx_step_out {
    const jzx_allocator *allocator;
    enum jzx__status status;
    bool is_open; /* a step runs */
    uint32_t count;
    uint32_t more_cap;
    struct jzx__yield yields[JZX__YIELDS_INLINE];
    struct jzx__yield *more; /* those behind, or NULL */
    void *spare;             /* blocks for arguments, linked by their first word; see out.h */
    uint32_t spare_count;
    struct jzx__parcel *result;  /* DONE; or NULL */
    const jzx_process_ops *next; /* UPGRADE, as what follows */
    struct jzx__parcel *input;   /* its input, or NULL */
    struct jzx__parcel *method;  /* with its end */
};

/* Who waits for its result: an operation of another actor, or a promise, or nobody. */
struct jzx__result_to {
    jzx_op op; /* 0: none */
    bool is_command;
    jzx_promise *promise;
};

/* Its commands that an operation stands for: proxy.h. */
struct jzx__proxies {
    struct jzx__proxy *all; /* NULL: none yet */
    uint32_t cap;
    uint32_t free; /* index plus one of the first free entry, or 0 */
};

struct jzx__process {
    const jzx_process_ops *ops;
    struct jzx_loop *loop;
    struct jzx__parcel *input;  /* until the init is through; or NULL */
    struct jzx__parcel *method; /* likewise */
    uint32_t epoch;             /* P5 */
    uint32_t outstanding;       /* commands of this epoch */
    uint32_t batch_count;
    uint32_t opened;  /* the event whose message is turn->current; JZX__NO_EVENT: none */
    bool has_stepped; /* P1 */
    bool is_held_up;  /* has_stepped: its upgrade is the next turn's */
    bool is_due;      /* it is stepped with or without events */
    bool is_done;     /* it has said so */
    jzx_err err;      /* of the last init or step */
    struct jzx__result_to to;
    struct jzx__proxies proxies;
    struct jzx__message *batch[JZX_PROCESS_EVENTS_MAX];
    jzx_process_event events[JZX_PROCESS_EVENTS_MAX];
    struct jzx_step_out out;
};

#define JZX__NO_EVENT UINT32_MAX

/* What the data of a command's completion begins with. */
struct jzx__reply {
    uint64_t tag;
    uint32_t epoch;
    uint32_t command;
};

static inline struct jzx__process *jzx__process_of(const struct jzx__actor *actor) {
    return jzx__actor_part(actor, JZX__PART_PROCESS);
}

/* As struct jzx__part_ops says: the actor ends, and its record is freed. */
void jzx__process_cancel(struct jzx__worker *me, struct jzx__actor *actor);
void jzx__process_release(struct jzx_loop *loop, struct jzx__worker *me, void *record);

/* The timer of JZX_COMMAND_SLEEP: its payload is the operation. */
#define JZX__TAG_SLEPT 0xFFFF0040u

/* The records of processes that there are now. Any thread. */
uint32_t jzx__process_count(const struct jzx_loop *loop);

#endif
