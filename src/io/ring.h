/* SPDX-License-Identifier: MIT */
/* One ring of io_uring(7): requests go to the kernel, completions come back. The file back end and
 * the poller build on it. It knows nothing of workers and calls nobody back.
 *
 * Raw system calls by the table of io/os.h, so that the core links nothing and a test can let each
 * of them fail. Without <linux/io_uring.h>, or with one that is too old, ring.c is an empty module:
 * open answers -ENOSYS, and nothing else is ever called. docs/decisions/0017 has the reasons.
 *
 *   ring/G1  push, start and submit may be called on any thread: `lock` guards the submission side.
 *            io_uring_enter is called under it. The kernel serializes the submitters of a ring by a
 *            mutex of its own, so this adds no wait, and it makes a refusal exact: after start the
 *            kernel has the request, or nobody has. A request that completes inline (a read from
 *            the page cache) does so under the lock: threads that submit a lot have a ring each.
 *   ring/G2  a request belongs to the **thread** that hands it to the kernel. After that thread has
 *            exited it fails, at once or when it would go on, with -ECANCELED (older kernels: also
 *            -EFAULT, -EINTR), without effect; the ring lives on. A user that cannot rule this out
 *            issues such a request again.
 *   ring/G3  reap is called by one thread at a time; the user orders those threads. wait may be
 *            called on any thread, also while another reaps, and holds no lock while it sleeps.
 *   ring/G4  no completion is lost: without IORING_FEAT_NODROP the ring is not opened, and reap
 *            fetches those that the kernel had no room for.
 *   ring/G5  the kernel orders a submission before its completion. ThreadSanitizer does not see
 *            that: of a request whose record another thread reads after the reap, the submitter
 *            stores an atomic word with release before the submission, and the reaper loads it with
 *            acquire. The word belongs to the request, so no race between two of them is hidden.
 *   ring/G6  a child of fork(2) does not have the mapped memory, and must not call any of this.
 *
 * Flags that are never set: SINGLE_ISSUER and DEFER_TASKRUN (the watchdog hands a worker to another
 * thread at any time), COOP_TASKRUN (a completion waits for the submitter's next system call),
 * SQPOLL (a kernel thread that spins, per ring).
 *
 * Functions return 0 or the negative errno, unless they say otherwise. */
#ifndef JZX_IO_RING_H
#define JZX_IO_RING_H

#include "base/atomic.h"
#include "base/lock.h"
#include "io/os.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include) && !defined(JZX_NO_IO_URING)
#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
/* A macro of Linux 5.17: the opcodes up to MKDIRAT are no macros, and are there since 5.15. */
#if defined(IORING_FEAT_CQE_SKIP)
#define JZX__HAS_IO_URING 1
#endif
#endif
#endif

struct io_uring_sqe;

struct jzx__ring_done {
    uint64_t key;   /* user_data of the request */
    int32_t result; /* what the system call would return, or the negative errno */
    uint32_t flags; /* IORING_CQE_F_* */
};

/* Entries of the submission side that are open at most: the kernel takes up to 32768. */
#define JZX__RING_ENTRIES_MAX 4096u

/* Opcodes are bytes. */
#define JZX__RING_OPCODE_WORDS 4u

struct jzx__ring {
    const struct jzx__os *os; /* from open on, as the next three */
    int fd;                   /* -1: not open; readable while there is something to reap */
    uint32_t features;        /* IORING_FEAT_* */
    uint64_t opcodes[JZX__RING_OPCODE_WORDS]; /* bits: what this kernel can do */

    /* Submissions: under the lock (G1). */
    struct jzx__lock lock;
    struct io_uring_sqe *entries;
    _Atomic uint32_t *sq_head;  /* the kernel writes it */
    _Atomic uint32_t *sq_tail;  /* the kernel reads it in io_uring_enter */
    _Atomic uint32_t *sq_flags; /* the kernel writes it; read by the reaper */
    uint32_t sq_size;

    /* Completions: of the thread that reaps (G3). */
    const struct io_uring_cqe *completions;
    _Atomic uint32_t *cq_head; /* the kernel reads it */
    _Atomic uint32_t *cq_tail; /* the kernel writes it */
    uint32_t cq_size;

    /* Mapped memory. */
    void *ring_map;
    size_t ring_map_size;
    size_t entries_size;
};

/* Opens a ring for that many submissions that are pushed and not submitted, a power of two of at
 * most JZX__RING_ENTRIES_MAX; it has twice as many places for completions. It has NODROP,
 * SINGLE_MMAP and EXT_ARG (Linux 5.11), or it is not opened: -ENOSYS. Other errors are the
 * system's: -EPERM where io_uring is forbidden, -ENOMEM, -EMFILE. On an error nothing is left. */
int jzx__ring_open(struct jzx__ring *ring, const struct jzx__os *os, uint32_t entries);

/* One that open has opened. The kernel cancels its requests then, and may still use their buffers
 * for a while: the user has waited for all of them, or gives no memory away. */
void jzx__ring_close(struct jzx__ring *ring);

/* The kernel uses so many threads at most for requests on files that block; before it has a limit
 * by the number of CPUs. 0 or the negative errno: -EINVAL before Linux 5.15. */
int jzx__ring_limit_threads(struct jzx__ring *ring, uint32_t count);

/* True if the kernel has the opcode (IORING_OP_*). */
bool jzx__ring_can(const struct jzx__ring *ring, uint32_t opcode);

/* ---- any thread (G1) ---- */

/* Copies the request to the ring; the kernel does not look before submit, start or wait. -EBUSY:
 * the ring is full of requests that were not submitted. */
int jzx__ring_push(struct jzx__ring *ring, const struct io_uring_sqe *entry);

/* Gives all that was pushed to the kernel. On an error (-EAGAIN, -ENOMEM: the kernel has no
 * memory; -EBUSY: completions have to be reaped first) the rest stays pushed. */
int jzx__ring_submit(struct jzx__ring *ring);

/* Push and submit of one request, which is the kernel's on 0, and on an error nobody's. Requests
 * that were pushed before go with it. It may be complete when this returns. */
int jzx__ring_start(struct jzx__ring *ring, const struct io_uring_sqe *entry);

/* Submits, then sleeps until there is a completion or the time is over; JZX_NEVER: no limit. A
 * signal, or a completion of a request of the calling thread, may end it early: 0 says only that
 * the caller should reap. */
int jzx__ring_wait(struct jzx__ring *ring, uint64_t timeout_ns);

/* ---- the thread that reaps (G3) ---- */

/* Takes completions, at most count_max. Returns how many. Less than count_max: there was no more.
 */
uint32_t jzx__ring_reap(struct jzx__ring *ring, struct jzx__ring_done *done, uint32_t count_max);

#endif
