/* SPDX-License-Identifier: MIT */
/* The arrays of a deque. */
#include "base/deque.h"

#include "base/alloc.h"
#include "base/assert.h"

static size_t array_size_bytes(uint64_t capacity) {
    return sizeof(struct jzx__deque_array) + (size_t)capacity * sizeof(_Atomic(void *));
}

static struct jzx__deque_array *create_array(const jzx_allocator *allocator, uint64_t capacity) {
    struct jzx__deque_array *array = allocator->alloc(allocator->ctx, array_size_bytes(capacity));
    if (array == NULL)
        return NULL;
    array->outgrown = NULL;
    array->mask = capacity - 1;
    for (uint64_t i = 0; i < capacity; i++) {
        /* relaxed: not shared yet */
        jzx__atomic_store_relaxed(&array->items[i], NULL);
    }
    return array;
}

bool jzx__deque_init(struct jzx__deque *deque, uint32_t capacity, const jzx_allocator *allocator) {
    JZX_ASSERT(capacity != 0 && (capacity & (capacity - 1)) == 0);
    struct jzx__deque_array *array = create_array(allocator, capacity);
    if (array == NULL)
        return false;
    /* relaxed, all: not shared yet */
    jzx__atomic_store_relaxed(&deque->top, (uint64_t)0);
    jzx__atomic_store_relaxed(&deque->bottom, (uint64_t)0);
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&deque->array, array);
    deque->allocator = allocator;
    return true;
}

void jzx__deque_deinit(struct jzx__deque *deque) {
    /* relaxed: nobody else is left */
    struct jzx__deque_array *array = jzx__atomic_load_relaxed(&deque->array);
    while (array != NULL) {
        struct jzx__deque_array *outgrown = array->outgrown;
        deque->allocator->free(deque->allocator->ctx, array, array_size_bytes(array->mask + 1));
        array = outgrown;
    }
}

bool jzx__deque_grow(struct jzx__deque *deque, uint64_t bottom, uint64_t top) {
    /* relaxed: only the owner writes array */
    struct jzx__deque_array *old = jzx__atomic_load_relaxed(&deque->array);
    JZX_ASSERT(bottom - top == old->mask + 1); /* it is full, and no more than that (D1) */
    struct jzx__deque_array *grown = create_array(deque->allocator, 2 * (old->mask + 1));
    if (grown == NULL)
        return false;
    grown->outgrown = old; /* D4 */
    for (uint64_t i = top; i != bottom; i++) {
        /* relaxed, both: the owner wrote the old one, and the new one is not shared yet */
        void *item = jzx__atomic_load_relaxed(&old->items[i & old->mask]);
        jzx__atomic_store_relaxed(&grown->items[i & grown->mask], item);
    }
    /* release: pairs with the acquire in steal; publishes the items */
    jzx__atomic_store_release(&deque->array, grown);
    return true;
}
