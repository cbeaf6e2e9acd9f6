/* SPDX-License-Identifier: MIT */
/* Counted time: never behind the clock, hardly ahead of it. */
#include "base/pace.h"

#include "jzx_test.h"

#include <stdio.h>

JZX_TEST(counted_time_is_never_behind_the_clock) {
    struct jzx__clock clock;
    struct jzx__pace pace = {0};
    jzx__clock_init_monotonic(&clock);
    uint32_t behind = 0;
    uint32_t counted = 0;
    for (uint32_t i = 0; i < 300000; i++) {
        uint64_t before = jzx__clock_now(&clock);
        counted += pace.window != 0;
        behind += jzx__pace_now(&pace, &clock) < before;
    }
    JZX_EXPECT_EQ(behind, 0);
    printf("%u of 300000 were counted\n", counted);
}

/* By a thousandth of a window, and by how long a look at the clock may take. */
JZX_TEST(counted_time_is_at_most_a_few_microseconds_ahead) {
    struct jzx__clock clock;
    struct jzx__pace pace = {0};
    jzx__clock_init_monotonic(&clock);
    uint64_t worst = 0;
    for (uint32_t i = 0; i < 300000; i++) {
        uint64_t counted = jzx__pace_now(&pace, &clock);
        uint64_t after = jzx__clock_now(&clock);
        if (counted > after && counted - after > worst)
            worst = counted - after;
    }
    JZX_EXPECT(worst < 4000);
}

JZX_TEST(on_a_manual_clock_nothing_is_counted) {
    struct jzx__clock clock;
    struct jzx__pace pace = {0};
    jzx__clock_init_manual(&clock, 500);
    for (uint32_t i = 0; i < 1000; i++)
        JZX_EXPECT_EQ(jzx__pace_now(&pace, &clock), 500);
    jzx__clock_advance(&clock, 7);
    JZX_EXPECT_EQ(jzx__pace_now(&pace, &clock), 507);
    JZX_EXPECT_EQ(pace.window, 0);
}
