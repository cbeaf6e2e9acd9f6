/* SPDX-License-Identifier: MIT */
/* Binary heap: sift up on push, sift in either direction on removal. */
#include "base/heap.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <string.h>

#define FIRST_CAPACITY 16

void jzx__heap_init(struct jzx__heap *heap, const jzx_allocator *allocator) {
    heap->nodes = NULL;
    heap->count = 0;
    heap->capacity = 0;
    heap->allocator = allocator;
}

void jzx__heap_deinit(struct jzx__heap *heap) {
    if (heap->nodes != NULL)
        jzx__free(heap->allocator, heap->nodes, heap->capacity * sizeof(heap->nodes[0]));
    jzx__heap_init(heap, heap->allocator);
}

static bool is_before(const struct jzx__heap_node *a, const struct jzx__heap_node *b) {
    return a->key != b->key ? a->key < b->key : a->sequence < b->sequence;
}

static void place(struct jzx__heap *heap, struct jzx__heap_node *node, size_t at) {
    heap->nodes[at] = node;
    node->place = at;
}

static void sift_up(struct jzx__heap *heap, struct jzx__heap_node *node, size_t at) {
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!is_before(node, heap->nodes[parent]))
            break;
        place(heap, heap->nodes[parent], at);
        at = parent;
    }
    place(heap, node, at);
}

static void sift_down(struct jzx__heap *heap, struct jzx__heap_node *node, size_t at) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && is_before(heap->nodes[child + 1], heap->nodes[child]))
            child++;
        if (!is_before(heap->nodes[child], node))
            break;
        place(heap, heap->nodes[child], at);
        at = child;
    }
    place(heap, node, at);
}

static bool grow(struct jzx__heap *heap) {
    size_t capacity = heap->capacity == 0 ? FIRST_CAPACITY : heap->capacity * 2;
    struct jzx__heap_node **nodes = jzx__alloc(heap->allocator, capacity * sizeof(nodes[0]));
    if (nodes == NULL)
        return false;
    if (heap->nodes != NULL) {
        memcpy(nodes, heap->nodes, heap->count * sizeof(nodes[0]));
        jzx__free(heap->allocator, heap->nodes, heap->capacity * sizeof(nodes[0]));
    }
    heap->nodes = nodes;
    heap->capacity = capacity;
    return true;
}

bool jzx__heap_push(struct jzx__heap *heap, struct jzx__heap_node *node) {
    if (heap->count == heap->capacity && !grow(heap))
        return false;
    heap->count++;
    sift_up(heap, node, heap->count - 1);
    return true;
}

struct jzx__heap_node *jzx__heap_peek(const struct jzx__heap *heap) {
    return heap->count == 0 ? NULL : heap->nodes[0];
}

struct jzx__heap_node *jzx__heap_pop(struct jzx__heap *heap) {
    struct jzx__heap_node *node = jzx__heap_peek(heap);
    if (node != NULL)
        jzx__heap_remove(heap, node);
    return node;
}

void jzx__heap_remove(struct jzx__heap *heap, struct jzx__heap_node *node) {
    size_t at = node->place;
    JZX_ASSERT(at < heap->count && heap->nodes[at] == node);
    struct jzx__heap_node *last = heap->nodes[--heap->count];
    if (last == node)
        return;
    if (at > 0 && is_before(last, heap->nodes[(at - 1) / 2]))
        sift_up(heap, last, at);
    else
        sift_down(heap, last, at);
}
