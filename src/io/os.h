/* SPDX-License-Identifier: MIT */
/* The system calls of the I/O layer, in one table: no file of this folder makes one by itself. A
 * test puts its own table in place of this one and lets any call fail at any use; a simulated
 * network will do the same.
 *
 * Each function returns what the call returns, or the negative errno. Descriptors are made
 * close-on-exec and do not block. */
#ifndef JZX_IO_OS_H
#define JZX_IO_OS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

struct io_uring_params;

struct jzx__os {
    int (*epoll_create)(void);
    int (*epoll_ctl)(int epoll, int op, int fd, struct epoll_event *event);
    /* Waits for at most timeout_ns; JZX_NEVER: for ever. */
    int (*epoll_wait)(int epoll, struct epoll_event *events, int count_max, uint64_t timeout_ns);
    /* poll(2) of one descriptor, at once: its POLL* bits, 0, or -EBADF if it is not open. */
    int (*poll)(int fd, uint32_t events);
    int (*eventfd)(void);
    int (*signalfd)(const sigset_t *signals);
    ssize_t (*read)(int fd, void *buffer, size_t size);
    ssize_t (*write)(int fd, const void *buffer, size_t size);
    int (*close)(int fd);
    int (*is_open)(int fd); /* -EBADF: it is not */

    /* Sockets. type is SOCK_STREAM, SOCK_DGRAM. */
    int (*socket)(int family, int type, int protocol);
    int (*socketpair)(int family, int type, int pair[2]);
    int (*bind)(int fd, const struct sockaddr *address, socklen_t size);
    int (*listen)(int fd, int backlog);
    int (*accept)(int fd, struct sockaddr *address, socklen_t *size);
    int (*connect)(int fd, const struct sockaddr *address, socklen_t size);
    int (*shutdown)(int fd, int how);
    int (*setsockopt)(int fd, int level, int name, const void *value, socklen_t size);
    int (*getsockopt)(int fd, int level, int name, void *value, socklen_t *size);
    int (*getsockname)(int fd, struct sockaddr *address, socklen_t *size);
    int (*getpeername)(int fd, struct sockaddr *address, socklen_t *size);
    ssize_t (*recv)(int fd, void *buffer, size_t size, int flags);
    /* Files of sockets, by a directory that is open for that alone, and a name there. A link is
     * looked at itself. */
    int (*open_dir)(const char *path);
    int (*open_at)(int dir, const char *name);                    /* to hold it: its inode stays */
    int (*stat_at)(int dir, const char *name, struct stat *stat); /* "": of what is open itself */
    int (*unlink_at)(int dir, const char *name);
    int (*rename_at)(int dir, const char *from, const char *to);
    int (*link_at)(int dir, const char *from, const char *to);
    /* Of the socket with that device and inode; -EADDRINUSE: the name is another file's. */
    int (*chmod_at)(int dir, const char *name, const struct stat *file, mode_t mode);
    int (*chmod)(int fd, mode_t mode); /* of a socket: for the file that it will be bound to */
    /* None of these raises SIGPIPE. */
    ssize_t (*send)(int fd, const void *buffer, size_t size, int flags);
    ssize_t (*sendmsg)(int fd, const struct msghdr *message, int flags);
    /* Several datagrams: how many were sent or received. */
    int (*sendmmsg)(int fd, struct mmsghdr *messages, unsigned count, int flags);
    int (*recvmmsg)(int fd, struct mmsghdr *messages, unsigned count, int flags);
    /* From that offset of the file on, which is moved. It cannot be told not to raise SIGPIPE: the
     * thread has the signal blocked meanwhile, and what it raised is taken away. */
    ssize_t (*sendfile)(int fd, int file, off_t *offset, size_t size);

    /* io_uring. -ENOSYS where the library was built without it. */
    int (*io_uring_setup)(unsigned entries, struct io_uring_params *params);
    int (*io_uring_enter)(int ring, unsigned count, unsigned count_min, unsigned flags,
                          const void *arg, size_t arg_size);
    int (*io_uring_register)(int ring, unsigned opcode, void *arg, unsigned count);
    /* Memory that is shared with the kernel, and not with children of fork(2). */
    int (*map)(int fd, size_t size, off_t offset, void **place);
    int (*unmap)(void *place, size_t size);
};

/* Linux. */
extern const struct jzx__os jzx__os_system;

#endif
