/* SPDX-License-Identifier: MIT */
/* The system calls on processes, in one table, as those on files and sockets are: no other file of
 * this folder makes one by itself. A test puts its own table in place of this one and lets any call
 * fail at any use. Descriptors are closed, and epoll is used, by the table of the I/O layer.
 *
 * Programs are started by posix_spawn: it shares the memory of the parent until the exec, so that a
 * large program starts others as fast as a small one; it reports why an exec has failed; and the C
 * library sees to it that no signal handler and no thread gets in between. Rejected: fork (copies
 * the page tables, and the child of a program with threads may hardly call anything); a clone with
 * CLONE_VM of our own (the same as posix_spawn, but the sanitizers do not know it), which would
 * have got the pidfd atomically. pidfd_open comes right after in its place: the pid cannot be
 * another's unless something else in the program waits for all children, and that is found out.
 *
 * Each function returns what it says, or the negative errno. */
#ifndef JZX_SUBPROCESS_OS_H
#define JZX_SUBPROCESS_OS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* What is to be started. */
struct jzx__spawn_plan {
    const char *program;
    const char *const *argv;
    const char *const *env; /* NULL: that of this program */
    const char *cwd;        /* or NULL */
    int fds[3];             /* what 0 to 2 are copies of, all above 2; -1: see kinds */
    unsigned char kinds[3]; /* a jzx_stdio_kind each */
    bool new_group;
    bool new_session;
};

struct jzx__subprocess_os {
    /* 0: it runs, as *pid. */
    int (*spawn)(const struct jzx__spawn_plan *plan, pid_t *pid);
    /* Of a child of ours. -ECHILD: it is none any more. */
    int (*pidfd_open)(pid_t pid);
    int (*signal)(int pidfd, int signal);
    /* To the group that the child leads, or led; it was not waited for yet. */
    int (*signal_group)(pid_t pid, int signal);
    /* 1: it has ended, and how; nothing is left of it. 0: not yet. Does not block. */
    int (*wait)(int pidfd, siginfo_t *info, struct rusage *usage);
    /* Kills one that has no pidfd, and waits for it. Blocks. */
    void (*destroy)(pid_t pid);
    /* A copy above 2, close-on-exec. */
    int (*duplicate)(int fd);
    /* From here on calls block. 0. */
    int (*set_blocking)(int fd);
};

/* Linux. */
extern const struct jzx__subprocess_os jzx__subprocess_os_system;

#endif
