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
    OS_POLL,
    OS_EVENTFD,
    OS_SIGNALFD,
    OS_READ,
    OS_WRITE,
    OS_CLOSE,
    OS_SOCKET,
    OS_BIND,
    OS_LISTEN,
    OS_ACCEPT,
    OS_CONNECT,
    OS_SHUTDOWN,
    OS_SETSOCKOPT,
    OS_GETSOCKOPT,
    OS_GETSOCKNAME,
    OS_RECV,
    OS_SEND,
    OS_SENDMSG,
    OS_IO_URING_SETUP,
    OS_IO_URING_ENTER,
    OS_IO_URING_REGISTER,
    OS_MAP,
    OS_OPEN_DIR,
    OS_OPEN_AT,
    OS_RENAME_AT,
    OS_LINK_AT,
    OS_STAT_AT,
    OS_CHMOD_AT,
    OS_CHMOD,
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
    uint32_t use = __atomic_add_fetch(&os_faults.uses[call], 1, __ATOMIC_RELAXED);
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

static inline int faulty_poll(int fd, uint32_t events) {
    int err = os_use(OS_POLL);
    return err < 0 ? err : jzx__os_system.poll(fd, events);
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

static inline int faulty_is_open(int fd) {
    return jzx__os_system.is_open(fd);
}

/* A call of the table that fails in its turn, and else does what the system does. */
#define FAULTY(call, result, name, params, args)                                                   \
    static inline result faulty_##name params {                                                    \
        int err = os_use(call);                                                                    \
        return err < 0 ? err : jzx__os_system.name args;                                           \
    }

FAULTY(OS_SOCKET, int, socket, (int family, int type, int protocol), (family, type, protocol))
FAULTY(OS_SOCKET, int, socketpair, (int family, int type, int pair[2]), (family, type, pair))
FAULTY(OS_BIND, int, bind, (int fd, const struct sockaddr *address, socklen_t size),
       (fd, address, size))
FAULTY(OS_LISTEN, int, listen, (int fd, int backlog), (fd, backlog))
FAULTY(OS_ACCEPT, int, accept, (int fd, struct sockaddr *address, socklen_t *size),
       (fd, address, size))
FAULTY(OS_CONNECT, int, connect, (int fd, const struct sockaddr *address, socklen_t size),
       (fd, address, size))
FAULTY(OS_SHUTDOWN, int, shutdown, (int fd, int how), (fd, how))
FAULTY(OS_SETSOCKOPT, int, setsockopt,
       (int fd, int level, int name, const void *value, socklen_t size),
       (fd, level, name, value, size))
FAULTY(OS_GETSOCKOPT, int, getsockopt, (int fd, int level, int name, void *value, socklen_t *size),
       (fd, level, name, value, size))
FAULTY(OS_GETSOCKNAME, int, getsockname, (int fd, struct sockaddr *address, socklen_t *size),
       (fd, address, size))
FAULTY(OS_GETSOCKNAME, int, getpeername, (int fd, struct sockaddr *address, socklen_t *size),
       (fd, address, size))
FAULTY(OS_RECV, ssize_t, recv, (int fd, void *buffer, size_t size, int flags),
       (fd, buffer, size, flags))
FAULTY(OS_SEND, ssize_t, send, (int fd, const void *buffer, size_t size, int flags),
       (fd, buffer, size, flags))
FAULTY(OS_SENDMSG, ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags),
       (fd, message, flags))
FAULTY(OS_SEND, ssize_t, sendfile, (int fd, int file, off_t *offset, size_t size),
       (fd, file, offset, size))

FAULTY(OS_IO_URING_SETUP, int, io_uring_setup, (unsigned entries, struct io_uring_params *params),
       (entries, params))
FAULTY(OS_IO_URING_ENTER, int, io_uring_enter,
       (int ring, unsigned count, unsigned count_min, unsigned flags, const void *arg,
        size_t arg_size),
       (ring, count, count_min, flags, arg, arg_size))
FAULTY(OS_IO_URING_REGISTER, int, io_uring_register,
       (int ring, unsigned opcode, void *arg, unsigned count), (ring, opcode, arg, count))
FAULTY(OS_MAP, int, map, (int fd, size_t size, off_t offset, void **place),
       (fd, size, offset, place))

static inline int faulty_unmap(void *place, size_t size) {
    return jzx__os_system.unmap(place, size);
}

FAULTY(OS_OPEN_DIR, int, open_dir, (const char *path), (path))
FAULTY(OS_OPEN_AT, int, open_at, (int dir, const char *name), (dir, name))
FAULTY(OS_RENAME_AT, int, rename_at, (int dir, const char *from, const char *to), (dir, from, to))
FAULTY(OS_LINK_AT, int, link_at, (int dir, const char *from, const char *to), (dir, from, to))
FAULTY(OS_STAT_AT, int, stat_at, (int dir, const char *name, struct stat *stat), (dir, name, stat))
FAULTY(OS_CHMOD_AT, int, chmod_at,
       (int dir, const char *name, const struct stat *file, mode_t mode), (dir, name, file, mode))
FAULTY(OS_CHMOD, int, chmod, (int fd, mode_t mode), (fd, mode))

static inline int faulty_unlink_at(int dir, const char *name) {
    return jzx__os_system.unlink_at(dir, name);
}

static const struct jzx__os os_faulty = {
    .epoll_create = faulty_epoll_create,
    .epoll_ctl = faulty_epoll_ctl,
    .epoll_wait = faulty_epoll_wait,
    .poll = faulty_poll,
    .eventfd = faulty_eventfd,
    .signalfd = faulty_signalfd,
    .read = faulty_read,
    .write = faulty_write,
    .close = faulty_close,
    .is_open = faulty_is_open,
    .socket = faulty_socket,
    .socketpair = faulty_socketpair,
    .bind = faulty_bind,
    .listen = faulty_listen,
    .accept = faulty_accept,
    .connect = faulty_connect,
    .shutdown = faulty_shutdown,
    .setsockopt = faulty_setsockopt,
    .getsockopt = faulty_getsockopt,
    .getsockname = faulty_getsockname,
    .getpeername = faulty_getpeername,
    .recv = faulty_recv,
    .send = faulty_send,
    .sendmsg = faulty_sendmsg,
    .sendfile = faulty_sendfile,
    .open_dir = faulty_open_dir,
    .open_at = faulty_open_at,
    .rename_at = faulty_rename_at,
    .link_at = faulty_link_at,
    .stat_at = faulty_stat_at,
    .unlink_at = faulty_unlink_at,
    .chmod_at = faulty_chmod_at,
    .chmod = faulty_chmod,
    .io_uring_setup = faulty_io_uring_setup,
    .io_uring_enter = faulty_io_uring_enter,
    .io_uring_register = faulty_io_uring_register,
    .map = faulty_map,
    .unmap = faulty_unmap,
};

#endif
