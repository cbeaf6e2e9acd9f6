/* SPDX-License-Identifier: MIT */
/* The reaper: a thread of a loop that has started programs. It gets the orphans: subprocesses that
 * have not ended when their handle was closed or their owner has ended. It kills each when its
 * grace is over, and reaps it when it has ended.
 *
 *   reaper/R1  orphans, and all that they have, are under the lock. Only the thread takes one out.
 *   reaper/R2  becoming an orphan needs no memory and cannot fail: the record is made before the
 *              program is started, and so is the thread.
 *   reaper/R3  an orphan whose descriptor epoll would not take is looked at every few
 *              milliseconds, and killed at once unless it is detached.
 *   reaper/R4  the thread completes nothing and calls no actor: it is at work whether the loop runs
 *              or not. So it goes by the clock of the system.
 *
 * Rejected: the reactor of a worker (it ends with the last run of the loop, and grace with it); the
 * blocking pool (an orphan would keep a thread each for as long as its grace). */
#ifndef JZX_SUBPROCESS_REAPER_H
#define JZX_SUBPROCESS_REAPER_H

#include "base/alloc.h"
#include "base/list.h"
#include "base/lock.h"
#include "io/os.h"
#include "subprocess/os.h"

#include "jzx/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct jzx__orphan {
    struct jzx__link link; /* R1 */
    uint64_t kill_ns;      /* by the clock of the system; JZX_NEVER */
    int pidfd;
    int pid;
    bool has_group;   /* signals go to that */
    bool is_detached; /* nobody kills it */
    bool is_polled;   /* R3 */
};

struct jzx__reaper {
    const struct jzx__os *io;
    const struct jzx__subprocess_os *os;
    const jzx_allocator *allocator;
    struct jzx__lock lock; /* of what follows */
    struct jzx__list orphans;
    pthread_t thread;
    bool is_started;
    bool is_ending;
    int epoll; /* fixed when it is started, as the next */
    int event; /* wakes the thread */
};

/* No thread yet. */
void jzx__reaper_init(struct jzx__reaper *reaper, const jzx_allocator *allocator);

/* Starts the thread, unless it is there. 0 or the negative errno. Any thread. */
int jzx__reaper_start(struct jzx__reaper *reaper, const struct jzx__os *io,
                      const struct jzx__subprocess_os *os);

/* A record for later (R2); NULL without memory. */
struct jzx__orphan *jzx__orphan_create(const jzx_allocator *allocator);
void jzx__orphan_destroy(const jzx_allocator *allocator, struct jzx__orphan *orphan);

/* The orphan, and its descriptor, are the reaper's from here on. It has all but the link and
 * is_polled; grace_ns, or JZX_NEVER, begins now. The thread is started. */
void jzx__reaper_adopt(struct jzx__reaper *reaper, struct jzx__orphan *orphan, uint64_t grace_ns);

/* Kills what is left, unless it is detached, waits until all is reaped, and ends the thread. */
void jzx__reaper_deinit(struct jzx__reaper *reaper);

/* Sends a signal to a process that was not reaped, or to its group. 0 or the negative errno. */
int jzx__process_signal(const struct jzx__subprocess_os *os, const struct jzx__orphan *process,
                        int signal);

#endif
