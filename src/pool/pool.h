/* SPDX-License-Identifier: MIT */
/* The slots of a handle pool.
 *
 * A slot begins with its mark, one word. In use, the mark is the slot's own reference; otherwise it
 * is the last generation with the index of the next free slot in place of its own. So a look-up is
 * one comparison, and the free list needs no further memory.
 *
 *   V1  mark == ref, at the slot that ref names, if and only if ref is valid.
 *   V2  the mark of a slot that is not in use names another index than its own: that of a free
 *       slot, or index_mask, which no slot has (capacity <= index_mask). No reference, guessed or
 *       stale, equals it.
 *   V3  the generation in a mark only grows: a reference is given out once. A slot whose generation
 *       is the last one is retired when it is freed; it is in no list.
 *   V4  count + free slots + retired + slots never used = capacity.
 *   V5  slots at slot_count and above were never written.
 *   V6  the lock of a shared pool guards everything but the sizes. No code of the program runs
 *       while it is held.
 *
 * Rejected: 32 bits of index and 32 of generation. A pool of 64 slots that makes a million objects
 * a second would retire all of them in three days. With the bits that the capacity leaves over, it
 * lasts almost 300,000 years.
 *
 * Rejected for the shared pool: pointers into slots that count their users. A behaviour that leaves
 * by jzx_exit or by a contained fault would keep its slot for ever, and readers would still race
 * with writers. */
#ifndef JZX_POOL_POOL_H
#define JZX_POOL_POOL_H

#include "base/lock.h"

#include "jzx/pool.h"

struct jzx__pool_names;

struct jzx__pool {
    jzx_pool head;       /* the public part: first, and nothing before it */
    uint32_t free_first; /* index of a free slot; index_mask: none */
    uint32_t capacity;
    uint32_t retired;
    jzx_pool_type type;      /* fixed */
    jzx_allocator allocator; /* fixed */
    struct jzx__lock lock;   /* guards all of a shared pool, and `names` of any */

    struct jzx__pool_names *names; /* where it is registered, or NULL */
    struct jzx__pool *next_named;  /* guarded by the lock of names */
};

/* The head of a shared pool's slot; the value follows, aligned. */
struct jzx__shared_slot {
    jzx_ref mark;
    uint64_t version; /* grows with each change of the value */
};

static inline struct jzx__pool *jzx__pool_of(jzx_pool *pool) {
    return JZX_CONTAINER_OF(pool, struct jzx__pool, head);
}

/* Puts the slot of a valid reference into the free list, or retires it. */
void jzx__pool_give_slot(struct jzx__pool *pool, jzx_ref ref);

#endif
