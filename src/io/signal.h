/* SPDX-License-Identifier: MIT */
/* Signals as messages.
 *
 * An actor that wants to hear of a signal has a **subscription**: a watch of an eventfd, which
 * counts the signals that it was told of, and a signalfd beside it in the same reactor. A signal
 * that comes makes all signalfds for it readable, in all loops, and the first to read it has it: it
 * then adds one to the eventfds of all subscriptions of the process.
 *
 *   signal/G1  the list of subscriptions is the process's, as signals are; it has a lock of its
 *              own, which is taken inside that of a loop's I/O. An entry is there from before its
 *              signalfd is registered until it is removed, so that who reads a signal finds itself.
 *              */
#ifndef JZX_IO_SIGNAL_H
#define JZX_IO_SIGNAL_H

#include "io/watch_fd.h"

struct jzx__subscription {
    struct jzx__fd_watch watch;      /* of the eventfd */
    struct jzx__registration source; /* of the signalfd */
    struct jzx__link in_process;     /* G1 */
    struct jzx_loop *loop;           /* of its owner */
    int signo;
};

_Static_assert(sizeof(struct jzx__subscription) <= (size_t)JZX__BLOCK_SIZE_MIN
                                                       << JZX__FD_WATCH_CLASS,
               "fits the class of a watch");

#endif
