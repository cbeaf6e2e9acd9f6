/* SPDX-License-Identifier: MIT */
/* A binary heap of pointers with their keys, smallest first. Keys that are equal come out in the
 * order of their sequence numbers, never by address. An element knows its place, so that it can be
 * removed from the middle, and nothing else: so it can be small. */
#ifndef JZX_BASE_HEAP_H
#define JZX_BASE_HEAP_H

#include "jzx/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jzx__heap_node {
    size_t place; /* index in the heap's array, while inside */
};

struct jzx__heap_item {
    uint64_t key;
    uint64_t sequence;
    struct jzx__heap_node *node;
};

struct jzx__heap {
    struct jzx__heap_item *items;
    size_t count;
    size_t capacity;
    const jzx_allocator *allocator;
};

void jzx__heap_init(struct jzx__heap *heap, const jzx_allocator *allocator);

/* Frees the array; the elements are their owners'. */
void jzx__heap_deinit(struct jzx__heap *heap);

/* False without memory: the heap is as before. */
bool jzx__heap_push(struct jzx__heap *heap, struct jzx__heap_node *node, uint64_t key,
                    uint64_t sequence);

/* The smallest, or NULL. */
const struct jzx__heap_item *jzx__heap_peek(const struct jzx__heap *heap);
struct jzx__heap_node *jzx__heap_pop(struct jzx__heap *heap);

/* node must be inside. */
void jzx__heap_remove(struct jzx__heap *heap, struct jzx__heap_node *node);

#endif
