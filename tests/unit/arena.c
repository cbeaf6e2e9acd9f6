/* SPDX-License-Identifier: MIT */
/* An arena against a list of blocks with a pattern in each: nothing overlaps, nothing is lost, the
 * quota is exact, and all goes back at the end. A1-A4 of base/arena.h. */
#include "base/arena.h"

#include "child.h"
#include "fixture.h"
#include "seeds.h"

static jzx_allocator allocator;

static struct jzx__arena *open_arena(size_t quota_bytes) {
    allocator = fixture_allocator();
    struct jzx__arena *arena = jzx__arena_create(&allocator, quota_bytes);
    assert_non_null(arena);
    return arena;
}

static void close_arena(struct jzx__arena *arena) {
    jzx__arena_destroy(arena);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* ---- classes ---- */

JZX_TEST(a_block_has_the_smallest_class_that_holds_it) {
    for (size_t total = 1; total <= JZX__ARENA_SMALL_MAX; total++) {
        uint32_t class_index = jzx__arena_class(total);
        if (!JZX_EXPECT(class_index < JZX__ARENA_CLASS_COUNT))
            continue;
        JZX_EXPECT(jzx__arena_class_size(class_index) >= total);
        JZX_EXPECT(class_index == 0 || jzx__arena_class_size(class_index - 1) < total);
    }
    for (uint32_t i = 0; i < JZX__ARENA_CLASS_COUNT; i++)
        JZX_EXPECT_EQ(jzx__arena_class_size(i) % 16, 0);
    JZX_EXPECT_EQ(jzx__arena_class_size(JZX__ARENA_CLASS_COUNT - 1), JZX__ARENA_SMALL_MAX);
}

JZX_TEST(a_block_costs_what_the_header_says) {
    struct jzx__arena *arena = open_arena(SIZE_MAX);
    JZX_EXPECT_EQ(jzx__arena_cost(arena, 1), 16);
    JZX_EXPECT_EQ(jzx__arena_cost(arena, 8), 16);
    JZX_EXPECT_EQ(jzx__arena_cost(arena, 9), 32);
    JZX_EXPECT_EQ(jzx__arena_cost(arena, 248), 256);
    for (size_t size = 249; size <= 2040; size++)
        JZX_EXPECT(jzx__arena_cost(arena, size) <= (size + 8) + (size + 8) / 4);
    JZX_EXPECT_EQ(jzx__arena_cost(arena, 2040), 2048);
    JZX_EXPECT_EQ(jzx__arena_cost(arena, 2041), 2041 + 32);
    close_arena(arena);
}

/* ---- the model ---- */

#define LIVE_MAX 256u

struct live {
    unsigned char *ptr;
    size_t size;
    unsigned char pattern;
};

struct model {
    struct jzx__rng *rng;
    struct jzx__arena *arena;
    struct live live[LIVE_MAX];
    uint32_t count;
    size_t used;
    size_t peak;
    size_t quota;
    bool held; /* all that was expected */
};

static size_t some_size(struct jzx__rng *rng) {
    switch (jzx__rng_below(rng, 8)) {
    case 0: return 1 + jzx__rng_below(rng, 16);
    case 1: return 2030 + jzx__rng_below(rng, 20);
    case 2: return 1 + jzx__rng_below(rng, 20000);
    case 3: return 1 + jzx__rng_below(rng, 3000);
    default: return 1 + jzx__rng_below(rng, 300);
    }
}

static void expect(struct model *model, bool condition) {
    model->held = JZX_EXPECT(condition) && model->held;
}

static void fill(struct model *model, struct live *live) {
    live->pattern = (unsigned char)jzx__rng_next(model->rng);
    memset(live->ptr, live->pattern, live->size);
}

static bool is_intact(const struct live *live, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (live->ptr[i] != live->pattern)
            return false;
    return true;
}

/* Ranges, with the header of each. */
static void expect_apart(struct model *model, const struct live *new) {
    for (uint32_t i = 0; i < model->count; i++) {
        const struct live *other = &model->live[i];
        expect(model, other == new || other->ptr + other->size + 8 <= new->ptr ||
                          new->ptr + new->size + 8 <= other->ptr);
    }
}

static void add(struct model *model) {
    size_t size = some_size(model->rng);
    bool fits = model->used + jzx__arena_cost(model->arena, size) <= model->quota;
    unsigned char *ptr = jzx__arena_alloc(model->arena, size);
    expect(model, (ptr != NULL) == fits); /* exactly */
    if (ptr == NULL)
        return;
    expect(model, (uintptr_t)ptr % 16 == 0);
    struct live *live = &model->live[model->count++];
    *live = (struct live){.ptr = ptr, .size = size};
    model->used += jzx__arena_cost(model->arena, size);
    expect_apart(model, live);
    fill(model, live);
}

static void drop(struct model *model, uint32_t index) {
    struct live *live = &model->live[index];
    expect(model, is_intact(live, live->size));
    model->used -= jzx__arena_cost(model->arena, live->size);
    jzx__arena_free(model->arena, live->ptr);
    *live = model->live[--model->count];
}

static void change(struct model *model, uint32_t index) {
    struct live *live = &model->live[index];
    size_t size = some_size(model->rng);
    size_t kept = size < live->size ? size : live->size;
    size_t used = model->used - jzx__arena_cost(model->arena, live->size) +
                  jzx__arena_cost(model->arena, size);
    unsigned char *ptr = jzx__arena_realloc(model->arena, live->ptr, size);
    bool fits = used <= model->quota || used <= model->used; /* less is never refused */
    expect(model, (ptr != NULL) == fits);
    if (ptr == NULL) {
        expect(model, is_intact(live, live->size));
        return;
    }
    live->ptr = ptr;
    expect(model, is_intact(live, kept));
    live->size = size;
    model->used = used;
    expect_apart(model, live);
    fill(model, live);
}

static void step(struct model *model) {
    uint32_t dice = jzx__rng_below(model->rng, 100);
    uint32_t index = model->count == 0 ? 0 : jzx__rng_below(model->rng, model->count);
    if (dice == 0) {
        model->quota = jzx__rng_below(model->rng, 2) ? SIZE_MAX : jzx__rng_below(model->rng, 50000);
        model->arena->quota_bytes = model->quota;
    } else if (model->count == 0 || (dice < 50 && model->count < LIVE_MAX)) {
        add(model);
    } else if (dice < 75) {
        change(model, index);
    } else {
        drop(model, index);
    }
    model->peak = model->used > model->peak ? model->used : model->peak;
    expect(model, model->arena->used_bytes == model->used);
    expect(model, model->arena->taken_bytes == fixture_bytes());
    if (dice % 8 == 0)
        expect(model, jzx__arena_peak(model->arena) == model->peak);
}

static bool follow_the_model(struct jzx__rng *rng) {
    static struct model model;
    model =
        (struct model){.rng = rng, .arena = open_arena(SIZE_MAX), .quota = SIZE_MAX, .held = true};
    for (uint32_t i = 0; i < 3000 && model.held; i++)
        step(&model);
    while (model.count > 0 && jzx__rng_below(rng, 20) != 0) /* the rest is left to the arena */
        drop(&model, model.count - 1);
    jzx__arena_destroy(model.arena);
    expect(&model, fixture_bytes() == 0);
    return model.held;
}

JZX_TEST(random_blocks_are_as_a_list_of_blocks_says, "C17") {
    run_seeds("random_blocks_are_as_a_list_of_blocks_says", jzx_test_rounds(60, 2000),
              follow_the_model);
}

/* ---- reuse and growth ---- */

JZX_TEST(a_freed_block_is_used_again_for_its_size) {
    struct jzx__arena *arena = open_arena(SIZE_MAX);
    for (size_t size = 1; size <= 2040; size += 13) {
        void *first = jzx__arena_alloc(arena, size);
        jzx__arena_free(arena, first);
        JZX_EXPECT_EQ(jzx__arena_alloc(arena, size), first);
    }
    close_arena(arena);
}

JZX_TEST(what_is_used_and_freed_for_ever_takes_no_more_memory) {
    struct jzx__arena *arena = open_arena(SIZE_MAX);
    size_t taken = 0;
    for (uint32_t round = 0; round < 1000; round++) {
        void *blocks[40];
        for (uint32_t i = 0; i < 40; i++)
            blocks[i] = jzx__arena_alloc(arena, 1 + i * 70);
        for (uint32_t i = 0; i < 40; i++)
            jzx__arena_free(arena, blocks[i]);
        if (round == 0)
            taken = fixture_bytes();
        JZX_EXPECT(fixture_bytes() <= taken);
    }
    JZX_EXPECT_EQ(arena->used_bytes, 0);
    close_arena(arena);
}

JZX_TEST(a_small_arena_takes_a_kilobyte_and_a_large_one_few_chunks) {
    struct jzx__arena *arena = open_arena(SIZE_MAX);
    uint64_t before = fixture_allocations();
    JZX_EXPECT(jzx__arena_alloc(arena, 400) != NULL);
    JZX_EXPECT_EQ(fixture_bytes(), 1024);
    for (uint32_t i = 0; i < 10000; i++)
        JZX_EXPECT(jzx__arena_alloc(arena, 56) != NULL);
    JZX_EXPECT(fixture_allocations() - before < 20);
    JZX_EXPECT(fixture_bytes() < 2 * 10000 * 64);
    close_arena(arena);
}

/* The end of a chunk that is too short for what comes next is not lost. */
JZX_TEST(the_rest_of_a_chunk_is_cut_into_blocks) {
    struct jzx__arena *arena = open_arena(SIZE_MAX);
    size_t rest = (size_t)(arena->cut_end - arena->cut_next);
    JZX_EXPECT(rest >= 400 && rest < 1016);
    JZX_EXPECT(jzx__arena_alloc(arena, 2000) != NULL); /* opens another chunk */
    size_t found = 0;
    for (uint32_t i = 0; i < JZX__ARENA_CLASS_COUNT; i++)
        for (struct jzx__arena_free *it = arena->free[i]; it != NULL; it = jzx__arena_next(it))
            found += jzx__arena_class_size(i);
    JZX_EXPECT_EQ(found, rest);
    close_arena(arena);
}

/* ---- failing ---- */

static bool use_all(void) {
    jzx_allocator hooks = fixture_allocator();
    struct jzx__arena *arena = jzx__arena_create(&hooks, SIZE_MAX);
    bool complete = arena != NULL;
    unsigned char *kept = NULL;
    for (size_t size = 1; arena != NULL && size < 100000; size += size / 8 + 7) {
        unsigned char *block = jzx__arena_alloc(arena, size);
        complete = complete && block != NULL;
        if (block != NULL)
            memset(block, 1, size);
        unsigned char *grown =
            kept == NULL ? jzx__arena_alloc(arena, size) : jzx__arena_realloc(arena, kept, size);
        complete = complete && grown != NULL;
        kept = grown != NULL ? grown : kept;
        if (grown != NULL)
            memset(grown, 2, size);
        JZX_EXPECT_EQ(arena->taken_bytes, fixture_bytes());
        if (size % 3 == 0 && block != NULL)
            jzx__arena_free(arena, block);
    }
    if (arena != NULL)
        jzx__arena_destroy(arena);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    return complete;
}

static void fail_each(uint64_t failures) {
    uint64_t before = fixture_allocations();
    JZX_EXPECT(use_all());
    uint64_t total = fixture_allocations() - before;
    JZX_EXPECT(total > 20);
    for (uint64_t n = 0; n < total; n++) {
        fixture_fail_allocations(n, failures);
        JZX_EXPECT(!use_all());
        fixture_fail_allocations(UINT64_MAX, 0);
    }
}

JZX_TEST(the_nth_allocation_fails_for_every_n, "C17") {
    fail_each(1);
}

JZX_TEST(all_allocations_from_the_nth_on_fail_for_every_n, "C17") {
    fail_each(UINT64_MAX);
}

JZX_TEST(sizes_that_cannot_be_are_refused) {
    struct jzx__arena *arena = open_arena(SIZE_MAX);
    JZX_EXPECT_EQ(jzx__arena_alloc(arena, 0), NULL);
    JZX_EXPECT_EQ(jzx__arena_alloc(arena, SIZE_MAX), NULL);
    JZX_EXPECT_EQ(jzx__arena_alloc(arena, SIZE_MAX - 31), NULL);
    unsigned char *block = jzx__arena_alloc(arena, 100);
    memset(block, 7, 100);
    JZX_EXPECT_EQ(jzx__arena_realloc(arena, block, 0), NULL);
    JZX_EXPECT_EQ(jzx__arena_realloc(arena, block, SIZE_MAX - 7), NULL);
    JZX_EXPECT_EQ(block[99], 7);
    JZX_EXPECT_EQ(arena->used_bytes, jzx__arena_cost(arena, 100));
    close_arena(arena);
}

/* ---- wrong pointers (A3) ---- */

static void free_twice(void) {
    struct jzx__arena *arena = open_arena(SIZE_MAX);
    void *block = jzx__arena_alloc(arena, 24);
    jzx__arena_free(arena, block);
    jzx__arena_free(arena, block);
}

static void free_a_strangers(void) {
    struct jzx__arena *arena = open_arena(SIZE_MAX);
    struct jzx__arena *other = open_arena(SIZE_MAX);
    jzx__arena_free(arena, jzx__arena_alloc(other, 24));
}

static void realloc_what_was_freed(void) {
    struct jzx__arena *arena = open_arena(SIZE_MAX);
    void *block = jzx__arena_alloc(arena, 24);
    jzx__arena_free(arena, block);
    (void)jzx__arena_realloc(arena, block, 25);
}

JZX_TEST(a_pointer_that_is_no_block_of_the_arena_ends_the_process) {
    void (*const wrong[])(void) = {free_twice, free_a_strangers, realloc_what_was_freed};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct child_end end = run_in_child(wrong[i]);
        JZX_EXPECT(child_aborted(&end, "header == jzx__arena_mark(arena)"));
    }
}

#ifdef JZX__ARENA_ASAN
JZX_TEST(whatever_was_not_asked_for_is_poisoned) {
    struct jzx__arena *arena = open_arena(SIZE_MAX);
    char *first = jzx__arena_alloc(arena, 13);
    char *second = jzx__arena_alloc(arena, 24);
    for (uint32_t i = 0; i < 13; i++)
        JZX_EXPECT(!__asan_address_is_poisoned(first + i));
    JZX_EXPECT(__asan_address_is_poisoned(first + 13));
    JZX_EXPECT(__asan_address_is_poisoned(second - 1)); /* its header */
    JZX_EXPECT(__asan_address_is_poisoned(second + 24));
    JZX_EXPECT_EQ(jzx__arena_realloc(arena, first, 20), first);
    JZX_EXPECT(!__asan_address_is_poisoned(first + 19));
    JZX_EXPECT(__asan_address_is_poisoned(first + 20));
    JZX_EXPECT_EQ(jzx__arena_realloc(arena, first, 9), first);
    JZX_EXPECT(__asan_address_is_poisoned(first + 9));
    jzx__arena_free(arena, first);
    JZX_EXPECT(__asan_address_is_poisoned(first));
    close_arena(arena);
}
#endif
