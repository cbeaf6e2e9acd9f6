/* SPDX-License-Identifier: MIT */
/*
 * The main function of every test program. `prog FILE.NAME` runs one test under CMocka, `prog FILE`
 * those of a file, `prog NAME` those of that name, `prog` all of them; `prog --list` prints their
 * names for ctest. The ids of a test that passed are appended to the file named by JZX_SHOWN_FILE,
 * the name of a test that starts a thread to the one named by JZX_THREADS_FILE.
 */
#include "jzx_test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    REPORTED_MAX = 16, /* a broken expectation inside a hot behaviour must not flood the log */
    END_CHECKS_MAX = 8,
    LINE_MAX_BYTES = 512,
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define IS_SANITIZED false
#endif

static struct jzx_test *first_test;
static struct jzx_test **last_link = &first_test;
static const struct jzx_test *running_test;

static pthread_mutex_t expect_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned expect_failures; /* under expect_lock */

static void (*end_checks[END_CHECKS_MAX])(void);
static unsigned end_check_count;

void jzx_test_register(struct jzx_test *test) {
    *last_link = test;
    last_link = &test->next;
}

static bool expectation_failed(const char *file, int line, const char *what) {
    pthread_mutex_lock(&expect_lock);
    if (++expect_failures <= REPORTED_MAX)
        fprintf(stderr, "%s:%d: expected %s\n", file, line, what);
    pthread_mutex_unlock(&expect_lock);
    return false;
}

bool jzx_test_expect(bool held, const char *condition, const char *file, int line) {
    return held || expectation_failed(file, line, condition);
}

bool jzx_test_expect_equal(int64_t actual, int64_t expected, const char *actual_text,
                           const char *expected_text, const char *file, int line) {
    char what[LINE_MAX_BYTES];

    if (actual == expected)
        return true;
    snprintf(what, sizeof what,
             "%s == %s, but %" PRId64 " (0x%" PRIx64 ") is not %" PRId64 " (0x%" PRIx64 ")",
             actual_text, expected_text, actual, (uint64_t)actual, expected, (uint64_t)expected);
    return expectation_failed(file, line, what);
}

void jzx_test_at_end(void (*check)(void)) {
    assert_true(end_check_count < END_CHECKS_MAX);
    end_checks[end_check_count++] = check;
}

uint64_t jzx_test_rounds(uint64_t usual, uint64_t in_long_runs) {
    const char *stress = getenv("JZX_STRESS");

    if (stress && strcmp(stress, "long") == 0)
        return in_long_runs;
    return IS_SANITIZED && usual > 10 ? usual / 10 : usual;
}

/*
 * CMocka answers a fault with a long jump to the test, which from another thread's stack is no
 * answer. A process that holds one test may just as well die of it, with a core file or the
 * sanitizer's report.
 */
static void let_faults_end_the_process(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        signal(faults[i], SIG_DFL);
}

static void run_body_and_end_checks(void **state) {
    const struct jzx_test *test = *state;
    unsigned failures;

    let_faults_end_the_process();
    expect_failures = 0;
    end_check_count = 0;
    test->body();
    for (unsigned i = 0; i < end_check_count; i++)
        end_checks[i]();

    pthread_mutex_lock(&expect_lock);
    failures = expect_failures;
    pthread_mutex_unlock(&expect_lock);
    if (failures > 0)
        fail_msg("%u expectation(s) did not hold in %s (%s:%d)", failures, test->name, test->path,
                 test->line);
}

/* The name of the test's file without its folder and ".c"; its length is *length. */
static const char *file_of(const struct jzx_test *test, int *length) {
    const char *slash = strrchr(test->path, '/');
    const char *name = slash != NULL ? slash + 1 : test->path;

    *length = (int)strcspn(name, ".");
    return name;
}

/* One write per line: test programs run side by side, and appends of this size do not mix. */
static void append_line(const char *path, const char *line) {
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line)) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    close(fd);
}

static void append_shown_ids(const struct jzx_test *test) {
    const char *path = getenv("JZX_SHOWN_FILE");
    char line[LINE_MAX_BYTES];

    if (!path || !*path)
        return;
    for (const char *const *id = test->ids; *id; id++) {
        snprintf(line, sizeof line, "%s\t%s\n", *id, test->name);
        append_line(path, line);
    }
}

/*
 * The linker leads every pthread_create of the program and of a static library here. So a test that
 * has threads is known by having started one, and no list of such tests can be wrong.
 */
int real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                        void *ctx) __asm__("__real_pthread_create");
int wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                        void *ctx) __asm__("__wrap_pthread_create");

int wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                        void *ctx) {
    static atomic_flag is_recorded = ATOMIC_FLAG_INIT;
    const char *path = getenv("JZX_THREADS_FILE");
    char line[LINE_MAX_BYTES];

    if (path && *path && !atomic_flag_test_and_set(&is_recorded)) {
        int length;
        const char *file = file_of(running_test, &length);

        snprintf(line, sizeof line, "%s.%.*s.%s\n", running_test->suite, length, file,
                 running_test->name);
        append_line(path, line);
    }
    return real_pthread_create(thread, attributes, body, ctx);
}

static void print_ids(const struct jzx_test *test) {
    if (!*test->ids)
        return;
    printf("shows:");
    for (const char *const *id = test->ids; *id; id++)
        printf(" %s", *id);
    printf("\n");
    fflush(stdout); /* before what CMocka and the test write to stderr */
}

static bool run_one(struct jzx_test *test) {
    const struct CMUnitTest unit = {
        .name = test->name,
        .test_func = run_body_and_end_checks,
        .initial_state = test,
    };

    running_test = test;
    print_ids(test);
    if (_cmocka_run_group_tests(test->name, &unit, 1, NULL, NULL) != 0)
        return false;
    append_shown_ids(test);
    return true;
}

static bool is_wanted(const struct jzx_test *test, const char *wanted) {
    int length;
    const char *file = file_of(test, &length);
    const char *rest = wanted + length;

    if (strcmp(wanted, test->name) == 0)
        return true;
    if (strncmp(wanted, file, (size_t)length) != 0)
        return false;
    return *rest == '\0' || (*rest == '.' && strcmp(rest + 1, test->name) == 0);
}

int main(int argc, char **argv) {
    const char *wanted = argc > 1 ? argv[1] : NULL;
    bool list = wanted && strcmp(wanted, "--list") == 0;
    bool found = false;
    bool passed = true;

    for (struct jzx_test *test = first_test; test; test = test->next) {
        if (list) {
            int length;
            const char *file = file_of(test, &length);

            printf("%.*s.%s\n", length, file, test->name);
        } else if (!wanted || is_wanted(test, wanted)) {
            found = true;
            passed = run_one(test) && passed;
        }
    }
    if (!list && !found) {
        fprintf(stderr, "%s: no test named %s\n", argv[0], wanted ? wanted : "at all");
        return 2;
    }
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
