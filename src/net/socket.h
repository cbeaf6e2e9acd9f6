/* SPDX-License-Identifier: MIT */
/* A socket: what streams, listeners and datagram sockets have in common. A handle, an owner, a
 * place at the reactor of the owner's worker, and those who wait for it.
 *
 * A record is found by {index, generation} and is never unmapped while its loop lives, so that any
 * thread may lock the record of an old handle and look. Each has a lock, and all of it is guarded
 * by that, unless it says otherwise.
 *
 *   net/N1  the lock is held for a few instructions and for system calls that do not block. Nothing
 *           of the user runs under it, and no operation completes under it: those are gathered
 *           (struct jzx__done) and completed when it is released. Fibers are woken, and messages
 *           without weight delivered, under it.
 *   net/N2  a generation is that of one open socket. It goes on when the socket is closed, under
 *           the lock, before the descriptor is: so a stale handle finds nothing, and whoever has
 *           the lock and a handle that fits has the socket.
 *   net/N3  LISTED: it is in the list (watch_fd.h) of the actor `lister`, and registered at the
 *           reactor of that actor's worker, which the actor does not leave. Only that worker's
 *           thread lists, unlists and sets the timer. The lister is the owner, or was before it
 *           gave the socket away.
 *   net/N4  ASKING: the ask is under way, to the lister if there is one, else to the owner, and
 *           brings the socket to that actor's worker: to be listed, unlisted, or passed on.
 *   net/N5  a record is free when it is closed and neither LISTED nor ASKING.
 *   net/N6  `ready` is sticky as that of a registration (reactor/E3), but it is the lock's: the
 *           calls are made on any thread, as in a turn that has lost its worker.
 *   net/N7  the lock and the sources of a record are made once, when the record is, and stay: a
 *           fiber that was woken by a close leaves its source later, whatever the record is then.
 *   net/N8  the lock of a new socket may be taken under another one, as that of its listener:
 *           nobody knows the socket. A thread with a stale handle may have the lock for a moment,
 *           in which it takes no other.
 *   net/N9  `counted` is the worker among whose sockets the socket counts: where it is registered,
 *           was registered last, or is going to be. `noted` is where a new actor begins that is
 *           given an accepted stream; the first gift uses it up. STAYS binds each new actor that is
 *           given the stream to the worker where it was made (place.h).
 *
 * Rejected: requests by message to the owner's worker (a read by anybody else would cost two turns;
 * and a turn that has lost its worker would need them for everything); a lock-free record (a
 * system call costs twenty times what an uncontended lock does). */
#ifndef JZX_NET_SOCKET_H
#define JZX_NET_SOCKET_H

#include "actor/message.h"
#include "fiber/operate.h"
#include "io/io.h"
#include "op/op.h"

#include "jzx/stream.h"

enum jzx__socket_kind {
    JZX__SOCKET_NONE, /* a record that is free */
    JZX__SOCKET_STREAM,
    JZX__SOCKET_LISTENER,
    JZX__SOCKET_DATAGRAM,
    JZX__SOCKET_SUBPROCESS /* no socket, but its descriptor is watched and owned as one */
};

#define JZX__SOCKET_ASKING 0x01u /* N4 */
#define JZX__SOCKET_CLOSED 0x02u
#define JZX__SOCKET_STAYS 0x04u /* N9 */

/* Of a record, whatever kind of socket it is. */
#define JZX__SOCKET_SIZE 448u
_Static_assert(JZX__SOCKET_SIZE % JZX_CACHE_LINE == 0, "each begins a cache line");

struct jzx__socket;

/* Begins what is kept in the slot of an operation (op/op.h) on a socket. */
struct jzx__socket_op {
    struct jzx__socket *socket;
    struct jzx__socket_op *next; /* in a jzx__done */
    bool is_pending;             /* with the socket, under its lock */
    int16_t err;                 /* in a jzx__done, as what follows */
    uint16_t os_error;
    uint32_t len;
};

/* What is to be done when the lock is released (N1). */
struct jzx__done {
    struct jzx__socket_op *first;
    struct jzx__socket_op *last;
    struct jzx__node *garbage; /* messages of callers, which may have destructors */
    jzx_listener vacated;      /* a stream of that listener was closed; 0: none */
    struct jzx__wake wake;     /* of the fiber that was served */
};

/* A fiber that waits at a source of a socket, in the frame of its call. */
struct jzx__socket_wait {
    struct jzx__wait_link link;
    uint64_t handle;
    uint64_t number;  /* of one that waits in line: its place among all writes */
    size_t done;      /* bytes that are out */
    bool has_turn;    /* to write; under the lock */
    bool is_shutdown; /* what it waits to do */
};

/* What a kind of socket does. All under the lock; what is NULL does nothing. */
struct jzx__socket_ops {
    /* Something has become ready: socket->ready has it. On the home worker. */
    void (*ready)(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done);
    /* It is closed, or has failed (socket->err): all that is pending completes with err. Fibers
     * were woken. The descriptor is closed already. */
    void (*end)(struct jzx__socket *socket, struct jzx__worker *me, jzx_err err,
                struct jzx__done *done);
    /* The descriptor is not the socket's any more. NULL: it is closed. */
    void (*put_away)(struct jzx__socket *socket, int fd);
    /* The last call: frees what it has. */
    void (*release)(struct jzx__socket *socket, struct jzx__worker *me);
    /* It was listed, or jzx__socket_attend was called: on the home worker. */
    void (*listed)(struct jzx__socket *socket, struct jzx__worker *me);
    /* The owner gives it away. */
    void (*given)(struct jzx__socket *socket, struct jzx__worker *me);
    /* A listener: a stream that it has accepted was closed. */
    void (*vacated)(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done);
    /* Its timer has expired: on the home worker. */
    void (*expire)(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done);
    /* Whether the fiber, the first in `line`, may have its turn now; and it has it. */
    bool (*may_go)(struct jzx__socket *socket, const struct jzx__socket_wait *wait);
    void (*grant)(struct jzx__socket *socket, struct jzx__socket_wait *wait);
    /* A fiber was killed after it was served (waiter/A12): takes its work back. */
    void (*revoke)(struct jzx__socket *socket, struct jzx__socket_wait *wait,
                   struct jzx__worker *me);
    /* A fiber that waited was killed, and will not go on: it may have been woken, or have its
     * turn. */
    void (*abandon)(struct jzx__socket *socket, struct jzx__socket_wait *wait,
                    struct jzx__worker *me, struct jzx__done *done);
};

struct jzx__socket {
    struct jzx__node ask;  /* first: a node begins a cache line */
    struct jzx__lock lock; /* N7, as the next three */
    union {
        struct jzx__source readers; /* fibers that wait for READ */
        struct jzx__served_source reading;
    };
    struct jzx__source writers; /* and for WRITE */
    struct jzx__source line;    /* and for their turn to write */
    struct jzx_loop *loop;      /* never changes, as the next */
    uint32_t index;
    uint32_t generation; /* N2 */
    uint8_t kind;        /* enum jzx__socket_kind */
    uint8_t flags;       /* JZX__SOCKET_* */
    uint8_t ready;       /* JZX__READY_*; N6 */
    int16_t err;         /* it has failed by that, and has no descriptor any more; JZX_OK */
    uint16_t os_error;
    const struct jzx__socket_ops *ops;
    jzx_actor_id owner;
    jzx_actor_id lister;       /* N3; JZX_NOBODY: it is not LISTED */
    struct jzx__reactor *home; /* of the lister's worker; N3 */
    struct jzx__registration registration;
    struct jzx__waiter *timer; /* or NULL; the home worker's */
    struct jzx__link at_owner; /* in the list of the lister; of a free record: see free */
    struct jzx__cold *spare;   /* that the ask brings along (part.h) */
    uint16_t noted;            /* N9, as the next: 1 + the index of a worker; 0: none */
    uint16_t counted;
};

#define JZX__SOCKET_FIRST                                                                          \
    64u /* records of the first chunk; each further one doubles their number */
#define JZX__SOCKET_CHUNK_COUNT 20u

/* The sockets of a worker (N9). A hint. */
struct jzx__socket_load {
    _Atomic uint32_t count;
};

/* Of a loop. */
struct jzx__net {
    _Atomic(char *) chunks[JZX__SOCKET_CHUNK_COUNT];
    _Atomic uint32_t minted;
    struct jzx__socket_load *loads; /* one for each worker */
    struct jzx__lock lock;          /* of what follows */
    struct jzx__list free;
    uint32_t open_count;
};

static inline struct jzx__net *jzx__net_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_NET];
}

static inline const struct jzx__os *jzx__socket_os(const struct jzx__socket *socket) {
    return jzx__io_of(socket->loop)->os;
}

static inline int jzx__socket_fd(const struct jzx__socket *socket) {
    return socket->registration.entry.fd;
}

static inline uint64_t jzx__socket_handle(const struct jzx__socket *socket) {
    return (uint64_t)socket->generation << 32 | socket->index;
}

/* ---- records ---- */

/* A socket without an owner, that nobody knows yet; all behind the struct jzx__socket is zero. The
 * descriptor is its own from here on. NULL without memory. Any thread, in a visit. */
struct jzx__socket *jzx__socket_create(struct jzx_loop *loop, int fd, enum jzx__socket_kind kind,
                                       const struct jzx__socket_ops *ops);

/* The record that a handle is about, or was; NULL if there never was one. Any thread. */
struct jzx__socket *jzx__socket_find(const struct jzx_loop *loop, uint64_t handle);

/* Locks the socket of a handle; NULL if it is closed, or of another kind: nothing is locked. Any
 * thread, in a visit (S4 of seat.h). */
struct jzx__socket *jzx__socket_acquire(struct jzx_loop *loop, uint64_t handle,
                                        enum jzx__socket_kind kind);

/* Locks one that is there: of an operation, of a wait, of one that was just made. */
static inline void jzx__socket_lock(struct jzx__socket *socket) {
    jzx__lock_acquire(&socket->lock);
}

/* Unlocks, frees the record if nothing needs it any more (N5), and does what is left to do. me may
 * be NULL. */
void jzx__socket_release(struct jzx__socket *socket, struct jzx__worker *me,
                         struct jzx__done *done);

/* ---- its life, all under the lock ---- */

/* Gives a new socket, or one that its owner gives away, to that actor. On an error nothing has
 * happened: JZX_ERR_NO_SUCH_ACTOR, JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY,
 * JZX_ERR_IO_REG_FAILED. */
jzx_err jzx__socket_adopt(struct jzx__socket *socket, struct jzx__worker *me, jzx_actor_id owner);

/* Closes it: N2. Nothing if it is closed. */
void jzx__socket_close(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done);

/* Closes the descriptor; the handle stays, and says err for everything. */
void jzx__socket_fail(struct jzx__socket *socket, struct jzx__worker *me, jzx_err err, int os_error,
                      struct jzx__done *done);

/* Has ops->expire called then; JZX_NEVER: not at all. On the home worker; false without memory. */
bool jzx__socket_set_timer(struct jzx__socket *socket, struct jzx__worker *me, uint64_t due_ns);

/* Has ops->listed called on the home worker: now, or when the ask has come there. */
void jzx__socket_attend(struct jzx__socket *socket, struct jzx__worker *me);

/* ---- operations ---- */

/* Under the lock: it is not pending any more, and completes when that is released. */
void jzx__done_add(struct jzx__done *done, struct jzx__socket_op *op, jzx_err err, int os_error,
                   size_t len);

/* Under the lock: the message is destroyed when that is released. */
void jzx__done_drop(struct jzx__done *done, struct jzx__message *message);

/* ---- fibers ---- */

/* Waits at the source until the socket is ready for it, closed or failed: JZX_OK, look again.
 * JZX_ERR_TIMEOUT, JZX_ERR_CANCELLED. On the fiber's stack, without a bracket. The wait has its
 * handle. */
jzx_err jzx__socket_await(jzx_context *ctx, struct jzx__socket_wait *wait,
                          struct jzx__source *source, uint64_t deadline_ns);

/* Wakes the first that waits at a source, or all. Under the lock. */
bool jzx__socket_wake_one(struct jzx__source *source, struct jzx__worker *me);
void jzx__socket_wake_all(struct jzx__source *source, struct jzx__worker *me);

/* Lets the first in line go on, if it may. Under the lock; true if one does. */
bool jzx__socket_admit(struct jzx__socket *socket, struct jzx__worker *me);

/* ---- messages ---- */

/* Sends the owner a message without weight, which has its tag, payload and len. Under the lock. One
 * that cannot be delivered is destroyed: false. */
bool jzx__socket_tell(struct jzx__socket *socket, struct jzx__worker *me,
                      struct jzx__message *message, enum jzx__lane lane);

#endif
