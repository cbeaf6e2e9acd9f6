/* SPDX-License-Identifier: MIT */
/* Aligned memory from hooks that know no alignment: the true address stands before the block. */
#include "base/alloc.h"

#include "base/assert.h"
#include "base/memcheck.h"
#include "base/size.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *default_alloc(void *ctx, size_t size) {
    (void)ctx;
    return malloc(size);
}

static void default_free(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    (void)size;
    free(ptr);
}

const jzx_allocator jzx__allocator_default = {default_alloc, default_free, NULL};

bool jzx__allocator_is_valid(const jzx_allocator *hooks) {
    if (hooks == NULL)
        return true;
    return (hooks->alloc == NULL) == (hooks->free == NULL) &&
           (hooks->alloc == default_alloc) == (hooks->free == default_free);
}

bool jzx__alloc_is_checked(const jzx_allocator *hooks) {
    return hooks->alloc == default_alloc && jzx__memcheck_is_on();
}

#define ADDRESS_MAX ((uintptr_t)1 << 48)

void *jzx__alloc_aligned(const jzx_allocator *hooks, size_t size, size_t align) {
    JZX_ASSERT((align & (align - 1)) == 0);
    size_t total = align + sizeof(void *);
    if (!jzx__size_add(&total, size))
        return NULL;
    char *base = jzx__alloc(hooks, total);
    if (base == NULL)
        return NULL;
    if ((uintptr_t)base >= ADDRESS_MAX - total) {
        jzx__free(hooks, base, total);
        return NULL;
    }
    uintptr_t first = (uintptr_t)base + sizeof(void *);
    char *block = base + (((first + align - 1) & ~(uintptr_t)(align - 1)) - (uintptr_t)base);
    memcpy(block - sizeof(void *), &base, sizeof(void *));
    return block;
}

void jzx__free_aligned(const jzx_allocator *hooks, void *ptr, size_t size, size_t align) {
    void *base;
    memcpy(&base, (char *)ptr - sizeof(void *), sizeof(void *));
    jzx__free(hooks, base, size + align + sizeof(void *));
}

void *jzx__pages_map(const jzx_mapper *mapper, size_t size) {
    if (mapper->map == NULL) {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
        void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
        return mapped == MAP_FAILED ? NULL : mapped;
    }
    void *pages = mapper->map(mapper->ctx, size);
    if (pages == NULL || (uintptr_t)pages % (uintptr_t)sysconf(_SC_PAGESIZE) == 0)
        return pages;
    mapper->unmap(mapper->ctx, pages, size);
    return NULL;
}

void jzx__pages_unmap(const jzx_mapper *mapper, void *ptr, size_t size) {
    if (mapper->map == NULL)
        munmap(ptr, size);
    else
        mapper->unmap(mapper->ctx, ptr, size);
}

#define LARGE_PAGE ((uintptr_t)2 * 1024 * 1024)

void jzx__advise_large_pages(void *ptr, size_t size) {
#if defined(MADV_HUGEPAGE)
    uintptr_t begin = ((uintptr_t)ptr + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)ptr + size) & ~(LARGE_PAGE - 1);
    if (end > begin)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* what it says changes nothing */
#else
    (void)ptr;
    (void)size;
#endif
}
