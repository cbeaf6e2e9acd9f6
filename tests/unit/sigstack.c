/* SPDX-License-Identifier: MIT */
/* Alternate signal stacks, and where faults land. */
#include "base/sigstack.h"
#include "base/fault.h"

#include "fixture.h"

static const jzx_mapper mapper; /* of the system */

static stack_t current_stack(void) {
    stack_t stack;
    assert_int_equal(sigaltstack(NULL, &stack), 0);
    return stack;
}

JZX_TEST(signal_stacks_nest_and_put_back_what_was_there) {
    struct jzx__sigstack outer;
    struct jzx__sigstack inner;
    stack_t before = current_stack();
    assert_true(jzx__sigstack_init(&outer, 0, &mapper) && jzx__sigstack_init(&inner, 0, &mapper));
    jzx__sigstack_set(&outer);
    JZX_EXPECT(current_stack().ss_sp == (void *)outer.base);
    JZX_EXPECT_EQ(current_stack().ss_size, JZX__SIGSTACK_SIZE);
    jzx__sigstack_set(&inner);
    JZX_EXPECT(current_stack().ss_sp == (void *)inner.base);
    jzx__sigstack_clear(&inner);
    JZX_EXPECT(current_stack().ss_sp == (void *)outer.base);
    jzx__sigstack_clear(&outer);
    JZX_EXPECT(current_stack().ss_sp == before.ss_sp);
    JZX_EXPECT_EQ(current_stack().ss_flags, before.ss_flags);
    jzx__sigstack_deinit(&inner);
    jzx__sigstack_deinit(&outer);
}

JZX_TEST(a_signal_stack_that_the_thread_has_set_for_itself_stays) {
    static char memory[65536];
    stack_t mine = {.ss_sp = memory, .ss_size = sizeof memory};
    struct jzx__sigstack stack;
    stack_t before = current_stack();
    assert_true(jzx__sigstack_init(&stack, 0, &mapper));
    jzx__sigstack_set(&stack);
    assert_int_equal(sigaltstack(&mine, NULL), 0);
    jzx__sigstack_clear(&stack);
    JZX_EXPECT(current_stack().ss_sp == (void *)memory);
    assert_int_equal(sigaltstack(&before, NULL), 0);
    jzx__sigstack_deinit(&stack);
}

JZX_TEST(what_lies_above_a_signal_stack_is_zero_and_writable) {
    enum { EXTRA = 10000 };
    struct jzx__sigstack stack;
    assert_true(jzx__sigstack_init(&stack, EXTRA, &mapper));
    unsigned char *extra = jzx__sigstack_extra(&stack);
    JZX_EXPECT(extra == stack.base + JZX__SIGSTACK_SIZE);
    for (size_t i = 0; i < EXTRA; i++) {
        JZX_EXPECT_EQ(extra[i], 0);
        extra[i] = 1;
    }
    jzx__sigstack_deinit(&stack);
    JZX_EXPECT(stack.base == NULL);
}

JZX_TEST(without_memory_there_is_no_signal_stack_and_nothing_happens) {
    struct jzx__sigstack stack = {0};
    stack_t before = current_stack();
    JZX_EXPECT(!jzx__sigstack_init(&stack, (size_t)1 << 60, &mapper));
    JZX_EXPECT(stack.base == NULL);
    jzx__sigstack_set(&stack);
    JZX_EXPECT(current_stack().ss_sp == before.ss_sp);
    jzx__sigstack_clear(&stack);
    jzx__sigstack_deinit(&stack);
}

JZX_TEST(a_landing_lies_right_below_the_frame_of_who_asks) {
    volatile char large[20000];
    large[0] = 1;
    uintptr_t landing = jzx__fault_landing();
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    JZX_EXPECT(landing < frame);
    if ((uintptr_t)large < frame && frame - (uintptr_t)large < 2 * sizeof large) /* not aside */
        JZX_EXPECT(landing < (uintptr_t)large && (uintptr_t)large - landing < 1024);
    JZX_EXPECT_EQ(large[0], 1);
}
