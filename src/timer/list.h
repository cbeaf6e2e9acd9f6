/* SPDX-License-Identifier: MIT */
/* The timers of an actor: an array of the indexes of their records. A record knows its place, so
 * that it is taken out without a look at any other; the place stays empty until the array is full,
 * or all behind it are empty, too. Without memory for a longer array what has to be taken in all
 * the same is chained at the actor's own record, keyed or not; that is rare, and walked. All of it
 * is the owner's alone.
 *
 *   O1  places[i] is NONE, or the index of a record whose number is i.
 *   O2  the last of them is not NONE.
 *   O3  a record is in the array or in the chain, or its number is its index. */
#ifndef JZX_TIMER_LIST_H
#define JZX_TIMER_LIST_H

#include "timer/timer.h"

#define JZX__TIMER_NONE UINT32_MAX

struct jzx__timer_list {
    uint32_t count; /* of places, empty ones too */
    uint32_t capacity;
    uint32_t places[];
};

static inline bool jzx__timer_list_is_empty(const struct jzx__timer_list *list) {
    return list == NULL || list->count == 0;
}

/* True if one can be added without memory. */
static inline bool jzx__timer_list_has_room(const struct jzx__timer_list *list) {
    return list != NULL && list->count < list->capacity;
}

/* Of one that has room. */
static inline void jzx__timer_list_add(struct jzx__timer_list *list, struct jzx__timer *timer) {
    list->places[list->count] = timer->number;
    timer->number = list->count++;
}

/* O2 */
static inline void jzx__timer_list_trim(struct jzx__timer_list *list) {
    while (list->count != 0 && list->places[list->count - 1] == JZX__TIMER_NONE)
        list->count--;
}

static inline void jzx__timer_list_remove(struct jzx__timer_list *list, struct jzx__timer *timer) {
    uint32_t place = timer->number;
    timer->number = list->places[place];
    list->places[place] = JZX__TIMER_NONE;
    if (place + 1 == list->count)
        jzx__timer_list_trim(list);
}

/* Into the chain, and out of it. A record that is in neither has its index as its number. */
void jzx__timer_chain(struct jzx__actor_timers *own, struct jzx__timer *timer);
void jzx__timer_unchain(const struct jzx_loop *loop, struct jzx__actor_timers *own,
                        struct jzx__timer *timer);

/* There may be memory again: as much of the chain as possible goes into the lists. */
void jzx__timer_list_chained(struct jzx_loop *loop, struct jzx__worker *me,
                             struct jzx__actor_timers *own);

/* The index of a record that is listed or chained. */
uint32_t jzx__timer_index(const struct jzx_loop *loop, const struct jzx__actor_timers *own,
                          const struct jzx__timer *timer);

/* Of the part of an actor: frees a struct jzx__actor_timers and its lists; what they take. */
void jzx__timer_lists_release(struct jzx_loop *loop, struct jzx__worker *me, void *record);
size_t jzx__timer_lists_size_bytes(const void *record);

/* Makes room for one more. False without memory. */
bool jzx__timer_list_reserve(struct jzx_loop *loop, struct jzx__worker *me,
                             struct jzx__timer_list **list);

/* *list is NULL then. */
void jzx__timer_list_free(struct jzx_loop *loop, struct jzx__worker *me,
                          struct jzx__timer_list **list);

#endif
