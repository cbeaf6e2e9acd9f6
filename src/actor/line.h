/* SPDX-License-Identifier: MIT */
/* The lines of senders that wait for room in mailboxes: pure bookkeeping. What they wait for, and
 * who serves them, is in room.h, with the rules F1-F6.
 *
 * Only the owner of an actor may touch the actor's records, and who waits for its room may be on
 * any thread: so lines are found by the actor's id, in stripes, each with a lock. */
#ifndef JZX_ACTOR_LINE_H
#define JZX_ACTOR_LINE_H

#include "actor/actor.h"
#include "base/lock.h"
#include "sched/waiter.h"

#include "jzx/id.h"

/* Under the lock of its stripe. */
struct jzx__line {
    struct jzx__source source; /* first; who waits */
    struct jzx__line *next;    /* in its stripe */
    jzx_actor_id to;
    uint32_t users; /* F6 */
};

#define JZX__LINE_STRIPE_COUNT 16u

struct jzx__line_stripe {
    _Alignas(JZX_CACHE_LINE) struct jzx__lock lock;
    struct jzx__line *lines; /* under the lock */
    _Atomic uint32_t users;  /* of all its lines; written under the lock, read by senders */
};

/* Those of a loop. */
struct jzx__lines {
    struct jzx__line_stripe stripes[JZX__LINE_STRIPE_COUNT];
    struct jzx__sched *sched; /* whose memory they are */
};

void jzx__lines_init(struct jzx__lines *lines, struct jzx__sched *sched);
void jzx__lines_deinit(struct jzx__lines *lines);

static inline struct jzx__line_stripe *jzx__line_stripe(struct jzx__lines *lines, jzx_actor_id to) {
    return &lines->stripes[jzx_id_index(to) % JZX__LINE_STRIPE_COUNT];
}

/* True if somebody waits for room at that actor (F4). Any thread. */
bool jzx__line_is_taken(struct jzx__lines *lines, jzx_actor_id to);

/* The line for that actor if somebody waits in it, else NULL. Under the lock of its stripe. */
struct jzx__line *jzx__line_find(struct jzx__lines *lines, jzx_actor_id to);

/* A use of the line for that actor, which is made if there is none. NULL without memory. me is this
 * thread's worker, or NULL. */
struct jzx__line *jzx__line_enter(struct jzx__lines *lines, struct jzx__worker *me, jzx_actor_id to,
                                  const struct jzx__source_ops *ops);

/* Gives a use up. The last one frees the line. */
void jzx__line_leave(struct jzx__lines *lines, struct jzx__worker *me, struct jzx__line *line);

/* The actor takes no more messages: tells all that wait (F3). Its owner only. */
void jzx__line_close(struct jzx__lines *lines, struct jzx__worker *me, jzx_actor_id to);

/* The care of a state word: what it says of the line, and of urgent messages (urgent.h). */
static inline uint16_t jzx__line_care(uint64_t state) {
    _Static_assert(JZX__WANT_ROOM << 2 == JZX__CARE_LINE, "a shift makes one of the other");
    _Static_assert(JZX__WANT_URGENT << 2 == JZX__CARE_URGENT, "likewise");
    return (uint16_t)((state & (JZX__WANT_ROOM | JZX__WANT_URGENT)) << 2);
}

#endif
