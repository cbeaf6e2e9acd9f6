/* SPDX-License-Identifier: MIT */
/* The meter: how a worker measures time without looking at the clock for every message. A **tick**
 * comes after so many messages that it is about every JZX__TICK_NS. It looks at the clock, weighs
 * the messages since the last one, and makes all decisions: the rules of sched/order.h that need
 * time, and the balance between workers.
 *
 * A manual clock may stand still while messages are handled, and the rules must hold all the same.
 * So a tick adds to its time what the messages since the last one take at least and that clock does
 * not show, JZX__COUNTED_NS each: the **worked** time, by which tasks are ordered. It depends on
 * nothing but the messages, so that a simulation has the same order each time. On the system's
 * clock both times are one. */
#ifndef JZX_SCHED_METER_H
#define JZX_SCHED_METER_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "sched/cause.h"

#include <stdbool.h>
#include <stdint.h>

struct jzx__seat;
struct jzx__task;
struct jzx__worker;

#define JZX__TICK_NS 10000u
#define JZX__TICK_MSGS_MAX 1024u
#define JZX__POLL_NS 50000u   /* a busy worker with I/O polls so often */
#define JZX__COUNTED_NS 100u  /* what a message takes at least, by a clock that may stand still */
#define JZX__HEAVY_NS 3000u   /* a message that takes longer is a long one */
#define JZX__LIGHT_NS 1500u   /* one that takes less makes its task light again */
#define JZX__HOG_NS 200000u   /* one that takes longer, in CPU time, makes others wait for long */
#define JZX__SMALL_NS 100000u /* one that takes less makes its task no hog any more */
#define JZX__CROSS_NS 350u    /* what a message to another worker costs the two together */
#define JZX__WAKE_NS 5000u    /* what waking one costs */
#define JZX__HEAVY 2u         /* long messages in a row that make a task heavy, or a hog */
#define JZX__PROBE_MSGS 64u   /* messages that are measured singly after a long tick */
#define JZX__SAMPLE_TICKS 16u /* ticks between two samples of */
#define JZX__SAMPLE_MSGS 16u  /* messages that are measured singly in any case */

struct jzx__meter {
    _Atomic uint32_t tick_left; /* messages until the next tick; the watchdog may shorten it, and
                                 * its store may be lost: it looks again */
    uint32_t tick_every;        /* messages between two ticks; adapts to JZX__TICK_NS */
    uint32_t tick_ramp;   /* W8: messages to the next tick but one in a new turn; 0: tick_every */
    uint32_t probe_left;  /* messages still to be measured singly */
    uint32_t sample_left; /* ticks until the next sample */
    uint32_t crossed_in_tick; /* sends to other workers since the last tick */
    uint32_t wakes_in_tick;   /* workers woken since then */
    bool is_measured;         /* the next tick comes one message after the last */
    uint32_t tick_msgs;       /* messages that the next tick stands for */
    uint64_t counted_ns;      /* what the worked time is ahead of the clock; 0 on the system's */
    uint64_t decided_at_ns;   /* last tick that looked at the queues and at other workers; worked
                               * time */
    uint64_t pass_ns;         /* how long the pass has run, as far as ticks know */
    uint64_t poll_ns;         /* likewise since the last poll; of a worker with I/O */
    uint64_t turn_asked_ns;   /* when jzx_turn_spent was asked first in this turn */
    uint64_t turn_began_ns;   /* as far as its ticks know */
    uint64_t cpu_ns;          /* CPU time of the thread after the last very long message, or when
                               * it began to drive the worker, read at */
    uint64_t cpu_at_ns;       /* this time, */
    const void *cpu_of;       /* of this thread: the address of its thread-local */
    uint64_t off_ns;          /* how long the worker has slept since then */
    uint64_t delay_ns;        /* how long the thread had waited for a CPU at the last stall, or when
                               * it began */
};

/* In zeroed memory. */
void jzx__meter_init(struct jzx__meter *meter);

/* Another thread drives the worker: notes how much CPU it has used so far. */
JZX_COLD void jzx__meter_begin(struct jzx__worker *me, uint64_t now);

/* The next message is measured alone, from now on. */
void jzx__meter_measure_next(struct jzx__worker *me);

/* The same, and the ticks of its turn come as if nothing were known of it. */
void jzx__meter_measure_turn(struct jzx__worker *me);

/* Puts a task into its class, after a turn of that length (W7). */
void jzx__meter_file(struct jzx__worker *me, struct jzx__task *task, uint64_t turn_ns);

/* The reason why the message took long that has just ended, as far as this thread knows; and how
 * long the thread has waited for a CPU since the last stall. */
enum jzx__stall_cause jzx__meter_cause(struct jzx__worker *me, uint64_t elapsed_ns,
                                       uint64_t *delay_ns);

/* A turn that went on without the worker is over, and about to be taken back: no tick has weighed
 * its message. */
void jzx__meter_weigh_returned(struct jzx__worker *me, const struct jzx__seat *seat);

/* The tick: looks at the clock, decides W1-W4, W7, W8 and the balance between workers. */
JZX_COLD void jzx__meter_tick(struct jzx__worker *me);

#endif
