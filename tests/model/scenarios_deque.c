/* SPDX-License-Identifier: MIT */
/* src/base/deque.h: its owner against thieves. In all of them every item is taken exactly once (D1,
 * D2), and who takes it may use what it points to: its body is plain data that the owner wrote
 * before the push. */
#include "scenarios.h"

#include "base/deque.h"

#define ITEMS_MAX 4
#define O(number) ((uint64_t)1 << (number))

struct item {
    unsigned taken; /* how often */
    unsigned by;    /* the thread that took it last */
};

static struct {
    struct jzx__deque deque;
    struct item items[ITEMS_MAX];
    unsigned pushed;
    unsigned lost; /* steals that lost */
} s;

/* ---- what threads do ---- */

static void set_up(uint32_t capacity) {
    MODEL_ASSERT(jzx__deque_init(&s.deque, capacity, &model_allocator));
}

static void set_up_2(void) {
    set_up(2);
}

static void set_up_4(void) {
    set_up(4);
}

static void push_one(void) {
    struct item *item = &s.items[s.pushed++];
    model_plain_write(item);
    MODEL_ASSERT(jzx__deque_push(&s.deque, item));
}

static void take(void *pointer) {
    struct item *item = pointer;
    MODEL_ASSERT(item >= s.items && item < s.items + ITEMS_MAX);
    model_plain_write(item);
    item->taken++;
    item->by = model_self();
}

static void pop_one(void) {
    void *item = jzx__deque_pop(&s.deque);
    if (item != NULL)
        take(item);
}

static void steal_one(void) {
    void *item;
    switch (jzx__deque_steal(&s.deque, &item)) {
    case JZX__STEAL_GOT: take(item); break;
    case JZX__STEAL_LOST: s.lost++; break;
    case JZX__STEAL_EMPTY: break;
    }
}

static void steal_two(void) {
    steal_one();
    steal_one();
}

static void push_pop(void) {
    push_one();
    pop_one();
}

static void push_pop_push(void) {
    push_one();
    pop_one();
    push_one();
}

static void push_push_pop(void) {
    push_one();
    push_one();
    pop_one();
}

static void push_push_pop_pop(void) {
    push_one();
    push_one();
    pop_one();
    pop_one();
}

static void push_three(void) {
    push_one();
    push_one();
    push_one();
}

static void push_three_pop(void) {
    push_three();
    pop_one();
}

/* ---- what must be true at the end ---- */

static void check_exactly_once(void) {
    void *item;
    while ((item = jzx__deque_pop(&s.deque)) != NULL)
        take(item);
    MODEL_ASSERT(jzx__deque_is_empty_seq_cst(&s.deque));
    MODEL_ASSERT(jzx__deque_count(&s.deque) == 0);
    for (unsigned i = 0; i < s.pushed; i++)
        MODEL_ASSERT(s.items[i].taken == 1);
}

/* Who got the last item, or the first: the owner, a thief, or nobody before the end. */
static void check_first(void) {
    check_exactly_once();
    model_outcome(s.items[0].by);
}

static void check_lost(void) {
    check_exactly_once();
    model_outcome(s.lost == 0 ? 0 : 1);
}

#define DEQUE .state = &s, .state_size = sizeof s

const struct model_scenario model_deque[] = {
    {.name = "deque_last_item",
     .about = "the last item, wanted by its owner and a thief",
     .setup = set_up_2,
     .threads = {push_pop, steal_one},
     .check = check_first,
     .outcomes = O(1) | O(2),
     .bounds = {.preemptions = 4, .stale = 4},
     DEQUE},
    {.name = "deque_last_item_two_thieves",
     .about = "the last item, wanted by its owner and two thieves",
     .setup = set_up_2,
     .threads = {push_pop, steal_one, steal_one},
     .check = check_first,
     .outcomes = O(1) | O(2) | O(3),
     .bounds = {.preemptions = 3, .stale = 3},
     DEQUE},
    {.name = "deque_reused_place",
     .about = "an item goes where another was, a thief is slow",
     .setup = set_up_2,
     .threads = {push_pop_push, steal_one},
     .check = check_first,
     .outcomes = O(1) | O(2),
     .bounds = {.preemptions = 4, .stale = 4},
     DEQUE},
    {.name = "deque_two_items",
     .about = "the owner pops as far as the thief comes",
     .setup = set_up_2,
     .threads = {push_push_pop, steal_two},
     .check = check_lost,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     DEQUE},
    {.name = "deque_two_items_two_thieves",
     .about = "two pops against two thieves",
     .setup = set_up_4,
     .threads = {push_push_pop_pop, steal_one, steal_one},
     .check = check_lost,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     DEQUE},
    {.name = "deque_wraps",
     .about = "the ring is full, a thief makes room, the owner goes round",
     .setup = set_up_2,
     .threads = {push_three, steal_one, steal_one},
     .check = check_lost,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     DEQUE},
    {.name = "deque_grows",
     .about = "the array grows under a thief's hands",
     .setup = set_up_2,
     .threads = {push_three_pop, steal_two},
     .check = check_first,
     .outcomes = O(0) | O(2),
     .bounds = {.preemptions = 4, .stale = 4},
     DEQUE},
};
const size_t model_deque_count = sizeof model_deque / sizeof *model_deque;
