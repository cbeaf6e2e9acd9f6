/* SPDX-License-Identifier: MIT */
/* Variables of the environment: those who start a program with other rights than theirs do not
 * choose for it. */
#include "fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COPY_IS_PLAIN 77 /* the exit code of a copy that has no other rights */

static void count_warning(void *ctx, jzx_log_level level, const char *text) {
    unsigned *warnings = ctx;
    *warnings += level == JZX_LOG_WARN && strstr(text, "JZX_IO_BACKEND") != NULL;
}

/* What a loop says of a back end that there is not. */
static unsigned count_warnings(void) {
    unsigned warnings = 0;
    assert_int_equal(setenv("JZX_IO_BACKEND", "none", 1), 0);
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.log = {.write = count_warning, .ctx = &warnings, .level = JZX_LOG_WARN}));
    assert_non_null(loop);
    fixture_destroy(loop);
    assert_int_equal(unsetenv("JZX_IO_BACKEND"), 0);
    return warnings;
}

/* A copy of this program that runs with the rights of another group. */
static void make_copy(const char *path) {
    struct stat stat;
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
    assert_true(from >= 0 && to >= 0);
    assert_int_equal(fstat(from, &stat), 0);
    for (off_t left = stat.st_size; left > 0;) {
        ssize_t sent = sendfile(to, from, NULL, (size_t)left);
        assert_true(sent > 0);
        left -= sent;
    }
    assert_int_equal(fchown(to, (uid_t)-1, getegid() + 1), 0);
    assert_int_equal(fchmod(to, 02755), 0);
    assert_int_equal(close(from), 0);
    assert_int_equal(close(to), 0);
}

static int run_copy(const char *path, const char *test) {
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setenv("JZX_TEST_IS_COPY", "1", 1);
        (void)execl(path, path, test, (char *)NULL);
        _exit(COPY_IS_PLAIN);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

JZX_TEST(a_program_with_the_rights_of_others_does_not_read_its_environment) {
    static const char self[] =
        "environment.a_program_with_the_rights_of_others_does_not_read_its_environment";
    char path[] = "/tmp/jzx_environment_XXXXXX";
    const bool is_copy = getenv("JZX_TEST_IS_COPY") != NULL;
    if (getauxval(AT_SECURE) != 0) {
        assert_int_equal(count_warnings(), 0);
        return;
    }
    if (is_copy)
        _exit(COPY_IS_PLAIN);
    assert_int_equal(count_warnings(), 1);
    if (geteuid() != 0)
        skip(); /* only root can make such a program */
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0); /* a program that is open for writing cannot be started */
    make_copy(path);
    int code = run_copy(path, self);
    assert_int_equal(unlink(path), 0);
    if (code == COPY_IS_PLAIN)
        skip(); /* the file system knows no such programs */
    assert_int_equal(code, 0);
}
