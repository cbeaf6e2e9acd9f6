/* SPDX-License-Identifier: MIT */
/*
 * The main function of every test program. `prog FILE.NAME` runs one test under CMocka, `prog FILE`
 * those of a file, `prog NAME` those of that name, `prog` all of them; `prog --list` prints their
 * names for ctest, `prog --ids` the ids that each of them is marked with. The ids of a test that
 * passed are appended to the file named by JZX_SHOWN_FILE, the name of a test that starts a thread
 * to the one named by JZX_THREADS_FILE. The exit status is 77 if all tests that ran were skipped.
 */
#include "jzx_test.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    REPORTED_MAX = 16, /* a broken expectation inside a hot behaviour must not flood the log */
    END_CHECKS_MAX = 8,
    LINE_MAX_BYTES = 512,
    ID_MAX_BYTES = 64,
    EXIT_SKIPPED = 77, /* as ctest is told (SKIP_RETURN_CODE) */
};

enum outcome { PASSED, SKIPPED, FAILED };

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

/* In memory shared with forked children. Atomic, as any thread counts. */
struct tally {
    atomic_bool is_checked; /* a flag, because a counter would slow down checks in hot behaviours */
    atomic_uint failures;   /* of expectations */
    atomic_ulong runs;      /* of user code that says so */
};
static struct tally *tally;
static bool is_skipped;

static void (*end_checks[END_CHECKS_MAX])(void);
static unsigned end_check_count;

void jzx_test_register(struct jzx_test *test) {
    *last_link = test;
    last_link = &test->next;
}

static bool expectation_failed(const char *file, int line, const char *what) {
    if (atomic_fetch_add(&tally->failures, 1) < REPORTED_MAX)
        fprintf(stderr, "%s:%d: expected %s\n", file, line, what);
    return false;
}

void jzx_test_checked(void) {
    if (!atomic_load_explicit(&tally->is_checked, memory_order_relaxed))
        atomic_store_explicit(&tally->is_checked, true, memory_order_relaxed);
}

void jzx_test_skipped(void) {
    is_skipped = true;
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

void jzx_test_ran(void) {
    /* relaxed: it must not order what the thread sanitizer looks at */
    atomic_fetch_add_explicit(&tally->runs, 1, memory_order_relaxed);
}

uint64_t jzx_test_runs(void) {
    return atomic_load(&tally->runs);
}

void jzx_test_at_end(void (*check)(void)) {
    if (end_check_count == END_CHECKS_MAX)
        fail_msg("more than %d checks at the end of a test", END_CHECKS_MAX);
    end_checks[end_check_count++] = check;
}

uint64_t jzx_test_rounds(uint64_t usual, uint64_t in_long_runs) {
    const char *stress = getenv("JZX_STRESS");

    if (stress && strcmp(stress, "long") == 0)
        return in_long_runs;
    bool is_short = IS_SANITIZED || (stress && strcmp(stress, "short") == 0);
    return is_short && usual > 10 ? usual / 10 : usual;
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
    end_check_count = 0;
    test->body();
    for (unsigned i = 0; i < end_check_count; i++)
        end_checks[i]();

    failures = atomic_load(&tally->failures);
    if (failures > 0)
        fail_msg("%u expectation(s) did not hold in %s (%s:%d)", failures, test->name, test->path,
                 test->line);
    if (!atomic_load(&tally->is_checked))
        fail_msg("%s evaluated no check (%s:%d)", test->name, test->path, test->line);
}

/* The name of the test's file without its folder and ".c"; its length is *length. */
static const char *file_of(const struct jzx_test *test, int *length) {
    const char *slash = strrchr(test->path, '/');
    const char *name = slash != NULL ? slash + 1 : test->path;

    *length = (int)strcspn(name, ".");
    return name;
}

/* A line of `start` and the name by which ctest knows the test. */
static void write_name(char line[LINE_MAX_BYTES], const char *start, const struct jzx_test *test) {
    int length;
    const char *file = file_of(test, &length);

    snprintf(line, LINE_MAX_BYTES, "%s%s.%.*s.%s\n", start, test->suite, length, file, test->name);
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
    char start[ID_MAX_BYTES];
    char line[LINE_MAX_BYTES];

    if (!path || !*path)
        return;
    for (const char *const *id = test->ids; *id; id++) {
        snprintf(start, sizeof start, "%s\t", *id);
        write_name(line, start, test);
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

static atomic_uint_least64_t threads_to_start = UINT64_MAX;
static atomic_uint_least64_t threads_to_fail;
static atomic_uint_least64_t threads_seen;

void jzx_test_fail_threads(uint64_t after, uint64_t count) {
    atomic_store(&threads_to_start, after);
    atomic_store(&threads_to_fail, count);
}

uint64_t jzx_test_threads(void) {
    return atomic_load(&threads_seen);
}

/* True if the next one is to fail. Tests that ask for it start threads one after another. */
static bool is_to_fail(void) {
    uint64_t left = atomic_load(&threads_to_start);
    uint64_t failures = atomic_load(&threads_to_fail);
    if (left == UINT64_MAX)
        return false;
    if (left != 0) {
        atomic_store(&threads_to_start, left - 1);
        return false;
    }
    atomic_store(&threads_to_fail, failures == 0 ? 0 : failures - 1);
    return failures != 0;
}

int wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                        void *ctx) {
    static atomic_flag is_recorded = ATOMIC_FLAG_INIT;
    const char *path = getenv("JZX_THREADS_FILE");
    char line[LINE_MAX_BYTES];

    if (path && *path && !atomic_flag_test_and_set(&is_recorded)) {
        write_name(line, "", running_test);
        append_line(path, line);
    }
    atomic_fetch_add(&threads_seen, 1);
    if (is_to_fail())
        return EAGAIN;
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

static enum outcome run_one(struct jzx_test *test) {
    const struct CMUnitTest unit = {
        .name = test->name,
        .test_func = run_body_and_end_checks,
        .initial_state = test,
    };

    running_test = test;
    is_skipped = false;
    atomic_store(&tally->is_checked, false);
    atomic_store(&tally->failures, 0);
    atomic_store(&tally->runs, 0);
    print_ids(test);
    if (_cmocka_run_group_tests(test->name, &unit, 1, NULL, NULL) != 0)
        return FAILED;
    if (is_skipped)
        return SKIPPED;
    append_shown_ids(test);
    return PASSED;
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

static void list_tests(void) {
    for (struct jzx_test *test = first_test; test; test = test->next) {
        int length;
        const char *file = file_of(test, &length);

        printf("%.*s.%s\n", length, file, test->name);
    }
}

static void list_ids(void) {
    for (struct jzx_test *test = first_test; test; test = test->next)
        for (const char *const *id = test->ids; *id; id++) {
            char start[ID_MAX_BYTES];
            char line[LINE_MAX_BYTES];

            snprintf(start, sizeof start, "%s\t", *id);
            write_name(line, start, test);
            fputs(line, stdout);
        }
}

/* All tests that are wanted, of which NULL means every one. */
static int run_wanted(const char *program, const char *wanted) {
    unsigned counts[FAILED + 1] = {0};

    for (struct jzx_test *test = first_test; test; test = test->next)
        if (!wanted || is_wanted(test, wanted))
            counts[run_one(test)]++;
    if (counts[FAILED] > 0)
        return EXIT_FAILURE;
    if (counts[PASSED] > 0)
        return EXIT_SUCCESS;
    if (counts[SKIPPED] > 0)
        return EXIT_SKIPPED;
    fprintf(stderr, "%s: no test named %s\n", program, wanted ? wanted : "at all");
    return 2;
}

int main(int argc, char **argv) {
    const char *wanted = argc > 1 ? argv[1] : NULL;

    if (wanted && strcmp(wanted, "--list") == 0) {
        list_tests();
        return EXIT_SUCCESS;
    }
    if (wanted && strcmp(wanted, "--ids") == 0) {
        list_ids();
        return EXIT_SUCCESS;
    }
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED) {
        perror("mmap");
        return EXIT_FAILURE;
    }
    return run_wanted(argv[0], wanted);
}
