/* SPDX-License-Identifier: MIT */
/* The array has room for all entries, so the heap never grows. */
#include "schedule/core/tick_heap.h"

#include "base/assert.h"
#include "base/compiler.h"
#include "base/heap.h"
#include "schedule/core/region.h"

struct tick_heap {
    struct jzx__heap heap;
    uint64_t sequence; /* of inserts: the order of entries of one tick */
};

_Static_assert(sizeof(struct jzx__heap_node) <= sizeof(((jzx_tick_entry *)NULL)->own),
               "a node of the heap fits in the room of its timer");

static struct jzx__heap_node *node_of(jzx_tick_entry *entry) {
    return (struct jzx__heap_node *)(void *)entry->own;
}

static size_t heap_size(void *arg, size_t entries_max) {
    (void)arg;
    return jzx__region_round(sizeof(struct tick_heap)) +
           entries_max * sizeof(struct jzx__heap_item);
}

static void *heap_create(void *arg, void *memory, size_t entries_max, uint64_t now) {
    struct tick_heap *self = memory;
    (void)arg;
    (void)now;
    jzx__heap_init(&self->heap, NULL); /* it never grows */
    self->heap.items = (void *)((char *)memory + jzx__region_round(sizeof *self));
    self->heap.capacity = entries_max;
    self->sequence = 0;
    return self;
}

static void heap_destroy(void *timer) {
    const struct tick_heap *self = timer;
    JZX_ASSERT(self->heap.count == 0);
}

static void heap_insert(void *timer, jzx_tick_entry *entry) {
    struct tick_heap *self = timer;
    JZX_ASSERT(self->heap.count < self->heap.capacity);
    (void)jzx__heap_push(&self->heap, node_of(entry), entry->tick, self->sequence++);
}

static void heap_cancel(void *timer, jzx_tick_entry *entry) {
    struct tick_heap *self = timer;
    jzx__heap_remove(&self->heap, node_of(entry));
}

static jzx_tick_entry *heap_poll_expired(void *timer, uint64_t tick) {
    struct tick_heap *self = timer;
    const struct jzx__heap_item *first = jzx__heap_peek(&self->heap);
    if (first == NULL || first->key > tick)
        return NULL;
    return JZX_CONTAINER_OF(jzx__heap_pop(&self->heap), jzx_tick_entry, own);
}

static uint64_t heap_next(void *timer) {
    const struct tick_heap *self = timer;
    const struct jzx__heap_item *first = jzx__heap_peek(&self->heap);
    return first == NULL ? UINT64_MAX : first->key;
}

const jzx_tick_timer jzx__tick_heap = {.size = heap_size,
                                       .create = heap_create,
                                       .destroy = heap_destroy,
                                       .insert = heap_insert,
                                       .cancel = heap_cancel,
                                       .poll_expired = heap_poll_expired,
                                       .next = heap_next};
