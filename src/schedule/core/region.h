/* SPDX-License-Identifier: MIT */
/* Memory that the caller supplies, in the form of the allocator hooks: blocks are cut off one after
 * another and given back all at once, with the region. For static memory. */
#ifndef JZX_SCHEDULE_CORE_REGION_H
#define JZX_SCHEDULE_CORE_REGION_H

#include "jzx/config.h"

#include <stdalign.h>

struct jzx__region {
    char *base; /* aligned for every type */
    size_t size;
    size_t used;
};

static inline size_t jzx__region_round(size_t size) {
    return (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

static inline void *jzx__region_alloc(void *ctx, size_t size) {
    struct jzx__region *region = ctx;
    size_t rounded = jzx__region_round(size);
    if (rounded < size || rounded > region->size - region->used)
        return NULL;
    void *block = region->base + region->used;
    region->used += rounded;
    return block;
}

static inline void jzx__region_free(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    (void)ptr;
    (void)size;
}

static inline jzx_allocator jzx__region_allocator(struct jzx__region *region) {
    return (jzx_allocator){jzx__region_alloc, jzx__region_free, region};
}

#endif
