/* SPDX-License-Identifier: MIT */
/* A table of system calls in which the n-th use of a call fails (io/os.h). */
#ifndef JZX_UNIT_OS_FAULTS_H
#define JZX_UNIT_OS_FAULTS_H

#include "io/os.h"

#include <errno.h>
#include <string.h>

enum os_call {
    OS_EPOLL_CREATE,
    OS_EPOLL_CTL,
    OS_EPOLL_WAIT,
    OS_EVENTFD,
    OS_SIGNALFD,
    OS_READ,
    OS_WRITE,
    OS_CLOSE,
    OS_CALL_COUNT
};

static struct {
    uint32_t uses[OS_CALL_COUNT];
    enum os_call call; /* this one fails */
    uint32_t at;       /* at this use, from 1 on; 0: never */
    uint32_t count;    /* and so many times */
    int error;
} os_faults;

/* Forgets the uses. */
static inline void os_fail(enum os_call call, uint32_t at, uint32_t count, int error) {
    memset(&os_faults, 0, sizeof os_faults);
    os_faults.call = call;
    os_faults.at = at;
    os_faults.count = count;
    os_faults.error = error;
}

static inline void os_fail_never(void) {
    os_fail(OS_EPOLL_CREATE, 0, 0, 0);
}

/* 0, or what the call is to return. */
static inline int os_use(enum os_call call) {
    uint32_t use = ++os_faults.uses[call];
    bool fails = call == os_faults.call && os_faults.at != 0 && use >= os_faults.at &&
                 use - os_faults.at < os_faults.count;
    return fails ? -os_faults.error : 0;
}

static inline int faulty_epoll_create(void) {
    int err = os_use(OS_EPOLL_CREATE);
    return err < 0 ? err : jzx__os_system.epoll_create();
}

/* Linux does not refuse to forget a descriptor that it knows. */
static inline int faulty_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event) {
    int err = op == EPOLL_CTL_DEL ? 0 : os_use(OS_EPOLL_CTL);
    return err < 0 ? err : jzx__os_system.epoll_ctl(epoll, op, fd, event);
}

static inline int faulty_epoll_wait(int epoll, struct epoll_event *events, int count_max,
                                    uint64_t timeout_ns) {
    int err = os_use(OS_EPOLL_WAIT);
    return err < 0 ? err : jzx__os_system.epoll_wait(epoll, events, count_max, timeout_ns);
}

static inline int faulty_eventfd(void) {
    int err = os_use(OS_EVENTFD);
    return err < 0 ? err : jzx__os_system.eventfd();
}

static inline int faulty_signalfd(const sigset_t *signals) {
    int err = os_use(OS_SIGNALFD);
    return err < 0 ? err : jzx__os_system.signalfd(signals);
}

static inline ssize_t faulty_read(int fd, void *buffer, size_t size) {
    int err = os_use(OS_READ);
    return err < 0 ? err : jzx__os_system.read(fd, buffer, size);
}

static inline ssize_t faulty_write(int fd, const void *buffer, size_t size) {
    int err = os_use(OS_WRITE);
    return err < 0 ? err : jzx__os_system.write(fd, buffer, size);
}

/* As Linux does it: the descriptor is closed, whatever the call says. */
static inline int faulty_close(int fd) {
    int err = os_use(OS_CLOSE);
    int closed = jzx__os_system.close(fd);
    return err < 0 ? err : closed;
}

static const struct jzx__os os_faulty = {
    .epoll_create = faulty_epoll_create,
    .epoll_ctl = faulty_epoll_ctl,
    .epoll_wait = faulty_epoll_wait,
    .eventfd = faulty_eventfd,
    .signalfd = faulty_signalfd,
    .read = faulty_read,
    .write = faulty_write,
    .close = faulty_close,
};

#endif
