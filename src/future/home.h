/* SPDX-License-Identifier: MIT */
/* The home of the futures of a loop: their memory, their locks, and the threads that wait for one.
 * Futures may outlive their loop, and so does their home: it goes with the last of them.
 *
 *   H1  a thread of the loop (one that has a worker of it) touches the loop as ever. Any other
 *       thread does so only behind the **gate**: between an enter that was let in and its leave.
 *       When the loop closes, it closes the gate and waits until all have left.
 *   H2  `live` futures: each worker counts what it makes less what it frees, without a lock; other
 *       threads count under the home's lock. The sum is taken when the loop closes, when no worker
 *       has a thread; from then on all counting is under the lock, and who frees the last future
 *       frees the home.
 *   H3  a thread that waits for a future is behind the gate, and in a list under the home's lock:
 *       closing cancels its wait.
 *   H4  the locks of futures are the home's, by their address: a mutex takes 40 bytes. Nobody takes
 *       a second one while it has one (waiter/A9), nor the home's lock. */
#ifndef JZX_FUTURE_HOME_H
#define JZX_FUTURE_HOME_H

#include "actor/loop.h"
#include "actor/part.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/slab.h"
#include "sched/seat.h"
#include "sched/waiter.h"

#define JZX__FUTURE_LOCKS 64u /* a power of two */

struct jzx__future_home {
    struct jzx_loop *loop; /* not to be touched when the gate is closed */
    _Atomic uint32_t gate; /* JZX__GATE_CLOSED, and how many are behind it, each JZX__GATE_ONE */

    struct jzx__lock lock; /* of what follows */
    bool is_closed;
    int64_t live;             /* H2: of other threads; of all when it is closed */
    struct jzx__slab slab;    /* of other threads */
    struct jzx__list threads; /* H3 */

    jzx_allocator allocator; /* a copy */
    struct jzx__depot depot; /* blocks of JZX__SLAB_RECORD have the size of a small future */
    struct jzx__lock locks[JZX__FUTURE_LOCKS];
};

/* What a worker has of it (H2). */
struct jzx__future_worker {
    struct jzx__slab slab;
    int64_t live;
};

static inline struct jzx__future_home *jzx__future_home_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_FUTURE];
}

/* ---- visits (H1) ---- */

struct jzx__future_visit {
    struct jzx__visit visit;
    struct jzx__worker *me; /* of the home's loop, or NULL */
    bool is_open;           /* the loop is there until the visit ends */
};

/* False if the loop is closed; the visit is ended in either case. */
bool jzx__future_visit(struct jzx__future_home *home, struct jzx__future_visit *visit);
void jzx__future_visit_end(struct jzx__future_home *home, const struct jzx__future_visit *visit);

/* ---- memory: in a visit, me is its worker ---- */

/* Room for a future of that size; NULL without memory. *class_index is for the free. */
void *jzx__future_alloc(struct jzx__future_home *home, struct jzx__worker *me, size_t size,
                        uint8_t *class_index);

/* After a visit, as the home may go with it: me is of that visit, if it was open. */
void jzx__future_free(struct jzx__future_home *home, struct jzx__worker *me, void *block,
                      size_t size, uint8_t class_index);

static inline struct jzx__lock *jzx__future_lock(struct jzx__future_home *home, const void *block) {
    return &home->locks[(uintptr_t)block / 32 % JZX__FUTURE_LOCKS];
}

/* ---- threads that wait (H3) ---- */

/* Waits on this thread, behind the gate, for what the links say; the cause: CLOSED if the loop is
 * closed meanwhile. */
uint32_t jzx__future_block(struct jzx__future_home *home, struct jzx__wait_link *links,
                           uint32_t count, uint64_t deadline_ns);

#endif
