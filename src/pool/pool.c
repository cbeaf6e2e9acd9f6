/* SPDX-License-Identifier: MIT */
/* Creating and destroying pools, and their slots; the invariants are in pool.h. */
#include "pool/pool.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/size.h"
#include "base/sized.h"

#include <string.h>

/* ---- create and destroy ---- */

static bool is_power_of_two(size_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

static bool type_is_right(const jzx_pool_type *type) {
    if (type->name == NULL || type->value_size == 0)
        return false;
    size_t head = type->is_shared ? sizeof(struct jzx__shared_slot) : sizeof(jzx_ref);
    return is_power_of_two(type->slot_align) && type->slot_align >= _Alignof(jzx_ref) &&
           type->slot_align <= JZX_POOL_ALIGN_MAX && type->slot_size % type->slot_align == 0 &&
           type->slot_size > head && type->slot_size - head >= type->value_size;
}

/* The least mask that is at least the capacity: so it is no slot's index (V2). */
static uint64_t mask_for(uint32_t capacity) {
    return UINT64_MAX >> __builtin_clzll(capacity);
}

/* At least a cache line: then small slots of a power of two do not lie across two lines. */
static size_t align_of(const jzx_pool_type *type) {
    return type->slot_align < JZX_CACHE_LINE ? JZX_CACHE_LINE : type->slot_align;
}

jzx_err jzx_pool_create(const jzx_pool_type *type, uint32_t capacity,
                        const jzx_allocator *allocator, jzx_pool **pool) {
    jzx_pool_type full;
    if (pool == NULL || capacity == 0 || !jzx__read_sized(&full, sizeof full, type) ||
        !type_is_right(&full) || !jzx__allocator_is_valid(allocator))
        return JZX_ERR_INVALID_ARG;
    type = &full;
    size_t size;
    if (!jzx__size_array(&size, capacity, type->slot_size))
        return JZX_ERR_NO_MEMORY;
    const jzx_allocator *hooks = jzx__allocator_or_default(allocator);
    struct jzx__pool *made = jzx__alloc(hooks, sizeof *made);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    char *slots = jzx__alloc_aligned(hooks, size, align_of(type));
    if (slots == NULL) {
        jzx__free(hooks, made, sizeof *made);
        return JZX_ERR_NO_MEMORY;
    }
    *made = (struct jzx__pool){
        .head = {.slots = slots, .index_mask = mask_for(capacity)},
        .free_first = (uint32_t)mask_for(capacity),
        .capacity = capacity,
        .type = *type,
        .allocator = *hooks,
    };
    jzx__lock_init(&made->lock);
    *pool = &made->head;
    return JZX_OK;
}

jzx_err jzx_pool_destroy(jzx_pool *pool) {
    if (pool == NULL)
        return JZX_OK;
    struct jzx__pool *self = jzx__pool_of(pool);
    jzx__lock_acquire(&self->lock);
    bool busy = self->names != NULL;
    jzx__lock_release(&self->lock);
    if (busy)
        return JZX_ERR_BUSY;
    jzx_allocator hooks = self->allocator;
    jzx__lock_deinit(&self->lock);
    jzx__free_aligned(&hooks, pool->slots, self->capacity * self->type.slot_size,
                      align_of(&self->type));
    jzx__free(&hooks, self, sizeof *self);
    return JZX_OK;
}

/* ---- slots ---- */

static jzx_ref *mark_at(const jzx_pool *pool, size_t slot_size, uint64_t index) {
    return (jzx_ref *)(void *)(pool->slots + index * slot_size);
}

void *jzx_pool_take_slot(jzx_pool *pool, jzx_ref *ref) {
    struct jzx__pool *self = pool == NULL ? NULL : jzx__pool_of(pool);
    if (self == NULL)
        return NULL;
    uint64_t mask = pool->index_mask;
    uint64_t index = self->free_first;
    uint64_t generation = 0; /* the last one, in its place in a reference */
    if (index != mask) {
        jzx_ref mark = *mark_at(pool, self->type.slot_size, index);
        self->free_first = (uint32_t)(mark & mask);
        generation = mark & ~mask;
    } else if (pool->slot_count < self->capacity) {
        index = pool->slot_count++;
    } else {
        return NULL;
    }
    jzx_ref *mark = mark_at(pool, self->type.slot_size, index);
    *mark = (generation + mask + 1) | index;
    pool->count++;
    *ref = *mark;
    return mark;
}

void jzx__pool_give_slot(struct jzx__pool *pool, jzx_ref ref) {
    uint64_t mask = pool->head.index_mask;
    uint64_t index = ref & mask;
    bool is_last = (ref | mask) == UINT64_MAX;
    jzx_ref *mark = mark_at(&pool->head, pool->type.slot_size, index);
    JZX_ASSERT(*mark == ref); /* V1 */
    *mark = (ref & ~mask) | pool->free_first;
    if (is_last)
        pool->retired++; /* V3 */
    else
        pool->free_first = (uint32_t)index;
    pool->head.count--;
}

void *jzx_pool_next_slot(const jzx_pool *pool, jzx_ref *ref) {
    if (pool == NULL || ref == NULL)
        return NULL;
    size_t slot_size = ((const struct jzx__pool *)(const void *)pool)->type.slot_size;
    uint64_t mask = pool->index_mask;
    uint64_t index = *ref == JZX_NO_REF ? 0 : (*ref & mask) + 1;
    for (; index < pool->slot_count; index++) {
        jzx_ref *mark = mark_at(pool, slot_size, index);
        if ((*mark & mask) == index) { /* V2 */
            *ref = *mark;
            return mark;
        }
    }
    *ref = JZX_NO_REF;
    return NULL;
}

extern inline void *jzx_pool_find_slot(const jzx_pool *pool, jzx_ref ref, size_t slot_size);

/* ---- either kind ---- */

static void lock_shared(struct jzx__pool *pool) {
    if (pool->type.is_shared)
        jzx__lock_acquire(&pool->lock);
}

static void unlock_shared(struct jzx__pool *pool) {
    if (pool->type.is_shared)
        jzx__lock_release(&pool->lock);
}

bool jzx_pool_free(jzx_pool *pool, jzx_ref ref) {
    if (pool == NULL)
        return false;
    struct jzx__pool *self = jzx__pool_of(pool);
    lock_shared(self);
    bool found = jzx_pool_find_slot(pool, ref, self->type.slot_size) != NULL;
    if (found)
        jzx__pool_give_slot(self, ref);
    unlock_shared(self);
    return found;
}

uint32_t jzx_pool_count(jzx_pool *pool) {
    if (pool == NULL)
        return 0;
    struct jzx__pool *self = jzx__pool_of(pool);
    lock_shared(self);
    uint32_t count = pool->count;
    unlock_shared(self);
    return count;
}

uint32_t jzx_pool_capacity(jzx_pool *pool) {
    if (pool == NULL)
        return 0;
    struct jzx__pool *self = jzx__pool_of(pool);
    lock_shared(self);
    uint32_t capacity = self->capacity - self->retired;
    unlock_shared(self);
    return capacity;
}
