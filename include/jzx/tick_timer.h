/* SPDX-License-Identifier: MIT */
/* A timer of the program's own for the scheduler, in place of its wheel: where jobs wait for their
 * tick. The tables of clock and driver are in jzx/schedule_admin.h. The header needs no operating
 * system.
 *
 * A timer orders entries by their tick, and nothing else. Limits, the overflow, the order within a
 * tick and all events are the scheduler's: they are the same with every timer.
 *
 * The scheduler calls a timer from one thread at a time. The functions may not call the library.
 * create alone may fail. */
#ifndef JZX_TICK_TIMER_H
#define JZX_TICK_TIMER_H

#include <stddef.h>
#include <stdint.h>

/* A job that waits. It stays at its address from insert until cancel or poll_expired. */
typedef struct jzx_tick_entry {
    uint64_t tick; /* set by the scheduler, and constant while the timer has the entry */
    union {
        void *pointer;
        uint64_t number;
    } own[3]; /* the timer's while it has the entry; undefined at insert */
} jzx_tick_entry;

typedef struct jzx_tick_timer {
    void *arg; /* for size and create */
    /* The bytes that a timer for entries_max entries takes. NULL: none. */
    size_t (*size)(void *arg, size_t entries_max);
    /* Makes a timer at tick `now`, and returns what the other functions get. memory has the bytes
     * that size asked for, is aligned for every type, and is the timer's until destroy has
     * returned. NULL: it could not be made, and the scheduler is not made either. */
    void *(*create)(void *arg, void *memory, size_t entries_max, uint64_t now);
    /* The timer has no entries. May be NULL. */
    void (*destroy)(void *timer);
    /* entry->tick is later than the tick polled last, by less than the product of
     * jzx_schedule_config.wheel_slots (2^20 by default). At most entries_max entries are inside. */
    void (*insert)(void *timer, jzx_tick_entry *entry);
    /* Takes an entry out. */
    void (*cancel)(void *timer, jzx_tick_entry *entry);
    /* Takes out and returns an entry that is due at `tick` or was before; of several any. NULL:
     * none is left. Ticks never go back; they may leap up to the one that next has returned. */
    jzx_tick_entry *(*poll_expired)(void *timer, uint64_t tick);
    /* A tick later than the one polled last, before which no entry is due; UINT64_MAX: there is
     * none. A tick that is too early costs a poll; one that is too late ends the process, with a
     * message that names it and the tick at which an entry is due. */
    uint64_t (*next)(void *timer);
} jzx_tick_timer;

#endif
