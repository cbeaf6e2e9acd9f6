/* SPDX-License-Identifier: MIT */
/* The intrusive list, against an array that holds the same elements in the same order. */
#include "base/list.h"

#include "base/compiler.h"

#include "seeds.h"

#include <stdint.h>
#include <string.h>

#define ITEM_COUNT 12u

struct item {
    uint32_t before; /* so that the link is not at the start */
    struct jzx__link link;
};

struct model {
    struct jzx__list list;
    struct item items[ITEM_COUNT];
    struct item *inside[ITEM_COUNT]; /* in order */
    uint32_t count;
};

static struct item *item_of(struct jzx__link *link) {
    return link == NULL ? NULL : JZX_CONTAINER_OF(link, struct item, link);
}

/* The list has the model's elements in both directions. */
static bool is_as_in_model(const struct model *m) {
    const struct jzx__link *link = &m->list.ring;
    for (uint32_t i = 0; i < m->count; i++) {
        if (!JZX_EXPECT(link->next == &m->inside[i]->link) || !JZX_EXPECT(link->next->prev == link))
            return false;
        link = link->next;
    }
    return JZX_EXPECT(link->next == &m->list.ring) && JZX_EXPECT(m->list.ring.prev == link) &&
           JZX_EXPECT(jzx__list_is_empty(&m->list) == (m->count == 0));
}

static void model_insert(struct model *m, uint32_t at, struct item *item) {
    memmove(&m->inside[at + 1], &m->inside[at], (m->count - at) * sizeof(m->inside[0]));
    m->inside[at] = item;
    m->count++;
}

static struct item *model_remove(struct model *m, uint32_t at) {
    struct item *item = m->inside[at];
    m->count--;
    memmove(&m->inside[at], &m->inside[at + 1], (m->count - at) * sizeof(m->inside[0]));
    return item;
}

static struct item *find_outside(struct model *m) {
    for (uint32_t i = 0; i < ITEM_COUNT; i++) {
        bool inside = false;
        for (uint32_t k = 0; k < m->count; k++)
            inside = inside || m->inside[k] == &m->items[i];
        if (!inside)
            return &m->items[i];
    }
    return NULL;
}

static bool step(struct model *m, uint32_t what, struct jzx__rng *rng) {
    struct item *outside = find_outside(m);
    if (what == 0 && outside != NULL) {
        jzx__list_push_front(&m->list, &outside->link);
        model_insert(m, 0, outside);
    } else if (what == 1 && outside != NULL) {
        jzx__list_push_back(&m->list, &outside->link);
        model_insert(m, m->count, outside);
    } else if (what == 2) {
        struct item *expected = m->count > 0 ? model_remove(m, 0) : NULL;
        JZX_EXPECT(item_of(jzx__list_pop_front(&m->list)) == expected);
    } else if (what == 3) {
        struct item *expected = m->count > 0 ? model_remove(m, m->count - 1) : NULL;
        JZX_EXPECT(item_of(jzx__list_pop_back(&m->list)) == expected);
    } else if (what == 4 && m->count > 0) {
        struct item *item = model_remove(m, jzx__rng_below(rng, m->count));
        jzx__list_remove(&item->link);
    }
    return is_as_in_model(m);
}

static bool check_seed(struct jzx__rng *rng) {
    static struct model m;
    memset(&m, 0, sizeof m);
    jzx__list_init(&m.list);
    for (int i = 0; i < 300; i++) {
        if (!step(&m, jzx__rng_below(rng, 5), rng))
            return false;
    }
    return true;
}

JZX_TEST(random_operations_keep_the_order_of_a_model) {
    run_seeds("random_operations_keep_the_order_of_a_model", jzx_test_rounds(200, 20000),
              check_seed);
}

JZX_TEST(an_empty_list_pops_nothing) {
    struct jzx__list list;
    jzx__list_init(&list);
    JZX_EXPECT(jzx__list_is_empty(&list));
    JZX_EXPECT(jzx__list_pop_front(&list) == NULL);
    JZX_EXPECT(jzx__list_pop_back(&list) == NULL);
}

JZX_TEST(the_only_element_leaves_an_empty_list_whichever_way_it_goes) {
    struct jzx__list list;
    struct jzx__link link;
    jzx__list_init(&list);
    for (int way = 0; way < 3; way++) {
        jzx__list_push_back(&list, &link);
        JZX_EXPECT(!jzx__list_is_empty(&list));
        if (way == 0)
            jzx__list_remove(&link);
        else
            JZX_EXPECT((way == 1 ? jzx__list_pop_front(&list) : jzx__list_pop_back(&list)) ==
                       &link);
        JZX_EXPECT(jzx__list_is_empty(&list));
        JZX_EXPECT(list.ring.prev == &list.ring);
    }
}

JZX_TEST(front_and_back_are_the_two_ends) {
    struct jzx__list list;
    struct jzx__link a, b, c;
    jzx__list_init(&list);
    jzx__list_push_back(&list, &b);
    jzx__list_push_front(&list, &a);
    jzx__list_push_back(&list, &c);
    JZX_EXPECT(jzx__list_pop_back(&list) == &c);
    JZX_EXPECT(jzx__list_pop_front(&list) == &a);
    JZX_EXPECT(jzx__list_pop_front(&list) == &b);
}
