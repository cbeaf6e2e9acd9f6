/* SPDX-License-Identifier: MIT */
/*
 * Tests with CMocka, one process each. A test is a sentence about behaviour, with the ids of the
 * requirements that it shows:
 *
 *     JZX_TEST(full_mailbox_refuses_and_keeps_order, "C11", "C+fail") {
 *         ...
 *     }
 *
 * The build registers every JZX_TEST as the ctest test <folder>.<file>.<name>. CMocka's assert_*
 * leave the test with a long jump, so they may be used only on the test's own thread and outside of
 * behaviours; everywhere else use JZX_EXPECT.
 *
 * A test that evaluates no check fails: it returned early, or its behaviours never ran. Checks of
 * forked children count; those of the fixture do not, as they hold for a loop in which nothing
 * happens. A test that cannot run here calls skip(), and shows no requirement.
 */
#ifndef JZX_TEST_HARNESS_H
#define JZX_TEST_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The build says which. */
#ifndef JZX_TEST_SUITE
#define JZX_TEST_SUITE "none"
#endif

struct jzx_test {
    const char *name;
    void (*body)(void);
    const char *const *ids; /* ends with NULL */
    const char *suite;
    const char *path; /* of its file */
    int line;
    struct jzx_test *next;
};

void jzx_test_register(struct jzx_test *test);

/* JZX_TEST(name, "id", ...) { body }; no ids where a test shows no requirement by itself. */
#define JZX_TEST(...) JZX_TEST_WITH_IDS(__VA_ARGS__, NULL)

#define JZX_TEST_WITH_IDS(test_name, ...)                                                          \
    static void jzx_test_body_##test_name(void);                                                   \
    __attribute__((constructor)) static void jzx_test_register_##test_name(void) {                 \
        static const char *const ids[] = {__VA_ARGS__};                                            \
        static struct jzx_test test = {                                                            \
            .name = #test_name,                                                                    \
            .body = jzx_test_body_##test_name,                                                     \
            .ids = ids,                                                                            \
            .suite = JZX_TEST_SUITE,                                                               \
            .path = __FILE__,                                                                      \
            .line = __LINE__,                                                                      \
        };                                                                                         \
        jzx_test_register(&test);                                                                  \
    }                                                                                              \
    static void jzx_test_body_##test_name(void)

/*
 * Expectations, for any thread and for behaviours. One that does not hold is printed at once with
 * its file, line and values, lets the program go on, and fails the test at its end. Both return
 * whether it held.
 */
#define JZX_EXPECT(condition)                                                                      \
    (jzx_test_checked(),                                                                           \
     jzx_test_expect((condition) ? true : false, #condition, __FILE__, __LINE__))

/* Integers, enumerations or pointers of any type, compared as 64 bits. */
#define JZX_EXPECT_EQ(actual, expected)                                                            \
    (jzx_test_checked(), jzx_test_expect_equal((int64_t)(actual), (int64_t)(expected), #actual,    \
                                               #expected, __FILE__, __LINE__))

bool jzx_test_expect(bool held, const char *condition, const char *file, int line);
bool jzx_test_expect_equal(int64_t actual, int64_t expected, const char *actual_text,
                           const char *expected_text, const char *file, int line);

/* Says that the running test evaluates a check; from any thread and from forked children. */
#ifdef JZX_TEST_CHECKS_DO_NOT_COUNT
#define jzx_test_checked() ((void)0)
#else
void jzx_test_checked(void);
#endif

/* Says that the running test cannot run here; skip() calls it. */
void jzx_test_skipped(void);
#define _skip(...) (jzx_test_skipped(), (_skip)(__VA_ARGS__))

/* The functions behind CMocka's assert_* macros. */
#define _assert_true(...) (jzx_test_checked(), (_assert_true)(__VA_ARGS__))
#define _assert_return_code(...) (jzx_test_checked(), (_assert_return_code)(__VA_ARGS__))
#define _assert_int_equal(...) (jzx_test_checked(), (_assert_int_equal)(__VA_ARGS__))
#define _assert_int_not_equal(...) (jzx_test_checked(), (_assert_int_not_equal)(__VA_ARGS__))
#define _assert_string_equal(...) (jzx_test_checked(), (_assert_string_equal)(__VA_ARGS__))
#define _assert_string_not_equal(...) (jzx_test_checked(), (_assert_string_not_equal)(__VA_ARGS__))
#define _assert_memory_equal(...) (jzx_test_checked(), (_assert_memory_equal)(__VA_ARGS__))
#define _assert_memory_not_equal(...) (jzx_test_checked(), (_assert_memory_not_equal)(__VA_ARGS__))
#define _assert_in_range(...) (jzx_test_checked(), (_assert_in_range)(__VA_ARGS__))
#define _assert_not_in_range(...) (jzx_test_checked(), (_assert_not_in_range)(__VA_ARGS__))
#define _assert_in_set(...) (jzx_test_checked(), (_assert_in_set)(__VA_ARGS__))
#define _assert_not_in_set(...) (jzx_test_checked(), (_assert_not_in_set)(__VA_ARGS__))

/* For user code whose running is what a test is about: it says that it ran, on any thread, and the
 * test compares how often. Without that a test whose checks are in a behaviour passes though the
 * behaviour is never called. */
void jzx_test_ran(void);
uint64_t jzx_test_runs(void); /* of this test so far */

/* Has `check` called after the body and before the verdict, in the order registered; not when an
 * assert_* ended the body. */
void jzx_test_at_end(void (*check)(void));

/* How often a stress test repeats: `usual`, a tenth of it under sanitizers and with
 * JZX_STRESS=short, or `in_long_runs` under `./jzx test --all`, which sets JZX_STRESS=long. */
uint64_t jzx_test_rounds(uint64_t usual, uint64_t in_long_runs);

/* The next `after` threads that the program or a static library starts can be started, and then
 * `count` cannot; UINT64_MAX: all can. jzx_test_threads says how many were asked for so far: none
 * of a shared library. */
void jzx_test_fail_threads(uint64_t after, uint64_t count);
uint64_t jzx_test_threads(void);

/* Moves the date of the system as the program and a static library see it; clocks that no
 * administrator can set stay as they are. */
void jzx_test_jump_realtime(int64_t ns);

#endif
