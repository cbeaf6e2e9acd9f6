/* SPDX-License-Identifier: MIT */
/* The table of system calls, for Linux. */
#include "io/os.h"

#include "jzx/time.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000u
#define NS_PER_S 1000000000u

static int checked(int result) {
    return result < 0 ? -errno : result;
}

static ssize_t checked_size(ssize_t result) {
    return result < 0 ? -errno : result;
}

static int make_epoll(void) {
    return checked(epoll_create1(EPOLL_CLOEXEC));
}

static int control_epoll(int epoll, int op, int fd, struct epoll_event *event) {
    return checked(epoll_ctl(epoll, op, fd, event));
}

/* Rounded up: a sleep must not end before the timer that it is for. */
static int ms_of(uint64_t timeout_ns) {
    if (timeout_ns == JZX_NEVER)
        return -1;
    uint64_t ms = timeout_ns / NS_PER_MS + (timeout_ns % NS_PER_MS != 0);
    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

static int wait_epoll(int epoll, struct epoll_event *events, int count_max, uint64_t timeout_ns) {
#if defined(SYS_epoll_pwait2)
    /* Linux 5.11; by number, as the libraries have it only since later. */
    if (timeout_ns != 0 && timeout_ns != JZX_NEVER) {
        struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / NS_PER_S),
                                   .tv_nsec = (long)(timeout_ns % NS_PER_S)};
        long count = syscall(SYS_epoll_pwait2, epoll, events, count_max, &timeout, NULL, 0);
        if (count >= 0 || errno != ENOSYS)
            return checked((int)count);
    }
#endif
    return checked(epoll_wait(epoll, events, count_max, ms_of(timeout_ns)));
}

static int make_eventfd(void) {
    return checked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

static int make_signalfd(const sigset_t *signals) {
    return checked(signalfd(-1, signals, SFD_NONBLOCK | SFD_CLOEXEC));
}

static ssize_t read_fd(int fd, void *buffer, size_t size) {
    return checked_size(read(fd, buffer, size));
}

static ssize_t write_fd(int fd, const void *buffer, size_t size) {
    return checked_size(write(fd, buffer, size));
}

static int close_fd(int fd) {
    return checked(close(fd));
}

static int poll_fd(int fd, uint32_t events) {
    struct pollfd polled = {.fd = fd, .events = (short)events};
    int count;
    do
        count = checked(poll(&polled, 1, 0));
    while (count == -EINTR);
    if (count <= 0)
        return count;
    return polled.revents & POLLNVAL ? -EBADF : polled.revents;
}

static int is_open_fd(int fd) {
    int flags = checked(fcntl(fd, F_GETFD));
    return flags < 0 ? flags : 0;
}

/* ---- sockets ---- */

static int make_socket(int family, int type, int protocol) {
    return checked(socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}

static int make_pair(int family, int type, int pair[2]) {
    return checked(socketpair(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
}

static int bind_fd(int fd, const struct sockaddr *address, socklen_t size) {
    return checked(bind(fd, address, size));
}

static int listen_fd(int fd, int backlog) {
    return checked(listen(fd, backlog));
}

static int accept_fd(int fd, struct sockaddr *address, socklen_t *size) {
    return checked(accept4(fd, address, size, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

static int connect_fd(int fd, const struct sockaddr *address, socklen_t size) {
    return checked(connect(fd, address, size));
}

static int shutdown_fd(int fd, int how) {
    return checked(shutdown(fd, how));
}

static int set_option(int fd, int level, int name, const void *value, socklen_t size) {
    return checked(setsockopt(fd, level, name, value, size));
}

static int get_option(int fd, int level, int name, void *value, socklen_t *size) {
    return checked(getsockopt(fd, level, name, value, size));
}

static int get_name(int fd, struct sockaddr *address, socklen_t *size) {
    return checked(getsockname(fd, address, size));
}

static int get_peer_name(int fd, struct sockaddr *address, socklen_t *size) {
    return checked(getpeername(fd, address, size));
}

static int open_dir(const char *path) {
    return checked(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int open_at(int dir, const char *name) {
    return checked(openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

static int stat_at(int dir, const char *name, struct stat *stat) {
    return checked(fstatat(dir, name, stat, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
}

static int rename_at(int dir, const char *from, const char *to) {
    return checked(renameat(dir, from, dir, to));
}

static int link_at(int dir, const char *from, const char *to) {
    return checked(linkat(dir, from, dir, to, 0));
}

static int unlink_at(int dir, const char *name) {
    return checked(unlinkat(dir, name, 0));
}

/* By the link that the system has for the descriptor, which is that of the file itself: fchmodat(2)
 * follows a link that somebody has put at the name meanwhile. */
static int chmod_at(int dir, const char *name, const struct stat *file, mode_t mode) {
    char link[32];
    struct stat found;
    int fd = open_at(dir, name);
    if (fd < 0)
        return fd;
    int err = checked(fstat(fd, &found));
    bool is_same = err == 0 && S_ISSOCK(found.st_mode) && found.st_dev == file->st_dev &&
                   found.st_ino == file->st_ino;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (err == 0)
        err = is_same ? checked(chmod(link, mode)) : -EADDRINUSE;
    (void)close(fd);
    return err;
}

static int chmod_fd(int fd, mode_t mode) {
    return checked(fchmod(fd, mode));
}

static ssize_t recv_fd(int fd, void *buffer, size_t size, int flags) {
    return checked_size(recv(fd, buffer, size, flags));
}

static ssize_t send_fd(int fd, const void *buffer, size_t size, int flags) {
    return checked_size(send(fd, buffer, size, flags | MSG_NOSIGNAL));
}

static ssize_t sendmsg_fd(int fd, const struct msghdr *message, int flags) {
    return checked_size(sendmsg(fd, message, flags | MSG_NOSIGNAL));
}

/* The flags of the two below are an int in glibc and unsigned in musl; all of them fit here. */
static uint16_t either_sign(int flags) {
    return (uint16_t)flags;
}

static int sendmmsg_fd(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    return checked(sendmmsg(fd, messages, count, either_sign(flags | MSG_NOSIGNAL)));
}

static int recvmmsg_fd(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    return checked(recvmmsg(fd, messages, count, either_sign(flags), NULL));
}

/* A SIGPIPE that was pending before stays so. */
static ssize_t sendfile_fd(int fd, int file, off_t *offset, size_t size) {
    sigset_t pipe_only;
    sigset_t before;
    sigset_t pending;
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    ssize_t sent = checked_size(sendfile(fd, file, offset, size));
    if (sent == -EPIPE && !sigismember(&pending, SIGPIPE)) {
        const struct timespec now = {0};
        (void)sigtimedwait(&pipe_only, NULL, &now);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return sent;
}

/* ---- io_uring: by number, as the C library has no functions for it ---- */

static int setup_io_uring(unsigned entries, struct io_uring_params *params) {
#if defined(SYS_io_uring_setup)
    return checked((int)syscall(SYS_io_uring_setup, entries, params));
#else
    (void)entries;
    (void)params;
    return -ENOSYS;
#endif
}

static int enter_io_uring(int ring, unsigned count, unsigned count_min, unsigned flags,
                          const void *arg, size_t arg_size) {
#if defined(SYS_io_uring_enter)
    return checked((int)syscall(SYS_io_uring_enter, ring, count, count_min, flags, arg, arg_size));
#else
    (void)ring, (void)count, (void)count_min, (void)flags, (void)arg, (void)arg_size;
    return -ENOSYS;
#endif
}

static int register_io_uring(int ring, unsigned opcode, void *arg, unsigned count) {
#if defined(SYS_io_uring_register)
    return checked((int)syscall(SYS_io_uring_register, ring, opcode, arg, count));
#else
    (void)ring, (void)opcode, (void)arg, (void)count;
    return -ENOSYS;
#endif
}

static int map_memory(int fd, size_t size, off_t offset, void **place) {
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);
    if (map == MAP_FAILED)
        return -errno;
    if (madvise(map, size, MADV_DONTFORK) != 0) {
        int err = -errno;
        (void)munmap(map, size);
        return err;
    }
    *place = map;
    return 0;
}

static int unmap_memory(void *place, size_t size) {
    return checked(munmap(place, size));
}

const struct jzx__os jzx__os_system = {
    .epoll_create = make_epoll,
    .epoll_ctl = control_epoll,
    .epoll_wait = wait_epoll,
    .eventfd = make_eventfd,
    .signalfd = make_signalfd,
    .read = read_fd,
    .write = write_fd,
    .close = close_fd,
    .poll = poll_fd,
    .is_open = is_open_fd,
    .socket = make_socket,
    .socketpair = make_pair,
    .bind = bind_fd,
    .listen = listen_fd,
    .accept = accept_fd,
    .connect = connect_fd,
    .shutdown = shutdown_fd,
    .setsockopt = set_option,
    .getsockopt = get_option,
    .getsockname = get_name,
    .getpeername = get_peer_name,
    .open_dir = open_dir,
    .stat_at = stat_at,
    .unlink_at = unlink_at,
    .rename_at = rename_at,
    .link_at = link_at,
    .open_at = open_at,
    .chmod_at = chmod_at,
    .chmod = chmod_fd,
    .recv = recv_fd,
    .send = send_fd,
    .sendmsg = sendmsg_fd,
    .sendmmsg = sendmmsg_fd,
    .recvmmsg = recvmmsg_fd,
    .sendfile = sendfile_fd,
    .io_uring_setup = setup_io_uring,
    .io_uring_enter = enter_io_uring,
    .io_uring_register = register_io_uring,
    .map = map_memory,
    .unmap = unmap_memory,
};
