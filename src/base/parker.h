/* SPDX-License-Identifier: MIT */
/* Sleeping until woken, without a lost wake-up and without a time-out.
 *
 * The sleeper announces, then checks every source of work, then waits. A waker publishes its work,
 * then looks for the announcement. With both in one total order (seq_cst) one of the two sees the
 * other: P1. A wake clears the announcement, so that one sleep costs its wakers one system call:
 * P2.
 *
 * A worker sleeps on a futex, or on an eventfd: in its poller, together with its I/O, or by letting
 * its host sleep in poll(2). The announcement says which, so that a waker makes the right call. A
 * poller has the eventfd registered for edges, and so need not read it. */
#ifndef JZX_BASE_PARKER_H
#define JZX_BASE_PARKER_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

enum jzx__parker_state { JZX__AWAKE = 0, JZX__SLEEPS_ON_FUTEX = 1, JZX__SLEEPS_ON_FD = 2 };

struct jzx__parker {
    _Atomic uint32_t state; /* announced by the sleeper, cleared by it or by a waker */
    _Atomic int event_fd;   /* -1 until the host asks for it; set once by the sleeper */
};

void jzx__parker_init(struct jzx__parker *parker);
void jzx__parker_deinit(struct jzx__parker *parker);

/* Makes the eventfd if there is none. Returns it, or -1. Sleeper only. */
int jzx__parker_open_fd(struct jzx__parker *parker);

static inline void jzx__parker_announce(struct jzx__parker *parker, enum jzx__parker_state how) {
    /* seq_cst: pairs with the load in wake; the caller's checks of its queues come after it (P1) */
    jzx__atomic_store_seq_cst(&parker->state, (uint32_t)how);
}

static inline void jzx__parker_cancel(struct jzx__parker *parker) {
    /* relaxed: a waker that still sees the announcement makes one call too many, no harm */
    jzx__atomic_store_relaxed(&parker->state, JZX__AWAKE);
}

/* Waits on the futex until a wake, or for timeout_ns (0: for ever), or with a time-out perhaps
 * until a signal comes; returns at once if a wake came since announce. True if it was woken. */
bool jzx__parker_wait(struct jzx__parker *parker, uint64_t timeout_ns);

/* Makes the eventfd readable, or not readable. Sleeper only; nothing without an eventfd. */
void jzx__parker_raise_fd(struct jzx__parker *parker);
void jzx__parker_clear_fd(struct jzx__parker *parker);

/* Any thread, after publishing work; also from signal handlers. True if somebody slept. */
bool jzx__parker_wake(struct jzx__parker *parker);

/* A hint. */
static inline bool jzx__parker_sleeps(const struct jzx__parker *parker) {
    /* relaxed: who relies on it wakes, and looks again there */
    return jzx__atomic_load_relaxed(&parker->state) != JZX__AWAKE;
}

/* True if a sleep is announced. False, and who announces one later sees what the caller has
 * published before. */
static inline bool jzx__parker_sleeps_seq_cst(const struct jzx__parker *parker) {
    /* seq_cst: pairs with the store in announce (P1) */
    return jzx__atomic_load_seq_cst(&parker->state) != JZX__AWAKE;
}

#endif
