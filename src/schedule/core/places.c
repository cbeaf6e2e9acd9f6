/* SPDX-License-Identifier: MIT */
/* Wheel, overflow, and the way between them. */
#include "schedule/core/places.h"

#include "base/assert.h"

bool jzx__places_init(struct jzx__places *places, const struct jzx__schedule_config *config,
                      struct jzx__slot_cell *cells, struct jzx__heap_item *items, uint64_t now,
                      const jzx_allocator *allocator) {
    if (!jzx__wheel_init(&places->wheel, config->shape, now, allocator))
        return false;
    jzx__slots_init(&places->slots, cells, config->capacity.system_quota);
    jzx__heap_init(&places->overflow, NULL); /* it never grows */
    places->overflow.items = items;
    places->overflow.capacity = config->capacity.overflow;
    places->slot_capacity = config->slot_capacity;
    places->batch_limit = config->reinsertion_batch_limit;
    places->threshold =
        (uint32_t)((uint64_t)config->capacity.overflow * config->overflow_threshold_pct / 100);
    places->threshold = places->threshold > 0 ? places->threshold : 1;
    places->lead_ticks = config->capacity.overflow / config->reinsertion_batch_limit + 2;
    places->moved_total = 0;
    return true;
}

void jzx__places_deinit(struct jzx__places *places) {
    JZX_ASSERT(places->overflow.count == 0);
    jzx__wheel_deinit(&places->wheel);
}

static void put_in_wheel(struct jzx__places *places, struct jzx__job *job, uint64_t tick) {
    (void)jzx__wheel_set(&places->wheel, &job->entry, tick); /* near: needs no memory */
    jzx__slots_add(&places->slots, tick);
    job->slot = tick;
    job->where = JZX__WHERE_WHEEL;
}

static uint64_t tick_for(const struct jzx__places *places, uint64_t deadline) {
    uint64_t soonest = places->wheel.now + 1;
    return deadline > soonest ? deadline : soonest;
}

static bool slot_is_full(const struct jzx__places *places, uint64_t tick) {
    return jzx__slots_count(&places->slots, tick) >= places->slot_capacity;
}

static bool put_in_overflow(struct jzx__places *places, struct jzx__job *job) {
    if (places->overflow.count == places->overflow.capacity)
        return false;
    bool pushed = jzx__heap_push(&places->overflow, &job->far, job->deadline, job->sequence);
    JZX_ASSERT(pushed);
    job->where = JZX__WHERE_OVERFLOW;
    return true;
}

enum jzx__placed jzx__places_add(struct jzx__places *places, struct jzx__job *job) {
    JZX_ASSERT(job->where == JZX__WHERE_NOWHERE);
    uint64_t tick = tick_for(places, job->deadline);
    if (!jzx__wheel_is_near(&places->wheel, tick))
        return put_in_overflow(places, job) ? JZX__PLACED : JZX__OVERFLOW_FULL;
    if (slot_is_full(places, tick))
        return JZX__SLOT_FULL;
    put_in_wheel(places, job, tick);
    return JZX__PLACED;
}

void jzx__places_add_again(struct jzx__places *places, struct jzx__job *job) {
    JZX_ASSERT(job->where == JZX__WHERE_NOWHERE);
    uint64_t deadline = job->deadline > job->not_before ? job->deadline : job->not_before;
    uint64_t tick = tick_for(places, deadline);
    bool is_near = jzx__wheel_is_near(&places->wheel, tick);
    if (!is_near && put_in_overflow(places, job))
        return;
    /* A full overflow: it goes round in the wheel until its time is near. */
    put_in_wheel(places, job, is_near ? tick : places->wheel.now + places->wheel.span - 1);
}

void jzx__places_remove(struct jzx__places *places, struct jzx__job *job) {
    switch (job->where) {
    case JZX__WHERE_NOWHERE: return;
    case JZX__WHERE_WHEEL:
        jzx__wheel_remove(&places->wheel, &job->entry);
        jzx__slots_remove(&places->slots, job->slot);
        break;
    case JZX__WHERE_OVERFLOW: jzx__heap_remove(&places->overflow, &job->far); break;
    case JZX__WHERE_DUE: jzx__list_remove(&job->due); break;
    }
    job->where = JZX__WHERE_NOWHERE;
}

uint32_t jzx__places_reinsert(struct jzx__places *places) {
    uint64_t span = places->wheel.span;
    uint64_t reach = jzx__places_is_near_capacity(places) ? span - 1 : places->lead_ticks;
    uint64_t last = places->wheel.now + reach;
    uint32_t moved = 0;
    const struct jzx__heap_item *item;
    while (moved < places->batch_limit && (item = jzx__heap_peek(&places->overflow)) != NULL &&
           item->key <= last) {
        uint64_t tick = tick_for(places, item->key);
        if (slot_is_full(places, tick))
            break;
        struct jzx__heap_node *node = jzx__heap_pop(&places->overflow);
        put_in_wheel(places, JZX_CONTAINER_OF(node, struct jzx__job, far), tick);
        moved++;
    }
    places->moved_total += moved;
    return moved;
}

struct jzx__job *jzx__places_pop(struct jzx__places *places, uint64_t tick) {
    struct jzx__wheel_entry *entry;
    while ((entry = jzx__wheel_pop(&places->wheel, tick)) != NULL) {
        struct jzx__job *job = JZX_CONTAINER_OF(entry, struct jzx__job, entry);
        jzx__slots_remove(&places->slots, job->slot);
        job->where = JZX__WHERE_NOWHERE;
        if (job->deadline <= tick)
            return job;
        jzx__places_add_again(places, job); /* it went round */
    }
    return NULL;
}

void jzx__places_pass(struct jzx__places *places, uint64_t to) {
    jzx__wheel_catch_up(&places->wheel, to);
}

uint64_t jzx__places_next(struct jzx__places *places) {
    uint64_t next = jzx__wheel_next(&places->wheel);
    const struct jzx__heap_item *item = jzx__heap_peek(&places->overflow);
    if (item == NULL)
        return next;
    uint64_t span = places->wheel.span;
    uint64_t reach = jzx__places_is_near_capacity(places) ? span - 1 : places->lead_ticks;
    /* reinsertion before tick t reaches t - 1 + reach */
    uint64_t leaves = item->key >= reach ? item->key - reach + 1 : 0;
    leaves = tick_for(places, leaves);
    return leaves < next ? leaves : next;
}
