/* SPDX-License-Identifier: MIT */
/* A subprocess: a record of a socket (net/socket.h) whose descriptor is a pidfd. So it has a handle
 * with a generation, a lock, an owner with which it ends, a place at the reactor of the owner's
 * worker, a timer there, fibers that wait at `readers`, and operations. The pidfd is readable when
 * the process has ended.
 *
 *   child/P1  the process is reaped once, under the lock: has_ended. Until then its pid, and its
 *             group, are its own, and signals may be sent. The status stays as long as the handle.
 *   child/P2  whoever finds the pidfd readable, or is about to wait, tries to reap; that completes
 *             all that wait.
 *   child/P3  a record that is closed while the process has not ended gives the pidfd and `process`
 *             to the reaper (reaper/R2).
 *   child/P4  kill_ns is when SIGKILL is due, loop time, by the timer of the home worker. It only
 *             moves to earlier. */
#ifndef JZX_SUBPROCESS_SUBPROCESS_H
#define JZX_SUBPROCESS_SUBPROCESS_H

#include "net/socket.h"
#include "subprocess/reaper.h"

#include "jzx/subprocess.h"

struct jzx_blocking_pool;

/* The largest number of a signal. */
#define JZX__SIGNAL_MAX 64

struct jzx__subprocess {
    struct jzx__socket socket;
    struct jzx__list waits;      /* operations; see wait.c */
    struct jzx__orphan *process; /* what signals need, and the reaper; NULL: it has it (P3) */
    jzx_stream streams[3];       /* JZX_NO_STREAM: none */
    jzx_subprocess_status status;
    uint64_t started_ns;
    uint64_t grace_ns;
    uint64_t kill_ns; /* P4; JZX_NEVER */
    int stop_signal;
    int lost_error; /* has_ended: why there is no status; 0: there is one */
    bool has_ended; /* P1 */
};

_Static_assert(sizeof(struct jzx__subprocess) <= JZX__SOCKET_SIZE, "fits a record");

/* Of a loop. */
struct jzx__subprocesses {
    const struct jzx__subprocess_os
        *os; /* a test may put its own here before anything is started */
    _Atomic(struct jzx_blocking_pool *) pool; /* JZX_SUBPROCESS_POOL, or NULL; set once */
    struct jzx__reaper reaper;
};

static inline struct jzx__subprocesses *jzx__subprocesses_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_SUBPROCESS];
}

static inline struct jzx__subprocess *jzx__subprocess_of(struct jzx__socket *socket) {
    return JZX_CONTAINER_OF(socket, struct jzx__subprocess, socket);
}

/* A record for a process to come; nobody knows it, and it has no descriptor. NULL without memory.
 * Any thread, in a visit. */
struct jzx__subprocess *jzx__subprocess_create(struct jzx_loop *loop);

/* The process runs. Under the lock; then it can be adopted. */
void jzx__subprocess_begin(struct jzx__subprocess *child, int pid, int pidfd);

/* Locks the one of a handle; NULL: it is closed. */
struct jzx__subprocess *jzx__subprocess_acquire(struct jzx_loop *loop, jzx_subprocess handle);

/* Reaps it if it has ended, and completes all that wait (P2). True if it has. Under the lock, as
 * what follows. */
bool jzx__subprocess_look(struct jzx__subprocess *child, struct jzx__worker *me,
                          struct jzx__done *done);

/* 0 or the negative errno. It has not ended. */
int jzx__subprocess_send_signal(struct jzx__subprocess *child, int signal);

/* SIGKILL then, loop time, if it has not ended: P4. */
void jzx__subprocess_kill_at(struct jzx__subprocess *child, struct jzx__worker *me,
                             uint64_t kill_ns);

/* How it has ended: JZX_OK and the status, or the error. */
jzx_err jzx__subprocess_result(const struct jzx__subprocess *child, int *os_error);

#endif
