/* SPDX-License-Identifier: MIT */
/* The allocator hooks of a loop: every byte that the library uses comes through here. */
#ifndef JZX_BASE_ALLOC_H
#define JZX_BASE_ALLOC_H

#include "jzx/config.h"

#include <stdbool.h>
#include <stddef.h>

/* malloc and free in the form of the hooks. */
extern const jzx_allocator jzx__allocator_default;

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

/* Says that a large block is used at random: the system may give it large pages, where it asks for
 * such a word. A hint; small blocks are left alone. */
void jzx__advise_large_pages(void *ptr, size_t size);

#endif
