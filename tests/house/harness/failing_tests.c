/* SPDX-License-Identifier: MIT */
/* Tests that fail in each way that a test can, and one that passes: harness.sh looks at the
 * outcome. The ids are made up. */
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

JZX_TEST(passes, "GOOD1", "GOOD2") {
    JZX_EXPECT(true);
    JZX_EXPECT_EQ(2, 2);
}

JZX_TEST(passes_with_an_assert, "GOOD3") {
    assert_true(1);
}

/* Ends a child that has called `check`, which leaves no trace in its exit status. */
static void in_a_child(void (*check)(void)) {
    pid_t child = fork();

    if (child == 0) {
        check();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void check_that_holds(void) {
    JZX_EXPECT_EQ(7, 7);
}

JZX_TEST(passes_with_a_check_in_a_child, "GOOD4") {
    in_a_child(check_that_holds);
}

static void check_that_is_never_called(void) {
    JZX_EXPECT(true);
}

static void (*volatile never)(void);

JZX_TEST(checks_nothing, "BAD") {
    if (never)
        check_that_is_never_called();
}

/* All that a fixture checks, and nothing of its own. */
JZX_TEST(leaves_the_checks_to_the_fixture, "BAD") {
    static struct recorder silent;
    jzx_loop *loop = fixture_loop();

    fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &silent));
    fixture_destroy(loop);
}

JZX_TEST(skips, "BAD") {
    skip();
}

JZX_TEST(skips_behind_a_check, "BAD") {
    JZX_EXPECT(true);
    skip();
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

JZX_TEST(expects_in_a_child, "BAD") {
    in_a_child(check_that_does_not_hold);
}

JZX_TEST(expects_in_a_hot_loop, "BAD") {
    for (int i = 0; i < 1000; i++)
        JZX_EXPECT_EQ(i, -1);
}

JZX_TEST(faults, "BAD") {
    raise(SIGSEGV);
}
