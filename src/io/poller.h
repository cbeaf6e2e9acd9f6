/* SPDX-License-Identifier: MIT */
/* A poller: how a reactor learns from the system which descriptors are ready. This is all that a
 * back end has to offer. epoll.c is the one that is used by default, uring.c the other.
 *
 * Functions return 0 or the negative errno, unless they say otherwise. */
#ifndef JZX_IO_POLLER_H
#define JZX_IO_POLLER_H

#include "io/os.h"

#include "jzx/config.h"

#include <stdbool.h>
#include <stdint.h>

/* What a descriptor is ready for. The first four have the values of JZX_IO_*. */
#define JZX__READY_READ 0x01u
#define JZX__READY_WRITE 0x02u
#define JZX__READY_ERROR 0x04u    /* always reported, as the next */
#define JZX__READY_HANGUP 0x08u   /* nothing can be written, and nothing more will come */
#define JZX__READY_READ_END 0x10u /* the peer writes no more; what it wrote may still be read */

/* When a readiness is reported. */
enum jzx__poll_mode {
    /* Each time something new happens, and perhaps once more: the user reads or writes until
     * EAGAIN. It removes the descriptor before it closes it. */
    JZX__POLL_EDGE,
    /* Once, if it is ready or as soon as it is; then not before it is changed. A descriptor that
     * was closed by others is forgotten: change says so, with EBADF or ENOENT. */
    JZX__POLL_ONCE
};

struct jzx__poller {
    const struct jzx__poller_ops *ops;
    const struct jzx__os *os;
    const jzx_allocator *allocator;
    int fd;      /* readable when wait would return something at once; -1: not open */
    void *state; /* the back end's */
};

/* One descriptor of a poller. */
struct jzx__poll_entry {
    int fd;
    uint8_t mode;     /* enum jzx__poll_mode */
    uint8_t interest; /* JZX__READY_*; ERROR and HANGUP come in any case */
    uint64_t key;     /* reported with each readiness */
};

/* Events that one poll handles at most. */
#define JZX__POLL_EVENTS 64u

struct jzx__poll_event {
    uint64_t key;
    uint32_t ready; /* JZX__READY_* */
};

struct jzx__poller_ops {
    /* True if `fd` says what was so when it happened, and learns of new descriptors by wait alone:
     * it stays readable until a wait has taken the event, whatever became of the descriptor. So
     * nobody sleeps at it before a wait has found nothing. */
    bool latches;
    int (*open)(struct jzx__poller *poller);
    void (*close)(struct jzx__poller *poller);
    /* These three may be called on any thread, for one descriptor on one at a time. */
    int (*add)(struct jzx__poller *poller, const struct jzx__poll_entry *entry);
    /* With another interest or key; arms again what is reported once. */
    int (*change)(struct jzx__poller *poller, const struct jzx__poll_entry *entry);
    int (*remove)(struct jzx__poller *poller, int fd);
    /* Returns how many events there are, at most count_max, or the negative errno. JZX_NEVER: waits
     * for ever. 0 may come early. One thread at a time. */
    int (*wait)(struct jzx__poller *poller, struct jzx__poll_event *events, uint32_t count_max,
                uint64_t timeout_ns);
};

extern const struct jzx__poller_ops jzx__poller_epoll;
extern const struct jzx__poller_ops jzx__poller_uring; /* open: -ENOSYS where there is none */

#endif
