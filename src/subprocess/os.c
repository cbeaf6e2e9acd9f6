/* SPDX-License-Identifier: MIT */
#include "subprocess/os.h"

#include "jzx/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
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
#define ID_IS_PIDFD ((idtype_t)3)

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
#define HAS_CLOSEFROM 1
#else
#define HAS_CLOSEFROM 0
#endif

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

/* The first error. Descriptors of the program that are not close-on-exec would be inherited: where
 * the C library can, all above 2 are closed. */
static int fill_actions(posix_spawn_file_actions_t *actions, const struct jzx__spawn_plan *plan) {
    int err = 0;
    for (int i = 0; i < 3 && err == 0; i++)
        err = add_stdio(actions, plan, i);
#if HAS_CLOSEFROM
    if (err == 0)
        err = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
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
