/* SPDX-License-Identifier: MIT */
/* Records of timers: found by an index, which ids are made of, and never unmapped while the loop
 * lives, so that whoever has an old id may look at the record's state (type-stable).
 *
 * As in the table of actors, records live in chunks that double in size; as in the slabs, a worker
 * has a batch at hand and a full one in reserve, and exchanges batches with what all share.
 *
 *   Y1  index < minted  =>  its chunk exists, and the record's state is initialised.
 *   Y2  a record is in exactly one place: in use, in a worker's cache, or shared. */
#ifndef JZX_TIMER_POOL_H
#define JZX_TIMER_POOL_H

#include "base/atomic.h"
#include "base/lock.h"

#include "jzx/config.h"

#include <stddef.h>
#include <stdint.h>

struct jzx__timer;

#define JZX__TIMER_FIRST 64u
#define JZX__TIMER_CHUNK_COUNT 32u
#define JZX__TIMER_BATCH 64u

/* What a free record begins with. */
struct jzx__timer_free {
    struct jzx__timer_free *next;       /* in its batch */
    struct jzx__timer_free *next_batch; /* of the first of a shared batch */
};

struct jzx__timer_pool {
    _Atomic uintptr_t origins[JZX__TIMER_CHUNK_COUNT]; /* of chunk k, less 2^k records; 0: none */
    _Atomic uint32_t minted;

    /* Guarded by lock. */
    struct jzx__lock lock;
    struct jzx__timer_free *batches; /* full ones */
    struct jzx__timer_free *loose;   /* single records, of threads that are no workers */
    uint32_t free_count;             /* of both, and of the caches that have gone */
    const jzx_allocator *allocator;
};

/* Of one worker. */
struct jzx__timer_cache {
    struct jzx__timer_free *first;
    uint32_t count;
    struct jzx__timer_free *reserve; /* a full batch, or NULL */
};

void jzx__timer_pool_init(struct jzx__timer_pool *pool, const jzx_allocator *allocator);

/* All records are forgotten; after all its caches. */
void jzx__timer_pool_deinit(struct jzx__timer_pool *pool);
void jzx__timer_cache_deinit(struct jzx__timer_pool *pool, const struct jzx__timer_cache *cache);

/* A record whose state and number, which is its index, are set; the rest is not cleared. NULL
 * without memory. cache is the calling worker's, or NULL. */
struct jzx__timer *jzx__timer_alloc(struct jzx__timer_pool *pool, struct jzx__timer_cache *cache);
void jzx__timer_free(struct jzx__timer_pool *pool, struct jzx__timer_cache *cache,
                     struct jzx__timer *timer);

/* True if a record can be freed without a call. */
static inline bool jzx__timer_cache_has_room(const struct jzx__timer_cache *cache) {
    return cache->count != JZX__TIMER_BATCH;
}

static inline void jzx__timer_free_easy(struct jzx__timer_cache *cache, void *timer) {
    struct jzx__timer_free *record = timer;
    record->next = cache->first;
    cache->first = record;
    cache->count++;
}

#endif
