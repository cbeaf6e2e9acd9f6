/* SPDX-License-Identifier: MIT */
/* Waits for the readiness of a descriptor: operations (op/op.h) that complete once.
 *
 * Each worker at which somebody has waited has a **set**: an epoll instance, whose own descriptor
 * is registered at the worker's reactor. A descriptor is in the set while operations wait for it
 * there. So a wait does not pin its actor, and has nothing to do with a watch (watch_fd.h) of the
 * same descriptor, nor with a stream that the library itself polls.
 *
 *   wait/W1  all sets of a loop, and what is in them, are under io->waits_lock. Only the set's
 *            worker adds, harvests and checks; any thread takes a wait out. The timer, and the
 *            place in the reactor, are that worker's.
 *   wait/W2  an operation that begins on a thread without a worker is brought to worker 0 (op/O12).
 *            It is in no set before it has arrived, and a cancel takes effect there.
 *   wait/W3  a descriptor is polled ONCE for all that wait for it. An event completes each wait
 *            that wanted it, and the descriptor is armed again for the others. The descriptor
 *            leaves the set before its last wait completes, so the program may close it then.
 *   wait/W4  a descriptor that was closed is found out when it is armed: by the next wait for the
 *            number, or by a check. Its waits complete then.
 *   wait/W5  the set is quiet (reactor.h) while nobody waits there.
 *
 * Rejected: the poller of the reactor itself (it takes a descriptor once, which a watch or a stream
 * may have registered, and the actor would have to stay). A duplicate of the descriptor for each
 * wait (its file would stay open). One set for the loop (each wait would cost two workers). */
#ifndef JZX_IO_FD_WAITS_H
#define JZX_IO_FD_WAITS_H

#include "base/heap.h"
#include "io/io.h"
#include "op/op.h"

struct jzx__awaited;

/* The part's own record in the slot of the operation. */
struct jzx__fd_wait {
    struct jzx__link at_fd;        /* of those that wait for the descriptor, or are over */
    struct jzx__heap_node at_time; /* in `timed` of the set, if it has a deadline */
    struct jzx__awaited *awaited;  /* NULL: it is in no set */
    uint64_t deadline_ns;
    int fd;
    int result; /* it is over: see jzx__fd_wait_finish */
    uint32_t interest;
};

_Static_assert(sizeof(struct jzx__fd_wait) <= JZX__OP_OWN_SIZE, "has its place in the slot");

extern const struct jzx__op_ops jzx__fd_wait_ops;

/* The bits of interest that the descriptor is ready for now (JZX_IO_*), 0, or the negative errno.
 * -EPERM: it is a file or a directory. Any thread. */
int jzx__fd_look(const struct jzx__io *io, int fd, uint32_t interest);

/* The operation, which was launched, waits; or completes at once with what is wrong. me is NULL on
 * a thread without a worker (W2). It has its fd, its interest and its deadline. */
void jzx__fd_wait_enter(struct jzx__op *op, struct jzx__worker *me);

/* Completes it: bits that are ready, or the negative errno. */
void jzx__fd_wait_finish(struct jzx__op *op, struct jzx__worker *me, int result);

/* The status for an errno that the calls above return; JZX_OK for 0. */
jzx_err jzx__fd_wait_status(int negative_errno);

/* The loop ends: no future waits any more, nor will one. The actors' operations are still there. */
void jzx__fd_waits_halt(struct jzx_loop *loop, struct jzx__worker *me);

/* The set of a reactor that nobody polls any more, if it has one. Nobody waits there. */
void jzx__fd_waits_destroy(struct jzx_loop *loop, struct jzx__reactor *reactor);

#endif
