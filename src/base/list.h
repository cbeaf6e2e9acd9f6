/* SPDX-License-Identifier: MIT */
/* An intrusive doubly linked list. The links live in the elements, so nothing is allocated and an
 * element can be taken out of the middle. */
#ifndef JZX_BASE_LIST_H
#define JZX_BASE_LIST_H

#include "base/assert.h"

#include <stdbool.h>
#include <stddef.h>

struct jzx__link {
    struct jzx__link *next;
    struct jzx__link *prev;
};

struct jzx__list {
    struct jzx__link *first; /* NULL if empty, and then so is last */
    struct jzx__link *last;
};

static inline void jzx__list_init(struct jzx__list *list) {
    list->first = NULL;
    list->last = NULL;
}

static inline bool jzx__list_is_empty(const struct jzx__list *list) {
    return list->first == NULL;
}

static inline void jzx__list_push_front(struct jzx__list *list, struct jzx__link *link) {
    link->prev = NULL;
    link->next = list->first;
    if (list->first != NULL)
        list->first->prev = link;
    else
        list->last = link;
    list->first = link;
}

static inline void jzx__list_push_back(struct jzx__list *list, struct jzx__link *link) {
    link->next = NULL;
    link->prev = list->last;
    if (list->last != NULL)
        list->last->next = link;
    else
        list->first = link;
    list->last = link;
}

static inline void jzx__list_remove(struct jzx__list *list, struct jzx__link *link) {
    if (link->prev != NULL)
        link->prev->next = link->next;
    else
        list->first = link->next;
    if (link->next != NULL)
        link->next->prev = link->prev;
    else
        list->last = link->prev;
}

/* NULL if the list is empty. */
static inline struct jzx__link *jzx__list_pop_front(struct jzx__list *list) {
    struct jzx__link *link = list->first;
    if (link != NULL)
        jzx__list_remove(list, link);
    return link;
}

static inline struct jzx__link *jzx__list_pop_back(struct jzx__list *list) {
    struct jzx__link *link = list->last;
    if (link != NULL)
        jzx__list_remove(list, link);
    return link;
}

#endif
