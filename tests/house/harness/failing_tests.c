/* SPDX-License-Identifier: MIT */
/* Tests that fail in each way that a test can, and one that passes: harness.sh looks at the
 * outcome. The ids are made up. */
#include "jzx_test.h"

#include <pthread.h>
#include <signal.h>

JZX_TEST(passes, "GOOD1", "GOOD2") {
    JZX_EXPECT(true);
    JZX_EXPECT_EQ(2, 2);
}

JZX_TEST(asserts, "BAD") {
    assert_int_equal(1, 2);
}

JZX_TEST(expects, "BAD") {
    int apples = 1;

    JZX_EXPECT(apples > 1);
    JZX_EXPECT_EQ(apples, 2);
}

static void *expect_on_another_thread(void *ctx) {
    (void)ctx;
    JZX_EXPECT_EQ(3, 4);
    return NULL;
}

JZX_TEST(expects_on_another_thread, "BAD") {
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, expect_on_another_thread, NULL), 0);
    pthread_join(thread, NULL);
}

static void check_that_does_not_hold(void) {
    JZX_EXPECT_EQ(5, 6);
}

JZX_TEST(fails_at_its_end, "BAD") {
    jzx_test_at_end(check_that_does_not_hold);
}

JZX_TEST(expects_in_a_hot_loop, "BAD") {
    for (int i = 0; i < 1000; i++)
        JZX_EXPECT_EQ(i, -1);
}

JZX_TEST(faults, "BAD") {
    raise(SIGSEGV);
}
