/* SPDX-License-Identifier: MIT */
/* Slots of operations: found by an index, which ids are made of, and never unmapped while the loop
 * lives, so that whoever has an old id may look at the slot's state (type-stable), as with timers.
 *
 *   S1  index < minted  =>  its chunk exists, and the state of the slot is initialised.
 *   S2  a slot is in exactly one place: in use, in a worker's cache, or in the shared list. */
#ifndef JZX_OP_SLOTS_H
#define JZX_OP_SLOTS_H

#include "base/atomic.h"
#include "base/lock.h"

#include "jzx/config.h"

#include <stdint.h>

struct jzx__op;

#define JZX__OP_FIRST 64u /* slots of the first chunk; each further one doubles their number */
#define JZX__OP_CHUNK_COUNT 26u

/* Free slots that a worker keeps; half of them go back when there are more. */
#define JZX__OP_CACHE_MAX 64u

/* Locks of the sources of operations that fibers wait for; each is that of many. */
#define JZX__OP_LOCKS 16u

struct jzx_loop;
struct jzx__worker;

/* What a loop has. */
struct jzx__op_slots {
    _Atomic(struct jzx__op *) chunks[JZX__OP_CHUNK_COUNT]; /* NULL: none yet */
    _Atomic uint32_t minted;

    /* Guarded by lock. */
    struct jzx__lock lock;
    struct jzx__op *free;
    uint32_t free_count; /* of these, and of the caches that have gone */
    const jzx_allocator *allocator;

    _Alignas(JZX_CACHE_LINE) struct jzx__lock locks[JZX__OP_LOCKS];
    _Atomic uint32_t brought; /* completions that an end waits for (op/O9); a futex */
    /* Set once by the layer that has them, or NULL: completes all operations that only a worker
     * which polls completes. The loop ends, and no other thread drives a worker. May block. */
    void (*drain)(struct jzx_loop *loop, struct jzx__worker *me);
};

/* What a worker has. */
struct jzx__op_cache {
    struct jzx__op *free;
    uint32_t count;
};

void jzx__op_slots_init(struct jzx__op_slots *slots, const jzx_allocator *allocator);

/* All slots are forgotten; after all caches. */
void jzx__op_slots_deinit(struct jzx__op_slots *slots);
void jzx__op_cache_deinit(struct jzx__op_slots *slots, const struct jzx__op_cache *cache);

/* A slot of which generation and index are set. NULL without memory. cache is the calling worker's,
 * or NULL. */
struct jzx__op *jzx__op_slot_alloc(struct jzx__op_slots *slots, struct jzx__op_cache *cache);
void jzx__op_slot_free(struct jzx__op_slots *slots, struct jzx__op_cache *cache,
                       struct jzx__op *op);

/* The slot of that index, or NULL if there never was one. Any thread. */
struct jzx__op *jzx__op_slot_at(const struct jzx__op_slots *slots, uint32_t index);

#endif
