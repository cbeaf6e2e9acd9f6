/* SPDX-License-Identifier: MIT */
#include "subprocess/os.h"

#include "jzx/subprocess.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Older headers do not have these; the numbers are the same everywhere. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define ID_IS_PIDFD ((idtype_t)3)

/* A test leaves it out. */
#if !defined(JZX__NO_CLOSEFROM) && defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
#define HAS_CLOSEFROM 1
#else
#define HAS_CLOSEFROM 0
#endif

#define FD_FOLDER "/proc/self/fd"

/* Descriptors that other threads open while the list is made have the numbers next to it. */
#define FD_MARGIN 32

/* Numbers that are tried without FD_FOLDER: the usual fs.nr_open. */
#define FD_TRIED_MAX (1 << 20)

/* ---- starting ---- */

static int add_stdio(posix_spawn_file_actions_t *actions, const struct jzx__spawn_plan *plan,
                     int number) {
    switch (plan->kinds[number]) {
    case JZX_STDIO_NULL:
        return posix_spawn_file_actions_addopen(actions, number, "/dev/null", O_RDWR, 0);
    case JZX_STDIO_STREAM:
    case JZX_STDIO_FD: return posix_spawn_file_actions_adddup2(actions, plan->fds[number], number);
    case JZX_STDIO_OUTPUT: return posix_spawn_file_actions_adddup2(actions, 1, number);
    default: return 0;
    }
}

static int highest_of(DIR *folder) {
    int highest = 2;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int fd = atoi(entry->d_name); /* 0: "." */
        highest = fd > highest ? fd : highest;
    }
    return highest;
}

/* The highest descriptor that is open. */
static int highest_fd(void) {
    struct rlimit limit;
    DIR *folder = opendir(FD_FOLDER);
    if (folder != NULL) {
        int highest = highest_of(folder);
        closedir(folder);
        return highest;
    }
    int highest = FD_TRIED_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FD_TRIED_MAX)
        highest = (int)limit.rlim_cur;
    while (highest > 2 && fcntl(highest, F_GETFD) < 0)
        highest--;
    return highest;
}

/* One by one. A number that nobody has open is no error. */
static int add_closes(posix_spawn_file_actions_t *actions) {
    int highest = highest_fd();
    int err = 0;
    for (int fd = 3; fd <= highest + FD_MARGIN && err == 0; fd++)
        err = posix_spawn_file_actions_addclose(actions, fd);
    return err == EBADF ? 0 : err; /* beyond the limit of the program */
}

/* glibc closes by close_range(2), or else looks into FD_FOLDER, and fails without both. */
static int add_close_all(posix_spawn_file_actions_t *actions) {
#if HAS_CLOSEFROM
    if (syscall(SYS_close_range, ~0u, ~0u, 0) == 0 || access(FD_FOLDER, X_OK) == 0)
        return posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
    return add_closes(actions);
}

/* The first error. Descriptors of the program that are not close-on-exec would be inherited: all
 * above 2 are closed. */
static int fill_actions(posix_spawn_file_actions_t *actions, const struct jzx__spawn_plan *plan) {
    int err = 0;
    for (int i = 0; i < 3 && err == 0; i++)
        err = add_stdio(actions, plan, i);
    if (err == 0)
        err = add_close_all(actions);
    if (err == 0 && plan->cwd != NULL)
        err = posix_spawn_file_actions_addchdir_np(actions, plan->cwd);
    return err;
}

static int fill_attributes(posix_spawnattr_t *attributes, const struct jzx__spawn_plan *plan) {
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    if (plan->new_session)
        flags |= POSIX_SPAWN_SETSID;
    else if (plan->new_group)
        flags |= POSIX_SPAWN_SETPGROUP;
    int err = posix_spawnattr_setsigmask(attributes, &none);
    if (err == 0)
        err = posix_spawnattr_setsigdefault(attributes, &all);
    if (err == 0)
        err = posix_spawnattr_setpgroup(attributes, 0);
    return err != 0 ? err : posix_spawnattr_setflags(attributes, (short)flags);
}

/* posix_spawn takes pointers to what it does not change. */
static char *const *as_mutable(const char *const *strings) {
    return (char *const *)(uintptr_t)strings;
}

static int call_spawn(const struct jzx__spawn_plan *plan, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int err = posix_spawn_file_actions_init(&actions);
    if (err != 0)
        return -err;
    err = posix_spawnattr_init(&attributes);
    if (err == 0) {
        err = fill_actions(&actions, plan);
        if (err == 0)
            err = fill_attributes(&attributes, plan);
        if (err == 0)
            err = posix_spawnp(pid, plan->program, &actions, &attributes, as_mutable(plan->argv),
                               plan->env == NULL ? environ : as_mutable(plan->env));
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return -err;
}

/* ---- pidfds ---- */

static int call_waitid(idtype_t type, int id, siginfo_t *info, int options, struct rusage *usage) {
    long failed;
    memset(info, 0, sizeof *info);
    do
        failed = syscall(SYS_waitid, type, id, info, options, usage);
    while (failed < 0 && errno == EINTR);
    return failed < 0 ? -errno : 0;
}

/* If the child was reaped by somebody else, the pid may be that of any process by now. */
static int call_pidfd_open(pid_t pid) {
    siginfo_t info;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ESRCH ? -ECHILD : -errno;
    int err = call_waitid(ID_IS_PIDFD, fd, &info, WEXITED | WNOHANG | WNOWAIT, NULL);
    if (err == 0)
        return fd;
    close(fd);
    return err;
}

static int call_signal(int pidfd, int signal) {
    return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

static int call_signal_group(pid_t pid, int signal) {
    return kill(-pid, signal) < 0 ? -errno : 0;
}

static int call_wait(int pidfd, siginfo_t *info, struct rusage *usage) {
    int err = call_waitid(ID_IS_PIDFD, pidfd, info, WEXITED | WNOHANG, usage);
    return err < 0 ? err : info->si_pid != 0;
}

static void call_destroy(pid_t pid) {
    siginfo_t info;
    kill(pid, SIGKILL);
    (void)call_waitid(P_PID, pid, &info, WEXITED, NULL);
}

/* ---- descriptors ---- */

static int call_duplicate(int fd) {
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return copy < 0 ? -errno : copy;
}

static int call_set_blocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

const struct jzx__subprocess_os jzx__subprocess_os_system = {
    .spawn = call_spawn,
    .pidfd_open = call_pidfd_open,
    .signal = call_signal,
    .signal_group = call_signal_group,
    .wait = call_wait,
    .destroy = call_destroy,
    .duplicate = call_duplicate,
    .set_blocking = call_set_blocking,
};
