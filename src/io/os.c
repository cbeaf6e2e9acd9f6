/* SPDX-License-Identifier: MIT */
/* The table of system calls, for Linux. */
#include "io/os.h"

#include "jzx/time.h"

#include <errno.h>
#include <sys/eventfd.h>
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

const struct jzx__os jzx__os_system = {
    .epoll_create = make_epoll,
    .epoll_ctl = control_epoll,
    .epoll_wait = wait_epoll,
    .eventfd = make_eventfd,
    .signalfd = make_signalfd,
    .read = read_fd,
    .write = write_fd,
    .close = close_fd,
};
