/* SPDX-License-Identifier: MIT */
/* A processor: the inputs that wait, the thread that carries them out, and the registry of actors.
 *
 * One thread at a time is the **runner**: the one that made the phase Busy. What it works with (the
 * queue of the tick, the registry, the trace) has no lock: the change of the phase, under the lock,
 * hands it from one runner to the next.
 *
 *   P1  Idle: no input waits, the queue is empty, and there is no runner. Queued: inputs wait, and
 *       there is no runner. Busy: there is one.
 *   P2  only the runner takes inputs, and it becomes Idle only when it has found none, under the
 *       lock under which others append theirs. So none is left behind.
 *   P3  a tick goes from the first input to the empty queue. Before each command the runner looks
 *       for inputs and puts them behind what is queued (A5); with tick_per_input it looks only when
 *       the queue is empty, and takes one. The **place** of an input is the number of commands of
 *       its tick that came before it. A trace is a function of the sequence of inputs and their
 *       places (X32). The first tick, which spawns the root, takes no input: a replay comes after
 *       it.
 *   P4  no lock is taken while a handler runs, and none is held when one is called.
 *   P5  an input is recorded when it is accepted, under the lock: the recording has the order of
 *       the list. What cannot be recorded is not accepted. Its place is written when it is taken.
 *   P6  an async actor is heard while its inbox is open: until it is removed. What it has brought
 *       in before, and whose tick begins after that, is dropped.
 *   P7  the end of a fiber needs no memory: its input is made with its actor, and room for it in
 *       the recording is reserved.
 *   P8  a subject is freed by whoever gives up the last reference to it: the registry's, its
 *       fiber's, that of its end while that is an input; the processor by the last of its creator's
 *       and those of all fibers.
 *   P9  an async actor is never heard in the tick that has sent to it or spawned it (A20): its
 *       input waits for the end of that tick, and all inputs behind it wait, too. So inputs keep
 *       their order, and others that dispatch do not keep that tick from its end.
 *   P10 a replay is a run that reads its inputs out of a recording, when no other input waits. */
#ifndef JZX_COMMAND_CORE_H
#define JZX_COMMAND_CORE_H

#include "actor/loop.h"
#include "base/atomic.h"
#include "base/lock.h"
#include "command/roll.h"
#include "sched/seat.h"

#include "jzx/processor.h"
#include "jzx/sync.h"

struct jzx__subject;

#define JZX__GENERATION_ANY UINT64_MAX

/* The place of an input that begins a tick. */
#define JZX__PLACE_FIRST UINT64_MAX

/* A dispatch, or the actions of an async actor. */
struct jzx__input {
    struct jzx__input *next;
    struct jzx__roll roll;
    jzx_processor_handle source; /* the async actor, or JZX_PROCESSOR_NO_HANDLE */
    struct jzx_inbox *inbox;     /* that it comes from, until it is accepted; or NULL */
    uint64_t generation;         /* of the inbox */
    uint64_t place;              /* P3 */
    size_t taped_at;             /* where the recording has its place */
    bool is_embedded;            /* in an inbox, as its end: not freed by itself */
};

/* A list that is being made. */
struct jzx_actions {
    struct jzx_processor *processor;
    struct jzx__subject *self;
    struct jzx__roll *roll;   /* the queue, or that of an async actor */
    struct jzx__roll *passes; /* of a sync stage; else the same as roll */
    jzx_err err;              /* the first that an add came to, of memory */
};

/* Bytes that grow. */
struct jzx__tape {
    unsigned char *data;
    size_t used;
    size_t capacity;
    size_t reserved; /* P7: beyond used */
};

/* A recording that is read: its rest. */
struct jzx__reader {
    const unsigned char *at;
    size_t left;
    bool is_wrong; /* there was less than was asked for */
};

/* Handles to subjects: a hash table, of which at most half is used. */
struct jzx__roster {
    struct jzx__subject **slots;
    size_t size; /* a power of two, or 0 */
    size_t count;
};

struct jzx_processor {
    struct jzx_loop *loop;
    jzx_allocator allocator; /* a copy: fibers may outlive the loop's side of it */
    bool keeps_trace;        /* these do not change */
    bool is_recorded;
    bool is_replay;
    bool tick_per_input;

    _Atomic uint32_t looks; /* not 0: an input may be there for this tick. A hint */
    struct jzx__lock lock;  /* of what follows */
    jzx_phase phase;
    uintptr_t runner;          /* Busy: its thread */
    jzx_actor_id runner_actor; /* Busy: in whose turn it runs, or JZX_NOBODY */
    bool is_closed;            /* terminated */
    uint32_t refs;             /* P8 */
    struct jzx__input *first;
    struct jzx__input *last;
    jzx_processor_stats shown; /* as of the end of the last tick; waiting is exact */
    struct jzx__tape recording;

    /* The runner's. */
    struct jzx__roll queue;
    struct jzx__roster registry;
    jzx_processor_handle next_handle;
    jzx_processor_handle stages[JZX_MIDDLEWARE_MAX];
    uint32_t stage_count;
    struct jzx__reader replay; /* P10 */
    uint64_t done;             /* commands of this tick that are over: P3 */
    uint64_t external;         /* actors that are not internal */
    uint64_t removals;         /* in this tick */
    uint64_t reservations;     /* that were not spawned */
    bool terminate_due;        /* the last external actor is gone; no Terminate was made for that */
    jzx_err err;               /* of this run: a command was lost */
    jzx_processor_stats counts;
    struct jzx__roll trace_data;
    jzx_trace_step *trace;
    size_t trace_count;
    size_t trace_size;
    bool trace_is_cut;

    jzx_channel output; /* of jzx_output * */
};

/* The lock, in a visit (S4 of seat.h). */
static inline void jzx__processor_lock(struct jzx_processor *processor, struct jzx__visit *visit) {
    (void)jzx__loop_visit(processor->loop, visit);
    jzx__lock_acquire(&processor->lock);
}

static inline void jzx__processor_unlock(struct jzx_processor *processor,
                                         struct jzx__visit *visit) {
    jzx__lock_release(&processor->lock);
    jzx__visit_end(visit);
}

#endif
