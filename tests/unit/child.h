/* SPDX-License-Identifier: MIT */
/* Runs a function in a child process and reports how it ended and what it wrote to standard error:
 * for behaviour that ends the process. */
#ifndef JZX_UNIT_CHILD_H
#define JZX_UNIT_CHILD_H

#include "jzx_test.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct child_end {
    int status; /* as waitpid gives it */
    char text[16384];
};

static inline struct child_end run_in_child(void (*body)(void)) {
    struct child_end end = {0, ""};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], end.text + length, sizeof end.text - 1 - length)) > 0)
        length += (size_t)got;
    close(ends[0]);
    assert_int_equal(waitpid(child, &end.status, 0), child);
    return end;
}

/* True if the child has ended itself with a message that contains this. */
static inline bool child_refused(const struct child_end *end, const char *text) {
    return WIFSIGNALED(end->status) && WTERMSIG(end->status) == SIGABRT &&
           strstr(end->text, text) != NULL;
}

/* The same by an invariant that does not hold. */
static inline bool child_aborted(const struct child_end *end, const char *text) {
    return child_refused(end, "invariant does not hold") && child_refused(end, text);
}

#endif
