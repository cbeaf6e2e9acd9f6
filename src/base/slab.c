/* SPDX-License-Identifier: MIT */
/* The slow side of the slabs: exchanging batches with the depot, carving chunks. */
#include "base/slab.h"

#include "base/alloc.h"
#include "base/assert.h"

#define CHUNK_SIZE_BYTES ((size_t)64 * 1024)

/* At the start of each chunk; blocks follow after one block's alignment. */
struct jzx__slab_chunk {
    struct jzx__slab_chunk *next;
};

void jzx__depot_init(struct jzx__depot *depot, const jzx_allocator *allocator) {
    jzx__lock_init(&depot->lock);
    for (uint32_t i = 0; i <= JZX__SLAB_RECORD; i++)
        depot->classes[i] = (struct jzx__depot_class){NULL, NULL, NULL};
    depot->chunks = NULL;
    depot->allocator = allocator;
}

void jzx__depot_deinit(struct jzx__depot *depot) {
    struct jzx__slab_chunk *chunk = depot->chunks;
    while (chunk != NULL) {
        struct jzx__slab_chunk *next = chunk->next;
        jzx__free_aligned(depot->allocator, chunk, CHUNK_SIZE_BYTES, JZX_CACHE_LINE);
        chunk = next;
    }
    jzx__lock_deinit(&depot->lock);
}

void jzx__slab_init(struct jzx__slab *slab, struct jzx__depot *depot) {
    for (uint32_t i = 0; i <= JZX__SLAB_RECORD; i++)
        slab->magazines[i] = (struct jzx__magazine){NULL, 0};
    slab->depot = depot;
}

static bool add_chunk(struct jzx__depot *depot, struct jzx__depot_class *class) {
    char *memory = jzx__alloc_aligned(depot->allocator, CHUNK_SIZE_BYTES, JZX_CACHE_LINE);
    if (memory == NULL)
        return false;
    struct jzx__slab_chunk *chunk = (void *)memory;
    chunk->next = depot->chunks;
    depot->chunks = chunk;
    class->carve_next = memory + JZX_CACHE_LINE;
    class->carve_end = memory + CHUNK_SIZE_BYTES;
    return true;
}

/* A batch of new blocks, in ascending order of addresses; empty without memory. */
static struct jzx__magazine carve(struct jzx__depot *depot, uint32_t class_index) {
    struct jzx__depot_class *class = &depot->classes[class_index];
    size_t size = jzx__slab_class_size(class_index);
    struct jzx__magazine batch = {NULL, 0};
    if ((size_t)(class->carve_end - class->carve_next) < size && !add_chunk(depot, class))
        return batch;
    struct jzx__block **tail = &batch.first;
    while (batch.count < jzx__slab_batch_count(class_index) &&
           (size_t)(class->carve_end - class->carve_next) >= size) {
        *tail = (void *)class->carve_next;
        tail = &(*tail)->next;
        class->carve_next += size;
        batch.count++;
    }
    *tail = NULL;
    return batch;
}

void *jzx__slab_alloc_slow(struct jzx__slab *slab, uint32_t class_index) {
    struct jzx__magazine *magazine = &slab->magazines[class_index];
    struct jzx__depot *depot = slab->depot;
    jzx__lock_acquire(&depot->lock);
    struct jzx__block *full = depot->classes[class_index].full_batches;
    if (full != NULL) {
        depot->classes[class_index].full_batches = full->next_batch;
        *magazine = (struct jzx__magazine){full, jzx__slab_batch_count(class_index)};
    } else {
        *magazine = carve(depot, class_index);
    }
    jzx__lock_release(&depot->lock);
    return magazine->first == NULL ? NULL : jzx__slab_alloc_easy(slab, class_index);
}

/* The blocks are in this core's cache still: for a core that gets them they are not. */
static void set_ahead(struct jzx__block *blocks) {
    struct jzx__block *ahead = blocks;
    for (uint32_t i = 0; i < JZX__SLAB_AHEAD && ahead != NULL; i++)
        ahead = ahead->next;
    for (struct jzx__block *block = blocks; block != NULL; block = block->next) {
        block->ahead = ahead;
        ahead = ahead == NULL ? NULL : ahead->next;
    }
}

void jzx__slab_spill(struct jzx__slab *slab, uint32_t class_index) {
    struct jzx__magazine *magazine = &slab->magazines[class_index];
    struct jzx__depot *depot = slab->depot;
    uint32_t kept = jzx__slab_batch_count(class_index);
    JZX_ASSERT(magazine->count == 2 * kept);
    struct jzx__block *last_kept = magazine->first; /* the newest stay: they are in the cache */
    for (uint32_t i = 1; i < kept; i++)
        last_kept = last_kept->next;
    struct jzx__block *spilled = last_kept->next;
    last_kept->next = NULL;
    magazine->count = kept;
    set_ahead(spilled);
    jzx__lock_acquire(&depot->lock);
    spilled->next_batch = depot->classes[class_index].full_batches;
    depot->classes[class_index].full_batches = spilled;
    jzx__lock_release(&depot->lock);
}
