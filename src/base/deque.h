/* SPDX-License-Identifier: MIT */
/* A work-stealing deque (Chase and Lev): its owner pushes and pops at the bottom, any number of
 * thieves take from the top, oldest first.
 *
 * D1  an item that was pushed is taken exactly once: top only grows, and each item below the last
 *     one is taken by a compare-and-exchange of top, or by the owner, who then knows that no thief
 *     has got that far.
 * D2  the last item is everybody's: its owner takes it by the same compare-and-exchange.
 * D3  the owner announces a pop (bottom) before it looks at top; a thief looks at top before
 *     bottom. In one total order of the four (seq_cst) they cannot both miss the other.
 * D4  arrays that were outgrown live until deinit: a slow thief may still read from one.
 *
 * Rejected: taking several items by one compare-and-exchange. The owner pops without one while it
 * believes itself alone, so a thief would claim items that are gone. A thief that wants many takes
 * them one by one. */
#ifndef JZX_BASE_DEQUE_H
#define JZX_BASE_DEQUE_H

#include "base/atomic.h"
#include "base/compiler.h"

#include "jzx/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jzx__deque_array {
    struct jzx__deque_array *outgrown; /* the one before, see D4 */
    uint64_t mask;
    _Atomic(void *) items[];
};

struct jzx__deque {
    _Alignas(JZX_CACHE_LINE) _Atomic uint64_t top; /* thieves' end; the owner's for the last item */
    _Alignas(JZX_CACHE_LINE) _Atomic uint64_t bottom; /* written by the owner */
    _Atomic(struct jzx__deque_array *) array;         /* written by the owner */
    const jzx_allocator *allocator;
};

enum jzx__steal_result {
    JZX__STEAL_GOT,
    JZX__STEAL_EMPTY,
    JZX__STEAL_LOST /* somebody else got the item: try again */
};

/* capacity is a power of two. False without memory. */
bool jzx__deque_init(struct jzx__deque *deque, uint32_t capacity, const jzx_allocator *allocator);
void jzx__deque_deinit(struct jzx__deque *deque);

/* Doubles the array. False without memory, and nothing has changed. Owner only. */
JZX_COLD bool jzx__deque_grow(struct jzx__deque *deque, uint64_t bottom, uint64_t top);

/* How many items there are, roughly: a hint for others, exact for the owner without thieves. */
static inline uint64_t jzx__deque_count(const struct jzx__deque *deque) {
    /* relaxed, both: a hint */
    uint64_t top = jzx__atomic_load_relaxed(&deque->top);
    uint64_t bottom = jzx__atomic_load_relaxed(&deque->bottom);
    return bottom > top ? bottom - top : 0;
}

/* The check between announcing sleep and sleeping. */
static inline bool jzx__deque_is_empty_seq_cst(const struct jzx__deque *deque) {
    /* seq_cst, both: pairs with the push, which is followed by a look for sleepers */
    uint64_t top = jzx__atomic_load_seq_cst(&deque->top);
    return jzx__atomic_load_seq_cst(&deque->bottom) <= top;
}

/* False without memory to grow. Owner only. */
static inline bool jzx__deque_push(struct jzx__deque *deque, void *item) {
    /* relaxed: only the owner writes bottom and array */
    uint64_t bottom = jzx__atomic_load_relaxed(&deque->bottom);
    struct jzx__deque_array *array = jzx__atomic_load_relaxed(&deque->array);
    /* acquire: pairs with the exchange in steal; its thief has read the place that we write */
    uint64_t top = jzx__atomic_load_acquire(&deque->top);
    if (JZX_UNLIKELY(bottom - top > array->mask)) {
        if (!jzx__deque_grow(deque, bottom, top))
            return false;
        /* relaxed: grow has just written it on this thread */
        array = jzx__atomic_load_relaxed(&deque->array);
    }
    /* relaxed: published by bottom */
    jzx__atomic_store_relaxed(&array->items[bottom & array->mask], item);
    /* seq_cst: pairs with the load in steal, publishes the item and what it points to; and with the
     * look of a worker that goes to sleep, as the caller looks for sleepers next */
    jzx__atomic_store_seq_cst(&deque->bottom, bottom + 1);
    return true;
}

/* The newest item, or NULL. Owner only. */
static inline void *jzx__deque_pop(struct jzx__deque *deque) {
    /* relaxed: only the owner writes bottom and array */
    uint64_t bottom = jzx__atomic_load_relaxed(&deque->bottom);
    /* relaxed: an early out; top only grows, so what looks empty is empty */
    if (jzx__atomic_load_relaxed(&deque->top) >= bottom)
        return NULL;
    bottom--;
    /* relaxed: see above */
    struct jzx__deque_array *array = jzx__atomic_load_relaxed(&deque->array);
    /* seq_cst, both: pairs with the loads in steal; the announcement before the look (D3) */
    jzx__atomic_store_seq_cst(&deque->bottom, bottom);
    uint64_t top = jzx__atomic_load_seq_cst(&deque->top);
    if (top < bottom) {
        /* relaxed: the owner wrote it */
        return jzx__atomic_load_relaxed(&array->items[bottom & array->mask]);
    }
    void *item = NULL;
    if (top == bottom) {
        /* relaxed: the owner wrote it */
        item = jzx__atomic_load_relaxed(&array->items[bottom & array->mask]);
        /* seq_cst: pairs with the exchange in steal; one of the two gets the last item (D2) */
        if (!jzx__atomic_cas_strong_seq_cst(&deque->top, &top, top + 1))
            item = NULL;
    }
    /* release: pairs with the load in steal, as the push of what was there; nothing is now */
    jzx__atomic_store_release(&deque->bottom, bottom + 1);
    return item;
}

/* The oldest item into *item. Any thread. */
static inline enum jzx__steal_result jzx__deque_steal(struct jzx__deque *deque, void **item) {
    /* seq_cst, both: pairs with push and pop; top is looked at before bottom (D3) */
    uint64_t top = jzx__atomic_load_seq_cst(&deque->top);
    uint64_t bottom = jzx__atomic_load_seq_cst(&deque->bottom);
    if (top >= bottom)
        return JZX__STEAL_EMPTY;
    /* acquire: pairs with the release in grow; publishes the items that moved */
    struct jzx__deque_array *array = jzx__atomic_load_acquire(&deque->array);
    /* relaxed: published by bottom; if it was overwritten since, top has moved on */
    void *found = jzx__atomic_load_relaxed(&array->items[top & array->mask]);
    /* seq_cst: pairs with the exchange in pop and other thieves (D1, D2) */
    if (!jzx__atomic_cas_strong_seq_cst(&deque->top, &top, top + 1))
        return JZX__STEAL_LOST;
    *item = found;
    return JZX__STEAL_GOT;
}

#endif
