/* SPDX-License-Identifier: MIT */
/* The heap, against a model that finds the smallest element by looking at all of them. */
#include "base/heap.h"

#include "child.h"
#include "fixture.h"
#include "seeds.h"

#define NODE_COUNT 100u

struct model {
    struct jzx__heap heap;
    struct jzx__heap_node nodes[NODE_COUNT];
    uint64_t keys[NODE_COUNT];
    uint64_t sequences[NODE_COUNT];
    bool inside[NODE_COUNT];
    uint32_t count;
    uint64_t sequence;
};

static const jzx_allocator *counting(void) {
    static jzx_allocator allocator;
    allocator = fixture_allocator();
    return &allocator;
}

static const struct jzx__heap_node *first_of(const struct jzx__heap *heap) {
    const struct jzx__heap_item *item = jzx__heap_peek(heap);
    return item == NULL ? NULL : item->node;
}

static bool is_before(const struct model *m, uint32_t a, uint32_t b) {
    return m->keys[a] < m->keys[b] ||
           (m->keys[a] == m->keys[b] && m->sequences[a] < m->sequences[b]);
}

static struct jzx__heap_node *model_min(struct model *m) {
    uint32_t min = NODE_COUNT;
    for (uint32_t i = 0; i < NODE_COUNT; i++) {
        if (m->inside[i] && (min == NODE_COUNT || is_before(m, i, min)))
            min = i;
    }
    return min == NODE_COUNT ? NULL : &m->nodes[min];
}

static void model_forget(struct model *m, const struct jzx__heap_node *node) {
    m->inside[node - m->nodes] = false;
    m->count--;
}

/* Few different keys, so that many are equal; numbers at both ends of the range among them. */
static uint64_t random_key(struct jzx__rng *rng) {
    uint32_t kind = jzx__rng_below(rng, 10);
    return kind == 0 ? 0 : kind == 1 ? UINT64_MAX : jzx__rng_below(rng, 8);
}

static bool push(struct model *m, uint32_t at, uint64_t key) {
    if (m->inside[at])
        return true;
    m->keys[at] = key;
    m->sequences[at] = m->sequence++;
    m->inside[at] = true;
    m->count++;
    return JZX_EXPECT(jzx__heap_push(&m->heap, &m->nodes[at], key, m->sequences[at]));
}

static bool pop(struct model *m) {
    struct jzx__heap_node *expected = model_min(m);
    if (expected != NULL)
        model_forget(m, expected);
    return JZX_EXPECT(jzx__heap_pop(&m->heap) == expected);
}

static bool remove_any(struct model *m, uint32_t at) {
    if (m->inside[at]) {
        model_forget(m, &m->nodes[at]);
        jzx__heap_remove(&m->heap, &m->nodes[at]);
    }
    return true;
}

static bool step(struct model *m, struct jzx__rng *rng) {
    uint32_t at = jzx__rng_below(rng, NODE_COUNT);
    switch (jzx__rng_below(rng, 5)) {
    case 0: return pop(m);
    case 1: return remove_any(m, at);
    default: return push(m, at, random_key(rng));
    }
}

static bool check_seed(struct jzx__rng *rng) {
    static struct model m;
    bool held = true;
    memset(&m, 0, sizeof m);
    jzx__heap_init(&m.heap, counting());
    for (int i = 0; held && i < 400; i++) {
        held = step(&m, rng) && JZX_EXPECT(first_of(&m.heap) == model_min(&m)) &&
               JZX_EXPECT_EQ(m.heap.count, m.count);
    }
    while (held && m.count > 0)
        held = pop(&m);
    jzx__heap_deinit(&m.heap);
    return held && JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(random_operations_come_out_in_the_order_of_a_model) {
    run_seeds("random_operations_come_out_in_the_order_of_a_model", jzx_test_rounds(300, 20000),
              check_seed);
}

JZX_TEST(equal_keys_come_out_by_sequence_whatever_their_address_and_order_of_arrival) {
    enum { COUNT = 64 };
    struct jzx__heap heap;
    struct jzx__heap_node nodes[COUNT];
    jzx__heap_init(&heap, counting());
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t sequence = (i * 37 + 11) % COUNT; /* each once, neither rising nor falling */
        assert_true(jzx__heap_push(&heap, &nodes[i], 5, sequence));
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        const struct jzx__heap_node *node = jzx__heap_pop(&heap);
        JZX_EXPECT_EQ(((uint64_t)(node - nodes) * 37 + 11) % COUNT, i);
    }
    JZX_EXPECT(jzx__heap_pop(&heap) == NULL);
    jzx__heap_deinit(&heap);
}

/* In a heap of 0, 100, 1, 200, 201, 2, 3 in this order, the last (3) must rise when 200 goes, and
 * elsewhere sink: both ways of repairing a hole are taken. */
JZX_TEST(an_element_removed_from_any_place_leaves_the_others_in_order) {
    static const uint64_t keys[] = {0, 100, 1, 200, 201, 2, 3};
    enum { COUNT = sizeof keys / sizeof keys[0] };
    for (size_t removed = 0; removed < COUNT; removed++) {
        struct jzx__heap heap;
        struct jzx__heap_node nodes[COUNT];
        jzx__heap_init(&heap, counting());
        for (size_t i = 0; i < COUNT; i++) {
            assert_true(jzx__heap_push(&heap, &nodes[i], keys[i], i));
        }
        jzx__heap_remove(&heap, &nodes[removed]);
        uint64_t last = 0;
        for (size_t i = 1; i < COUNT; i++) {
            const struct jzx__heap_node *node = jzx__heap_pop(&heap);
            JZX_EXPECT(node != &nodes[removed]);
            JZX_EXPECT(keys[node - nodes] >= last);
            last = keys[node - nodes];
        }
        JZX_EXPECT(jzx__heap_peek(&heap) == NULL);
        jzx__heap_deinit(&heap);
    }
}

JZX_TEST(a_push_without_memory_is_refused_and_leaves_the_heap_as_it_was, "C17") {
    struct jzx__heap heap;
    struct jzx__heap_node nodes[200];
    jzx__heap_init(&heap, counting());
    fixture_fail_allocations(0, 1);
    JZX_EXPECT(!jzx__heap_push(&heap, &nodes[0], 1000, 0));
    JZX_EXPECT(jzx__heap_peek(&heap) == NULL);
    uint64_t refused = 0;
    for (uint64_t i = 0; i < 200; i++) {
        fixture_fail_allocations(0, 1);
        if (!jzx__heap_push(&heap, &nodes[i], 1000 - i, i)) {
            refused++;
            JZX_EXPECT_EQ(heap.count, i);
            JZX_EXPECT(first_of(&heap) == (i == 0 ? NULL : &nodes[i - 1]));
            assert_true(jzx__heap_push(&heap, &nodes[i], 1000 - i, i)); /* now there is memory */
        }
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT(refused >= 2); /* at the first push, and whenever the array had to grow */
    for (uint64_t i = 0; i < 200; i++)
        JZX_EXPECT(jzx__heap_pop(&heap) == &nodes[199 - i]);
    jzx__heap_deinit(&heap);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(a_heap_that_was_emptied_asks_for_no_more_memory) {
    struct jzx__heap heap;
    struct jzx__heap_node nodes[50];
    jzx__heap_init(&heap, counting());
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    uint64_t after_first_round = 0;
    for (int round = 0; round < 100; round++) {
        for (uint64_t i = 0; i < 50; i++) {
            assert_true(jzx__heap_push(&heap, &nodes[i], i ^ 21, i));
        }
        while (jzx__heap_pop(&heap) != NULL)
            continue;
        if (round == 0)
            after_first_round = fixture_allocations();
    }
    JZX_EXPECT(after_first_round > 0);
    JZX_EXPECT_EQ(fixture_allocations(), after_first_round);
    jzx__heap_deinit(&heap);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

static void remove_a_stranger(void) {
    struct jzx__heap heap;
    struct jzx__heap_node inside = {.place = 0};
    struct jzx__heap_node stranger = {.place = 0};
    jzx__heap_init(&heap, counting());
    jzx__heap_push(&heap, &inside, 1, 0);
    jzx__heap_remove(&heap, &stranger);
}

JZX_TEST(removing_an_element_that_is_not_inside_breaks_an_invariant) {
    struct child_end end = run_in_child(remove_a_stranger);
    JZX_EXPECT(child_aborted(&end, "heap.c:"));
}
