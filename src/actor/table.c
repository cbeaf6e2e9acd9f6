/* SPDX-License-Identifier: MIT */
/* Minting, handing out and taking back slots. */
#include "actor/table.h"

#include "base/alloc.h"
#include "base/assert.h"

#define SLOT_ALIGN 128u

/* A cache may keep at most this fraction of the bound. */
#define CACHE_SHARE 64u

/* So many new slots at a time: a loop with few actors stays small. */
#define MINT_MAX 31u

static uint32_t chunk_of(uint32_t index) {
    return 31u ^ (uint32_t)__builtin_clz(index + JZX__TABLE_FIRST);
}

static size_t slots_size_bytes(uint32_t chunk) {
    return ((size_t)1 << chunk) * sizeof(struct jzx__actor);
}

/* Entries of the directory that covers all slots up to the end of a chunk. */
static size_t directory_count(uint32_t chunk) {
    return ((size_t)2 << chunk) / JZX__TABLE_FIRST - 1;
}

/* With its directory, which follows the slots. */
static size_t chunk_size_bytes(uint32_t chunk) {
    return slots_size_bytes(chunk) + directory_count(chunk) * sizeof(uintptr_t);
}

void jzx__table_init(struct jzx__table *table, uint32_t max, const jzx_allocator *allocator) {
    /* relaxed: not shared yet, both */
    jzx__atomic_store_relaxed(&table->minted, 0u);
    jzx__atomic_store_relaxed(&table->directory, NULL);
    for (uint32_t i = 0; i < JZX__TABLE_CHUNK_COUNT; i++)
        table->chunks[i] = NULL;
    jzx__lock_init(&table->lock);
    for (uint32_t i = 0; i < JZX__TABLE_KEEPER_COUNT; i++)
        jzx__lock_init(&table->keepers[i]);
    table->free = NULL;
    table->free_count = 0;
    table->max = max;
    table->retired = 0;
    table->allocator = allocator;
}

void jzx__table_deinit(struct jzx__table *table) {
    for (uint32_t i = 0; i < JZX__TABLE_CHUNK_COUNT; i++) {
        if (table->chunks[i] != NULL)
            jzx__free_aligned(table->allocator, table->chunks[i], chunk_size_bytes(i), SLOT_ALIGN);
    }
    for (uint32_t i = 0; i < JZX__TABLE_KEEPER_COUNT; i++)
        jzx__lock_deinit(&table->keepers[i]);
    jzx__lock_deinit(&table->lock);
}

void jzx__slot_cache_init(struct jzx__slot_cache *cache, const struct jzx__table *table,
                          uint32_t cache_count) {
    uint32_t share = table->max / CACHE_SHARE / cache_count;
    cache->count = 0;
    cache->limit = share < JZX__SLOT_CACHE_MAX ? share : JZX__SLOT_CACHE_MAX;
}

void jzx__slot_cache_deinit(const struct jzx__slot_cache *cache, struct jzx__table *table) {
    table->free_count += cache->count;
}

uint32_t jzx__table_in_use(const struct jzx__table *table) {
    /* relaxed: nobody else is left */
    uint32_t minted = jzx__atomic_load_relaxed(&table->minted);
    return minted - table->free_count - table->retired;
}

/* The directory of a new chunk: that of the one before, and its own slots. */
static void fill_directory(uintptr_t *directory, const struct jzx__table *table, uint32_t chunk) {
    /* relaxed: written under the lock that we hold */
    const uintptr_t *before = jzx__atomic_load_relaxed(&table->directory);
    size_t first = ((size_t)1 << chunk) / JZX__TABLE_FIRST - 1;
    /* The difference may wrap: it is never a pointer. */
    uintptr_t origin =
        (uintptr_t)table->chunks[chunk] - first * JZX__TABLE_FIRST * sizeof(struct jzx__actor);
    for (size_t i = 0; i < directory_count(chunk); i++)
        directory[i] = i < first ? before[i] : origin;
}

/* The chunk of an index that is about to be minted; false without memory. */
static bool ensure_chunk(struct jzx__table *table, uint32_t index) {
    uint32_t chunk = chunk_of(index);
    if (table->chunks[chunk] != NULL)
        return true;
    char *slots = jzx__alloc_aligned(table->allocator, chunk_size_bytes(chunk), SLOT_ALIGN);
    if (slots == NULL)
        return false;
    jzx__advise_large_pages(slots, slots_size_bytes(chunk));
    uintptr_t *directory = (void *)(slots + slots_size_bytes(chunk));
    table->chunks[chunk] = slots;
    fill_directory(directory, table, chunk);
    /* release: pairs with the acquire in jzx__table_slot; publishes the directory */
    jzx__atomic_store_release(&table->directory, directory);
    return true;
}

/* A slot that never was, in the state of a free one (I6). Under the lock. */
static struct jzx__actor *mint(struct jzx__table *table, jzx_err *err) {
    /* relaxed: written under the lock that we hold */
    uint32_t index = jzx__atomic_load_relaxed(&table->minted);
    if (index >= JZX_ACTORS_MAX || index - table->retired >= table->max) {
        *err = JZX_ERR_MAX_ACTORS; /* T3 */
        return NULL;
    }
    if (!ensure_chunk(table, index)) {
        *err = JZX_ERR_NO_MEMORY;
        return NULL;
    }
    struct jzx__actor *slot = jzx__table_slot(table, index);
    slot->task.entry = NULL;
    /* relaxed, all five: published by the release of minted (T1) */
    jzx__atomic_store_relaxed(&slot->task.id, jzx_make_id(1, index));
    jzx__atomic_store_relaxed(&slot->task.state, jzx__state_make(1));
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&slot->task.owner, JZX__OWNER_FLAGS);
    jzx__atomic_store_relaxed(&slot->task.inbox, JZX__INBOX_CLOSED);
    /* relaxed: as above. A monitor or timer for a guessed id looks at it before it is refused */
    jzx__atomic_store_relaxed(&slot->task.cold, NULL);
    /* release: pairs with the acquire in lookup; publishes the chunk and the slot's words */
    jzx__atomic_store_release(&table->minted, index + 1);
    return slot;
}

static struct jzx__actor *take_free(struct jzx__table *table) {
    struct jzx__actor *slot = table->free;
    if (slot != NULL) {
        table->free = (void *)slot->task.run.next;
        table->free_count--;
    }
    return slot;
}

static void put_free(struct jzx__table *table, struct jzx__actor *slot) {
    slot->task.run.next = (void *)table->free;
    table->free = slot;
    table->free_count++;
}

/* Half fills an empty cache with slots that were used before, or with a few new ones, so that they
 * come out of it in the order in which they would have come from the table. Under the lock. */
static void fill_cache(struct jzx__table *table, struct jzx__slot_cache *cache) {
    struct jzx__actor *batch[JZX__SLOT_CACHE_MAX];
    jzx_err ignored; /* what cannot be had now is asked for again when it is needed */
    uint32_t count = 0;
    while (count < cache->limit / 2) {
        struct jzx__actor *slot = take_free(table);
        if (slot == NULL && (count >= MINT_MAX || (slot = mint(table, &ignored)) == NULL))
            break;
        batch[count++] = slot;
    }
    while (count > 0)
        cache->slots[cache->count++] = batch[--count];
}

struct jzx__actor *jzx__table_acquire_slow(struct jzx__table *table, struct jzx__slot_cache *cache,
                                           jzx_err *err) {
    jzx__lock_acquire(&table->lock);
    struct jzx__actor *slot = take_free(table);
    if (slot == NULL)
        slot = mint(table, err);
    if (slot != NULL && cache != NULL)
        fill_cache(table, cache);
    jzx__lock_release(&table->lock);
    return slot;
}

void jzx__table_release_slow(struct jzx__table *table, struct jzx__slot_cache *cache,
                             struct jzx__actor *slot) {
    jzx__lock_acquire(&table->lock);
    if (jzx_id_generation(jzx__actor_id(slot)) == 0) {
        table->retired++; /* T4 */
    } else {
        put_free(table, slot);
        while (cache != NULL && cache->count > cache->limit / 2)
            put_free(table, cache->slots[--cache->count]);
    }
    jzx__lock_release(&table->lock);
}
