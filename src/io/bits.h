/* SPDX-License-Identifier: MIT */
/* Readiness in the bits of the system, which are the same for epoll(7) and for polls of
 * io_uring(7). */
#ifndef JZX_IO_BITS_H
#define JZX_IO_BITS_H

#include "io/poller.h"

#include <sys/epoll.h>

/* EPOLL* of JZX__READY_*. ERR and HUP come in any case. */
static inline uint32_t jzx__events_of(uint32_t interest) {
    uint32_t events = 0;
    if (interest & JZX__READY_READ)
        events |= EPOLLIN;
    if (interest & JZX__READY_WRITE)
        events |= EPOLLOUT;
    if (interest & JZX__READY_READ_END)
        events |= EPOLLRDHUP;
    return events;
}

/* JZX__READY_* of EPOLL*. */
static inline uint32_t jzx__ready_of(uint32_t events) {
    uint32_t ready = 0;
    if (events & EPOLLIN)
        ready |= JZX__READY_READ;
    if (events & EPOLLOUT)
        ready |= JZX__READY_WRITE;
    if (events & EPOLLERR)
        ready |= JZX__READY_ERROR;
    if (events & EPOLLHUP)
        ready |= JZX__READY_HANGUP;
    if (events & EPOLLRDHUP)
        ready |= JZX__READY_READ_END;
    return ready;
}

#endif
