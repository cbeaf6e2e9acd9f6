/* SPDX-License-Identifier: MIT */
/* The slow side of the slabs: exchanging batches with the depot, carving chunks. */
#include "base/slab.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/leak.h"

#define CHUNK_SIZE_BYTES ((size_t)64 * 1024)

/* Batches that get hints after one was taken by another slab than gave it. */
#define CROSSINGS 16u

/* At the start of each chunk; blocks follow after one block's alignment. */
struct jzx__slab_chunk {
    struct jzx__slab_chunk *next;
};

void jzx__depot_init_records(struct jzx__depot *depot, const jzx_allocator *allocator,
                             const char *name, uint32_t record_size) {
    jzx__lock_init(&depot->lock);
    for (uint32_t i = 0; i <= JZX__SLAB_RECORD; i++)
        depot->classes[i] = (struct jzx__depot_class){.full_batches = NULL};
    depot->chunks = NULL;
    depot->allocator = allocator;
    depot->name = name;
    depot->record_size = record_size;
}

void jzx__depot_init(struct jzx__depot *depot, const jzx_allocator *allocator, const char *name) {
    jzx__depot_init_records(depot, allocator, name, JZX__RECORD_SIZE);
}

static size_t block_size(const struct jzx__depot *depot, uint32_t class_index) {
    return class_index == JZX__SLAB_RECORD ? depot->record_size : jzx__slab_class_size(class_index);
}

uint64_t jzx__depot_in_use(const struct jzx__depot *depot, uint32_t class_index) {
    return depot->classes[class_index].out;
}

void jzx__depot_check_leaks(const struct jzx__depot *depot) {
    for (uint32_t i = 0; i <= JZX__SLAB_RECORD; i++)
        jzx__leak_check(depot->name, block_size(depot, i), jzx__depot_in_use(depot, i));
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
        slab->magazines[i] = (struct jzx__magazine){.first = NULL};
    slab->depot = depot;
}

void jzx__slab_deinit(struct jzx__slab *slab) {
    struct jzx__depot *depot = slab->depot;
    jzx__lock_acquire(&depot->lock);
    for (uint32_t i = 0; i <= JZX__SLAB_RECORD; i++) {
        const struct jzx__magazine *magazine = &slab->magazines[i];
        uint32_t reserved = magazine->reserve != NULL ? jzx__slab_batch_count(i) : 0;
        depot->classes[i].out -= magazine->count + reserved;
    }
    jzx__lock_release(&depot->lock);
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

struct batch {
    struct jzx__block *first;
    uint32_t count;
};

/* A batch of new blocks, in ascending order of addresses; empty without memory. */
static struct batch carve(struct jzx__depot *depot, uint32_t class_index) {
    struct jzx__depot_class *class = &depot->classes[class_index];
    size_t size = block_size(depot, class_index);
    struct batch batch = {NULL, 0};
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

/* A batch of the depot; empty without memory. If another slab gave the last one, batches cross. */
static struct batch take_batch(struct jzx__slab *slab, uint32_t class_index) {
    struct jzx__depot *depot = slab->depot;
    struct jzx__depot_class *class = &depot->classes[class_index];
    struct batch batch;
    jzx__lock_acquire(&depot->lock);
    if (class->full_batches != NULL) {
        batch = (struct batch){class->full_batches, jzx__slab_batch_count(class_index)};
        class->full_batches = batch.first->next_batch;
        if (class->giver != slab)
            class->crossings = CROSSINGS;
    } else {
        batch = carve(depot, class_index);
    }
    class->out += batch.count;
    jzx__lock_release(&depot->lock);
    return batch;
}

void *jzx__slab_alloc_slow(struct jzx__slab *slab, uint32_t class_index) {
    struct jzx__magazine *magazine = &slab->magazines[class_index];
    struct batch batch = {magazine->reserve, jzx__slab_batch_count(class_index)};
    JZX_ASSERT(magazine->first == NULL);
    magazine->reserve = NULL;
    if (batch.first == NULL)
        batch = take_batch(slab, class_index);
    magazine->first = batch.first;
    magazine->count = batch.count;
    return batch.first == NULL ? NULL : jzx__slab_alloc_easy(slab, class_index);
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

static void give_batch(struct jzx__slab *slab, uint32_t class_index, struct jzx__block *batch) {
    struct jzx__magazine *magazine = &slab->magazines[class_index];
    struct jzx__depot *depot = slab->depot;
    struct jzx__depot_class *class = &depot->classes[class_index];
    if (magazine->hints)
        set_ahead(batch);
    jzx__lock_acquire(&depot->lock);
    batch->next_batch = class->full_batches;
    class->full_batches = batch;
    class->giver = slab;
    class->out -= jzx__slab_batch_count(class_index);
    magazine->hints = class->crossings != 0;
    class->crossings -= magazine->hints;
    jzx__lock_release(&depot->lock);
}

void jzx__slab_spill(struct jzx__slab *slab, uint32_t class_index) {
    struct jzx__magazine *magazine = &slab->magazines[class_index];
    JZX_ASSERT(magazine->count == jzx__slab_batch_count(class_index));
    if (magazine->reserve != NULL)
        give_batch(slab, class_index, magazine->reserve); /* the older ones */
    magazine->reserve = magazine->first;
    magazine->first = NULL;
    magazine->count = 0;
}
