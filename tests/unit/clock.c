/* SPDX-License-Identifier: MIT */
/* The clocks: one stands still until it is moved, the other never goes backwards. */
#include "base/clock.h"

#include "child.h"

JZX_TEST(a_manual_clock_stands_still_until_it_is_advanced) {
    struct jzx__clock clock;
    jzx__clock_init_manual(&clock, 500);
    JZX_EXPECT_EQ(jzx__clock_now(&clock), 500);
    JZX_EXPECT_EQ(jzx__clock_now(&clock), 500);
    jzx__clock_advance(&clock, 0);
    JZX_EXPECT_EQ(jzx__clock_now(&clock), 500);
    jzx__clock_advance(&clock, 1);
    jzx__clock_advance(&clock, 1000000000000u);
    JZX_EXPECT_EQ(jzx__clock_now(&clock), 1000000000501u);
}

JZX_TEST(two_manual_clocks_are_independent) {
    struct jzx__clock one, two;
    jzx__clock_init_manual(&one, 0);
    jzx__clock_init_manual(&two, 0);
    jzx__clock_advance(&one, 7);
    JZX_EXPECT_EQ(jzx__clock_now(&one), 7);
    JZX_EXPECT_EQ(jzx__clock_now(&two), 0);
}

JZX_TEST(the_monotonic_clock_moves_and_never_goes_backwards) {
    struct jzx__clock clock;
    jzx__clock_init_monotonic(&clock);
    uint64_t first = jzx__clock_now(&clock);
    uint64_t last = first;
    JZX_EXPECT(first > 0);
    for (int i = 0; i < 100000; i++) {
        uint64_t now = jzx__clock_now(&clock);
        JZX_EXPECT(now >= last);
        last = now;
    }
    while (last == first)
        last = jzx__clock_now(&clock);
}

static void advance_the_monotonic_clock(void) {
    struct jzx__clock clock;
    jzx__clock_init_monotonic(&clock);
    jzx__clock_advance(&clock, 1);
}

JZX_TEST(only_a_manual_clock_can_be_advanced) {
    struct child_end end = run_in_child(advance_the_monotonic_clock);
    JZX_EXPECT(child_aborted(&end, "clock.c:"));
}
