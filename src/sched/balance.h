/* SPDX-License-Identifier: MIT */
/* Heavy apart, chatty together: which tasks a worker offers to others, which it sends after the
 * ones they talk to, and how an idle worker finds work. */
#ifndef JZX_SCHED_BALANCE_H
#define JZX_SCHED_BALANCE_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

struct jzx__sched;
struct jzx__task;
struct jzx__worker;

/* How long tasks wait. */
struct jzx__waits {
    uint64_t sample_seq;            /* number of the newest woken task when the sample was taken */
    uint64_t sample_at_ns;          /* when that was */
    const struct jzx__task *oldest; /* the oldest spawned task */
    uint32_t oldest_generation;
    uint32_t global_ticks; /* ticks in a row that found the global queue not empty */
    uint64_t oldest_at_ns; /* since when it is */
    uint64_t
        overdue_at_ns; /* since when ticks find somebody waiting for too long, 0: they do not */
};

/* Offers and experiments. */
struct jzx__trials {
    uint64_t offered_at_ns;
    uint64_t busy_since_ns;     /* the end of the last sleep */
    uint64_t explored_at_ns;    /* by this worker, and not judged yet; or 0 */
    uint32_t explored_active;   /* workers that were awake then, */
    uint32_t explored_failures; /* and experiments that had failed */
};

/* Traffic with other workers since the window began. */
struct jzx__window {
    uint64_t at_ns;
    uint64_t idle_ns;
    uint64_t heavy_ns;
    uint64_t handled; /* messages handled when it began */
    uint32_t crossed;
    uint32_t wakes;
    uint32_t *crossed_to; /* per worker */
};

/* Tells whether a worker is too busy for another connection: see place.h. */
struct jzx__rest {
    uint64_t until_ns; /* the end of the rest: the worker is busy from then on */
    uint64_t at_ns;    /* when the CPU time of its thread was read */
    uint64_t cpu_ns;   /* that CPU time */
    uint64_t off_ns;   /* sleep since then */
};

/* What the tick learns about a worker's traffic, and what it decides by. */
struct jzx__balance {
    struct jzx__waits waits;
    struct jzx__trials trials;
    struct jzx__window window;
    uint64_t msg_ns;      /* light time per message in the last window */
    uint64_t calm_msg_ns; /* the same, in windows without much crossing; 0: not known */
    uint64_t slept_at_ns;
    struct jzx__rest rest;
    _Atomic uint32_t cost;  /* crossing per 1024 of light time, in the last window: for others */
    _Atomic uint32_t usage; /* busy per 1024, in the last window: for others */

    /* Moving tasks together. */
    struct jzx__worker *gather_to;
    uint64_t gather_until_ns;
    _Atomic uint64_t guests_until_ns; /* set by others: their tasks gather here */
    uint64_t thief_until_ns;          /* what it stole may be followed by others */
    uint64_t pause_ns;                /* how long the next ones to be gathered will stay */
    struct jzx__worker *follow_to;
    uint64_t follow_until_ns;
};

bool jzx__balance_init(struct jzx__balance *balance, struct jzx__sched *sched);
void jzx__balance_deinit(struct jzx__balance *balance, struct jzx__sched *sched);

/* The worker falls asleep; it begins, or goes on after that. */
void jzx__balance_suspend(struct jzx__worker *me, uint64_t now);
void jzx__balance_resume(struct jzx__worker *me, uint64_t now);

/* The part of the tick that looks at other workers. */
void jzx__balance_tick(struct jzx__worker *me, uint64_t now);

/* The task that runs on this worker sends to a task of another. */
void jzx__balance_crossed(struct jzx__worker *me, struct jzx__task *target);

/* After that: true if the task that runs should move when its message is handled. */
bool jzx__balance_wants_current(const struct jzx__worker *me, struct jzx__task *target);

/* The task that runs, between two messages, moves to that worker. True if it is gone: the caller
 * must not touch it. False if it is bound or heavy, or an entry for it is under way. */
bool jzx__balance_move(struct jzx__worker *me, struct jzx__task *task, struct jzx__worker *to);

/* The task that runs, between two messages, moves to the worker that it sends to (B4). True if it
 * is gone: the caller must not touch it. */
bool jzx__balance_gather(struct jzx__worker *me, struct jzx__task *task);

/* The task that runs, between two messages, has a message from a task of sender_owner: it moves
 * there if that is a thief, or where the others gather (B5). True if it is gone. */
bool jzx__balance_follow(struct jzx__worker *me, struct jzx__task *task, uintptr_t sender_owner);

/* For tests: the task that runs, between two messages, moves to some other worker. True if it is
 * gone. */
bool jzx__balance_toss(struct jzx__worker *me, struct jzx__task *task);

/* Heavy tasks and hogs are for others, if one is idle. True if they are on offer now. */
bool jzx__balance_offer_long(struct jzx__worker *me);

/* Takes work from the global queue, from the own deque, or from another worker. True if it got
 * some. */
bool jzx__balance_find_work(struct jzx__worker *me);

/* Takes one of its own offers back. */
bool jzx__balance_reclaim(struct jzx__worker *me);

/* Takes one task from the global queue, and up to 16 more. True if it got some. */
bool jzx__balance_take_global(struct jzx__worker *me);

#endif
