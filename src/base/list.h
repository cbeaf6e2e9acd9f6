/* SPDX-License-Identifier: MIT */
/* An intrusive doubly linked list. The links live in the elements, so nothing is allocated and an
 * element can be taken out of the middle. */
#ifndef JZX_BASE_LIST_H
#define JZX_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct jzx__link {
    struct jzx__link *next;
    struct jzx__link *prev;
};

/* A ring with the list itself as the stop: inserting and removing need no branch. The list must not
 * move in memory. */
struct jzx__list {
    struct jzx__link ring; /* next is the first, prev the last; both the ring itself if empty */
};

static inline void jzx__list_init(struct jzx__list *list) {
    list->ring.next = &list->ring;
    list->ring.prev = &list->ring;
}

static inline bool jzx__list_is_empty(const struct jzx__list *list) {
    return list->ring.next == &list->ring;
}

static inline void jzx__list_insert(struct jzx__link *link, struct jzx__link *before,
                                    struct jzx__link *after) {
    link->prev = before;
    link->next = after;
    before->next = link;
    after->prev = link;
}

static inline void jzx__list_push_front(struct jzx__list *list, struct jzx__link *link) {
    jzx__list_insert(link, &list->ring, list->ring.next);
}

static inline void jzx__list_push_back(struct jzx__list *list, struct jzx__link *link) {
    jzx__list_insert(link, list->ring.prev, &list->ring);
}

/* link must be in a list. */
static inline void jzx__list_remove(struct jzx__link *link) {
    link->prev->next = link->next;
    link->next->prev = link->prev;
}

/* Appends all of `from`, which is empty then. */
static inline void jzx__list_splice(struct jzx__list *list, struct jzx__list *from) {
    if (jzx__list_is_empty(from))
        return;
    from->ring.next->prev = list->ring.prev;
    list->ring.prev->next = from->ring.next;
    from->ring.prev->next = &list->ring;
    list->ring.prev = from->ring.prev;
    jzx__list_init(from);
}

/* NULL if the list is empty. */
static inline struct jzx__link *jzx__list_pop_front(struct jzx__list *list) {
    struct jzx__link *link = list->ring.next;
    if (link == &list->ring)
        return NULL;
    jzx__list_remove(link);
    return link;
}

static inline struct jzx__link *jzx__list_pop_back(struct jzx__list *list) {
    struct jzx__link *link = list->ring.prev;
    if (link == &list->ring)
        return NULL;
    jzx__list_remove(link);
    return link;
}

#endif
