/* SPDX-License-Identifier: MIT */
/* An arena: memory that is used by one thread at a time and given back as a whole.
 *
 * **Chunks** come from the allocator hooks, the first of 1 KiB with the arena itself in it, each
 * later one twice as long up to 64 KiB. Blocks are cut off the newest chunk in 28 sizes; a block
 * that is freed waits in the list of its size. Longer blocks come from the hooks one by one.
 *
 * Every block has a header of eight bytes before it, and is aligned to 16:
 *
 *     | header | payload ... | header | payload ... |
 *     8        16            8        16              (address modulo 16)
 *
 * A1  a byte of a chunk is in exactly one place: a block in use, a free block, or the uncut rest.
 * A2  used_bytes is the sum of the blocks in use, their headers and rounding included; it never
 *     goes beyond the quota by an allocation.
 * A3  the header of a block in use has the mark of its arena, that of a free one has not: a pointer
 *     that is not of this arena, a second free, and an overflow into the next header are caught.
 * A4  without memory an allocation returns NULL and nothing has changed; a free never fails.
 *
 * In a library that is built for AddressSanitizer everything but the bytes that were asked for is
 * poisoned. Where such a tool sees what the hooks do (jzx__alloc_is_checked) all blocks are large.
 *
 * Rejected: no headers (free would have to be told the size, as with sized deallocation, and could
 * check nothing); merging free neighbours (costs a word per block and a branch per free, and an
 * actor's blocks are mostly of few sizes). */
#ifndef JZX_BASE_ARENA_H
#define JZX_BASE_ARENA_H

#include "base/assert.h"
#include "base/compiler.h"

#include "jzx/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define JZX__ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define JZX__ARENA_ASAN 1
#endif
#endif
#ifdef JZX__ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define JZX__ARENA_PEEKS __attribute__((no_sanitize_address, noinline, unused))
#define jzx__arena_poison(ptr, size) ASAN_POISON_MEMORY_REGION(ptr, size)
#define jzx__arena_unpoison(ptr, size) ASAN_UNPOISON_MEMORY_REGION(ptr, size)
#else
#define JZX__ARENA_PEEKS inline
#define jzx__arena_poison(ptr, size) ((void)(ptr), (void)(size))
#define jzx__arena_unpoison(ptr, size) ((void)(ptr), (void)(size))
#endif

#define JZX__ARENA_CLASS_COUNT 28u
#define JZX__ARENA_LARGE JZX__ARENA_CLASS_COUNT
#define JZX__ARENA_SMALL_MAX 2048u /* the largest block of a chunk, with its header */
#define JZX__ARENA_HEADER 8u
#define JZX__ARENA_CHUNK_MIN 1024u
#define JZX__ARENA_CHUNK_MAX 65536u
#define JZX__ARENA_PAGE 4096u /* no page is smaller */

/* The word before each block. Bits 0-31: the mark (A3). Bits 32-47: the bytes that were asked for,
 * if it is not large. Bits 48-63: the class, or JZX__ARENA_LARGE. Of a free block it is 0. */
#define JZX__ARENA_LEN_SHIFT 32
#define JZX__ARENA_CLASS_SHIFT 48

/* A free block, from its payload on. */
struct jzx__arena_free {
    struct jzx__arena_free *next;
};

struct jzx__arena_chunk;
struct jzx__arena_large;

struct jzx__arena {
    char *cut_next; /* the uncut rest of the newest chunk; the place of a header */
    char *cut_end;
    size_t used_bytes;
    size_t quota_bytes; /* SIZE_MAX: none */
    size_t small_end;   /* blocks of 1 to this many bytes are small */
    struct jzx__arena_free *free[JZX__ARENA_CLASS_COUNT];

    /* Rarely. */
    size_t peak_bytes; /* of used_bytes, as far as it was noted; see jzx__arena_peak */
    size_t taken_bytes;
    size_t chunk_size; /* of the newest */
    struct jzx__arena_chunk *chunks;
    struct jzx__arena_large *larges;
    const jzx_allocator *allocator;
};

/* NULL without memory. allocator must outlive it. */
struct jzx__arena *jzx__arena_create(const jzx_allocator *allocator, size_t quota_bytes);
void jzx__arena_destroy(struct jzx__arena *arena);

/* The class of a small block for size bytes; total is that with its header. 16 classes in steps of
 * 16, and then four between each two powers of two. */
static inline uint32_t jzx__arena_class(size_t total) {
    if (JZX_LIKELY(total <= 256))
        return (uint32_t)(total - 1) / 16;
    unsigned high = 63u ^ (unsigned)__builtin_clzll((unsigned long long)total - 1);
    return 16u + (high - 8u) * 4u + ((uint32_t)((total - 1) >> (high - 2)) & 3u);
}

/* With the header. */
static inline size_t jzx__arena_class_size(uint32_t class_index) {
    if (JZX_LIKELY(class_index < 16))
        return ((size_t)class_index + 1) * 16;
    return (size_t)(5 + class_index % 4) << (class_index / 4 + 2);
}

static inline bool jzx__arena_is_small(const struct jzx__arena *arena, size_t size) {
    bool is_small = size - 1 < arena->small_end; /* 0 is not */
    if (is_small && size > JZX__ARENA_SMALL_MAX - JZX__ARENA_HEADER)
        __builtin_unreachable();
    return is_small;
}

static inline uint32_t jzx__arena_mark(const struct jzx__arena *arena) {
    return (uint32_t)((uintptr_t)arena >> 4) ^ 0xA11C0DEDu;
}

static inline uint64_t jzx__arena_header(const struct jzx__arena *arena, size_t len,
                                         uint32_t class_index) {
    return jzx__arena_mark(arena) | (uint64_t)len << JZX__ARENA_LEN_SHIFT |
           (uint64_t)class_index << JZX__ARENA_CLASS_SHIFT;
}

/* Headers and links lie in poisoned bytes. */
static JZX__ARENA_PEEKS uint64_t jzx__arena_peek(const void *ptr) {
    const struct __attribute__((packed, may_alias)) {
        uint64_t word; /* ptr may be wrong, and not aligned */
    } *header = ptr;
    return header[-1].word;
}

static JZX__ARENA_PEEKS void jzx__arena_poke(void *ptr, uint64_t header) {
    ((uint64_t *)ptr)[-1] = header;
}

static JZX__ARENA_PEEKS struct jzx__arena_free *jzx__arena_next(const struct jzx__arena_free *it) {
    return it->next;
}

static JZX__ARENA_PEEKS void jzx__arena_link(struct jzx__arena_free *it,
                                             struct jzx__arena_free *next) {
    it->next = next;
}

/* True if what is before a pointer to the begin of a page is memory of the arena: else it may not
 * be there at all. */
JZX_COLD bool jzx__arena_has_page(const struct jzx__arena *arena, const void *ptr);

/* True if ptr is a block in use of this arena (A3), whatever it is. */
static inline bool jzx__arena_owns(const struct jzx__arena *arena, const void *ptr) {
    if (JZX_UNLIKELY((uintptr_t)ptr % JZX__ARENA_PAGE == 0) && !jzx__arena_has_page(arena, ptr))
        return false;
    return (uint32_t)jzx__arena_peek(ptr) == jzx__arena_mark(arena);
}

/* Large blocks, new chunks, and what is refused. */
JZX_COLD void *jzx__arena_alloc_slow(struct jzx__arena *arena, size_t size);
JZX_COLD void jzx__arena_free_large(struct jzx__arena *arena, void *ptr);

/* The common case: a block that was used before, or one from the newest chunk. NULL otherwise. */
JZX_INLINE void *jzx__arena_alloc_easy(struct jzx__arena *arena, size_t size) {
    if (JZX_UNLIKELY(!jzx__arena_is_small(arena, size)))
        return NULL;
    uint32_t class_index = jzx__arena_class(size + JZX__ARENA_HEADER);
    size_t total = jzx__arena_class_size(class_index);
    if (JZX_UNLIKELY(arena->used_bytes + total > arena->quota_bytes))
        return NULL;
    void *block = arena->free[class_index];
    if (block != NULL) {
        arena->free[class_index] = jzx__arena_next(block);
    } else {
        if (JZX_UNLIKELY((size_t)(arena->cut_end - arena->cut_next) < total))
            return NULL;
        block = arena->cut_next + JZX__ARENA_HEADER;
        arena->cut_next += total;
    }
    arena->used_bytes += total;
    jzx__arena_poke(block, jzx__arena_header(arena, size, class_index));
    jzx__arena_unpoison(block, size);
    return block;
}

/* size bytes, aligned to 16, not cleared. NULL without memory, beyond the quota, for size 0. */
static inline void *jzx__arena_alloc(struct jzx__arena *arena, size_t size) {
    void *block = jzx__arena_alloc_easy(arena, size);
    return JZX_LIKELY(block != NULL) ? block : jzx__arena_alloc_slow(arena, size);
}

static inline void jzx__arena_note_peak(struct jzx__arena *arena) {
    if (arena->used_bytes > arena->peak_bytes)
        arena->peak_bytes = arena->used_bytes;
}

/* The highest used_bytes so far. It is noted before it falls, so that allocating need not. */
static inline size_t jzx__arena_peak(struct jzx__arena *arena) {
    jzx__arena_note_peak(arena);
    return arena->peak_bytes;
}

/* Puts a small block into the list of its size. */
static inline void jzx__arena_give_back(struct jzx__arena *arena, void *block,
                                        uint32_t class_index) {
    jzx__arena_poke(block, 0);
    jzx__arena_link(block, arena->free[class_index]);
    jzx__arena_poison(block, jzx__arena_class_size(class_index) - JZX__ARENA_HEADER);
    arena->free[class_index] = block;
}

/* ptr is a block of this arena. */
static inline void jzx__arena_free(struct jzx__arena *arena, void *ptr) {
    uint64_t header = jzx__arena_peek(ptr);
    uint32_t class_index = (uint32_t)(header >> JZX__ARENA_CLASS_SHIFT);
    JZX_ASSERT((uint32_t)header == jzx__arena_mark(arena)); /* A3 */
    jzx__arena_note_peak(arena);
    if (JZX_UNLIKELY(class_index == JZX__ARENA_LARGE)) {
        jzx__arena_free_large(arena, ptr);
        return;
    }
    arena->used_bytes -= jzx__arena_class_size(class_index);
    jzx__arena_give_back(arena, ptr, class_index);
}

/* The block with another size, and as much of what it held as fits; it may have moved. NULL as
 * alloc: then the block is as it was. Against the quota counts only the difference, if any. */
void *jzx__arena_realloc(struct jzx__arena *arena, void *ptr, size_t size);

/* What a block of size bytes counts for, with all that it takes. */
size_t jzx__arena_cost(const struct jzx__arena *arena, size_t size);

#endif
