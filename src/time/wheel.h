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
 *   V3  an entry is in exactly one place: nowhere, in a slot, in the heap, or on the list of what
 *       is due. Taking it out leaves nothing behind.
 *   V4  a bit for each slot says whether it may hold something, so that time passes over empty
 *       stretches without visiting them. One that was emptied by removals is seen to when somebody
 *       asks what comes next.
 *
 * Rejected: one ordered tree (a logarithm a timer, and a cache miss a step); marking what was
 * cancelled (a million timers that never fire would stay until their time). */
#ifndef JZX_TIME_WHEEL_H
#define JZX_TIME_WHEEL_H

#include "base/compiler.h"
#include "base/heap.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

#define JZX__WHEEL_LEVELS 3u

/* Ticks fit in 63 bits: at 1 ns a tick that is 292 years. */
#define JZX__TICK_MAX ((uint64_t)INT64_MAX)

/* Distances of entries outside the heap fit in 31 bits. */
#define JZX__WHEEL_REACH ((uint64_t)INT32_MAX)

/* Where an entry is (V3). */
enum jzx__wheel_place {
    JZX__WHEEL_NOWHERE, /* 0: as in memory that was cleared */
    JZX__WHEEL_IN_SLOT, /* or, when its tick has come, on the list of what is due */
    JZX__WHEEL_IN_HEAP
};

/* Part of what it stands for, and small, so that a timer can be one cache line. */
struct jzx__wheel_entry {
    union {
        struct jzx__link link;      /* in a slot, or on the list of what is due */
        struct jzx__heap_node node; /* in the heap, which knows the whole deadline */
    };
    uint32_t deadline; /* the low bits of the tick: outside the heap it is near */
    uint32_t info;     /* {spare, place, hint}: see below. One word, as all of it is written */
};

_Static_assert(sizeof(struct jzx__wheel_entry) <= 24, "small");

/* How many lines ahead one may be that is taken out soon after it, signed: for the cache. */
#define JZX__WHEEL_HINT 0x03FFFFFFu
#define JZX__WHEEL_PLACE_SHIFT 26
#define JZX__WHEEL_PLACE (3u << JZX__WHEEL_PLACE_SHIFT)
/* 4 bits of the owner's: the wheel does not look. */
#define JZX__WHEEL_SPARE_SHIFT 28
#define JZX__WHEEL_SPARE (15u << JZX__WHEEL_SPARE_SHIFT)

static inline enum jzx__wheel_place jzx__wheel_place(const struct jzx__wheel_entry *entry) {
    return (enum jzx__wheel_place)((entry->info & JZX__WHEEL_PLACE) >> JZX__WHEEL_PLACE_SHIFT);
}

static inline uint32_t jzx__wheel_spare(const struct jzx__wheel_entry *entry) {
    return entry->info >> JZX__WHEEL_SPARE_SHIFT;
}

static inline uint32_t jzx__wheel_info(uint32_t spare, enum jzx__wheel_place place, uint32_t hint) {
    return spare << JZX__WHEEL_SPARE_SHIFT | (uint32_t)place << JZX__WHEEL_PLACE_SHIFT | hint;
}

/* The entry is in a place without hints. */
static inline void jzx__wheel_note(struct jzx__wheel_entry *entry, enum jzx__wheel_place place) {
    entry->info = jzx__wheel_info(jzx__wheel_spare(entry), place, 0);
}

/* Slots of a level: a power of two from 2 to 2^12; all levels together span less than
 * JZX__WHEEL_REACH. */
struct jzx__wheel_shape {
    uint32_t slots[JZX__WHEEL_LEVELS];
};

/* E46 */
#define JZX__WHEEL_SHAPE ((struct jzx__wheel_shape){{256, 64, 64}})
#define JZX__WHEEL_SPAN ((uint64_t)256 * 64 * 64) /* ticks of it; from there on the heap */

/* The entries that were put into a slot last. They may be gone: their addresses are for hints. */
#define JZX__WHEEL_AHEAD 16u
struct jzx__wheel_trail {
    uintptr_t last[JZX__WHEEL_AHEAD];
    uint32_t next;
    uint32_t behind; /* put at the end of the slot since it fired last; some may be gone */
};

struct jzx__wheel_level {
    struct jzx__list *slots;
    struct jzx__wheel_trail *trails;
    uint64_t *used; /* a bit for each */
    uint32_t mask;  /* of a slot's number */
    uint32_t shift; /* a slot spans 2^shift ticks, */
    uint32_t span;  /* and all of them so many */
};

struct jzx__wheel {
    uint64_t now;         /* the tick that came last */
    uint64_t sequence;    /* of what goes into the heap */
    size_t count;         /* all entries */
    struct jzx__list due; /* those whose tick has come, in order */
    struct jzx__wheel_level levels[JZX__WHEEL_LEVELS];
    uint64_t span; /* ticks of all levels together; from there on the heap */
    struct jzx__heap heap;
    void *memory; /* of slots, trails and bits */
    size_t memory_bytes;
    const jzx_allocator *allocator;
};

/* ---- slots ---- */

#define JZX__WHEEL_WORD 64u /* slots whose bits are in one word */

/* The level of an entry so many ticks away: E47; beyond the span the last one. */
static inline struct jzx__wheel_level *jzx__wheel_level_for(struct jzx__wheel *wheel,
                                                            uint32_t ticks) {
    uint32_t beyond_0 = ticks >= wheel->levels[0].span; /* sums: a branch would often be wrong */
    uint32_t beyond_1 = ticks >= wheel->levels[1].span;
    return &wheel->levels[beyond_0 + beyond_1];
}

static inline void jzx__wheel_unmark(struct jzx__wheel_level *level, uint32_t slot) {
    level->used[slot / JZX__WHEEL_WORD] &= ~((uint64_t)1 << slot % JZX__WHEEL_WORD);
}

/* Fewer entries are in the cache anyway, where the trails would take their place. */
#define JZX__WHEEL_HINTS_FROM 4096u

/* Of a million entries hardly one is in the cache, and each is known only by the one before. So an
 * entry says where the one is that was put into its slot JZX__WHEEL_AHEAD entries earlier: what is
 * put in at one end and taken out from there finds it soon. */
static inline uint32_t jzx__wheel_leave_hint(struct jzx__wheel_trail *trail,
                                             const struct jzx__wheel_entry *entry) {
    uintptr_t *place = &trail->last[trail->next++ % JZX__WHEEL_AHEAD];
    uintptr_t bytes = *place - (uintptr_t)entry;
    *place = (uintptr_t)entry;
    return (uint32_t)(bytes / JZX_CACHE_LINE) & JZX__WHEEL_HINT;
}

static inline void jzx__wheel_use_hint(const struct jzx__wheel_entry *entry) {
    int32_t lines = (int32_t)(entry->info << 6) / 64; /* without the rest, and with its sign */
    uintptr_t ahead = (uintptr_t)entry + (uintptr_t)((intptr_t)lines * JZX_CACHE_LINE);
    __builtin_prefetch((const void *)ahead, 1);
}

/* Into the slot that the deadline has from now on; in_front: it comes from further up (V2). */
static inline void jzx__wheel_put(struct jzx__wheel *wheel, struct jzx__wheel_entry *entry,
                                  uint32_t spare, uint32_t deadline, bool in_front) {
    struct jzx__wheel_level *level = jzx__wheel_level_for(wheel, deadline - (uint32_t)wheel->now);
    uint32_t slot = deadline >> level->shift & level->mask;
    entry->deadline = deadline;
    if (in_front)
        jzx__list_push_front(&level->slots[slot], &entry->link);
    else
        jzx__list_push_back(&level->slots[slot], &entry->link);
    level->used[slot / JZX__WHEEL_WORD] |= (uint64_t)1 << slot % JZX__WHEEL_WORD;
    uint32_t hint = 0;
    if (wheel->count >= JZX__WHEEL_HINTS_FROM) {
        hint = jzx__wheel_leave_hint(&level->trails[slot], entry);
        level->trails[slot].behind += !in_front;
    }
    entry->info = jzx__wheel_info(spare, JZX__WHEEL_IN_SLOT, hint);
}

/* jzx__wheel_set for a deadline in the future and in the span. */
static inline void jzx__wheel_set_near(struct jzx__wheel *wheel, struct jzx__wheel_entry *entry,
                                       uint32_t spare, uint64_t deadline) {
    jzx__wheel_put(wheel, entry, spare, (uint32_t)deadline, false);
    wheel->count++;
}

static inline bool jzx__wheel_is_near(const struct jzx__wheel *wheel, uint64_t deadline) {
    return deadline - wheel->now - 1 < wheel->span - 1; /* also if it is over: then it wraps */
}

/* jzx__wheel_remove for an entry in a slot, which does not say so itself any more. */
static inline void jzx__wheel_remove_near(struct jzx__wheel *wheel,
                                          struct jzx__wheel_entry *entry) {
    jzx__list_remove(&entry->link);
    wheel->count--;
}

/* ---- setting and removing ---- */

/* The memory that a wheel of that shape takes when it is made. */
size_t jzx__wheel_bytes(struct jzx__wheel_shape shape);

/* False without memory: nothing is left behind. */
bool jzx__wheel_init(struct jzx__wheel *wheel, struct jzx__wheel_shape shape, uint64_t now,
                     const jzx_allocator *allocator);

/* It must be empty: the entries are their owners'. */
void jzx__wheel_deinit(struct jzx__wheel *wheel);

/* Sets an entry that is nowhere. One whose tick has come already is due at once, before what is due
 * since a later one; one beyond JZX__TICK_MAX at that tick. False if there is no memory for the
 * heap and it is further away than JZX__WHEEL_REACH: it comes out when that has passed, and the
 * owner sets it again. */
bool jzx__wheel_set(struct jzx__wheel *wheel, struct jzx__wheel_entry *entry, uint64_t deadline);

/* Lets time pass up to `to`: what is due on the way waits, in order, to be popped. */
void jzx__wheel_catch_up(struct jzx__wheel *wheel, uint64_t to);

/* Takes an entry out, wherever it is. */
void jzx__wheel_remove(struct jzx__wheel *wheel, struct jzx__wheel_entry *entry);

/* The next one that is due at tick `to` at the latest, or was when the wheel caught up, in order
 * (V1, V2); it is nowhere then. Time has passed up to its deadline, or, if there is none: NULL, up
 * to `to`. */
struct jzx__wheel_entry *jzx__wheel_pop(struct jzx__wheel *wheel, uint64_t to);

/* A tick at which there may be something to do, the soonest: no entry is due before it. UINT64_MAX
 * if there is nothing. At that tick the answer may be that something is due later. */
uint64_t jzx__wheel_next(struct jzx__wheel *wheel);

/* The entry of a link in a slot. */
static inline struct jzx__wheel_entry *jzx__wheel_entry_of(struct jzx__link *link) {
    return (void *)((char *)link - offsetof(struct jzx__wheel_entry, link));
}

static inline bool jzx__wheel_is_in_slot(const struct jzx__wheel_entry *entry) {
    return (entry->info & JZX__WHEEL_PLACE) == JZX__WHEEL_IN_SLOT << JZX__WHEEL_PLACE_SHIFT;
}

static inline bool jzx__wheel_is_set(const struct jzx__wheel_entry *entry) {
    return jzx__wheel_place(entry) != JZX__WHEEL_NOWHERE;
}

#endif
