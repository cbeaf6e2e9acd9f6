/* SPDX-License-Identifier: MIT */
/* What is rare in an arena: chunks, large blocks, blocks that change their size. */
#include "base/arena.h"

#include "base/alloc.h"
#include "base/size.h"

#include <string.h>

/* At the beginning of each chunk; blocks begin at the next place for a header. */
struct jzx__arena_chunk {
    struct jzx__arena_chunk *next;
    size_t size_bytes;
};

/* Before a large block; its header is the last word of this. */
struct jzx__arena_large {
    struct jzx__arena_large *next;
    struct jzx__arena_large **link; /* that points here */
    size_t total_bytes;
    uint64_t header;
};

_Static_assert(sizeof(uint64_t) == JZX__ARENA_HEADER, "one word");
_Static_assert(sizeof(struct jzx__arena_large) % 16 == 0, "aligned for any type");
_Static_assert(sizeof(struct jzx__arena_free) <= 16 - JZX__ARENA_HEADER, "fits the smallest");

/* The first place for a header at or after offset. */
static size_t header_at(size_t offset) {
    return (offset + 7) / 16 * 16 + 8;
}

static struct jzx__arena_large *large_of(void *ptr) {
    return (struct jzx__arena_large *)ptr - 1;
}

/* Begins to cut from a chunk, behind what stands at its begin. */
static void open_chunk(struct jzx__arena *arena, struct jzx__arena_chunk *chunk, size_t size,
                       size_t offset) {
    chunk->next = arena->chunks;
    chunk->size_bytes = size;
    arena->chunks = chunk;
    arena->chunk_size = size;
    arena->taken_bytes += size;
    size_t first = header_at(offset);
    arena->cut_next = (char *)chunk + first;
    arena->cut_end = arena->cut_next + (size - first) / 16 * 16;
    jzx__arena_poison((char *)chunk + offset, size - offset);
}

struct jzx__arena *jzx__arena_create(const jzx_allocator *allocator, size_t quota_bytes) {
    struct jzx__arena_chunk *chunk = jzx__alloc(allocator, JZX__ARENA_CHUNK_MIN);
    if (chunk == NULL)
        return NULL;
    struct jzx__arena *arena = (void *)(chunk + 1);
    memset(arena, 0, sizeof *arena);
    arena->allocator = allocator;
    arena->quota_bytes = quota_bytes;
    arena->small_end =
        jzx__alloc_is_checked(allocator) ? 0 : JZX__ARENA_SMALL_MAX - JZX__ARENA_HEADER;
    open_chunk(arena, chunk, JZX__ARENA_CHUNK_MIN, sizeof *chunk + sizeof *arena);
    return arena;
}

static void release(const jzx_allocator *allocator, void *ptr, size_t size) {
    jzx__arena_unpoison(ptr, size);
    jzx__free(allocator, ptr, size);
}

void jzx__arena_destroy(struct jzx__arena *arena) {
    const jzx_allocator *allocator = arena->allocator;
    struct jzx__arena_large *large = arena->larges;
    while (large != NULL) {
        struct jzx__arena_large *next = large->next;
        release(allocator, large, large->total_bytes);
        large = next;
    }
    struct jzx__arena_chunk *chunk = arena->chunks; /* the last one has the arena in it */
    while (chunk != NULL) {
        struct jzx__arena_chunk *next = chunk->next;
        release(allocator, chunk, chunk->size_bytes);
        chunk = next;
    }
}

/* ---- pointers that may be wrong ---- */

bool jzx__arena_has_page(const struct jzx__arena *arena, const void *ptr) {
    uintptr_t at = (uintptr_t)ptr;
    for (const struct jzx__arena_large *large = arena->larges; large != NULL; large = large->next) {
        if (large + 1 == ptr)
            return true;
    }
    for (const struct jzx__arena_chunk *chunk = arena->chunks; chunk != NULL; chunk = chunk->next) {
        if (at - (uintptr_t)chunk < chunk->size_bytes)
            return true;
    }
    return false;
}

/* ---- allocating ---- */

/* Cuts what is left of the newest chunk into free blocks, the largest first. */
static void use_up(struct jzx__arena *arena) {
    size_t left;
    while ((left = (size_t)(arena->cut_end - arena->cut_next)) != 0) {
        size_t largest = left < JZX__ARENA_SMALL_MAX ? left : JZX__ARENA_SMALL_MAX;
        uint32_t class_index = jzx__arena_class(largest);
        if (jzx__arena_class_size(class_index) > left)
            class_index--;
        jzx__arena_give_back(arena, arena->cut_next + JZX__ARENA_HEADER, class_index);
        arena->cut_next += jzx__arena_class_size(class_index);
    }
}

/* A chunk that has room for a block, twice as long as the one before. */
static bool add_chunk(struct jzx__arena *arena, size_t block) {
    size_t offset = sizeof(struct jzx__arena_chunk);
    size_t size =
        arena->chunk_size < JZX__ARENA_CHUNK_MAX ? arena->chunk_size * 2 : JZX__ARENA_CHUNK_MAX;
    while (size - header_at(offset) < block + 16)
        size *= 2;
    struct jzx__arena_chunk *chunk = jzx__alloc(arena->allocator, size);
    if (chunk == NULL)
        return false;
    use_up(arena);
    open_chunk(arena, chunk, size, offset);
    return true;
}

static void *alloc_large(struct jzx__arena *arena, size_t size) {
    size_t total = sizeof(struct jzx__arena_large);
    if (!jzx__size_add(&total, size))
        return NULL;
    if (arena->used_bytes > arena->quota_bytes || total > arena->quota_bytes - arena->used_bytes)
        return NULL;
    struct jzx__arena_large *large = jzx__alloc(arena->allocator, total);
    if (large == NULL)
        return NULL;
    large->next = arena->larges;
    large->link = &arena->larges;
    if (large->next != NULL)
        large->next->link = &large->next;
    arena->larges = large;
    large->total_bytes = total;
    large->header = jzx__arena_header(arena, 0, JZX__ARENA_LARGE);
    arena->used_bytes += total;
    arena->taken_bytes += total;
    return large + 1;
}

void *jzx__arena_alloc_slow(struct jzx__arena *arena, size_t size) {
    if (size == 0)
        return NULL;
    if (!jzx__arena_is_small(arena, size))
        return alloc_large(arena, size);
    size_t total = jzx__arena_class_size(jzx__arena_class(size + JZX__ARENA_HEADER));
    if (arena->used_bytes + total > arena->quota_bytes || !add_chunk(arena, total))
        return NULL;
    return jzx__arena_alloc_easy(arena, size);
}

/* ---- freeing and changing the size ---- */

/* Its bytes are not counted any more. */
static void release_large(struct jzx__arena *arena, struct jzx__arena_large *large) {
    *large->link = large->next;
    if (large->next != NULL)
        large->next->link = large->link;
    arena->taken_bytes -= large->total_bytes;
    large->header = 0;
    jzx__free(arena->allocator, large, large->total_bytes);
}

void jzx__arena_free_large(struct jzx__arena *arena, void *ptr) {
    arena->used_bytes -= large_of(ptr)->total_bytes;
    release_large(arena, large_of(ptr));
}

size_t jzx__arena_cost(const struct jzx__arena *arena, size_t size) {
    return jzx__arena_is_small(arena, size)
               ? jzx__arena_class_size(jzx__arena_class(size + JZX__ARENA_HEADER))
               : sizeof(struct jzx__arena_large) + size;
}

/* The block stays where it is. */
static void resize(struct jzx__arena *arena, void *ptr, uint32_t class_index, size_t size) {
    jzx__arena_poke(ptr, jzx__arena_header(arena, size, class_index));
    jzx__arena_poison(ptr, jzx__arena_class_size(class_index) - JZX__ARENA_HEADER);
    jzx__arena_unpoison(ptr, size);
}

void *jzx__arena_realloc(struct jzx__arena *arena, void *ptr, size_t size) {
    uint64_t header = jzx__arena_peek(ptr);
    uint32_t class_index = (uint32_t)(header >> JZX__ARENA_CLASS_SHIFT);
    JZX_ASSERT((uint32_t)header == jzx__arena_mark(arena)); /* A3 */
    bool was_large = class_index == JZX__ARENA_LARGE;
    size_t len = was_large ? large_of(ptr)->total_bytes - sizeof(struct jzx__arena_large)
                           : (uint16_t)(header >> JZX__ARENA_LEN_SHIFT);
    if (jzx__arena_is_small(arena, size) &&
        jzx__arena_class(size + JZX__ARENA_HEADER) == class_index) {
        resize(arena, ptr, class_index, size);
        return ptr;
    }
    size_t cost = jzx__arena_cost(arena, len);
    size_t quota = arena->quota_bytes;
    jzx__arena_note_peak(arena);
    arena->used_bytes -= cost; /* only the difference counts */
    if (jzx__arena_cost(arena, size) <= cost)
        arena->quota_bytes = SIZE_MAX; /* it may have been lowered below what is used */
    void *block = jzx__arena_alloc(arena, size);
    arena->quota_bytes = quota;
    if (block == NULL) {
        arena->used_bytes += cost;
        return NULL;
    }
    memcpy(block, ptr, len < size ? len : size);
    if (was_large)
        release_large(arena, large_of(ptr));
    else
        jzx__arena_give_back(arena, ptr, class_index);
    return block;
}
