/* SPDX-License-Identifier: MIT */
/* Blocks of seven sizes, from 64 bytes to 4 KiB, without a malloc per block.
 *
 * Three levels, as in Bonwick's magazines. A **magazine** belongs to one worker (or is guarded by
 * its owner's lock) and gives and takes blocks with two instructions. Full magazines go to the
 * **depot** of the loop and come back from it, in batches, under one lock: so a block that was
 * allocated on one worker and freed on another finds its way back in batches. The depot carves new
 * blocks from **chunks** of the allocator hooks, lazily: a block that was never used is no
 * resident memory.
 *
 * S1  a block is in exactly one place: in use, in a magazine, in a batch of the depot, or
 *     uncarved.
 * S2  chunks are freed at deinit only; every block is back by then. To see that, the depot counts
 *     the blocks that it has given to slabs, and a slab that goes counts those that it has.
 * S3  without memory an allocation returns NULL and nothing has changed; a free never fails. */
#ifndef JZX_BASE_SLAB_H
#define JZX_BASE_SLAB_H

#include "base/compiler.h"
#include "base/lock.h"

#include "jzx/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JZX__BLOCK_SIZE_MIN 64u
#define JZX__BLOCK_SIZE_MAX 4096u
#define JZX__SLAB_CLASS_COUNT 7u

/* One more class, of 384 bytes, for records that others may read after they were freed: its blocks
 * never become anything else. Of a free block the first 24 bytes are written, and no more. */
#define JZX__SLAB_RECORD JZX__SLAB_CLASS_COUNT
#define JZX__RECORD_SIZE 384u

/* A free block. */
struct jzx__block {
    struct jzx__block *next;       /* in its batch */
    struct jzx__block *next_batch; /* of the first block of a batch in the depot */
    struct jzx__block *ahead;      /* of a block from the depot: a hint, see slab_fetch_ahead */
};

/* How many blocks `ahead` is ahead. */
#define JZX__SLAB_AHEAD 8u

/* A magazine is a batch, of which blocks are taken and to which they are given, and a full one in
 * reserve. They change places when the first is empty or full, and only what is then still missing
 * or too much is the depot's: at least a batch of blocks passes between two visits. */
struct jzx__magazine {
    struct jzx__block *first;
    uint32_t count;
    bool hints;                 /* batches that it gives away are to say what comes ahead */
    struct jzx__block *reserve; /* a full batch, or NULL */
};

struct jzx__slab_chunk;

struct jzx__depot_class {
    struct jzx__block *full_batches;
    uint64_t out; /* blocks that it has given away: they are in use, or in a slab */
    char *carve_next;
    char *carve_end;
    const struct jzx__slab *giver; /* of the newest batch */
    uint32_t crossings;            /* batches to come that get hints, as one has crossed */
};

struct jzx__depot {
    struct jzx__lock lock;
    struct jzx__depot_class classes[JZX__SLAB_CLASS_COUNT + 1];
    struct jzx__slab_chunk *chunks;
    const jzx_allocator *allocator;
    const char *name;     /* for what is told of leaks */
    uint32_t record_size; /* of the blocks of JZX__SLAB_RECORD */
};

/* One worker's magazines. */
struct jzx__slab {
    struct jzx__magazine magazines[JZX__SLAB_CLASS_COUNT + 1];
    struct jzx__depot *depot;
};

/* The name is a static string. */
void jzx__depot_init(struct jzx__depot *depot, const jzx_allocator *allocator, const char *name);

/* The same with records of another size: at least sizeof(struct jzx__block), a multiple of 16. */
void jzx__depot_init_records(struct jzx__depot *depot, const jzx_allocator *allocator,
                             const char *name, uint32_t record_size);

void jzx__depot_deinit(struct jzx__depot *depot);
void jzx__slab_init(struct jzx__slab *slab, struct jzx__depot *depot);
void jzx__slab_deinit(struct jzx__slab *slab);

/* Blocks of the class that are in use: all slabs of the depot have gone. */
uint64_t jzx__depot_in_use(const struct jzx__depot *depot, uint32_t class_index);

/* The same for all classes: none is in use (leak.h). */
void jzx__depot_check_leaks(const struct jzx__depot *depot);

/* The class of the smallest block that holds size bytes; JZX__SLAB_CLASS_COUNT if none does. */
static inline uint32_t jzx__slab_class(size_t size) {
    if (size <= JZX__BLOCK_SIZE_MIN)
        return 0;
    if (size > JZX__BLOCK_SIZE_MAX)
        return JZX__SLAB_CLASS_COUNT;
    return 64u - 6u - (uint32_t)__builtin_clzll((unsigned long long)size - 1);
}

/* Of a depot that was made by jzx__depot_init. */
static inline size_t jzx__slab_class_size(uint32_t class_index) {
    return class_index == JZX__SLAB_RECORD ? JZX__RECORD_SIZE
                                           : (size_t)JZX__BLOCK_SIZE_MIN << class_index;
}

/* Blocks in a batch of the depot: 8 KiB worth, at least 4. */
static inline uint32_t jzx__slab_batch_count(uint32_t class_index) {
    uint32_t count = 128u >> class_index;
    return count < 4 ? 4 : count;
}

JZX_COLD void *jzx__slab_alloc_slow(struct jzx__slab *slab, uint32_t class_index);
JZX_COLD void jzx__slab_spill(struct jzx__slab *slab, uint32_t class_index);

/* True if an allocation of the class needs nothing from the depot. */
static inline bool jzx__slab_is_stocked(const struct jzx__slab *slab, uint32_t class_index) {
    const struct jzx__magazine *magazine = &slab->magazines[class_index];
    return magazine->first != NULL || magazine->reserve != NULL;
}

/* True if the next allocation of the class needs no call. */
static inline bool jzx__slab_has(const struct jzx__slab *slab, uint32_t class_index) {
    return slab->magazines[class_index].first != NULL;
}

/* An allocation after jzx__slab_has. */
static inline void *jzx__slab_alloc_easy(struct jzx__slab *slab, uint32_t class_index) {
    struct jzx__magazine *magazine = &slab->magazines[class_index];
    struct jzx__block *block = magazine->first;
    magazine->first = block->next;
    magazine->count--;
    return block;
}

/* A block of the class, 64-byte aligned, not cleared; NULL without memory. */
static inline void *jzx__slab_alloc(struct jzx__slab *slab, uint32_t class_index) {
    return JZX_LIKELY(jzx__slab_has(slab, class_index)) ? jzx__slab_alloc_easy(slab, class_index)
                                                        : jzx__slab_alloc_slow(slab, class_index);
}

/* Fetches the line of a block that is to be given soon. For a caller that has just got block and
 * mostly gets blocks that another core has freed: they are in the cache of that core, and each is
 * known only by the one before. Whatever block has been since it came from the depot, the word is
 * given to a prefetch and to nothing else. */
static inline void jzx__slab_fetch_ahead(const void *block) {
    __builtin_prefetch(((const struct jzx__block *)block)->ahead, 1);
}

static inline void jzx__slab_free(struct jzx__slab *slab, uint32_t class_index, void *ptr) {
    struct jzx__magazine *magazine = &slab->magazines[class_index];
    struct jzx__block *block = ptr;
    if (JZX_UNLIKELY(magazine->count == jzx__slab_batch_count(class_index)))
        jzx__slab_spill(slab, class_index);
    block->next = magazine->first;
    magazine->first = block;
    magazine->count++;
}

#endif
