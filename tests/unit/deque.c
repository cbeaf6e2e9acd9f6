/* SPDX-License-Identifier: MIT */
/* The work-stealing deque on one thread: its order from both ends, growth, places that are used
 * again, and memory that fails. What several threads do to it is in tests/stress/deque.c. */
#include "base/deque.h"

#include "fixture.h"
#include "seeds.h"

/* Items are numbers from 1: a deque never looks at what its pointers point to. */
static void *item(uint64_t number) {
    return (void *)(uintptr_t)number;
}

static uint64_t number_of(void *found) {
    return (uint64_t)(uintptr_t)found;
}

/* 0 if there is none. */
static uint64_t pop(struct jzx__deque *deque) {
    return number_of(jzx__deque_pop(deque));
}

static uint64_t steal(struct jzx__deque *deque) {
    void *found = NULL;
    enum jzx__steal_result result = jzx__deque_steal(deque, &found);
    JZX_EXPECT(result != JZX__STEAL_LOST); /* there is nobody to lose it to */
    JZX_EXPECT_EQ(result == JZX__STEAL_GOT, found != NULL);
    return number_of(found);
}

static bool push_all(struct jzx__deque *deque, uint64_t first, uint64_t last) {
    bool held = true;
    for (uint64_t n = first; n <= last; n++)
        held = JZX_EXPECT(jzx__deque_push(deque, item(n))) && held;
    return held;
}

static bool is_empty(struct jzx__deque *deque) {
    bool empty = jzx__deque_count(deque) == 0;
    JZX_EXPECT_EQ(jzx__deque_is_empty_seq_cst(deque), empty);
    return empty;
}

static jzx_allocator allocator;

static void make(struct jzx__deque *deque, uint32_t capacity) {
    allocator = fixture_allocator();
    assert_true(jzx__deque_init(deque, capacity, &allocator));
}

static void drop(struct jzx__deque *deque) {
    jzx__deque_deinit(deque);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* ---- order ---- */

JZX_TEST(an_empty_deque_gives_nothing_at_either_end, "D9") {
    struct jzx__deque deque;
    make(&deque, 4);
    for (int i = 0; i < 3; i++) {
        JZX_EXPECT(is_empty(&deque));
        JZX_EXPECT_EQ(pop(&deque), 0);
        JZX_EXPECT_EQ(steal(&deque), 0);
    }
    drop(&deque);
}

JZX_TEST(the_owner_takes_the_newest_and_a_thief_the_oldest, "D9") {
    struct jzx__deque deque;
    make(&deque, 8);
    push_all(&deque, 1, 6);
    JZX_EXPECT_EQ(steal(&deque), 1);
    JZX_EXPECT_EQ(pop(&deque), 6);
    JZX_EXPECT_EQ(steal(&deque), 2);
    JZX_EXPECT_EQ(pop(&deque), 5);
    push_all(&deque, 7, 7);
    JZX_EXPECT_EQ(pop(&deque), 7);
    JZX_EXPECT_EQ(steal(&deque), 3);
    JZX_EXPECT_EQ(steal(&deque), 4);
    JZX_EXPECT(is_empty(&deque));
    drop(&deque);
}

JZX_TEST(the_last_item_goes_to_one_end_and_the_deque_goes_on, "D9") {
    struct jzx__deque deque;
    make(&deque, 2);
    for (uint64_t n = 1; n <= 100; n++) {
        push_all(&deque, n, n);
        JZX_EXPECT_EQ(n % 2 == 0 ? pop(&deque) : steal(&deque), n);
        JZX_EXPECT(is_empty(&deque));
        JZX_EXPECT_EQ(pop(&deque), 0);
        JZX_EXPECT_EQ(steal(&deque), 0);
    }
    drop(&deque);
}

JZX_TEST(the_count_follows_every_push_pop_and_steal) {
    struct jzx__deque deque;
    make(&deque, 1);
    for (uint64_t n = 1; n <= 20; n++) {
        push_all(&deque, n, n);
        JZX_EXPECT_EQ(jzx__deque_count(&deque), n);
    }
    for (uint64_t left = 20; left > 0; left--) {
        JZX_EXPECT(!is_empty(&deque));
        JZX_EXPECT(left % 3 == 0 ? pop(&deque) : steal(&deque));
        JZX_EXPECT_EQ(jzx__deque_count(&deque), left - 1);
    }
    drop(&deque);
}

/* ---- growth ---- */

JZX_TEST(a_full_deque_grows_and_keeps_its_order, "D9") {
    enum { COUNT = 1000 };
    for (uint32_t capacity = 1; capacity <= 64; capacity *= 2) {
        struct jzx__deque deque;
        make(&deque, capacity);
        push_all(&deque, 1, COUNT);
        JZX_EXPECT_EQ(jzx__deque_count(&deque), COUNT);
        for (uint64_t i = 0; i < COUNT / 2; i++) {
            JZX_EXPECT_EQ(steal(&deque), i + 1);
            JZX_EXPECT_EQ(pop(&deque), COUNT - i);
        }
        JZX_EXPECT(is_empty(&deque));
        drop(&deque);
    }
}

JZX_TEST(a_deque_grows_right_whatever_place_its_oldest_item_has, "D9") {
    enum { CAPACITY = 8 };
    for (uint64_t shift = 0; shift < 2 * CAPACITY; shift++) {
        struct jzx__deque deque;
        make(&deque, CAPACITY);
        for (uint64_t n = 1; n <= shift; n++) {
            push_all(&deque, n, n);
            JZX_EXPECT_EQ(steal(&deque), n);
        }
        uint64_t before = fixture_allocations();
        push_all(&deque, 1, CAPACITY);
        JZX_EXPECT_EQ(fixture_allocations(), before);
        push_all(&deque, CAPACITY + 1, 3 * CAPACITY);
        JZX_EXPECT_EQ(fixture_allocations(), before + 2); /* 16, then 32 places */
        for (uint64_t n = 1; n <= 3 * CAPACITY; n++)
            JZX_EXPECT_EQ(steal(&deque), n);
        JZX_EXPECT(is_empty(&deque));
        drop(&deque);
    }
}

/* ---- places that are used again ---- */

JZX_TEST(places_are_used_again_without_end_and_without_memory, "D9") {
    enum { CAPACITY = 4 };
    struct jzx__deque deque;
    make(&deque, CAPACITY);
    uint64_t before = fixture_allocations();
    uint64_t oldest = 1;
    uint64_t newest = 0;
    for (uint32_t round = 0; round < 10000; round++) {
        for (uint32_t i = 0; i < round % CAPACITY + 1; i++, newest++)
            push_all(&deque, newest + 1, newest + 1);
        while (oldest <= newest)
            JZX_EXPECT_EQ(steal(&deque), oldest++);
    }
    JZX_EXPECT_EQ(fixture_allocations(), before);
    drop(&deque);
}

/* As after years of work: the numbers of places pass what 32 bits hold. */
JZX_TEST(places_beyond_32_bits_are_as_good_as_the_first) {
    struct jzx__deque deque;
    make(&deque, 4);
    jzx__atomic_store_relaxed(&deque.top, UINT32_MAX - UINT64_C(2));
    jzx__atomic_store_relaxed(&deque.bottom, UINT32_MAX - UINT64_C(2));
    push_all(&deque, 1, 12);
    for (uint64_t n = 1; n <= 6; n++) {
        JZX_EXPECT_EQ(steal(&deque), n);
        JZX_EXPECT_EQ(pop(&deque), 13 - n);
    }
    JZX_EXPECT(is_empty(&deque));
    drop(&deque);
}

/* ---- memory that fails ---- */

JZX_TEST(without_memory_there_is_no_deque) {
    struct jzx__deque deque;
    allocator = fixture_allocator();
    fixture_fail_allocations(0, 1);
    JZX_EXPECT(!jzx__deque_init(&deque, 16, &allocator));
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    JZX_EXPECT(jzx__deque_init(&deque, 16, &allocator));
    drop(&deque);
}

JZX_TEST(without_memory_to_grow_an_item_is_refused_and_nothing_changes, "D9") {
    enum { CAPACITY = 4 };
    struct jzx__deque deque;
    make(&deque, CAPACITY);
    push_all(&deque, 1, CAPACITY);
    uint64_t bytes = fixture_bytes();
    fixture_fail_allocations(0, UINT64_MAX);
    for (int i = 0; i < 3; i++) {
        JZX_EXPECT(!jzx__deque_push(&deque, item(99)));
        JZX_EXPECT_EQ(jzx__deque_count(&deque), CAPACITY);
        JZX_EXPECT_EQ(fixture_bytes(), bytes);
    }
    JZX_EXPECT_EQ(steal(&deque), 1);
    push_all(&deque, 5, 5); /* in the place of the first */
    JZX_EXPECT(!jzx__deque_push(&deque, item(99)));
    JZX_EXPECT_EQ(pop(&deque), 5);
    push_all(&deque, 6, 6);
    fixture_fail_allocations(UINT64_MAX, 0);
    push_all(&deque, 7, 7); /* it grows now */
    JZX_EXPECT(fixture_bytes() > bytes);
    static const uint64_t left[] = {2, 3, 4, 6, 7};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        JZX_EXPECT_EQ(steal(&deque), left[i]);
    JZX_EXPECT(is_empty(&deque));
    drop(&deque);
}

/* ---- against a model ---- */

enum { MODEL_SIZE = 512 };

struct model {
    uint64_t items[MODEL_SIZE];
    uint32_t first; /* items[first .. end - 1] are there */
    uint32_t end;
};

static bool check_step(struct jzx__deque *deque, struct model *model, uint32_t choice) {
    bool any = model->first < model->end;
    bool held = true;
    if (choice == 0)
        held = JZX_EXPECT_EQ(pop(deque), any ? model->items[--model->end] : 0);
    else if (choice == 1)
        held = JZX_EXPECT_EQ(steal(deque), any ? model->items[model->first++] : 0);
    return held && JZX_EXPECT_EQ(jzx__deque_count(deque), model->end - model->first);
}

static bool agrees_with_a_model(struct jzx__rng *rng) {
    struct jzx__deque deque;
    struct model model = {.first = 0};
    bool held = true;
    uint64_t number = 0;
    make(&deque, 1u << jzx__rng_below(rng, 4));
    uint32_t bias = 2 + jzx__rng_below(rng, 3);
    while (held && model.end < MODEL_SIZE) {
        uint32_t choice = jzx__rng_below(rng, bias + 2);
        if (choice >= 2) {
            fixture_fail_allocations(0, jzx__rng_below(rng, 2));
            if (jzx__deque_push(&deque, item(++number)))
                model.items[model.end++] = number;
            fixture_fail_allocations(UINT64_MAX, 0);
        }
        held = check_step(&deque, &model, choice);
    }
    drop(&deque);
    return held;
}

JZX_TEST(random_calls_agree_with_a_model, "D9") {
    run_seeds("random_calls_agree_with_a_model", 200, agrees_with_a_model);
}
