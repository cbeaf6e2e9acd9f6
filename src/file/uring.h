/* SPDX-License-Identifier: MIT */
/* The back end of files on io_uring: a ring per worker (io/ring.h), opened with its first request
 * and registered with the worker's reactor. It takes what the kernel has an opcode for; everything
 * else, and everything that it cannot finish, is the pool's (start.c), which decides what comes of
 * a request. So the two cannot differ in their outcomes.
 *
 *   uring/U1  a ring is its worker's, not a thread's: requests are started, and completions reaped,
 *             only by the thread that drives the worker, inside the bracket. So the record of a
 *             request needs no order of its own, whichever thread reaps it after a hand-over. Only
 *             cancel comes from any thread (ring/G1), and touches the slot alone.
 *   uring/U2  a request is handed to the kernel once. If it comes back undone or half done, it goes
 *             to the pool: after a short write; with ECANCELED, EINTR or EFAULT, because the thread
 *             that started it has ended (ring/G2: worker threads end with each run); with an error
 *             that may be io_uring's rather than the file's. What has failed is without effect, so
 *             nothing is done twice.
 *   uring/U3  a thread that drives no worker uses the pool, as does a turn that has lost its
 *             worker: its requests would end with it. Futures use the pool as well: they are waited
 *             for when no loop runs, and then nobody reaps.
 *   uring/U4  a request that is refused (a full ring, no memory, JZX__URING_COUNT_MAX) is the
 *             pool's. No request waits for room.
 *   uring/U5  only regular files are written: a pipe would answer with SIGPIPE in the thread of the
 *             worker. For the same reason nothing is written here while files have a limited size
 *             (SIGXFSZ). What is no regular file is read here at its position alone: a thread that
 *             waits for a pipe cannot be stopped, and the kernel can. With an offset it is the
 *             pool's, which is told that there are none.
 *   uring/U6  what is longer than JZX__URING_INLINE_MAX is done by a thread of the kernel: data
 *             that are in memory are copied by io_uring_enter itself, and a worker never blocks.
 *             Opens are, too: inline the kernel opens with O_NONBLOCK, and a pipe without a writer
 *             would be open at once.
 *   uring/U7  while a request is under way the worker sleeps and polls for its ring (sched/K8);
 *             while there is none it does not.
 *   uring/U8  the end of the loop completes all requests (drain): it cancels them, and waits for
 *             those that cannot be cancelled, since the kernel writes to their memory. */
#ifndef JZX_FILE_URING_H
#define JZX_FILE_URING_H

#include "file/request.h"
#include "io/blocking.h"
#include "io/io.h"
#include "io/ring.h"

/* Requests under way per worker; the ring has room for as many completions. Of those, the kernel
 * has threads for JZX_DEFAULT_FILE_THREADS that block. */
#define JZX__URING_COUNT_MAX 128u
#define JZX__URING_ENTRIES 64u

enum jzx__uring_state { JZX__URING_CLOSED, JZX__URING_OPEN, JZX__URING_FAILED };

/* Of a worker (U1). */
struct jzx__uring {
    _Alignas(JZX_CACHE_LINE) struct jzx__ring ring;
    struct jzx__registration registration;
    struct jzx__list under_way; /* of jzx__job.at_queue */
    uint32_t count;             /* of those */
    uint8_t state;              /* enum jzx__uring_state; FAILED: it could not be opened */
    bool is_halted;             /* U8: what comes back undone is cancelled */
    jzx__counter taken;         /* requests that the kernel took */
    jzx__counter refused;       /* that it could have taken, and did not (U4) */
    jzx__counter undone;        /* of those taken, that the pool had to finish (U2) */
};

/* What a file operation keeps in its slot. */
struct jzx__file_own {
    struct jzx__job job;
    _Atomic(struct jzx__uring *) ring; /* NULL: it is the pool's. For cancel */
};

_Static_assert(sizeof(struct jzx__file_own) <= JZX__OP_OWN_SIZE, "has its place in the slot");

/* True if rings may serve the loop: not one whose setting says so, nor one with calls of its own (a
 * test), nor in a child of fork. Any thread that has got the pool. */
bool jzx__urings_serve(const struct jzx_loop *loop);

/* Of a loop: rings for all workers, none of them open. False without memory. */
bool jzx__urings_open(struct jzx_loop *loop, struct jzx__files *files);

/* No request is under way. */
void jzx__urings_close(struct jzx_loop *loop, struct jzx__files *files);

/* U8. No other thread drives a worker. May block. */
void jzx__urings_drain(struct jzx_loop *loop, struct jzx__worker *me);

/* Takes the request of an operation that is launched and filled for the pool; false: it is for the
 * pool. Taken: it comes back by job->done, perhaps before this returns. me may be NULL (U3). */
bool jzx__uring_start(struct jzx__op *op, struct jzx__file_request *request,
                      struct jzx__worker *me);

/* The same of all rings of a loop. */
struct jzx__urings_books {
    uint64_t taken;
    uint64_t refused;
    uint64_t undone;
};

/* False: the loop uses none. Any thread. */
bool jzx__urings_look(const struct jzx_loop *loop, struct jzx__urings_books *books);

/* Of an operation that this ring has, or had. Any thread. */
void jzx__uring_cancel(struct jzx__uring *uring, const struct jzx__op *op);

#endif
