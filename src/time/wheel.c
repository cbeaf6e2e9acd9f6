/* SPDX-License-Identifier: MIT */
/* Placing, cascading and passing over what is empty. */
#include "time/wheel.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/compiler.h"

#define SLOTS_MAX 4096u

/* Entries of a slot that are fetched before it fires, at most: the rest would not stay. */
#define FETCH_MAX 4096u

/* ---- making ---- */

static bool is_valid(struct jzx__wheel_shape shape) {
    uint64_t span = 1;
    for (uint32_t i = 0; i < JZX__WHEEL_LEVELS; i++) {
        uint32_t slots = shape.slots[i];
        if (slots < 2 || slots > SLOTS_MAX || (slots & (slots - 1)) != 0)
            return false;
        span *= slots;
    }
    return span <= JZX__WHEEL_REACH;
}

static uint32_t word_count(uint32_t slots) {
    return (slots + JZX__WHEEL_WORD - 1) / JZX__WHEEL_WORD;
}

static void count_slots(struct jzx__wheel_shape shape, uint32_t *slots, uint32_t *words) {
    *slots = *words = 0;
    for (uint32_t i = 0; i < JZX__WHEEL_LEVELS; i++) {
        *slots += shape.slots[i];
        *words += word_count(shape.slots[i]);
    }
}

size_t jzx__wheel_bytes(struct jzx__wheel_shape shape) {
    uint32_t slots;
    uint32_t words;
    count_slots(shape, &slots, &words);
    return slots * (sizeof(struct jzx__list) + sizeof(struct jzx__wheel_trail)) +
           words * sizeof(uint64_t);
}

bool jzx__wheel_init(struct jzx__wheel *wheel, struct jzx__wheel_shape shape, uint64_t now,
                     const jzx_allocator *allocator) {
    JZX_ASSERT(is_valid(shape));
    uint32_t slots;
    uint32_t words;
    count_slots(shape, &slots, &words);
    *wheel = (struct jzx__wheel){.now = now, .allocator = allocator};
    wheel->memory_bytes = jzx__wheel_bytes(shape);
    wheel->memory = jzx__alloc(allocator, wheel->memory_bytes);
    if (wheel->memory == NULL)
        return false;
    struct jzx__list *lists = wheel->memory;
    struct jzx__wheel_trail *trails = (void *)(lists + slots);
    uint64_t *used = (void *)(trails + slots);
    uint32_t shift = 0;
    uint32_t offset = 0;
    for (uint32_t i = 0; i < JZX__WHEEL_LEVELS; i++) {
        wheel->levels[i] = (struct jzx__wheel_level){.slots = lists + offset,
                                                     .trails = trails + offset,
                                                     .used = used,
                                                     .mask = shape.slots[i] - 1,
                                                     .shift = shift,
                                                     .span = shape.slots[i] << shift};
        used += word_count(shape.slots[i]);
        offset += shape.slots[i];
        shift += (uint32_t)__builtin_ctz(shape.slots[i]);
    }
    for (uint32_t i = 0; i < slots; i++) {
        jzx__list_init(&lists[i]);
        trails[i] = (struct jzx__wheel_trail){.next = 0};
    }
    for (uint32_t i = 0; i < words; i++)
        wheel->levels[0].used[i] = 0;
    wheel->span = (uint64_t)1 << shift;
    jzx__heap_init(&wheel->heap, allocator);
    jzx__list_init(&wheel->due);
    return true;
}

void jzx__wheel_deinit(struct jzx__wheel *wheel) {
    JZX_ASSERT(wheel->count == 0);
    jzx__heap_deinit(&wheel->heap);
    jzx__free(wheel->allocator, wheel->memory, wheel->memory_bytes);
}

/* ---- setting and removing ---- */

/* Without memory for the heap it goes round on the last level until its time is near: that takes a
 * look each time round, and it may come after one of the same tick that was set later. */
static JZX_COLD bool set_far(struct jzx__wheel *wheel, struct jzx__wheel_entry *entry,
                             uint64_t deadline) {
    if (jzx__heap_push(&wheel->heap, &entry->node, deadline, wheel->sequence++)) {
        jzx__wheel_note(entry, JZX__WHEEL_IN_HEAP);
        return true;
    }
    uint64_t reach = wheel->now + JZX__WHEEL_REACH;
    jzx__wheel_put(wheel, entry, jzx__wheel_spare(entry),
                   (uint32_t)(deadline < reach ? deadline : reach), false);
    return deadline <= reach;
}

/* Its tick is over: it is due, before those of later ticks that are. Mostly there are none. */
static JZX_COLD void set_late(struct jzx__wheel *wheel, struct jzx__wheel_entry *entry,
                              uint64_t deadline) {
    uint64_t late = wheel->now - deadline;
    uint32_t by = late < JZX__WHEEL_REACH ? (uint32_t)late : (uint32_t)JZX__WHEEL_REACH;
    uint32_t now = (uint32_t)wheel->now;
    struct jzx__link *before = wheel->due.ring.prev;
    while (before != &wheel->due.ring && now - jzx__wheel_entry_of(before)->deadline < by)
        before = before->prev;
    entry->deadline = now - by;
    jzx__list_insert(&entry->link, before, before->next);
    jzx__wheel_note(entry, JZX__WHEEL_IN_SLOT);
}

bool jzx__wheel_set(struct jzx__wheel *wheel, struct jzx__wheel_entry *entry, uint64_t deadline) {
    JZX_ASSERT(!jzx__wheel_is_set(entry));
    deadline = deadline < JZX__TICK_MAX ? deadline : JZX__TICK_MAX;
    if (JZX_LIKELY(jzx__wheel_is_near(wheel, deadline))) {
        jzx__wheel_set_near(wheel, entry, jzx__wheel_spare(entry), deadline);
        return true;
    }
    wheel->count++;
    if (deadline > wheel->now)
        return set_far(wheel, entry, deadline);
    set_late(wheel, entry, deadline);
    return true;
}

void jzx__wheel_remove(struct jzx__wheel *wheel, struct jzx__wheel_entry *entry) {
    switch (jzx__wheel_place(entry)) {
    case JZX__WHEEL_NOWHERE: return;
    case JZX__WHEEL_IN_HEAP:
        jzx__heap_remove(&wheel->heap, &entry->node);
        wheel->count--;
        break;
    case JZX__WHEEL_IN_SLOT: jzx__wheel_remove_near(wheel, entry); break;
    }
    jzx__wheel_note(entry, JZX__WHEEL_NOWHERE);
}

/* ---- time ---- */

/* How many slots after `from` the next one is that is marked, from 1 to all of them; 0 if
 * none does. A slot with the number of `from` itself is the last of them. */
static uint32_t next_marked(const struct jzx__wheel_level *level, uint32_t from) {
    uint32_t words = word_count(level->mask + 1);
    uint32_t start = (from + 1) & level->mask;
    uint32_t word = start / JZX__WHEEL_WORD;
    uint64_t bits = level->used[word] & (UINT64_MAX << start % JZX__WHEEL_WORD);
    for (uint32_t i = 0; i <= words; i++) {
        if (bits != 0) {
            uint32_t slot = word * JZX__WHEEL_WORD + (uint32_t)__builtin_ctzll(bits);
            uint32_t ahead = (slot - from) & level->mask;
            return ahead != 0 ? ahead : level->mask + 1;
        }
        word = word + 1 == words ? 0 : word + 1;
        bits = level->used[word];
    }
    return 0;
}

/* The same, for slots that do hold something (V4). */
static uint32_t next_used(struct jzx__wheel_level *level, uint32_t from) {
    uint32_t ahead;
    while ((ahead = next_marked(level, from)) != 0) {
        uint32_t slot = (from + ahead) & level->mask;
        if (!jzx__list_is_empty(&level->slots[slot]))
            break;
        jzx__wheel_unmark(level, slot);
    }
    return ahead;
}

/* The first tick of the next slot of a level that holds something: when it fires or cascades. */
static uint64_t next_of_level(struct jzx__wheel *wheel, uint32_t i) {
    struct jzx__wheel_level *level = &wheel->levels[i];
    uint64_t block = wheel->now >> level->shift;
    uint32_t ahead = next_used(level, (uint32_t)block & level->mask);
    return ahead == 0 ? UINT64_MAX : (block + ahead) << level->shift;
}

/* The first tick of a slot of the last level at which the first of the heap is within the span. */
static uint64_t next_of_heap(const struct jzx__wheel *wheel) {
    const struct jzx__heap_item *first = jzx__heap_peek(&wheel->heap);
    if (first == NULL)
        return UINT64_MAX;
    uint32_t shift = wheel->levels[JZX__WHEEL_LEVELS - 1].shift;
    uint64_t within = first->key - wheel->span + 1;
    uint64_t tick = (within + ((uint64_t)1 << shift) - 1) >> shift << shift;
    return tick > wheel->now ? tick : wheel->now + 1;
}

/* The same without what is due already. */
static uint64_t next_to_come(struct jzx__wheel *wheel) {
    uint64_t next = next_of_heap(wheel);
    for (uint32_t i = 0; i < JZX__WHEEL_LEVELS; i++) {
        uint64_t of_level = next_of_level(wheel, i);
        next = of_level < next ? of_level : next;
    }
    return next;
}

uint64_t jzx__wheel_next(struct jzx__wheel *wheel) {
    if (!jzx__list_is_empty(&wheel->due))
        return wheel->now;
    return wheel->count == 0 ? UINT64_MAX : next_to_come(wheel);
}

/* What has come near enough goes from the heap into slots, in front of what was set since (V2). */
static void cascade_heap(struct jzx__wheel *wheel) {
    struct jzx__list near;
    const struct jzx__heap_item *item;
    jzx__list_init(&near);
    while ((item = jzx__heap_peek(&wheel->heap)) != NULL && item->key - wheel->now < wheel->span) {
        uint64_t deadline = item->key;
        struct jzx__wheel_entry *entry = (void *)jzx__heap_pop(&wheel->heap);
        entry->deadline = (uint32_t)deadline;
        jzx__list_push_back(&near, &entry->link);
    }
    struct jzx__link *link;
    while ((link = jzx__list_pop_back(&near)) != NULL) {
        struct jzx__wheel_entry *entry = jzx__wheel_entry_of(link);
        jzx__wheel_put(wheel, entry, jzx__wheel_spare(entry), entry->deadline, true);
    }
}

/* The slot that begins now goes a level down, or two. */
static void cascade(struct jzx__wheel *wheel, uint32_t i) {
    struct jzx__wheel_level *level = &wheel->levels[i];
    uint32_t slot = (uint32_t)(wheel->now >> level->shift) & level->mask;
    struct jzx__list list; /* one that goes round comes into the same slot again */
    struct jzx__link *link;
    jzx__list_init(&list);
    jzx__list_splice(&list, &level->slots[slot]);
    jzx__wheel_unmark(level, slot);
    while ((link = jzx__list_pop_back(&list)) != NULL) {
        struct jzx__wheel_entry *entry = jzx__wheel_entry_of(link);
        jzx__wheel_use_hint(entry);
        jzx__wheel_put(wheel, entry, jzx__wheel_spare(entry), entry->deadline, true);
    }
}

/* What was put at the end of a slot is taken out in that order, against its hints: they lead from
 * the last to the first. So it is fetched in this direction before. */
static void fetch_behind(const struct jzx__list *slot, struct jzx__wheel_trail *trail) {
    struct jzx__link *link = slot->ring.prev;
    uint32_t most = trail->behind < FETCH_MAX ? trail->behind : FETCH_MAX;
    for (uint32_t i = 0; i < most && link != &slot->ring; i++) {
        jzx__wheel_use_hint(jzx__wheel_entry_of(link));
        link = link->prev;
    }
    trail->behind = 0;
}

/* The slot of this tick is due, as a whole. */
static void fire(struct jzx__wheel *wheel) {
    struct jzx__wheel_level *level = &wheel->levels[0];
    uint32_t slot = (uint32_t)wheel->now & level->mask;
    jzx__wheel_unmark(level, slot);
    fetch_behind(&level->slots[slot], &level->trails[slot]);
    jzx__list_splice(&wheel->due, &level->slots[slot]);
}

static bool begins_slot(const struct jzx__wheel *wheel, uint32_t i) {
    uint64_t span = (uint64_t)1 << wheel->levels[i].shift;
    return (wheel->now & (span - 1)) == 0;
}

/* Lets time pass up to `to`; or, unless it is to pass over that, to a tick before it at which
 * something is due. */
static void advance(struct jzx__wheel *wheel, uint64_t to, bool past_due) {
    while (wheel->now < to && (past_due || jzx__list_is_empty(&wheel->due))) {
        uint64_t next = next_to_come(wheel);
        if (next > to) {
            wheel->now = to;
            return;
        }
        wheel->now = next;
        /* From the lowest level up: what comes from further up goes in front (V2). */
        if (begins_slot(wheel, 1))
            cascade(wheel, 1);
        if (begins_slot(wheel, 2)) {
            cascade(wheel, 2);
            cascade_heap(wheel);
        }
        fire(wheel);
    }
}

void jzx__wheel_catch_up(struct jzx__wheel *wheel, uint64_t to) {
    advance(wheel, to < JZX__TICK_MAX ? to : JZX__TICK_MAX, true);
}

struct jzx__wheel_entry *jzx__wheel_pop(struct jzx__wheel *wheel, uint64_t to) {
    if (jzx__list_is_empty(&wheel->due))
        advance(wheel, to < JZX__TICK_MAX ? to : JZX__TICK_MAX, false);
    struct jzx__link *link = jzx__list_pop_front(&wheel->due);
    if (link == NULL)
        return NULL;
    struct jzx__wheel_entry *entry = jzx__wheel_entry_of(link);
    jzx__wheel_use_hint(entry);
    jzx__wheel_note(entry, JZX__WHEEL_NOWHERE);
    wheel->count--;
    return entry;
}
