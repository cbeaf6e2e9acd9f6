/* SPDX-License-Identifier: MIT */
/* The mutex: one thread at a time, and what it wrote is seen by the next. */
#include "base/lock.h"

#include "jzx_test.h"

#define THREAD_COUNT 4

struct guarded {
    struct jzx__lock lock;
    uint64_t rounds;
    uint64_t count;  /* guarded by lock */
    uint64_t mirror; /* guarded by lock; equals count whenever it is free */
};

static void *count_up(void *ctx) {
    struct guarded *guarded = ctx;
    for (uint64_t i = 0; i < guarded->rounds; i++) {
        jzx__lock_acquire(&guarded->lock);
        JZX_EXPECT_EQ(guarded->count, guarded->mirror);
        guarded->count++;
        guarded->mirror++;
        jzx__lock_release(&guarded->lock);
    }
    return NULL;
}

JZX_TEST(one_thread_at_a_time_holds_a_lock) {
    struct guarded guarded = {.rounds = jzx_test_rounds(20000, 1000000)};
    pthread_t threads[THREAD_COUNT];
    jzx__lock_init(&guarded.lock);
    for (int i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &guarded), 0);
    for (int i = 0; i < THREAD_COUNT; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    JZX_EXPECT_EQ(guarded.count, guarded.rounds * THREAD_COUNT);
    jzx__lock_deinit(&guarded.lock);
}
