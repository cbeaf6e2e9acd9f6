/* SPDX-License-Identifier: MIT */
/* A hierarchical timing wheel: entries that are due at a tick, in any number, each set and removed
 * in constant time. Pure data: no clock, no thread, no actor. Whoever owns it says what time it is.
 *
 * Three levels of slots. A slot of level 0 is one tick, one of level 1 spans all of level 0, one of
 * level 2 all of level 1. What is further away than level 2 waits in a heap. An entry goes down a
 * level when the first tick of its slot comes (a **cascade**), before that tick fires:
 *
 *   V1  an entry fires at its deadline: not a tick earlier, and later only if time was advanced
 *       past it in one step, and then in the order of the deadlines.
 *   V2  entries with the same deadline fire in the order in which they were set. Of two such the
 *       one further up was set earlier, as it was further away then; so what comes down goes to
 *       the front of a slot, in its order.
 *   V3  an entry is in exactly one place: nowhere, in a slot, in the heap, or on a list of due
 *       ones. Taking it out leaves nothing behind.
 *   V4  a bit for each slot says whether it holds something, so that time passes over empty
 *       stretches without visiting them.
 *
 * Rejected: one ordered tree (a logarithm a timer, and a cache miss a step); marking what was
 * cancelled (a million timers that never fire would stay until their time). */
#ifndef JZX_TIME_WHEEL_H
#define JZX_TIME_WHEEL_H

#include "base/heap.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

#define JZX__WHEEL_LEVELS 3u

/* Ticks fit in 63 bits: at 1 ns a tick that is 292 years. */
#define JZX__TICK_MAX ((uint64_t)INT64_MAX)

/* Where an entry is (V3). */
enum jzx__wheel_place {
    JZX__WHEEL_NOWHERE, /* 0: as in memory that was cleared */
    JZX__WHEEL_IN_SLOT,
    JZX__WHEEL_IN_HEAP,
    JZX__WHEEL_DUE /* on a list that advance has filled */
};

/* Part of what it stands for. The owner may read the deadline; the rest is the wheel's. */
struct jzx__wheel_entry {
    union {
        uint64_t deadline; /* tick */
        struct jzx__heap_node node;
        struct {
            uint64_t key; /* the deadline */
            struct jzx__link link;
        };
    };
    uint32_t slot; /* of all levels together, if it is in one */
    uint8_t place; /* enum jzx__wheel_place */
};

/* Slots of a level: a power of two from 2 to 2^12. */
struct jzx__wheel_shape {
    uint32_t slots[JZX__WHEEL_LEVELS];
};

/* E46 */
#define JZX__WHEEL_SHAPE ((struct jzx__wheel_shape){{256, 64, 64}})

struct jzx__wheel_level {
    struct jzx__list *slots;
    uint64_t *used;  /* a bit for each */
    uint32_t mask;   /* of a slot's number */
    uint32_t shift;  /* a slot spans 2^shift ticks */
    uint32_t offset; /* of its slots among all */
};

struct jzx__wheel {
    uint64_t now;      /* the tick that was fired last */
    uint64_t sequence; /* of what goes into the heap */
    size_t count;      /* entries in slots and in the heap */
    struct jzx__wheel_level levels[JZX__WHEEL_LEVELS];
    uint64_t span; /* ticks of all levels together; from there on the heap */
    struct jzx__heap heap;
    void *memory; /* of slots and bits */
    size_t memory_bytes;
    const jzx_allocator *allocator;
};

/* False without memory: nothing is left behind. */
bool jzx__wheel_init(struct jzx__wheel *wheel, struct jzx__wheel_shape shape, uint64_t now,
                     const jzx_allocator *allocator);

/* It must be empty: the entries are their owners'. */
void jzx__wheel_deinit(struct jzx__wheel *wheel);

/* Sets an entry that is nowhere. A deadline that is not in the future means the next tick, one
 * beyond JZX__TICK_MAX the last. False without memory, which only a far one can need: it is nowhere
 * then. */
bool jzx__wheel_set(struct jzx__wheel *wheel, struct jzx__wheel_entry *entry, uint64_t deadline);

/* Takes an entry out, wherever it is; also off a list of due ones. */
void jzx__wheel_remove(struct jzx__wheel *wheel, struct jzx__wheel_entry *entry);

/* Lets time pass up to and with tick `to`, and appends what is due to the list, in order (V1, V2).
 * Stops after the first tick at which at least `most` are on it: true if it came to `to`. */
bool jzx__wheel_advance(struct jzx__wheel *wheel, uint64_t to, uint32_t most,
                        struct jzx__list *due);

/* A tick at which there may be something to do, the soonest: no entry is due before it. UINT64_MAX
 * if there is nothing. At that tick the answer may be that something is due later. */
uint64_t jzx__wheel_next(const struct jzx__wheel *wheel);

/* The entry of a link on a list of due ones. */
static inline struct jzx__wheel_entry *jzx__wheel_entry_of(struct jzx__link *link) {
    return (void *)((char *)link - offsetof(struct jzx__wheel_entry, link));
}

static inline bool jzx__wheel_is_set(const struct jzx__wheel_entry *entry) {
    return entry->place != JZX__WHEEL_NOWHERE;
}

#endif
