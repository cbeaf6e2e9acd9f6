/* SPDX-License-Identifier: MIT */
/* The hooks of a loop for blocks and for pages. All memory of the library comes through here; the
 * exceptions are in docs/guarantees.md. */
#ifndef JZX_BASE_ALLOC_H
#define JZX_BASE_ALLOC_H

#include "jzx/allocator.h"

#include <stdbool.h>
#include <stddef.h>

/* malloc and free in the form of the hooks. */
extern const jzx_allocator jzx__allocator_default;

/* Both functions or none, and not one of the default pair with one of another. NULL is valid. */
bool jzx__allocator_is_valid(const jzx_allocator *hooks);

/* NULL and an allocator without functions mean the default. */
static inline const jzx_allocator *jzx__allocator_or_default(const jzx_allocator *hooks) {
    return hooks != NULL && hooks->alloc != NULL ? hooks : &jzx__allocator_default;
}

/* True if AddressSanitizer or memcheck sees each block of these hooks (memcheck.h): then it pays to
 * take all memory of the program's code from them by itself. */
bool jzx__alloc_is_checked(const jzx_allocator *hooks);

static inline void *jzx__alloc(const jzx_allocator *hooks, size_t size) {
    return hooks->alloc(hooks->ctx, size);
}

static inline void jzx__free(const jzx_allocator *hooks, void *ptr, size_t size) {
    hooks->free(hooks->ctx, ptr, size);
}

/* Memory whose address is a multiple of align (a power of two, at most 4096) and lies below 2^48,
 * so that a word can pack it; NULL otherwise. Freed with the same size and align. */
void *jzx__alloc_aligned(const jzx_allocator *hooks, size_t size, size_t align);
void jzx__free_aligned(const jzx_allocator *hooks, void *ptr, size_t size, size_t align);

/* Whole pages, for stacks: from the map hook, or from the system if there is none. size is a
 * multiple of the page size. NULL without memory, and if the hook returns an address that is not.
 * Contents are undefined. */
void *jzx__pages_map(const jzx_mapper *mapper, size_t size);

/* All of them are readable and writable again. */
void jzx__pages_unmap(const jzx_mapper *mapper, void *ptr, size_t size);

/* Says that a large block is used at random: the system may give it large pages, where it asks for
 * such a word. A hint; small blocks are left alone. */
void jzx__advise_large_pages(void *ptr, size_t size);

#endif
