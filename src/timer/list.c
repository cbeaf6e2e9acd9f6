/* SPDX-License-Identifier: MIT */
#include "timer/list.h"

#include "base/alloc.h"

#include <string.h>

static size_t list_size_bytes(uint32_t capacity) {
    return sizeof(struct jzx__timer_list) + (size_t)capacity * sizeof(uint32_t);
}

/* As many as fit into a block of that size. */
static uint32_t capacity_of(size_t size) {
    return (uint32_t)((size - sizeof(struct jzx__timer_list)) / sizeof(uint32_t));
}

static struct jzx__timer_list *make(struct jzx_loop *loop, struct jzx__worker *me, size_t size) {
    uint32_t class_index = jzx__slab_class(size);
    struct jzx__timer_list *list = class_index == JZX__SLAB_CLASS_COUNT
                                       ? jzx__alloc(&loop->sched.allocator, size)
                                       : jzx__sched_alloc(&loop->sched, me, class_index);
    if (list == NULL)
        return NULL;
    if (class_index == JZX__SLAB_CLASS_COUNT)
        jzx__advise_large_pages(list, size);
    *list = (struct jzx__timer_list){.capacity = capacity_of(size)};
    return list;
}

void jzx__timer_list_free(struct jzx_loop *loop, struct jzx__worker *me,
                          struct jzx__timer_list **list) {
    if (*list == NULL)
        return;
    size_t size = list_size_bytes((*list)->capacity);
    uint32_t class_index = jzx__slab_class(size);
    if (class_index == JZX__SLAB_CLASS_COUNT)
        jzx__free(&loop->sched.allocator, *list, size);
    else
        jzx__sched_free(&loop->sched, me, class_index, *list);
    *list = NULL;
}

/* The same without empty places. */
static void close_gaps(const struct jzx_loop *loop, struct jzx__timer_list *list) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t index = list->places[i];
        if (index == JZX__TIMER_NONE)
            continue;
        jzx__timer_record(jzx__timer_pool_of(loop), index)->number = kept;
        list->places[kept++] = index;
    }
    list->count = kept;
}

/* Places that are not empty. */
static uint32_t count_live(const struct jzx__timer_list *list) {
    uint32_t live = 0;
    for (uint32_t i = 0; i < list->count; i++)
        live += list->places[i] != JZX__TIMER_NONE;
    return live;
}

static bool grow(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__timer_list **list) {
    struct jzx__timer_list *old = *list;
    if (old->capacity > UINT32_MAX / 4)
        return false;
    struct jzx__timer_list *longer = make(loop, me, 2 * list_size_bytes(old->capacity));
    if (longer == NULL)
        return false;
    memcpy(longer->places, old->places, old->count * sizeof old->places[0]);
    longer->count = old->count;
    jzx__timer_list_free(loop, me, list);
    *list = longer;
    return true;
}

bool jzx__timer_list_reserve(struct jzx_loop *loop, struct jzx__worker *me,
                             struct jzx__timer_list **list) {
    if (*list == NULL)
        *list = make(loop, me, JZX__BLOCK_SIZE_MIN);
    if (*list == NULL)
        return false;
    if (jzx__timer_list_has_room(*list))
        return true;
    uint32_t live = count_live(*list);
    if (live > (*list)->capacity / 2 && grow(loop, me, list)) /* or it would be full again soon */
        return true;
    if (live == (*list)->capacity)
        return false;
    close_gaps(loop, *list);
    return true;
}

/* ---- the chain ---- */

static struct jzx__timer *record(const struct jzx_loop *loop, uint32_t number) {
    return jzx__timer_record(jzx__timer_pool_of(loop), number - 1);
}

void jzx__timer_chain(struct jzx__actor_timers *own, struct jzx__timer *timer) {
    uint32_t index = timer->number;
    timer->number = own->chained;
    own->chained = index + 1;
}

/* The place that says where the record is. */
static uint32_t *find(const struct jzx_loop *loop, uint32_t *first,
                      const struct jzx__timer *timer) {
    uint32_t *at = first;
    JZX_ASSERT(*at != 0);
    while (record(loop, *at) != timer) {
        at = &record(loop, *at)->number;
        JZX_ASSERT(*at != 0);
    }
    return at;
}

void jzx__timer_unchain(const struct jzx_loop *loop, struct jzx__actor_timers *own,
                        struct jzx__timer *timer) {
    uint32_t *at = find(loop, &own->chained, timer);
    uint32_t index = *at - 1;
    *at = timer->number;
    timer->number = index;
}

/* Others may set other bits meanwhile. */
static void clear_chained(struct jzx__timer *timer) {
    /* relaxed: a first guess */
    uint64_t state = jzx__atomic_load_relaxed(&timer->state);
    /* acquire, release: pairs with itself in other hands (H1) */
    while (!jzx__atomic_cas_acq_rel(&timer->state, &state, state & ~(uint64_t)JZX__TIMER_CHAINED))
        continue;
}

void jzx__timer_list_chained(struct jzx_loop *loop, struct jzx__worker *me,
                             struct jzx__actor_timers *own) {
    while (own->chained != 0) {
        struct jzx__timer *timer = record(loop, own->chained);
        struct jzx__timer_list **list = jzx__timer_is_keyed(timer) ? &own->keyed : &own->plain;
        if (!jzx__timer_list_reserve(loop, me, list))
            return;
        jzx__timer_unchain(loop, own, timer);
        jzx__timer_list_add(*list, timer);
        clear_chained(timer);
    }
}

uint32_t jzx__timer_index(const struct jzx_loop *loop, const struct jzx__actor_timers *own,
                          const struct jzx__timer *timer) {
    uint32_t first = own->chained;
    if (jzx__timer_is_chained(timer))
        return *find(loop, &first, timer) - 1;
    return (jzx__timer_is_keyed(timer) ? own->keyed : own->plain)->places[timer->number];
}

/* ---- the part of an actor ---- */

void jzx__timer_lists_release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    struct jzx__actor_timers *own = record;
    jzx__timer_list_free(loop, me, &own->plain);
    jzx__timer_list_free(loop, me, &own->keyed);
    jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, own);
}

size_t jzx__timer_lists_size_bytes(const void *record) {
    const struct jzx__actor_timers *own = record;
    size_t plain = own->plain == NULL ? 0 : list_size_bytes(own->plain->capacity);
    size_t keyed = own->keyed == NULL ? 0 : list_size_bytes(own->keyed->capacity);
    return jzx__slab_class_size(JZX__PART_CLASS) + plain + keyed;
}
