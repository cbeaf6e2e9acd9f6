/* SPDX-License-Identifier: MIT */
/* The table of actors: from an index to a block in a few instructions, growing up to max_actors.
 *
 * Blocks live in chunks that double in size and are never freed while the loop lives, so that a
 * late sender may always read the words of a slot (type-stable). With FIRST added to an index, its
 * chunk is the position of the highest bit: chunk k holds the 2^k places from 2^k on. A look-up
 * does not compute that: a directory has for each FIRST slots the address that slot 0 would have,
 * so that it is two loads, a shift and an addition. Each chunk brings the directory of all slots up
 * to its end, in the same allocation; the older ones stay readable. Writing it, under the lock, is
 * an eighth of a byte for each slot of the table. An idle bound of millions costs nothing.
 *
 * T1  index < minted  =>  its chunk exists, every directory that can be seen then has it, and the
 *     slot's state, owner and inbox are initialised.
 * T2  a slot is in exactly one place: alive, ending with an entry under way, in a worker's cache,
 *     in the shared free list, or retired.
 * T3  alive <= max_actors: a slot is minted only if fewer than max_actors others can be alive.
 * T4  generations start at 1 and never wrap: a slot that has used the last one is retired. */
#ifndef JZX_ACTOR_TABLE_H
#define JZX_ACTOR_TABLE_H

#include "actor/actor.h"
#include "base/lock.h"

#include "jzx/config.h"

#define JZX__TABLE_FIRST_SHIFT 6u
#define JZX__TABLE_FIRST (1u << JZX__TABLE_FIRST_SHIFT)
#define JZX__TABLE_CHUNK_COUNT 32u
#define JZX__TABLE_KEEPER_COUNT 16u

struct jzx__table {
    /* Read by every send. */
    _Atomic(const uintptr_t *) directory; /* the newest; never changes once it is seen */
    _Atomic uint32_t minted;              /* slots that exist */

    /* Guarded by lock. */
    struct jzx__lock lock;
    struct jzx__actor *free;              /* linked by task.run.next */
    uint32_t free_count;                  /* of these, and of the caches that have gone */
    char *chunks[JZX__TABLE_CHUNK_COUNT]; /* NULL: none */
    uint32_t max;
    uint32_t retired;
    const jzx_allocator *allocator;

    /* Of slots whose actors keep mail, by their index: a sender on another thread checks the id and
     * pushes under one, and the slot of an actor that has ended is not free before it was held once
     * more. So what is accepted under an id is in the mailbox of that actor (mailbox/B5). */
    struct jzx__lock keepers[JZX__TABLE_KEEPER_COUNT];
};

static inline struct jzx__lock *jzx__table_keeper(struct jzx__table *table, uint32_t index) {
    return &table->keepers[index % JZX__TABLE_KEEPER_COUNT];
}

void jzx__table_init(struct jzx__table *table, uint32_t max, const jzx_allocator *allocator);
void jzx__table_deinit(struct jzx__table *table);
void jzx__slot_cache_init(struct jzx__slot_cache *cache, const struct jzx__table *table,
                          uint32_t cache_count);
void jzx__slot_cache_deinit(const struct jzx__slot_cache *cache, struct jzx__table *table);

/* Slots of actors that are alive, or end: all caches have gone. */
uint32_t jzx__table_in_use(const struct jzx__table *table);

/* The slot of an index below minted. */
static inline struct jzx__actor *jzx__table_slot(const struct jzx__table *table, uint32_t index) {
    /* acquire: pairs with the release in ensure_chunk; publishes the directory. Who has read minted
     * sees one that has this index (T1) */
    const uintptr_t *directory = jzx__atomic_load_acquire(&table->directory);
    uintptr_t origin = directory[index >> JZX__TABLE_FIRST_SHIFT];
    struct jzx__actor *slot = (void *)(origin + (uint64_t)index * sizeof(struct jzx__actor));
    if (slot == NULL)
        __builtin_unreachable(); /* spares callers a test that the compiler cannot see through */
    return slot;
}

/* The slot that an id names if its generation is the current one, else NULL. Any thread. */
static inline struct jzx__actor *jzx__table_lookup(const struct jzx__table *table,
                                                   jzx_actor_id id) {
    uint32_t index = jzx_id_index(id);
    /* acquire: pairs with the release in mint; publishes the chunk and the slot's words (T1) */
    if (JZX_UNLIKELY(index >= jzx__atomic_load_acquire(&table->minted)))
        return NULL;
    struct jzx__actor *actor = jzx__table_slot(table, index);
    /* acquire: pairs with the release that made the id stale; on the fast path it is our own store,
     * elsewhere the inbox word decides whether the actor still lives */
    return jzx__atomic_load_acquire(&actor->task.id) == id ? actor : NULL;
}

/* Whether the id is that of a living actor: false also for the id to come of a free slot, which a
 * look-up finds. For callers that do not push to its inbox, which would refuse. Any thread. */
static inline bool jzx__table_is_alive(const struct jzx__table *table, jzx_actor_id id) {
    const struct jzx__actor *actor = jzx__table_lookup(table, id);
    /* relaxed: an actor that lived when the caller learnt its id, or a guess */
    return id != JZX_NOBODY && actor != NULL &&
           (jzx__atomic_load_relaxed(&actor->task.owner) & JZX__OWNER_GONE) == 0;
}

JZX_COLD struct jzx__actor *jzx__table_acquire_slow(struct jzx__table *table,
                                                    struct jzx__slot_cache *cache, jzx_err *err);
JZX_COLD void jzx__table_release_slow(struct jzx__table *table, struct jzx__slot_cache *cache,
                                      struct jzx__actor *slot);

/* A free slot, CLOSED, its id that of the actor to come. NULL and *err (MAX_ACTORS or NO_MEMORY)
 * otherwise. cache is the calling worker's, or NULL. */
static inline struct jzx__actor *jzx__table_acquire(struct jzx__table *table,
                                                    struct jzx__slot_cache *cache, jzx_err *err) {
    if (JZX_LIKELY(cache != NULL && cache->count > 0))
        return cache->slots[--cache->count];
    return jzx__table_acquire_slow(table, cache, err);
}

/* Gives back a slot whose actor has ended; its generation has been raised already. cache is the
 * calling worker's. */
static inline void jzx__table_release(struct jzx__table *table, struct jzx__slot_cache *cache,
                                      struct jzx__actor *slot) {
    if (JZX_LIKELY(cache != NULL && cache->count < cache->limit &&
                   jzx_id_generation(jzx__actor_id(slot)) != 0))
        cache->slots[cache->count++] = slot;
    else
        jzx__table_release_slow(table, cache, slot);
}

#endif
