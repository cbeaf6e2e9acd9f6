/* SPDX-License-Identifier: MIT */
/* Where a loop has its memory from: two pairs of hooks. One gives blocks, the other whole pages for
 * stacks. docs/guarantees.md lists the memory that comes from neither. */
#ifndef JZX_ALLOCATOR_H
#define JZX_ALLOCATOR_H

#include <stddef.h>

/* Blocks. Both functions or none (malloc and free) must be set. They are called from every thread
 * that uses the loop, at times from several at once, and must not call into the library. */
typedef struct jzx_allocator {
    /* Returns size bytes, aligned for any type, or NULL. size is never 0. */
    void *(*alloc)(void *ctx, size_t size);
    /* Takes back what alloc returned, with the size that was asked for. ptr is never NULL. */
    void (*free)(void *ctx, void *ptr, size_t size);
    void *ctx;
} jzx_allocator;

/* Whole pages: the stacks of fibers, and the signal stacks that contain and stall_signal of
 * jzx_config ask for. Both functions or none (mmap and munmap) must be set; threads as above.
 *
 * The library makes the guard pages, inside what map returned: it protects one page below each
 * stack (MADV_GUARD_INSTALL, or mprotect), gives pages of idle stacks back (MADV_DONTNEED) and asks
 * for small pages (MADV_NOHUGEPAGE). So the pages must be private and anonymous: from mmap, or
 * from posix_memalign. Memory that is shared, of a file, or of huge pages does not do. */
typedef struct jzx_mapper {
    /* Returns size bytes, or NULL. size is a multiple of the page size, as the address must be: any
     * other is handed back to unmap at once, and counts as NULL. The bytes are readable and
     * writable, and need not be 0. A slab of stacks has about 8 MiB, and is memory only where a
     * stack was used: reserve address space, and no more. This does (return NULL for MAP_FAILED):
     * mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
     */
    void *(*map)(void *ctx, size_t size);
    /* Takes back what map returned, with the same size. Its guard pages are readable and writable
     * again. */
    void (*unmap)(void *ctx, void *ptr, size_t size);
    void *ctx;
} jzx_mapper;

#endif
