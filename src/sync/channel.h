/* SPDX-License-Identifier: MIT */
/* A channel: a ring of values, those that wait to send and those that wait to receive, under one
 * lock.
 *
 *   C1  a value leaves the ring only in the receiver's own code. To one that waits, a value is
 *       **promised** by its claim: it stays in the ring, and others find one less. So a receiver
 *       that is killed before it goes on has consumed nothing (give_back takes the promise back).
 *   C2  nobody waits to receive while a value is there that is promised to none, and nobody waits
 *       to send while there is room: whoever makes either true serves the first that waits.
 *   C3  the value of one that waits to send lies in its frame. Whoever makes room copies it into
 *       the ring, by a claim that it has won, so values keep the order of those that wait.
 *   C4  a channel that is closed and empty has nobody who waits: whoever makes both true wakes all
 *       with CLOSED. While values are left that are promised, others wait: a promise may be taken
 *       back. */
#ifndef JZX_SYNC_CHANNEL_H
#define JZX_SYNC_CHANNEL_H

#include "sync/object.h"

struct jzx__channel {
    struct jzx__object object; /* first */
    struct jzx__lock lock;
    struct jzx__source receivers; /* slots are not used: C1 */
    struct jzx__source senders;   /* slots are their values: C3 */
    _Atomic uint32_t refs;        /* of parties at either (waiter/A11) */

    /* Under the lock, but for what never changes. */
    unsigned char *ring;
    size_t value_size; /* never changes, as the next */
    size_t bound;
    size_t size;     /* of the ring, in values */
    size_t first;    /* index of the oldest value */
    size_t count;    /* values in the ring */
    size_t promised; /* of them */
    bool is_closed;
    bool closes; /* after the first value: never changes */
    jzx_allocator allocator;
};

static inline struct jzx__channel *jzx__channel_of(const void *storage) {
    return jzx__object_of(storage, JZX__SYNC_CHANNEL);
}

/* After a wait as a receiver that has ended with ITEM. */
void jzx__channel_take_promised(struct jzx__channel *channel, void *value, struct jzx__worker *me);

#endif
