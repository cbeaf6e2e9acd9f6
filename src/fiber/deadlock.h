/* SPDX-License-Identifier: MIT */
/* Deadlocks: cycles of fibers that wait for one another.
 *
 * A fiber that waits for a lock, an answer or an end waits for one actor: its **holder**. So waits
 * make chains, and a cycle is complete when the last of its members begins to wait. Each wait that
 * lasts is looked at once: a **probe** follows the chain from it, and comes back to where it began
 * if that wait has completed a cycle.
 *
 *   D1  the list of a worker has the fibers of that worker whose wait is to be looked at, in the
 *       order of their time; a fiber that is in it does not leave the worker. An alarm on the wheel
 *       is set while the list is not empty. It is not taken back, so that short waits cost nothing
 *       but their place in the list.
 *   D2  a member is looked at by its owner, between two turns: then its wait cannot end meanwhile,
 *       and the lock that it waits for is there. The probe travels from worker to worker by a feed.
 *   D3  a loop has one probe. Who finds it under way looks again at the next tick.
 *   D4  a probe goes round twice, and both times finds the same waits: all of them went on at the
 *       moment between the two rounds. A member that waits has what it has, so at that moment each
 *       edge was there as well. The third round marks the waits, so that no other probe reports
 *       the cycle again; then it is reported.
 *   D5  an answer that has come, a handle that somebody else may answer by, a deadline that has
 *       passed and a request to end are no edges. Mail that was not taken in yet may be the answer:
 *       that member is looked at again a tick later, from itself.
 *
 * Rejected: a snapshot of all waits under locks (every wait would take one, and the memory of a
 * lock may be gone when another thread looks at it); a search from time to time (it costs as many
 * looks as there are waits). */
#ifndef JZX_FIBER_DEADLOCK_H
#define JZX_FIBER_DEADLOCK_H

#include "base/list.h"
#include "base/mpsc.h"
#include "sched/waiter.h"

#include "jzx/actor.h"
#include "jzx/config.h"
#include "jzx/id.h"

struct jzx__feed_ops;
struct jzx__fiber;
struct jzx_loop;

#define JZX__DEADLOCK_TEXT_SIZE 512u

/* A fiber's own. */
struct jzx__watched {
    struct jzx__link link; /* D1; next is NULL outside of the list */
    uint64_t look_at_ns;
    uint64_t number;  /* of its wait, so that D4 knows it again */
    bool is_reported; /* D4 */
    bool is_pinned;   /* D1 */
};

/* A worker's own. */
struct jzx__deadlock_watch {
    struct jzx__list list; /* of struct jzx__watched */
    struct jzx__waiter alarm;
    bool is_set; /* the alarm */
};

struct jzx__deadlock_probe {
    _Atomic uint32_t is_out; /* D3. Decides; the rest belongs to who has set it, and travels */
    struct jzx__mpsc_node node;
    jzx_actor_id origin;
    jzx_actor_id at;
    jzx_actor_id turtle; /* where it was some members ago */
    uint32_t round;      /* 1 to 3 */
    uint32_t steps;      /* looks at members, and journeys */
    uint64_t members;
    uint64_t waits; /* a sum over the waits of the round */
    uint64_t waits_before;
    size_t length; /* of the text */
    char name[JZX_NAME_MAX + 1];
    char text[JZX__DEADLOCK_TEXT_SIZE];
};

/* A loop's own. */
struct jzx__deadlocks {
    uint64_t after_ns; /* JZX_NEVER: nobody looks */
    struct jzx__deadlock_probe probe;
};

void jzx__deadlocks_init(struct jzx__deadlocks *deadlocks, const jzx_config *config);
void jzx__deadlock_watch_init(struct jzx__deadlock_watch *watch);
void jzx__deadlock_watch_deinit(struct jzx__deadlock_watch *watch);

/* The fiber begins to wait for its holder. Owner only, as the next. */
void jzx__deadlock_begin(struct jzx__worker *me, struct jzx__fiber *fiber);

/* It waits no more. */
void jzx__deadlock_end(struct jzx__fiber *fiber);

/* JZX__FEED_PROBES: the probe comes to a worker. */
extern const struct jzx__feed_ops jzx__deadlock_probes;

#endif
