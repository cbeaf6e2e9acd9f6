/* SPDX-License-Identifier: MIT */
/* The reactor of a worker: the descriptors that are registered there, and where the worker sleeps
 * while there are some (K8 of sched/worker.h).
 *
 * A **registration** is a part of the record that is about the descriptor: a watch, a stream, a
 * listener. It brings a table of callbacks. The reactor finds it by a key of {index, generation},
 * never by an address, so that an event which was fetched before the registration ended reaches
 * nobody.
 *
 *   reactor/E1  a reactor is its worker's: only the thread that drives the worker adds, removes,
 *               waits and polls. Events that were fetched stay with the reactor, so that they are
 *               not lost if the thread loses the worker.
 *   reactor/E2  callbacks run in a round, before its turns, inside the bracket. They may add and
 *               remove registrations, their own as well, and call no user code.
 *   reactor/E3  with JZX__POLL_EDGE `ready` is sticky: bits are set by events, and cleared by the
 *               user alone, when a call came back with EAGAIN (jzx__registration_block). So nothing
 *               is asked of the system to learn that something is ready still.
 *   reactor/E4  change, attach and detach only speak to the system. They may be called on any
 *               thread, if the user of the registration sees to it that nobody else uses it
 *               meanwhile.
 *
 * How a stream would use it: add once, EDGE, for READ, WRITE and READ_END. To read: if READ is not
 * set in `ready`, wait; else read(2) until it is short or EAGAIN, then block(READ). The callback
 * wakes who waits for what has become ready. */
#ifndef JZX_IO_REACTOR_H
#define JZX_IO_REACTOR_H

#include "io/poller.h"
#include "sched/worker.h"

#include "jzx/config.h"

#include <stdbool.h>

/* Registrations that are looked at before a sleep, and at a poll, whether they still exist. */
#define JZX__CHECKS_BEFORE_SLEEP 16u
#define JZX__CHECKS_PER_POLL 1u

#define JZX__NOT_REGISTERED UINT32_MAX

struct jzx__registration;

struct jzx__registration_ops {
    /* Something is ready: the bits that are new in this event (E2). */
    void (*ready)(struct jzx__worker *me, struct jzx__registration *registration, uint32_t ready);
    /* Now and then, for descriptors that are not ours and may have been closed: looks whether the
     * system still knows the registration. NULL: the descriptor is ours. */
    void (*check)(struct jzx__worker *me, struct jzx__registration *registration);
};

struct jzx__registration {
    const struct jzx__registration_ops *ops;
    struct jzx__poll_entry entry;
    uint32_t index;   /* in the reactor; JZX__NOT_REGISTERED */
    bool is_attached; /* the system knows it */
    bool is_quiet;    /* nothing is expected: the worker does not sleep or poll for it */
    uint8_t ready;    /* JZX__READY_*, written by the reactor's thread (E3) */
};

struct jzx__reactor_slot {
    struct jzx__registration *registration; /* NULL: free */
    uint32_t generation;
    uint32_t next_free; /* one more than an index; 0: none */
};

struct jzx__fd_waits;

struct jzx__reactor {
    struct jzx__worker *worker;
    const jzx_allocator *allocator;
    struct jzx__poller poller;
    struct jzx__reactor_slot *slots;
    uint32_t slot_cap;
    uint32_t slot_count; /* that were ever used */
    uint32_t free_slot;  /* as next_free */
    uint32_t checked;    /* registrations with check */
    uint32_t next_check; /* slot */
    uint32_t event_count;
    struct jzx__fd_waits *waits;                     /* fd_waits.h; NULL: nobody has waited here */
    struct jzx__poll_event events[JZX__POLL_EVENTS]; /* fetched, not handled yet */
};

/* Nothing is opened yet. */
void jzx__reactor_init(struct jzx__reactor *reactor, struct jzx__worker *worker,
                       const struct jzx__poller_ops *ops, const struct jzx__os *os,
                       const jzx_allocator *allocator);

/* All registrations were removed, or nobody will poll any more: their memory is not touched. */
void jzx__reactor_deinit(struct jzx__reactor *reactor);

/* Opens the poller, and registers the descriptor of the worker's parker there. Nothing if it is
 * open. 0 or the negative errno: then it is not open. */
int jzx__reactor_open(struct jzx__reactor *reactor);

/* Before it is added. */
void jzx__registration_init(struct jzx__registration *registration,
                            const struct jzx__registration_ops *ops, int fd,
                            enum jzx__poll_mode mode);

/* Registers it; opens the reactor if need be. 0 or the negative errno: then nothing has happened.
 */
int jzx__reactor_add(struct jzx__reactor *reactor, struct jzx__registration *registration,
                     uint32_t interest);

/* With another interest, or the same: of one that is reported ONCE, arms it again (E4). 0 or the
 * negative errno. */
int jzx__reactor_change(struct jzx__reactor *reactor, struct jzx__registration *registration,
                        uint32_t interest);

/* Tells the system again of one that it has forgotten, with the interest that it has (E4). 0 or the
 * negative errno. */
int jzx__reactor_attach(struct jzx__reactor *reactor, struct jzx__registration *registration);

/* The system forgets it: before its descriptor is closed, or it would report a copy of it for ever.
 * It stays registered here (E4). */
void jzx__reactor_detach(struct jzx__reactor *reactor, struct jzx__registration *registration);

/* Ends a registration; detaches it, if that was not done. No callback comes any more. */
void jzx__reactor_remove(struct jzx__reactor *reactor, struct jzx__registration *registration);

/* Nothing will come of it until it is called again with false: it stays registered, and the worker
 * sleeps and polls as if it were not. */
void jzx__reactor_set_quiet(struct jzx__reactor *reactor, struct jzx__registration *registration,
                            bool is_quiet);

/* Sleeps until there are events, the parker's descriptor is raised, or the time is over; keeps the
 * events, and sets poll_due of the worker. */
void jzx__reactor_wait(struct jzx__reactor *reactor, uint64_t timeout_ns);

/* Before a host sleeps at the descriptor of the poller: fetches what that latches, keeps the
 * events, and sets poll_due of the worker if there are some. Nothing if it is not open. */
void jzx__reactor_settle(struct jzx__reactor *reactor);

/* Calls back for all events that were fetched, or, if there are none, for those that are there now.
 * True if there may be more. */
bool jzx__reactor_poll(struct jzx__reactor *reactor);

/* True if one of the bits is set (E3). */
static inline bool jzx__registration_is_ready(const struct jzx__registration *registration,
                                              uint32_t bits) {
    return (registration->ready & bits) != 0;
}

/* A call came back with EAGAIN: not ready for that until the next event (E3). */
static inline void jzx__registration_block(struct jzx__registration *registration, uint32_t bits) {
    registration->ready &= (uint8_t)~bits;
}

#endif
