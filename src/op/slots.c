/* SPDX-License-Identifier: MIT */
#include "op/slots.h"

#include "base/alloc.h"
#include "base/leak.h"
#include "op/op.h"

static uint32_t chunk_of(uint32_t index) {
    return 63u - 6u - (uint32_t)__builtin_clzll((uint64_t)index + JZX__OP_FIRST);
}

static size_t chunk_count(uint32_t chunk) {
    return (size_t)JZX__OP_FIRST << chunk;
}

static size_t chunk_size_bytes(uint32_t chunk) {
    return chunk_count(chunk) * sizeof(struct jzx__op);
}

/* The slot of an index whose chunk is there. */
static struct jzx__op *slot_at(const struct jzx__op_slots *slots, uint32_t index) {
    uint32_t chunk = chunk_of(index);
    /* relaxed: written before minted was raised past this index (S1) */
    struct jzx__op *first = jzx__atomic_load_relaxed(&slots->chunks[chunk]);
    return &first[(size_t)index + JZX__OP_FIRST - chunk_count(chunk)];
}

void jzx__op_slots_init(struct jzx__op_slots *slots, const jzx_allocator *allocator) {
    memset(slots, 0, sizeof *slots);
    jzx__lock_init(&slots->lock);
    for (uint32_t i = 0; i < JZX__OP_LOCKS; i++)
        jzx__lock_init(&slots->locks[i]);
    slots->allocator = allocator;
}

void jzx__op_cache_deinit(struct jzx__op_slots *slots, const struct jzx__op_cache *cache) {
    slots->free_count += cache->count;
}

/* Slots that have used their last generation. */
static uint32_t count_retired(const struct jzx__op_slots *slots) {
    /* relaxed: nobody else is left */
    uint32_t minted = jzx__atomic_load_relaxed(&slots->minted);
    uint32_t retired = 0;
    for (uint32_t i = 0; i < minted; i++) /* relaxed: as above */
        retired += jzx__atomic_load_relaxed(&slot_at(slots, i)->state) == 0;
    return retired;
}

static void check_leaks(const struct jzx__op_slots *slots) {
    /* relaxed: as above */
    uint32_t in_use = jzx__atomic_load_relaxed(&slots->minted) - slots->free_count;
    if (in_use != 0)
        in_use -= count_retired(slots);
    jzx__leak_check("the slots of operations", sizeof(struct jzx__op), in_use);
}

void jzx__op_slots_deinit(struct jzx__op_slots *slots) {
    check_leaks(slots);
    for (uint32_t i = 0; i < JZX__OP_CHUNK_COUNT; i++) {
        /* relaxed: nobody else is left */
        struct jzx__op *chunk = jzx__atomic_load_relaxed(&slots->chunks[i]);
        if (chunk != NULL)
            jzx__free_aligned(slots->allocator, chunk, chunk_size_bytes(i), JZX_CACHE_LINE);
    }
    for (uint32_t i = 0; i < JZX__OP_LOCKS; i++)
        jzx__lock_deinit(&slots->locks[i]);
    jzx__lock_deinit(&slots->lock);
}

struct jzx__op *jzx__op_slot_at(const struct jzx__op_slots *slots, uint32_t index) {
    /* acquire: pairs with the release in mint (S1) */
    return index < jzx__atomic_load_acquire(&slots->minted) ? slot_at(slots, index) : NULL;
}

static bool ensure_chunk(struct jzx__op_slots *slots, uint32_t index) {
    uint32_t chunk = chunk_of(index);
    /* relaxed: written under the lock that we hold */
    if (jzx__atomic_load_relaxed(&slots->chunks[chunk]) != NULL)
        return true;
    struct jzx__op *first =
        jzx__alloc_aligned(slots->allocator, chunk_size_bytes(chunk), JZX_CACHE_LINE);
    if (first == NULL)
        return false;
    /* relaxed: published by the release of minted */
    jzx__atomic_store_relaxed(&slots->chunks[chunk], first);
    return true;
}

/* A slot that never was. Under the lock. */
static struct jzx__op *mint(struct jzx__op_slots *slots) {
    /* relaxed: written under the lock that we hold */
    uint32_t index = jzx__atomic_load_relaxed(&slots->minted);
    if (index == chunk_count(JZX__OP_CHUNK_COUNT) - JZX__OP_FIRST || !ensure_chunk(slots, index))
        return NULL;
    struct jzx__op *op = slot_at(slots, index);
    op->index = index;
    /* relaxed: published by the release of minted (S1) */
    jzx__atomic_store_relaxed(&op->state, JZX__OP_GENERATION_ONE);
    /* release: pairs with the acquire in jzx__op_slot_at; publishes the chunk and the state */
    jzx__atomic_store_release(&slots->minted, index + 1);
    return op;
}

/* Under the lock. */
static struct jzx__op *take_shared(struct jzx__op_slots *slots) {
    struct jzx__op *op = slots->free;
    if (op == NULL)
        return mint(slots);
    slots->free = op->next_free;
    slots->free_count--;
    return op;
}

static JZX_COLD void refill(struct jzx__op_slots *slots, struct jzx__op_cache *cache) {
    struct jzx__op *op;
    jzx__lock_acquire(&slots->lock);
    while (cache->count < JZX__OP_CACHE_MAX / 2 && (op = take_shared(slots)) != NULL) {
        op->next_free = cache->free;
        cache->free = op;
        cache->count++;
    }
    jzx__lock_release(&slots->lock);
}

struct jzx__op *jzx__op_slot_alloc(struct jzx__op_slots *slots, struct jzx__op_cache *cache) {
    struct jzx__op *op;
    if (cache == NULL) {
        jzx__lock_acquire(&slots->lock);
        op = take_shared(slots);
        jzx__lock_release(&slots->lock);
        return op;
    }
    if (cache->free == NULL)
        refill(slots, cache);
    op = cache->free;
    if (op != NULL) {
        cache->free = op->next_free;
        cache->count--;
    }
    return op;
}

static JZX_COLD void spill(struct jzx__op_slots *slots, struct jzx__op_cache *cache) {
    jzx__lock_acquire(&slots->lock);
    while (cache->count > JZX__OP_CACHE_MAX / 2) {
        struct jzx__op *op = cache->free;
        cache->free = op->next_free;
        cache->count--;
        op->next_free = slots->free;
        slots->free = op;
        slots->free_count++;
    }
    jzx__lock_release(&slots->lock);
}

void jzx__op_slot_free(struct jzx__op_slots *slots, struct jzx__op_cache *cache,
                       struct jzx__op *op) {
    if (cache == NULL) {
        jzx__lock_acquire(&slots->lock);
        op->next_free = slots->free;
        slots->free = op;
        slots->free_count++;
        jzx__lock_release(&slots->lock);
        return;
    }
    if (cache->count == JZX__OP_CACHE_MAX)
        spill(slots, cache);
    op->next_free = cache->free;
    cache->free = op;
    cache->count++;
}
