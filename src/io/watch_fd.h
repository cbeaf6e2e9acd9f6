/* SPDX-License-Identifier: MIT */
/* Watches of descriptors: readiness as messages to an actor.
 *
 * A watch is one record with two nodes in it: the **event**, a message that is sent when the
 * descriptor is ready, and the **ask**, by which other threads bring the watch to its owner's
 * worker: to be registered, or to be put away. So whatever happens later needs no memory.
 *
 *   fd/X1  what is marked as the lock's is guarded by io->lock, and so is every call to the system
 *          about a watch (reactor/E4). The registration's place in the reactor, the owner's list
 *          and its pin are touched by the owner's worker only, where the watch is registered: the
 *          owner is pinned while it is.
 *   fd/X2  OUT from the moment an event is sent until it was released, and the descriptor is not
 *          armed meanwhile: at most one event is outstanding.
 *   fd/X3  DEAD: its events reach nobody any more; set by unwatch, by a watch of another owner, and
 *          by the owner's end, on any thread, with the descriptor detached in the same step: when
 *          unwatch returns, the number may be used for another file.
 *   fd/X4  LOST: the system does not know the descriptor any more. The ask brings that to the
 *          owner, and the event goes out for the last time. It stays in the table until that is
 *          handled, so that unwatch, or a new watch of the number, drops it.
 *   fd/X5  a record is freed when it is neither LISTED nor OUT nor ASKING (its ask is under way),
 *          by whoever ends the last of these.
 *
 * Rejected: one message per event from the slabs (an event that finds no memory would be lost);
 * edges (a handler that does not read all would never hear again); registering on the caller's
 * thread (the reactor would need a lock in every event of every stream). */
#ifndef JZX_IO_WATCH_FD_H
#define JZX_IO_WATCH_FD_H

#include "actor/message.h"
#include "io/io.h"

#include "jzx/io.h"

#define JZX__FD_LISTED 0x01u  /* in its owner's list */
#define JZX__FD_ASKING 0x02u  /* X5 */
#define JZX__FD_OUT 0x04u     /* X2 */
#define JZX__FD_DEAD 0x08u    /* X3 */
#define JZX__FD_LOST 0x10u    /* X4 */
#define JZX__FD_RENEWED 0x20u /* watched again while OUT: the number may be another file by now */

/* What a watch does besides, that the library makes for itself. It is not in the table. All under
 * the lock. */
struct jzx__fd_kind {
    /* It was registered at its owner's worker; 0 or the negative errno. And before it is not. */
    int (*attach)(struct jzx__reactor *reactor, struct jzx__fd_watch *watch);
    void (*detach)(struct jzx__reactor *reactor, struct jzx__fd_watch *watch);
    /* Writes the payload of the event, which is about to be handled. False: there is nothing. */
    bool (*write)(struct jzx__fd_watch *watch);
    /* The record is about to be freed. */
    void (*close)(struct jzx__fd_watch *watch);
};

struct jzx__fd_watch {
    _Alignas(JZX_CACHE_LINE) char block[JZX_CACHE_LINE]; /* the event */
    _Alignas(JZX_CACHE_LINE) struct jzx__node ask;
    struct jzx__link at_owner; /* X1 */
    struct jzx__registration registration;
    struct jzx__reactor *home; /* where it is registered; NULL: nowhere. The lock's, as what follows
                                */
    jzx_actor_id owner;        /* never changes */
    uint32_t tag;
    uint8_t flags;                   /* JZX__FD_* */
    uint8_t interest;                /* JZX_IO_* */
    uint8_t ready;                   /* what the event is about: JZX__READY_* */
    struct jzx__cold *spare;         /* of one that is asking to be listed (part.h) */
    const struct jzx__fd_kind *kind; /* never changes; NULL: a descriptor of the program */
};

#define JZX__FD_WATCH_CLASS 2u
_Static_assert(sizeof(struct jzx__fd_watch) <= (size_t)JZX__BLOCK_SIZE_MIN << JZX__FD_WATCH_CLASS,
               "fits its class");

/* What an actor has of I/O: its part. */
struct jzx__actor_io {
    struct jzx__list watches;
    struct jzx__list sockets; /* of the layer above: net/socket.h */
    size_t sockets_size_bytes;
};

_Static_assert(sizeof(struct jzx__actor_io) <= JZX__BLOCK_SIZE_MIN, "fits JZX__PART_CLASS");

/* ---- for watches that the library makes for itself ---- */

/* In a block of JZX__FD_WATCH_CLASS, of which it is the beginning; NULL without memory. */
struct jzx__fd_watch *jzx__fd_watch_create(struct jzx_loop *loop, struct jzx__worker *me, int fd,
                                           jzx_actor_id owner);

/* Has it registered for READ; it has its kind and its tag. On an error nothing has happened, and it
 * is the caller's still. Under the lock, as the next. */
jzx_err jzx__fd_watch_start(struct jzx_loop *loop, struct jzx__worker *me,
                            struct jzx__fd_watch *watch);

/* Ends it; it may be gone after this. */
void jzx__fd_watch_end(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__fd_watch *watch);

/* One that was not started. */
void jzx__fd_watch_destroy(struct jzx_loop *loop, struct jzx__worker *me,
                           struct jzx__fd_watch *watch);

#endif
