/* SPDX-License-Identifier: MIT */
/* Binary heap: sift up on push, sift in either direction on removal. */
#include "base/heap.h"

#include "base/alloc.h"
#include "base/assert.h"

#define FIRST_CAPACITY 16

void jzx__heap_init(struct jzx__heap *heap, const jzx_allocator *allocator) {
    heap->items = NULL;
    heap->count = 0;
    heap->capacity = 0;
    heap->allocator = allocator;
}

void jzx__heap_deinit(struct jzx__heap *heap) {
    if (heap->items != NULL)
        jzx__free(heap->allocator, heap->items, heap->capacity * sizeof(heap->items[0]));
    jzx__heap_init(heap, heap->allocator);
}

static bool is_before(const struct jzx__heap_item *a, const struct jzx__heap_item *b) {
    return a->key != b->key ? a->key < b->key : a->sequence < b->sequence;
}

static void place(struct jzx__heap *heap, struct jzx__heap_item item, size_t at) {
    heap->items[at] = item;
    item.node->place = at;
}

static void sift_up(struct jzx__heap *heap, struct jzx__heap_item item, size_t at) {
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!is_before(&item, &heap->items[parent]))
            break;
        place(heap, heap->items[parent], at);
        at = parent;
    }
    place(heap, item, at);
}

static void sift_down(struct jzx__heap *heap, struct jzx__heap_item item, size_t at) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && is_before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!is_before(&heap->items[child], &item))
            break;
        place(heap, heap->items[child], at);
        at = child;
    }
    place(heap, item, at);
}

static bool grow(struct jzx__heap *heap) {
    size_t capacity = heap->capacity == 0 ? FIRST_CAPACITY : heap->capacity * 2;
    struct jzx__heap_item *items = jzx__alloc(heap->allocator, capacity * sizeof(items[0]));
    if (items == NULL)
        return false;
    if (heap->items != NULL) {
        __builtin_memcpy(items, heap->items, heap->count * sizeof(items[0]));
        jzx__free(heap->allocator, heap->items, heap->capacity * sizeof(items[0]));
    }
    heap->items = items;
    heap->capacity = capacity;
    return true;
}

bool jzx__heap_push(struct jzx__heap *heap, struct jzx__heap_node *node, uint64_t key,
                    uint64_t sequence) {
    if (heap->count == heap->capacity && !grow(heap))
        return false;
    heap->count++;
    sift_up(heap, (struct jzx__heap_item){key, sequence, node}, heap->count - 1);
    return true;
}

const struct jzx__heap_item *jzx__heap_peek(const struct jzx__heap *heap) {
    return heap->count == 0 ? NULL : &heap->items[0];
}

struct jzx__heap_node *jzx__heap_pop(struct jzx__heap *heap) {
    struct jzx__heap_node *node = heap->count == 0 ? NULL : heap->items[0].node;
    if (node != NULL)
        jzx__heap_remove(heap, node);
    return node;
}

void jzx__heap_remove(struct jzx__heap *heap, struct jzx__heap_node *node) {
    size_t at = node->place;
    JZX_ASSERT(at < heap->count && heap->items[at].node == node);
    struct jzx__heap_item last = heap->items[--heap->count];
    if (last.node == node)
        return;
    if (at > 0 && is_before(&last, &heap->items[(at - 1) / 2]))
        sift_up(heap, last, at);
    else
        sift_down(heap, last, at);
}
