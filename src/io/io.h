/* SPDX-License-Identifier: MIT */
/* What a loop and its workers have of I/O. */
#ifndef JZX_IO_IO_H
#define JZX_IO_IO_H

#include "actor/loop.h"
#include "actor/own.h"
#include "actor/part.h"
#include "base/lock.h"
#include "base/os_error.h"
#include "io/reactor.h"

struct jzx__fd_watch;

/* Of a loop. */
struct jzx__io {
    const struct jzx__os *os; /* a test may put its own here before anything is registered */
    const struct jzx__poller_ops *poller; /* of the reactors */
    struct jzx__lock lock;                /* of what follows, and of the watches: see watch_fd.h */
    struct jzx__poller probe;     /* never waited at: tells whether a descriptor can be watched */
    struct jzx__fd_watch **by_fd; /* NULL: not watched */
    uint32_t fd_cap;              /* places there */
    uint32_t watch_count;
    uint32_t watches_max;
    struct jzx__lock waits_lock; /* of the next, and of all waits: see fd_waits.h */
    bool waits_are_over;         /* the loop ends */
    jzx_io_backend backend;      /* AUTO unless something else was asked for */
    /* The layer above's, set once: an actor with a jzx__actor_io ends, and so do its sockets. */
    void (*close_sockets)(struct jzx__worker *me, struct jzx__actor *actor);
};

static inline struct jzx__io *jzx__io_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_IO];
}

/* The worker's, or NULL: it has none yet. */
static inline struct jzx__reactor *jzx__reactor_of(struct jzx__worker *worker) {
    return jzx__actor_worker_of(worker)->parts[JZX__PART_IO];
}

/* True if something is or was registered there: a host may have been woken by it, also if it is
 * quiet (jzx__reactor_set_quiet) or gone. */
static inline bool jzx__io_may_be_ready(struct jzx__worker *worker) {
    const struct jzx__reactor *reactor = jzx__reactor_of(worker);
    return reactor != NULL && reactor->slot_count != 0;
}

/* The worker's, made if need be; NULL without memory. Its thread. */
struct jzx__reactor *jzx__reactor_ensure(struct jzx__worker *me);

/* The descriptor that a host polls, opened if need be; negative if it cannot be had. */
int jzx__io_fd(struct jzx__worker *me);

/* A call of an actor has failed by that errno: keeps it for jzx_last_os_error, and says what to
 * return. */
static inline jzx_err jzx__io_failed(struct jzx__own *own, int error) {
    own->turn->os_error = error;
    return jzx__os_error_status(error);
}

bool jzx__io_open(struct jzx_loop *loop, const jzx_config *config);
void jzx__io_close(struct jzx_loop *loop);

/* ---- for the scheduler: wait, poll and settle of its jzx__task_ops ---- */

void jzx__io_wait(struct jzx__worker *me, uint64_t timeout_ns);
bool jzx__io_poll(struct jzx__worker *me);
void jzx__io_settle(struct jzx__worker *me);

#endif
