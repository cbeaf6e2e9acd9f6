/* SPDX-License-Identifier: MIT */
/* The atomic operations do what their names say; whether their orders suffice is for the tests of
 * those who use them, under the thread sanitizer. */
#include "base/atomic.h"

#include "jzx_test.h"

#include <pthread.h>

#define THREAD_COUNT 4

JZX_TEST(loads_and_stores_of_every_order_pass_the_value) {
    _Atomic uint64_t word = 0;
    jzx__atomic_store_relaxed(&word, UINT64_MAX);
    JZX_EXPECT_EQ(jzx__atomic_load_relaxed(&word), UINT64_MAX);
    jzx__atomic_store_release(&word, (uint64_t)1 << 63);
    JZX_EXPECT_EQ(jzx__atomic_load_acquire(&word), (uint64_t)1 << 63);
    jzx__atomic_store_seq_cst(&word, 5u);
    JZX_EXPECT_EQ(jzx__atomic_load_seq_cst(&word), 5);
}

JZX_TEST(exchange_and_add_return_what_was_there) {
    _Atomic uint64_t word = 5;
    JZX_EXPECT_EQ(jzx__atomic_exchange_acq_rel(&word, 6u), 5);
    JZX_EXPECT_EQ(jzx__atomic_exchange_seq_cst(&word, 7u), 6);
    JZX_EXPECT_EQ(jzx__atomic_add_relaxed(&word, 3u), 7);
    JZX_EXPECT_EQ(jzx__atomic_load_relaxed(&word), 10);
}

JZX_TEST(compare_and_exchange_changes_only_the_expected_value_and_shows_the_other) {
    _Atomic uint64_t word = 10;
    uint64_t expected = 9;
    JZX_EXPECT(!jzx__atomic_cas_acq_rel(&word, &expected, 1u));
    JZX_EXPECT_EQ(expected, 10);
    JZX_EXPECT_EQ(jzx__atomic_load_relaxed(&word), 10);
    while (!jzx__atomic_cas_acq_rel(&word, &expected, 11u))
        JZX_EXPECT_EQ(expected, 10); /* it may fail without cause */
    JZX_EXPECT(!jzx__atomic_cas_seq_cst(&word, &expected, 1u));
    JZX_EXPECT_EQ(expected, 11);
    while (!jzx__atomic_cas_seq_cst(&word, &expected, 12u))
        JZX_EXPECT_EQ(expected, 11);
    JZX_EXPECT_EQ(jzx__atomic_load_relaxed(&word), 12);
}

struct counted {
    jzx__counter shared;
    jzx__counter own[THREAD_COUNT];
    uint64_t rounds;
};

struct writer {
    struct counted *counted;
    jzx__counter *own;
};

static void *write_counters(void *ctx) {
    struct writer *writer = ctx;
    uint64_t last = 0;
    for (uint64_t i = 0; i < writer->counted->rounds; i++) {
        jzx__counter_add(writer->own, 2);
        jzx__counter_add_shared(&writer->counted->shared, 3);
        uint64_t now = jzx__counter_get(&writer->counted->shared);
        JZX_EXPECT(now > last);
        last = now;
    }
    return NULL;
}

JZX_TEST(counters_lose_nothing_with_one_writer_or_shared_by_many) {
    struct counted counted = {.rounds = jzx_test_rounds(50000, 1000000)};
    struct writer writers[THREAD_COUNT];
    pthread_t threads[THREAD_COUNT];
    for (int i = 0; i < THREAD_COUNT; i++) {
        writers[i] = (struct writer){&counted, &counted.own[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, write_counters, &writers[i]), 0);
    }
    for (int i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        JZX_EXPECT_EQ(jzx__counter_get(&counted.own[i]), 2 * counted.rounds);
    }
    JZX_EXPECT_EQ(jzx__counter_get(&counted.shared), 3 * THREAD_COUNT * counted.rounds);
}
