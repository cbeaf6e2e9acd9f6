/* SPDX-License-Identifier: MIT */
/* The generator: the published sequence of splitmix64, and numbers below a bound. */
#include "base/rng.h"

#include "jzx_test.h"

JZX_TEST(a_seed_gives_the_published_sequence_of_splitmix64) {
    static const struct {
        uint64_t seed;
        uint64_t numbers[5];
    } published[] = {
        {0,
         {0xE220A8397B1DCDAFu, 0x6E789E6AA1B965F4u, 0x06C45D188009454Fu, 0xF88BB8A8724C81ECu,
          0x1B39896A51A8749Bu}},
        {1234567,
         {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u,
          16408922859458223821u}},
    };
    for (size_t i = 0; i < 2; i++) {
        struct jzx__rng rng;
        jzx__rng_init(&rng, published[i].seed);
        for (size_t n = 0; n < 5; n++)
            JZX_EXPECT_EQ(jzx__rng_next(&rng), published[i].numbers[n]);
    }
}

JZX_TEST(two_generators_of_one_seed_agree_and_do_not_disturb_each_other) {
    struct jzx__rng one, two, other;
    jzx__rng_init(&one, 42);
    jzx__rng_init(&two, 42);
    jzx__rng_init(&other, 43);
    uint32_t differences = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t number = jzx__rng_next(&one);
        differences += jzx__rng_next(&other) != number;
        JZX_EXPECT_EQ(jzx__rng_next(&two), number);
    }
    JZX_EXPECT_EQ(differences, 1000);
}

JZX_TEST(below_stays_below_every_bound) {
    static const uint32_t bounds[] = {1, 2, 3, 7, 1000, 0x80000000u, 0x80000001u, UINT32_MAX};
    struct jzx__rng rng;
    jzx__rng_init(&rng, 7);
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        for (int i = 0; i < 10000; i++)
            JZX_EXPECT(jzx__rng_below(&rng, bounds[b]) < bounds[b]);
    }
}

JZX_TEST(below_reaches_each_number_about_equally_often) {
    enum { BOUND = 10, DRAWS = 100000 };
    uint32_t seen[BOUND] = {0};
    struct jzx__rng rng;
    jzx__rng_init(&rng, 99);
    for (int i = 0; i < DRAWS; i++)
        seen[jzx__rng_below(&rng, BOUND)]++;
    for (uint32_t i = 0; i < BOUND; i++)
        JZX_EXPECT(seen[i] > 9500 && seen[i] < 10500); /* five deviations around 10,000 */
}

JZX_TEST(below_reaches_both_ends_of_a_wide_range) {
    struct jzx__rng rng;
    jzx__rng_init(&rng, 5);
    uint32_t smallest = UINT32_MAX;
    uint32_t largest = 0;
    for (int i = 0; i < 10000; i++) {
        uint32_t number = jzx__rng_below(&rng, UINT32_MAX);
        smallest = number < smallest ? number : smallest;
        largest = number > largest ? number : largest;
    }
    JZX_EXPECT(smallest < UINT32_MAX / 1000);
    JZX_EXPECT(largest > UINT32_MAX - UINT32_MAX / 1000);
}
