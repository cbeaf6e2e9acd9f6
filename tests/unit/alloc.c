/* SPDX-License-Identifier: MIT */
/* Aligned memory from hooks that know no alignment, with a fake allocator that returns what the
 * test wants and remembers what it was told. */
#include "base/alloc.h"

#include "child.h"
#include "fixture.h"

struct fake {
    void *next; /* what the next call returns */
    uint32_t alloc_count;
    uint32_t free_count;
    size_t asked_size;
    void *freed;
    size_t freed_size;
};

static void *fake_alloc(void *ctx, size_t size) {
    struct fake *fake = ctx;
    fake->alloc_count++;
    fake->asked_size = size;
    return fake->next;
}

static void fake_free(void *ctx, void *ptr, size_t size) {
    struct fake *fake = ctx;
    fake->free_count++;
    fake->freed = ptr;
    fake->freed_size = size;
}

static jzx_allocator hooks_of(struct fake *fake) {
    return (jzx_allocator){fake_alloc, fake_free, fake};
}

static _Alignas(4096) char arena[4 * 4096];

JZX_TEST(plain_calls_pass_size_pointer_and_context_to_the_hooks) {
    struct fake fake = {.next = arena};
    jzx_allocator hooks = hooks_of(&fake);
    JZX_EXPECT(jzx__alloc(&hooks, 123) == arena);
    JZX_EXPECT_EQ(fake.asked_size, 123);
    jzx__free(&hooks, arena, 123);
    JZX_EXPECT(fake.freed == arena);
    JZX_EXPECT_EQ(fake.freed_size, 123);
}

JZX_TEST(a_block_is_aligned_and_inside_what_the_hooks_gave_wherever_that_begins) {
    static const size_t skews[] = {0, 16, 32, 48, 64, 112, 128, 1024, 4080};
    const size_t size = 1000;
    for (size_t align = 1; align <= 4096; align *= 2) {
        for (size_t i = 0; i < sizeof skews / sizeof skews[0]; i++) {
            struct fake fake = {.next = arena + skews[i]};
            jzx_allocator hooks = hooks_of(&fake);
            char *block = jzx__alloc_aligned(&hooks, size, align);
            assert_non_null(block);
            JZX_EXPECT_EQ((uintptr_t)block % align, 0);
            JZX_EXPECT(block >= arena + skews[i]);
            JZX_EXPECT(block + size <= arena + skews[i] + fake.asked_size);
            memset(block, 0xFF, size); /* what is needed to free it is not in it */
            jzx__free_aligned(&hooks, block, size, align);
            JZX_EXPECT(fake.freed == arena + skews[i]);
            JZX_EXPECT_EQ(fake.freed_size, fake.asked_size);
            JZX_EXPECT_EQ(fake.alloc_count, 1);
            JZX_EXPECT_EQ(fake.free_count, 1);
        }
    }
}

JZX_TEST(sizes_that_do_not_fit_a_size_are_refused_without_asking_the_hooks) {
    struct fake fake = {.next = arena};
    jzx_allocator hooks = hooks_of(&fake);
    JZX_EXPECT(jzx__alloc_aligned(&hooks, SIZE_MAX, 64) == NULL);
    JZX_EXPECT(jzx__alloc_aligned(&hooks, SIZE_MAX - 64, 64) == NULL);
    JZX_EXPECT(jzx__alloc_aligned(&hooks, SIZE_MAX - 64 - sizeof(void *) + 1, 64) == NULL);
    JZX_EXPECT(jzx__alloc_aligned(&hooks, SIZE_MAX - 1, 1) == NULL);
    JZX_EXPECT(jzx__alloc_aligned(&hooks, SIZE_MAX - 4000, 4096) == NULL);
    JZX_EXPECT_EQ(fake.alloc_count, 0);
}

JZX_TEST(no_memory_from_the_hooks_is_no_memory) {
    struct fake fake = {.next = NULL};
    jzx_allocator hooks = hooks_of(&fake);
    JZX_EXPECT(jzx__alloc_aligned(&hooks, 100, 64) == NULL);
    JZX_EXPECT_EQ(fake.alloc_count, 1);
    JZX_EXPECT_EQ(fake.free_count, 0);
}

JZX_TEST(addresses_that_a_word_cannot_pack_are_given_back_and_refused) {
    static const uintptr_t addresses[] = {
        ((uintptr_t)1 << 48) - 16, /* begins below, ends above */
        (uintptr_t)1 << 48,        ((uintptr_t)1 << 48) + 4096,
        (uintptr_t)1 << 56,        UINTPTR_MAX - 4095,
    };
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        struct fake fake = {.next = (void *)addresses[i]};
        jzx_allocator hooks = hooks_of(&fake);
        JZX_EXPECT(jzx__alloc_aligned(&hooks, 1000, 64) == NULL);
        JZX_EXPECT_EQ(fake.alloc_count, 1);
        JZX_EXPECT_EQ(fake.free_count, 1);
        JZX_EXPECT(fake.freed == (void *)addresses[i]);
        JZX_EXPECT_EQ(fake.freed_size, fake.asked_size);
    }
}

JZX_TEST(sizes_of_alloc_and_free_agree_for_real_memory, "C17") {
    jzx_allocator hooks = fixture_allocator(); /* expects so at each free */
    for (size_t align = 1; align <= 4096; align *= 4) {
        for (size_t size = 1; size < 100000; size = size * 3 + 1) {
            unsigned char *block = jzx__alloc_aligned(&hooks, size, align);
            assert_non_null(block);
            JZX_EXPECT_EQ((uintptr_t)block % align, 0);
            JZX_EXPECT((uintptr_t)block + size < (uintptr_t)1 << 48);
            memset(block, 0xAB, size);
            JZX_EXPECT(fixture_bytes() >= size);
            jzx__free_aligned(&hooks, block, size, align);
            JZX_EXPECT_EQ(fixture_bytes(), 0);
        }
    }
}

JZX_TEST(the_default_hooks_give_memory_that_can_be_written_and_freed) {
    char *block = jzx__alloc(&jzx__allocator_default, 1000);
    assert_non_null(block);
    JZX_EXPECT_EQ((uintptr_t)block % _Alignof(max_align_t), 0);
    memset(block, 1, 1000);
    jzx__free(&jzx__allocator_default, block, 1000);
}

static void ask_for_an_alignment_of_48(void) {
    jzx__alloc_aligned(&jzx__allocator_default, 100, 48);
}

JZX_TEST(an_alignment_that_is_no_power_of_two_breaks_an_invariant) {
    struct child_end end = run_in_child(ask_for_an_alignment_of_48);
    JZX_EXPECT(child_aborted(&end, "alloc.c:"));
}
